"""Runs that are Python values, or become such: JSON, JSONL, tables with a header line, rows."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .columns import Columns, RunFormatError, Texts
from .fields import NAMES, NESTED_DOC_NAMES, Fields
from .scoring import ScoringError
from .trec import number

BLANKS = " \t\n\r"
Pages = dict[str, dict[str, list[tuple[int, float]]]]


@dataclass
class _List:
    """What one query has, in the order in which it stands."""

    whole: bool  # given at once, not document by document
    doc_ids: list[str] = field(default_factory=list)
    scores: list[float] | None = None
    ranks: list[int] | None = None


class Lists:
    """Collects what queries have, checked; `columns` at the end."""

    def __init__(self) -> None:
        self._lists: dict[str, _List] = {}
        self.pages: Pages = {}

    def add(self, query_id: object, value: Any) -> None:
        """All that a query has: a list, ``{doc_id: score}`` or a list of objects."""
        query_id = _query_id(query_id)
        self._add_whole(query_id, _split(query_id, value), None, None)

    def add_row(self, row: Any, fields: Fields) -> None:
        """A row with a list of documents, or with one."""
        values = _values_of(row, fields)
        query_id = _query_id(_named_query(values["query_id"]))
        if "doc_ids" not in values:
            self._add_one(query_id, values)
            return
        listed = _split(query_id, values["doc_ids"])
        self._add_whole(query_id, listed, values.get("scores"), values.get("pages"))

    def _add_whole(self, query_id: str, listed: _Listed, scores: Any, pages: Any) -> None:
        if query_id in self._lists:
            raise ScoringError(f"query {query_id!r} has a second row")
        doc_ids, ranks = listed.doc_ids, listed.ranks
        scores = listed.scores if scores is None else scores
        if scores is not None:
            _check_lengths(doc_ids, scores)
        check_ids(query_id, doc_ids)
        one = _List(True, doc_ids)
        if scores is not None:
            one.scores = _scores(query_id, doc_ids, scores)
        if ranks is not None:
            one.ranks = [_rank(query_id, doc_id, rank) for doc_id, rank in zip(doc_ids, ranks)]
        if pages is not None:
            self.pages[query_id] = _pages(query_id, doc_ids, pages)
        self._lists[query_id] = one

    def _add_one(self, query_id: str, row: Mapping[str, Any]) -> None:
        doc_id, score, rank = row["doc_id"], row.get("score"), row.get("rank")
        check_ids(query_id, [doc_id])
        scores = None if score is None else _scores(query_id, [doc_id], [score])
        ranks = None if rank is None else [_rank(query_id, doc_id, rank)]
        known = self._lists.get(query_id)
        if known is None:
            self._lists[query_id] = _List(False, [doc_id], scores, ranks)
            return
        if known.whole:
            raise ScoringError(f"query {query_id!r} has a second row")
        for name, mine, theirs in (("score", scores, known.scores), ("rank", ranks, known.ranks)):
            if (mine is None) != (theirs is None):
                raise ScoringError(f"query {query_id!r}: only some rows have a {name}")
        known.doc_ids.append(doc_id)
        if known.scores is not None and scores is not None:
            known.scores += scores
        if known.ranks is not None and ranks is not None:
            known.ranks += ranks

    def columns(self) -> Columns:
        """What was collected; empty lists are kept."""
        lists = list(self._lists.values())
        codes: dict[str, int] = {}
        flat = [codes.setdefault(doc_id, len(codes)) for one in lists for doc_id in one.doc_ids]
        sizes = [0, *(len(one.doc_ids) for one in lists)]
        scores = ranks = None
        if any(one.scores is not None for one in lists):
            scores = np.array([s for one in lists for s in _as_scores(one)], dtype=np.float64)
        if any(one.ranks is not None for one in lists):
            ranks = np.array([r for one in lists for r in _as_ranks(one)], dtype=np.int64)
        return Columns(
            Texts(list(self._lists)),
            np.cumsum(sizes, dtype=np.int64),
            Texts(list(codes)),
            np.array(flat, dtype=np.int64),
            scores,
            ranks,
        )


def _as_scores(one: _List) -> Iterable[float]:
    """The scores of a list; of one without, among others with, numbers that say its order."""
    if one.scores is not None:
        return one.scores
    return [-float(rank) for rank in _as_ranks(one)]


def _as_ranks(one: _List) -> Iterable[int]:
    return range(1, len(one.doc_ids) + 1) if one.ranks is None else one.ranks


def lists_of_mapping(value: Mapping[Any, Any], source: str) -> Lists:
    """``{query_id: [doc_id, …]}`` or ``{query_id: {doc_id: score}}``."""
    lists = Lists()
    try:
        for query_id, ranked in value.items():
            lists.add(query_id, ranked)
    except ScoringError as err:
        raise RunFormatError(str(err), source) from None
    return lists


def lists_of_rows(rows: Iterable[tuple[int, Any]], fields: Fields, source: str) -> Lists:
    """Rows with a list of documents each, or with one document each."""
    lists = Lists()
    line = 0
    try:
        for line, row in rows:  # noqa: B007 - for the error
            lists.add_row(row, fields)
    except RunFormatError:  # of the rows themselves, with its line
        raise
    except ScoringError as err:
        raise RunFormatError(str(err), source, line) from None
    return lists


def _values_of(row: Any, fields: Fields) -> dict[str, Any]:
    """The values of a row by the names of their fields."""
    if not isinstance(row, Mapping):
        raise ScoringError(
            f"expected an object with query_id and doc_ids, found {type(row).__name__} {shown(row)}"
        )
    found = fields.find(key for key in row if isinstance(key, str))
    values = {name: row[key] for name, key in found.items()}
    if values.get("doc_ids") is None and values.get("doc_id") is not None:
        values.pop("doc_ids", None)
    if "query_id" not in values:
        raise ScoringError(missing_text("query_id", fields, row))
    if "doc_ids" not in values and "doc_id" not in values:
        raise ScoringError(
            "expected doc_ids, or doc_id and score, beside query_id; "
            + missing_text("doc_id", fields, row)
        )
    return values


def missing_text(field: str, fields: Fields, row: Iterable[Any]) -> str:
    """What to tell about a row that lacks a field: what it has, and how to say which it is."""
    names = ", ".join(f"{key!r:.40}" for key in list(row)[:20]) or "no fields"
    return (
        f"there is no {field} (accepted names: {fields.accepted(field)}); the row has {names}. "
        f"If one of them is it, say so: --map {field}=NAME"
    )


def _named_query(value: Any) -> Any:
    """The ID of a query that is an object, ``{"qid": …, "text": …}``."""
    if isinstance(value, Mapping):
        return next((value[name] for name in NAMES["query_id"] if name in value), value)
    return value


def _query_id(value: Any) -> str:
    if not isinstance(value, str):
        raise ScoringError(f"query_id is {shown(value)}, expected a string")
    if not value or value != value.strip(BLANKS):
        raise ScoringError(f"query_id {value!r} is empty or has blanks at its ends")
    return value


def shown(value: object) -> str:
    """A value for messages, cut where it is long."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested deeply, or a number of very many digits
        return "something very long"
    return text if len(text) <= 60 else f"{text[:57]}..."


