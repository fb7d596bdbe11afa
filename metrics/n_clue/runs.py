"""Run files: what a system returned, in any of the usual formats, by one reader.

Formats are told apart by content, gzip included; names don't matter. ``cards/runs.md`` of the kit
has an example of each.

    TREC      the layouts of ``trec.py``
    JSON      ``{query_id: [doc_id, …]}`` (best first), ``{query_id: {doc_id: score}}``, or a list
              of the rows of JSONL; also the predictions that MTEB writes
    JSONL     rows ``{"query_id", "doc_ids", "scores"?, "pages"?}``, where pages has a list of
              [page number, score] for each document; doc_ids may be ``{doc_id: score}`` or
              ``[{"doc_id", "score"}, …]``. Or rows ``{"query_id", "doc_id", "score"?, "rank"?}``
    Parquet   the same columns as JSONL
    tables    tabs, commas or blanks between columns, with a header line that names them

``fields.py`` has the names under which fields are known. The order is the same in all formats:
by falling score; equal scores by rank, and without ranks as they stand. Without scores by rank;
without either as it stands. ``ties="trec_eval"`` orders equal scores by falling document ID.
Where score and rank contradict each other, a note of the run says so.
"""

from __future__ import annotations

import contextlib
import gc
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from .columns import REPEATS, TIES, Columns, Ranked, RunFormatError, check_rules, rank
from .fields import Fields
from .parquet import columns_of, open_table, rows_of
from .qrels import parse_qrels
from .rows import Lists, Pages, is_jsonl, json_rows, lists_of_mapping, lists_of_rows, load_json
from .rows import table_rows as _table_rows
from .trec import read_columns, read_lines

__all__ = [
    "REPEATS", "TIES", "Run", "RunFormatError", "check_rules", "parse_run", "read_qrels",
    "read_run", "run_from_mapping", "run_from_rows", "run_name",
]  # fmt: skip

_BOM = b"\xef\xbb\xbf"
MAX_BYTES = 4 * 2**30  # of one file, unpacked


