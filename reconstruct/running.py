"""Running headers, running footers and page numbers, recognised by what repeats over pages.

A line near the top or bottom edge runs if the same text stands there on several nearby pages,
or if it differs only in a number that grows with the page ("12 | Annual Report"). Titles of
slides and repeated table headings differ from that: their numbers don't keep step.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence

from nclue_reconstruct.textlines import Line, PageLines

EDGE = 0.12  # of the page height, at the top and at the bottom
EDGE_LINES = 8  # outermost lines looked at in each zone
NEARBY_PAGES = 8
LARGE = 1.25  # times the body size: such a line is a title unless most pages have it
MAX_RUNNING_CHARS = 250

HEADER, FOOTER, PAGE_NUMBER = "header", "footer", "page_number"

_NUMBER = re.compile(r"\d{1,6}")
_ROMAN = re.compile(r"(?=[ivxl])x{0,3}(?:l?x{0,3})(?:ix|iv|v?i{0,3})", re.IGNORECASE)
_ONLY_NUMBER = re.compile(
    r"(?:page|p\.|pg\.?|seite|página|pagina)?\s*[-–—|\[(]*\s*"
    r"(?:\d{1,5}|[A-Z]{1,3}[-–.]\d{1,4}|\d{1,3}[-–.]\d{1,4}|[ivxl]{1,7})"
    r"\s*[-–—|\])]*(?:\s*(?:of|/|von|de|sur)\s*\d{1,5})?(?:\s*\|?\s*p\s*a\s*g\s*e)?",
    re.IGNORECASE,
)
_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50}

Key = tuple[str, str, int, int]  # zone, text with its numbers masked, slot, number - page


def find_running(pages: Sequence[PageLines], body_size: float) -> dict[int, dict[int, str]]:
    """Find the lines that belong to the page frame.

    Args:
        pages: All pages of the document, in order.
        body_size: Font size of the running text, in points.

    Returns:
        Per 1-based page, the kind (header, footer, page_number) per index into its lines.
    """
    keys = {page.page: _edge_keys(page) for page in pages}
    where: dict[Key, list[int]] = defaultdict(list)
    for number, found in keys.items():
        for line_keys in found.values():
            for key in line_keys:
                where[key].append(number)
    for numbers in where.values():
        numbers[:] = sorted(set(numbers))
    return {
        page.page: _running_lines(page, keys[page.page], where, len(pages), body_size)
        for page in pages
    }


def _running_lines(
    page: PageLines,
    keys: dict[int, list[Key]],
    where: dict[Key, list[int]],
    n_pages: int,
    body_size: float,
) -> dict[int, str]:
    found = {}
    for index, line_keys in keys.items():
        line = page.lines[index]
        if any(_repeats(where[key], page.page, n_pages, line, body_size) for key in line_keys):
            found[index] = _kind(line, line_keys[0][0])
        elif n_pages == 1 and is_page_number(line.text) and " of " in line.text.lower():
            found[index] = PAGE_NUMBER
    return found


def _repeats(numbers: list[int], page: int, n_pages: int, line: Line, body_size: float) -> bool:
    if line.size >= LARGE * body_size and not _ONLY_NUMBER.fullmatch(line.text):
        return len(numbers) >= max(3, n_pages // 2)
    near = bisect_right(numbers, page + NEARBY_PAGES) - bisect_left(numbers, page - NEARBY_PAGES)
    if _ONLY_NUMBER.fullmatch(line.text):
        return near >= 2
    return near >= (3 if n_pages >= 4 else 2)


def _kind(line: Line, zone: str) -> str:
    return PAGE_NUMBER if is_page_number(line.text) else zone


def is_page_number(text: str) -> bool:
    """Whether a text is nothing but a page number ("12", "- iv -", "Page 3 of 10", "A-7")."""
    return _ONLY_NUMBER.fullmatch(text.strip()) is not None


def _edge_keys(page: PageLines) -> dict[int, list[Key]]:
    """Keys of the outermost lines in the two zones, by index of the line."""
    if page.error or page.sideways:
        return {}
    tops = [(line.box[1], i) for i, line in enumerate(page.lines) if _in_top(line, page)]
    bottoms = [(-line.box[3], i) for i, line in enumerate(page.lines) if _in_bottom(line, page)]
    found = {}
    for zone, edge in ((HEADER, tops), (FOOTER, bottoms)):
        for _, index in sorted(edge)[:EDGE_LINES]:
            found[index] = line_keys(zone, page.lines[index].text, page.page)
    return found


def _in_top(line: Line, page: PageLines) -> bool:
    return line.box[3] <= EDGE * page.height and len(line.text) <= MAX_RUNNING_CHARS


def _in_bottom(line: Line, page: PageLines) -> bool:
    return line.box[1] >= (1 - EDGE) * page.height and len(line.text) <= MAX_RUNNING_CHARS


def line_keys(zone: str, text: str, page: int) -> list[Key]:
    """What must agree between pages for a line to run: its text, or all but a page number."""
    plain = " ".join(text.casefold().split())
    keys: list[Key] = [(zone, plain, -1, 0)]
    masked = _NUMBER.sub("#", plain)
    for slot, match in enumerate(_NUMBER.finditer(plain)):
        if slot == 4:
            break
        keys.append((zone, masked, slot, int(match.group()) - page))
    bare = plain.strip("-–—|[]() ")
    if _ROMAN.fullmatch(bare):
        keys.append((zone, "roman", 0, _roman_value(bare) - page))
    return keys


def _roman_value(text: str) -> int:
    values = [_VALUES[c] for c in text.casefold()]
    signs = [-1 if a < b else 1 for a, b in zip(values, [*values[1:], 0])]
    return sum(sign * value for sign, value in zip(signs, values))
