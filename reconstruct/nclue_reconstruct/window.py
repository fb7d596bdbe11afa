"""A window of pages: what one call works on where a document is long."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Window:
    """Pages ``first`` to ``last`` of a document, 1-based; ``last`` None means to its end."""

    first: int = 1
    last: int | None = None

    def pages(self, total: int) -> range:
        """The pages of the window in a document of so many."""
        last = total if self.last is None else min(self.last, total)
        return range(self.first, last + 1)

    def holds(self, page: int) -> bool:
        """Whether a page is in the window, whatever the length of the document."""
        return self.first <= page and (self.last is None or page <= self.last)


WHOLE = Window()