class Run:
    """The ranked documents of one system.

    Args:
        name: Of the run.
        rankings: Per query its documents, best first. May be left out for ``ranked``.
        ties: The rule that ordered equal scores.
        ranked: The same in columns, from which the lists are made when they are asked for.
        pages: Surfaced pages, for page support: query_id -> doc_id -> (1-based page, score).

    Attributes:
        n_tied: Documents whose score equals that of a neighbour in the ranking.
        n_repeats_dropped: With ``repeats="first"``, documents that stood again.
        notes: What a user should be told, a sentence each: score and rank contradict each other,
            lines are not in the order of their ranks, and the like. Empty as a rule.
    """

    def __init__(
        self,
        name: str,
        rankings: dict[str, list[str]] | None = None,
        ties: str = "input",
        *,
        ranked: Ranked | None = None,
        pages: Pages | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.ties = ties
        self.ranked = ranked
        self.pages: Pages = pages or {}
        self.n_tied = 0 if ranked is None else ranked.n_tied
        self.n_repeats_dropped = 0 if ranked is None else ranked.n_repeats_dropped
        self.notes = (*notes, *(() if ranked is None else ranked.notes))
        if rankings is not None or ranked is None:
            self.__dict__["rankings"] = rankings or {}

    @cached_property
    def rankings(self) -> dict[str, list[str]]:
        """Per query its documents, best first."""
        return {} if self.ranked is None else self.ranked.lists

    @property
    def query_ids(self) -> list[str]:
        """The queries that the run has."""
        return list(self.rankings) if self.ranked is None else self.ranked.columns.query_ids

    @property
    def documents(self) -> set[str]:
        """The different documents that the run returned, over all queries."""
        if self.ranked is not None:
            return set(self.ranked.columns.documents.items)
        return {doc_id for ranking in self.rankings.values() for doc_id in ranking}

    @property
    def tie_groups(self) -> dict[str, list[tuple[int, int]]]:
        """Per query with ties, the first and last rank (1-based) of each group of equal scores."""
        return {} if self.ranked is None else self.ranked.tie_groups


def read_run(
    path: Path | str,
    *,
    ties: str = "input",
    repeats: str = "error",
    mapping: Mapping[str, str] | None = None,
) -> Run:
    """Read a run file of any format above.

    Args:
        path: The file; its stem (without suffixes) names the run.
        ties: "input" or "trec_eval".
        repeats: A document twice in one ranking: "error", or "first" to keep its first place.
        mapping: Names of fields that are not known, ``{"doc_id": "paper"}`` (for JSONL, Parquet
            and tables).

    Raises:
        ScoringError: A rule or field that does not exist, before the file is opened.
        RunFormatError: The file, its line and what was expected there.
    """
    check_rules(ties, repeats)
    return read_checked(path, ties, repeats, Fields(mapping))


def read_checked(path: Path | str, ties: str, repeats: str, fields: Fields) -> Run:
    """`read_run` by rules that were checked already."""
    return _parsed(load_bytes(path), run_name(path), str(path), ties, repeats, fields)


def load_bytes(path: Path | str) -> bytes:
    """The bytes of a file, unpacked.

    Raises:
        RunFormatError: It cannot be read, or is damaged, too large or UTF-16.
    """
    try:
        return _unpack(Path(path).read_bytes(), str(path))
    except (OSError, ValueError) as err:  # ValueError: a name with NUL in it
        if isinstance(err, RunFormatError):
            raise
        reason = getattr(err, "strerror", None) or err
        raise RunFormatError(f"cannot be read: {reason}", str(path)) from None


def run_name(path: Path | str) -> str:
    """The name of a run file: without folder and suffixes."""
    return Path(path).name.split(".gz")[0].rsplit(".", 1)[0]


def parse_run(
    data: bytes,
    *,
    name: str,
    source: str = "run",
    ties: str = "input",
    repeats: str = "error",
    mapping: Mapping[str, str] | None = None,
) -> Run:
    """Read a run from bytes; see `read_run`."""
    check_rules(ties, repeats)
    fields = Fields(mapping)
    return _parsed(_unpack(data, source), name, source, ties, repeats, fields)


def _parsed(data: bytes, name: str, source: str, ties: str, repeats: str, fields: Fields) -> Run:
    with _collector_paused():
        columns, pages, notes = _parse(data, source, fields)
        if not len(columns.queries):
            raise RunFormatError("the file holds no ranking", source)
        ranked = rank(columns, ties=ties, repeats=repeats, source=source)
    return Run(name, ties=ties, ranked=ranked, pages=pages, notes=notes)


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    """Spare the garbage collector's passes while many containers are made and none is garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def run_from_mapping(
    value: Mapping[str, Any], *, name: str = "run", ties: str = "input", repeats: str = "error"
) -> Run:
    """A run from ``{query_id: [doc_id, …]}`` or ``{query_id: {doc_id: score}}``.

    Raises:
        ScoringError: A rule that does not exist.
        RunFormatError: The query and what was expected there.
    """
    check_rules(ties, repeats)
    if not isinstance(value, Mapping):
        raise RunFormatError(
            f"expected {{query_id: [doc_id, …]}}, found {type(value).__name__}", name
        )
    return _of_lists(lists_of_mapping(value, name), name, ties, repeats)


def run_from_rows(
    rows: Iterable[Mapping[str, Any]],
    *,
    name: str = "run",
    ties: str = "input",
    repeats: str = "error",
    mapping: Mapping[str, str] | None = None,
) -> Run:
    """A run from rows as in JSONL, for example a `datasets.Dataset` (errors name row numbers).

    The rows are not changed. Errors are those of `read_run`.
    """
    check_rules(ties, repeats)
    fields = Fields(mapping)
    if not isinstance(rows, Iterable) or isinstance(rows, (str, bytes, Mapping)):
        raise RunFormatError(f"expected rows, found {type(rows).__name__}", name)
    return _of_lists(lists_of_rows(enumerate(rows, 1), fields, name), name, ties, repeats)


def _of_lists(lists: Lists, name: str, ties: str, repeats: str) -> Run:
    ranked = rank(lists.columns(), ties=ties, repeats=repeats, source=name)
    return Run(name, ties=ties, ranked=ranked, pages=lists.pages)


def read_qrels(
    path: Path | str, *, mapping: Mapping[str, str] | None = None
) -> dict[str, dict[str, int]]:
    """Read judgments: TREC qrels (``query_id 0 doc_id grade``) or ``{query_id: {doc_id: grade}}``.

    Also JSONL and Parquet rows, and tables with a header line (BEIR: query-id, corpus-id, score).

    Raises:
        RunFormatError: The file cannot be read, a grade is no whole number (1.5, 2.0, true,
            "gold") or below 0, a pair stands twice, or nothing is judged.
    """
    return parse_qrels(load_bytes(path), str(path), mapping)


def _unpack(data: bytes, source: str) -> bytes:
    if data[:2] == b"\x1f\x8b":
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
                data = packed.read(MAX_BYTES + 1)
        except (OSError, EOFError, zlib.error) as err:
            raise RunFormatError(f"damaged gzip: {err}", source) from None
    if len(data) > MAX_BYTES:
        raise RunFormatError(f"larger than {MAX_BYTES:,} bytes", source)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise RunFormatError("the file is UTF-16; save it as UTF-8", source)
    return data.removeprefix(_BOM)


def _parse(data: bytes, source: str, fields: Fields) -> tuple[Columns, Pages, tuple[str, ...]]:
    """What a file holds, its surfaced pages, and what a user should know of it."""
    if data[:4] == b"PAR1":
        table = open_table(data, source, fields)
        columns = columns_of(table, fields)
        if columns is not None:
            return columns, {}, ()
        return _collected(lists_of_rows(rows_of(table, source), fields, source))
    start = data.lstrip()[:1]
    if start in (b"{", b"["):
        return _parse_json(data, source, fields)
    columns = read_columns(data)
    if columns is not None:
        return columns, {}, ()
    rows = _table_rows(data, source, fields)
    if rows is not None:
        return _collected(lists_of_rows(rows, fields, source))
    return read_lines(data, source), {}, ()


def _parse_json(data: bytes, source: str, fields: Fields) -> tuple[Columns, Pages, tuple[str, ...]]:
    if data.lstrip()[:1] == b"{" and is_jsonl(data, fields):
        return _collected(lists_of_rows(json_rows(data, source), fields, source))
    value = load_json(data, source)
    if isinstance(value, list):
        if not value or not all(isinstance(item, dict) for item in value):
            raise RunFormatError(
                "a JSON list has no query IDs; expected {query_id: [doc_id, …]}, or rows with "
                "query_id and doc_ids",
                source,
            )
        return _collected(lists_of_rows(enumerate(value, 1), fields, source))
    value, notes = _without_levels(value, source)
    return _collected(lists_of_mapping(value, source), notes)


def _collected(lists: Lists, notes: tuple[str, ...] = ()) -> tuple[Columns, Pages, tuple[str, ...]]:
    return lists.columns(), lists.pages, notes


def _without_levels(value: dict[str, Any], source: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The run in the predictions that MTEB writes: ``{subset: {split: {query_id: …}}}``."""
    value = {key: item for key, item in value.items() if key != "mteb_model_meta"}
    levels: list[str] = []
    while value and all(_holds_mappings(item) for item in value.values()):
        if len(value) > 1:
            raise RunFormatError(
                f"the file holds several runs ({', '.join(map(repr, list(value)[:5]))}); save "
                "each as a file of its own",
                source,
            )
        (level,) = value
        levels.append(level)
        value = value[level]
    if not levels:
        return value, ()
    return value, (f"the run is that of {' / '.join(levels)} in the file",)


def _holds_mappings(value: object) -> bool:
    return (
        isinstance(value, dict)
        and bool(value)
        and all(isinstance(item, dict) for item in value.values())
    )
