"""Gold+Support@m: does a system also surface the pages that establish the conditions?

For each gold among the first k take its m highest-scoring distinct surfaced pages. The query
succeeds if, for some retrieved gold, these pages meet the stored page set of every condition (the
pages need not be different ones). The denominator is all queries. Source: supplement of
arXiv 2607.24165v2, Table S5b (there m = 3, k = 10).

The study also prints page coverages "conditional on first retrieving a gold" (all conditions: 14
to 17 %) without their unit. With the best-covered gold of a query as the unit the all-condition
coverage is Gold+Support / Gold Hit, which the printed levels put at 9.8 to 12.0 %; so the printed
figure is something else. Every reading that the sentence allows is given under a name of its own
(`READINGS`); none is claimed to be the study's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .scoring import FloatArray, Judgments, ScoringError, defined_mean

# Per query: document ID -> pages as (1-based page number, score), in the system's order.
SurfacedPages = Mapping[str, Sequence[tuple[int, float]]]
# Per query: document ID -> per condition the pages that establish it.
PageEvidence = Mapping[str, Sequence[Sequence[int]]]

# Page coverage among queries with a gold hit: name in results -> what it says. "@m" stands behind
# those that take a gold's m best pages; the others take all pages that were surfaced for it.
READINGS = {
    "condition_page_coverage@": "per query, share of conditions covered by its best gold",
    "all_condition_page_coverage@": "per query, whether its best gold covers all conditions",
    "condition_page_coverage_per_gold@": "share of conditions covered, mean over retrieved golds",
    "all_condition_page_coverage_per_gold@": "share of retrieved golds that cover all conditions",
    "condition_page_coverage_micro@": "share of all (retrieved gold, condition) pairs covered",
    "condition_page_coverage_first_gold@": "share of conditions covered by the first gold",
    "all_condition_page_coverage_first_gold@": "whether the first gold covers all conditions",
    "condition_page_coverage_pooled@": "share of conditions covered by any retrieved gold",
    "all_condition_page_coverage_pooled@": "whether the retrieved golds together cover all",
    "condition_page_coverage_surfaced": "as the first, with all surfaced pages",
    "all_condition_page_coverage_surfaced": "as the second, with all surfaced pages",
    "all_condition_page_coverage_surfaced_per_gold": "share of retrieved golds, all their pages",
}

# Retrieved golds of a query in rank order: (pages best first, page sets of the conditions).
RetrievedGolds = Sequence[tuple[Sequence[int], Sequence[set[int]]]]


@dataclass(frozen=True, eq=False)
class SupportScores:
    """Page support at one m, an array over the Q queries each."""

    k: int
    m: int
    success: FloatArray  # 1.0 if some retrieved gold has every condition covered, else 0.0
    condition_coverage: FloatArray  # best share of conditions covered; NaN without a gold hit
    all_conditions: FloatArray  # 1.0 / 0.0 as success; NaN without a gold hit
    readings: dict[str, float]  # name of `READINGS` (with m) -> fraction; NaN without any gold hit
    n_retrieved_golds: int  # (query, gold) pairs among the first k: the unit of "per_gold"


def top_pages(pages: Sequence[tuple[int, float]], m: int) -> list[int]:
    """The m highest-scoring distinct pages; ties keep the given order, repeats their best score."""
    best: dict[int, float] = {}
    for page, score in pages:
        if page not in best or score > best[page]:
            best[page] = score
    return sorted(best, key=lambda page: -best[page])[:m]


def support_scores(
    judgments: Judgments,
    rankings: Sequence[Sequence[str]],
    surfaced: Sequence[SurfacedPages],
    evidence: Sequence[PageEvidence],
    *,
    k: int = 10,
    ms: Sequence[int] = (3,),
) -> dict[int, SupportScores]:
    """Gold+Support and conditional page coverage, for several m at once.

    Args:
        judgments: Judgments of Q queries.
        rankings: Q rankings in their order.
        surfaced: Per query and retrieved document, the pages the system surfaced. A gold without
            pages covers nothing.
        evidence: Per query and gold document, the page set of every condition.
        k: Cutoff of the ranking.
        ms: Numbers of pages taken per document, at least 1 each.

    Raises:
        ScoringError: The lengths differ, no page was surfaced at all, a page or score is not a
            number, or a gold has no evidence (document-level judgments cannot be scored so).
    """
    if not len(rankings) == len(surfaced) == len(evidence) == len(judgments):
        raise ScoringError(
            f"{len(judgments)} queries, {len(rankings)} rankings, {len(surfaced)} surfaced pages "
            f"and {len(evidence)} evidence: expected the same number"
        )
    if any(isinstance(m, bool) or not isinstance(m, int) or m < 1 for m in ms):
        raise ScoringError(f"m is {list(ms)!r}, expected whole numbers of at least 1")
    if len(judgments) and not any(surfaced):
        raise ScoringError("no page was surfaced for any query: page support needs page scores")
    golds = [
        [doc_id for doc_id in ranking[:k] if doc_id in gold]
        for ranking, gold in zip(rankings, judgments.gold_ids)
    ]
    ordered = [
        [(_ordered_pages(q, d, pages.get(d, ())), _evidence_sets(q, d, stored, n)) for d in docs]
        for q, docs, pages, stored, n in zip(
            judgments.query_ids, golds, surfaced, evidence, judgments.n_conditions.tolist()
        )
    ]
    return {m: _at_m(ordered, k, m) for m in ms}


def summarize_support(scores: SupportScores) -> dict[str, Any]:
    """Percentages; the coverages are over the queries with a gold hit, whose number is given.

    What each coverage is over is said in `READINGS`; ``n_retrieved_golds`` is the number of
    (query, gold) pairs behind those per gold.
    """
    total = len(scores.success)
    suffix = f"@{scores.m}"
    return {
        f"gold_support{suffix}": float(scores.success.mean()) * 100 if total else float("nan"),
        **{name: value * 100 for name, value in scores.readings.items()},
        "n_gold_hit": int((~np.isnan(scores.all_conditions)).sum()),
        "n_retrieved_golds": scores.n_retrieved_golds,
    }


def _at_m(ordered: Sequence[RetrievedGolds], k: int, m: int) -> SupportScores:
    covered = [_covered(golds, m) for golds in ordered]
    best = _per_query(covered, lambda golds: max(golds.mean(axis=1)))
    complete = _per_query(covered, lambda golds: float(golds.all(axis=1).any()))
    readings = {
        f"condition_page_coverage@{m}": defined_mean(best),
        f"all_condition_page_coverage@{m}": defined_mean(complete),
        **_other_readings(covered, m),
        **_surfaced_readings([_covered(golds, None) for golds in ordered]),
    }
    n_golds = sum(len(golds) for golds in covered)
    return SupportScores(k, m, np.nan_to_num(complete), best, complete, readings, n_golds)


def _covered(golds: RetrievedGolds, m: int | None) -> NDArray[np.bool_]:
    """(golds, conditions) whether the m best pages (None: all) of the gold meet the condition."""
    return np.array(
        [[not pages.isdisjoint(top[:m]) for pages in conditions] for top, conditions in golds],
        dtype=np.bool_,
    )


def _other_readings(covered: Sequence[NDArray[np.bool_]], m: int) -> dict[str, float]:
    pairs = np.concatenate([golds.ravel() for golds in covered] or [np.zeros(0, dtype=np.bool_)])
    return {
        f"condition_page_coverage_per_gold@{m}": _per_gold(covered, np.mean),
        f"all_condition_page_coverage_per_gold@{m}": _per_gold(covered, np.all),
        f"condition_page_coverage_micro@{m}": defined_mean(pairs.astype(np.float64)),
        f"condition_page_coverage_first_gold@{m}": defined_mean(
            _per_query(covered, lambda golds: golds[0].mean())
        ),
        f"all_condition_page_coverage_first_gold@{m}": defined_mean(
            _per_query(covered, lambda golds: float(golds[0].all()))
        ),
        f"condition_page_coverage_pooled@{m}": defined_mean(
            _per_query(covered, lambda golds: golds.any(axis=0).mean())
        ),
        f"all_condition_page_coverage_pooled@{m}": defined_mean(
            _per_query(covered, lambda golds: float(golds.any(axis=0).all()))
        ),
    }


def _surfaced_readings(covered: Sequence[NDArray[np.bool_]]) -> dict[str, float]:
    best = _per_query(covered, lambda golds: max(golds.mean(axis=1)))
    complete = _per_query(covered, lambda golds: float(golds.all(axis=1).any()))
    return {
        "condition_page_coverage_surfaced": defined_mean(best),
        "all_condition_page_coverage_surfaced": defined_mean(complete),
        "all_condition_page_coverage_surfaced_per_gold": _per_gold(covered, np.all),
    }


def _per_query(
    covered: Sequence[NDArray[np.bool_]], value: Callable[[NDArray[np.bool_]], float]
) -> FloatArray:
    """(Q,) a value of each query's retrieved golds; NaN for a query without one."""
    return np.array([value(golds) if len(golds) else np.nan for golds in covered], dtype=np.float64)


