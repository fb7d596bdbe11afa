"""Construction facts: which pages hold a condition, in which surface forms. And their controls.

The controls read what a benchmark was made from, so they measure the benchmark and are never
ranked beside retrieval systems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from nclue_core.assignment import document_grade, gold_failure, pages_holding_all
from nclue_core.errors import InputError
from nclue_core.jsonl import Row, read_jsonl, shorten
from nclue_core.schema import Qrel, Query
from nclue_systems.corpus import CorpusIndex
from nclue_systems.words import words

# page -> the surface forms found there; None where only the page is known
PageForms: TypeAlias = dict[int, frozenset[str] | None]
# folded condition -> doc_id -> pages
FactTable: TypeAlias = dict[str, dict[str, PageForms]]


@dataclass(frozen=True)
class Facts:
    """Pages per condition and document, for all queries or for each query by itself."""

    shared: FactTable
    by_query: Mapping[str, FactTable]

    def of_query(self, query: Query) -> dict[str, list[PageForms]]:
        """Per document with any fact: for each condition of the query its pages."""
        table = self.by_query.get(query.query_id, self.shared)
        found = [table.get(_folded(condition), {}) for condition in query.conditions]
        doc_ids = sorted({doc_id for of_condition in found for doc_id in of_condition})
        return {doc_id: [held.get(doc_id, {}) for held in found] for doc_id in doc_ids}


def facts_from_qrels(qrels: Iterable[Qrel]) -> Facts:
    """Facts as the evidence pages of the judgments hold them; surface forms are not known."""
    by_query: dict[str, FactTable] = {}
    for qrel in qrels:
        table = by_query.setdefault(qrel.query_id, {})
        for item in qrel.evidence:
            held = table.setdefault(_folded(item.condition), {}).setdefault(qrel.doc_id, {})
            held.update(dict.fromkeys(item.pages))
    return Facts({}, by_query)


def read_facts(path: Path) -> Facts:
    """Facts from a JSON Lines file with one mention a row.

    Rows have ``condition``, ``doc_id``, ``page`` (1-based) and ``surface_form``, the words found
    on that page; other fields are not read.

    Raises:
        InputError: A row lacks one of the four, or has it in another type.
    """
    table: FactTable = {}
    for row in read_jsonl(path):
        condition, doc_id, form = (
            _text(row, name, path) for name in ("condition", "doc_id", "surface_form")
        )
        held = table.setdefault(_folded(condition), {}).setdefault(doc_id, {})
        page = _page(row, path)
        held[page] = (held.get(page) or frozenset()) | {form}
    return Facts(table, {})


def _text(row: Row, name: str, path: Path) -> str:
    value = row.value.get(name)
    if not isinstance(value, str) or not value:
        raise _bad_field(row, name, "a string that is not empty", path)
    return value


def _page(row: Row, path: Path) -> int:
    value = row.value.get("page")
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise _bad_field(row, "page", "a whole number from 1", path)
    return value


def _bad_field(row: Row, name: str, expected: str, path: Path) -> InputError:
    seen = shorten(repr(row.value[name])) if name in row.value else "no such field"
    return InputError(
        f"field {name!r}: expected {expected}, found {seen}", path=path, line=row.line
    )


def _folded(condition: str) -> str:
    """A condition as a key: its words, or itself if it has none."""
    return " ".join(words(condition)) or condition


def control_scores(
    control: str, index: CorpusIndex, query: Query, facts: Facts
) -> dict[str, float]:
    """Scores above 0 of one control; documents outside the corpus are left out.

    - surface_form_and: 1 for a page in any surface form for every condition, 2 if the page rule
      of golds holds, too (no page with all conditions; distinct pages can be assigned).
    - surface_form_count: the grade by which golds and subsets are defined.
    - exact_name_and: 1 if every condition has a page that holds the condition's own words.
    - single_page_surface_and: the number of pages that hold all conditions.
    """
    corpus = index.once("doc_ids", lambda: frozenset(index.doc_ids))
    rule = _CONTROLS[control]
    scores = {
        doc_id: float(rule(index, query, doc_id, pages))
        for doc_id, pages in facts.of_query(query).items()
        if doc_id in corpus
    }
    return {doc_id: score for doc_id, score in scores.items() if score > 0}


def _surface_form_and(_i: CorpusIndex, _q: Query, _d: str, pages: list[PageForms]) -> int:
    if not all(pages):
        return 0
    return 2 if gold_failure(pages) is None else 1


def _surface_form_count(_i: CorpusIndex, _q: Query, _d: str, pages: list[PageForms]) -> int:
    return document_grade(pages)


def _single_page(_i: CorpusIndex, _q: Query, _d: str, pages: list[PageForms]) -> int:
    return len(pages_holding_all(pages))


def _exact_name_and(index: CorpusIndex, query: Query, doc_id: str, pages: list[PageForms]) -> bool:
    return all(
        any(_names(index, doc_id, page, forms, condition) for page, forms in held.items())
        for condition, held in zip(query.conditions, pages)
    )


def _names(
    index: CorpusIndex, doc_id: str, page: int, forms: frozenset[str] | None, condition: str
) -> bool:
    """Whether a page holds the condition's own words: by its forms, or by its text."""
    name = words(condition)
    if forms is not None:
        return any(words(form) == name for form in forms)
    return bool(name) and holds_phrase(index, doc_id, page, name)


_CONTROLS: dict[str, Callable[[CorpusIndex, Query, str, list[PageForms]], Any]] = {
    "surface_form_and": _surface_form_and,
    "surface_form_count": _surface_form_count,
    "exact_name_and": _exact_name_and,
    "single_page_surface_and": _single_page,
}


def holds_phrase(index: CorpusIndex, doc_id: str, page: int, phrase: list[str]) -> bool:
    """Whether a page holds these words one after the other."""
    spans = index.once("page_spans", lambda: _page_spans(index))
    numbers = index.numbers(phrase)
    if len(numbers) < len(phrase) or (doc_id, page) not in spans:
        return False
    start, end = spans[doc_id, page]
    held = index.word_numbers[start:end]
    if len(held) < len(numbers):
        return False
    windows = np.lib.stride_tricks.sliding_window_view(held, len(numbers))
    return bool((windows == numbers).all(axis=1).any())


def _page_spans(index: CorpusIndex) -> dict[tuple[str, int], tuple[int, int]]:
    ends = index.page_ends.tolist()
    owners = [index.doc_ids[number] for number in index.page_documents]
    return {
        (doc_id, page): (start, end)
        for doc_id, page, start, end in zip(
            owners, index.page_numbers.tolist(), [0, *ends[:-1]], ends
        )
    }
