"""The OCR engines behind one interface: `text`, `tesseract`, `mineru`; and two for tests.

An engine is a small frozen record (it travels to worker processes); it reads chosen pages of one
document and yields a record, or a failure, for each.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from nclue_core.errors import MissingDependencyError, UsageError
from nclue_core.pages import Block, PageRecord
from nclue_reconstruct import outcome
from nclue_reconstruct.outcome import DocumentError, PageFailure
from nclue_reconstruct.read import mineru_driver, missing, tesseract, textlayer
from nclue_reconstruct.read.pdf_open import open_pdf
from nclue_reconstruct.read.render import PageImage, check_dpi, render_page

ENGINE_NAMES = ("auto", "mineru", "tesseract", "text")
DEFAULT_DPI = 200  # the knee of speed and accuracy for Tesseract

PageResult = PageRecord | PageFailure


@dataclass(frozen=True)
class Engine(ABC):
    """Reads page texts from PDFs."""

    name: ClassVar[str]
    window_pages: ClassVar[int | None] = None  # pages per call; None: the document as a whole

    @abstractmethod
    def version(self) -> str:
        """What stands in the records: program or library, and its version."""

    @abstractmethod
    def check_ready(self) -> None:
        """Check programs, languages and models before any work.

        Raises:
            MissingDependencyError: Something is missing; the message names the command.
        """

    @abstractmethod
    def read(
        self, pdf: Path, doc_id: str, sha256: str, pages: Sequence[int]
    ) -> Iterator[PageResult]:
        """Read the given 1-based pages of one document.

        Raises:
            DocumentError: The document as a whole cannot be read.
        """


def get_engine(
    name: str,
    *,
    lang: str = "eng",
    dpi: int = DEFAULT_DPI,
    page_timeout_s: float | None = None,
    ocr_missing: str | None = None,
    tier: str | None = None,
) -> Engine:
    """The engine of a name.

    Args:
        name: ``text`` (the PDF's own text layer), ``tesseract``, ``mineru``, or ``auto``: MinerU
            where it is installed and its models are ready, else Tesseract. (``null`` and
            ``failing`` are for tests.)
        lang: Languages as Tesseract names them, joined by ``+``.
        dpi: Resolution of what is rendered for Tesseract.
        page_timeout_s: Limit per page; by default that of the engine.
        ocr_missing: For ``text``: the engine for pages without a readable text layer.
        tier: For MinerU 4: flash, basic, standard or advanced.

    Raises:
        UsageError: An unknown name, or options that don't fit it.
    """
    check_dpi(dpi)
    if ocr_missing is not None and name != "text":
        raise UsageError("ocr_missing goes with the engine text: the others read every page")
    if name == "auto":
        return choose_engine(lang=lang, dpi=dpi, page_timeout_s=page_timeout_s, tier=tier)[0]
    if name == "text":
        filler = get_engine(ocr_missing, lang=lang, dpi=dpi) if ocr_missing else None
        return TextEngine(filler)
    if name == "tesseract":
        return TesseractEngine(lang, dpi, page_timeout_s or tesseract.PAGE_TIMEOUT_S)
    if name == "mineru":
        seconds = page_timeout_s or mineru_driver.PAGE_TIMEOUT_S
        return MinerUEngine(lang, seconds, tier or mineru_driver.DEFAULT_TIER)
    if name in ("null", "failing"):
        return NullEngine() if name == "null" else FailingEngine()
    raise UsageError(f"no engine {name!r}; there are: {', '.join(ENGINE_NAMES)}")


def choose_engine(
    *,
    lang: str = "eng",
    dpi: int = DEFAULT_DPI,
    page_timeout_s: float | None = None,
    tier: str | None = None,
) -> tuple[Engine, str]:
    """The engine that ``auto`` means on this machine, and why, as one sentence to print."""
    mineru = get_engine("mineru", lang=lang, dpi=dpi, page_timeout_s=page_timeout_s, tier=tier)
    try:
        mineru.check_ready()
    except MissingDependencyError as err:
        engine = get_engine("tesseract", lang=lang, dpi=dpi, page_timeout_s=page_timeout_s)
        return engine, f"OCR with Tesseract, because MinerU is not ready: {err}"
    return mineru, f"OCR with {mineru.version()}: it is installed and its models are ready"


@dataclass(frozen=True)
class TextEngine(Engine):
    """The text layer of the PDF; pages without one may go to another engine."""

    name: ClassVar[str] = "text"
    ocr_missing: Engine | None = None

    def version(self) -> str:
        """See Engine."""
        return textlayer.engine_version()

    def check_ready(self) -> None:
        """See Engine: only the other engine can be missing."""
        if self.ocr_missing:
            self.ocr_missing.check_ready()

    def read(
        self, pdf: Path, doc_id: str, sha256: str, pages: Sequence[int]
    ) -> Iterator[PageResult]:
        """See Engine; pages that went to OCR come last."""
        wanted = set(pages)
        lacking: dict[int, PageRecord] = {}
        for record in textlayer.extract_document(pdf, doc_id, sha256):
            if record.page not in wanted:
                continue
            if textlayer.is_unreadable(record):
                yield PageFailure(record.page, outcome.BROKEN, textlayer.page_error(record))
            elif self.ocr_missing and missing.lacks_text(record):
                lacking[record.page] = record
            else:
                yield record
        if lacking and self.ocr_missing:
            for result in self.ocr_missing.read(pdf, doc_id, sha256, sorted(lacking)):
                yield missing.better(lacking[result.page], result)


@dataclass(frozen=True)
class TesseractEngine(Engine):
    """Tesseract on rendered pages."""

    name: ClassVar[str] = "tesseract"
    window_pages: ClassVar[int | None] = 20
    lang: str = "eng"
    dpi: int = DEFAULT_DPI
    page_timeout_s: float = tesseract.PAGE_TIMEOUT_S
    library: bool | None = None  # True: tesserocr, False: the program, None: what is there

    def version(self) -> str:
        """See Engine."""
        return self._found().version

    def check_ready(self) -> None:
        """See Engine."""
        self._found()

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
                    yield _ocr_record(doc_id, sha256, image, text, found.version)

    def _found(self) -> tesseract.Tesseract:
        settings = (os.environ.get("PATH"), os.environ.get("TESSDATA_PREFIX"))
        return _find_tesseract(self.lang, self.library, settings)


@lru_cache(maxsize=8)
def _find_tesseract(
    lang: str, library: bool | None, settings: tuple[str | None, ...]
) -> tesseract.Tesseract:
    """Asked once a process for each language (and state of the environment)."""
    return tesseract.find_tesseract(lang, library=library)


def _ocr_record(
    doc_id: str, sha256: str, image: PageImage, found: tesseract.PageText, version: str
) -> PageRecord:
    text = "\n".join(
        block.text for block in found.blocks if block.type not in textlayer.RUNNING_TYPES
    )
    return PageRecord(
        doc_id=doc_id,
        page=image.page,
        text=text,
        blocks=found.blocks,
        width=round(image.width_pt, 2),
        height=round(image.height_pt, 2),
        engine=TesseractEngine.name,
        engine_version=version,
        dpi=image.dpi,
        sha256=sha256,
        has_text=any(c.isalnum() for c in text),
        note=found.note,
    )


@dataclass(frozen=True)
class MinerUEngine(Engine):
    """MinerU, run as a program of its own."""

    name: ClassVar[str] = "mineru"
    # Models are loaded for each call, so it is long; a multiple of what one call of MinerU reads.
    window_pages: ClassVar[int | None] = 2 * mineru_driver.WINDOW_PAGES
    lang: str = "eng"
    page_timeout_s: float = mineru_driver.PAGE_TIMEOUT_S
    tier: str = mineru_driver.DEFAULT_TIER

    def version(self) -> str:
        """See Engine."""
        return mineru_driver.find_mineru().name

    def check_ready(self) -> None:
        """See Engine: the program, and the models that it needs."""
        mineru_driver.check_models(mineru_driver.find_mineru(), self._settings())

    def read(
        self, pdf: Path, doc_id: str, sha256: str, pages: Sequence[int]
    ) -> Iterator[PageResult]:
        """See Engine; MinerU reads windows of pages, of which the wanted ones are kept."""
        mineru = mineru_driver.find_mineru()
        for result in mineru_driver.read_pages(mineru, self._settings(), pdf, pages):
            if isinstance(result, PageFailure):
                yield result
            else:
                yield replace(result, doc_id=doc_id, sha256=sha256)

    def _settings(self) -> mineru_driver.MinerUSettings:
        return mineru_driver.MinerUSettings(self.lang, self.tier, self.page_timeout_s)


@dataclass(frozen=True)
class NullEngine(Engine):
    """Reads nothing and is always right: the rest of the pipeline can be tested with it."""

    name: ClassVar[str] = "null"
    window_pages: ClassVar[int | None] = 5
    seconds_per_page: float = 0.0

    def version(self) -> str:
        """See Engine."""
        return "null 1"

    def check_ready(self) -> None:
        """See Engine: always."""

    def read(
        self, pdf: Path, doc_id: str, sha256: str, pages: Sequence[int]
    ) -> Iterator[PageResult]:
        """See Engine."""
        for page in pages:
            time.sleep(self.seconds_per_page)
            text = f"page {page} of {doc_id}"
            yield PageRecord(
                doc_id, page, text, (Block("text", text),), None, None,
                self.name, self.version(), None, sha256, has_text=True,
            )  # fmt: skip


@dataclass(frozen=True)
class FailingEngine(NullEngine):
    """Fails on chosen pages, in one of the ways in which programs fail."""

    name: ClassVar[str] = "failing"
    how: str = "error"  # error, hang, crash, memory, raise
    fail_pages: tuple[int, ...] = (1,)

    def read(
        self, pdf: Path, doc_id: str, sha256: str, pages: Sequence[int]
    ) -> Iterator[PageResult]:
        """See Engine."""
        for page in pages:
            if page not in self.fail_pages:
                yield from super().read(pdf, doc_id, sha256, [page])
            elif self.how == "error":
                yield PageFailure(page, outcome.ENGINE_FAILED, "failed on purpose")
            else:
                _misbehave(self.how)


def _misbehave(how: str) -> None:
    if how == "hang":
        time.sleep(3600)
    elif how == "crash":
        os.abort()
    elif how == "memory":
        raise MemoryError
    else:
        raise RuntimeError("raised on purpose")