def _per_gold(covered: Sequence[NDArray[np.bool_]], value: Callable[[Any], Any]) -> float:
    golds = [float(value(row)) for table in covered for row in table]
    return defined_mean(np.array(golds, dtype=np.float64))


def _ordered_pages(query_id: str, doc_id: str, pages: Sequence[tuple[int, float]]) -> list[int]:
    for item in pages:
        if len(item) != 2 or isinstance(item[0], bool) or not isinstance(item[0], int):
            raise ScoringError(
                f"query {query_id!r}, document {doc_id!r}: surfaced page {item!r} is no pair of a "
                "1-based page number and a score"
            )
        if item[0] < 1 or not isinstance(item[1], (int, float)) or item[1] != item[1]:
            raise ScoringError(
                f"query {query_id!r}, document {doc_id!r}: page {item[0]!r} with score "
                f"{item[1]!r}; pages start at 1 and scores are numbers"
            )
    return top_pages(pages, len(pages))


def _evidence_sets(query_id: str, doc_id: str, stored: PageEvidence, n: int) -> list[set[int]]:
    conditions = [set(pages) for pages in stored.get(doc_id, ())]
    if len(conditions) != n or not all(conditions):
        raise ScoringError(
            f"query {query_id!r}: the gold {doc_id!r} has no evidence pages for every condition "
            f"(found {sum(map(bool, conditions))} page sets in {len(conditions)}, the query has "
            f"{n} conditions); collections judged per document have none and cannot be scored by "
            "page"
        )
    return conditions
