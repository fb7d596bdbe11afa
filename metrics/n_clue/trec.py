"""The usual TREC run file, read in whole-file operations.

What a run file of six columns, one blank between them, needs is found with a few passes over its
bytes: where columns begin and end, where the query changes, whether scores fall. Anything that is
not exactly so (other blanks, other columns, non-ASCII) is left to the slow reader in ``runs.py``,
which also has the error messages.

Short texts are handled as numbers of eight bytes each (words), many lines at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Positions = NDArray[np.int64]
Words = NDArray[np.uint64]

COLUMNS = 6
QUERY, LITERAL, DOCUMENT, SCORE = 0, 1, 2, 4
MAX_WORDS = 16  # of eight bytes, in one ID
PAD = 16  # blank bytes before and behind the text, so that words may reach over its ends
# Up to 15 digits are exact in a float, and so is 10**15: their quotient is the nearest float.
MAX_DIGITS = 15
_FIRST_BYTES = np.array([2 ** (8 * n) - 1 for n in range(9)], dtype=np.uint64)


class _Text:
    """The bytes of a file, readable in words that start anywhere."""

    def __init__(self, data: bytes) -> None:
        end = b"" if data.endswith(b"\n") else b"\n"
        self.data = b"".join((bytes(PAD), data, end, bytes(8 * MAX_WORDS)))
        self.stop = PAD + len(data) + len(end)
        n_words = len(self.data) - 7
        self._words = np.ndarray((n_words,), dtype="<u8", buffer=self.data, strides=(1,))

    def words_at(self, positions: Positions) -> Words:
        """The word that begins at each position."""
        found: Words = self._words[positions]
        return found

    def words(self, starts: Positions, ends: Positions) -> Words | None:
        """(W, L) texts as in `words_of`; None if one is longer than MAX_WORDS."""
        lengths = ends - starts
        count = words_needed(int(lengths.max()))
        if count > MAX_WORDS:
            return None
        shortest = int(lengths.min())
        words = np.empty((count, len(lengths)), dtype=np.uint64)
        for index in range(count):
            words[index] = self.words_at(starts + 8 * index)
            if shortest < 8 * (index + 1):  # what follows the shorter texts is not theirs
                words[index] &= _FIRST_BYTES.take(lengths - 8 * index, mode="clip")
        return words

    def strings(self, starts: Positions, ends: Positions) -> list[str]:
        """The texts as strings."""
        text = self.data.decode("ascii")
        return [text[start:end] for start, end in zip(starts.tolist(), ends.tolist())]


@dataclass(frozen=True, eq=False)
class TrecColumns:
    """A file of L lines, of which nothing but the Q query IDs is a Python object yet."""

    query_ids: list[str]
    first: Positions  # (Q + 1,) line where each query begins, and L
    scores: NDArray[np.float64]  # (L,)
    _text: _Text
    _starts: Positions  # (L,) of the document IDs
    _ends: Positions

    @property
    def doc_ids(self) -> list[str]:
        """The L document IDs, in file order."""
        return self._text.strings(self._starts, self._ends)

    def words(self) -> Words | None:
        """(W, L) the document IDs as in `words_of`; None if one is longer than MAX_WORDS."""
        return self._text.words(self._starts, self._ends)


def read_columns(data: bytes) -> TrecColumns | None:
    """The columns of a usual run file; None if anything in it is unusual.

    Usual are lines of six columns with one blank between them, the same second column in all,
    scores that are numbers, and the lines of a query one below the other.
    """
    if not data.isascii():
        return None
    text = _Text(data)
    ends = _column_ends(text)
    if ends is None:
        return None

    def bounds(column: int) -> tuple[Positions, Positions]:
        before = ends[:, column - 1] if column else np.append(PAD - 1, ends[:-1, -1])
        return before + 1, ends[:, column]

    literals = text.words(*bounds(LITERAL))
    queries = text.words(*bounds(QUERY))
    scores = _numbers(text, *bounds(SCORE))
    if literals is None or queries is None or scores is None or _changes(literals).any():
        return None
    first = np.concatenate([[0], np.flatnonzero(_changes(queries)) + 1])
    starts, stops = bounds(QUERY)
    query_ids = [
        text.data[start:stop].decode("ascii")
        for start, stop in zip(starts[first].tolist(), stops[first].tolist())
    ]
    if len(set(query_ids)) < len(query_ids):
        return None  # a query's lines are apart: the slow way joins them
    starts, stops = bounds(DOCUMENT)
    # A copy, so that the large table of all columns can be freed.
    return TrecColumns(query_ids, np.append(first, len(ends)), scores, text, starts, stops.copy())


def words_needed(n_bytes: int) -> int:
    """How many words of eight bytes hold so many bytes (at least one)."""
    return max(1, -(-n_bytes // 8))


def words_of(texts: list[bytes], count: int) -> Words:
    """(count, len(texts)) texts as numbers of eight bytes each, padded with 0."""
    padded = b"".join(text.ljust(8 * count, b"\0") for text in texts)
    words: Words = np.frombuffer(padded, dtype="<u8").reshape(len(texts), count).T
    return words


def _column_ends(text: _Text) -> Positions | None:
    """(L, 6) position behind each column; None unless each line has six, a blank apart."""
    raw = np.frombuffer(text.data, dtype=np.uint8)
    # Everything up to the blank (0x20) separates or is no text at all.
    ends = np.flatnonzero(raw[PAD : text.stop] <= 0x20)
    ends += PAD
    if not ends.size or ends.size % COLUMNS or ends[0] == PAD:
        return None
    separators = raw[ends]
    n_lines = ends.size // COLUMNS
    n_blanks = np.count_nonzero(separators == 0x20) + np.count_nonzero(separators == 0x09)
    if n_blanks != n_lines * (COLUMNS - 1) or (separators[COLUMNS - 1 :: COLUMNS] != 0x0A).any():
        return None
    if (ends[1:] - ends[:-1] < 2).any():  # two separators in a row: an empty column
        return None
    return ends.reshape(-1, COLUMNS)


def _changes(words: Words) -> NDArray[np.bool_]:
    """(L - 1,) whether a line's text is another than that of the line before."""
    changes: NDArray[np.bool_] = words[0, 1:] != words[0, :-1]
    for row in words[1:]:
        changes |= row[1:] != row[:-1]
    return changes


