"""Engines for tests: one that is always right, and one that fails in the ways of programs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from nclue_core.pages import Block, PageRecord
from nclue_reconstruct import outcome
from nclue_reconstruct.outcome import PageFailure
from nclue_reconstruct.read.engine import Engine, PageResult


@dataclass(frozen=True)
class NullEngine(Engine):
    """Reads nothing and is always right: the rest of the pipeline can be tested with it."""

    name: ClassVar[str] = "null"
    title: ClassVar[str] = "Nothing"
    needs: ClassVar[str] = "nothing"
    window_pages: ClassVar[int | None] = 5
    least_window_pages: ClassVar[int] = 5
    seconds_per_page: ClassVar[float] = 90.0
    pause_s: float = 0.0
    word: str = "page"

    def version(self) -> str:
        return "null 1"

    def check_ready(self) -> None:
        pass

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "word": self.word}

    def read(
        self, pdf: Path, doc_id: str, sha256: str, pages: Sequence[int]
    ) -> Iterator[PageResult]:
        for page in pages:
            time.sleep(self.pause_s)
            yield PageRecord.from_blocks(
                doc_id, page, [Block("text", f"{self.word} {page} of {doc_id}")],
                engine=self.name, engine_version=self.version(), sha256=sha256,
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
