"""Open a PDF with PyMuPDF, or say in one word and one sentence why it cannot be read."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nclue_reconstruct import outcome
from nclue_reconstruct.outcome import DocumentError
from nclue_reconstruct.read.page_boxes import mend_boxes

_CODE = re.compile(r"\bcode=\d+: ?")
HEADER_WINDOW = 1024  # readers accept junk before %PDF-, but not more than this
MAX_PAGES = 100_000  # a damaged or malicious file can declare billions


@contextlib.contextmanager
def open_pdf(path: Path) -> Iterator[Any]:
    """Open a PDF; yields a ``pymupdf.Document`` that has pages and needs no password.

    Encrypted files with an empty user password open like any other. A damaged file is repaired
    by MuPDF where it can (``document.is_repaired``).

    Raises:
        DocumentError: The state is missing, not_pdf, broken, password_required or no_pages.
    """
    check_header(path)
    pymupdf = quiet_pymupdf()
    try:
        document = pymupdf.open(path, filetype="pdf")
    except Exception as err:  # MuPDF raises several families of errors, some bare RuntimeError
        raise DocumentError(outcome.BROKEN, f"cannot be opened: {one_line(err)}") from None
    try:
        _check_document(document)
        yield document
    finally:
        document.close()


def check_header(path: Path) -> None:
    """Refuse what is not a PDF by its first bytes; MuPDF would render an HTML page as one.

    Raises:
        DocumentError: The state is missing or not_pdf.
    """
    try:
        with path.open("rb") as stream:
            head = stream.read(HEADER_WINDOW + 5)
    except FileNotFoundError:
        raise DocumentError(outcome.MISSING, f"no such file: {path.name}") from None
    except OSError as err:
        raise DocumentError(outcome.MISSING, f"cannot be read: {err.strerror}") from None
    if not head:
        raise DocumentError(outcome.NOT_PDF, "the file is empty")
    if b"%PDF-" not in head:
        kind = "an HTML page" if b"<html" in head[:512].lower() else f"begins with {head[:12]!r}"
        raise DocumentError(outcome.NOT_PDF, f"no PDF header in the first bytes ({kind})")


def load_page(document: Any, page: int) -> Any:
    """Load a page by its 1-based number; boxes that no page can have are put right.

    Raises:
        DocumentError: The page cannot be read (state broken). MuPDF shows a page whose object was
            lost (a file cut short) as a blank one; here it is an error.
    """
    try:
        loaded = document.load_page(page - 1)
        _ = loaded.rect
        is_there = not document.is_repaired or _has_object(document, loaded.xref)
        if is_there and mend_boxes(document, loaded):
            loaded = document.load_page(page - 1)
    except Exception as err:  # MuPDF's errors have no common base in all versions
        raise DocumentError(outcome.BROKEN, f"cannot be read: {one_line(err)}") from None
    if not is_there:
        raise DocumentError(outcome.BROKEN, "cannot be read: its object is missing from the file")
    return loaded


def _has_object(document: Any, xref: int) -> bool:
    try:
        return bool(document.xref_get_keys(xref))
    except Exception:  # the number is outside of the repaired table
        return False


def quiet_pymupdf() -> Any:
    """The module pymupdf, with MuPDF's own messages kept off stderr."""
    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    return pymupdf


def one_line(err: BaseException, width: int = 160) -> str:
    """An error's message on one line, without MuPDF's error codes and the paths of this machine."""
    text = _CODE.sub("", " ".join(str(err).split())) or type(err).__name__
    if text.startswith("Failed to open"):
        return "damaged beyond repair"
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _check_document(document: Any) -> None:
    if document.needs_pass:
        raise DocumentError(
            outcome.PASSWORD_REQUIRED, "encrypted; a password is required to open it"
        )
    try:
        pages = document.page_count
    except Exception as err:
        raise DocumentError(outcome.BROKEN, f"pages cannot be counted: {one_line(err)}") from None
    if pages < 1:
        raise DocumentError(outcome.NO_PAGES, "the document has no pages")
    if pages > MAX_PAGES:
        raise DocumentError(
            outcome.BROKEN, f"declares {pages:,} pages; more than {MAX_PAGES:,} is not believed"
        )
