"""Task-factor cells (Table S1j), with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nclue_core.errors import InputError, UsageError
from nclue_metric import Judgments
from nclue_stats.bootstrap import family_bootstrap
from nclue_stats.inputs import FloatArray, IntArray, Rng, numbers, unit_labels, value_matrix


@dataclass(frozen=True)
class Cell:
    """A mean over the queries of a cell."""

    name: str
    n_queries: int  # with a defined value: the denominator
    estimate: float  # NaN for an empty cell
    low: float  # NaN also where fewer than two families are in the cell: no interval
    high: float
    n_families: int = 0
    n_undefined: int = 0  # queries of the cell that are left out, their value being NaN


def min_gold_pages(judgments: Judgments, n_pages: Mapping[str, int | None]) -> FloatArray:
    """(Q,) L_min, the smallest page count among a query's golds; NaN for a query without golds.

    Args:
        judgments: Judgments of Q queries.
        n_pages: Page count per document.

    Raises:
        InputError: The page count of a gold is not known: the smallest one cannot be told.
    """
    golds = sorted(set().union(*judgments.gold_ids))
    unknown = [doc_id for doc_id in golds if not n_pages.get(doc_id)]
    if unknown:
        raise InputError(
            f"n_pages is not known for {len(unknown)} of {len(golds)} gold documents, such as "
            f"{unknown[0]!r}: the cells by length (L_min) need the page count of every gold in "
            "the corpus rows"
        )
    shortest = [min((n_pages[doc] or 0 for doc in ids), default=np.nan)
                for ids in judgments.gold_ids]  # fmt: skip
    return np.array(shortest, dtype=np.float64)


def judged_counts(judgments: Judgments) -> IntArray:
    """(Q,) |D+|, the judged documents of a query with a grade above 0."""
    counts: IntArray = judgments.grade_counts.sum(axis=1)
    return counts


def strata_masks(
    n_conditions: ArrayLike, min_gold_pages: ArrayLike | None, n_judged: ArrayLike
) -> dict[str, NDArray[np.bool_]]:
    """Which queries are in which cell of Table S1j.

    The cells by length and by judged documents leave the middle out (31 to 100 pages, 26 to 50
    documents), as the study does.

    Args:
        n_conditions: (Q,) conditions.
        min_gold_pages: (Q,) smallest page count among a query's golds (L_min); NaN if unknown:
            such a query is in neither cell. None leaves both cells out.
        n_judged: (Q,) nonzero qrels of the query (|D+|).
    """
    n, judged = numbers("n_conditions", n_conditions), numbers("n_judged", n_judged)
    pages = None if min_gold_pages is None else numbers("min_gold_pages", min_gold_pages)
    lengths = [len(n), len(judged)] + ([] if pages is None else [len(pages)])
    if len(set(lengths)) > 1:
        raise UsageError(f"{lengths} values, expected as many each")
    if not (np.isfinite(n).all() and (n % 1 == 0).all()):
        raise UsageError("n_conditions must be whole numbers")
    cells = {"all": np.ones(len(n), dtype=np.bool_)}
    cells.update({f"n{int(value)}": n == value for value in np.unique(n)})
    if pages is not None:
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
        values: (Q,) value per query; NaN where undefined (left out and counted).
        masks: Cells, from `strata_masks` or of one's own: (Q,) booleans.
        families: (Q,) labels; None resamples queries.
        n_resamples: Number of replicates.
        rng: A seed (a generator is used up cell after cell).
    """
    matrix = value_matrix(values)
    if matrix.shape[1] != 1:
        raise UsageError(f"values of shape {matrix.shape}: expected one per query")
    labels = unit_labels(families, len(matrix))
    for name, mask in masks.items():
        if np.asarray(mask).dtype != np.bool_ or np.shape(mask) != (len(matrix),):
            raise UsageError(f"cell {name!r}: expected {len(matrix)} booleans, one per query")
    return [_cell(name, matrix[:, 0], mask, labels, n_resamples, rng)
            for name, mask in masks.items()]  # fmt: skip


def _cell(
    name: str,
    column: FloatArray,
    mask: NDArray[np.bool_],
    labels: IntArray,
    n_resamples: int,
    rng: Rng,
) -> Cell:
    defined = mask & ~np.isnan(column)
    n_undefined = int(mask.sum() - defined.sum())
    nan = float("nan")
    if not defined.any():
        return Cell(name, 0, nan, nan, nan, 0, n_undefined)
    found = family_bootstrap(column[defined], labels[defined], n_resamples=n_resamples, rng=rng)
    low, high = (float(found.low[0]), float(found.high[0])) if found.is_informative else (nan, nan)
    return Cell(
        name, int(defined.sum()), float(found.estimate[0]), low, high, found.n_units, n_undefined
    )
