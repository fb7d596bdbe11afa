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
from nclue_metric import QueryScores
from nclue_stats.agreement import Share, wilson
from nclue_stats.inputs import (
    FloatArray,
    IntArray,
    Rng,
    check_confidence,
    check_count,
    generator,
    numbers,
    percentiles,
)

CHANGES_SIGN = "changes sign"
NO_CHANGE = "no sign change up to p = 1"
NO_DIFFERENCE = "no difference to lose"


@dataclass(frozen=True)
class Preset:
    """A promotion rate that an audit found among the subsets it read."""

    name: str
    promoted: int  # subsets that became gold
    subsets: int  # subsets read: the denominator, golds not among them
    source: str

    @property
    def share(self) -> Share:
        """The rate with its Wilson 95% interval."""
        return wilson(self.promoted, self.subsets)


_STUDY = "supplement of arXiv 2607.24165v2"
# Scenarios from the audits, not population error rates, which the study warns against.
PRESETS = {
    preset.name: preset
    for preset in (
        Preset(
            "crosspage-packet", 19, 50,
            f"{_STUDY}: the 48 + 2 subsets of the stratified CrossPage packet, 19 of them found "
            "gold",
        ),
        Preset(
            "sourceshift-packet", 43, 103,
            f"{_STUDY}: the 25 + 25 + 25 + 28 subsets of the stratified SourceShift packet, 43 of "
            "them found gold",
        ),
        Preset(
            "sourceshift-challenge", 90, 125,
            f"{_STUDY}: the SourceShift subsets whose promotion could reduce one contrast, chosen "
            "for that, 90 of them found gold",
        ),
    )
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class FirstJudged:
    """The first judged document in each query's top k."""

    document: IntArray  # (Q,) its code, -1 if no judged document is there
    is_gold: NDArray[np.bool_]

    @property
    def is_subset(self) -> NDArray[np.bool_]:
        """(Q,) whether it is a subset, which a promotion would make gold."""
        return (self.document >= 0) & ~self.is_gold

    @classmethod
    def of_scores(cls, scores: QueryScores) -> FirstJudged:
        """From the scores of one run, which know no documents: every code is its own."""
        some = np.isfinite(np.minimum(scores.gold_rank, scores.subset_rank))
        return cls(np.where(some, np.arange(len(some)), -1), scores.score > 0)

    @classmethod
    def nothing(cls, n_queries: int) -> FirstJudged:
        """A base without results: a contrast with it is the variant's Score itself."""
        return cls(np.full(n_queries, -1, dtype=np.int64), np.zeros(n_queries, dtype=np.bool_))


@dataclass(frozen=True)
class PromotionBound:
    """The smallest contrast that promotions can bring about."""

    observed: float  # mean of variant - base, as a fraction
    bound: float  # minimum over promotions, as a fraction
    k: int  # promotions allowed per query


@dataclass(frozen=True)
class BreakEven:
    """Where the expected contrast changes its sign as the promotion probability grows."""

    probability: float  # strictly between 0 and 1; NaN if the sign does not change
    note: str  # CHANGES_SIGN, NO_CHANGE or NO_DIFFERENCE

    def __str__(self) -> str:
        if np.isnan(self.probability):
            return self.note
        if not 0.005 <= self.probability < 0.995:  # two digits would say 0 or 1, which it is not
            return "< 0.01" if self.probability < 0.5 else "> 0.99"
        return f"{self.probability:.2f}"


@dataclass(frozen=True, eq=False)
class PlausiblePromotion:
    """A contrast under random promotion of judged subsets."""

    observed: float
    probability: float
    expected: float  # exact mean over promotions
    slope: float  # expected = observed + slope x probability
    low: float  # percentiles of the draws
    high: float
    share_positive: float  # of the draws in which variant > base
    share_negative: float  # of the draws in which variant < base
    break_even: float  # promotion probability at which the expected contrast changes sign, or NaN
    break_even_note: str
    draws: FloatArray


@dataclass(frozen=True)
class Scenario:
    """A promotion probability: an audit's rate, or any other (`preset`, `rate`)."""

    name: str
    probability: float
    share: Share | None = None  # counts and interval behind an audit's rate
    source: str = ""

    @classmethod
    def preset(cls, name: str) -> Scenario:
        """By the name of a preset."""
        if name not in PRESETS:
            raise UsageError(f"no preset is called {name!r}; there are {', '.join(PRESETS)}")
        found = PRESETS[name]
        return cls(name, found.promoted / found.subsets, found.share, found.source)

    @classmethod
    def rate(cls, probability: float) -> Scenario:
        """Any probability from 0 to 1."""
        return cls(f"p = {_probability(probability):g}", probability)

    def apply(
        self, base: FirstJudged, variant: FirstJudged, *, n_draws: int, rng: Rng
    ) -> ScenarioResult:
        """`plausible_promotion` at this probability, in points."""
        found = plausible_promotion(base, variant, self.probability, n_draws=n_draws, rng=rng)
        ends = () if self.share is None else (self.share.low, self.share.high)
        return ScenarioResult(
            name=self.name,
            probability=self.probability,
            observed=100 * found.observed,
            expected=100 * found.expected,
            low=100 * found.low,
            high=100 * found.high,
            share_positive=found.share_positive,
            share_negative=found.share_negative,
            n_draws=n_draws,
            promoted=None if self.share is None else self.share.successes,
            subsets_read=None if self.share is None else self.share.total,
            probability_ci95=ends,
            expected_at_ci95=tuple(100 * (found.observed + end * found.slope) for end in ends),
            source=self.source,
        )


@dataclass(frozen=True)
class ScenarioResult:
    """A contrast (or a Score) in a scenario, in points; what an audit adds is empty for others."""

    name: str
    probability: float
    observed: float
    expected: float
    low: float  # percentile 95% interval of the draws
    high: float
    share_positive: float
    share_negative: float
    n_draws: int
    promoted: int | None
    subsets_read: int | None
    probability_ci95: tuple[float, ...]  # Wilson interval of the audit's rate
    expected_at_ci95: tuple[float, ...]  # the expected value at its two ends
    source: str


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
    n = np.asarray(n_conditions)
    if n.shape != matrix.shape[:1]:
        raise UsageError(f"n_conditions {n.shape} for {len(matrix)} queries, expected one each")
    judged = matrix > 0
    column = judged.argmax(axis=1)
    rows = np.arange(len(matrix))
    some = judged.any(axis=1)
    is_gold = some & (matrix[rows, column] == n)
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


def break_even(base: FirstJudged, variant: FirstJudged) -> BreakEven:
    """The promotion probability at which the expected contrast changes its sign.

    With d = golds first of the variant minus those of the base and s = the same of subsets, both
    whole numbers, the expected contrast is (d + p s) / Q. It changes its sign at p = -d / s if d
    and s have unlike signs and |d| < |s|. With |d| = |s| it is 0 at p = 1, which is no change.
    """
    _check_same_queries(base, variant)
    difference = int(variant.is_gold.sum()) - int(base.is_gold.sum())
    slope = int(variant.is_subset.sum()) - int(base.is_subset.sum())
    if difference == 0:
        return BreakEven(float("nan"), NO_DIFFERENCE)
    if difference * slope >= 0 or abs(difference) >= abs(slope):
        return BreakEven(float("nan"), NO_CHANGE)
    return BreakEven(-difference / slope, CHANGES_SIGN)


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
    contrast is linear in the probability, so that its mean and `break_even` are exact.

    Args:
        base: First judged documents of the base.
        variant: The same for the variant, with the same document codes.
        probability: Chance that a judged subset is gold; see `PRESETS`.
        n_draws: Number of draws, at least 2.
        confidence: Share of draws between ``low`` and ``high``.
        rng: Generator or seed.
    """
    _probability(probability)
    check_count("n_draws", n_draws, least=2)
    check_confidence(confidence)
    _check_same_queries(base, variant)
    queries = len(base.document)
    difference = int(variant.is_gold.sum()) - int(base.is_gold.sum())
    same = base.document == variant.document
    # Subsets that both put first cancel, so only the others are drawn.
    gains = int((variant.is_subset & ~same).sum())
    losses = int((base.is_subset & ~same).sum())
    random = generator(rng)
    drawn = difference + random.binomial(gains, probability, n_draws)
    drawn -= random.binomial(losses, probability, n_draws)
    draws: FloatArray = drawn / queries
    low, high = percentiles(draws, confidence)
    even = break_even(base, variant)
    return PlausiblePromotion(
        observed=difference / queries,
        probability=float(probability),
        expected=(difference + probability * (gains - losses)) / queries,
        slope=(gains - losses) / queries,
        low=low,
        high=high,
        share_positive=float((drawn > 0).mean()),
        share_negative=float((drawn < 0).mean()),
        break_even=even.probability,
        break_even_note=even.note,
        draws=draws,
    )


def _check_same_queries(base: FirstJudged, variant: FirstJudged) -> None:
    if not len(base.document) == len(variant.document) > 0:
        raise UsageError(
            f"base has {len(base.document)} queries and variant {len(variant.document)}, "
            "expected the same ones, at least one"
        )


def _probability(value: float) -> float:
    if isinstance(value, bool) or not 0 <= float(numbers("probability", value)) <= 1:
        raise UsageError(f"probability is {value}, expected a number from 0 to 1")
    return float(value)
