"""What MuPDF put up with while it read a damaged file, as notes for the pages concerned.

MuPDF goes on where it can: it rebuilds lost tables, takes what it gets of a cut stream and skips
what it does not understand. That is right, but the page may lack text, so its record says so.
"""

from __future__ import annotations

from typing import Any

from nclue_reconstruct.read.page_boxes import box_note
from nclue_reconstruct.read.pdf_open import quiet_pymupdf

NOTE_REPAIRED = "repaired, may be incomplete"
NOTE_CUT = "content cut or damaged, may be incomplete"

# MuPDF's words, all about what is drawn. Others ("unknown keyword", fonts, profiles) also come
# from pages that lack nothing.
_SIGNS = (
    "premature end of",
    "treating as end of file",
    "zlib error",
    "not a stream",
    "cannot load content stream",
    "stream length incorrect",
    "object missing",
    "cannot find object",
    "unknown filter name",
    "syntax error in content stream",
    "encountered syntax errors",
    "ignoring rest of page",
    "not enough image data",
    "truncated image",
)


def forget_warnings() -> None:
    """Drop the warnings of earlier pages; MuPDF keeps one list for the whole process."""
    quiet_pymupdf().TOOLS.reset_mupdf_warnings()


def page_notes(document: Any, page: int) -> list[str]:
    """What must be known of a page (1-based) that was read or rendered since `forget_warnings`."""
    warnings = quiet_pymupdf().TOOLS.mupdf_warnings(reset=True)
    cut = cut_note(warnings)
    repaired = NOTE_REPAIRED if document.is_repaired else None
    return [note for note in (box_note(document, page), cut, repaired) if note]


def cut_note(warnings: str) -> str | None:
    """NOTE_CUT with the first reason, or None where the warnings say nothing of lost content."""
    for line in warnings.splitlines():
        lower = line.lower()
        if any(sign in lower for sign in _SIGNS):
            return f"{NOTE_CUT} ({line.partition(': ')[2] or line})"
    return None
