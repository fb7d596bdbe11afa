"""Draw decisions of a benchmark for reading: does this page hold this condition, or none?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nclue_construct.compose import chance
from nclue_construct.surface import split_words
from nclue_construct.vocabulary import FUNCTION_WORDS

if TYPE_CHECKING:
    from nclue_construct.zones import ZonedPage
    from nclue_core.schema import Qrel
    from nclue_dataset.release import Collection

DEPTH = 10  # ranks of the runs from which absences are drawn


class SampledDecision(NamedTuple):
    """A decision to be read."""

    query_id: str
    doc_id: str
    condition: str
    page: int | None  # said to hold it; None where the document is said not to hold it at all

    def to_json(self) -> dict[str, Any]:
        """The record for ``--json``."""
        return self._asdict()


def sample_decisions(collection: Collection, n: int = 100, seed: int = 11) -> list[SampledDecision]:
    """Draw n decisions, half of them absences.

    Absences are drawn from the subsets that runs put into their top 10, where a wrong label does
    most harm; positives from all evidence pages, one page per (document, condition). No document
    and condition is drawn twice.

    Args:
        collection: With evidence pages, and with rankings (else absences come from all subsets).
        n: Number of decisions; fewer where there are not enough.
        seed: Fixes the draw.
    """
    qrels = collection.qrels["final"]
    present = _positives(qrels, seed)
    absent = _absences(collection, qrels)
    return [*_draw(absent, n // 2, seed), *_draw(present, n - n // 2, seed)]


def _positives(qrels: Iterable[Qrel], seed: int) -> Iterator[SampledDecision]:
    for row in qrels:
        for item in row.evidence:
            page = min(item.pages, key=lambda p: chance(seed, row.doc_id, item.condition, str(p)))
            yield SampledDecision(row.query_id, row.doc_id, item.condition, page)


def _absences(collection: Collection, qrels: Iterable[Qrel]) -> Iterator[SampledDecision]:
    top: defaultdict[str, set[str]] = defaultdict(set)
    for ranking in collection.rankings:
        top[ranking.query_id].update(ranking.doc_ids[:DEPTH])
    conditions = {query.query_id: query.conditions for query in collection.queries}
    for row in qrels:
        if top and row.doc_id not in top[row.query_id]:
            continue
        held = {item.condition for item in row.evidence}
        for condition in conditions[row.query_id]:
            if condition not in held:
                yield SampledDecision(row.query_id, row.doc_id, condition, None)


def _draw(decisions: Iterable[SampledDecision], n: int, seed: int) -> list[SampledDecision]:
    unique: dict[tuple[str, str], SampledDecision] = {}
    for item in decisions:
        unique.setdefault((item.doc_id, item.condition), item)
    ordered = sorted(
        unique.values(), key=lambda item: chance(seed, "audit", item.doc_id, item.condition)
    )
    return ordered[:n]


def pages_to_read(
    decision: SampledDecision, pages: Sequence[ZonedPage], limit: int = 3
) -> list[ZonedPage]:
    """The page said to hold the condition, or the pages nearest in words to an absent one."""
    if decision.page is not None:
        return [page for page in pages if page.page == decision.page]
    asked = {word.norm for word in split_words(decision.condition)} - FUNCTION_WORDS
    scored = [(len(asked & {word.norm for word in page.words()}), page) for page in pages]
    scored.sort(key=lambda item: (-item[0], item[1].page))
    return [page for score, page in scored[:limit] if score > 0]


def nearby_lines(page: ZonedPage, condition: str, limit: int = 4) -> list[str]:
    """Lines of a page with the most words of a condition."""
    asked = {word.norm for word in split_words(condition)} - FUNCTION_WORDS
    lines = [" ".join(line.split()) for line in page.body.split("\n")]
    scored = [
        (len(asked & {word.norm for word in split_words(line)}), number)
        for number, line in enumerate(lines)
    ]
    best = sorted((item for item in scored if item[0]), key=lambda item: (-item[0], item[1]))
    return [lines[number] for number in sorted(number for _, number in best[:limit])]


def count_kinds(decisions: Iterable[SampledDecision]) -> Mapping[str, int]:
    """How many decisions of each kind."""
    counts = {"present": 0, "absent": 0}
    for item in decisions:
        counts["absent" if item.page is None else "present"] += 1
    return counts
