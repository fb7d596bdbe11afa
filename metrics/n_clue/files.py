"""Scores of many run files, without a Python object for every line.

`read_run` keeps a file in columns; here these are looked up in a table of grades, so that lists
are made of none of them. Where that table would be too large, lists are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .columns import Index, Ranked, check_rules
from .fields import Fields
from .runs import Run, read_checked
from .scoring import Judgments, QueryScores, check_cutoffs, score_grades

MAX_CELLS = 1 << 27  # of the table of grades, a byte each; larger collections are scored by lists


@dataclass(frozen=True, eq=False)
class FileScores:
    """Scores of one run."""

    run: Run
    scores: dict[int, QueryScores]  # per cutoff, in the order of the judgments
    missing: tuple[str, ...]  # judged queries that are not in the run: scored as empty
    extra: tuple[str, ...]  # queries of the run that are not judged: not scored

    @property
    def name(self) -> str:
        """Of the run."""
        return self.run.name

    @property
    def ties(self) -> str:
        """The rule that ordered equal scores."""
        return self.run.ties

    @property
    def n_tied(self) -> int:
        """Documents whose score equals that of a neighbour in the ranking."""
        return self.run.n_tied

    @property
    def n_repeats_dropped(self) -> int:
        """With ``repeats="first"``, documents that stood again."""
        return self.run.n_repeats_dropped

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should be told of the run; see `Run`."""
        return self.run.notes


def score_files(
    judgments: Judgments,
    runs: Iterable[Path | str | Run],
    ks: Sequence[int] = (10,),
    gain: str = "linear",
    *,
    ties: str = "input",
    repeats: str = "error",
    mapping: Mapping[str, str] | None = None,
) -> Iterator[FileScores]:
    """Score runs one after the other, each a `Run` or a file of any format that `read_run` takes.

    Args:
        judgments: Judgments of Q queries.
        runs: The files or runs.
        ks: Cutoffs.
        gain: Gain of graded NDCG; see `score_grades`.
        ties: As for `read_run`.
        repeats: As for `read_run`.
        mapping: As for `read_run`.

    Yields:
        The scores of each, as `score_rankings` gives them for the lists of the run.

    Raises:
        ScoringError: A cutoff, gain, rule or field that does not exist, before a file is opened.
        RunFormatError: The file, its line and what was expected there.
    """
    check_cutoffs(ks, gain)
    check_rules(ties, repeats)
    fields = Fields(mapping)
    if isinstance(runs, (str, Path, Run)):
        runs = [runs]

    def read(run: Path | str | Run) -> Run:
        return run if isinstance(run, Run) else read_checked(run, ties, repeats, fields)

    table = GradeTable(judgments)
    return (table.score(run, ks, gain) for run in _read_ahead(read, runs))


def _read_ahead(
    read: Callable[[Path | str | Run], Run], runs: Iterable[Path | str | Run]
) -> Iterator[Run]:
    """The runs in their order; two are read in other threads while one is scored."""
    runs = list(runs)
    if len(runs) == 1:
        yield read(runs[0])
        return
    with ThreadPoolExecutor(2) as pool:
        waiting: deque[Future[Run]] = deque()
        for run in runs:
            waiting.append(pool.submit(read, run))
            if len(waiting) > 2:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


class GradeTable:
    """Grades of all judged documents of all queries, to score any number of runs.

    Args:
        judgments: Judgments of Q queries.
    """

    def __init__(self, judgments: Judgments) -> None:
        self._judgments = judgments
        doc_ids = list(dict.fromkeys(chain.from_iterable(judgments.grades)))
        self._queries = Index(judgments.query_ids)
        self._documents = Index(doc_ids)
        self._fits = (len(doc_ids) + 1) * len(judgments) <= MAX_CELLS
        if self._fits:
            place_of = {doc_id: place for place, doc_id in enumerate(doc_ids)}
            rows, grades = judgments.flat_grades
            places = map(place_of.__getitem__, chain.from_iterable(judgments.grades))
            self._grades = np.zeros((len(judgments), len(doc_ids) + 1), dtype=np.uint8)
            self._grades[rows, np.fromiter(places, np.int64, len(rows))] = grades

    def score(self, run: Run, ks: Sequence[int] = (10,), gain: str = "linear") -> FileScores:
        """The scores of one run, as `score_rankings` gives them for its lists."""
        check_cutoffs(ks, gain)
        judgments = self._judgments
        if run.ranked is None or not self._fits:
            aligned = judgments.align(run.rankings)
            missing, extra = aligned.missing, aligned.extra
            matrix = judgments.grade_matrix(aligned.rankings, max(ks), checked=True)
        else:
            rows = self._queries.find(run.ranked.columns.queries)
            missing, extra = self._compare(run, rows)
            matrix = self._matrix(run.ranked, rows, max(ks))
        scores = {k: score_grades(matrix, judgments, k, gain) for k in ks}
        return FileScores(run, scores, missing, extra)

    def _compare(self, run: Run, rows: NDArray[np.int64]) -> tuple[tuple[str, ...], ...]:
        """Judged queries without a ranking, and queries that are not judged."""
        known = rows < self._queries.size
        if known.all() and len(rows) == self._queries.size:
            return (), ()
        query_ids = run.query_ids
        absent = np.setdiff1d(np.arange(self._queries.size), rows[known])
        return (
            tuple(self._judgments.query_ids[row] for row in absent),
            tuple(query_ids[place] for place in np.flatnonzero(~known)),
        )

    def _matrix(self, ranked: Ranked, rows: NDArray[np.int64], k: int) -> NDArray[np.uint8]:
        """(Q, k) grades of the first k documents of each judged query; 0 where there is none."""
        columns, other = ranked.columns, self._documents.size
        matrix = np.zeros((len(self._judgments), k), dtype=np.uint8)
        judged = np.flatnonzero(rows < self._queries.size)
        if not judged.size or not len(columns.codes):
            return matrix
        starts, ends = columns.first[judged], columns.first[judged + 1]
        places = starts[:, None] + np.arange(k)
        absent = places >= ends[:, None]
        codes = columns.codes.take(np.where(absent, 0, places))
        found = np.minimum(self._documents.find(columns.documents), other).take(codes)
        grades = self._grades[rows[judged, None], found]
        matrix[rows[judged]] = np.where(absent, 0, grades)
        return matrix
