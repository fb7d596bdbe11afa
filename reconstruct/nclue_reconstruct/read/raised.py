"""Raised digits and letters that refer to a note stay apart from the word they stand at.

"sanctions" with a raised 12 is the word "sanctions" and a mark; set solid, a search would find
neither. What is raised but belongs to its word stays with it: exponents of units (km2, m3) and
of single letters (R2), ordinals (1st, XIXe), isotopes (14C). What is lowered always stays (CO2).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

MIN_SHIFT, MAX_SHIFT = 0.15, 0.9  # of the font size: less is uneven print, more another line
_LOOK_BACK = 40  # characters; longer words are none
_DIGITS = "\u00b9\u00b2\u00b3\u2070\u2074-\u2079"  # characters that are raised by themselves
_SOLID = re.compile(rf"[{_DIGITS}]+(?:[,\u2013-][{_DIGITS}]+)*")
# CO is no unit, but its 2 is raised as often as lowered.
_UNITS = frozenset(
    ["m", "mm", "cm", "dm", "km", "hm", "nm", "µm", "μm", "ft", "yd", "mi", "inch", "Nm", "CO"]
)
_POWER = re.compile(r"[23²³](?![\d,\u2013-])")
_LAST_WORD = re.compile(r"\w+\Z")
_LAST_LETTERS = re.compile(r"[^\W\d_]+\Z")
_LETTER_MARK = re.compile(r"[a-z](?![^\W\d_])")  # "a", "a,b", but not "th"
_ROMAN = re.compile(r"[IVXLC]+")
_ELEMENT = re.compile(r"[A-Z][a-z]?\b")
_CLOSING = ".,;:!?%)]}»\"'\u2019\u201d\u2026"


def joined(spans: Sequence[dict[str, Any]], direction: tuple[float, float] = (1.0, 0.0)) -> str:
    """The text of a line from its spans (each of one size, style and baseline), marks apart.

    Args:
        spans: As in PyMuPDF's dictionaries: text, size and origin.
        direction: Of the line: (1, 0) runs from left to right.
    """
    one_size = len(spans) == 1 or all(span["size"] == spans[0]["size"] for span in spans)
    # Raised text without another size is rare: it is looked for where the baselines differ.
    if one_size and (len(spans) == 1 or len({span["origin"][1] for span in spans}) == 1):
        text = "".join(span["text"] for span in spans)
    else:
        text = _join(spans, direction)
    return text if text.isascii() else _SOLID.sub(_apart, text)


def _join(spans: Sequence[dict[str, Any]], direction: tuple[float, float]) -> str:
    text = raised = ""  # all so far, and the raised run at its end
    for span, is_raised in zip(spans, _raised(spans, direction)):
        piece = span["text"]
        if is_raised and not raised:
            apart = _is_mark_after(text[-_LOOK_BACK:], piece)
        else:
            first = len(raised) == len(text)
            apart = bool(raised) and not is_raised and _is_mark_before(raised, piece, first)
        text += f" {piece}" if apart else piece
        raised = raised + piece if is_raised else ""
    return text


def _raised(spans: Sequence[dict[str, Any]], direction: tuple[float, float]) -> Iterator[bool]:
    """Whether each span is raised against the last one that is not (the first: the next one)."""
    dx, dy = direction
    levels = [(dy * s["origin"][0] - dx * s["origin"][1], s["size"]) for s in spans]
    base = next((b for a, b in pairwise(levels) if _is_above(a, b)), levels[0])
    if not _is_above(levels[0], base):
        base = levels[0]
    for level in levels:
        is_raised = _is_above(level, base)
        if not is_raised:
            base = level
        yield is_raised


def _is_above(level: tuple[float, float], base: tuple[float, float]) -> bool:
    (height, size), (base_height, base_size) = level, base
    shift = height - base_height
    least = MIN_SHIFT if size < 0.97 * base_size else 2 * MIN_SHIFT
    return size <= 1.02 * base_size and least * base_size < shift < MAX_SHIFT * base_size


def _apart(match: re.Match[str]) -> str:
    """Raised characters (as U+00B9) with the blanks that their neighbours need."""
    raised, (start, end), line = match[0], match.span(), match.string
    before = " " if _is_mark_after(line[max(start - _LOOK_BACK, 0) : start], raised) else ""
    after = " " if _is_mark_before(raised, line[end : end + 3], start == 0) else ""
    return f"{before}{raised}{after}"


def _is_mark_after(before: str, raised: str) -> bool:
    """Whether a raised text refers to a note, and is not a part of the word before it."""
    word = _found(_LAST_WORD, before)
    if not raised[:1].isdigit():
        is_word = len(word) > 2 and word.isalpha() and not _ROMAN.fullmatch(word)
        return is_word and _LETTER_MARK.match(raised) is not None
    if not word:
        return before[-1:] != "" and before[-1] in _CLOSING
    letters = _found(_LAST_LETTERS, word)
    return not (_POWER.match(raised) and (letters in _UNITS or len(letters) == len(word) == 1))


def _found(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match[0] if match else ""


def _is_mark_before(raised: str, after: str, first: bool) -> bool:
    """Whether a raised text numbers the note or word that begins after it."""
    if not after[:1].isalnum():
        return False
    if raised[-1:].isdigit():
        return first or not _ELEMENT.match(after)
    return first and len(raised) == 1 and raised.islower() and after[0].isupper()