class _Listed(NamedTuple):
    """What stands for a query, in new lists, not those of the caller; nothing is checked yet."""

    doc_ids: list[Any]
    scores: Any = None
    ranks: list[Any] | None = None


def _split(query_id: str, value: Any) -> _Listed:
    if isinstance(value, Mapping):
        return _Listed(list(value), list(value.values()))
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise ScoringError(
            f"query {query_id!r}: expected a list of document IDs or {{doc_id: score}}, found "
            f"{type(value).__name__} (doc_ids must be lists)"
        )
    if value and all(isinstance(item, Mapping) for item in value):
        return _split_objects(query_id, value)
    if value and all(_is_pair(item) for item in value):
        return _Listed([doc_id for doc_id, _ in value], [score for _, score in value])
    return _Listed(list(value))


def _is_pair(item: object) -> bool:
    return (
        isinstance(item, (list, tuple))
        and len(item) == 2
        and isinstance(item[0], str)
        and isinstance(item[1], (int, float))
    )


def _split_objects(query_id: str, items: Sequence[Any]) -> _Listed:
    """``[{"doc_id": …, "score": …, "rank": …}, …]``, score and rank each in all or in none."""
    doc_ids = []
    for item in items:
        names = [name for name in NESTED_DOC_NAMES if name in item]
        if not names:
            raise ScoringError(
                f"query {query_id!r}: expected objects with doc_id and score, found one with "
                f"{', '.join(map(shown, list(item)[:20])) or 'no fields'}"
            )
        doc_ids.append(item[names[0]])
    return _Listed(doc_ids, *(_of_all(query_id, items, name) for name in ("score", "rank")))


