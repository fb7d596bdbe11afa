"""The canonical rows of a benchmark release: typed records, and their `datasets` features.

`cards/release_format.md` describes the same for readers. IDs are strings and are compared
exactly; pages are 1-based positions in the PDF; grades run from 1 to n; a grade equal to n is
gold and means that the page rule holds (`nclue_core.assignment`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import datasets

Form = Literal["raw", "clean_v2", "natural"]
FORMS: tuple[Form, ...] = ("raw", "clean_v2", "natural")
COLLECTIONS: tuple[str, ...] = ("mini", "crosspage", "sourceshift")


@dataclass(frozen=True)
class Query:
    """A row of ``queries.jsonl``."""

    query_id: str
    query_text_eval_full: str  # the raw form
    conditions: tuple[str, ...]  # as shown to a reader, in the order of the query

    @property
    def n_conditions(self) -> int:
        """Number of conditions; a document of this grade is gold."""
        return len(self.conditions)

    def to_json(self) -> dict[str, Any]:
        """The row as it is written."""
        return {
            "query_id": self.query_id,
            "query_text_eval_full": self.query_text_eval_full,
            "conditions": list(self.conditions),
            "n_conditions": self.n_conditions,
        }


@dataclass(frozen=True)
class QueryForm:
    """A row of ``queries_forms.jsonl``: one wording of one query."""

    query_id: str
    form: str  # raw, clean_v2 or natural
    query: str

    def to_json(self) -> dict[str, Any]:
        """The row as it is written."""
        return {"query_id": self.query_id, "form": self.form, "query": self.query}


@dataclass(frozen=True)
class Evidence:
    """The pages of a document that establish one condition."""

    condition: str
    pages: tuple[int, ...]  # 1-based, ascending, without repeats

    def to_json(self) -> dict[str, Any]:
        """The object as it is written."""
        return {"condition": self.condition, "pages": list(self.pages)}


@dataclass(frozen=True)
class Qrel:
    """A row of ``qrels.jsonl``: a judged pair. Pairs without a row have grade 0."""

    query_id: str
    doc_id: str
    grade: int  # 1..n conditions
    label: str  # "gold" (grade == n) or "subset"
    evidence: tuple[Evidence, ...]  # conditions with pages; empty where only documents are judged

    def to_json(self) -> dict[str, Any]:
        """The row as it is written."""
        return {
            "query_id": self.query_id,
            "doc_id": self.doc_id,
            "grade": self.grade,
            "label": self.label,
            "evidence": [item.to_json() for item in self.evidence],
        }


@dataclass(frozen=True)
class CorpusDocument:
    """A row of ``corpus.jsonl``: what is known of a source PDF, never its content."""

    doc_id: str
    source: str
    title: str | None
    pdf_url: str | None  # direct link; None where only a landing page is known
    landing_url: str | None
    sha256: str | None  # lower-case hexadecimal, of the PDF as published
    n_bytes: int | None
    n_pages: int | None
    license: str | None
    terms: str | None  # what was known of the terms of use when it was collected

    def to_json(self) -> dict[str, Any]:
        """The row as it is written."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class Ranking:
    """A row of ``reference_runs/<system>.jsonl`` or ``reference_runs/forms/<form>/…``."""

    system: str
    form: str
    query_id: str
    doc_ids: tuple[str, ...]  # best first; ties keep this order
    scores: tuple[float, ...] | None  # None where the release has ranks only

    def to_json(self) -> dict[str, Any]:
        """The row as it is written (the path says system and form)."""
        row: dict[str, Any] = {"query_id": self.query_id, "doc_ids": list(self.doc_ids)}
        if self.scores is not None:
            row["scores"] = list(self.scores)
        return row


def raw_text(conditions: tuple[str, ...]) -> str:
    """The raw form of a query that is built here: its conditions joined by ``and``.

    (The published raw form is data, ``query_text_eval_full``; the study does not print its rule.)
    """
    return " and ".join(conditions)


def clean_v2_text(conditions: tuple[str, ...]) -> str:
    """The clean_v2 form: each condition quoted, separated by ``"; "``."""
    return "; ".join(f'"{condition}"' for condition in conditions)


def natural_text(conditions: tuple[str, ...]) -> str:
    """The natural form, the study's deterministic template (for two conditions: inferred)."""
    quoted = [f'"{condition}"' for condition in conditions]
    if len(quoted) <= 2:
        listed = " and ".join(quoted)
    else:
        listed = f"{', '.join(quoted[:-1])}, and {quoted[-1]}"
    return f"Find the document that discusses {listed}."


RENDER_FORM = {"raw": raw_text, "clean_v2": clean_v2_text, "natural": natural_text}


def query_features() -> datasets.Features:
    """Features of a collection: one row per query, with the reference that the metric takes."""
    import datasets as ds

    return ds.Features(
        {
            "query_id": ds.Value("string"),
            "query": ds.Value("string"),
            "conditions": ds.List(ds.Value("string")),
            "n_conditions": ds.Value("int32"),
            "reference": reference_feature(),
        }
    )


def reference_feature() -> dict[str, Any]:
    """The judgments of one query as the metric takes them."""
    import datasets as ds

    return {
        "doc_ids": ds.List(ds.Value("string")),
        "grades": ds.List(ds.Value("int32")),
        "n_conditions": ds.Value("int32"),
    }


def qrels_features() -> datasets.Features:
    """Features of ``X-qrels``. Evidence is a list, so that no condition becomes a column."""
    import datasets as ds

    return ds.Features(
        {
            "query_id": ds.Value("string"),
            "doc_id": ds.Value("string"),
            "grade": ds.Value("int32"),
            "label": ds.Value("string"),
            "evidence": ds.List(
                {"condition": ds.Value("string"), "pages": ds.List(ds.Value("int32"))}
            ),
        }
    )


def corpus_features() -> datasets.Features:
    """Features of ``X-corpus``."""
    import datasets as ds

    text = ds.Value("string")
    return ds.Features(
        {
            "doc_id": text,
            "source": text,
            "title": text,
            "pdf_url": text,
            "landing_url": text,
            "sha256": text,
            "n_bytes": ds.Value("int64"),
            "n_pages": ds.Value("int32"),
            "license": text,
            "terms": text,
        }
    )


def rankings_features() -> datasets.Features:
    """Features of ``X-rankings`` (its splits are the query forms)."""
    import datasets as ds

    return ds.Features(
        {
            "system": ds.Value("string"),
            "query_id": ds.Value("string"),
            "doc_ids": ds.List(ds.Value("string")),
            "scores": ds.List(ds.Value("float64")),
        }
    )
