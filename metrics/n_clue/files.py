"""Scores of many run files, without a Python object for every line.

`read_run` makes ranked lists that one can look at; to score 70 files that is most of the work.
Here the judged documents become numbers once, and a usual file (see ``trec.py``) is scored in
whole-file operations. Files that are unusual in any way go through `read_run`: the results and
the errors are the same, only later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat, zip_longest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .parquet import ParquetColumns, columns_of
from .runs import are_plain_ids, check_rules, load_bytes, open_parquet, parse_unpacked, run_name
from .scoring import (
    FloatArray,
    Judgments,
    QueryScores,
    check_cutoffs,
    score_grades,
    score_rankings,
)
from .trec import MAX_WORDS, Positions, TrecColumns, Words, read_columns, words_needed, words_of

SLOT_BITS = 22
MAX_LEVELS = 16
MAX_CELLS = 1 << 27  # of the table of grades, a byte each; larger collections go the slow way


@dataclass(frozen=True, eq=False)
class FileScores:
    """Scores of one run file."""

    name: str
    scores: dict[int, QueryScores]  # per cutoff, in the order of the judgments
    missing: tuple[str, ...]  # judged queries that are not in the file: scored as empty
    extra: tuple[str, ...]  # queries of the file that are not judged: not scored
    ties: str  # the rule that ordered equal scores
    n_tied: int  # documents whose score equals that of a neighbour in the ranking
    n_repeats_dropped: int  # with repeats="first"


def score_files(
    judgments: Judgments,
    paths: Iterable[Path | str],
    ks: Sequence[int] = (10,),
    gain: str = "linear",
    *,
    ties: str = "input",
    repeats: str = "error",
) -> Iterator[FileScores]:
    """Score run files one after the other, each of any format that `read_run` takes.

    Args:
        judgments: Judgments of Q queries.
        paths: The files.
        ks: Cutoffs.
        gain: Gain of graded NDCG; see `score_grades`.
        ties: As for `read_run`.
        repeats: As for `read_run`.

    Yields:
        The scores of each file, as `score_rankings` gives them for what `read_run` reads.

    Raises:
        RunFormatError: The file, its line and what was expected there.
    """
    check_cutoffs(ks, gain)
    check_rules(ties, repeats)
    return _score_files(judgments, paths, ks, gain, ties, repeats)


def _score_files(
    judgments: Judgments,
    paths: Iterable[Path | str],
    ks: Sequence[int],
    gain: str,
    ties: str,
    repeats: str,
) -> Iterator[FileScores]:
    table = _GradeTable.of(judgments)
    for path in paths:
        data = load_bytes(path)
        ranked = _ranked(data, str(path), table) if table is not None else None
        if table is None or ranked is None or (ranked.n_tied and ties != "input"):
            yield _slowly(judgments, path, data, ks, gain, ties, repeats)
            continue
        matrix = table.matrix(ranked, max(ks))
        scores = {k: score_grades(matrix, judgments, k, gain) for k in ks}
        missing, extra = judgments.compare_queries(ranked.query_ids)
        yield FileScores(run_name(path), scores, missing, extra, ties, ranked.n_tied, 0)


def _slowly(
    judgments: Judgments,
    path: Path | str,
    data: bytes,
    ks: Sequence[int],
    gain: str,
    ties: str,
    repeats: str,
) -> FileScores:
    run = parse_unpacked(data, name=run_name(path), source=str(path), ties=ties, repeats=repeats)
    aligned = judgments.align(run.rankings)
    scores = score_rankings(judgments, aligned.rankings, ks, gain, checked=True)
    return FileScores(
        run.name, scores, aligned.missing, aligned.extra, ties, run.n_tied, run.n_repeats_dropped
    )


@dataclass(frozen=True, eq=False)
class _Ranked:
    """A file whose order is that of its rankings, and in which no document is repeated."""

    query_ids: list[str]
    first: Positions  # (Q + 1,)
    documents: _Codes
    n_tied: int


class _Codes:
    """The documents of a file: numbers to tell them apart, and their places in the table."""

    def __init__(self, distinct: Words) -> None:
        self.distinct = distinct  # (L,) equal where the documents are

    def lookup(self, places: Positions) -> Positions:
        """Columns of the table of grades for some of the L documents."""
        raise NotImplementedError


class _TrecCodes(_Codes):
    def __init__(self, words: Words, table: _GradeTable) -> None:
        super().__init__(_mixed(words))
        self._words = words
        self._table = table

    def lookup(self, places: Positions) -> Positions:
        return self._table.find(self.distinct.take(places), self._words.take(places, axis=1))


class _ParquetCodes(_Codes):
    def __init__(self, columns: ParquetColumns, table: _GradeTable) -> None:
        super().__init__(columns.codes.astype(np.uint64))
        self._codes = columns.codes
        self._columns = table.columns_of(columns.unique)

    def lookup(self, places: Positions) -> Positions:
        return self._columns.take(self._codes.take(places))


def _ranked(data: bytes, source: str, table: _GradeTable) -> _Ranked | None:
    """What the file holds, if its order can be taken as it is; None otherwise."""
    columns: TrecColumns | ParquetColumns | None
    codes: _Codes
    if data[:4] == b"PAR1":
        try:
            columns = columns_of(open_parquet(data, source))
        except UnicodeDecodeError:
            return None
        if columns is None or not columns.unique or not are_plain_ids(columns.unique):
            return None
        codes = _ParquetCodes(columns, table)
    elif data.lstrip()[:1] in (b"{", b"["):  # JSON can have six words a line, too
        return None
    else:
        columns = read_columns(data)
        words = columns.words() if columns is not None else None
        if columns is None or words is None:
            return None
        codes = _TrecCodes(words, table)
    n_tied = _tied(columns.scores, columns.first)
    if n_tied is None or _any_repeated(codes.distinct, columns.first):
        return None
    return _Ranked(columns.query_ids, columns.first, codes, n_tied)


def _tied(scores: FloatArray | None, first: Positions) -> int | None:
    """How many documents have the score of a neighbour; None if scores rise within a query."""
    if scores is None:
        return 0
    within = np.ones(len(scores) + 1, dtype=np.bool_)  # ... below the line before, by query
    within[first] = False
    above, below = scores[:-1], scores[1:]  # compared, not subtracted: they may be infinite
    if (below > above)[within[1:-1]].any():
        return None
    equal = np.zeros(len(scores) + 1, dtype=np.bool_)
    equal[1:-1] = (below == above) & within[1:-1]
    return int((equal[1:] | equal[:-1]).sum())


def _any_repeated(distinct: Words, first: Positions) -> bool:
    """Whether a document may stand twice in a list: at times so said of two that only mix alike."""
    lengths = np.diff(first)
    width = int(lengths.max(initial=0))
    if width * len(lengths) > 4 * len(distinct) + 1_000:  # a few long lists among short ones
        lists = np.repeat(np.arange(len(lengths), dtype=np.uint64), lengths)
        keys = np.sort(distinct + lists * _ODD)
        return bool((keys[1:] == keys[:-1]).any())
    # Sorting each list alone is twenty times as fast. Short ones are filled with what differs.
    rows = np.tile(np.arange(width, dtype=np.uint64), (len(lengths), 1))
    rows[np.arange(width) < lengths[:, None]] = distinct + np.uint64(width)
    rows.sort(axis=1)
    return bool((rows[:, 1:] == rows[:, :-1]).any())


_ODD = np.uint64(0x9E3779B97F4A7C15)


def _slot(mixed: Words, factor: np.uint64) -> Positions:
    """A place for each number among 2**SLOT_BITS."""
    places: Positions = (mixed * factor >> np.uint64(64 - SLOT_BITS)).astype(np.int64)
    return places


def _slots(mixed: Words) -> list[tuple[np.uint64, NDArray[np.int32]]] | None:
    """Tables from slots to columns; documents that share a slot with another are in a later one.

    None if some share one in every table.
    """
    levels: list[tuple[np.uint64, NDArray[np.int32]]] = []
    left = np.arange(len(mixed))
    while left.size and len(levels) < MAX_LEVELS:
        factor = np.uint64((2 * len(levels) + 3) * int(_ODD) % 2**64)
        places, first = np.unique(_slot(mixed[left], factor), return_index=True)
        slots = np.zeros(1 << SLOT_BITS, dtype=np.int32)  # pages of it that are not used cost none
        slots[places] = left[first]
        levels.append((factor, slots))
        left = np.delete(left, first)
    return None if left.size else levels


def _mixed(words: Words) -> Words:
    """(L,) one number for each column of words; words of 0 at the end change nothing."""
    mixed = np.zeros(words.shape[1], dtype=np.uint64)
    factor = int(_ODD)
    for row in words:
        mixed += (row ^ (row >> np.uint64(29))) * np.uint64(factor)
        factor = factor * 0xD1342543DE82EF95 % 2**64  # odd times odd: odd
    mixed ^= mixed >> np.uint64(32)
    return mixed


class _GradeTable:
    """Grades of all judged documents of all queries; the last column is any other document.

    Args:
        judgments: Judgments of Q queries.
        doc_ids: The D judged documents.
        words: Their words, (W, D).
        levels: From `_slots`.
    """

    def __init__(
        self,
        judgments: Judgments,
        doc_ids: list[str],
        words: Words,
        levels: list[tuple[np.uint64, NDArray[np.int32]]],
    ) -> None:
        self._judgments = judgments
        self._words = words
        self._levels = levels
        self._column_of = {doc_id: column for column, doc_id in enumerate(doc_ids)}
        self._other = len(doc_ids)
        self._grades = np.zeros((len(judgments), self._other + 1), dtype=np.uint8)
        rows, grades = judgments.flat_grades
        self._grades[rows, self.columns_of(chain.from_iterable(judgments.grades))] = grades

    @classmethod
    def of(cls, judgments: Judgments) -> _GradeTable | None:
        """The table; None where it would be too large, or the IDs don't fit the fast way."""
        doc_ids = sorted({doc_id for table in judgments.grades for doc_id in table})
        texts = [doc_id.encode("utf-8", "surrogatepass") for doc_id in doc_ids]
        count = words_needed(max(map(len, texts), default=0))
        too_large = (len(doc_ids) + 1) * len(judgments) > MAX_CELLS
        if too_large or not doc_ids or count > MAX_WORDS or any(b"\0" in text for text in texts):
            return None
        words = words_of(texts, count)
        levels = _slots(_mixed(words))
        return None if levels is None else cls(judgments, doc_ids, words, levels)

    def columns_of(self, doc_ids: Iterable[str]) -> Positions:
        """The column of each document."""
        return np.fromiter(map(self._column_of.get, doc_ids, repeat(self._other)), dtype=np.int64)

    def find(self, mixed: Words, words: Words) -> Positions:
        """(L,) the column of each document, from its words (W, L) and what they mix to."""
        found = np.full(len(mixed), self._other, dtype=np.int64)
        for factor, slots in self._levels:
            column = slots.take(_slot(mixed, factor))
            np.copyto(found, column, where=self._are(column, words))
        return found

    def _are(self, column: NDArray[np.int32], words: Words) -> NDArray[np.bool_]:
        """Whether the documents in these columns are the ones with these words."""
        same = np.ones(len(column), dtype=np.bool_)
        for mine, theirs in zip_longest(self._words, words):
            # A document of fewer words has zeros for the others.
            expected = np.uint64(0) if mine is None else mine.take(column)
            same &= expected == (np.uint64(0) if theirs is None else theirs)
        return same

    def matrix(self, ranked: _Ranked, k: int) -> NDArray[np.uint8]:
        """(Q, k) grades of the first k documents of each judged query; 0 where there is none."""
        rows = self._judgments.rows_of(ranked.query_ids)
        judged = np.flatnonzero(rows >= 0)
        starts, ends = ranked.first[judged], ranked.first[judged + 1]
        places = starts[:, None] + np.arange(k)
        absent = places >= ends[:, None]
        columns = ranked.documents.lookup(np.where(absent, 0, places).ravel())
        grades = self._grades[rows[judged, None], columns.reshape(places.shape)]
        matrix = np.zeros((len(self._judgments), k), dtype=np.uint8)
        matrix[rows[judged]] = np.where(absent, 0, grades)
        return matrix
