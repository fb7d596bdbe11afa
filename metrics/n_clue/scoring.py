"""The n-Clue scores of ranked documents, vectorised over queries.

Definitions: supplement of arXiv 2607.24165v2. For one query with n conditions let g be the rank
of the first gold (grade n) and s that of the first subset (grade 1..n-1), infinity if there is
none; documents without a judgment have grade 0 and are passed over.

    n-Clue Score@k    mean over all queries of [g <= k and g < s]
    Gold Hit@k        mean over all queries of [g <= k]
    outcome           miss (g > k), subset-first (g <= k, s < g), gold-first (g <= k, g < s)
    Gold-NDCG@k       gain 1 for golds, discount log2(rank + 1), ideal over min(k, #golds)
    graded NDCG@k     gain = grade (linear, as trec_eval) or 2**grade - 1 (exponential)

Ties are the caller's: a ranking is a list, best first. This file needs numpy alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain, repeat
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

MISS, SUBSET_FIRST, GOLD_FIRST = 0, 1, 2
OUTCOMES = ("miss", "subset_first", "gold_first")
GAINS = ("linear", "exponential")
MAX_CONDITIONS = 255  # grades are kept in one byte

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class ScoringError(ValueError):
    """Input that cannot be scored; the message names query, document and value."""

    exit_code = 3  # of the command line: input that cannot be understood


@dataclass(frozen=True, eq=False)
class Judgments:
    """The judged documents of Q queries, ready for scoring many runs.

    Args:
        query_ids: The Q query IDs; every array of this module has their order.
        grades: Per query, grade of each judged document, 0..n. Grade 0 counts as unjudged.
        n_conditions: (Q,) number of conditions; a document of this grade is gold.

    Raises:
        ScoringError: A grade is no whole number or not in 0..n, an ID is no string, n < 1.
    """

    query_ids: tuple[str, ...]
    grades: tuple[dict[str, int], ...]
    n_conditions: IntArray
    _row_of: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not len(self.query_ids) == len(self.grades) == len(self.n_conditions):
            raise ScoringError(
                f"{len(self.query_ids)} query IDs, {len(self.grades)} judgments and "
                f"{len(self.n_conditions)} numbers of conditions: expected the same number"
            )
        for query_id, table, n in zip(self.query_ids, self.grades, self.n_conditions):
            _check_query(query_id, table, int(n))
        row_of = {query_id: row for row, query_id in enumerate(self.query_ids)}
        if len(row_of) < len(self.query_ids):
            raise ScoringError("a query_id stands twice in the judgments")
        object.__setattr__(self, "_row_of", row_of)

    @classmethod
    def from_mapping(
        cls, qrels: Mapping[str, Mapping[str, int]], n_conditions: Mapping[str, int] | int
    ) -> Judgments:
        """From ``{query_id: {doc_id: grade}}`` and n per query (or one n for all).

        Raises:
            ScoringError: As for the class; also if n is missing for a query.
        """
        per_query = (
            dict.fromkeys(qrels, n_conditions) if isinstance(n_conditions, int) else n_conditions
        )
        missing = [query_id for query_id in qrels if query_id not in per_query]
        if missing:
            raise ScoringError(f"query {missing[0]!r}: its number of conditions is not given")
        return cls(
            tuple(qrels),
            tuple(dict(table) for table in qrels.values()),
            np.array([per_query[query_id] for query_id in qrels], dtype=np.int64),
        )

    def __len__(self) -> int:
        """Number of queries, the denominator of every mean."""
        return len(self.query_ids)

    @cached_property
    def grade_counts(self) -> IntArray:
        """(Q, n_max + 1) how many judged documents have each grade (column 0 is not used)."""
        width = int(self.n_conditions.max(initial=0)) + 1
        rows, grades = self.flat_grades
        counts = np.bincount(rows * width + grades, minlength=len(self) * width)
        counts = counts.reshape(len(self), width).astype(np.int64)
        counts[:, 0] = 0
        return counts

    @cached_property
    def flat_grades(self) -> tuple[IntArray, IntArray]:
        """Row and grade of each judgment, in the order of the tables in `grades`."""
        sizes = list(map(len, self.grades))
        values = chain.from_iterable(table.values() for table in self.grades)
        grades = np.fromiter(values, dtype=np.int64, count=sum(sizes))
        return np.repeat(np.arange(len(sizes)), sizes), grades

    @cached_property
    def gold_counts(self) -> IntArray:
        """(Q,) number of gold documents."""
        return self.grade_counts[np.arange(len(self)), self.n_conditions]

    @cached_property
    def gold_ids(self) -> tuple[frozenset[str], ...]:
        """Per query the IDs of its gold documents (equal sets form a family)."""
        return tuple(
            frozenset(doc_id for doc_id, grade in table.items() if grade == n)
            for table, n in zip(self.grades, self.n_conditions)
        )

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 over n, documents and grades of all queries, whatever their IDs and order.

        Results with the same hash share their judgments; `evaluate` has no query IDs.
        """
        queries = []
        for table, n in zip(self.grades, self.n_conditions):
            documents = "".join(f"{d}\t{g}\n" for d, g in sorted(table.items()) if g)
            text = f"{n}\n{documents}".encode("utf-8", "surrogatepass")
            queries.append(hashlib.sha256(text).digest())
        return hashlib.sha256(b"".join(sorted(queries))).hexdigest()

    def align(self, run: Mapping[str, Sequence[str]]) -> Alignment:
        """Put a run into the order of the queries: missing ones are empty, extra ones named."""
        rankings = [run.get(query_id, ()) for query_id in self.query_ids]
        return Alignment(rankings, *self.compare_queries(run))

    def compare_queries(
        self, query_ids: Collection[str]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The queries that are missing among those of a run, and those that are not judged."""
        given = set(query_ids)
        missing = tuple(query_id for query_id in self.query_ids if query_id not in given)
        return missing, tuple(query_id for query_id in query_ids if query_id not in self._row_of)

    def rows_of(self, query_ids: Sequence[str]) -> IntArray:
        """The row of each query; -1 for one that is not judged."""
        return np.array([self._row_of.get(query_id, -1) for query_id in query_ids], dtype=np.int64)

    def grade_matrix(
        self, rankings: Sequence[Sequence[str]], k: int, *, checked: bool = False
    ) -> NDArray[np.uint8]:
        """(Q, k) grades of the first k documents of each ranking; 0 = unjudged or no document.

        Only the first k documents are looked at.

        Args:
            rankings: A ranking per query.
            k: Number of columns.
            checked: The rankings were checked already (a `Run`, the inputs of ``compute``).

        Raises:
            ScoringError: Another number of rankings than queries, an ID that is no string, or a
                document that stands twice among the first k.
        """
        if len(rankings) != len(self):
            raise ScoringError(
                f"{len(rankings)} rankings for {len(self)} queries: expected one each"
            )
        if not checked:
            _check_rankings(rankings)
        tops, lengths = _top_documents(rankings, k)
        if not checked:
            _check_tops(self.query_ids, tops, lengths)
        # One pass in C: grade of each document of each ranking, 0 for what is not judged.
        grades = map(map, self._lookups, tops, repeat(repeat(0)))
        return _padded(bytes(chain.from_iterable(grades)), lengths, k)

    @cached_property
    def _lookups(self) -> list[Callable[[str, int], int]]:
        return [table.get for table in self.grades]


@dataclass(frozen=True)
class Alignment:
    """A run in the order of the judgments."""

    rankings: list[Sequence[str]]
    missing: tuple[str, ...]  # judged, not in the run: scored as empty
    extra: tuple[str, ...]  # in the run, not judged: not scored


@dataclass(frozen=True, eq=False)
class QueryScores:
    """Scores at one cutoff, an array over the Q queries each.

    ``gold_ndcg`` is NaN for a query without golds, ``graded_ndcg`` for one without judgments;
    both are 0 for a query whose ranking is empty. ``score``, ``hit`` and ``outcome`` are always
    defined: such queries are misses.
    """

    k: int
    gain: str
    score: FloatArray  # 1.0 gold-first, else 0.0
    hit: FloatArray  # 1.0 if a gold is among the first k
    outcome: NDArray[np.int8]  # MISS, SUBSET_FIRST, GOLD_FIRST
    gold_rank: FloatArray  # rank of the first gold among the first k, else inf
    subset_rank: FloatArray
    gold_ndcg: FloatArray
    graded_ndcg: FloatArray
    grades: NDArray[np.uint8]  # (Q, k) of the first k documents; 0 = unjudged or no document


def score_grades(
    matrix: NDArray[np.uint8], judgments: Judgments, k: int, gain: str = "linear"
) -> QueryScores:
    """Scores at cutoff k from the grades of ranked documents.

    Args:
        matrix: (Q, K) grades by rank with K >= k, from `Judgments.grade_matrix`.
        judgments: The judgments of the same Q queries (for n and the ideal rankings).
        k: Cutoff, 1-based and inclusive.
        gain: "linear" (gain = grade) or "exponential" (2**grade - 1), for graded NDCG.
    """
    _check_cutoff(k, gain)
    top = matrix[:, :k]
    is_gold = top == judgments.n_conditions[:, None]
    gold_rank = _first_rank(is_gold)
    subset_rank = _first_rank((top > 0) & ~is_gold)
    hit = np.isfinite(gold_rank)
    gold_first = hit & (gold_rank < subset_rank)
    return QueryScores(
        k=k,
        gain=gain,
        score=gold_first.astype(np.float64),
        hit=hit.astype(np.float64),
        outcome=hit.astype(np.int8) + gold_first.astype(np.int8),
        gold_rank=gold_rank,
        subset_rank=subset_rank,
        gold_ndcg=_ratio(is_gold @ _discounts(k), _ideal_gold(judgments, k)),
        graded_ndcg=_ratio(_gains(gain)[top] @ _discounts(k), _ideal_graded(judgments, k, gain)),
        grades=top,
    )


def score_rankings(
    judgments: Judgments,
    rankings: Sequence[Sequence[str]],
    ks: Sequence[int] = (10,),
    gain: str = "linear",
    *,
    checked: bool = False,
) -> dict[int, QueryScores]:
    """Scores of one run at several cutoffs; see `score_grades` and `Judgments.grade_matrix`.

    Args:
        judgments: Judgments of Q queries.
        rankings: Q ranked lists of document IDs, best first, in the order of the queries. An
            empty list is a query without results: it counts as a miss.
        ks: Cutoffs.
        gain: Gain of graded NDCG.
        checked: As for `Judgments.grade_matrix`.
    """
    check_cutoffs(ks, gain)
    matrix = judgments.grade_matrix(rankings, max(ks), checked=checked)
    return {k: score_grades(matrix, judgments, k, gain) for k in ks}


def defined_mean(values: FloatArray) -> float:
    """Mean of the values that are not NaN; NaN (without a warning) if there are none."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else float("nan")


def common_support(base: QueryScores, variant: QueryScores) -> tuple[int, float, float, float]:
    """Ordering on common support: (n, D of base, D of variant, difference).

    Over the n queries where both systems have a gold hit, D is the share that are gold-first;
    the difference is variant minus base. All three are NaN where n is 0.
    """
    both = (base.hit > 0) & (variant.hit > 0)
    n = int(both.sum())
    if n == 0:
        return 0, float("nan"), float("nan"), float("nan")
    d_base, d_variant = float(base.score[both].mean()), float(variant.score[both].mean())
    return n, d_base, d_variant, d_variant - d_base


def repeated_document(query_id: str, ranking: Sequence[str]) -> str:
    """Message for a ranking that lists a document more than once."""
    repeated = next(doc_id for doc_id in ranking if ranking.count(doc_id) > 1)
    ranks = [str(rank) for rank, doc_id in enumerate(ranking, 1) if doc_id == repeated]
    return (
        f"query {query_id!r}: document {repeated!r} stands at ranks {', '.join(ranks)}; "
        "a document may stand once in a ranking"
    )


def keep_first(ranking: Sequence[str]) -> list[str]:
    """The ranking with later repeats of a document removed and the gaps closed."""
    return list(dict.fromkeys(ranking))


def _check_query(query_id: str, table: Mapping[str, int], n: int) -> None:
    if not isinstance(query_id, str):
        raise ScoringError(f"query_id {query_id!r} is {type(query_id).__name__}, expected str")
    if not 1 <= n <= MAX_CONDITIONS:
        raise ScoringError(f"query {query_id!r}: n_conditions is {n}, expected 1..{MAX_CONDITIONS}")
    if _are_grades(table, n):
        return
    for doc_id, grade in table.items():
        problem = grade_problem(doc_id, grade, n)
        if problem:
            raise ScoringError(f"query {query_id!r}: {problem}")


def _are_grades(table: Mapping[str, int], n: int) -> bool:
    """Whether a table is plainly right; what is not may still be (numbers of numpy)."""
    if not set(map(type, table)) <= {str} or not set(map(type, table.values())) <= {int}:
        return False
    return not table or (min(table.values()) >= 0 and max(table.values()) <= n)


def grade_problem(doc_id: object, grade: object, n: int) -> str | None:
    """What is wrong with one judgment, or None. Whole numbers 0..n only; no bool, no 2.0."""
    if not isinstance(doc_id, str):
        return f"doc_id {doc_id!r} is {type(doc_id).__name__}, expected str"
    if isinstance(grade, (bool, np.bool_)) or not isinstance(grade, (int, np.integer)):
        return (
            f"document {doc_id!r}: grade {grade!r} is {type(grade).__name__}, "
            f"expected a whole number from 0 to {n}"
        )
    if not 0 <= grade <= n:
        return f"document {doc_id!r}: grade {grade} is not in 0..{n} (the query has {n} conditions)"
    return None


def _check_rankings(rankings: Sequence[Sequence[str]]) -> None:
    if set(map(type, rankings)) <= {list}:
        return
    for index, ranking in enumerate(rankings):
        if isinstance(ranking, (str, bytes)) or not isinstance(ranking, Sequence):
            raise ScoringError(
                f"ranking {index} is {type(ranking).__name__} {ranking!r:.60}, expected a list "
                "of document IDs, best first"
            )


def _top_documents(
    rankings: Sequence[Sequence[str]], k: int
) -> tuple[list[Sequence[str]], list[int]]:
    """The first k documents of each ranking, and how many these are."""
    lengths = list(map(len, rankings))
    if max(lengths, default=0) <= k:
        return list(rankings), lengths
    tops = list(map(itemgetter(slice(k)), rankings))
    return tops, [k] * len(tops) if min(lengths) >= k else list(map(len, tops))


def _check_tops(query_ids: Sequence[str], tops: list[Sequence[str]], lengths: list[int]) -> None:
    try:
        for _ in map("".join, tops):  # the quickest way to ask whether all are strings
            pass
    except TypeError:
        raise ScoringError(_id_problem(query_ids, tops)) from None
    distinct = list(map(len, map(set, tops)))
    if distinct != lengths:
        row = next(i for i, top in enumerate(tops) if distinct[i] != lengths[i])
        raise ScoringError(repeated_document(query_ids[row], tops[row]))


def _padded(grades: bytes, lengths: list[int], k: int) -> NDArray[np.uint8]:
    """Consecutive rows of the given lengths as a matrix of k columns, 0 behind each row."""
    flat = np.frombuffer(grades, dtype=np.uint8)
    if flat.size == len(lengths) * k:
        return flat.reshape(len(lengths), k)
    present = np.arange(k) < np.array(lengths, dtype=np.int64)[:, None]
    matrix = np.zeros(present.shape, dtype=np.uint8)
    matrix[present] = flat
    return matrix


def _id_problem(query_ids: Sequence[str], rankings: Sequence[Sequence[object]]) -> str:
    query_id, rank, doc_id = next(
        (query_id, rank, doc_id)
        for query_id, ranking in zip(query_ids, rankings)
        for rank, doc_id in enumerate(ranking, 1)
        if not isinstance(doc_id, str)
    )
    return (
        f"query {query_id!r}, rank {rank}: document ID {doc_id!r} is {type(doc_id).__name__}, "
        "expected str (IDs are compared as exact strings: 7 is not '007')"
    )


def check_cutoffs(ks: Sequence[int], gain: str) -> None:
    """Raise a ScoringError for cutoffs or a gain that make no sense."""
    if not ks:
        raise ScoringError("no cutoff given: expected at least one k")
    for k in ks:
        _check_cutoff(k, gain)


def _check_cutoff(k: int, gain: str) -> None:
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise ScoringError(f"k is {k!r}, expected a whole number of at least 1")
    if gain not in GAINS:
        raise ScoringError(f"gain is {gain!r}, expected one of {', '.join(GAINS)}")


def _first_rank(found: NDArray[np.bool_]) -> FloatArray:
    return np.where(found.any(axis=1), found.argmax(axis=1) + 1.0, np.inf)


def _discounts(k: int) -> FloatArray:
    weights: FloatArray = 1.0 / np.log2(np.arange(2.0, k + 2.0))
    return weights


def _gains(gain: str) -> FloatArray:
    grades = np.arange(MAX_CONDITIONS + 1, dtype=np.float64)
    return grades if gain == "linear" else 2.0**grades - 1.0


@lru_cache(maxsize=8)  # the same for every run
def _ideal_gold(judgments: Judgments, k: int) -> FloatArray:
    cumulative = np.concatenate([[0.0], np.cumsum(_discounts(k))])
    ideal: FloatArray = cumulative[np.minimum(judgments.gold_counts, k)]
    return ideal


@lru_cache(maxsize=8)
def _ideal_graded(judgments: Judgments, k: int, gain: str) -> FloatArray:
    # The ideal ranking lists the judged documents by falling grade. The documents of grade g
    # fill the ranks after those of higher grades, so their discounts are a difference of sums.
    cumulative = np.concatenate([[0.0], np.cumsum(_discounts(k))])
    ideal = np.zeros(len(judgments))
    filled = np.zeros(len(judgments), dtype=np.int64)
    gains = _gains(gain)
    for grade in range(judgments.grade_counts.shape[1] - 1, 0, -1):
        until = np.minimum(filled + judgments.grade_counts[:, grade], k)
        ideal += gains[grade] * (cumulative[until] - cumulative[filled])
        filled = until
    return ideal


def _ratio(value: FloatArray, ideal: FloatArray) -> FloatArray:
    defined = ideal > 0
    return np.where(defined, value / np.where(defined, ideal, 1.0), np.nan)
