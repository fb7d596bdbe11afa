"""Running headers, running footers and page numbers, recognised by what repeats over pages.

A line near an edge runs if the same text stands there on several nearby pages, or if it differs
only in a number that grows with the page ("12 | Annual Report"). Titles of slides and headings
of tables differ from that: their numbers don't keep step, they are large, or they stand where
other pages have their text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nclue_reconstruct.read.running_checks import Steadiness, body_lines, counts_pages
from nclue_reconstruct.read.textlines import Line, PageLines

EDGE = 0.12  # of the page height, at the top and at the bottom
SIDE = 0.10  # of the page width, for text that runs up or down the margin
EDGE_LINES = 20  # outermost lines looked at in each zone
NEARBY_PAGES = 8
LARGE = 1.25  # times the body size: such a line is a title unless most pages have it
MAX_RUNNING_CHARS = 250

HEADER, FOOTER, PAGE_NUMBER = "header", "footer", "page_number"
_TOP, _BOTTOM, _MARGIN = "top", "bottom", "margin"

_NUMBER = re.compile(r"\d{1,6}")
_DECIMALS = re.compile(r"\.\d")  # behind a number that counts no pages
_ROMAN = re.compile(r"(?=[ivxl])x{0,3}(?:l?x{0,3})(?:ix|iv|v?i{0,3})", re.IGNORECASE)
_ONLY_NUMBER = re.compile(
    r"(?:page|p\.|pg\.?|seite|página|pagina)?\s*[-\u2013\u2014|\[(]*\s*"
    r"(?:\d{1,5}|[A-Z]{1,3}[-\u2013.]\d{1,4}|\d{1,3}[-\u2013.]\d{1,4}|[ivxl]{1,7})"
    r"\s*[-\u2013\u2014|\])]*(?:\s*(?:of|/|von|de|sur)\s*\d{1,5})?(?:\s*\|?\s*p\s*a\s*g\s*e)?",
    re.IGNORECASE,
)
_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50}


class Key(NamedTuple):
    """What must agree between pages for a line to run."""

    zone: str
    text: str  # with its numbers masked, if there is an offset
    slot: int  # which of the numbers counts pages; -1: none, the whole text repeats
    offset: int  # that number minus the page


class _Candidate(NamedTuple):
    at: int  # index into the lines of its page
    line: Line
    zone: str
    keys: list[Key]


def find_running(pages: Sequence[PageLines], body_size: float) -> dict[int, dict[int, str]]:
    """Find the lines that belong to the page frame.

    Args:
        pages: All pages of the document, in order.
        body_size: Font size of the running text, in points.

    Returns:
        Per 1-based page, the kind (header, footer, page_number) per index into its lines.
    """
    candidates = {page.page: list(_candidates(page)) for page in pages}
    where = _occurrences(candidates)
    found = {
        number: [c for c in found if _runs(c, number, where, len(pages), body_size)]
        for number, found in candidates.items()
    }
    limits = _body_limits(pages, found)
    frequent = max(6, len(pages) // 5)
    taken = {
        page.page: [
            c
            for c in found[page.page]
            if _most(c, where) >= frequent or _is_outside(c, page, limits)
        ]
        for page in pages
    }
    steadiness = Steadiness(pages, taken)
    return {page.page: _without_body(page, taken[page.page], steadiness, where) for page in pages}


def _without_body(
    page: PageLines,
    taken: Sequence[_Candidate],
    steadiness: Steadiness,
    where: dict[Key, list[int]],
) -> dict[int, str]:
    """The kinds of the lines that are taken, but for those that belong to the text after all."""
    kinds = {c.at: _kind(c) for c in taken}
    told = [c for c in taken if kinds[c.at] != PAGE_NUMBER and c.zone != _MARGIN]
    number = {o for c in taken if kinds[c.at] == PAGE_NUMBER for o in _offsets(c)}
    loose = [c for c in told if not steadiness.holds(page, c)]
    back = body_lines(page, kinds, [c.at for c in loose])
    if number:  # "1 Profile", "2 Profile" on the pages 11 and 12 count something else
        back |= {c.at for c in loose if not (_offsets(c) & number or _repeats(c, where))}
    if len(told) == 1 and len(kinds) == len(page.lines):
        back.add(told[0].at)
    return {at: kind for at, kind in kinds.items() if at not in back}


def _repeats(candidate: _Candidate, where: dict[Key, list[int]]) -> bool:
    """Whether the whole text stands on other pages too."""
    return any(len(where[key]) > 1 for key in candidate.keys if key.slot < 0)


def _offsets(candidate: _Candidate) -> set[int]:
    return {key.offset for key in candidate.keys if key.slot >= 0}


def is_page_number(text: str) -> bool:
    """Whether a text is nothing but a page number ("12", "- iv -", "Page 3 of 10", "A-7")."""
    return _ONLY_NUMBER.fullmatch(text.strip()) is not None


def _kind(candidate: _Candidate) -> str:
    if candidate.zone != _MARGIN and is_page_number(candidate.line.text):
        return PAGE_NUMBER
    return FOOTER if candidate.zone == _BOTTOM else HEADER


def _candidates(page: PageLines) -> Iterable[_Candidate]:
    """The outermost lines of the top and bottom zones, and what runs along the margins."""
    if page.error or page.sideways:
        return
    zones: dict[str, list[tuple[float, int]]] = {_TOP: [], _BOTTOM: [], _MARGIN: []}
    for index, line in enumerate(page.lines):
        zone = _zone(line, page)
        if zone is not None and len(line.text) <= MAX_RUNNING_CHARS:
            distance = page.height - line.box[3] if zone == _BOTTOM else line.box[1]
            zones[zone].append((distance, index))
    for zone, edge in zones.items():
        for _, index in sorted(edge)[:EDGE_LINES]:
            line = page.lines[index]
            yield _Candidate(index, line, zone, line_keys(zone, line.text, page.page))


def _zone(line: Line, page: PageLines) -> str | None:
    if not line.upright:
        at_side = line.box[2] <= SIDE * page.width or line.box[0] >= (1 - SIDE) * page.width
        return _MARGIN if at_side else None
    if line.box[3] <= EDGE * page.height:
        return _TOP
    return _BOTTOM if line.box[1] >= (1 - EDGE) * page.height else None


def line_keys(zone: str, text: str, page: int) -> list[Key]:
    """The keys of a line: its text, and its text with one number taken as the page's.

    A line that is nothing but a number has no key of the first kind: the same year under the
    charts of several pages is no page number.
    """
    plain = " ".join(text.casefold().split())
    keys = [] if is_page_number(plain) else [Key(zone, plain, -1, 0)]
    masked = _NUMBER.sub("#", plain)
    for slot, match in enumerate(_NUMBER.finditer(plain)):
        if slot == 4:
            break
        if _DECIMALS.match(plain, match.end()) or not counts_pages(masked, slot):
            continue
        keys.append(Key(zone, masked, slot, int(match.group()) - page))
    bare = plain.strip("-\u2013\u2014|[]() ")
    if _ROMAN.fullmatch(bare):
        keys.append(Key(zone, "roman", 0, _roman_value(bare) - page))
    return keys


def _roman_value(text: str) -> int:
    values = [_VALUES[c] for c in text]
    signs = [-1 if a < b else 1 for a, b in zip(values, [*values[1:], 0])]
    return sum(sign * value for sign, value in zip(signs, values))


def _occurrences(candidates: dict[int, list[_Candidate]]) -> dict[Key, list[int]]:
    where: dict[Key, set[int]] = defaultdict(set)
    for number, found in candidates.items():
        for candidate in found:
            for key in candidate.keys:
                where[key].add(number)
    return {key: sorted(numbers) for key, numbers in where.items()}


def _runs(
    candidate: _Candidate, page: int, where: dict[Key, list[int]], n_pages: int, body_size: float
) -> bool:
    text = candidate.line.text
    if n_pages == 1:
        return is_page_number(text) and " of " in text.lower()
    if is_page_number(text):
        return _nearby(candidate, page, where) >= 2
    if candidate.line.size >= LARGE * body_size:
        return _most(candidate, where) >= max(3, n_pages // 2)
    return _nearby(candidate, page, where) >= (3 if n_pages >= 4 else 2)


def _most(candidate: _Candidate, where: dict[Key, list[int]]) -> int:
    return max((len(where[key]) for key in candidate.keys), default=0)


def _nearby(candidate: _Candidate, page: int, where: dict[Key, list[int]]) -> int:
    counts = (
        bisect_right(where[key], page + NEARBY_PAGES) - bisect_left(where[key], page - NEARBY_PAGES)
        for key in candidate.keys
    )
    return max(counts, default=0)


def _body_limits(
    pages: Sequence[PageLines], running: dict[int, list[_Candidate]]
) -> tuple[float, float]:
    """Where the text of most pages begins and ends, as fractions of the page height."""
    tops, bottoms = [], []
    for page in pages:
        frame = {candidate.at for candidate in running[page.page]}
        body = [x for i, x in enumerate(page.lines) if i not in frame and x.upright]
        if body:
            tops.append(min(line.box[1] for line in body) / page.height)
            bottoms.append(max(line.box[3] for line in body) / page.height)
    if not tops:
        return 1.0, 0.0
    return sorted(tops)[int(0.3 * len(tops))], sorted(bottoms)[int(0.7 * len(bottoms))]


def _is_outside(candidate: _Candidate, page: PageLines, limits: tuple[float, float]) -> bool:
    """Whether a line that repeats on a few pages only stands outside the area of the text."""
    if candidate.zone == _MARGIN or is_page_number(candidate.line.text):
        return True
    y0, y1 = candidate.line.box[1] / page.height, candidate.line.box[3] / page.height
    return y1 <= limits[0] + 0.005 if candidate.zone == _TOP else y0 >= limits[1] - 0.005
