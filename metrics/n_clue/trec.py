"""TREC run files: whole columns at once where a file is usual, line by line where it is not.

Layouts, told apart by the number of columns and then checked, not counted:

    6 columns   ``query_id Q0 doc_id rank score tag``
    5 columns   ``query_id Q0 doc_id rank score``
    4 columns   ``query_id Q0 doc_id rank``; here the second column is Q0 and nothing else

The second column is one word, the same in all lines (``Q0``; some tools write ``0``). Ranks are
whole numbers from 0, scores finite numbers, a tag is one word. All lines are of one layout, but
for the tag, which some may lack.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .columns import Columns, Numbers, Positions, RunFormatError, Texts

LAYOUTS = (
    "expected a TREC line (query_id Q0 doc_id rank score tag, also without the tag, or without "
    "score and tag), JSON, JSONL, Parquet, or a table with a header line that names query_id and "
    "doc_id"
)
_UNUSUAL = (b"\r", b"\x0b", b"\x0c", b"\0")  # what splits words beside the blank and the tab
_BLOCK = 1 << 30
_WHOLE = re.compile(r"[0-9]{1,18}")


def read_columns(data: bytes) -> Columns | None:
    """The columns of a usual run file; None if anything in it is unusual.

    Usual are lines of six or five columns with one blank (or one tab) between them, Q0 as the
    second, ranks from 0 and finite scores.
    """
    if any(sign in data for sign in _UNUSUAL) or _may_have_hexadecimals(data):
        return None
    head = data[: data.find(b"\n") + 1 or len(data)]
    blank = b"\t" if b"\t" in head else b" "
    n_columns = head.count(blank) + 1
    if n_columns not in (5, 6) or len(data) >= _BLOCK or data[:1] == b"\n":
        return None
    table = _read_table(data, blank.decode(), n_columns)
    if table is None:
        return None
    literal = head.split(blank, 2)[1]
    # Counted, not read as a column, which would take a fifth of the time. Ranks are no Q0.
    if literal.upper() != b"Q0" or data.count(blank + literal + blank) != len(table["rank"]):
        return None
    if literal in table["document"].dictionary.buffers()[2].to_pybytes():
        return None  # a document of that name could stand for the second column
    return _columns_of(table)


def _may_have_hexadecimals(data: bytes) -> bool:
    """Whether 0x1 may stand there, a number to pyarrow; one byte is found faster than two."""
    return (b"x" in data and b"0x" in data) or (b"X" in data and b"0X" in data)


def _read_table(data: bytes, blank: str, n_columns: int) -> dict[str, Any] | None:
    import pyarrow as pa
    from pyarrow import csv

    word = pa.dictionary(pa.int32(), pa.string())
    types = {"query": word, "document": word, "rank": pa.int64(), "score": pa.float64()}
    names = ["query", "Q0", "document", "rank", "score", "tag"][:n_columns]
    try:
        table = csv.read_csv(
            pa.BufferReader(data),
            csv.ReadOptions(use_threads=False, column_names=names, block_size=_BLOCK),
            csv.ParseOptions(delimiter=blank, quote_char=False, double_quote=False),
            csv.ConvertOptions(
                column_types=types, null_values=[], true_values=[], false_values=[],
                include_columns=list(types),
            ),
        )  # fmt: skip
    except pa.ArrowInvalid:
        return None
    if b"\t" in data if blank == " " else b" " in data:
        return None  # words that the other blank would split
    return {name: table.column(name).chunk(0) for name in types} if len(table) else None


def _columns_of(table: dict[str, Any]) -> Columns | None:
    words: dict[str, tuple[Texts, Any]] = {}
    for name in ("query", "document"):
        column = table[name]
        array = column.dictionary
        codes = np.from_dlpack(column.indices)
        words[name] = Texts(array=array), codes
        if (np.diff(_offsets(array)) == 0).any():
            return None  # two blanks in a row, or one at the end
    ranks: Positions = np.from_dlpack(table["rank"]).astype(np.int64, copy=False)
    scores: Numbers = np.from_dlpack(table["score"]).astype(np.float64, copy=False)
    if ranks.min() < 0 or not np.isfinite(scores).all():
        return None
    return Columns.of_lines(*words["query"], *words["document"], scores, ranks)


def _offsets(array: Any) -> NDArray[np.int32]:
    """(D + 1,) where each string of an Arrow array begins in its bytes."""
    start, length = array.offset, len(array)
    offsets = np.frombuffer(array.buffers()[1], dtype=np.int32)
    return offsets[start : start + length + 1]


@dataclass
class _Lines:
    """What the lines read so far hold."""

    query_ids: list[str] = field(default_factory=list)
    doc_ids: list[str] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)


def read_lines(data: bytes, source: str) -> Columns:
    """A run file, line by line: any blanks between columns, and errors that name the line.

    Raises:
        RunFormatError: A line is of none of the layouts, or of another than those before.
    """
    lines, first = _Lines(), (0, [""])
    for line, fields in split_lines(data, source):
        first = first if first[0] else (line, fields)
        _check_shape(fields, *first, source, line)
        rank = _rank(fields, source, line)
        lines.query_ids.append(fields[0])
        lines.doc_ids.append(fields[2])
        lines.ranks.append(rank)
        if len(fields) > 4:
            lines.scores.append(number(fields[4], "score", source, line))
    columns = columns_of_lists(lines.query_ids, lines.doc_ids, lines.scores or None, lines.ranks)
    if columns.scores is None:
        _check_first_ranks(columns, source)
    return columns


def columns_of_lists(
    query_ids: list[str], doc_ids: list[str], scores: list[float] | None, ranks: list[int] | None
) -> Columns:
    """Columns from Python lists with an entry for each line."""
    queries, documents = dict.fromkeys(query_ids), dict.fromkeys(doc_ids)
    place_of = {query_id: place for place, query_id in enumerate(queries)}
    code_of = {doc_id: code for code, doc_id in enumerate(documents)}
    return Columns.of_lines(
        Texts(list(queries)),
        np.array([place_of[query_id] for query_id in query_ids], dtype=np.int64),
        Texts(list(documents)),
        np.array([code_of[doc_id] for doc_id in doc_ids], dtype=np.int64),
        None if scores is None else np.array(scores, dtype=np.float64),
        None if ranks is None else np.array(ranks, dtype=np.int64),
    )


def split_lines(data: bytes, source: str) -> Iterator[tuple[int, list[str]]]:
    """The words of each line that has any, with its number."""
    for line, raw in enumerate(data.split(b"\n"), 1):
        words = raw.split()  # ASCII blanks and tabs, also the CR of CRLF
        if not words:
            continue
        try:
            yield (
                line,
                [word.decode() for word in words[:5]]
                + [
                    word.decode(errors="replace")
                    for word in words[5:]  # the tag is not read
                ],
            )
        except UnicodeDecodeError:
            raise RunFormatError("not UTF-8", source, line) from None


def _check_shape(
    fields: list[str], first_line: int, first: list[str], source: str, line: int
) -> None:
    seen = f"found {len(fields)} columns: {' '.join(fields)[:80]!r}"
    if fields[0].startswith("#") and len(fields) != 6:
        raise RunFormatError(f"{LAYOUTS}; comments are no part of it; {seen}", source, line)
    if len(fields) not in (4, 5, 6):
        hint = "a tag is one word; " if len(fields) > 6 else ""
        raise RunFormatError(f"{LAYOUTS}; {hint}{seen}", source, line)
    if (len(fields) == 4) != (len(first) == 4):
        raise RunFormatError(
            f"{LAYOUTS}, the same in all lines; line {first_line} has {len(first)}; {seen}",
            source,
            line,
        )
    if fields[1] != first[1]:
        raise RunFormatError(
            f"{LAYOUTS}; the second column is one word (Q0) in all lines, found {fields[1]!r} and "
            f"in line {first_line} {first[1]!r}; {seen}",
            source,
            line,
        )
    if len(fields) == 4 and fields[1].upper() != "Q0":
        known = "query_id 0 doc_id grade are judgments (qrels), not a run; "
        raise RunFormatError(
            f"{LAYOUTS}; in lines of four columns the second is Q0, found {fields[1]!r}; "
            f"{known if fields[1] == '0' else ''}{seen}",
            source,
            line,
        )


def _rank(fields: list[str], source: str, line: int) -> int:
    text = fields[3]
    if _WHOLE.fullmatch(text):
        return int(text)
    is_score = len(fields) == 4 and is_number(text)
    hint = "; is it a score? Write query_id Q0 doc_id rank score" if is_score else ""
    raise RunFormatError(
        f"{LAYOUTS}; the fourth column is the rank, a whole number from 0, found {text!r}{hint} "
        f"(line: {' '.join(fields)[:80]!r})",
        source,
        line,
    )


def _check_first_ranks(columns: Columns, source: str) -> None:
    """Without scores, what stands as ranks must be ranks: each list begins with 0 or 1."""
    ranks = columns.ranks
    if ranks is None or not len(ranks):
        return
    lowest = np.minimum.reduceat(ranks, columns.first[:-1])
    if (lowest > 1).any():
        row = int(np.argmax(lowest > 1))
        raise RunFormatError(
            f"query {columns.query_ids[row]!r}: its ranks begin with {lowest[row]}, expected 0 or "
            "1; if the fourth column is a score, write query_id Q0 doc_id rank score",
            source,
        )


def is_number(text: str) -> bool:
    """Whether a text is a finite number, written in ASCII and without underscores."""
    try:
        return text.isascii() and "_" not in text and math.isfinite(float(text))
    except ValueError:
        return False


def number(text: str, what: str, source: str, line: int) -> float:
    """The number that a text is.

    Raises:
        RunFormatError: It is none, or not finite.
    """
    if is_number(text):
        return float(text)
    shown = text if len(text) <= 40 else f"{text[:37]}..."
    raise RunFormatError(f"{what} {shown!r} is not a number (a finite one)", source, line)
