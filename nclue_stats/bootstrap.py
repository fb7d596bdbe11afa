"""The exact-family bootstrap: intervals for systems and paired contrasts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from nclue_stats.inputs import (
    FloatArray,
    IntArray,
    Rng,
    check_confidence,
    check_resamples,
    column_percentiles,
    generator,
    gold_families,
    sums_by_unit,
    unit_labels,
    value_matrix,
)

__all__ = ["BootstrapResult", "draw_weights", "family_bootstrap", "gold_families"]

BATCH_CELLS = 4_000_000  # of replicates x units held at once


@dataclass(frozen=True, eq=False)
class BootstrapResult:
    """Means with percentile intervals, one entry per column of the values."""

    estimate: FloatArray  # (S,) mean over queries; NaN if undefined for all of them
    low: FloatArray
    high: FloatArray
    replicates: FloatArray  # (n_resamples, S)
    confidence: float
    n_units: int
    n_queries: int

    @property
    def n_undefined(self) -> IntArray:
        """(S,) replicates in which the column is undefined; the interval is of the others."""
        counts: IntArray = np.isnan(self.replicates).sum(axis=0).astype(np.int64)
        return counts

    @property
    def is_informative(self) -> bool:
        """Whether the data can vary: a single unit gives a width of 0 that says nothing."""
        return self.n_units > 1


def family_bootstrap(
    values: ArrayLike,
    families: ArrayLike | None = None,
    *,
    n_resamples: int = 1_000,
    confidence: float = 0.95,
    rng: Rng = 0,
) -> BootstrapResult:
    """Percentile intervals of means, resampling whole families with replacement.

    Source: supplement of arXiv 2607.24165v2, exact-family bootstrap (453 families, 1,000
    replicates, 95%). A replicate is the mean over the queries of the drawn families. All columns
    share the drawn families, so for a contrast give variant minus base as a column.

    Args:
        values: (Q,) or (Q, S) values per query; NaN where undefined (left out of the mean).
        families: (Q,) labels; None resamples queries.
        n_resamples: Number of replicates, at least 2.
        confidence: Share of replicates inside the interval.
        rng: Generator or seed.

    Degenerate data: constant values give an interval of width 0; so does a single family, of
    which `BootstrapResult.is_informative` warns. A column that is undefined for every query gives
    NaN; replicates in which it is undefined are left out and counted (`n_undefined`).
    """
    matrix = value_matrix(values)
    labels = unit_labels(families, len(matrix))
    check_resamples(n_resamples)
    check_confidence(confidence)
    defined = ~np.isnan(matrix)
    sums = sums_by_unit(np.where(defined, matrix, 0.0), labels)
    # Where all values are defined, one column of counts serves all columns of values.
    counted = defined[:, :1] if defined.all() else defined
    counts = sums_by_unit(counted.astype(np.float64), labels)
    weights = draw_weights(len(sums), n_resamples, generator(rng))
    replicates = np.concatenate([_means(batch @ sums, batch @ counts) for batch in weights])
    low, high = column_percentiles(replicates, confidence)
    return BootstrapResult(
        estimate=_means(sums.sum(axis=0), counts.sum(axis=0)),
        low=low,
        high=high,
        replicates=replicates,
        confidence=confidence,
        n_units=len(sums),
        n_queries=len(matrix),
    )


def draw_weights(
    n_units: int, n_draws: int, rng: np.random.Generator, *, rows_at_once: int | None = None
) -> Iterator[FloatArray]:
    """How often each unit is drawn per replicate: batches of rows that sum to ``n_units``.

    The batches follow each other in one stream of draws, whatever their size.
    """
    size = rows_at_once or max(1, min(n_draws, BATCH_CELLS // n_units))
    for start in range(0, n_draws, size):
        rows = min(size, n_draws - start)
        drawn = rng.integers(0, n_units, size=(rows, n_units))
        drawn += np.arange(rows)[:, None] * n_units
        counts: IntArray = np.bincount(drawn.ravel(), minlength=rows * n_units)
        yield counts.reshape(rows, n_units).astype(np.float64)


def _means(sums: FloatArray, counts: FloatArray) -> FloatArray:
    defined = counts > 0
    return np.where(defined, sums / np.where(defined, counts, 1.0), np.nan)
