"""Rank correlation between metrics over systems, and the largest move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from nclue_core.errors import UsageError
from nclue_stats.inputs import FloatArray, numbers

DIGITS = 12  # values that differ only behind these, relative to the largest, are equal


@dataclass(frozen=True)
class RankComparison:
    """How two metrics order the same systems; equal values share the mean of their ranks."""

    spearman: float  # NaN if a metric is constant, or with fewer than two systems
    largest_move: str | None  # system; the first in the given order among equals
    rank_from: float  # its rank under the first metric, 1 = best
    rank_to: float


def average_ranks(values: ArrayLike) -> FloatArray:
    """Ranks from 1 for the smallest value; equal values share the mean of their ranks.

    Equal are values that rounding in the last digits alone sets apart: means of the same scores
    in another order.

    Raises:
        UsageError: Not one finite value per system.
    """
    column = numbers("values", values)
    if column.ndim != 1 or not np.isfinite(column).all():
        raise UsageError(
            f"values of shape {column.shape} with {int((~np.isfinite(column)).sum())} undefined "
            "ones: expected one number per system; leave out systems where a metric is undefined"
        )
    largest = np.abs(column).max(initial=0.0)
    column = np.round(column / largest, DIGITS) if largest > 0 else column
    _, inverse, counts = np.unique(column, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: FloatArray = (last - (counts - 1) / 2)[inverse]
    return ranks


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    """Spearman's rank correlation (Pearson's of average ranks); NaN if undefined."""
    ranks = average_ranks(first), average_ranks(second)
    if len(ranks[0]) != len(ranks[1]):
        raise UsageError(f"{len(ranks[0])} and {len(ranks[1])} values, expected as many")
    centred = [rank - rank.mean() for rank in ranks] if len(ranks[0]) else [ranks[0], ranks[1]]
    spread = float(np.sqrt((centred[0] ** 2).sum() * (centred[1] ** 2).sum()))
    if spread == 0:
        return float("nan")
    return min(1.0, max(-1.0, float(centred[0] @ centred[1]) / spread))


def compare_rankings(systems: Sequence[str], first: ArrayLike, second: ArrayLike) -> RankComparison:
    """Correlation and largest rank move between two metrics (higher is better)."""
    ranks_from = average_ranks(-numbers("values", first))
    ranks_to = average_ranks(-numbers("values", second))
    if not len(systems) == len(ranks_from) == len(ranks_to):
        raise UsageError("expected one value of each metric per system")
    if not systems:
        return RankComparison(float("nan"), None, float("nan"), float("nan"))
    # Ranks are multiples of a half, so that moves compare exactly.
    moved = int(np.argmax(np.abs(ranks_to - ranks_from)))
    return RankComparison(
        spearman(first, second), systems[moved], float(ranks_from[moved]), float(ranks_to[moved])
    )
