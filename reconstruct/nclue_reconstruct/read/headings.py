"""Which blocks are headings, and of which level: by outline, numbering, size and weight."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from nclue_reconstruct.read.textlines import Box, PageLines

MAX_LEVEL = 6
MAX_HEADING_CHARS = 200
MAX_OUTLINE_ENTRIES = 20_000
PAGE_BODY_CHARS = 600
MAX_CHAPTER = 40

_NUMBERED = re.compile(
    r"(?:(?:chapter|part|section|annex|appendix|article)\s+)?"
    r"(?P<number>\d{1,3}(?:\.\d{1,3}){0,5}|[IVXL]{1,6}|[A-H](?:\.\d{1,2}){0,4})(?P<mark>[.):]?)\s+(?=\w)",
    re.IGNORECASE,
)
_CAPTION = re.compile(
    r"(?:table|figure|fig|exhibit|chart|map|box|photo|plate|listing|algorithm|tabla|cuadro|"
    r"gráfico|graphique|tableau|quadro|tabela)\.?\s*(?:[A-Z]?\d|[IVX]+\b)",
    re.IGNORECASE,
)
_BULLETS = "·•●▪◦‣∙○■□\u2013\u2014*\uf0b7\uf0a7\u25aa\u2022"
_PUNCTUATED_END = (",", ";", "-", "\u2013", "…", "...")

_CONTENTS_TITLES = frozenset(
    ["contents", "tableofcontents", "tableofcontent", "listoftables", "listoffigures"]
)

Style = tuple[float, bool]  # size rounded to half points, bold


@dataclass(slots=True)
class Unit:
    """Rows of one block in one style: a heading, a paragraph, a piece of a table."""

    rows: list[str]
    box: Box
    size: float
    bold: bool  # wholly
    cells: int  # lines that were joined into the rows; more than rows: something tabular
    last_x1: float = 0.0  # right end of the last row
    italic: bool = False  # wholly
    run_in: bool = False  # partly bold: a heading may run into its paragraph here
    beside: bool = False  # another short line in the same style stands beside it
    kind: str = "text"
    level: int | None = None

    @property
    def text(self) -> str:
        """The rows as they stand, one a line."""
        return "\n".join(self.rows)

    @property
    def style(self) -> Style:
        """What headings of one level have in common."""
        return round(self.size * 2) / 2, self.bold


@dataclass
class Typography:
    """What is normal in a document: the size and weight of its running text, its outline."""

    body_size: float
    body_bold: bool
    page_size: float  # of the running text of one page, where that page has enough of it
    outline: dict[int, dict[str, int]] = field(default_factory=dict)  # page -> text -> level


def measure(pages: Iterable[PageLines], outline: Sequence[Sequence[Any]]) -> Typography:
    """Find the style of the running text: the one that most characters have."""
    sizes: Counter[float] = Counter()
    bold: dict[float, float] = defaultdict(float)
    for page in pages:
        for line in page.lines:
            size = round(line.size * 2) / 2
            sizes[size] += len(line.text)
            bold[size] += len(line.text) * line.bold
    body_size = max(sizes, key=lambda size: (sizes[size], -size), default=0.0)
    is_bold = 2 * bold[body_size] > sizes[body_size]
    return Typography(body_size, is_bold, body_size, _outline_by_page(outline))


def for_page(typography: Typography, page: PageLines) -> Typography:
    """The typography of one page: a long appendix in small print says nothing of page 1."""
    sizes: Counter[float] = Counter()
    for line in page.lines:
        sizes[round(line.size * 2) / 2] += len(line.text)
    size, count = max(sizes.items(), key=lambda item: (item[1], -item[0]), default=(0.0, 0))
    if count < PAGE_BODY_CHARS or 3 * count < sum(sizes.values()):
        return typography
    return replace(typography, page_size=size)


def _outline_by_page(outline: Sequence[Sequence[Any]]) -> dict[int, dict[str, int]]:
    by_page: dict[int, dict[str, int]] = defaultdict(dict)
    for level, title, page, *_ in outline[:MAX_OUTLINE_ENTRIES]:
        for key in {letters(title), letters(without_number(title))}:
            if key:
                by_page[page].setdefault(key, min(level, MAX_LEVEL))
    return dict(by_page)


def letters(text: str) -> str:
    """Letters and digits alone, case folded: what an outline and a page agree on."""
    return "".join(c for c in text.casefold() if c.isalnum())


def without_number(text: str) -> str:
    """A heading without the number before it."""
    match = _NUMBERED.match(text)
    return text[match.end() :] if match else text


def mark_headings(units: list[Unit], page: int, typography: Typography) -> None:
    """Set kind and (for outline and numbering) level of the units of one page, in place."""
    _mark_neighbours(units)
    outline = typography.outline.get(page, {})
    for unit in units:
        unit.kind = _plain_kind(unit, typography)
        level = _outline_level(unit, outline)
        if level is not None:
            unit.kind, unit.level = "title", level
        elif unit.kind == "text" and looks_like_heading(unit, typography):
            unit.kind = "title"


def _outline_level(unit: Unit, outline: dict[str, int]) -> int | None:
    if not outline or len(unit.rows) > 4 or ends_with_leader(unit.rows[-1]):
        return None
    key = letters(unit.text)
    return outline.get(key, outline.get(letters(without_number(" ".join(unit.rows)))))


def _plain_kind(unit: Unit, typography: Typography) -> str:
    first = unit.rows[0]
    if first[0] in _BULLETS and len(unit.text) > 1:
        return "list"
    if _CAPTION.match(first) and len(unit.text) <= 1_000:
        return "caption"
    if unit.cells >= 3 * len(unit.rows):
        return "table"
    if unit.size <= 0.87 * typography.body_size and first[:1].isdigit() and unit.cells < 4:
        return "footnote" if _is_note(first) else "text"
    return "text"


def _is_note(text: str) -> bool:
    rest = text.lstrip("0123456789").lstrip()
    return len(rest) > 15 and rest[0].isalpha() and len(text) - len(rest) <= 4


def looks_like_heading(unit: Unit, typography: Typography) -> bool:
    """Whether the form of a unit, without any outline, is that of a heading."""
    text = " ".join(unit.rows)
    if not _could_be_heading(unit, text):
        return False
    ratio = unit.size / (max(typography.body_size, typography.page_size) or 1.0)
    small_ratio = unit.size / (min(typography.body_size, typography.page_size) or 1.0)
    if ratio < 1.3 and (text[0].islower() or text[0] == "("):
        return False  # the middle of a sentence
    stop = text.endswith((".", ":"))
    emphasised = unit.bold and not typography.body_bold
    if _NUMBERED.match(text) and (ratio >= 1.05 or (emphasised and small_ratio >= 0.9)):
        return not stop or len(text) <= 100
    if unit.beside:
        return ratio >= 1.3
    if ratio >= 1.15:
        return ratio >= 1.4 or not text.endswith(".")
    if emphasised and small_ratio >= 0.93:
        return len(text) <= 120 and not (text.endswith(".") and len(text) > 60)
    if ratio < 0.88 or len(unit.rows) > 2 or stop:
        return False
    return _is_capitals(text) or (unit.italic and ratio >= 0.95 and _is_short_title(text))


def _could_be_heading(unit: Unit, text: str) -> bool:
    n_letters = sum(c.isalpha() for c in text)
    return (
        len(unit.rows) <= 4
        and len(text) <= MAX_HEADING_CHARS
        and n_letters >= 3
        and 2 * n_letters >= len(text.replace(" ", ""))
        and unit.cells <= len(unit.rows) + 1
        and not text.endswith(_PUNCTUATED_END)
        and not ends_with_leader(text)
        and any(len(word) >= 3 for word in text.split())
        and "@" not in text
        and "://" not in text
    )


def _is_capitals(text: str) -> bool:
    return text.isupper() and len(text) <= 100 and sum(c.isalpha() for c in text) >= 6


def _is_short_title(text: str) -> bool:
    """What a line in italics must be to count: few words, a capital first, no source or note."""
    return (
        len(text) <= 80
        and len(text.split()) <= 10
        and text[0].isupper()
        and not text.startswith(("Source", "Note"))
    )


def ends_with_leader(text: str) -> bool:
    """Whether a row looks like an entry of a table of contents: dots, then a page number."""
    head = text.rstrip("0123456789ivxlIVXL-\u2013 ")
    if len(head) == len(text) or not text[-1].isalnum():
        return False
    body = head.rstrip(" .…·_‥")
    leader = head[len(body) :]
    return sum(c in ".…·_‥" for c in leader) >= 3 or "…" in leader


def is_contents(rows: Sequence[str], after_contents: bool = False) -> bool:
    """Whether a page is a table of contents.

    Most of its entries end in dots and a page number, or it is titled so (or follows such a
    page) and a quarter of its rows end in numbers; the numbers grow, unlike those of a table.
    """
    led = [row for row in rows if ends_with_leader(row)]
    if len(led) >= 3 and (len(led) >= 5 or 3 * len(led) >= len(rows)):
        return _numbers_grow(led)
    if not (after_contents or any(letters(row) in _CONTENTS_TITLES for row in rows[:6])):
        return False
    numbered = [row for row in rows if row[-1].isdigit()]
    return len(numbered) >= 4 and 4 * len(numbered) >= len(rows) and _numbers_grow(numbered)


def _numbers_grow(rows: Sequence[str]) -> bool:
    tails = (row[len(row.rstrip("0123456789")) :] for row in rows)
    numbers = [int(tail[-9:]) for tail in tails if tail]
    steps = [0 <= b - a < 1000 for a, b in pairwise(numbers)]
    return 4 * sum(steps) >= 3 * len(steps)


def _mark_neighbours(units: list[Unit]) -> None:
    """Mark short units that stand in one row with others of their style: cells of a table."""
    rows: dict[int, list[Unit]] = defaultdict(list)
    for unit in units:
        if len(unit.text) <= 80:
            rows[round((unit.box[1] + unit.box[3]) / 8)].append(unit)
    for row in rows.values():
        for unit in row:
            unit.beside = any(other is not unit and other.style == unit.style for other in row[:20])


def assign_levels(headings: Sequence[Unit]) -> None:
    """Give every heading a level: from the outline, else its numbering, else its style.

    A style takes the level that most of its members have from outline or numbering; styles
    without such members rank by size, the largest is level 1.
    """
    votes: dict[Style, Counter[int]] = defaultdict(Counter)
    for unit in headings:
        if unit.level is None:
            unit.level = _numbered_level(" ".join(unit.rows))
        if unit.level is not None:
            votes[unit.style][unit.level] += 1
    ranks = _style_ranks({unit.style for unit in headings}, votes)
    for unit in headings:
        if unit.level is None:
            unit.level = ranks[unit.style]


def _numbered_level(text: str) -> int | None:
    match = _NUMBERED.match(text)
    if not match or not match["number"][0].isdigit():
        return None
    number = match["number"]
    if "." not in number and not match["mark"] and int(number) > MAX_CHAPTER:
        return None  # "2019 Update" is no chapter
    return min(number.count(".") + 1, MAX_LEVEL)


def _style_ranks(styles: set[Style], votes: dict[Style, Counter[int]]) -> dict[Style, int]:
    ranks = {}
    level = 0
    for style in sorted(styles, reverse=True):
        if style in votes:
            level = votes[style].most_common(1)[0][0]
        else:
            level = min(level + 1, MAX_LEVEL)
        ranks[style] = level
    return ranks
