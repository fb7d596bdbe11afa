r"""Texts as sequences of words in which phrases are found in spite of typesetting and OCR.

Words are runs of letters or of digits, brought to one form: compatibility characters resolved
(ligatures, full-width letters), accents removed, case folded. A phrase matches wherever its
letters and digits, in order, fill whole words of the text: line breaks, hyphens at line ends,
kinds of dashes, apostrophes and words torn apart don't matter ("climate-\nchange", "Covid19" and
"COVID-19" alike), while "art" is not found in "party". A match never runs across a full stop,
comma, colon, slash, bracket, spaced dash or table cell unless the phrase has a mark there (a
comma before "and" or "or" is free).

The search is one pass with hash look-ups, bounded by the number of distinct phrase lengths:
linear in the text, whatever the text is.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

MAX_PHRASE_CHARS = 120
_WORD = re.compile(r"[^\W\d_]+|\d+")
_BARRIER = re.compile(r"[.;:!?|/•●▪()\[\]{}<>\t]|\n[ \t]*\n|\s[-\u2013\u2014]+\s")
_HEAD = 4  # letters by which phrases are looked up first


class Word(NamedTuple):
    """A word of a text."""

    norm: str
    start: int  # offsets in the original text, end exclusive
    end: int
    barrier: bool  # a full stop, bracket or cell border stands before it


@dataclass(frozen=True)
class Hit:
    """An occurrence of a phrase."""

    phrase: str  # its squeezed form, as given by `squeeze`
    first: int  # numbers of its first and last word
    last: int
    start: int  # offsets in the original text, end exclusive
    end: int


def fold(text: str) -> str:
    """One form for all typographic variants of a word."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text)
    return "".join(c for c in plain if not unicodedata.combining(c)).casefold()


def split_words(text: str) -> list[Word]:
    """The words of a text, in order."""
    words: list[Word] = []
    end = 0
    for match in _WORD.finditer(text):
        norm = fold(match.group())
        blocked = bool(words) and _blocks(text[end : match.start()], words[-1].norm, norm)
        words.append(Word(norm, match.start(), match.end(), blocked))
        end = match.end()
    return words


def _blocks(gap: str, before: str, after: str) -> bool:
    if gap in (" ", "-", "\n", ""):
        return False
    if gap.startswith(".") and len(before) == 1:  # initials: "U.S. Department"
        gap = gap[1:]
    if "," in gap and after not in ("and", "or"):
        return True
    return _BARRIER.search(gap) is not None


def squeeze(phrase: str) -> str:
    """The letters and digits of a phrase in one form; phrases with equal ones are the same."""
    return "".join(word.norm for word in split_words(phrase))


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
            key = "".join(word.norm for word in words)
            if not 0 < len(key) <= MAX_PHRASE_CHARS:
                raise ValueError(f"a phrase needs 1 to {MAX_PHRASE_CHARS} letters: {phrase!r}")
            own = _marked_places(phrase, words)
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
        chars = "".join(word.norm for word in words)
        ends: dict[int, int] = {}
        starts = []
        position = 0
        for number, word in enumerate(words):
            starts.append(position)
            position += len(word.norm)
            ends[position] = number
        for number, start in enumerate(starts):
            for length in self._candidate_lengths(chars, start):
                last = ends.get(start + length)
                key = chars[start : start + length]
                if last is None or key not in self._barriers:
                    continue
                if self._runs_through(key, words, number, last):
                    yield Hit(key, number, last, words[number].start, words[last].end)

    def _candidate_lengths(self, chars: str, start: int) -> Iterable[int]:
        found = self._lengths.get(chars[start : start + _HEAD], ())
        if not self._short:
            return found
        return [*found, *self._short]

    def _runs_through(self, key: str, words: list[Word], first: int, last: int) -> bool:
        allowed = self._barriers[key]
        position = len(words[first].norm)
        for word in words[first + 1 : last + 1]:
            if word.barrier and position not in allowed:
                return False
            position += len(word.norm)
        return True


def _marked_places(phrase: str, words: list[Word]) -> frozenset[int]:
    """Positions in the squeezed phrase where it has anything but a blank between its words."""
    places = set()
    position = end = 0
    for word in words:
        if phrase[end : word.start].strip(" "):
            places.add(position)
        position += len(word.norm)
        end = word.end
    return frozenset(places)
