"""Sensitivity to documents that queries share (Tables S1g and S1i of the study).

Stress models, not sampling distributions: what the supplement of arXiv 2607.24165v2 leaves open
(how query and document weights meet) is said where it is chosen.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from nclue_core.errors import UsageError
from nclue_metric import Judgments
from nclue_stats.bootstrap import draw_weights
from nclue_stats.inputs import (
    FloatArray,
    IntArray,
    Memberships,
    Rng,
    check_confidence,
    check_count,
    check_resamples,
    generator,
    percentiles,
    value_matrix,
)

BATCH_CELLS = 1_000_000  # of replicates x memberships held at once


@dataclass(frozen=True, eq=False)
class Interval:
    """A value with a percentile interval or a range."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class RemovedDocuments:
    """The value after queries of the best-connected documents were left out."""

    estimate: float  # NaN if no query is left
    n_queries: int
    removed: tuple[int, ...]  # document codes
    n_tied: int = 0  # documents left in that have as many queries as the last one removed


@dataclass(frozen=True)
class Components:
    """Connected components of the graph of queries and documents."""

    n_components: int
    sizes: tuple[int, ...]  # queries per component, largest first

    @property
    def largest(self) -> int:
        """Queries in the largest component."""
        return self.sizes[0]


@dataclass(frozen=True)
class Sensitivity:
    """Everything of this module for one contrast and one graph; differences in points."""

    kind: str  # "gold" or "judged"
    n_queries: int  # in the graph and with a defined value
    n_left_out: int  # queries without a document of the kind, or with an undefined value
    n_documents: int
    n_components: int
    largest_component: int
    mean: float  # over these queries
    document_macro: float
    crossed_ci95: tuple[float, float]
    leave_one_document_out: tuple[float, float]  # smallest and largest
    one_query_per_document_ci95: tuple[float, float]
    without_top_documents: float  # NaN if no query is left
    n_removed: int
    n_tied: int  # documents that only the tie rule left in
    n_queries_left: int
    removed: tuple[str, ...]


def sensitivity(
    differences: ArrayLike,
    judgments: Judgments,
    kind: str,
    *,
    n_remove: int = 20,
    n_resamples: int = 1_000,
    rng: int = 0,
) -> Sensitivity:
    """Every check of this module for one contrast.

    Args:
        differences: (Q,) variant minus base per query, fractions; queries where it is NaN are
            left out and counted.
        judgments: Judgments of the same Q queries.
        kind: "gold" or "judged": what joins queries.
        n_remove: Best-connected documents to leave out.
        n_resamples: Replicates of each bootstrap.
        rng: Seed; both bootstraps start from it.

    Raises:
        UsageError: No query is left, or not one value per query.
    """
    column = 100 * value_matrix(differences)
    if column.shape != (len(judgments), 1):
        raise UsageError(f"{column.shape} differences for {len(judgments)} queries")
    members, rows = Memberships.of_judgments(judgments, kind, ~np.isnan(column[:, 0]))
    values = column[rows, 0]
    crossed = crossed_bootstrap(values, members, n_resamples=n_resamples, rng=rng)
    one_out = leave_one_document_out(values, members)
    one_query = one_query_per_document(values, members, n_resamples=n_resamples, rng=rng)
    removal = remove_highest_degree(values, members, n_remove)
    components = connected_components(members)
    names = members.ids or ()
    return Sensitivity(
        kind=kind,
        n_queries=len(members),
        n_left_out=len(judgments) - len(members),
        n_documents=members.n_documents,
        n_components=components.n_components,
        largest_component=components.largest,
        mean=float(values.mean()),
        document_macro=document_macro(values, members),
        crossed_ci95=(crossed.low, crossed.high),
        leave_one_document_out=(one_out.low, one_out.high),
        one_query_per_document_ci95=(one_query.low, one_query.high),
        without_top_documents=removal.estimate,
        n_removed=len(removal.removed),
        n_tied=removal.n_tied,
        n_queries_left=removal.n_queries,
        removed=tuple(names[code] for code in removal.removed),
    )


def document_macro(values: ArrayLike, members: Memberships) -> float:
    """Mean over documents of the mean over their queries.

    Args:
        values: (Q,) value per query, for a contrast the difference.
        members: Gold documents of the queries.
    """
    return float(_document_means(_column(values, members), members).mean())


