"""The lines of a page as the PDF's text layer has them: text, place, size, weight."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from nclue_reconstruct.outcome import DocumentError
from nclue_reconstruct.read import damage
from nclue_reconstruct.read.pdf_open import load_page, one_line, quiet_pymupdf
from nclue_reconstruct.read.raised import joined

MAX_LINE_CHARS = 5_000  # longer "lines" are damage; nothing on paper is so wide
SPARSE_CHARS = 400  # pages with less text may be images with a stamp
IMAGE_SHARE = 0.5  # of a page, from which it is an image
IMAGE_KINDS = ("fill-image", "fill-imgmask")
BOLD_FLAG, ITALIC_FLAG = 16, 2  # PyMuPDF: bits 4 and 1 of a span's flags
BOLD_NAMES = ("bold", "black", "heavy", "semibold", "demi")

# Lone surrogates cannot be written as UTF-8; controls are what broken fonts leave behind.
_CLEAN: dict[int, str | None] = dict.fromkeys((*range(0x20), 0x7F))
_CLEAN |= dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
_CLEAN |= {0x09: " ", 0x0A: " ", 0xA0: " "}

Box = tuple[float, float, float, float]  # x0, y0, x1, y1 in points, origin at the top left
Turn = Callable[[Box, tuple[float, float]], tuple[Box, float]]


@dataclass(slots=True)
class Line:
    """One line of a text layer (MuPDF splits lines at wide gaps)."""

    text: str
    box: Box
    size: float  # of the font, in points; weighted by characters
    bold: float  # share of its characters
    italic: float  # share of its characters
    upright: bool  # the text runs from left to right on the page as displayed
    block: int  # number of MuPDF's block on this page
    dropped: int = 0  # control characters that were taken out of it


@dataclass(slots=True)
class PageLines:
    """One page before anything is known of the document around it."""

    page: int  # 1-based
    width: float
    height: float
    lines: list[Line] = field(default_factory=list)
    error: str | None = None  # the page cannot be read
    notes: list[str] = field(default_factory=list)  # of boxes and damage
    is_image: bool = False  # little text, and images over most of it; else not looked at

    @property
    def sideways(self) -> bool:
        """Most of the text runs up or down the displayed page."""
        upright = sum(len(line.text) for line in self.lines if line.upright)
        return 2 * upright < sum(len(line.text) for line in self.lines)


def read_lines(document: Any) -> Iterator[PageLines]:
    """Yield the lines of every page of an open document; images are not decoded."""
    pymupdf = quiet_pymupdf()
    # Ligatures are expanded (no TEXT_PRESERVE_LIGATURES), hyphens stay (no TEXT_DEHYPHENATE).
    flags = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP
    for index in range(document.page_count):
        yield _read_page(document, index, flags)


def _read_page(document: Any, index: int, flags: int) -> PageLines:
    damage.forget_warnings()
    try:
        page = load_page(document, index + 1)
        rect = page.rect
        found = PageLines(index + 1, max(rect.width, 1.0), max(rect.height, 1.0))
        turn = _no_turn if page.rotation == 0 else _turn_by(page.rotation_matrix)
        blocks = page.get_text("dict", flags=flags)["blocks"]
    except DocumentError as err:
        return PageLines(index + 1, 0.0, 0.0, error=err.reason)
    except Exception as err:  # MuPDF's errors have no common base in all versions
        return PageLines(index + 1, 0.0, 0.0, error=f"cannot be read: {one_line(err)}")
    for number, block in enumerate(blocks):
        lines = (_line(raw, number, turn) for raw in block.get("lines", ()))
        found.lines.extend(line for line in lines if line is not None)
    if 0 < sum(len(line.text) for line in found.lines) <= SPARSE_CHARS:
        found.is_image = _image_share(page) >= IMAGE_SHARE
    found.notes = damage.page_notes(document, index + 1)
    return found


def _image_share(page: Any) -> float:
    """Area of the images of a page (those that overlap count twice), as a share of the page."""
    whole = page.rect * page.derotation_matrix
    try:
        drawn = [box for kind, box, *_ in page.get_bboxlog() if kind in IMAGE_KINDS]
    except Exception:  # what cannot be drawn is no image
        return 0.0
    return float(sum(abs(whole & box) for box in drawn) / max(abs(whole), 1.0))


def _line(raw: dict[str, Any], block: int, turn: Turn) -> Line | None:
    spans = raw["spans"]
    written = joined(spans, raw["dir"])
    clean = written.translate(_CLEAN)
    dropped = len(written) - len(clean)
    text = clean[:MAX_LINE_CHARS].strip()
    if not text:
        return None
    weights = [(len(span["text"].strip()), span) for span in spans]
    total = sum(weight for weight, _ in weights) or 1
    size = sum(weight * span["size"] for weight, span in weights) / total
    bold = sum(weight for weight, span in weights if _is_bold(span))
    italic = sum(weight for weight, span in weights if _is_italic(span))
    box, direction_x = turn(raw["bbox"], raw["dir"])
    upright = direction_x > 0.9
    return Line(text, box, size, bold / total, italic / total, upright, block, dropped)


def _no_turn(box: Box, direction: tuple[float, float]) -> tuple[Box, float]:
    return box, direction[0]


def _turn_by(matrix: Any) -> Turn:
    """From the page as it is stored to the page as it is displayed (/Rotate)."""
    a, b, c, d, e, f = matrix

    def turn(box: Box, direction: tuple[float, float]) -> tuple[Box, float]:
        xs = [a * x + c * y + e for x, y in (box[:2], box[2:])]
        ys = [b * x + d * y + f for x, y in (box[:2], box[2:])]
        turned = min(xs), min(ys), max(xs), max(ys)
        return turned, a * direction[0] + c * direction[1]

    return turn


def _is_bold(span: dict[str, Any]) -> bool:
    if span["flags"] & BOLD_FLAG:
        return True
    font = span["font"].lower()
    return any(name in font for name in BOLD_NAMES)


def _is_italic(span: dict[str, Any]) -> bool:
    if span["flags"] & ITALIC_FLAG:
        return True
    font = span["font"].lower()
    return "italic" in font or "oblique" in font
