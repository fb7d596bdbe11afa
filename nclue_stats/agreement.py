"""Agreement between annotators: shares with Wilson intervals, and kappas.

A kappa is undefined (NaN) where chance agreement is 1, that is where all labels are of one
class: the observed agreement stands beside it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from nclue_core.errors import UsageError
from nclue_stats.inputs import FloatArray, check_confidence


@dataclass(frozen=True)
class Share:
    """A share with its Wilson interval; all NaN where the total is 0."""

    successes: int
    total: int
    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Kappa:
    """A chance-corrected agreement."""

    kappa: float  # NaN where chance agreement is 1
    observed: float  # observed (weighted) agreement
    expected: float  # by chance
    n_items: int


@dataclass(frozen=True)
class PageAgreement:
    """How two annotators' page sets agree."""

    identical: float  # share of items with equal sets
    jaccard: float  # mean overlap; two empty sets agree wholly
    overlapping: float  # share of items that share a page, or are both empty
    n_items: int


def wilson(successes: int, total: int, confidence: float = 0.95) -> Share:
    """Wilson score interval of a share, within 0..1.

    Raises:
        UsageError: Not 0 <= successes <= total.
    """
    check_confidence(confidence)
    if not 0 <= successes <= total:
        raise UsageError(f"{successes} of {total}: expected 0 <= successes <= total")
    if total == 0:
        return Share(0, 0, float("nan"), float("nan"), float("nan"))
    z2 = NormalDist().inv_cdf(0.5 + confidence / 2) ** 2
    share = successes / total
    middle = (share + z2 / (2 * total)) / (1 + z2 / total)
    spread = share * (1 - share) / total + z2 / (4 * total * total)
    half = (z2 * spread) ** 0.5 / (1 + z2 / total)
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == total else min(1.0, middle + half)
    return Share(successes, total, share, low, high)


def cohen_kappa(confusion: ArrayLike, *, weights: str | None = None) -> Kappa:
    """Cohen's kappa of two annotators, unweighted or linearly weighted.

    Args:
        confusion: (C, C) counts, rows the first annotator; classes in their order.
        weights: None, or "linear": disagreement grows with the distance of classes.
    """
    counts = _counts(confusion)
    size = len(counts)
    if counts.shape != (size, size) or weights not in (None, "linear"):
        raise UsageError(f"confusion of shape {counts.shape}, weights {weights!r}")
    total = counts.sum()
    distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float64)
    if weights is None:
        distance = (distance > 0).astype(np.float64)
    agreement = 1.0 - distance / max(distance.max(), 1.0)
    chance = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / total**2
    observed = float((counts / total * agreement).sum())
    return _kappa(observed, float((chance * agreement).sum()), int(total))


def confusion_matrix(
    first: Sequence[object], second: Sequence[object], classes: Sequence[object]
) -> FloatArray:
    """Counts of label pairs, rows the first annotator, classes in the declared order.

    Raises:
        UsageError: The lengths differ, or a label is no declared class.
    """
    if len(first) != len(second):
        raise UsageError(f"{len(first)} and {len(second)} labels, expected as many")
    code = {name: index for index, name in enumerate(classes)}
    unknown = [label for label in (*first, *second) if label not in code]
    if unknown:
        raise UsageError(f"label {unknown[0]!r} is not one of {list(classes)!r}")
    matrix = np.zeros((len(classes), len(classes)))
    for one, other in zip(first, second):
        matrix[code[one], code[other]] += 1
    return matrix


def fleiss_kappa(counts: ArrayLike) -> Kappa:
    """Fleiss' kappa of several annotators.

    Args:
        counts: (items, classes): how many annotators chose the class. Every item must have the
            same number of annotators, at least 2; a table the other way round rarely has.
    """
    table = _counts(counts)
    raters = table.sum(axis=1)
    if (raters != raters[0]).any() or raters[0] < 2:
        raise UsageError(
            "rows are items and add up to the number of annotators (at least 2), the same for "
            f"all; found row sums {sorted(set(raters.tolist()))}"
        )
    n = raters[0]
    observed = float(((table**2).sum(axis=1) - n).mean() / (n * (n - 1)))
    shares = table.sum(axis=0) / table.sum()
    return _kappa(observed, float((shares**2).sum()), len(table))


def pairwise_agreement(labels: Sequence[Sequence[object]]) -> list[Share]:
    """Share of equal labels for each pair of annotators (1-2, 1-3, 2-3, …)."""
    pairs = [(i, j) for i in range(len(labels)) for j in range(i + 1, len(labels))]
    if any(len(labels[i]) != len(labels[j]) for i, j in pairs):
        raise UsageError("annotators have different numbers of labels")
    return [
        wilson(sum(a == b for a, b in zip(labels[i], labels[j])), len(labels[i])) for i, j in pairs
    ]


def page_set_agreement(
    first: Sequence[Collection[int]], second: Sequence[Collection[int]]
) -> PageAgreement:
    """Agreement of the pages that two annotators selected per item; NaN without items."""
    if len(first) != len(second):
        raise UsageError(f"{len(first)} and {len(second)} items, expected as many")
    pairs = [(set(a), set(b)) for a, b in zip(first, second)]
    if not pairs:
        return PageAgreement(float("nan"), float("nan"), float("nan"), 0)
    overlaps = [len(a & b) / len(a | b) if a | b else 1.0 for a, b in pairs]
    return PageAgreement(
        identical=sum(a == b for a, b in pairs) / len(pairs),
        jaccard=sum(overlaps) / len(pairs),
        overlapping=sum(overlap > 0 for overlap in overlaps) / len(pairs),
        n_items=len(pairs),
    )


def _counts(values: ArrayLike) -> FloatArray:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or not table.size or (table < 0).any() or (table % 1 != 0).any():
        raise UsageError("expected a table of counts: whole numbers, not negative, not empty")
    if table.sum() == 0:
        raise UsageError("the table of counts is all zero")
    return table


def _kappa(observed: float, expected: float, n_items: int) -> Kappa:
    undefined = 1.0 - expected < 1e-12
    kappa = float("nan") if undefined else (observed - expected) / (1.0 - expected)
    return Kappa(kappa, observed, expected, n_items)
