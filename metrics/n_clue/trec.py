"""The usual TREC run file, read in whole-file operations.

What a run file of six columns, one blank between them, needs is found with a few passes over its
bytes: where columns begin and end, where the query changes, whether scores fall. Anything that is
not exactly so (other blanks, other columns, exponents, non-ASCII) is left to the slow reader in
``runs.py``, which also has the error messages.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Positions = NDArray[np.int64]

COLUMNS = 6
QUERY, LITERAL, DOCUMENT, SCORE = 0, 1, 2, 4
# Up to 15 digits are exact in a float, and so is 10**15: their quotient is the nearest float.
MAX_DIGITS = 15


def read_columns(data: bytes) -> tuple[dict[str, list[str]], dict[str, list[float]]] | None:
    """Documents, and scores where they do not simply fall, per query ID; None if unusual.

    Returns:
        ``{query_id: [doc_id, …]}`` in file order, and ``{query_id: [score, …]}`` for all queries,
        or an empty dict if in every query each score is below the one before.
    """
    if not data.isascii():
        return None
    text = data if data.endswith(b"\n") else data + b"\n"
    raw = np.frombuffer(text, dtype=np.uint8)
    ends = _column_ends(raw)
    if ends is None:
        return None
    starts = np.empty_like(ends)
    starts[:, 1:] = ends[:, :-1] + 1
    starts[1:, 0] = ends[:-1, -1] + 1
    starts[0, 0] = 0
    scores = _decimals(raw, starts[:, SCORE], ends[:, SCORE])
    if scores is None or not _all_equal(raw, starts[:, LITERAL], ends[:, LITERAL]):
        return None
    return _by_query(text.decode("ascii"), raw, starts, ends, scores)


def _column_ends(raw: Bytes) -> Positions | None:
    """(lines, 6) position behind each column; None unless each line has six, a blank apart."""
    # Everything up to the blank (0x20) separates or is no text at all.
    ends = np.flatnonzero(raw <= 0x20)
    if not ends.size or ends.size % COLUMNS:
        return None
    table = ends.reshape(-1, COLUMNS)
    separators = raw[table]
    blanks = separators[:, :-1]
    if not ((blanks == 0x20) | (blanks == 0x09)).all() or not (separators[:, -1] == 0x0A).all():
        return None
    if (np.diff(ends, prepend=-1) < 2).any():  # two separators in a row: an empty column
        return None
    return table


def _matrix(raw: Bytes, starts: Positions, ends: Positions) -> tuple[Bytes, Positions]:
    """(columns, lines) bytes of a column, left-aligned and padded with 0, and its lengths."""
    lengths = ends - starts
    width = int(lengths.max())
    offsets = np.arange(width)[:, None]
    matrix = raw.take(starts + offsets, mode="clip")  # behind the file's end: cut off below
    matrix[offsets >= lengths] = 0
    return matrix, lengths


def _all_equal(raw: Bytes, starts: Positions, ends: Positions) -> bool:
    if (ends - starts).max() > 8:
        return False
    matrix, _ = _matrix(raw, starts, ends)
    return bool((matrix == matrix[:, :1]).all())


def _decimals(raw: Bytes, starts: Positions, ends: Positions) -> NDArray[np.float64] | None:
    """Plain decimal numbers (``-12.5``) as floats, as float() reads them; None for others."""
    if (ends - starts).max() > MAX_DIGITS + 2:
        return None
    matrix, _ = _matrix(raw, starts, ends)
    digits = (matrix >= 0x30) & (matrix <= 0x39)
    points = matrix == 0x2E
    minus = matrix[0] == 0x2D
    known = digits.sum(axis=0) + points.sum(axis=0) + minus
    if (known != ends - starts).any() or (points.sum(axis=0) > 1).any():
        return None
    count = digits.sum(axis=0)
    if (count < 1).any() or (count > MAX_DIGITS).any():
        return None
    value = np.zeros(len(starts), dtype=np.int64)
    decimals = np.zeros(len(starts), dtype=np.int64)
    seen_point = np.zeros(len(starts), dtype=np.bool_)
    for row, is_digit, is_point in zip(matrix, digits, points):
        value = np.where(is_digit, value * 10 + (row.astype(np.int64) - 0x30), value)
        decimals += is_digit & seen_point
        seen_point |= is_point
    numbers: NDArray[np.float64] = value / 10.0**decimals
    return np.where(minus, -numbers, numbers)


def _by_query(
    text: str, raw: Bytes, starts: Positions, ends: Positions, scores: NDArray[np.float64]
) -> tuple[dict[str, list[str]], dict[str, list[float]]] | None:
    matrix, _ = _matrix(raw, starts[:, QUERY], ends[:, QUERY])
    new = (matrix[:, 1:] != matrix[:, :-1]).any(axis=0)
    first = np.concatenate([[0], np.flatnonzero(new) + 1])
    names = [
        text[start:end]
        for start, end in zip(starts[first, QUERY].tolist(), ends[first, QUERY].tolist())
    ]
    if len(set(names)) < len(names):
        return None  # a query's lines are apart: the slow way joins them
    places = zip(starts[:, DOCUMENT].tolist(), ends[:, DOCUMENT].tolist())
    doc_ids = [text[start:end] for start, end in places]
    bounds = list(pairwise([*first.tolist(), len(doc_ids)]))
    ranked = {name: doc_ids[low:high] for name, (low, high) in zip(names, bounds)}
    if ((np.diff(scores) < 0) | new).all():
        return ranked, {}
    return ranked, {name: scores[low:high].tolist() for name, (low, high) in zip(names, bounds)}
