"""Windows of pages: what one call works on where a document is long.

Long documents would keep one worker busy while the others have nothing left, and all of one would
be lost with its machine. So engines that read each page for itself work window by window; the
outcomes of a document's windows are put together here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from nclue_reconstruct.outcome import (
    DONE_STATES,
    REPAIRED_REASON,
    DocumentOutcome,
    PageFailure,
    summarise,
)
from nclue_reconstruct.window import WHOLE, Window

MAX_PAGES = 100_000  # a release may say what it likes; the last window takes the rest
ROUNDS = 4  # windows for each worker at least, where pages are few: the last to end is short


def fair_size(n_pages: int, jobs: int, largest: int | None, smallest: int = 1) -> int | None:
    """Pages per window, such that few pages keep all workers busy to the end.

    Args:
        n_pages: Of all documents together, that are left to do.
        jobs: Workers.
        largest: What is best for long work; None: documents are not cut.
        smallest: Below it, starting a window costs more than an idle worker.
    """
    if largest is None or jobs <= 1:
        return largest
    return min(max(-(-n_pages // (ROUNDS * jobs)), smallest), largest)


def windows_of(n_pages: int | None, size: int | None) -> list[Window]:
    """The windows of a document.

    Args:
        n_pages: As far as known. The last window is open, so that a wrong number loses no page.
        size: Pages per window; None for engines that need the whole document.
    """
    if n_pages is None or size is None or n_pages <= size:
        return [WHOLE]
    firsts = range(1, min(n_pages, MAX_PAGES) + 1, size)
    return [*(Window(first, first + size - 1) for first in firsts[:-1]), Window(firsts[-1], None)]


def join(
    parts: Sequence[tuple[Window, DocumentOutcome]], pages_on_disk: Collection[int]
) -> DocumentOutcome:
    """The outcome of a document from those of its windows.

    Args:
        parts: All windows of one document.
        pages_on_disk: The pages that have a result now.
    """
    totals = [outcome.pages_total for _, outcome in parts if outcome.pages_total is not None]
    total = max(totals, default=None)
    seconds = sum(outcome.seconds for _, outcome in parts)
    done = len(pages_on_disk)
    states = {outcome.state for _, outcome in parts}
    if len(states) == 1 and not any(outcome.failures for _, outcome in parts) and not done:
        first = parts[0][1]  # of the document as a whole: it cannot be opened
        return DocumentOutcome(first.state, first.reason, 0, total, seconds)
    failures = [
        failure
        for window, outcome in parts
        for failure in _failures(window, outcome, total, pages_on_disk)
    ]
    is_repaired = any(REPAIRED_REASON in outcome.reason for _, outcome in parts)
    state, reason = summarise(done, failures, is_repaired)
    return DocumentOutcome(state, reason, done, total, seconds, tuple(failures))


def _failures(
    window: Window, outcome: DocumentOutcome, total: int | None, pages_on_disk: Collection[int]
) -> Sequence[PageFailure]:
    """The pages that a window lost: one by one, or all that it had not done when it ended."""
    if outcome.state in DONE_STATES or outcome.failures:
        return outcome.failures
    pages = window.pages(total or window.last or window.first)
    lost = [page for page in pages if page not in pages_on_disk]
    return [PageFailure(page, outcome.state, outcome.reason) for page in lost]