def _of_all(query_id: str, items: Sequence[Any], name: str) -> list[Any] | None:
    values = [item.get(name) for item in items]
    n_given = sum(value is not None for value in values)
    if 0 < n_given < len(values):
        raise ScoringError(f"query {query_id!r}: only some documents have a {name}")
    return values if n_given else None


def _check_lengths(doc_ids: list[Any], scores: Any) -> None:
    is_list = isinstance(scores, (Sequence, np.ndarray)) and not isinstance(scores, (str, bytes))
    if not is_list:
        raise ScoringError("doc_ids and scores must be lists")
    if len(scores) != len(doc_ids):
        raise ScoringError(f"{len(doc_ids)} doc_ids and {len(scores)} scores")


def check_ids(query_id: str, doc_ids: list[Any]) -> None:
    """Raise an error for document IDs that are no strings, empty, or have blanks at their ends."""
    if are_plain_ids(doc_ids):
        return
    for doc_id in doc_ids:
        if not isinstance(doc_id, str):
            raise ScoringError(
                f"query {query_id!r}: document ID {shown(doc_id)} is {type(doc_id).__name__}, "
                "expected a string (7 is not '007')"
            )
        if doc_id != doc_id.strip(BLANKS) or not doc_id:
            raise ScoringError(
                f"query {query_id!r}: document ID {doc_id!r} is empty or has blanks at its ends"
            )


def are_plain_ids(doc_ids: list[Any]) -> bool:
    """Whether all are strings, none empty or with blanks in it."""
    try:
        text = "\0".join(doc_ids)
    except TypeError:
        return False
    return all(doc_ids) and not any(blank in text for blank in BLANKS)


def _scores(query_id: str, doc_ids: list[Any], scores: Any) -> list[float]:
    found = []
    for doc_id, score in zip(doc_ids, scores):
        found.append(_finite(score))
        if math.isnan(found[-1]):
            raise ScoringError(
                f"query {query_id!r}, document {doc_id!r}: score {shown(score)} is not a number "
                "(a finite one)"
            )
    return found


def _finite(value: Any) -> float:
    """A number, or NaN for anything else."""
    if isinstance(value, (bool, np.bool_)):
        return math.nan
    if not isinstance(value, (int, float, np.integer, np.floating)):
        return math.nan
    try:
        number = float(value)
    except OverflowError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def _rank(query_id: str, doc_id: object, value: Any) -> int:
    number = _finite(value)
    if not 0 <= number < 2**53 or not number.is_integer():
        raise ScoringError(
            f"query {query_id!r}, document {doc_id!r}: rank {shown(value)} is not a whole number "
            "from 0"
        )
    return int(number)


def _pages(query_id: str, doc_ids: list[str], pages: Any) -> dict[str, list[tuple[int, float]]]:
    if not isinstance(pages, list) or len(pages) != len(doc_ids):
        raise ScoringError("pages must be a list of pages for each of doc_ids")
    for doc_id, listed in zip(doc_ids, pages):
        for pair in listed if isinstance(listed, list) else [listed]:
            if not (
                isinstance(pair, list)
                and len(pair) == 2
                and _finite(pair[0]).is_integer()
                and not math.isnan(_finite(pair[1]))
            ):
                raise ScoringError(
                    f"query {query_id!r}, document {doc_id!r}: expected [page number, score] "
                    f"pairs, found {shown(pair)}"
                )
    return {
        doc_id: [(int(page), float(score)) for page, score in listed]
        for doc_id, listed in zip(doc_ids, pages)
    }


