"""From the objects of a release's files to its typed records.

Every parser reports what is wrong with a row, all of it, and returns the record as far as it can
be understood, or None where its IDs can't. A strict reader raises at the first report; the
checker collects them and goes on.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from nclue_core.jsonl import shorten
from nclue_core.schema import FORMS, CorpusDocument, Evidence, Qrel, Query, QueryForm
from nclue_dataset.aliases import (
    RANKED_DOC_NAMES,
    FieldMap,
    Report,
    first_present,
)

LABELS = ("gold", "subset")
# IDs of the study begin with the source; the source may be left out where that tells it.
KNOWN_SOURCES = ("world_bank", "pmc_oa", "arxiv", "eric", "federal_register")


def read_id(values: Mapping[str, Any], field: str, report: Report) -> str | None:
    """An ID: a string that is not empty, kept exactly. Interned, since IDs repeat a lot."""
    value = values.get(field)
    if isinstance(value, str) and value:
        return sys.intern(value)
    if value is not None:
        hint = f'; write it as a string: "{value}"' if isinstance(value, int) else ""
        report("type", f"{field}: expected a string, found {describe(value)}{hint}")
    return None


def read_integer(values: Mapping[str, Any], field: str, report: Report, minimum: int) -> int | None:
    """An integer of at least ``minimum``; true, 2.0 and "2" are none."""
    value = values.get(field)
    if value is None:
        return None
    if type(value) is not int:
        report("type", f"{field}: expected an integer, found {describe(value)}{_int_hint(value)}")
        return None
    if value < minimum:
        report("range", f"{field}: expected at least {minimum}, found {value}")
        return None
    return value


def _int_hint(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return f" (counts are written without a point: {int(value)})"
    return ""


def read_text(values: Mapping[str, Any], field: str, report: Report) -> str | None:
    """A string, or None where there is none."""
    value = values.get(field)
    if value is None or isinstance(value, str):
        return value
    report("type", f"{field}: expected a string, found {describe(value)}")
    return None


def describe(value: object) -> str:
    """A value with the name of its JSON type."""
    names = {dict: "an object", list: "a list", str: "the string", bool: "the boolean",
             int: "the integer", float: "the number", type(None): "null"}  # fmt: skip
    if value is None:
        return "null"
    return f"{names.get(type(value), 'a value')} {shorten(repr(value), 50)}"


def parse_query(
    row: Mapping[str, Any], fields: FieldMap, report: Report, raw_texts: Mapping[str, str]
) -> Query | None:
    """A row of ``queries.jsonl``.

    Args:
        row: The object.
        fields: The names of its fields.
        report: Told everything that is wrong.
        raw_texts: Raw form per query ID, from ``queries_forms.jsonl``: the same text by
            definition, so it stands in where the row has none.
    """
    values = fields.resolve(row, report)
    query_id = read_id(values, "query_id", report)
    conditions = _read_conditions(values, fields, report)
    n = read_integer(values, "n_conditions", report, 1)
    if n is not None and conditions and n != len(conditions):
        report("n-conditions", f"n_conditions is {n}, but there are {len(conditions)} conditions")
    text = read_text(values, "query_text_eval_full", report)
    if query_id is None:
        return None
    if "query_text_eval_full" not in values:
        text = raw_texts.get(query_id)
        if text is None:
            report("missing-field", fields.missing_text("query_text_eval_full", row))
    return Query(query_id, text or "", conditions)


def _read_conditions(
    values: Mapping[str, Any], fields: FieldMap, report: Report
) -> tuple[str, ...]:
    listed = values.get("conditions")
    if listed is None:
        return ()
    if not isinstance(listed, list) or not listed:
        report("type", f"conditions: expected a list of strings, found {describe(listed)}")
        return ()
    names = [_condition_name(item, fields) for item in listed]
    for item, name in zip(listed, names):
        if name is None:
            report("type", f"conditions: expected a text, found {describe(item)}")
    texts = [sys.intern(name) for name in names if name is not None]
    return tuple(texts) if len(texts) == len(names) else ()


def _condition_name(item: object, fields: FieldMap) -> str | None:
    if isinstance(item, dict):
        key = first_present(item, fields.condition_names)
        item = item[key] if key else None
    return item if isinstance(item, str) and item.strip() else None


def parse_forms(row: Mapping[str, Any], fields: FieldMap, report: Report) -> list[QueryForm]:
    """A row of ``queries_forms.jsonl``: one form of a query, or a column per form."""
    values = fields.resolve(row, report)
    query_id = read_id(values, "query_id", report)
    columns = [form for form in FORMS if form in values]
    if "form" in values or not columns:
        for field in ("form", "query"):
            if field not in values:
                report("missing-field", fields.missing_text(field, row))
        form = read_text(values, "form", report)
        pairs = [(form, read_text(values, "query", report))]
    else:
        pairs = [(form, read_text(values, form, report)) for form in columns]
    return [
        QueryForm(query_id, sys.intern(form), text)
        for form, text in pairs
        if query_id is not None and form and text is not None
    ]


def parse_qrel(
    row: Mapping[str, Any], fields: FieldMap, report: Report, n_conditions: Mapping[str, int]
) -> Qrel | None:
    """A row of ``qrels.jsonl``; grade 0 where the grade can't be understood (or is 0).

    Args:
        row: The object.
        fields: The names of its fields.
        report: Told everything that is wrong.
        n_conditions: Per query ID; a label that is absent follows from it (gold: grade = n).
    """
    values = fields.resolve(row, report)
    query_id = read_id(values, "query_id", report)
    doc_id = read_id(values, "doc_id", report)
    grade = read_integer(values, "grade", report, 0) or 0
    n = n_conditions.get(query_id or "", 0)
    if n and grade > n:
        report("grade-range", f"grade {grade}, but the query has {n} conditions (grades: 1..{n})")
    label = values.get("label")
    if label is not None and label not in LABELS:
        expected = "gold or subset (--map label=- derives it from the grade)"
        report("label", f"label: expected {expected}, found {describe(label)}")
    if label not in LABELS:
        label = "gold" if n and grade == n else "subset"
    evidence = _read_evidence(values.get("evidence"), fields, report)
    if query_id is None or doc_id is None:
        return None
    return Qrel(query_id, doc_id, grade, label, evidence)


def _read_evidence(value: object, fields: FieldMap, report: Report) -> tuple[Evidence, ...]:
    """Conditions with their pages; conditions without pages are left out."""
    if value is None:
        return ()
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = [pair for item in value if (pair := _evidence_pair(item, fields, report))]
    else:
        report("type", _evidence_expected(value))
        return ()
    names = [condition for condition, _ in pairs]
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        report("evidence-repeated", f"evidence: the condition {repeated!r} stands twice")
    read = [(sys.intern(name), _read_pages(name, pages, report)) for name, pages in pairs]
    return tuple(Evidence(name, pages) for name, pages in read if pages)


def _evidence_pair(item: object, fields: FieldMap, report: Report) -> tuple[str, object] | None:
    if not isinstance(item, dict):
        report("type", _evidence_expected(item))
        return None
    name = first_present(item, fields.condition_names)
    pages = first_present(item, fields.pages_names)
    if name is None or pages is None or not isinstance(item[name], str):
        report("type", _evidence_expected(item))
        return None
    return item[name], item[pages]


def _evidence_expected(value: object) -> str:
    return (
        "evidence: expected a list of {condition, pages} or an object {condition: pages}, so that "
        f"each page belongs to a condition; found {describe(value)}"
    )


def _read_pages(condition: str, pages: object, report: Report) -> tuple[int, ...]:
    """Page numbers, ascending and without repeats."""
    if pages is None:
        return ()
    if not isinstance(pages, list):
        report("type", f"{condition}: expected a list of pages, found {describe(pages)}")
        return ()
    good = [page for page in pages if type(page) is int and page >= 1]
    if len(good) < len(pages):
        for page in pages:
            _report_page(condition, page, report)
    if any(left >= right for left, right in itertools.pairwise(good)):
        return _sorted_pages(condition, good, report)
    return tuple(good)


def _report_page(condition: str, page: object, report: Report) -> None:
    if type(page) is not int:
        report(
            "page-type",
            f"{condition}: a page is an integer (1-based position in the PDF), "
            f"found {describe(page)}",
        )
    elif page < 1:
        report("page-range", f"{condition}: page {page} is out of range: pages count from 1")


def _sorted_pages(condition: str, pages: list[int], report: Report) -> tuple[int, ...]:
    unique = sorted(set(pages))
    if len(unique) < len(pages):
        repeated = next(page for page in unique if pages.count(page) > 1)
        report("page-repeated", f"{condition}: page {repeated} is repeated", fatal=False)
    else:
        report("page-order", f"{condition}: the pages are not in ascending order", fatal=False)
    return tuple(unique)


def parse_document(
    row: Mapping[str, Any], fields: FieldMap, report: Report
) -> CorpusDocument | None:
    """A row of ``corpus.jsonl``."""
    values = fields.resolve(row, report)
    doc_id = read_id(values, "doc_id", report)
    texts = {
        field: read_text(values, field, report)
        for field in ("source", "title", "pdf_url", "landing_url", "sha256", "license", "terms")
    }
    source = texts.pop("source")
    if "source" not in values:
        source = known_source(doc_id or "")
        if source is None:
            report("missing-field", fields.missing_text("source", row))
    n_bytes = read_integer(values, "n_bytes", report, 0)
    n_pages = read_integer(values, "n_pages", report, 1)
    if doc_id is None:
        return None
    source = sys.intern(source or "")
    return CorpusDocument(doc_id, source, n_bytes=n_bytes, n_pages=n_pages, **texts)


def known_source(doc_id: str) -> str | None:
    """The source that an ID of the study begins with (``world_bank_34454344``), if it does."""
    return next((name for name in KNOWN_SOURCES if doc_id.startswith(f"{name}_")), None)


class RankedRow(NamedTuple):
    """A row of a run: a whole ranking, or one document of it."""

    query_id: str
    doc_ids: tuple[str, ...]
    scores: tuple[float, ...] | None
    form: str | None
    system: str | None
    rank: int | None
    is_whole: bool  # False: a row per document


def parse_ranking(row: Mapping[str, Any], fields: FieldMap, report: Report) -> RankedRow | None:
    """A row of a file in ``reference_runs``."""
    values = fields.resolve(row, report)
    query_id = read_id(values, "query_id", report)
    form = read_text(values, "form", report)
    system = read_text(values, "system", report)
    if "doc_id" in values and "doc_ids" not in values:
        doc_id = read_id(values, "doc_id", report)
        rank = read_integer(values, "rank", report, 1)
        scores = _read_scores([values["score"]], 1, report) if "score" in values else None
        doc_ids: tuple[str, ...] | None = (doc_id,) if doc_id else None
        whole = False
    else:
        doc_ids, scores = _read_ranked(values, fields, row, report)
        rank, whole = None, True
    if query_id is None or doc_ids is None:
        return None
    return RankedRow(query_id, doc_ids, scores, form, system, rank, whole)


def _read_ranked(
    values: Mapping[str, Any], fields: FieldMap, row: Mapping[str, Any], report: Report
) -> tuple[tuple[str, ...] | None, tuple[float, ...] | None]:
    listed = values.get("doc_ids")
    if not isinstance(listed, list):
        if "doc_ids" not in values:
            report("missing-field", fields.missing_text("doc_ids", row))
        else:
            report("type", f"doc_ids: expected a list, best first; found {describe(listed)}")
        return None, None
    scores = values.get("scores")
    if listed and isinstance(listed[0], dict):
        listed, scores = _split_pairs(listed, scores)
    doc_ids = _read_doc_ids(listed, report)
    return doc_ids, None if scores is None else _read_scores(scores, len(listed), report)


def _split_pairs(listed: list[Any], scores: object) -> tuple[list[Any], object]:
    """``[{"doc_id": …, "score": …}, …]`` as two lists; what is no such object stays as it is."""
    objects = [item if isinstance(item, dict) else {} for item in listed]
    keys = [first_present(item, RANKED_DOC_NAMES) for item in objects]
    ids = [obj[key] if key else item for item, obj, key in zip(listed, objects, keys)]
    if scores is None and any("score" in item for item in objects):
        scores = [item.get("score") for item in objects]
    return ids, scores


def _read_doc_ids(listed: list[Any], report: Report) -> tuple[str, ...] | None:
    try:
        doc_ids = tuple(map(sys.intern, listed))
    except TypeError:
        wrong = next(item for item in listed if not isinstance(item, str))
        report("type", f"doc_ids: expected strings, found {describe(wrong)}")
        return None
    if "" in doc_ids:
        report("type", f"doc_ids: the ID at rank {doc_ids.index('') + 1} is empty")
        return None
    return doc_ids


def _read_scores(scores: object, expected: int, report: Report) -> tuple[float, ...] | None:
    """Finite numbers, one per document."""
    if not isinstance(scores, list):
        report("type", f"scores: expected a list of numbers, found {describe(scores)}")
        return None
    for rank, score in enumerate(scores, start=1):
        if type(score) not in (float, int) or not math.isfinite(score):
            report("score", f"score at rank {rank}: expected a number, found {describe(score)}")
            return None
    if len(scores) != expected:
        report("score-count", f"{len(scores)} scores for {expected} documents")
        return None
    return tuple(map(float, scores))
