"""Agreement between annotators: shares with Wilson intervals, and kappas.

A kappa is undefined (NaN) where chance agreement is 1, that is where all labels are of one
class: the observed agreement stands beside it.

Labels are compared exactly. An item that an annotator left unanswered (None, NaN, or a blank
string) is no answer: it agrees with nothing and disagrees with nothing, is left out of every
figure that needs that annotator, and every figure says over how many items it is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from nclue_core.errors import UsageError
from nclue_stats.inputs import FloatArray, check_confidence, numbers


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
    n_items: int  # that were counted


@dataclass(frozen=True)
class PageAgreement:
    """How two annotators' page sets agree."""

    identical: float  # share of items with equal sets
    jaccard: float  # mean overlap; two empty sets agree wholly
    overlapping: float  # share of items that share a page, or are both empty
    n_items: int  # that both answered


def wilson(successes: int, total: int, confidence: float = 0.95) -> Share:
    """Wilson score interval of a share, within 0..1.

    Raises:
        UsageError: Not whole numbers with 0 <= successes <= total.
    """
    check_confidence(confidence)
    whole = all(isinstance(x, (int, np.integer)) and not isinstance(x, bool)
                for x in (successes, total))  # fmt: skip
    if not whole or not 0 <= successes <= total:
        raise UsageError(f"{successes} of {total}: expected whole numbers, 0 <= successes <= total")
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
            `Kappa.n_items` is their sum.
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

    Items that either left unanswered are not counted.

    Raises:
        UsageError: The lengths differ, or a label is no declared class.
    """
    code = _class_codes(classes)
    matrix = np.zeros((len(code), len(code)))
    for one, other in _both_answered(first, second):
        matrix[_code(code, one), _code(code, other)] += 1
    return matrix


def label_counts(labels: Sequence[Sequence[object]], classes: Sequence[object]) -> FloatArray:
    """(items, classes) counts of the answers, as `fleiss_kappa` takes them.

    Args:
        labels: Per annotator, a label per item; unanswered items are not counted.
        classes: The classes, in the order of the columns.

    Raises:
        UsageError: The lengths differ, or a label is no declared class.
    """
    _check_lengths(labels)
    code = _class_codes(classes)
    table = np.zeros((len(labels[0]) if labels else 0, len(code)))
    for given in labels:
        for item, label in enumerate(given):
            if is_answered(label):
                table[item, _code(code, label)] += 1
    return table


def fleiss_kappa(counts: ArrayLike, *, unequal: bool = False) -> Kappa:
    """Fleiss' kappa of several annotators.

    Args:
        counts: (items, classes): how many annotators chose the class.
        unequal: Items may have different numbers of annotators (some left them unanswered).
            Otherwise every item must have the same number, at least 2; a table the other way
            round rarely has.

    With unequal numbers (Gwet, Handbook of Inter-Rater Reliability, 4th ed., 2014) the observed
    agreement is the mean over the items of at least two answers, and the share of a class is the
    mean over all answered items of its share there. With equal numbers this is Fleiss' kappa.
    `Kappa.n_items` counts the items of at least two answers; with none the kappa is NaN.
    """
    table = _counts(counts)
    raters = table.sum(axis=1)
    if not unequal and ((raters != raters[0]).any() or raters[0] < 2):
        raise UsageError(
            "rows are items and add up to the number of annotators (at least 2), the same for "
            f"all (or unequal=True); found row sums {sorted(set(raters.tolist()))}"
        )
    shared, n = table[raters > 1], raters[raters > 1]
    if not len(shared):
        return Kappa(float("nan"), float("nan"), float("nan"), 0)
    observed = float((((shared**2).sum(axis=1) - n) / (n * (n - 1))).mean())
    shares = (table[raters > 0] / raters[raters > 0, None]).mean(axis=0)
    return _kappa(observed, float((shares**2).sum()), len(shared))


def pairwise_agreement(labels: Sequence[Sequence[object]]) -> list[Share]:
    """Share of equal labels for each pair of annotators (1-2, 1-3, 2-3, …).

    `Share.total` is the number of items that both answered; NaN where it is 0.
    """
    _check_lengths(labels)
    pairs = [(i, j) for i in range(len(labels)) for j in range(i + 1, len(labels))]
    answered = [_both_answered(labels[i], labels[j]) for i, j in pairs]
    return [wilson(sum(a == b for a, b in items), len(items)) for items in answered]


def unanimous_agreement(labels: Sequence[Sequence[object]]) -> Share:
    """Share of items with one label, among the items that every annotator answered."""
    _check_lengths(labels)
    items = [item for item in zip(*labels) if all(map(is_answered, item))]
    return wilson(sum(all(label == item[0] for label in item) for item in items), len(items))


def page_set_agreement(
    first: Sequence[Collection[int] | None], second: Sequence[Collection[int] | None]
) -> PageAgreement:
    """Agreement of the pages that two annotators selected per item; NaN without items.

    An empty set is the answer that no page holds it; None is no answer.

    Raises:
        UsageError: The lengths differ, or a page is no whole number of at least 1.
    """
    if len(first) != len(second):
        raise UsageError(f"{len(first)} and {len(second)} items, expected as many")
    pairs = [(_pages(a), _pages(b)) for a, b in zip(first, second)
             if a is not None and b is not None]  # fmt: skip
    if not pairs:
        return PageAgreement(float("nan"), float("nan"), float("nan"), 0)
    overlaps = [len(a & b) / len(a | b) if a | b else 1.0 for a, b in pairs]
    return PageAgreement(
        identical=sum(a == b for a, b in pairs) / len(pairs),
        jaccard=sum(overlaps) / len(pairs),
        overlapping=sum(overlap > 0 for overlap in overlaps) / len(pairs),
        n_items=len(pairs),
    )


def is_answered(label: object) -> bool:
    """Whether a label is an answer: not None, not NaN, not a blank string."""
    if label is None or (isinstance(label, str) and not label.strip()):
        return False
    try:
        return bool(label == label)
    except TypeError:  # pandas.NA is neither equal nor unequal to itself
        return False


def _both_answered(
    first: Sequence[object], second: Sequence[object]
) -> list[tuple[object, object]]:
    if len(first) != len(second):
        raise UsageError(f"{len(first)} and {len(second)} labels, expected as many")
    return [(a, b) for a, b in zip(first, second) if is_answered(a) and is_answered(b)]


def _check_lengths(labels: Sequence[Sequence[object]]) -> None:
    lengths = [len(given) for given in labels]
    if len(set(lengths)) > 1:
        raise UsageError(f"annotators have different numbers of labels: {lengths}")


def _class_codes(classes: Sequence[object]) -> dict[object, int]:
    unanswered = [name for name in classes if not is_answered(name)]
    if unanswered or len(set(classes)) < len(classes):
        raise UsageError(
            f"classes are {list(classes)!r}: expected different ones, and None, NaN and blank "
            "strings mark an item without an answer"
        )
    return {name: index for index, name in enumerate(classes)}


def _code(codes: dict[object, int], label: object) -> int:
    if label not in codes:
        raise UsageError(f"label {label!r} is not one of {list(codes)!r}")
    return codes[label]


def _pages(pages: Collection[int]) -> set[int]:
    if isinstance(pages, (str, bytes)) or any(
        isinstance(page, bool) or not isinstance(page, (int, np.integer)) or page < 1
        for page in pages
    ):
        raise UsageError(f"pages {pages!r}: expected a set of whole numbers from 1")
    return {int(page) for page in pages}


def _counts(values: ArrayLike) -> FloatArray:
    table = numbers("counts", values)
    if (
        not np.isfinite(table).all()
        or table.ndim != 2
        or not table.size
        or ((table < 0).any() or (table % 1 != 0).any())
    ):
        raise UsageError("expected a table of counts: whole numbers, not negative, not empty")
    if table.sum() == 0:
        raise UsageError("the table of counts is all zero")
    return table


def _kappa(observed: float, expected: float, n_items: int) -> Kappa:
    undefined = 1.0 - expected < 1e-12
    kappa = float("nan") if undefined else (observed - expected) / (1.0 - expected)
    return Kappa(kappa, observed, expected, n_items)
