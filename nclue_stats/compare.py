"""Paired contrasts of runs: everything that is shown for a variant against a base."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nclue_core.errors import UsageError
from nclue_core.jsonl import json_ready
from nclue_metric import Judgments, QueryScores, common_support, score_grades
from nclue_metric.measures import Measure, interval_measures
from nclue_metric.scoring import defined_mean
from nclue_stats.bootstrap import BootstrapResult, family_bootstrap
from nclue_stats.inputs import FloatArray, IntArray, gold_families
from nclue_stats.promotion import (
    FirstJudged,
    Scenario,
    ScenarioResult,
    break_even,
    first_judged,
    promotion_bound,
)
from nclue_stats.randomization import holm, max_t, paired_randomization

MEASURES = ("score", "hit", "gold_ndcg")
_NAMES = ("n_clue_score", "gold_hit", "gold_ndcg")  # of the same in the table of measures


@dataclass(frozen=True)
class Delta:
    """A difference of a measure, in percentage points, variant minus base."""

    base: float
    variant: float
    delta: float
    low: float  # NaN with fewer than two families: no interval
    high: float
    p_query: float
    p_family: float


@dataclass(frozen=True)
class OrderingInterval:
    """The percentile 95% interval of delta D, as fractions."""

    low: float  # NaN with fewer than two families among the common queries
    high: float
    n_families: int  # among the common queries
    n_undefined: int  # replicates without a common query: not in the interval


@dataclass(frozen=True)
class Contrast:
    """A variant against the base. Percentages, except D (a share) and p-values."""

    base: str
    variant: str
    n_queries: int
    n_families: int
    score: Delta
    hit: Delta
    gold_ndcg: Delta
    p_block: float  # of the Score, adjusted for all variants of the call (max-|T|, families)
    p_holm: float  # Holm over the p_family of the Score of the call's variants; not over blocks
    base_outcomes: tuple[float, float, float]  # miss, subset-first, gold-first
    variant_outcomes: tuple[float, float, float]
    common_n: int  # queries where both have a gold hit
    base_d: float  # NaN where common_n is 0
    variant_d: float
    delta_d: float
    delta_d_low: float  # NaN with fewer than two families in common: no interval
    delta_d_high: float
    common_families: int  # families among the common queries
    delta_d_undefined: int  # replicates without a common query: not in the interval
    promotion_bounds: tuple[float, float, float]  # smallest delta Score for k = 1, 2, 3
    break_even: float  # promotion probability at which the expected delta Score changes sign
    break_even_note: str  # a word for it, also where there is none and ``break_even`` is NaN
    promotions: tuple[ScenarioResult, ...]  # in the order of the scenarios given
    more: dict[str, Delta]  # of the other measures that have an interval, by name

    def to_json(self) -> dict[str, Any]:
        """The contrast as data; what is undefined is None (null in JSON)."""
        data: dict[str, Any] = json_ready(asdict(self))
        return data


@dataclass(frozen=True, eq=False)
class _Scored:
    """A run at one cutoff."""

    name: str
    scores: QueryScores
    first: FirstJudged

    def values(self, measure: str) -> FloatArray:
        values: FloatArray = getattr(self.scores, measure)
        return values


def compare_runs(
    judgments: Judgments,
    base: tuple[str, Sequence[Sequence[str]]],
    variants: Sequence[tuple[str, Sequence[Sequence[str]]]],
    *,
    k: int = 10,
    n_resamples: int = 1_000,
    n_draws: int = 10_000,
    rng: int = 0,
    scenarios: Sequence[Scenario] = (),
) -> list[Contrast]:
    """Compare variants with a base on the same queries.

    Args:
        judgments: Judgments of Q queries.
        base: Name and Q rankings in the order of the queries (missing ones empty).
        variants: Names and rankings of the variants, at least one.
        k: Cutoff.
        n_resamples: Replicates of the family bootstrap (percentile 95% intervals).
        n_draws: Sign patterns of the randomization tests (two-sided, paired), and draws of each
            promotion scenario.
        rng: Seed; every test starts from it, so that a contrast does not depend on its
            neighbours.
        scenarios: Promotion scenarios that the Score is put through.

    Returns:
        One contrast per variant. ``p_block`` and ``p_holm`` take the variants given as the block
        of endpoints that were tried; the study's Holm runs over blocks, see
        `nclue_stats.blocks`. NDCG is compared over queries where it is defined.
    """
    if not variants:
        raise UsageError("no variant to compare with the base")
    codes: dict[str, int] = {}
    scored_base = _score(judgments, base, k, codes)
    scored = [_score(judgments, variant, k, codes) for variant in variants]
    families = gold_families(judgments.gold_ids)
    differences = np.stack(
        [item.scores.score - scored_base.scores.score for item in scored], axis=1
    )
    block = max_t(differences, families, n_draws=n_draws, rng=rng)
    deltas = [
        {
            measure: _delta(
                scored_base.values(measure), item.values(measure), families,
                n_resamples, n_draws, rng,
            )
            for measure in MEASURES
        }
        for item in scored
    ]  # fmt: skip
    adjusted = holm([delta["score"].p_family for delta in deltas])
    orderings = [
        common_ordering_interval(
            scored_base.scores, item.scores, families, n_resamples=n_resamples, rng=rng
        )
        for item in scored
    ]
    promotions = [_promotions(scored_base, item, scenarios, n_draws, rng) for item in scored]
    more = [
        {
            measure.name: _delta(
                measure.of_query(scored_base.scores), measure.of_query(item.scores), families,
                n_resamples, n_draws, rng,
            )
            for measure in more_measures()
        }
        for item in scored
    ]  # fmt: skip
    pairs = zip(block.pvalues.tolist(), adjusted)
    return [
        _contrast(scored_base, item, delta, families, pair, ordering, promotion, other)
        for item, delta, pair, ordering, promotion, other in zip(
            scored, deltas, pairs, orderings, promotions, more
        )
    ]


def more_measures() -> list[Measure]:
    """The measures of the table that are compared besides Score, Hit and Gold-NDCG."""
    return [measure for measure in interval_measures() if measure.name not in _NAMES]


def common_ordering_interval(
    base: QueryScores,
    variant: QueryScores,
    families: IntArray,
    *,
    n_resamples: int = 1_000,
    rng: int = 0,
) -> OrderingInterval:
    """Family-bootstrap interval of delta D, a ratio over the drawn families.

    A replicate is delta D over the common queries (both systems have a gold hit) of the drawn
    families; replicates without one are undefined and counted. With fewer than two families among
    the common queries there is no interval (NaN).
    """
    both = (base.hit > 0) & (variant.hit > 0)
    n_families = len(np.unique(families[both]))
    values = np.where(both, variant.score - base.score, np.nan)
    found = family_bootstrap(values, families, n_resamples=n_resamples, rng=rng)
    low, high = float(found.low[0]), float(found.high[0])
    if n_families < 2:
        low = high = math.nan
    return OrderingInterval(low, high, n_families, int(found.n_undefined[0]))


def family_intervals(
    judgments: Judgments, scores: QueryScores, *, n_resamples: int = 1_000, rng: int = 0
) -> dict[str, tuple[float, float]]:
    """Percentile 95% intervals of one run's measures, in percent, by family bootstrap.

    With fewer than two families (of queries where the measure is defined) there is none: NaN.
    """
    columns = np.stack([getattr(scores, measure) for measure in MEASURES], axis=1)
    families = gold_families(judgments.gold_ids)
    result = family_bootstrap(columns, families, n_resamples=n_resamples, rng=rng)
    informative = [len(np.unique(families[~np.isnan(column)])) > 1 for column in columns.T]
    return {
        measure: (100 * float(low), 100 * float(high)) if enough else (math.nan, math.nan)
        for measure, low, high, enough in zip(MEASURES, result.low, result.high, informative)
    }


def _score(
    judgments: Judgments, run: tuple[str, Sequence[Sequence[str]]], k: int, codes: dict[str, int]
) -> _Scored:
    name, rankings = run
    grades = judgments.grade_matrix(rankings, k)
    documents = np.full(grades.shape, -1, dtype=np.int64)
    for row, ranking in enumerate(rankings):
        for column, doc_id in enumerate(ranking[:k]):
            documents[row, column] = codes.setdefault(doc_id, len(codes))
    return _Scored(
        name,
        score_grades(grades, judgments, k),
        first_judged(grades, documents, judgments.n_conditions),
    )


def _delta(
    one: FloatArray,
    other: FloatArray,
    families: IntArray,
    n_resamples: int,
    n_draws: int,
    rng: int,
) -> Delta:
    difference = other - one
    defined = ~np.isnan(difference)
    if not defined.any():
        nan = math.nan
        return Delta(nan, nan, nan, nan, nan, nan, nan)
    kept, labels = difference[defined], families[defined]
    interval: BootstrapResult = family_bootstrap(kept, labels, n_resamples=n_resamples, rng=rng)
    low, high = float(interval.low[0]), float(interval.high[0])
    if not interval.is_informative:
        low = high = math.nan
    return Delta(
        base=100 * defined_mean(one),
        variant=100 * defined_mean(other),
        delta=100 * float(kept.mean()),
        low=100 * low,
        high=100 * high,
        p_query=paired_randomization(kept, n_draws=n_draws, rng=rng).pvalue,
        p_family=paired_randomization(kept, labels, n_draws=n_draws, rng=rng).pvalue,
    )


def _contrast(
    base: _Scored,
    variant: _Scored,
    deltas: Mapping[str, Delta],
    families: IntArray,
    adjusted: tuple[float, float],
    ordering: OrderingInterval,
    promotions: tuple[ScenarioResult, ...],
    more: dict[str, Delta],
) -> Contrast:
    common_n, base_d, variant_d, delta_d = common_support(base.scores, variant.scores)
    bounds = [100 * promotion_bound(base.first, variant.first, k).bound for k in (1, 2, 3)]
    even = break_even(base.first, variant.first)
    return Contrast(
        base=base.name,
        variant=variant.name,
        n_queries=len(base.scores.score),
        n_families=int(families.max()) + 1,
        score=deltas["score"],
        hit=deltas["hit"],
        gold_ndcg=deltas["gold_ndcg"],
        p_block=adjusted[0],
        p_holm=adjusted[1],
        base_outcomes=_outcomes(base.scores),
        variant_outcomes=_outcomes(variant.scores),
        common_n=common_n,
        base_d=base_d,
        variant_d=variant_d,
        delta_d=delta_d,
        delta_d_low=ordering.low,
        delta_d_high=ordering.high,
        common_families=ordering.n_families,
        delta_d_undefined=ordering.n_undefined,
        promotion_bounds=(bounds[0], bounds[1], bounds[2]),
        break_even=even.probability,
        break_even_note=even.note,
        promotions=promotions,
        more=more,
    )


def _promotions(
    base: _Scored, variant: _Scored, scenarios: Sequence[Scenario], n_draws: int, rng: int
) -> tuple[ScenarioResult, ...]:
    return tuple(
        scenario.apply(base.first, variant.first, n_draws=n_draws, rng=rng)
        for scenario in scenarios
    )


def _outcomes(scores: QueryScores) -> tuple[float, float, float]:
    shares = [100 * float((scores.outcome == code).mean()) for code in (0, 1, 2)]
    return shares[0], shares[1], shares[2]
