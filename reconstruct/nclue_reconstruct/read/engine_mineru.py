"""MinerU, run as a program of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from nclue_reconstruct.outcome import PageFailure
from nclue_reconstruct.read import mineru_driver
from nclue_reconstruct.read.engine import Engine, PageResult, option


@dataclass(frozen=True)
class MinerUEngine(Engine):
    """The study's engine. Models are loaded for each call, so its windows are long."""

    name: ClassVar[str] = "mineru"
    title: ClassVar[str] = "MinerU"
    needs: ClassVar[str] = "MinerU and its models; the study's OCR engine"
    window_pages: ClassVar[int | None] = 2 * mineru_driver.WINDOW_PAGES  # of what one call reads
    least_window_pages: ClassVar[int] = mineru_driver.WINDOW_PAGES
    seconds_per_page: ClassVar[float] = 240.0
    lang: str = option("eng", "Languages as Tesseract names them, joined by +")
    page_timeout_s: float = option(mineru_driver.PAGE_TIMEOUT_S, "Seconds that a page may take")
    tier: str = option(mineru_driver.DEFAULT_TIER, "Of MinerU 4", mineru_driver.TIERS)
    found: mineru_driver.MinerU | None = field(default=None, compare=False, repr=False)

    def version(self) -> str:
        """See Engine."""
        return self._found().name

    def check_ready(self) -> None:
        """See Engine: the program, and the models that it needs."""
        mineru_driver.check_models(self._found(), self._settings())

    def prepared(self) -> MinerUEngine:
        """See Engine."""
        return replace(self, found=self._found())

    def settings(self) -> dict[str, Any]:
        """See Engine."""
        return {**super().settings(), "lang": self.lang, "tier": self.tier}

    def read(
        self, pdf: Path, doc_id: str, sha256: str, pages: Sequence[int]
    ) -> Iterator[PageResult]:
        """See Engine; MinerU reads windows of pages, of which the wanted ones are kept."""
        for result in mineru_driver.read_pages(self._found(), self._settings(), pdf, pages):
            if isinstance(result, PageFailure):
                yield result
            else:
                yield replace(result, doc_id=doc_id, sha256=sha256)

    def _found(self) -> mineru_driver.MinerU:
        if self.found is not None and shutil.which(self.found.program):
            return self.found  # found by whoever sent us, on a machine like this one
        return mineru_driver.find_mineru()

    def _settings(self) -> mineru_driver.MinerUSettings:
        return mineru_driver.MinerUSettings(self.lang, self.tier, self.page_timeout_s)
