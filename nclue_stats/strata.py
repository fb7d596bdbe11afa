"""Task-factor cells (Table S1j), with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nclue_core.errors import UsageError
from nclue_stats.bootstrap import family_bootstrap
from nclue_stats.inputs import Rng, unit_labels, value_matrix


@dataclass(frozen=True)
class Cell:
    """A mean over the queries of a cell."""

    name: str
    n_queries: int
    estimate: float  # NaN for an empty cell
    low: float
    high: float


def strata_masks(
    n_conditions: ArrayLike, min_gold_pages: ArrayLike, n_judged: ArrayLike
) -> dict[str, NDArray[np.bool_]]:
    """Which queries are in which cell of Table S1j.

    Args:
        n_conditions: (Q,) conditions.
        min_gold_pages: (Q,) smallest page count among a query's golds (L_min); NaN if unknown.
        n_judged: (Q,) nonzero qrels of the query (|D+|).
    """
    n, pages, judged = (np.asarray(x, dtype=np.float64) for x in
                        (n_conditions, min_gold_pages, n_judged))  # fmt: skip
    if not len(n) == len(pages) == len(judged):
        raise UsageError(f"{len(n)}, {len(pages)} and {len(judged)} values, expected as many each")
    cells = {"all": np.ones(len(n), dtype=np.bool_)}
    cells.update({f"n{int(value)}": n == value for value in np.unique(n)})
    cells["Lmin_le30"], cells["Lmin_gt100"] = pages <= 30, pages > 100
    cells["Dplus_le25"], cells["Dplus_gt50"] = judged <= 25, judged > 50
    return cells


def strata(
    values: ArrayLike,
    masks: dict[str, NDArray[np.bool_]],
    families: ArrayLike | None = None,
    *,
    n_resamples: int = 1_000,
    rng: Rng = 0,
) -> list[Cell]:
    """Mean and family-bootstrap interval per cell; every cell starts from the same seed.

    Args:
        values: (Q,) value per query.
        masks: Cells, from `strata_masks` or of one's own.
        families: (Q,) labels; None resamples queries.
        n_resamples: Number of replicates.
        rng: A seed (a generator is used up cell after cell).
    """
    column = value_matrix(values)[:, 0]
    labels = unit_labels(families, len(column))
    cells = []
    for name, mask in masks.items():
        if not mask.any():
            cells.append(Cell(name, 0, float("nan"), float("nan"), float("nan")))
            continue
        result = family_bootstrap(column[mask], labels[mask], n_resamples=n_resamples, rng=rng)
        cells.append(
            Cell(name, int(mask.sum()), float(result.estimate[0]), float(result.low[0]),
                 float(result.high[0]))
        )  # fmt: skip
    return cells
