"""Compose rare conjunctions of conditions, and grade every document for each."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nclue_construct.search import Presence, Searched
from nclue_construct.surface import split_words
from nclue_construct.vocabulary import FUNCTION_WORDS
from nclue_core.assignment import document_grade, gold_failure, pages_holding_all


@dataclass(frozen=True)
class ComposeLimits:
    """What a conjunction must look like."""

    sizes: tuple[int, ...] = (2, 3)
    min_golds: int = 1
    max_golds: int = 5
    min_subsets: int = 4
    max_subsets: int = 60
    per_document: int = 150  # conjunctions of each size that are tried per document
    candidates: int = 4_000  # conjunctions kept, as in the study
    seed: int = 11


@dataclass(frozen=True)
class Candidate:
    """A conjunction with its judgments."""

    conditions: tuple[str, ...]
    golds: tuple[str, ...]
    subsets: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The row as it is written."""
        return {name: list(getattr(self, name)) for name in self.__dataclass_fields__}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Candidate:
        """A row read back."""
        return cls(**{name: tuple(row[name]) for name in cls.__dataclass_fields__})


def chance(seed: int, *parts: str) -> str:
    """A reproducible random order: the hash of a seed and a text, the same on every machine."""
    return hashlib.sha256("\x1f".join((str(seed), *parts)).encode()).hexdigest()


def compose(found: Sequence[Searched], limits: ComposeLimits) -> list[Candidate]:
    """Conjunctions that meet the limits, in a random order that the seed fixes."""
    by_name = {item.condition.name: item for item in found}
    tried = {
        names
        for size in limits.sizes
        for names in _conjunctions(found, size, limits)
        if not _share_words(names)
    }
    good = []
    for names in sorted(tried, key=lambda names: chance(limits.seed, *names)):
        candidate = judge(names, [by_name[name].documents for name in names])
        if candidate is not None and _fits(candidate, limits):
            good.append(candidate)
    return _keep(good, limits)


def _keep(good: list[Candidate], limits: ComposeLimits) -> list[Candidate]:
    share = limits.candidates // len(limits.sizes)
    kept: Counter[int] = Counter()
    result = []
    for candidate in good:
        size = len(candidate.conditions)
        if kept[size] < share:
            kept[size] += 1
            result.append(candidate)
    return result


def _conjunctions(
    found: Sequence[Searched], size: int, limits: ComposeLimits
) -> Iterator[tuple[str, ...]]:
    """Conjunctions that at least one document holds, at most ``per_document`` for each."""
    held: defaultdict[str, list[str]] = defaultdict(list)
    for item in found:
        for doc_id, here in item.documents.items():
            if here.strong:
                held[doc_id].append(item.condition.name)
    for doc_id in sorted(held):
        names = sorted(held[doc_id], key=lambda name: chance(limits.seed, doc_id, str(size), name))
        pool = list(itertools.islice(itertools.combinations(names, size), 20_000))
        pool.sort(key=lambda some: chance(limits.seed, doc_id, *some))
        for some in pool[: limits.per_document]:
            yield tuple(sorted(some))


def _share_words(names: Sequence[str]) -> bool:
    """Whether two conditions have a content word in common."""
    words = [
        {word.norm for word in split_words(name)} - FUNCTION_WORDS for name in names
    ]  # fmt: skip
    return any(a & b for a, b in itertools.combinations(words, 2))


def judge(names: Sequence[str], presences: Sequence[Mapping[str, Presence]]) -> Candidate | None:
    """Golds and subsets of a conjunction; None if some document can't be judged safely.

    A document is unsafe when pages on which a condition is doubtful would change its grade:
    the page rule must give the same answer with and without them.
    """
    golds, subsets = [], []
    for doc_id in sorted({doc_id for documents in presences for doc_id in documents}):
        here = [documents.get(doc_id, Presence()) for documents in presences]
        sure = document_grade([item.pages for item in here])
        generous = document_grade([item.pages | item.doubtful for item in here])
        if sure != generous:
            return None
        if sure == len(names):
            if not all(item.strong for item in here):
                return None
            golds.append(doc_id)
        elif sure > 0:
            subsets.append(doc_id)
    return Candidate(tuple(names), tuple(golds), tuple(subsets))


def _fits(candidate: Candidate, limits: ComposeLimits) -> bool:
    return (
        limits.min_golds <= len(candidate.golds) <= limits.max_golds
        and limits.min_subsets <= len(candidate.subsets) <= limits.max_subsets
    )


def explain_grade(page_sets: Iterable[Iterable[int]]) -> str:
    """Why these pages make a gold, a subset or nothing, in one sentence."""
    sets = [set(pages) for pages in page_sets]
    held = sum(1 for pages in sets if pages)
    if held == 0:
        return "no condition has a page: grade 0"
    if held < len(sets):
        return f"{held} of {len(sets)} conditions have pages: subset, grade {held}"
    failure = gold_failure(sets)
    if failure is None:
        return f"all {held} conditions have pages, on distinct pages, none alone: gold"
    where = " (a single page suffices)" if pages_holding_all(sets) else ""
    return f"all conditions have pages, but {failure}{where}: subset, grade {held - 1}"
