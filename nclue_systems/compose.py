"""From unit scores to document scores, and from condition scores to one score.

A score of 0 means "not found": such documents are not ranked.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from nclue_core.errors import require
from nclue_systems.corpus import Floats, Ints, Units

# Beyond this many conditions the assignments of top pages are too many to enumerate (n ** n).
MAX_ENUMERATED = 4


def best_unit(scores: Floats, units: Units, n_documents: int) -> Floats:
    """(D,) each document's highest unit score (MaxP); 0 for a document without units."""
    best = np.zeros(n_documents)
    if len(scores):
        starts = np.flatnonzero(np.diff(units.documents, prepend=-1))
        best[units.documents[starts]] = np.maximum.reduceat(scores, starts)
    return best


def mean_of_best(m: int) -> Callable[[Floats, Units, int], Floats]:
    """The mean of a document's m highest unit scores, of all where there are fewer than m."""

    def aggregate(scores: Floats, units: Units, n_documents: int) -> Floats:
        top, _ = best_pages(scores, units, n_documents, m)
        held = np.bincount(units.documents, minlength=n_documents)
        mean: Floats = top.sum(axis=1) / np.clip(held, 1, m)
        return mean

    return aggregate


def best_pages(scores: Floats, units: Units, n_documents: int, m: int) -> tuple[Floats, Ints]:
    """The m best units of every document, among those that score above 0.

    Returns:
        Scores (D, m), highest first, 0 where there is none; units (D, m), -1 where there is none.
        Equal scores: the earlier unit first.
    """
    top = np.zeros((n_documents, m))
    which = np.full((n_documents, m), -1, np.int64)
    found = np.flatnonzero(scores)
    owner, value = units.documents[found], scores[found]
    order = np.lexsort((-value, owner))
    owner, value, found = owner[order], value[order], found[order]
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    rank = np.arange(len(owner)) - np.repeat(starts, np.diff(np.append(starts, len(owner))))
    kept = rank < m
    top[owner[kept], rank[kept]] = value[kept]
    which[owner[kept], rank[kept]] = found[kept]
    return top, which


def minimum(scores: Floats) -> Floats:
    """(D,) the lowest of a document's condition scores (n, D)."""
    lowest: Floats = scores.min(axis=0)
    return lowest


def product(scores: Floats) -> Floats:
    """(D,) the product of a document's condition scores (n, D)."""
    multiplied: Floats = scores.prod(axis=0)
    return multiplied


def harmonic_mean(scores: Floats) -> Floats:
    """(D,) the harmonic mean of a document's condition scores (n, D); 0 if one of them is 0."""
    mean = np.zeros(scores.shape[1])
    every = (scores > 0).all(axis=0)
    mean[every] = len(scores) / (1 / scores[:, every]).sum(axis=0)
    return mean


def distinct_pages(scores: Sequence[Floats], units: Units, n_documents: int) -> Floats:
    """(D,) the highest sum of condition scores over assignments of conditions to distinct pages.

    Args:
        scores: Per condition the scores (U,) of all pages, 0 or more.
        units: The pages.
        n_documents: D.

    Returns:
        Per document the maximum, over injective maps from conditions to its pages, of the sum of
        the scores. A condition may stay without a page and adds nothing then. Exact: with n
        conditions, only each one's n best pages can matter, because at most n - 1 of them are
        taken by the other conditions.
    """
    n = len(scores)
    best = [best_pages(each, units, n_documents, n) for each in scores]
    tops = np.stack([top for top, _ in best])  # (n, D, n)
    pages = np.stack([which for _, which in best])
    total: Floats = tops[:, :, 0].sum(axis=0)  # the answer wherever the best pages are distinct
    hard = np.flatnonzero(_clashing(pages))
    if len(hard):
        solve = _enumerate_assignments if n <= MAX_ENUMERATED else _solve_assignments
        total[hard] = solve(tops[:, hard], pages[:, hard])
    return total


def _enumerate_assignments(tops: Floats, pages: Ints) -> Floats:
    """All choices of one of the n best pages per condition, over all documents at once."""
    n = len(tops)
    choices = np.array(list(itertools.product(range(n), repeat=n)))
    summed: Floats = sum(tops[c][:, choices[:, c]] for c in range(n))  # (documents, choices)
    shown = [pages[c][:, choices[:, c]] for c in range(n)]
    for one, other in itertools.combinations(shown, 2):
        summed[(one == other) & (one >= 0)] = 0
    best: Floats = summed.max(axis=1)
    return best


def _clashing(pages: Ints) -> NDArray[np.bool_]:
    """Documents in which two conditions have the same best page."""
    first = np.sort(pages[:, :, 0], axis=0)
    clash: NDArray[np.bool_] = ((first[1:] == first[:-1]) & (first[1:] >= 0)).any(axis=0)
    return clash


def _solve_assignments(tops: Floats, pages: Ints) -> Floats:
    """The same by the Hungarian method, a document at a time."""
    optimize = require("scipy.optimize", extra="lexical", purpose="Distinct-page assignment")
    n = len(tops)
    total = np.zeros(tops.shape[1])
    for document in range(tops.shape[1]):
        shown = np.unique(pages[:, document])
        shown = shown[shown >= 0]
        # n columns of zeros let any condition stay without a page
        table = np.zeros((n, len(shown) + n))
        for c in range(n):
            held = pages[c, document] >= 0
            columns = np.searchsorted(shown, pages[c, document][held])
            table[c, columns] = tops[c, document][held]
        total[document] = table[optimize.linear_sum_assignment(table, maximize=True)].sum()
    return total
