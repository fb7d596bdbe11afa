"""What if judged subsets were golds after all? Bounds and a plausible share.

Only the first judged document of a ranking decides its n-Clue success: gold, or a subset that
has been promoted. This makes the bound of Table S1h exact without a search, and shows why it is
the same for one, two or three promotions: a second one cannot change the first judged document.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nclue_core.errors import UsageError
from nclue_stats.inputs import (
    FloatArray,
    IntArray,
    Rng,
    check_confidence,
    check_count,
    generator,
    percentiles,
)

# Scenarios from the audits (supplement of arXiv 2607.24165v2), not population error rates, which
# the study warns against: of the 125 SourceShift subsets whose promotion could hurt one contrast 90
# became gold; of the 100 CrossPage pairs of the first audit, golds among them, 19 subsets did, so
# the share among subsets was at least that.
PRESETS = {"challenge": 90 / 125, "crosspage packet": 19 / 100}


@dataclass(frozen=True, eq=False)
class FirstJudged:
    """The first judged document in each query's top k."""

    document: IntArray  # (Q,) its code, -1 if no judged document is there
    is_gold: NDArray[np.bool_]

    @property
    def is_subset(self) -> NDArray[np.bool_]:
        """(Q,) whether it is a subset, which a promotion would make gold."""
        return (self.document >= 0) & ~self.is_gold


@dataclass(frozen=True)
class PromotionBound:
    """The smallest contrast that promotions can bring about."""

    observed: float  # mean of variant - base, as a fraction
    bound: float  # minimum over promotions, as a fraction
    k: int  # promotions allowed per query


@dataclass(frozen=True, eq=False)
class PlausiblePromotion:
    """A contrast under random promotion of judged subsets."""

    observed: float
    probability: float
    expected: float  # exact mean over promotions
    low: float  # percentiles of the draws
    high: float
    share_positive: float  # of the draws in which variant > base
    break_even: float  # promotion probability at which the expected contrast is 0; NaN if none
    draws: FloatArray


def first_judged(grades: ArrayLike, documents: ArrayLike, n_conditions: ArrayLike) -> FirstJudged:
    """The first document of each ranking with a grade above 0.

    Args:
        grades: (Q, k) grades by rank, 0 = not judged or no document.
        documents: (Q, k) codes of the documents, the same code in both systems of a contrast.
        n_conditions: (Q,) the grade that is gold.
    """
    matrix, codes = np.asarray(grades), np.asarray(documents)
    if matrix.shape != codes.shape or matrix.ndim != 2:
        raise UsageError(f"grades {matrix.shape} and documents {codes.shape} must be (Q, k) alike")
    judged = matrix > 0
    column = judged.argmax(axis=1)
    rows = np.arange(len(matrix))
    some = judged.any(axis=1)
    is_gold = some & (matrix[rows, column] == np.asarray(n_conditions))
    return FirstJudged(np.where(some, codes[rows, column], -1).astype(np.int64), is_gold)


def promotion_bound(base: FirstJudged, variant: FirstJudged, k: int = 1) -> PromotionBound:
    """Adversarial bound: promote up to k subsets per query so that variant - base is smallest.

    Promoting the base's first judged document makes the base succeed; it leaves the variant as
    it is unless both begin with the same subset, and then both succeed, which is no loss.

    Args:
        base: First judged documents of the base.
        variant: The same for the variant, with the same document codes.
        k: Promotions allowed per query; 0 gives the observed contrast.
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:
        raise UsageError(f"k is {k!r}, expected a whole number of at least 0")
    _check_same_queries(base, variant)
    observed = variant.is_gold.astype(np.int64) - base.is_gold.astype(np.int64)
    lowered = base.is_subset & (base.document != variant.document) if k else base.is_gold & False
    return PromotionBound(float(observed.mean()), float((observed - lowered).mean()), k)


def plausible_promotion(
    base: FirstJudged,
    variant: FirstJudged,
    probability: float,
    *,
    n_draws: int = 10_000,
    confidence: float = 0.95,
    rng: Rng = 0,
) -> PlausiblePromotion:
    """Promote each judged subset with a probability, many times.

    A document that both systems put first is promoted for both or for none. The expected
    contrast is linear in the probability, so its break-even point is exact.

    Args:
        base: First judged documents of the base.
        variant: The same for the variant, with the same document codes.
        probability: Chance that a judged subset is gold; see `PRESETS`.
        n_draws: Number of draws.
        confidence: Share of draws between ``low`` and ``high``.
        rng: Generator or seed.
    """
    if not 0 <= probability <= 1:
        raise UsageError(f"probability is {probability}, expected a number from 0 to 1")
    check_count("n_draws", n_draws)
    check_confidence(confidence)
    _check_same_queries(base, variant)
    observed = float(variant.is_gold.mean() - base.is_gold.mean())
    slope = float(variant.is_subset.mean() - base.is_subset.mean())
    same = base.document == variant.document
    # Subsets that both put first cancel, so only the others are drawn.
    gains = int((variant.is_subset & ~same).sum())
    losses = int((base.is_subset & ~same).sum())
    random = generator(rng)
    change = random.binomial(gains, probability, n_draws) - random.binomial(
        losses, probability, n_draws
    )
    draws = observed + change / len(same)
    low, high = percentiles(draws, confidence)
    return PlausiblePromotion(
        observed=observed,
        probability=probability,
        expected=observed + probability * slope,
        low=low,
        high=high,
        share_positive=float((draws > 1e-12).mean()),
        break_even=_break_even(observed, slope),
        draws=draws,
    )


def _check_same_queries(base: FirstJudged, variant: FirstJudged) -> None:
    if not len(base.document) == len(variant.document) > 0:
        raise UsageError(
            f"base has {len(base.document)} queries and variant {len(variant.document)}, "
            "expected the same ones, at least one"
        )


def _break_even(observed: float, slope: float) -> float:
    if slope == 0 or not 0 <= -observed / slope <= 1:
        return float("nan")
    return -observed / slope
