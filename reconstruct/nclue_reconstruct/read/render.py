"""Render pages to pixels, within limits that are known before anything is allocated."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nclue_core.errors import InputError
from nclue_core.files import atomic_write, file_name, id_of_file_name
from nclue_reconstruct import outcome
from nclue_reconstruct.limits import report_page
from nclue_reconstruct.outcome import DocumentError, DocumentOutcome, PageFailure
from nclue_reconstruct.read import damage
from nclue_reconstruct.read.pdf_open import load_page, one_line, open_pdf, quiet_pymupdf
from nclue_reconstruct.window import WHOLE, Window

# 50 megapixels hold an A1 sheet at 200 dpi and every page that people read; a page box of
# 200 x 200 inches at 300 dpi would be 3.6 gigapixels.
MAX_PIXELS = 50_000_000
MAX_SIDE = 30_000  # Tesseract refuses sides of more than 32,767 pixels
MIN_DPI, MAX_DPI = 10, 1200
_PNG_SIZE = slice(16, 24)  # width and height in the header of a PNG file


class RenderPlan(NamedTuple):
    """What a page will look like, computed from its box alone."""

    zoom: float  # pixels per point
    width: int  # pixels
    height: int
    dpi: int  # in effect; less than asked for where the page is huge
    reduced: bool


class PageImage(NamedTuple):
    """The pixels of one page as displayed (after /Rotate)."""

    page: int  # 1-based
    width: int
    height: int
    channels: int  # 1 gray, 3 RGB
    samples: bytes  # rows from the top, no padding
    dpi: int
    width_pt: float
    height_pt: float
    note: str | None


def plan_page(width_pt: float, height_pt: float, dpi: int) -> RenderPlan:
    """Plan a page within MAX_PIXELS and MAX_SIDE.

    Args:
        width_pt: Width of the page in points, as displayed.
        height_pt: Height of the page in points.
        dpi: Resolution asked for.
    """
    width_pt, height_pt = max(width_pt, 1.0), max(height_pt, 1.0)
    asked = dpi / 72
    largest = min(
        math.sqrt(MAX_PIXELS / (width_pt * height_pt)), MAX_SIDE / max(width_pt, height_pt)
    )
    reduced = largest < asked
    zoom = min(asked, largest * 0.999)  # pixels are rounded up to whole ones
    width, height = math.ceil(width_pt * zoom), math.ceil(height_pt * zoom)
    return RenderPlan(zoom, width, height, max(round(zoom * 72), 1) if reduced else dpi, reduced)


def check_dpi(dpi: int) -> None:
    """Refuse resolutions that nobody means.

    Raises:
        InputError: Outside MIN_DPI..MAX_DPI.
    """
    if not MIN_DPI <= dpi <= MAX_DPI:
        raise InputError(f"dpi must be between {MIN_DPI} and {MAX_DPI}, found {dpi}")


def render_page(document: Any, page: int, dpi: int, *, color: bool = False) -> PageImage:
    """Render one page of an open document.

    Args:
        document: A ``pymupdf.Document``.
        page: 1-based.
        dpi: Resolution; reduced for huge pages, which ``note`` then says.
        color: RGB instead of gray.

    Raises:
        DocumentError: The page cannot be read or rendered (state broken).
    """
    pymupdf = quiet_pymupdf()
    damage.forget_warnings()
    loaded = load_page(document, page)
    rect = loaded.rect
    plan = plan_page(rect.width, rect.height, dpi)
    space = pymupdf.csRGB if color else pymupdf.csGRAY
    try:
        matrix = pymupdf.Matrix(plan.zoom, plan.zoom)
        pixels = loaded.get_pixmap(matrix=matrix, colorspace=space, alpha=False)
        samples = bytes(pixels.samples)
    except Exception as err:  # MuPDF's errors have no common base in all versions
        raise DocumentError(outcome.BROKEN, f"cannot be rendered: {one_line(err)}") from None
    finally:
        pymupdf.TOOLS.store_shrink(100)  # decoded images would pile up over a document
    if not pixels.width or not pixels.height:
        size = f"{rect.width:g} x {rect.height:g} pt"
        raise DocumentError(outcome.BROKEN, f"cannot be rendered: a page of {size} has no pixel")
    return PageImage(
        page,
        pixels.width,
        pixels.height,
        3 if color else 1,
        samples,
        plan.dpi,
        rect.width,
        rect.height,
        "; ".join(_reduction(rect, plan, dpi) + damage.page_notes(document, page)) or None,
    )


def _reduction(rect: Any, plan: RenderPlan, dpi: int) -> list[str]:
    if not plan.reduced:
        return []
    return [
        f"rendered at {plan.dpi} dpi instead of {dpi}: {rect.width:.0f} x {rect.height:.0f} pt "
        f"would exceed {MAX_PIXELS:,} pixels"
    ]


def render_document(
    pdf: Path,
    out_dir: Path,
    dpi: int,
    doc_id: str | None = None,
    window: Window = WHOLE,
    skip: Collection[int] = (),
    *,
    resume: bool = True,
) -> DocumentOutcome:
    """Render all pages of a PDF to ``<out_dir>/<doc_id>/<page>.png`` (RGB).

    Args:
        pdf: The file.
        out_dir: The folder ``pages`` of a reconstruction.
        dpi: Resolution; reduced for huge pages.
        doc_id: Defaults to the name of the file without ``.pdf``.
        window: The pages that are rendered; the counts are of these.
        skip: Pages that are rendered elsewhere; they count as done.
        resume: Keep pages that are on disk in the size that this call would give.

    Returns:
        ok, partial (the reason names the pages that failed) or the state of the document.
    """
    check_dpi(dpi)
    began = time.monotonic()
    doc_id = doc_id or id_of_file_name(pdf.stem)
    done, failures, total = 0, [], None
    try:
        with open_pdf(pdf) as document:
            total = document.page_count
            pages = [page for page in window.pages(total) if page not in skip]
            done = len(window.pages(total)) - len(pages)
            for result in _render_pages(document, out_dir / file_name(doc_id), pages, dpi, resume):
                done += result is None
                failures += [result] if result else []
            is_repaired = bool(document.is_repaired)
    except DocumentError as err:
        return DocumentOutcome(err.state, err.reason, done, total, time.monotonic() - began)
    state, reason_text = outcome.summarise(done, failures, is_repaired)
    seconds = time.monotonic() - began
    return DocumentOutcome(state, reason_text, done, total, seconds, tuple(failures))


def _render_pages(
    document: Any, folder: Path, pages: Sequence[int], dpi: int, resume: bool
) -> Iterator[PageFailure | None]:
    for page in pages:
        try:
            path = folder / f"{page}.png"
            if not (resume and _is_rendered(path, document, page, dpi)):
                write_png(path, render_page(document, page, dpi, color=True))
                report_page(page)
            yield None
        except DocumentError as err:
            yield PageFailure(page, err.state, err.reason)


def _is_rendered(path: Path, document: Any, page: int, dpi: int) -> bool:
    try:
        with path.open("rb") as stream:
            header = stream.read(24)
    except OSError:
        return False
    rect = load_page(document, page).rect
    plan = plan_page(rect.width, rect.height, dpi)
    size = header[_PNG_SIZE]
    width, height = int.from_bytes(size[:4], "big"), int.from_bytes(size[4:], "big")
    return abs(width - plan.width) <= 1 and abs(height - plan.height) <= 1


def write_png(path: Path, image: PageImage) -> None:
    """Write a page as PNG, atomically; lossless, with its resolution in it."""
    pymupdf = quiet_pymupdf()
    space = pymupdf.csRGB if image.channels == 3 else pymupdf.csGRAY
    pixels = pymupdf.Pixmap(space, image.width, image.height, image.samples, False)
    pixels.set_dpi(image.dpi, image.dpi)
    with atomic_write(path) as stream:
        stream.write(pixels.tobytes("png"))


def pgm(image: PageImage) -> bytes:
    """A gray page as PGM: the raw pixels behind a line of text, which every OCR program reads."""
    return b"P5 %d %d 255\n" % (image.width, image.height) + image.samples