def json_rows(data: bytes, source: str) -> Iterator[tuple[int, Any]]:
    """The values of the lines that are not blank.

    Raises:
        RunFormatError: A line is no JSON value, or no object.
    """
    for line, raw in enumerate(data.split(b"\n"), 1):
        if not raw.strip():
            continue
        row = load_json(raw, source, line)
        if not isinstance(row, dict):
            raise RunFormatError(
                f"expected a JSON object, found {type(row).__name__}", source, line
            )
        yield line, row


def load_json(data: bytes, source: str, line: int | None = None) -> Any:
    """A JSON value, no key twice in an object.

    Raises:
        RunFormatError: It is none.
    """
    try:
        return _DECODER.decode(data.decode("utf-8"))
    except RecursionError:
        raise RunFormatError("not a JSON value that can be read: nested too deeply", source,
                             line) from None  # fmt: skip
    except ValueError as err:
        raise RunFormatError(f"not a JSON value: {err}", source, line) from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"{next(k for k in keys if keys.count(k) > 1)!r} stands twice")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys)


def is_jsonl(data: bytes, fields: Fields) -> bool:
    """Whether a file that begins with an object has one on each line, not one in all."""
    first, _, rest = data.lstrip().partition(b"\n")
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return False
    if rest.strip() or not isinstance(row, dict):
        return True
    try:
        found = fields.find(row)
    except ScoringError:  # a field under two names: told where the rows are read
        return True
    if "query_id" not in found:
        return False
    return isinstance(row[found["query_id"]], str) or "doc_ids" in found or "doc_id" in found


def table_rows(data: bytes, source: str, fields: Fields) -> Iterator[tuple[int, Any]] | None:
    """The rows of a table whose header line names query and document; None for anything else."""
    head = data.lstrip().split(b"\n", 1)[0].strip().decode("utf-8", "replace")
    for delimiter in ("\t", ",", ";", " "):
        names = [name.strip(" \"'") for name in head.split(delimiter)]
        names = names if fields.mapping else [name.lower() for name in names]
        if delimiter == " ":
            names = head.lower().split()
        try:
            found = fields.find(names)
        except ScoringError as err:
            raise RunFormatError(str(err), source, 1) from None
        if "query_id" in found and len(found) > 1 and ("doc_id" in found or delimiter in ",;"):
            return _delimited(data, source, delimiter, names, fields)
    return None


def _delimited(
    data: bytes, source: str, delimiter: str, names: list[str], fields: Fields
) -> Iterator[tuple[int, Any]]:
    numbers = {key: name for name, key in fields.find(names).items()
               if name in ("score", "rank", "grade")}  # fmt: skip
    reader = csv.reader(io.StringIO(_text(data, source), newline=""), delimiter=delimiter,
                        skipinitialspace=delimiter == " ", strict=True)  # fmt: skip
    try:
        header = next(row for row in reader if any(row))
        if len(set(names)) < len(names):
            raise RunFormatError(f"a column stands twice: {', '.join(names)}", source, 1)
        for row in reader:
            row = [value for value in row if value] if delimiter == " " else row
            if not any(row):
                continue
            if len(row) != len(names):
                raise RunFormatError(
                    f"expected {len(names)} columns ({delimiter.join(header)[:80]}), found "
                    f"{len(row)}: {delimiter.join(row)[:80]!r}", source, reader.line_num,
                )  # fmt: skip
            values: dict[str, Any] = dict(zip(names, row))
            for key, name in numbers.items():
                text = values[key].strip()
                values[key] = _cell(text, name, source, reader.line_num)
            yield reader.line_num, values
    except csv.Error as err:
        raise RunFormatError(f"not a table: {err}", source, reader.line_num) from None


def _cell(text: str, name: str, source: str, line: int) -> Any:
    """The number in a cell; None for an empty one."""
    if not text:
        return None
    if name == "grade":
        return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else text
    return number(text, name, source, line)


def _text(data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as err:
        line = data[: err.start].count(b"\n") + 1
        raise RunFormatError("not UTF-8", source, line) from None