def _numbers(text: _Text, starts: Positions, ends: Positions) -> NDArray[np.float64] | None:
    """Numbers as float() reads them; None if one is no number, or NaN."""
    values, done = _decimals(text, starts, ends)
    others = np.flatnonzero(~done)
    if others.size:
        try:
            values[others] = list(map(float, text.strings(starts[others], ends[others])))
        except ValueError:
            return None
    return None if np.isnan(values).any() else values


def _everywhere(byte: int) -> np.uint64:
    word: np.uint64 = np.uint64(byte * 0x0101010101010101)
    return word


_ZEROS, _POINTS, _TOP_BITS, _LOW_BITS = map(_everywhere, (0x30, 0x2E, 0x80, 0x7F))
_HIGH_HALVES, _SIX = map(_everywhere, (0xF0, 0x06))
_POINT_TO_ZERO = np.uint64(0x2E ^ 0x30)
_PLACES = np.uint64(0x0706050403020100)  # times a bit at 8 * place: 7 - place in the top byte
_TENS = 10 ** np.arange(MAX_DIGITS + 3, dtype=np.int64)


def _decimals(
    text: _Text, starts: Positions, ends: Positions
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Values of plain decimal numbers (``-12.5``) of up to 15 digits, and which texts are such.

    The last 16 characters of a number are two words. The point is first read as another digit 0
    and taken out by a division; so all lines go through the same few operations.
    """
    negative = text.words_at(starts) & np.uint64(0xFF) == np.uint64(ord("-"))
    starts = starts + negative
    lengths = ends - starts
    whole, valid, behind = _eight_digits(text.words_at(ends - 8), lengths)
    if lengths.max() > 8:
        high, high_valid, high_behind = _eight_digits(text.words_at(ends - 16), lengths - 8)
        whole += high * 10**8
        valid &= high_valid & ((behind < 0) | (high_behind < 0))
        behind = np.where(high_behind < 0, behind, high_behind + 8)
    behind = np.where(valid, behind, -1)  # of several points it would be nonsense
    has_point = behind >= 0
    decimals = np.where(has_point, behind, 0)
    if has_point.any():
        before, after = np.divmod(whole, _TENS.take(decimals + 1))
        whole = np.where(has_point, before * _TENS.take(decimals) + after, whole)
    digits = lengths - has_point
    usual = valid & (digits >= 1) & (digits <= MAX_DIGITS)
    values = whole / _TENS.take(decimals)
    return np.where(negative, -values, values), usual


def _eight_digits(
    words: Words, lengths: Positions
) -> tuple[Positions, NDArray[np.bool_], Positions]:
    """Up to eight last characters of numbers.

    Args:
        words: (L,) eight characters each; those before the number are something else.
        lengths: (L,) how many characters at the end are the number's (less than 0 is none).

    Returns:
        The digits as a number (a point as digit 0); whether there are only digits and at most one
        point; how many characters stand behind the point, -1 without one.
    """
    before = _FIRST_BYTES.take(8 - lengths, mode="clip")
    words = (words & ~before) | (_ZEROS & before)
    points = ~((words ^ _POINTS) + _LOW_BITS) & _TOP_BITS  # ASCII: no byte carries into the next
    one = points & (points - np.uint64(1)) == 0
    place = points >> np.uint64(7)
    behind = np.where(points > 0, (place * _PLACES >> np.uint64(56)).astype(np.int64), -1)
    words = words ^ (place * _POINT_TO_ZERO)
    digits = words & (words + _SIX) & _HIGH_HALVES
    valid = (digits == _ZEROS) & (words & _HIGH_HALVES == _ZEROS) & one
    # Neighbouring digits are joined: eight of one byte, four of two, two of four.
    pairs = (words - _ZEROS) * np.uint64(2561) >> np.uint64(8) & np.uint64(0x00FF00FF00FF00FF)
    fours = pairs * np.uint64(6553601) >> np.uint64(16) & np.uint64(0x0000FFFF0000FFFF)
    eights = fours * np.uint64(42949672960001) >> np.uint64(32)
    return eights.astype(np.int64), valid, behind