def crossed_bootstrap(
    values: ArrayLike,
    members: Memberships,
    *,
    n_resamples: int = 1_000,
    confidence: float = 0.95,
    rng: Rng = 0,
) -> Interval:
    """Percentile interval under independent weights of queries and of documents.

    A replicate draws queries and documents with replacement, independently. A query's weight is
    its count times the mean count of its documents (this product is our reading); the value is
    the weighted mean.

    Args:
        values: (Q,) value per query.
        members: The golds of the queries, or all their judged documents.
        n_resamples: Number of replicates.
        confidence: Share of replicates inside the interval.
        rng: Generator or seed.

    Replicates in which every weight is 0 are left out. Time and memory grow with the number of
    memberships, not with queries times documents.
    """
    column = _column(values, members)
    check_resamples(n_resamples)
    check_confidence(confidence)
    random = generator(rng)
    streams = [np.random.default_rng(seed) for seed in random.integers(0, 2**63, 2)]
    rows = max(1, min(n_resamples, BATCH_CELLS // len(members.query)))
    batches = zip(
        draw_weights(len(members), n_resamples, streams[0], rows_at_once=rows),
        draw_weights(members.n_documents, n_resamples, streams[1], rows_at_once=rows),
    )
    drawn = np.concatenate([_crossed_means(column, members, *batch) for batch in batches])
    return Interval(float(column.mean()), *percentiles(drawn, confidence))


def leave_one_document_out(values: ArrayLike, members: Memberships) -> Interval:
    """Range of the mean when the queries of one document are left out, over all documents.

    A document to which every query belongs cannot be left out and does not count.
    """
    column = _column(values, members)
    sums, counts = _document_sums(column, members)
    left = len(column) - counts
    means = (column.sum() - sums)[left > 0] / left[left > 0]
    if not means.size:
        return Interval(float(column.mean()), float("nan"), float("nan"))
    return Interval(float(column.mean()), float(means.min()), float(means.max()))


def remove_highest_degree(
    values: ArrayLike, members: Memberships, n_documents: int = 20
) -> RemovedDocuments:
    """Leave out the documents with the most queries, and every query that has one of them.

    Ties in the number of queries are broken by the documents' codes; `RemovedDocuments.n_tied`
    says how many documents were left in only by this.

    Args:
        values: (Q,) value per query.
        members: The golds of the queries, or all their judged documents.
        n_documents: Documents to leave out; the study takes 20.
    """
    column = _column(values, members)
    check_count("n_documents", n_documents)
    _, counts = _document_sums(column, members)
    removed = np.lexsort((np.arange(len(counts)), -counts))[:n_documents]
    n_tied = int((counts >= counts[removed[-1]]).sum()) - len(removed)
    hit = np.isin(members.document, removed)
    kept = np.setdiff1d(np.arange(len(column)), members.query[hit])
    estimate = float(column[kept].mean()) if kept.size else float("nan")
    codes = tuple(members.codes[removed].tolist())
    return RemovedDocuments(estimate, len(kept), codes, n_tied)


def one_query_per_document(
    values: ArrayLike,
    members: Memberships,
    *,
    n_resamples: int = 1_000,
    confidence: float = 0.95,
    rng: Rng = 0,
) -> Interval:
    """Interval of the mean over documents when each speaks through one query, drawn at random.

    The interval shows how much the choice of the query matters (documents are not resampled; the
    study does not say).
    """
    column = _column(values, members)
    check_resamples(n_resamples)
    check_confidence(confidence)
    order = np.argsort(members.document, kind="stable")
    by_document = column[members.query[order]]
    counts = np.bincount(members.document, minlength=members.n_documents)
    starts = np.cumsum(counts) - counts
    random = generator(rng)
    means = np.empty(n_resamples)
    rows = max(1, BATCH_CELLS // len(counts))
    for start in range(0, n_resamples, rows):
        batch = means[start : start + rows]
        picks = (random.random((len(batch), len(counts))) * counts).astype(np.int64)
        batch[:] = by_document[starts + picks].mean(axis=1)
    macro = float(_document_means(column, members).mean())
    return Interval(macro, *percentiles(means, confidence))


def connected_components(members: Memberships) -> Components:
    """Components of queries that are joined by shared documents, directly or by a chain."""
    parent = list(range(len(members) + members.n_documents))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for query, document in zip(members.query.tolist(), members.document.tolist()):
        parent[root(query)] = root(len(members) + document)
    sizes = Counter(root(query) for query in range(len(members)))
    return Components(len(sizes), tuple(sorted(sizes.values(), reverse=True)))


def _column(values: ArrayLike, members: Memberships) -> FloatArray:
    matrix = value_matrix(values)
    if matrix.shape != (len(members), 1):
        raise UsageError(
            f"values of shape {matrix.shape} for {len(members)} queries, expected one per query"
        )
    if np.isnan(matrix).any():
        raise UsageError("a value is NaN: leave queries out where a score is undefined")
    return matrix[:, 0]


def _document_sums(column: FloatArray, members: Memberships) -> tuple[FloatArray, IntArray]:
    counts = np.bincount(members.document, minlength=members.n_documents)
    weights = column[members.query]
    sums: FloatArray = np.bincount(
        members.document, weights=weights, minlength=members.n_documents
    ).astype(np.float64)
    return sums, counts.astype(np.int64)


def _document_means(column: FloatArray, members: Memberships) -> FloatArray:
    sums, counts = _document_sums(column, members)
    means: FloatArray = sums / counts
    return means


def _crossed_means(
    column: FloatArray, members: Memberships, queries: FloatArray, documents: FloatArray
) -> FloatArray:
    """Weighted means of a batch of replicates; NaN where every weight is 0."""
    starts = np.cumsum(members.degrees) - members.degrees
    of_documents = np.add.reduceat(documents[:, members.document], starts, axis=1)
    weights = queries * of_documents / members.degrees
    below = weights.sum(axis=1)
    defined = below > 0
    return np.where(defined, weights @ column / np.where(defined, below, 1.0), np.nan)
