"""Checks at the edge of the statistics: arrays in, clean arrays out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nclue_core.errors import UsageError

if TYPE_CHECKING:
    from nclue_metric import Judgments

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Rng = np.random.Generator | int
# Sums of the same numbers in another order differ in the last digits: relative to the largest
# value, differences up to this are none.
TIE = 1e-12


def numbers(name: str, values: ArrayLike) -> FloatArray:
    """An array of numbers; NaN and infinities pass.

    Raises:
        UsageError: Text, None, or rows of unlike length.
    """
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as err:
        raise UsageError(f"{name}: expected numbers in rows of equal length ({err})") from None


def value_matrix(values: ArrayLike) -> FloatArray:
    """Values per query as a (Q, S) matrix; a (Q,) array is one column.

    Raises:
        UsageError: Another number of dimensions, no query, or an infinity.
    """
    matrix = numbers("values", values)
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if matrix.ndim != 2 or not matrix.size:
        raise UsageError(f"values have the shape {matrix.shape}, expected (queries, systems)")
    if np.isinf(matrix).any():
        raise UsageError("values hold an infinity; expected numbers, or NaN where undefined")
    return matrix


def unit_labels(units: ArrayLike | None, n_queries: int) -> IntArray:
    """Labels 0..U-1 of the unit (family) of each query; None makes each query its own.

    Raises:
        UsageError: Not one label per query.
    """
    if units is None:
        return np.arange(n_queries)
    labels = np.asarray(units)
    if labels.shape != (n_queries,):
        raise UsageError(f"{labels.shape} labels for {n_queries} queries, expected one per query")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise UsageError("a label of a family is NaN; give every query a label")
    codes: IntArray = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return codes


def generator(rng: Rng) -> np.random.Generator:
    """A generator from a generator or a seed.

    Raises:
        UsageError: A seed that is not a whole number from 0.
    """
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)) or rng < 0:
        raise UsageError(f"seed {rng!r}: expected a whole number of at least 0, or a Generator")
    return np.random.default_rng(int(rng))


def check_count(name: str, value: int, least: int = 1) -> int:
    """A number of draws: a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise UsageError(f"{name} is {value!r}, expected a whole number of at least {least}")
    return int(value)


def check_resamples(value: int) -> int:
    """A number of replicates that an interval is read from: one alone has no spread."""
    return check_count("n_resamples", value, least=2)


def check_confidence(confidence: float) -> float:
    """The share of replicates inside an interval, strictly between 0 and 1."""
    if isinstance(confidence, bool) or not 0 < confidence < 1:
        raise UsageError(f"confidence is {confidence}, expected a number between 0 and 1")
    return confidence


def percentiles(replicates: FloatArray, confidence: float) -> tuple[float, float]:
    """Ends of the percentile interval of one column; NaN replicates are left out.

    Both ends are NaN where no replicate is defined.
    """
    defined = replicates[~np.isnan(replicates)]
    if not defined.size:
        return float("nan"), float("nan")
    tail = 50 * (1 - confidence)
    low, high = np.percentile(defined, [tail, 100 - tail])
    return float(low), float(high)


def column_percentiles(replicates: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    """`percentiles` of each column: (S,) lower and (S,) upper ends."""
    if np.isnan(replicates).any():
        low, high = np.array([percentiles(column, confidence) for column in replicates.T]).T
        return low, high
    tail = 50 * (1 - confidence)
    # Sorted once in the order of memory, which is faster than by columns.
    low, high = np.percentile(np.ascontiguousarray(replicates.T), [tail, 100 - tail], axis=1)
    return low, high


def gold_families(gold_sets: Iterable[Iterable[str]]) -> IntArray:
    """Family of each query: queries with the same complete set of gold documents share a label.

    Args:
        gold_sets: Per query the IDs of its golds. Queries without a gold form a family each.

    Returns:
        (Q,) labels from 0, in the order of first appearance.
    """
    label_of: dict[object, int] = {}
    labels = []
    for query, golds in enumerate(gold_sets):
        key: object = frozenset(golds) or ("no gold", query)
        labels.append(label_of.setdefault(key, len(label_of)))
    return np.array(labels, dtype=np.int64)


def sums_by_unit(values: FloatArray, labels: IntArray) -> FloatArray:
    """(U, S) sums of the rows of each unit."""
    n_units = int(labels.max()) + 1
    return np.stack(
        [np.bincount(labels, weights=column, minlength=n_units) for column in values.T], axis=1
    )


class Memberships:
    """Which documents belong to which query: its golds, or all its judged documents.

    Args:
        documents: Per query, distinct codes of its documents; a code that no query has is no
            document of the graph.

    Raises:
        UsageError: A query without a document, or with the same one twice.
    """

    def __init__(self, documents: Sequence[Sequence[int]]) -> None:
        if not len(documents):
            raise UsageError("no query has a document: there is no graph")
        self.ids: tuple[str, ...] | None = None  # names of the codes 0, 1, …, where known
        self.degrees = np.array([len(docs) for docs in documents], dtype=np.int64)
        self.query = np.repeat(np.arange(len(documents)), self.degrees)
        flat = [doc for docs in documents for doc in docs]
        self.codes, inverse = np.unique(np.array(flat, dtype=np.int64), return_inverse=True)
        self.document = inverse.astype(np.int64)  # places in `codes`
        self.n_documents = len(self.codes)
        if (self.degrees == 0).any():
            query = int(np.flatnonzero(self.degrees == 0)[0])
            raise UsageError(f"query {query} (counted from 0) has no document; leave it out")
        repeated = [query for query, docs in enumerate(documents) if len(set(docs)) != len(docs)]
        if repeated:
            raise UsageError(f"query {repeated[0]} (counted from 0) has a document twice")

    def __len__(self) -> int:
        """Number of queries."""
        return len(self.degrees)

    @classmethod
    def of_ids(cls, documents: Sequence[Iterable[str]]) -> Memberships:
        """From document IDs; `ids` names the codes."""
        codes: dict[str, int] = {}
        coded = [
            [codes.setdefault(doc, len(codes)) for doc in sorted(set(docs))] for docs in documents
        ]
        members = cls(coded)
        members.ids = tuple(codes)
        return members

    @classmethod
    def of_judgments(
        cls, judgments: Judgments, kind: str, keep: NDArray[np.bool_] | None = None
    ) -> tuple[Memberships, IntArray]:
        """The graph of judgments, and the rows of the queries in it.

        Args:
            judgments: Judgments of Q queries.
            kind: "gold": the golds of a query; "judged": all its documents of a grade above 0.
            keep: (Q,) queries to take; None takes all.

        Returns:
            The memberships, and which of the Q queries they are of: those without such a
            document are left out.
        """
        if kind not in ("gold", "judged"):
            raise UsageError(f"kind is {kind!r}, expected 'gold' or 'judged'")
        if kind == "gold":
            documents = [sorted(ids) for ids in judgments.gold_ids]
        else:
            documents = [[doc for doc, grade in table.items() if grade > 0]
                         for table in judgments.grades]  # fmt: skip
        taken = [row for row, docs in enumerate(documents) if docs and (keep is None or keep[row])]
        rows = np.array(taken, dtype=np.int64)
        return cls.of_ids([documents[row] for row in rows]), rows
