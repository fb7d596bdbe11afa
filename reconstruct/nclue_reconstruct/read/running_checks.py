"""Lines that repeat near an edge and yet belong to the text: they are given back to it.

Row labels and heads of tables repeat as running heads do. What tells them apart: they stand in a
row with cells of the text, or in one block with it, while a running head stands at the same
height on a large share of the pages. And a page keeps its only line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from nclue_reconstruct.read.textlines import Line, PageLines

STEADY_SHARE = 0.4  # of the pages: heads of left and right pages have a half each
EDGES = 0.16  # of the page height: more than where running lines are looked for
STEP = 4.0  # points; heights that differ by less are one
LINE_GAP = 0.6  # of a line's height
TABLE_ROW = 3  # lines in a row, from which it looks like the head of a table

# "Annex 3" on three pages with one annex each grows as page numbers do. "3. Findings" does, too.
_NUMBERED_HEADING = re.compile(
    r"#\s*(?:[.)\u2013-]|\.#)\s*[^\W\d_]|(?:annexe?|appendix|anexo|ap[eé]ndice|anhang|lampiran|"
    r"chapter|chapitre|cap[ií]tulo|kapitel|section|secci[oó]n|abschnitt|part|partie|parte|teil|"
    r"table|tableau|tabla|tabell?[ae]?|cuadro|quadro|figure|figura|fig|box|encadr[eé]|exhibit|"
    r"chart|graph|map|module|modul|unit|lesson|session|question|exercise|step|task|schedule|"
    r"article|item|case|goal|target|indicator|objective|theme|topic|principle|day|week|volume|"
    r"country|region|province|district|attachment|enclosure|addendum)s?\b[\s.:\u2013-]*"
    r"(?:no\.?\s*)?#",
)


def counts_pages(masked: str, slot: int) -> bool:
    """Whether a number of a line can be the page's; that of a numbered heading is not.

    Args:
        masked: The line in lower case, its numbers as ``#``.
        slot: Which of the numbers, from 0; those behind the heading's own may count pages.
    """
    match = _NUMBERED_HEADING.match(masked)
    return match is None or slot >= match[0].count("#")


class Steadiness:
    """Which lines stand where a large share of the pages has them, and rarely beside the text."""

    def __init__(self, pages: Sequence[PageLines], taken: Mapping[int, Sequence[Any]]) -> None:
        self._heights: Counter[tuple[Any, int]] = Counter()
        self._seen: Counter[Any] = Counter()
        self._beside: Counter[Any] = Counter()
        self._least = max(3.0, STEADY_SHARE * len(pages))
        for page in pages:
            running = {candidate.at for candidate in taken[page.page]}
            body = _near_edges(page, running) if running else []
            for candidate in taken[page.page]:
                self._count(page, candidate, body)

    def _count(self, page: PageLines, candidate: Any, body: Sequence[int]) -> None:
        step = _step(page, candidate.line)
        self._heights.update((key, step) for key in candidate.keys)
        self._seen.update(candidate.keys)
        if _n_beside(page.lines, candidate.at, body):
            self._beside.update(candidate.keys)

    def holds(self, page: PageLines, candidate: Any) -> bool:
        """Whether a candidate is steady (with any of its keys)."""
        step = _step(page, candidate.line)
        near = (step - 1, step, step + 1)
        return any(
            sum(self._heights[key, s] for s in near) >= self._least
            and 2 * self._beside[key] < self._seen[key]
            for key in candidate.keys
        )


def _step(page: PageLines, line: Line) -> int:
    """Height in steps, from the edge that is nearer (pages may differ in size)."""
    below = page.height - line.box[3]
    return round(line.box[1] / STEP) if line.box[1] <= below else -1 - round(below / STEP)


def body_lines(page: PageLines, taken: Collection[int], loose: Sequence[int]) -> set[int]:
    """Which of the taken lines go back to the text.

    Args:
        page: The page.
        taken: Indices of all lines that seem to run.
        loose: Those of them that may be text: neither page numbers nor steady.
    """
    back: set[int] = set()
    body = _near_edges(page, taken) if loose else []
    while more := {i for i in loose if i not in back and _is_part(page.lines, i, body)}:
        back |= more
        body += more
    heads = [i for i in loose if i not in back]
    return back | {i for i in heads if _n_beside(page.lines, i, heads) + 1 >= TABLE_ROW}


def _near_edges(page: PageLines, taken: Collection[int]) -> list[int]:
    """The lines of the text that a line at an edge can have beside or next to it."""
    upper, lower = EDGES * page.height, (1 - EDGES) * page.height
    return [
        i
        for i, line in enumerate(page.lines)
        if (line.box[1] < upper or line.box[3] > lower) and line.upright and i not in taken
    ]


def _is_part(lines: Sequence[Line], at: int, body: Sequence[int]) -> bool:
    return any(_continue_each_other(lines[at], lines[i]) for i in body) or (
        _n_beside(lines, at, body) > 0
    )


def _continue_each_other(a: Line, b: Line) -> bool:
    """Whether two lines of one block follow each other without more than a line's gap."""
    upper, lower = (a, b) if a.box[1] <= b.box[1] else (b, a)
    gap = lower.box[1] - upper.box[3]
    return a.block == b.block and gap < LINE_GAP * min(a.box[3] - a.box[1], b.box[3] - b.box[1])


def _n_beside(lines: Sequence[Line], at: int, others: Iterable[int]) -> int:
    """How many of the others share a row with a line: half of the lower one's height."""
    _, top, _, bottom = lines[at].box
    if not lines[at].upright:
        return 0
    return sum(
        2 * (min(bottom, box[3]) - max(top, box[1])) > min(bottom - top, box[3] - box[1])
        for box in (lines[i].box for i in others if i != at)
    )
