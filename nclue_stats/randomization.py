"""Paired randomization tests, blockwise max-|T|, and Holm's correction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from nclue_core.errors import UsageError
from nclue_stats.inputs import (
    TIE,
    FloatArray,
    IntArray,
    Rng,
    check_count,
    generator,
    sums_by_unit,
    unit_labels,
    value_matrix,
)

EXACT_UNITS = 13  # 2**13 = 8,192 sign patterns: fewer than the usual 10,000 draws
BATCH_CELLS = 8_000_000


@dataclass(frozen=True)
class RandomizationResult:
    """A two-sided paired test."""

    statistic: float  # mean difference over all queries, variant minus base
    pvalue: float  # never 0
    n_units: int  # units with a difference other than 0
    n_draws: int  # sign patterns compared with the observed one
    exact: bool  # all patterns were enumerated


@dataclass(frozen=True, eq=False)
class MaxTResult:
    """A block of endpoints that were tried against one base."""

    statistics: FloatArray  # (E,) mean differences
    pvalues: FloatArray  # (E,) adjusted for the selection within the block
    selected: int  # endpoint with the largest scaled |T|
    pvalue: float  # of the selected endpoint
    n_draws: int
    exact: bool


def paired_randomization(
    differences: ArrayLike, families: ArrayLike | None = None, *, n_draws: int = 10_000,
    rng: Rng = 0,
) -> RandomizationResult:  # fmt: skip
    """Paired sign-flip test of a mean difference.

    Null: within each unit the two systems are exchangeable, so the sign of a unit's summed
    difference is as likely + as -. Units are queries, or whole families. Two-sided, with
    p = (1 + #{|T*| >= |T|}) / (1 + draws) (the form that fits the study's smallest printed p,
    .0001). Where at most 13 units differ all sign patterns are enumerated and p is their share,
    the observed one included.

    Args:
        differences: (Q,) variant minus base per query, without NaN.
        families: (Q,) labels; None flips queries.
        n_draws: Random sign patterns.
        rng: Generator or seed.

    Degenerate data: if no unit differs, p is 1.
    """
    values = _without_nan(value_matrix(differences))
    if values.shape[1] != 1:
        raise UsageError("expected one difference per query; for several endpoints use max_t")
    check_count("n_draws", n_draws)
    sums = _unit_sums(values, unit_labels(families, len(values)))
    observed = abs(float(sums.sum()))
    exact = len(sums) <= EXACT_UNITS
    as_large, drawn = 0, 0
    for flipped in _flipped_sums(sums, n_draws, exact, generator(rng)):
        as_large += int((np.abs(flipped[:, 0]) >= observed - _slack(sums)[0]).sum())
        drawn += len(flipped)
    return RandomizationResult(
        statistic=float(values.mean()),
        pvalue=as_large / drawn if exact else (1 + as_large) / (1 + drawn),
        n_units=len(sums),
        n_draws=drawn,
        exact=exact,
    )


def max_t(
    differences: ArrayLike,
    families: ArrayLike | None = None,
    *,
    n_draws: int = 10_000,
    scaled: bool = False,
    rng: Rng = 0,
) -> MaxTResult:
    """Blockwise max-|T|: p-values that allow for choosing the best of several endpoints.

    Signs of whole families are flipped together for all endpoints; each draw's largest |T*| over
    the block is compared with each endpoint's |T|. Null: no endpoint differs from the base.

    Args:
        differences: (Q, E) variant minus base per query and endpoint, without NaN.
        families: (Q,) labels; None flips queries.
        n_draws: Random sign patterns.
        scaled: Divide each endpoint by the root of its summed squares over units (constant under
            flips), so that endpoints of unlike spread weigh alike. The study does not say;
            unscaled mean differences are the default.
        rng: Generator or seed.
    """
    values = _without_nan(value_matrix(differences))
    check_count("n_draws", n_draws)
    sums = _unit_sums(values, unit_labels(families, len(values)))
    if scaled:
        spread = np.sqrt((sums**2).sum(axis=0))
        sums = sums / np.where(spread > 0, spread, 1.0)
    observed = np.abs(sums.sum(axis=0))
    exact = len(sums) <= EXACT_UNITS
    as_large, drawn = np.zeros(values.shape[1], dtype=np.int64), 0
    for flipped in _flipped_sums(sums, n_draws, exact, generator(rng)):
        largest = np.abs(flipped).max(axis=1)
        as_large += (largest[:, None] >= observed - _slack(sums)).sum(axis=0)
        drawn += len(flipped)
    pvalues = as_large / drawn if exact else (1 + as_large) / (1 + drawn)
    selected = int(np.argmax(observed))
    return MaxTResult(
        statistics=values.mean(axis=0),
        pvalues=pvalues,
        selected=selected,
        pvalue=float(pvalues[selected]),
        n_draws=drawn,
        exact=exact,
    )


def holm(pvalues: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given.

    The i-th smallest of m is multiplied by m - i + 1, kept at least as large as the one before
    (running maximum) and at most 1. NaN marks a test that could not be made: it stays NaN and
    does not count in m.

    Raises:
        UsageError: A value outside 0..1.
    """
    values = np.asarray(pvalues, dtype=np.float64)
    adjusted = np.full(len(values), np.nan)
    made = np.flatnonzero(~np.isnan(values))
    if ((values[made] < 0) | (values[made] > 1)).any():
        raise UsageError(f"p-values must be from 0 to 1, found {list(pvalues)}")
    order = made[np.argsort(values[made], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(values[order] * factors), 1.0)
    return [float(value) for value in adjusted]


def _without_nan(values: FloatArray) -> FloatArray:
    if np.isnan(values).any():
        raise UsageError("a difference is NaN: leave queries out where a score is undefined")
    return values


def _unit_sums(values: FloatArray, labels: IntArray) -> FloatArray:
    """Sums of the units that differ in some endpoint; what is left by rounding is 0."""
    sums = sums_by_unit(values, labels)
    sums[np.abs(sums) <= TIE * np.abs(values).max(axis=0)] = 0.0
    return sums[sums.any(axis=1)]


def _slack(sums: FloatArray) -> FloatArray:
    """By how much a sum may fall short of the observed one and still be tied with it."""
    slack: FloatArray = TIE * np.abs(sums).sum(axis=0)
    return slack


def _flipped_sums(
    sums: FloatArray, n_draws: int, exact: bool, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """(rows, E) sums under sign patterns, in batches: all patterns, or random ones."""
    units = len(sums)
    total = sums.sum(axis=0)
    if exact:
        patterns = np.arange(2**units)[:, None] >> np.arange(units) & 1
        yield 2 * (patterns @ sums) - total
        return
    size = max(1, min(n_draws, BATCH_CELLS // units))
    for start in range(0, n_draws, size):
        rows = min(size, n_draws - start)
        random_bytes = np.frombuffer(rng.bytes(rows * -(-units // 8)), dtype=np.uint8)
        bits = np.unpackbits(random_bytes.reshape(rows, -1), axis=1, count=units)
        yield 2 * (bits.astype(np.float64) @ sums) - total
