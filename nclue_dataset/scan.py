"""Go through the files of a collection, row by row; what is wrong goes to a listener.

The strict reader (`release`) listens by raising; the checker (`check`) by taking notes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from nclue_core.errors import InputError
from nclue_core.jsonl import numbered_lines, parse_object
from nclue_core.schema import CorpusDocument, Qrel, Query, QueryForm, Ranking
from nclue_dataset.aliases import FieldMap, Report
from nclue_dataset.layout import CollectionFiles, stem_of
from nclue_dataset.rows import (
    RankedRow,
    parse_document,
    parse_forms,
    parse_qrel,
    parse_query,
    parse_ranking,
)

Record = TypeVar("Record")
MAX_BROKEN_LINES = 1000  # of one file; a file with more is of another kind altogether


class Problem(NamedTuple):
    """Something wrong with a row or a file."""

    code: str
    path: Path
    line: int | None
    message: str
    fatal: bool = True  # False: the reader can go on without a guess


Listener = Callable[[Problem], None]
Parser = Callable[[Mapping[str, Any], FieldMap, Report], Record]


@dataclass(frozen=True)
class Scanned(Generic[Record]):
    """A record and where it stands."""

    __slots__ = ("is_clean", "line", "path", "record")
    record: Record
    path: Path
    line: int
    is_clean: bool  # nothing fatal was reported about its row


@dataclass
class Scan:
    """The rows of a collection, as far as they can be understood."""

    files: CollectionFiles
    forms: list[Scanned[QueryForm]] = field(default_factory=list)
    queries: list[Scanned[Query]] = field(default_factory=list)
    corpus: list[Scanned[CorpusDocument]] = field(default_factory=list)
    qrels: dict[str, list[Scanned[Qrel]]] = field(default_factory=dict)
    rankings: list[Scanned[Ranking]] = field(default_factory=list)
    texts: list[tuple[str, str, Path, int]] = field(default_factory=list)  # corpus texts, if any


class RowScanner:
    """Reads rows of files and knows the names of their fields."""

    def __init__(self, mapping: Mapping[str, str], listener: Listener) -> None:
        self._mapping = mapping
        self.listener = listener

    def rows(
        self, paths: list[Path], kind: str, parse: Parser[Record | None]
    ) -> Iterator[Scanned[Record]]:
        """The records of some files of one kind; unknown fields are told once per file."""
        for path in paths:
            fields = FieldMap(kind, self._mapping)
            reporter = _Reporter(path, self.listener)
            for line, row in self._objects(path):
                reporter.start(line)
                record = parse(row, fields, reporter)
                if record is not None:
                    yield Scanned(record, path, line, reporter.is_clean)
            for key in fields.unknown:
                message = f"the field {key!r} is not part of the format and is not read"
                self.listener(Problem("unknown-field", path, None, message + fields.hint(key),
                                      fatal=False))  # fmt: skip

    def _objects(self, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
        """The objects of a file; a broken line is told and left out."""
        broken = 0
        try:
            for line, raw in numbered_lines(path):
                try:
                    value = parse_object(raw, path, line)
                except InputError as err:
                    self.listener(Problem("json", path, err.line, err.message))
                    broken += 1
                    if broken >= MAX_BROKEN_LINES:
                        return
                    continue
                yield line, value
        except InputError as err:  # the rest of the file can't be read
            self.listener(Problem("unreadable", path, err.line, err.message))


class _Reporter:
    """Adds file and line to what a parser reports."""

    def __init__(self, path: Path, listener: Listener) -> None:
        self._path = path
        self._listener = listener
        self._line = 0
        self.is_clean = True

    def start(self, line: int) -> None:
        """Begin a row."""
        self._line = line
        self.is_clean = True

    def __call__(self, code: str, message: str, fatal: bool = True) -> None:
        """Report something about the present row."""
        self.is_clean = self.is_clean and not fatal
        self._listener(Problem(code, self._path, self._line, message, fatal))


def scan_collection(files: CollectionFiles, mapping: Mapping[str, str], listener: Listener) -> Scan:
    """Read all files of a collection once.

    Args:
        files: The files.
        mapping: Names given by the user.
        listener: Told every problem; if it raises, the scan ends there.
    """
    scanner = RowScanner(mapping, listener)
    scan = Scan(files)
    tables = files.tables
    for row in scanner.rows(tables.get("queries_forms", []), "queries_forms", parse_forms):
        scan.forms += [Scanned(form, row.path, row.line, row.is_clean) for form in row.record]
    raw = {item.record.query_id: item.record.query for item in scan.forms
           if item.record.form == "raw"}  # fmt: skip
    scan.queries = list(
        scanner.rows(
            tables.get("queries", []),
            "queries",
            lambda row, fields, report: parse_query(row, fields, report, raw),
        )
    )
    n_conditions = {item.record.query_id: item.record.n_conditions for item in scan.queries}
    for copy, table in (("final", "qrels"), ("initial", "qrels_initial")):
        if table in tables:
            scan.qrels[copy] = list(
                scanner.rows(
                    tables[table],
                    "qrels",
                    lambda row, fields, report: parse_qrel(row, fields, report, n_conditions),
                )
            )
    _scan_corpus(scan, scanner)
    for path, form in files.runs:
        scan.rankings += _scan_run(scanner, path, form)
    return scan


def _scan_corpus(scan: Scan, scanner: RowScanner) -> None:
    texts: list[object] = [None]

    def parse(row: Mapping[str, Any], fields: FieldMap, report: Report) -> CorpusDocument | None:
        texts[0] = row.get("text")
        return parse_document(row, fields, report)

    for item in scanner.rows(scan.files.tables.get("corpus", []), "corpus", parse):
        scan.corpus.append(item)
        if isinstance(texts[0], str):
            scan.texts.append(
                (item.record.doc_id, " ".join(texts[0].split()), item.path, item.line)
            )


def _scan_run(scanner: RowScanner, path: Path, form: str | None) -> list[Scanned[Ranking]]:
    """The rankings of one file; documents in rows of their own are put together."""
    rankings: list[Scanned[Ranking]] = []
    parts: dict[tuple[str, str, str], list[Scanned[RankedRow]]] = {}
    for item in scanner.rows([path], "reference_runs", parse_ranking):
        row = item.record
        place = _place(item, form, scanner.listener)
        if place is None:
            continue
        if row.is_whole:
            ranking = Ranking(*place, row.doc_ids, row.scores)
            rankings.append(Scanned(ranking, path, item.line, item.is_clean))
        else:
            parts.setdefault(place, []).append(item)
    return rankings + [_joined(place, items, scanner.listener) for place, items in parts.items()]


def _place(
    item: Scanned[RankedRow], form: str | None, listener: Listener
) -> tuple[str, str, str] | None:
    """System, form and query of a row: fields first, then file name and folder."""
    row = item.record
    said = row.form or form
    if said is None:
        message = (
            "the query form of this run is not said: put it into forms/FORM/, or add a field form"
        )
        listener(Problem("form", item.path, item.line, message))
        return None
    if form not in (None, "raw", said):
        message = f"the row is of the form {said!r}, but lies in the folder of {form!r}"
        listener(Problem("form", item.path, item.line, message))
        return None
    return row.system or stem_of(item.path), said, row.query_id


def _joined(
    place: tuple[str, str, str], items: list[Scanned[RankedRow]], listener: Listener
) -> Scanned[Ranking]:
    """A ranking from rows with a document each: by score, else by rank, else as they stand."""
    path, line = items[0].path, items[0].line
    rows = [item.record for item in items]
    ranks = [row.rank for row in rows if row.rank is not None]
    scores = [row.scores[0] for row in rows if row.scores]
    if scores and len(scores) < len(rows):
        listener(Problem("score-count", path, line, f"query {place[2]}: a score is missing"))
    elif ranks and (len(ranks) < len(rows) or len(set(ranks)) < len(ranks)):
        message = f"query {place[2]}: a rank is missing or stands twice"
        listener(Problem("rank", path, line, message))
    else:
        keys = [(-score, 0) for score in scores] or [(0, rank) for rank in ranks]
        if scores and ranks:
            keys = [(-score, rank) for score, rank in zip(scores, ranks)]
        order = sorted(range(len(rows)), key=keys.__getitem__) if keys else range(len(rows))
        rows = [rows[i] for i in order]
        _tell_contradiction(rows, place[2], path, line, listener)
    scores = [row.scores[0] for row in rows if row.scores]
    ranking = Ranking(
        *place,
        tuple(row.doc_ids[0] for row in rows),
        tuple(scores) if len(scores) == len(rows) else None,
    )
    return Scanned(ranking, path, line, all(item.is_clean for item in items))


def _tell_contradiction(
    rows: list[RankedRow], query_id: str, path: Path, line: int, listener: Listener
) -> None:
    """Rows by falling score whose ranks fall somewhere, too."""
    ranks = [row.rank for row in rows if row.rank is not None]
    if any(below < above for above, below in itertools.pairwise(ranks)):
        message = f"query {query_id}: score and rank contradict each other; the scores decide"
        listener(Problem("rank-order", path, line, message, fatal=False))
