"""Which pages lack a text layer that can be used: none, garbled, or only a stamp over an image.

Pages with any other text are spared, also where an OCR layer is poor or lies unseen over its
image: words stand in it.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nclue_core.pages import PageRecord
from nclue_reconstruct.read.textlines import Line, PageLines

NOTE_STAMP = "only a stamp over a page image"
NOTE_POOR = "text layer of poor quality: its letters make no words"

EDGE = 0.12  # of the page's side; stamps stand nearer to the edge
REPEATS = 3  # pages with the same line
MIN_SHARE_NOTED = 0.01  # of characters that are unknown
MIN_LETTERS = 100
# Of 8,500 real pages in six languages the lowest share is .27; letters shifted or mixed up by a
# wrong map have about .15.
MIN_VOWELS = 0.24
_VOWELS = frozenset("aeiouy")


def lacks_text(record: PageRecord) -> bool:
    """Whether OCR may read more than the text layer holds."""
    note = record.note or ""
    return not record.has_text or NOTE_STAMP in note or NOTE_POOR in note


def better(own: PageRecord, read: Any) -> Any:
    """What OCR read (a record or failure), or the page's own text where OCR found nothing."""
    if not isinstance(read, PageRecord) or read.has_text or not own.has_text:
        return read
    return replace(own, note="; ".join(filter(None, [own.note, "OCR found no text"])))


def stamped_pages(
    pages: Sequence[PageLines], frames: Mapping[int, Mapping[int, str]]
) -> frozenset[int]:
    """Pages (1-based) of an image whose few lines run, stand at an edge, askew, or repeat.

    Args:
        pages: Of the whole document.
        frames: Per page, the lines that run, as `running.find_running` finds them.
    """
    sparse = [page for page in pages if page.is_image and not page.error]
    repeats = Counter(text for page in sparse for text in {line.text for line in page.lines})
    return frozenset(
        page.page
        for page in sparse
        if all(
            index in frames[page.page] or _is_aside(line, page) or repeats[line.text] >= REPEATS
            for index, line in enumerate(page.lines)
        )
    )


def _is_aside(line: Line, page: PageLines) -> bool:
    if not line.upright:
        at_side = line.box[2] <= EDGE * page.width or line.box[0] >= (1 - EDGE) * page.width
        return at_side or not page.sideways
    return line.box[3] <= EDGE * page.height or line.box[1] >= (1 - EDGE) * page.height


def quality_notes(lines: Iterable[Line]) -> list[str]:
    """What must be known of the characters of a page."""
    lines = list(lines)
    text = "".join(line.text for line in lines)
    notes = []
    share = unknown_share(text, sum(line.dropped for line in lines))
    if share >= MIN_SHARE_NOTED:
        notes.append(f"{share:.0%} of the characters unknown")
    if not _has_words(text):
        notes.append(NOTE_POOR)
    return notes


def unknown_share(text: str, n_dropped: int = 0) -> float:
    """Share of characters that are no text: unknown, unassigned, private use, control.

    Args:
        text: As read; blanks are not counted.
        n_dropped: Control characters that were dropped from it.
    """
    if text.isascii() and text.isprintable():
        return n_dropped / max(len(text) + n_dropped, 1)
    counts = {c: n for c, n in Counter(text).items() if not c.isspace()}
    bad = n_dropped + sum(n for c, n in counts.items() if c == "\ufffd" or not c.isprintable())
    return bad / max(sum(counts.values()) + n_dropped, 1)


def _has_words(text: str) -> bool:
    """Whether the letters can be words, for a text in Latin letters; others pass."""
    folded = (text if text.isascii() else unicodedata.normalize("NFD", text)).casefold()
    counts = Counter(folded)
    n_letters = sum(counts[c] for c in map(chr, range(ord("a"), ord("z") + 1)))
    if n_letters < MIN_LETTERS or 3 * n_letters < len(text):
        return True
    return sum(counts[c] for c in _VOWELS) >= MIN_VOWELS * n_letters
