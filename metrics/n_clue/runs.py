"""Run files: what a system returned, in any of the usual formats.

Formats are told apart by content, gzip included; names don't matter.

    TREC      ``query_id Q0 doc_id rank score tag`` (the tag may be absent), or without scores
              ``query_id Q0 doc_id rank``
    JSON      ``{query_id: [doc_id, …]}`` (best first) or ``{query_id: {doc_id: score}}``
    JSONL     rows ``{"query_id", "doc_ids", "scores"?, "pages"?}``, where pages has a list of
              [page number, score] for each document, or ``{"query_id", "doc_id", "score"}``
    Parquet   the same columns as JSONL

Order (``ties="input"``): by falling score; equal scores keep the order of the file; without
scores the order of the file, or the rank where there is one. ``ties="trec_eval"`` orders equal
scores by falling document ID, as trec_eval does, for parity checks.
"""

from __future__ import annotations

import contextlib
import gc
import gzip
import io
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .parquet import columns_of, open_table
from .scoring import ScoringError, keep_first, repeated_document
from .trec import read_columns

TIES = ("input", "trec_eval")
REPEATS = ("error", "first")
BLANKS = " \t\n\r"
_BOM = b"\xef\xbb\xbf"
MAX_BYTES = 4 * 2**30  # of one file, unpacked


class RunFormatError(ScoringError):
    """A run file that cannot be understood; the message names file, line and value."""

    def __init__(self, message: str, source: str, line: int | None = None) -> None:
        where = source if line is None else f"{source}:{line}"
        super().__init__(f"{where}: {message}")


@dataclass(frozen=True)
class Run:
    """The ranked documents of one system."""

    name: str
    rankings: dict[str, list[str]]  # best first
    ties: str  # the rule that ordered equal scores
    n_tied: int = 0  # documents whose score equals that of a neighbour in the ranking
    # Per query the groups of documents with equal scores, in the order of the ranking.
    tied: dict[str, list[list[str]]] = field(default_factory=dict)
    n_repeats_dropped: int = 0  # with repeats="first"
    # Surfaced pages, for page support: query_id -> doc_id -> (1-based page, score), if any.
    pages: dict[str, dict[str, list[tuple[int, float]]]] = field(default_factory=dict)


@dataclass
class _Listing:
    """What one query has in a file, in file order."""

    doc_ids: list[str]
    scores: list[float] | None  # None: the file has no scores or they fall, its order counts
    pages: list[list[list[float]]] | None = None  # per document [page, score] pairs


def read_run(path: Path | str, *, ties: str = "input", repeats: str = "error") -> Run:
    """Read a run file of any format above.

    Args:
        path: The file; its stem (without suffixes) names the run.
        ties: "input" or "trec_eval".
        repeats: A document twice in one ranking: "error", or "first" to keep its first place.

    Raises:
        RunFormatError: The file, its line and what was expected there.
    """
    data = load_bytes(path)
    return parse_unpacked(data, name=run_name(path), source=str(path), ties=ties, repeats=repeats)


def load_bytes(path: Path | str) -> bytes:
    """The bytes of a file, unpacked.

    Raises:
        RunFormatError: It cannot be read, or is damaged, too large or UTF-16.
    """
    try:
        return _unpack(Path(path).read_bytes(), str(path))
    except OSError as err:
        raise RunFormatError(f"cannot be read: {err.strerror or err}", str(path)) from None


def run_name(path: Path | str) -> str:
    """The name of a run file: without folder and suffixes."""
    return Path(path).name.split(".gz")[0].rsplit(".", 1)[0]


def check_rules(ties: str, repeats: str) -> None:
    """Raise a ScoringError for rules that do not exist."""
    if ties not in TIES or repeats not in REPEATS:
        raise ScoringError(f"ties is one of {TIES}, repeats one of {REPEATS}")


def parse_run(
    data: bytes, *, name: str, source: str = "run", ties: str = "input", repeats: str = "error"
) -> Run:
    """Read a run from bytes; see `read_run`."""
    unpacked = _unpack(data, source)
    return parse_unpacked(unpacked, name=name, source=source, ties=ties, repeats=repeats)


def parse_unpacked(data: bytes, *, name: str, source: str, ties: str, repeats: str) -> Run:
    """Read a run from the bytes of `load_bytes`; see `read_run`."""
    check_rules(ties, repeats)
    with _collector_paused():
        listings = _parse(data, source)
        if not listings:
            raise RunFormatError("the file holds no ranking", source)
        return _ordered(Run(name, {}, ties), listings, source, repeats)


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
    """A run from ``{query_id: [doc_id, …]}`` or ``{query_id: {doc_id: score}}``."""
    listings = _from_mapping(value, name)
    return _ordered(Run(name, {}, ties), listings, name, repeats)


