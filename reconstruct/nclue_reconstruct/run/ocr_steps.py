"""Page texts of one document, onto disk: the unit of work of the OCR step."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from nclue_core.pages import page_files, page_path, write_page
from nclue_reconstruct import outcome
from nclue_reconstruct.limits import report_page
from nclue_reconstruct.outcome import DocumentError, DocumentOutcome, PageFailure
from nclue_reconstruct.read.engine import Engine
from nclue_reconstruct.read.pdf_open import open_pdf
from nclue_reconstruct.window import WHOLE, Window


def ocr_document(
    engine: Engine,
    pdf: Path,
    doc_id: str,
    sha256: str,
    out_dir: Path,
    window: Window = WHOLE,
    skip: Collection[int] = (),
    *,
    resume: bool = True,
) -> DocumentOutcome:
    """Write one record per page to ``<out_dir>/<doc_id>/<page>.json``.

    The page files are the state: what is there (for the same ``sha256``) is not read again, and
    pages that failed have no file, so that another run tries just these. That what is there was
    read under the same settings is for the caller to see to (`page_sets`).

    Args:
        engine: From `engines.get_engine`; its `check_ready` has been called.
        pdf: The file.
        doc_id: Folder name and field of the records.
        sha256: Of the file; pages of another version of it are removed.
        out_dir: The folder ``ocr_<engine>`` of a reconstruction.
        window: The pages that are read; the counts are of these.
        skip: Pages that have results elsewhere; they count as done.
        resume: False reads all pages again.

    Returns:
        ok, partial (the reason names the pages that failed) or the state of the document.

    Raises:
        InputError: ``doc_id`` cannot be a folder name.
        MissingDependencyError: The engine is not ready after all.
    """
    began = time.monotonic()
    folder = page_path(out_dir, doc_id, 1).parent
    total: int | None = None
    done: set[int] = set()
    failures: list[PageFailure] = []
    try:
        with open_pdf(pdf) as document:
            total, is_repaired = document.page_count, bool(document.is_repaired)
        found = finished_pages(folder, total, sha256, window) if resume else set()
        if not resume:
            _remove_pages(folder, window)
        pages = window.pages(total)
        done = {page for page in pages if page in found or page in skip}
        missing = [page for page in pages if page not in done]
        for failure in _write_pages(engine, pdf, doc_id, sha256, missing, out_dir, done):
            failures.append(failure)
    except DocumentError as err:
        return DocumentOutcome(err.state, err.reason, len(done), total, time.monotonic() - began)
    state, reason = outcome.summarise(len(done), failures, is_repaired)
    seconds = time.monotonic() - began
    return DocumentOutcome(state, reason, len(done), total, seconds, tuple(failures))


def _write_pages(
    engine: Engine,
    pdf: Path,
    doc_id: str,
    sha256: str,
    pages: Sequence[int],
    out_dir: Path,
    done: set[int],
) -> Iterator[PageFailure]:
    """Write each page as soon as it is read, note it in ``done``, and yield the failures."""
    if not pages:
        return
    waiting = set(pages)
    for result in engine.read(pdf, doc_id, sha256, pages):
        waiting.discard(result.page)
        if isinstance(result, PageFailure):
            yield result
        else:
            write_page(out_dir, result)
            done.add(result.page)
            report_page(result.page)
    for page in sorted(waiting):
        yield PageFailure(page, outcome.ENGINE_FAILED, "the engine gave no result")


def finished_pages(folder: Path, total: int, sha256: str, window: Window = WHOLE) -> set[int]:
    """The pages of a document that are on disk; those of another file are removed.

    Args:
        folder: ``ocr_<engine>/<doc_id>``.
        total: Pages of the document.
        sha256: Of the PDF that is to be read.
        window: Only the pages of this window are looked at, and removed.
    """
    pages = _pages_on_disk(folder, window)
    if pages and (max(pages) > total or _source_of(pages[min(pages)]) != sha256):
        _remove_pages(folder, window)
        return set()
    return set(pages)


def _pages_on_disk(folder: Path, window: Window) -> dict[int, Path]:
    return {page: path for page, path in page_files(folder, "json") if window.holds(page)}


def _source_of(path: Path) -> str | None:
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["sha256"])
    except (ValueError, KeyError, TypeError):
        return None


def _remove_pages(folder: Path, window: Window) -> None:
    for path in _pages_on_disk(folder, window).values():
        path.unlink()
