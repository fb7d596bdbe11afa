"""Read the list of documents that a benchmark is to be made from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nclue_core.errors import InputError
from nclue_core.jsonl import Row, read_jsonl
from nclue_core.schema import CorpusDocument

# Canonical field -> names under which lists of documents have it.
_NAMES = {
    "n_bytes": ("n_bytes", "bytes"),
    "n_pages": ("n_pages", "pages"),
    "license": ("license", "licence"),
}
_NUMBERS = frozenset(["n_bytes", "n_pages"])
_REQUIRED = frozenset(["doc_id", "source"])


def read_corpus(path: Path) -> list[CorpusDocument]:
    """Documents of a ``corpus.jsonl``; only doc_id and source are needed, other fields ignored.

    Raises:
        InputError: A document has no ID or source, an ID stands twice, or a type is wrong.
    """
    documents: dict[str, CorpusDocument] = {}
    for row in read_jsonl(path):
        document = CorpusDocument(
            **{name: _value(row, name, path) for name in CorpusDocument.__dataclass_fields__}
        )
        if document.doc_id in documents:
            raise InputError(f"doc_id {document.doc_id!r} stands twice", path=path, line=row.line)
        documents[document.doc_id] = document
    if not documents:
        raise InputError("no documents: expected one JSON object a line", path=path)
    return list(documents.values())


def _value(row: Row, field: str, path: Path) -> Any:
    names = _NAMES.get(field, (field,))
    value = next((row.value[name] for name in names if row.value.get(name) is not None), None)
    if value is None:
        if field in _REQUIRED:
            raise InputError(
                f"no {field}; the row has {', '.join(row.value)}", path=path, line=row.line
            )
        return None
    expected = int if field in _NUMBERS else str
    if type(value) is not expected:
        raise InputError(
            f"{field} is {type(value).__name__}, expected {expected.__name__}",
            path=path, line=row.line,
        )  # fmt: skip
    return value
