"""Gold+Support@m: does a system also surface the pages that establish the conditions?

For each gold among the first k take its m highest-scoring distinct surfaced pages. The query
succeeds if, for some retrieved gold, these pages meet the stored page set of every condition (the
pages need not be different ones). The denominator is all queries. Source: supplement of
arXiv 2607.24165v2, Table S5b (there m = 3, k = 10).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .scoring import FloatArray, Judgments, ScoringError, defined_mean

# Per query: document ID -> pages as (1-based page number, score), in the system's order.
SurfacedPages = Mapping[str, Sequence[tuple[int, float]]]
# Per query: document ID -> per condition the pages that establish it.
PageEvidence = Mapping[str, Sequence[Sequence[int]]]


@dataclass(frozen=True, eq=False)
class SupportScores:
    """Page support at one m, an array over the Q queries each."""

    k: int
    m: int
    success: FloatArray  # 1.0 if some retrieved gold has every condition covered, else 0.0
    condition_coverage: FloatArray  # best share of conditions covered; NaN without a gold hit
    all_conditions: FloatArray  # 1.0 / 0.0 as success; NaN without a gold hit


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
        [(_ordered_pages(q, d, pages.get(d, ())), _evidence_sets(q, d, stored)) for d in docs]
        for q, docs, pages, stored in zip(judgments.query_ids, golds, surfaced, evidence)
    ]
    return {m: _at_m(ordered, k, m) for m in ms}


def summarize_support(scores: SupportScores) -> dict[str, Any]:
    """Percentages; the coverages are over the queries with a gold hit, whose number is given."""
    total = len(scores.success)
    suffix = f"@{scores.m}"
    return {
        f"gold_support{suffix}": float(scores.success.mean()) * 100 if total else float("nan"),
        f"condition_page_coverage{suffix}": defined_mean(scores.condition_coverage) * 100,
        f"all_condition_page_coverage{suffix}": defined_mean(scores.all_conditions) * 100,
        "n_gold_hit": int((~np.isnan(scores.all_conditions)).sum()),
    }


def _at_m(ordered: list[list[tuple[list[int], list[set[int]]]]], k: int, m: int) -> SupportScores:
    coverage = np.full(len(ordered), np.nan)
    for row, golds in enumerate(ordered):
        shares = [
            sum(not pages.isdisjoint(top[:m]) for pages in conditions) / len(conditions)
            for top, conditions in golds
        ]
        if shares:
            coverage[row] = max(shares)
    complete = np.where(np.isnan(coverage), np.nan, (coverage == 1.0).astype(np.float64))
    return SupportScores(k, m, np.nan_to_num(complete), coverage, complete)


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


def _evidence_sets(query_id: str, doc_id: str, stored: PageEvidence) -> list[set[int]]:
    conditions = [set(pages) for pages in stored.get(doc_id, ())]
    if not conditions or not all(conditions):
        raise ScoringError(
            f"query {query_id!r}: the gold {doc_id!r} has no evidence pages for every condition; "
            "collections judged per document have none and cannot be scored by page"
        )
    return conditions
