"""Tesseract on rendered pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from nclue_core.pages import PageRecord
from nclue_reconstruct.outcome import DocumentError, PageFailure
from nclue_reconstruct.read import tesseract
from nclue_reconstruct.read.engine import Engine, PageResult, option
from nclue_reconstruct.read.pdf_open import open_pdf
from nclue_reconstruct.read.render import PageImage, check_dpi, render_page

DEFAULT_DPI = 200  # the knee of speed and accuracy for Tesseract


@dataclass(frozen=True)
class TesseractEngine(Engine):
    """The program, or its library where tesserocr is installed."""

    name: ClassVar[str] = "tesseract"
    title: ClassVar[str] = "Tesseract"
    needs: ClassVar[str] = "the program tesseract and data of the languages; for OCR of scans"
    window_pages: ClassVar[int | None] = 20
    least_window_pages: ClassVar[int] = 2
    seconds_per_page: ClassVar[float] = 90.0
    lang: str = option("eng", "Languages as Tesseract names them, joined by +")
    dpi: int = option(DEFAULT_DPI, "Resolution of rendering")
    page_timeout_s: float = option(tesseract.PAGE_TIMEOUT_S, "Seconds that a page may take")
    library: bool | None = None  # True: tesserocr, False: the program, None: what is there
    found: tesseract.Tesseract | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """See Engine; the resolution must be one that somebody means."""
        super().__post_init__()
        check_dpi(self.dpi)

    def version(self) -> str:
        """See Engine."""
        return self._found().version

    def check_ready(self) -> None:
        """See Engine."""
        self._found()

    def details(self) -> str:
        """See Engine."""
        return f"languages: {', '.join(self._found().languages)}"

    def prepared(self) -> TesseractEngine:
        """See Engine."""
        return replace(self, found=self._found())

    def settings(self) -> dict[str, Any]:
        """See Engine: languages have data of several qualities under one name."""
        return {
            **super().settings(),
            "lang": self.lang,
            "dpi": self.dpi,
            "data": tesseract.data_version(self._found()),
        }

    def read(
        self, pdf: Path, doc_id: str, sha256: str, pages: Sequence[int]
    ) -> Iterator[PageResult]:
        """See Engine."""
        found = self._found()
        with open_pdf(pdf) as document:
            for page in pages:
                try:
                    image = render_page(document, page, self.dpi)
                    text = tesseract.read_page(image, found, self.page_timeout_s)
                except DocumentError as err:
                    yield PageFailure(page, err.state, err.reason)
                else:
                    yield _record(doc_id, sha256, image, text, found.version)

    def _found(self) -> tesseract.Tesseract:
        if self.found is not None and shutil.which(self.found.program):
            return self.found  # found by whoever sent us, on a machine like this one
        settings = (os.environ.get("PATH"), os.environ.get("TESSDATA_PREFIX"))
        return _find_tesseract(self.lang, self.library, settings)


@lru_cache(maxsize=8)
def _find_tesseract(
    lang: str, library: bool | None, settings: tuple[str | None, ...]
) -> tesseract.Tesseract:
    """Asked once a process for each language (and state of the environment)."""
    return tesseract.find_tesseract(lang, library=library)


def _record(
    doc_id: str, sha256: str, image: PageImage, found: tesseract.PageText, version: str
) -> PageRecord:
    return PageRecord.from_blocks(
        doc_id,
        image.page,
        found.blocks,
        width=round(image.width_pt, 2),
        height=round(image.height_pt, 2),
        engine=TesseractEngine.name,
        engine_version=version,
        dpi=image.dpi,
        sha256=sha256,
        note=found.note,
    )
