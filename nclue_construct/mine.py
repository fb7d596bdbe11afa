"""Find phrases that could be conditions: section headings, named entities, acronyms."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from nclue_construct.surface import squeeze
from nclue_construct.vocabulary import (
    CONNECTORS,
    ENTITY_TYPES,
    FUNCTION_WORDS,
    GAZETTEER,
)
from nclue_construct.zones import ZonedPage
from nclue_core.letters import APOSTROPHES, HYPHENS, IGNORED, SOFT_BREAK

MAX_WORDS = 8
_NUMBERING = re.compile(
    r"^\W*(?:(?:section|part|chapter|annex|appendix|item|module|step)\s+[\divxlc]{1,4}[a-z]?"
    r"|\(?(?:\d{1,3}|[ivxlc]{1,5}|[a-z])(?:[.)]+|(?:\.\d{1,3})+\.?)"
    r"|[A-Z](?:\.\d+)*(?=\s+[A-Z])|\d{1,2}(?=\s))[\s.:\u2013\u2014-]+",
    re.IGNORECASE,
)
_LEADING_CAPTION = re.compile(r"^\W*(?:table|figure|fig|box|chart|map|exhibit)\b", re.IGNORECASE)
_ACRONYM = re.compile(r"\(\s?[“\"]?([A-Z][A-Za-z&-]{1,9}[A-Z])[”\"]?\s?\)")
_TOKEN_CHARS = rf"\w&{HYPHENS}{APOSTROPHES}{IGNORED}\u0300-\u036f"
_WITHIN = re.compile(rf"[{_TOKEN_CHARS}]+")
# A line that breaks in a word does not end it.
_LINE_BREAK = rf"(?<=[^\W\d_])(?:{SOFT_BREAK}|[{HYPHENS}][ \t]*\r?\n[ \t]*)(?=[^\W\d_])"
_TOKEN = re.compile(rf"(?:{_LINE_BREAK}|[{_TOKEN_CHARS}])+|[^\w\s]|\n\s*\n")
_BROKEN = re.compile(rf"[{HYPHENS}\u00ad][ \t]*\r?\n[ \t]*(?=(.))")
_IGNORED = re.compile(f"[{IGNORED}]")
_OWNER = re.compile(rf"(?:[{APOSTROPHES}]s?)+$")
_US = re.compile(r"(?:\bU\.\s?S\.|\bUnited States)\s+$")


class Fact(NamedTuple):
    """A phrase seen on a page."""

    route: str  # heading, entity, acronym or gazetteer
    surface: str  # as it stands there, blanks normalised
    doc_id: str
    page: int
    start: int  # character span in the page's body, end exclusive
    end: int
    expands: str | None = None  # for an acronym: its long form


@dataclass(frozen=True)
class _Token:
    text: str  # as a person writes it: see `plain`
    start: int
    end: int


def plain(text: str) -> str:
    """A wording without what typesetting put into it: soft hyphens, joiners, line-end hyphens.

    A hyphen at a line end stays before a capital ("Non-" + "Proliferation"). Accents are
    composed; hyphens and apostrophes are those of a keyboard. The curly apostrophe stays.
    """
    if text.isascii() and "\n" not in text:
        return text
    joined = _BROKEN.sub(lambda found: "-" if found[1].isupper() else "", text)
    composed = unicodedata.normalize("NFC", _IGNORED.sub("", joined))
    return re.sub(rf"[{HYPHENS}]", "-", composed)


def mine_page(page: ZonedPage) -> Iterator[Fact]:
    """All phrases of one page."""
    yield from _headings(page)
    tokens = [_Token(plain(m.group()), m.start(), m.end()) for m in _TOKEN.finditer(page.body)]
    yield from _entities(page, tokens, {segment.start for segment in page.segments})
    yield from _acronyms(page, tokens)


def clean_heading(text: str) -> str | None:
    """The phrase of a heading without its number, or None for captions and empty ones."""
    line = " ".join(plain(text).split())
    if _LEADING_CAPTION.match(line):
        return None
    for _ in range(2):  # "Chapter III  2. Scope"
        line = _NUMBERING.sub("", line)
    line = line.strip(" .:;,\u2013\u2014-*•●▪▶»")
    return line or None


def _headings(page: ZonedPage) -> Iterator[Fact]:
    place = 0
    for heading in page.headings:
        start = page.body.find(heading.text, place)
        place = start + 1
        phrase = clean_heading(heading.text)
        if phrase is None or not 2 <= len(phrase.split()) <= MAX_WORDS:
            continue
        yield Fact(
            "heading", phrase, page.doc_id, page.page, start, start + len(heading.text)
        )  # fmt: skip


def _entities(page: ZonedPage, tokens: list[_Token], breaks: set[int]) -> Iterator[Fact]:
    number = 0
    while number < len(tokens):
        run = _capitalised_run(tokens, number, breaks)
        yield from _entity_of(page, run)
        number += max(1, len(run))


def _capitalised_run(tokens: list[_Token], first: int, breaks: set[int]) -> list[_Token]:
    """Capitalised words joined by connectors ("Food and Agriculture Organization of the …").

    A name doesn't run from one block into the next, nor over "We", "This", "For".
    """
    run: list[_Token] = []
    pending: list[_Token] = []
    for token in tokens[first : first + 2 * MAX_WORDS]:
        if run and (token.start in breaks or _OWNER.search(run[-1].text)):
            break
        if token.text[0].isupper() and _WITHIN.fullmatch(token.text):
            if run and token.text.lower() in FUNCTION_WORDS and not token.text.isupper():
                break
            run += [*pending, token]
            pending = []
        elif run and _connects(token, pending):
            pending.append(token)
        else:
            break
    return run


def _connects(token: _Token, pending: list[_Token]) -> bool:
    """Whether a small word can stand within a name; "the" only after another ("of the")."""
    if token.text == "the":
        return len(pending) == 1
    return token.text in CONNECTORS and not pending


def _entity_of(page: ZonedPage, run: list[_Token]) -> Iterator[Fact]:
    while run and run[0].text.lower() in FUNCTION_WORDS:
        run = run[1:]
    if not run:
        return
    surface = _without_possessive(" ".join(token.text for token in run))
    span = (run[0].start, run[-1].end)
    if squeeze(surface) in GAZETTEER:
        yield Fact("gazetteer", surface, page.doc_id, page.page, *span)
    elif 2 <= len(run) <= MAX_WORDS and _has_type(run):
        yield Fact("entity", surface, page.doc_id, page.page, *span)


def _without_possessive(surface: str) -> str:
    return _OWNER.sub("", surface)


def _has_type(run: list[_Token]) -> bool:
    return any(_without_possessive(token.text.lower()) in ENTITY_TYPES for token in run)


def _acronyms(page: ZonedPage, tokens: list[_Token]) -> Iterator[Fact]:
    """``Long Form (LF)``: the initials of the words before the bracket spell the acronym."""
    ends = {token.end: number for number, token in enumerate(tokens)}
    for match in _ACRONYM.finditer(page.body):
        before = page.body[: match.start()].rstrip()
        number = ends.get(len(before))
        if number is None:
            continue
        long_form = _long_form(
            tokens[max(0, number - MAX_WORDS) : number + 1], match.group(1), page.body
        )
        if long_form:
            surface = _without_possessive(" ".join(token.text for token in long_form))
            yield Fact(
                "acronym", match.group(1), page.doc_id, page.page, match.start(1), match.end(1),
                surface,
            )  # fmt: skip


def _long_form(tokens: list[_Token], acronym: str, text: str) -> list[_Token] | None:
    letters = [letter.lower() for letter in acronym if letter.isalpha()]
    for first in range(len(tokens) - 2, -1, -1):
        words = tokens[first:]
        if not all(_WITHIN.fullmatch(word.text) for word in words):
            return None
        spelled = (_initials(words), _initials(words, skip=True))
        if letters in spelled:
            return words
        if letters[:2] == ["u", "s"] and letters[2:] in spelled:  # "U.S. Fish and … (USFWS)"
            return words if _US.search(text[: words[0].start][-20:]) else None
    return None


def _initials(words: Iterable[_Token], skip: bool = False) -> list[str]:
    found = []
    for word in words:
        if skip and word.text.lower() in CONNECTORS:
            continue
        found += [part[0].lower() for part in word.text.split("-") if part]
    return found
