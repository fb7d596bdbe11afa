"""The text layer of the PDF; pages without one may go to another engine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from nclue_core.pages import PageRecord
from nclue_reconstruct import outcome
from nclue_reconstruct.outcome import PageFailure
from nclue_reconstruct.read import missing, textlayer
from nclue_reconstruct.read.engine import Engine, PageResult

_OTHERS = ("engine_tesseract", "engine_mineru", "engines", "mineru", "render", "tesseract")


@dataclass(frozen=True)
class TextEngine(Engine):
    """Reads documents as a whole: running headers show only there."""

    name: ClassVar[str] = "text"
    title: ClassVar[str] = "The text layer"
    needs: ClassVar[str] = "nothing more; for born-digital PDFs"
    seconds_per_page: ClassVar[float] = 5.0
    from_pixels: ClassVar[bool] = False
    ocr_missing: Engine | None = None  # None: pages without text stay empty

    def version(self) -> str:
        """See Engine."""
        return textlayer.engine_version()

    def check_ready(self) -> None:
        """See Engine: only the other engine can be missing."""
        if self.ocr_missing:
            self.ocr_missing.check_ready()

    def prepared(self) -> TextEngine:
        """See Engine."""
        return replace(self, ocr_missing=self.ocr_missing and self.ocr_missing.prepared())

    def settings(self) -> dict[str, Any]:
        """See Engine: also those of the other engine.

        Reading anew is quick, so any change of our code counts, and nobody need remember it.
        """
        filler = self.ocr_missing.settings() if self.ocr_missing else None
        return {**super().settings(), "reading": code_version(), "ocr_missing": filler}

    def limit_s(self, pages: int | None) -> float:
        """See Engine: each page may have to go to the other engine."""
        return super().limit_s(pages) + (self.ocr_missing.limit_s(pages) if self.ocr_missing else 0)

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


@lru_cache(maxsize=1)
def code_version() -> str:
    """Of the code that reads text layers: a hash over its files (all but the other engines')."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if not path.stem.startswith(_OTHERS):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]
