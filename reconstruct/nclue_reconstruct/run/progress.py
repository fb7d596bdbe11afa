"""How far a step is: documents, pages, rate, time left, failures. Counting, without a display."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from nclue_reconstruct.outcome import DONE_STATES


@dataclass(frozen=True)
class Event:
    """Something ended: a document, or (state None) pages of one."""

    doc_id: str
    state: str | None
    reason: str = ""
    pages: int = 0
    n_bytes: int = 0
    lost: int = 0  # expected pages that will not come (below 0: there were more)
    is_new: bool = True  # False: it was there already, and says nothing of the speed


Tell = Callable[[Event], None]


def silent(_event: object) -> None:
    """Tell nobody."""


class Pace:
    """What a step has done so far, and when it may end.

    Args:
        step: Its name.
        n_documents: In all.
        n_pages: In all, if known for all documents; the time left goes by pages then.
        clock: For tests.
    """

    def __init__(
        self,
        step: str,
        n_documents: int,
        n_pages: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.step = step
        self.n_documents = n_documents
        self.n_pages = n_pages
        self.documents = self.pages = self.n_bytes = self.failed = 0
        self._new_documents = self._new_pages = self._lost = 0
        self._is_over = False
        self._clock = clock
        self._began = clock()

    def add(self, event: Event) -> None:
        """Count an event."""
        self.pages += event.pages
        self.n_bytes += event.n_bytes
        self._new_pages += event.pages * event.is_new
        self._lost += event.lost
        if event.state is not None:
            self.documents += 1
            self._new_documents += event.is_new
            self.failed += event.state not in DONE_STATES

    def end(self) -> None:
        """Nothing more will come: no time is left, whatever was expected."""
        self._is_over = True

    @property
    def seconds(self) -> float:
        """Since the step began."""
        return max(self._clock() - self._began, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        """At the rate so far; None where nothing new has ended yet."""
        if self._is_over or self.documents >= self.n_documents:
            return 0.0
        if self.n_pages and self._new_pages:
            left = max(self.n_pages - self.pages - self._lost, 0)
            return left * self.seconds / self._new_pages
        if self._new_documents:
            return (self.n_documents - self.documents) * self.seconds / self._new_documents
        return None

    def text(self) -> str:
        """One line: "ocr: 3/12 documents, 41/230 pages (2.1/s), 1 failed, 1 min 30 s left"."""
        parts = [f"{self.documents:,}/{self.n_documents:,} documents"]
        if self.pages:
            of = f"/{self.n_pages:,}" if self.n_pages else ""
            rate = f" ({self._new_pages / self.seconds:.1f}/s)" if self._new_pages else ""
            parts.append(f"{self.pages:,}{of} pages{rate}")
        if self.n_bytes:
            parts.append(f"{self.n_bytes / 1e6:,.0f} MB")
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        left = self.seconds_left
        if left:
            parts.append(f"{_spoken(left)} left")
        elif left == 0:
            parts.append(f"in {_spoken(self.seconds)}")
        return f"{self.step}: {', '.join(parts)}"


def _spoken(seconds: float) -> str:
    """A duration as people say it, in its two largest units."""
    total = round(seconds)
    hours, minutes, rest = total // 3600, total // 60 % 60, total % 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