def run_from_rows(
    rows: Iterable[Mapping[str, Any]], *, name: str = "run", ties: str = "input",
    repeats: str = "error",
) -> Run:  # fmt: skip
    """A run from rows as in JSONL, for example a `datasets.Dataset` (errors name row numbers)."""
    listings = _from_rows(iter(enumerate(rows, 1)), name)
    return _ordered(Run(name, {}, ties), listings, name, repeats)


def read_qrels(path: Path | str) -> dict[str, dict[str, int]]:
    """Read judgments: TREC qrels (``query_id 0 doc_id grade``) or ``{query_id: {doc_id: grade}}``.

    Raises:
        RunFormatError: A grade is no whole number (1.5, 2.0, true, "gold"), a pair stands twice.
    """
    source = str(path)
    data = _unpack(Path(path).read_bytes(), source)
    if data.lstrip()[:1] == b"{":
        return _json_qrels(_load_json(data, source), source)
    qrels: dict[str, dict[str, int]] = {}
    for line, fields in _lines(data, source):
        if len(fields) != 4:
            raise RunFormatError(
                f"expected 4 columns (query_id 0 doc_id grade), found {len(fields)}", source, line
            )
        query_id, _, doc_id, grade = fields
        if not grade.lstrip("-").isdecimal():
            raise RunFormatError(f"grade {grade!r} is not a whole number", source, line)
        if doc_id in qrels.setdefault(query_id, {}):
            raise RunFormatError(f"the pair {query_id} {doc_id} is judged twice", source, line)
        qrels[query_id][doc_id] = int(grade)
    return qrels


def _json_qrels(value: Any, source: str) -> dict[str, dict[str, int]]:
    for query_id, table in value.items():
        for doc_id, grade in table.items():
            if isinstance(grade, bool) or not isinstance(grade, int):
                raise RunFormatError(
                    f"query {query_id!r}, document {doc_id!r}: grade {grade!r} is not a whole "
                    "number",
                    source,
                )
    qrels: dict[str, dict[str, int]] = value
    return qrels


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


def _parse(data: bytes, source: str) -> dict[str, _Listing]:
    if data[:4] == b"PAR1":
        return _parse_parquet(data, source)
    start = data.lstrip()[:1]
    if start == b"{" and _is_jsonl(data):
        return _from_rows(_jsonl_rows(data, source), source)
    if start == b"{":
        return _from_mapping(_load_json(data, source), source)
    if start == b"[":
        raise RunFormatError(
            "a JSON list has no query IDs; expected {query_id: [doc_id, …]} or JSONL rows", source
        )
    return _fast_trec(data) or _slow_trec(data, source)


def _is_jsonl(data: bytes) -> bool:
    first_line = data.lstrip().split(b"\n", 1)[0]
    try:
        return "query_id" in json.loads(first_line)
    except ValueError:
        return False


def _load_json(data: bytes, source: str) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            keys = [key for key, _ in pairs]
            raise ValueError(f"{next(k for k in keys if keys.count(k) > 1)!r} stands twice")
        return value

    try:
        value = json.loads(data, object_pairs_hook=unique)
    except (ValueError, RecursionError) as err:
        raise RunFormatError(f"not a JSON value: {err}", source) from None
    if not isinstance(value, dict):
        raise RunFormatError(f"expected a JSON object, found {type(value).__name__}", source)
    return value


def _from_mapping(value: Mapping[str, Any], source: str) -> dict[str, _Listing]:
    listings = {}
    for query_id, ranked in value.items():
        where = f"query {query_id!r}"
        if isinstance(ranked, Mapping):
            listing = _Listing(list(ranked), list(ranked.values()))
        elif isinstance(ranked, Sequence) and not isinstance(ranked, (str, bytes)):
            listing = _Listing(list(ranked), None)
        else:
            raise RunFormatError(
                f"{where}: expected a list of document IDs or {{doc_id: score}}, found "
                f"{type(ranked).__name__}",
                source,
            )
        _check_listing(query_id, listing, source, None)
        listings[query_id] = listing
    return listings


