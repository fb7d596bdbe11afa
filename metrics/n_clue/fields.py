"""The names under which tools write the fields of runs and judgments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .scoring import ScoringError

# The name that is used here first. Beside ours: trec_eval and pandas frames of pyterrier and
# ir_measures (qid, docno), ranx (q_id), BEIR and MTEB (query-id, corpus-id), MS MARCO (pid),
# pyserini and rank_llm (candidates, docid).
NAMES: dict[str, tuple[str, ...]] = {
    "query_id": ("query_id", "qid", "q_id", "query-id", "queryid", "topic_id", "topic", "query"),
    "doc_id": (
        "doc_id", "docno", "docid", "document_id", "doc-id", "corpus-id", "corpus_id", "pid",
        "passage_id", "did",
    ),
    "doc_ids": (
        "doc_ids", "ranking", "docs", "results", "ranked_doc_ids", "candidates", "hits", "docids",
    ),
    "score": ("score", "sim", "similarity"),
    "scores": ("scores",),
    "rank": ("rank",),
    "pages": ("pages",),
    "grade": ("grade", "relevance", "rel", "clue_count", "score"),
}  # fmt: skip
RUN_FIELDS = ("query_id", "doc_id", "doc_ids", "score", "scores", "rank", "pages")
QREL_FIELDS = ("query_id", "doc_id", "grade")
NESTED_DOC_NAMES = (*NAMES["doc_id"], "id", "_id")
# Where several names of a field stand side by side, these win: pyterrier numbers its documents
# in docid and names them in docno, and writes the text of a query beside its qid.
_WINS = {"docno": ("docid",)}


class Fields:
    """Finds the fields of a table.

    Args:
        mapping: Names of their own: field to the name in the file, ``{"doc_id": "paper"}``.
        wanted: The fields to find.

    Raises:
        ScoringError: A key of the mapping is no field.
    """

    def __init__(
        self, mapping: Mapping[str, str] | None = None, wanted: tuple[str, ...] = RUN_FIELDS
    ) -> None:
        self.mapping = dict(mapping or {})
        for field in self.mapping:
            if field not in wanted:
                raise ScoringError(
                    f"mapping: {field!r} is no field; expected one of {', '.join(wanted)}"
                )
        self._names = {
            field: (self.mapping[field],) if field in self.mapping else NAMES[field]
            for field in wanted
        }
        self._found: dict[tuple[str, ...], dict[str, str]] = {}

    def find(self, keys: Iterable[str]) -> dict[str, str]:
        """Field to the key that holds it, of those that are there.

        Raises:
            ScoringError: A field stands there under two of its names.
        """
        keys = tuple(keys)
        if keys not in self._found:
            self._found[keys] = {
                field: key for field in self._names if (key := self._key(field, keys)) is not None
            }
        return self._found[keys]

    def _key(self, field: str, keys: tuple[str, ...]) -> str | None:
        present = [name for name in self._names[field] if name in keys]
        if field == "query_id" and len(present) > 1:
            present = [name for name in present if name != "query"]  # its text, beside an ID
        for winner, losers in _WINS.items():
            if winner in present:
                present = [name for name in present if name not in losers]
        if len(present) > 1:
            raise ScoringError(
                f"{' and '.join(present)} are all names of the field {field}; say which it is: "
                f"--map {field}={present[0]}"
            )
        return present[0] if present else None

    def names(self, field: str) -> tuple[str, ...]:
        """The names of a field; none of one that is not wanted."""
        return self._names.get(field, ())

    def accepted(self, field: str) -> str:
        """The names of a field, for messages."""
        return ", ".join(self._names[field])
