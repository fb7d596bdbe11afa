r"""Texts as sequences of words in which phrases are found in spite of typesetting and OCR.

Words are runs of letters (with their marks) or of digits, brought to one form by the rule of
`nclue_core.letters`. A phrase matches wherever its letters and digits, in order, fill whole words
of the text: line breaks, hyphens at line ends, kinds of dashes, apostrophes and words torn apart
don't matter ("climate-\nchange", "Covid19" and "COVID-19" alike), while "art" is not found in
"party". A match never runs across a full stop, comma, colon, slash, bracket, spaced dash or table
cell unless the phrase has a mark there (a comma before "and" or "or" is free).

What tells words apart besides letters and digits:

- numbers stay apart: "9/11" and "9 11" are not "911", "10²" is not "102";
- a slash, "&" or "+" beside a single letter counts: "A/B" is not "AB", "R&D" not "Rd" (between
  longer words it does not: "HIV/AIDS" is "HIV AIDS");
- "+" after letters and "#" after a single letter belong to the word: "C++" and "C#" are not "C".

The search is one pass with hash look-ups, bounded by the number of distinct phrase lengths:
linear in the text, whatever the text is.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from nclue_core.letters import APOSTROPHES, IGNORED, SOFT_BREAK, fold, in_class

MAX_PHRASE_CHARS = 120
_SIGN = r"(?:\+{1,2}(?![\w+])|(?<![^\W\d_]{2})\#(?![\w#]))?"
_ASCII_WORD = re.compile(rf"[a-zA-Z]+{_SIGN}|\d+")
_OTHER_MARKS = (  # of other scripts: commas, full stops, question marks, brackets, dots
    "\u00a1\u00b7\u00bf\u0589\u060c\u061b\u061f\u06d4\u0964\u0965\u2025"
    "\u3001\u3002\u3008-\u3011\u3014-\u301b"
)
_BARRIER = re.compile(rf"[.;:!?|/•●▪()\[\]{{}}<>\t{_OTHER_MARKS}]|\n[ \t]*\n|\s[-\u2013\u2014]+\s")
_HEAD = 4  # letters by which phrases are looked up first


class Word(NamedTuple):
    """A word of a text."""

    norm: str
    start: int  # offsets in the original text, end exclusive
    end: int
    barrier: bool  # a full stop, bracket or cell border stands before it
    joint: str = ""  # what tells it and the word before it apart from one word of both


@dataclass(frozen=True)
class Hit:
    """An occurrence of a phrase."""

    phrase: str  # its squeezed form, as given by `squeeze`
    first: int  # numbers of its first and last word
    last: int
    start: int  # offsets in the original text, end exclusive
    end: int


@functools.cache
def _word_pattern() -> re.Pattern[str]:
    letter, raised = rf"[^\W\d_{APOSTROPHES}{in_class('No')}]", f"[{in_class('No')}]+"
    inside = rf"(?:{SOFT_BREAK}(?={letter})|{letter}|[{in_class('M')}{IGNORED}])*"
    return re.compile(rf"(?:(?![{IGNORED}]){letter}){inside}{_SIGN}|\d+|{raised}")


def split_words(text: str) -> list[Word]:
    """The words of a text, in order."""
    words: list[Word] = []
    end = 0
    for match in (_ASCII_WORD if text.isascii() else _word_pattern()).finditer(text):
        norm = fold(match.group()).replace("\u2044", " ")  # a fraction is two numbers
        if words:
            gap, before = text[end : match.start()], words[-1].norm
            blocked, joint = _blocks(gap, before, norm), _joint(gap, before, norm)
            words.append(Word(norm, match.start(), match.end(), blocked, joint))
        else:
            words.append(Word(norm, match.start(), match.end(), barrier=False))
        end = match.end()
    return words


def _blocks(gap: str, before: str, after: str) -> bool:
    if gap in (" ", "-", "\n", ""):
        return False
    if not gap.isascii():
        gap = unicodedata.normalize("NFKC", gap)
    if gap.startswith(".") and len(before) == 1:  # initials: "U.S. Department"
        gap = gap[1:]
    if "," in gap and after not in ("and", "or"):
        return True
    return _BARRIER.search(gap) is not None


def _joint(gap: str, before: str, after: str) -> str:
    if before[-1].isdigit() and after[0].isdigit():
        return " "
    mark = unicodedata.normalize("NFKC", gap.strip())
    is_sign = mark in ("/", "&", "+") and 1 in (len(before), len(after))
    return mark if is_sign else ""


def squeeze(phrase: str) -> str:
    """The letters and digits of a phrase in one form; phrases with equal ones are the same."""
    return _spelled(split_words(phrase))[0]


def _spelled(words: Iterable[Word]) -> tuple[str, list[int], list[int]]:
    """The letters and digits of words, and where each word begins and ends in them."""
    pieces, starts, ends = [], [], []
    position = 0
    for word in words:
        starts.append(position + len(word.joint))
        position += len(word.joint) + len(word.norm)
        ends.append(position)
        pieces.append(word.joint + word.norm)
    return "".join(pieces), starts, ends


class PhraseIndex:
    """A set of phrases that is searched for in one pass.

    Args:
        phrases: Phrases as a person writes them.

    Raises:
        ValueError: A phrase has no letter or digit, or more than ``MAX_PHRASE_CHARS``.
    """

    def __init__(self, phrases: Iterable[str]) -> None:
        lengths: defaultdict[str, set[int]] = defaultdict(set)
        self._barriers: dict[str, frozenset[int]] = {}
        for phrase in phrases:
            words = split_words(phrase)
            key, _, ends = _spelled(words)
            if not 0 < len(key) <= MAX_PHRASE_CHARS:
                raise ValueError(f"a phrase needs 1 to {MAX_PHRASE_CHARS} letters: {phrase!r}")
            own = _marked_places(phrase, words, ends)
            self._barriers[key] = self._barriers.get(key, frozenset()) | own
            lengths[key[:_HEAD]].add(len(key))
        self._lengths = {
            head: sorted(found, reverse=True)
            for head, found in lengths.items()
            if len(head) == _HEAD
        }
        self._short = sorted({len(head) for head in lengths if len(head) < _HEAD})

    def find(self, words: list[Word]) -> Iterator[Hit]:
        """Every occurrence of every phrase, by position; overlapping ones included."""
        chars, starts, all_ends = _spelled(words)
        ends = {end: number for number, end in enumerate(all_ends)}
        barriers = [number for number, word in enumerate(words) if word.barrier]
        for number, start in enumerate(starts):
            for length in self._candidate_lengths(chars, start):
                last = ends.get(start + length)
                key = chars[start : start + length]
                if last is None or key not in self._barriers:
                    continue
                met = barriers[bisect_right(barriers, number) : bisect_right(barriers, last)]
                if all(all_ends[i - 1] - start in self._barriers[key] for i in met):
                    yield Hit(key, number, last, words[number].start, words[last].end)

    def _candidate_lengths(self, chars: str, start: int) -> Iterable[int]:
        found = self._lengths.get(chars[start : start + _HEAD], ())
        if not self._short:
            return found
        return [*found, *self._short]


def _marked_places(phrase: str, words: list[Word], ends: list[int]) -> frozenset[int]:
    """Positions in the squeezed phrase where it has anything but a blank between its words."""
    gaps = itertools.pairwise(words)
    return frozenset(
        place
        for place, (word, after) in zip(ends, gaps)
        if phrase[word.end : after.start].strip(" ")
    )