def _jsonl_rows(data: bytes, source: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for line, raw in enumerate(data.split(b"\n"), 1):
        if not raw.strip():
            continue
        try:
            row = json.loads(raw)
        except (ValueError, RecursionError) as err:
            raise RunFormatError(f"not a JSON value: {err}", source, line) from None
        if not isinstance(row, dict):
            raise RunFormatError(
                f"expected a JSON object, found {type(row).__name__}", source, line
            )
        yield line, row


def _parse_parquet(data: bytes, source: str) -> dict[str, _Listing]:
    table = open_parquet(data, source)
    try:
        return _fast_parquet(table) or _from_rows(_parquet_rows(table), source)
    except UnicodeDecodeError:
        raise RunFormatError("an ID is not UTF-8", source) from None


def open_parquet(data: bytes, source: str) -> Any:
    """The table of a Parquet file.

    Raises:
        RunFormatError: It is none.
    """
    try:
        return open_table(data)
    except ScoringError as err:
        raise RunFormatError(str(err), source) from None


def _fast_parquet(table: Any) -> dict[str, _Listing] | None:
    """Ranked lists without surfaced pages, in whole-column operations; None for other tables."""
    columns = columns_of(table)
    if columns is None or not are_plain_ids(columns.unique):
        return None
    return _listings(columns.query_ids, columns.first, columns.doc_ids, columns.scores)


def _listings(
    query_ids: list[str],
    first: NDArray[np.int64],
    doc_ids: list[str],
    scores: NDArray[np.float64] | None,
) -> dict[str, _Listing]:
    bounds = list(pairwise(first.tolist()))
    listings = {
        query_id: _Listing(doc_ids[start:end], None)
        for query_id, (start, end) in zip(query_ids, bounds)
    }
    new = np.zeros(len(doc_ids) + 1, dtype=np.bool_)
    new[first] = True
    if scores is not None and not ((scores[1:] < scores[:-1]) | new[1:-1]).all():
        for listing, (start, end) in zip(listings.values(), bounds):
            listing.scores = scores[start:end].tolist()
    return listings


def _parquet_rows(table: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    for index, values in enumerate(zip(*columns.values()), 1):
        yield index, dict(zip(columns, values))


def _from_rows(rows: Iterator[tuple[int, Mapping[str, Any]]], source: str) -> dict[str, _Listing]:
    listings: dict[str, _Listing] = {}
    for line, row in rows:
        query_id = row.get("query_id")
        if not isinstance(query_id, str):
            raise RunFormatError(f"query_id is {query_id!r}, expected a string", source, line)
        if "doc_ids" in row:
            _add_ranking(listings, query_id, row, source, line)
        elif "doc_id" in row:
            _add_document(listings, query_id, row, source, line)
        else:
            raise RunFormatError(
                f"expected doc_ids, or doc_id and score, beside query_id; found {sorted(row)}",
                source,
                line,
            )
    return listings


def _add_ranking(
    listings: dict[str, _Listing], query_id: str, row: Mapping[str, Any], source: str, line: int
) -> None:
    if query_id in listings:
        raise RunFormatError(f"query {query_id!r} has a second row", source, line)
    doc_ids, scores = row["doc_ids"], row.get("scores")
    if not isinstance(doc_ids, list) or not isinstance(scores, (list, type(None))):
        raise RunFormatError("doc_ids and scores must be lists", source, line)
    if scores is not None and len(scores) != len(doc_ids):
        raise RunFormatError(f"{len(doc_ids)} doc_ids and {len(scores)} scores", source, line)
    pages = row.get("pages")
    if pages is not None and (not isinstance(pages, list) or len(pages) != len(doc_ids)):
        raise RunFormatError("pages must be a list of pages for each of doc_ids", source, line)
    listing = _Listing(doc_ids, scores, pages)
    _check_listing(query_id, listing, source, line)
    _check_pages(query_id, listing, source, line)
    listings[query_id] = listing


def _add_document(
    listings: dict[str, _Listing], query_id: str, row: Mapping[str, Any], source: str, line: int
) -> None:
    score = row.get("score")
    one = _Listing([row["doc_id"]], None if score is None else [score])
    _check_listing(query_id, one, source, line)
    listing = listings.setdefault(query_id, _Listing([], None if score is None else []))
    if (listing.scores is None) != (score is None):
        raise RunFormatError(f"query {query_id!r}: only some rows have a score", source, line)
    listing.doc_ids += one.doc_ids
    if listing.scores is not None and one.scores is not None:
        listing.scores += one.scores


def _check_listing(query_id: object, listing: _Listing, source: str, line: int | None) -> None:
    if not isinstance(query_id, str):
        raise RunFormatError(f"query_id {query_id!r} is no string", source, line)
    if are_plain_ids(listing.doc_ids) and listing.scores is None:
        return
    for doc_id in listing.doc_ids:
        if not isinstance(doc_id, str):
            raise RunFormatError(
                f"query {query_id!r}: document ID {doc_id!r} is {type(doc_id).__name__}, expected "
                "a string (7 is not '007')",
                source,
                line,
            )
        if doc_id != doc_id.strip(BLANKS) or not doc_id:
            raise RunFormatError(
                f"query {query_id!r}: document ID {doc_id!r} is empty or has blanks at its ends",
                source,
                line,
            )
    for doc_id, score in zip(listing.doc_ids, listing.scores or ()):
        if isinstance(score, bool) or not isinstance(score, (int, float)) or math.isnan(score):
            raise RunFormatError(
                f"query {query_id!r}, document {doc_id!r}: score {score!r} is not a number",
                source,
                line,
            )


def _check_pages(query_id: str, listing: _Listing, source: str, line: int) -> None:
    for doc_id, pages in zip(listing.doc_ids, listing.pages or ()):
        for pair in pages if isinstance(pages, list) else [pages]:
            if not (isinstance(pair, list) and len(pair) == 2 and type(pair[0]) is int):
                raise RunFormatError(
                    f"query {query_id!r}, document {doc_id!r}: expected [page number, score] "
                    f"pairs, found {pair!r}",
                    source,
                    line,
                )


def are_plain_ids(doc_ids: list[Any]) -> bool:
    """Whether all are strings, none empty or with blanks in it."""
    try:
        text = "\0".join(doc_ids)
    except TypeError:
        return False
    return all(doc_ids) and not any(blank in text for blank in BLANKS)


def _fast_trec(data: bytes) -> dict[str, _Listing] | None:
    columns = read_columns(data)
    if columns is None:
        return None
    return _listings(columns.query_ids, columns.first, columns.doc_ids, columns.scores)


def _slow_trec(data: bytes, source: str) -> dict[str, _Listing]:
    listings: dict[str, _Listing] = {}
    ranks: dict[str, list[int]] = {}
    width = 0
    for line, fields in _lines(data, source):
        width = width or len(fields)
        if len(fields) not in (4, 5, 6) or (len(fields) == 4) != (width == 4):
            raise RunFormatError(
                "expected a TREC line (query_id Q0 doc_id rank score tag), JSON or JSONL; found "
                f"{len(fields)} columns: {' '.join(fields)[:80]!r}",
                source,
                line,
            )
        query_id, _, doc_id, rank = fields[:4]
        listing = listings.setdefault(query_id, _Listing([], [] if len(fields) > 4 else None))
        listing.doc_ids.append(doc_id)
        if listing.scores is not None:
            listing.scores.append(_number(fields[4], "score", source, line))
        else:
            ranks.setdefault(query_id, []).append(int(_number(rank, "rank", source, line)))
    for query_id, order in ranks.items():
        doc_ids = listings[query_id].doc_ids
        listings[query_id].doc_ids = [doc_ids[i] for i in np.argsort(order, kind="stable")]
    return listings


def _lines(data: bytes, source: str) -> Iterator[tuple[int, list[str]]]:
    for line, raw in enumerate(data.split(b"\n"), 1):
        fields = raw.split()  # ASCII blanks and tabs, also the CR of CRLF
        if not fields:
            continue
        try:
            yield line, [field.decode() for field in fields]
        except UnicodeDecodeError:
            raise RunFormatError("not UTF-8", source, line) from None


def _number(text: str, what: str, source: str, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise RunFormatError(f"{what} {text!r} is not a number", source, line)
    return value


def _ordered(run: Run, listings: dict[str, _Listing], source: str, repeats: str) -> Run:
    tied = dropped = 0
    for query_id, listing in listings.items():
        ranking = listing.doc_ids
        if listing.scores is not None:
            ranking, groups = _by_score(listing, run.ties)
            if groups:
                run.tied[query_id] = groups
                tied += sum(map(len, groups))
        if len(set(ranking)) < len(ranking):
            if repeats == "error":
                raise RunFormatError(repeated_document(query_id, ranking), source)
            unique = keep_first(ranking)
            dropped += len(ranking) - len(unique)
            ranking = unique
        run.rankings[query_id] = ranking
        if listing.pages is not None:
            run.pages[query_id] = {
                doc_id: [(int(page), score) for page, score in pages]
                for doc_id, pages in zip(listing.doc_ids, listing.pages)
            }
    return replace(run, n_tied=tied, n_repeats_dropped=dropped)


def _by_score(listing: _Listing, ties: str) -> tuple[list[str], list[list[str]]]:
    """The ranking, and its groups of equal scores."""
    scores = listing.scores or []
    if ties == "input" and all(a > b for a, b in pairwise(scores)):
        return listing.doc_ids, []
    order = list(range(len(scores)))
    if ties == "trec_eval":
        order.sort(key=lambda i: listing.doc_ids[i], reverse=True)
    order.sort(key=lambda i: -scores[i])
    groups = (list(equal) for _, equal in groupby(order, scores.__getitem__))
    tied = [[listing.doc_ids[i] for i in group] for group in groups if len(group) > 1]
    return [listing.doc_ids[i] for i in order], tied
