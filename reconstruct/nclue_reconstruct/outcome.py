"""What became of one document in one step: a state, a reason, and how many pages.

A document that fails is data, not an exception that stops the run: every state below is printed
by `status` and stands in the manifest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from nclue_core.errors import NClueError

OK = "ok"
REPAIRED = "repaired"  # all pages done, of a damaged file that MuPDF repaired: text may be missing
PARTIAL = "partial"  # some pages done, the reason names the others
PASSWORD_REQUIRED = "password_required"  # noqa: S105 - a state, not a password
BROKEN = "broken"  # a PDF that cannot be opened, or none of whose pages can be read
NO_PAGES = "no_pages"
NOT_PDF = "not_pdf"
MISSING = "missing"  # no such file
TIMEOUT = "timeout"
OUT_OF_MEMORY = "out_of_memory"
CRASHED = "crashed"  # the process that worked on it died
ENGINE_FAILED = "engine_failed"  # the OCR program ended without a usable result

DOCUMENT_STATES = (
    OK, REPAIRED, PARTIAL, PASSWORD_REQUIRED, BROKEN, NO_PAGES, NOT_PDF, MISSING, TIMEOUT,
    OUT_OF_MEMORY, CRASHED, ENGINE_FAILED,
)  # fmt: skip

DONE_STATES = frozenset([OK, REPAIRED])
REPAIRED_REASON = "the file is damaged and was repaired; pages may be incomplete"

# Another try cannot change these: the file itself has to change.
PERMANENT_STATES = frozenset([PASSWORD_REQUIRED, BROKEN, NO_PAGES, NOT_PDF])


class PageFailure(NamedTuple):
    """A page that has no result."""

    page: int  # 1-based
    state: str  # one of DOCUMENT_STATES
    reason: str


@dataclass(frozen=True)
class DocumentOutcome:
    """The end of one step (text, render, OCR) for one document."""

    state: str  # one of DOCUMENT_STATES
    reason: str  # empty where the state is ok; else one sentence for a reader
    pages_done: int  # pages whose result is on disk, from this run or an earlier one
    pages_total: int | None  # None where the document could not be opened
    seconds: float  # wall clock time of this run
    failures: tuple[PageFailure, ...] = ()  # the pages that have no result

    def to_json(self) -> dict[str, Any]:
        """As the manifest has it: the reason names the pages that failed."""
        row = asdict(self)
        del row["failures"]
        return row


class DocumentError(NClueError):
    """One document cannot be worked on; ``state`` is one of DOCUMENT_STATES."""

    def __init__(self, state: str, reason: str) -> None:
        self.state = state
        self.reason = reason
        super().__init__(f"{state}: {reason}")


def summarise(
    pages_done: int, failures: Sequence[PageFailure], is_repaired: bool = False
) -> tuple[str, str]:
    """State and reason of a document from its pages.

    Returns:
        ``ok``, or ``repaired``; ``partial`` where some pages have results and some not; where
        none has, the state that its pages share (``engine_failed`` where they differ).
        The reason names the pages.
    """
    if not failures:
        return (REPAIRED, REPAIRED_REASON) if is_repaired else (OK, "")
    states = {failure.state for failure in failures}
    by_reason: dict[str, list[int]] = defaultdict(list)
    for failure in failures:
        by_reason[failure.reason].append(failure.page)
    told = [f"{name_pages(pages)}: {reason}" for reason, pages in by_reason.items()]
    more = f"; and {len(told) - 5} more reasons" if len(told) > 5 else ""
    reason = "; ".join(told[:5]) + more + (f"; {REPAIRED_REASON}" if is_repaired else "")
    if pages_done:
        return PARTIAL, reason
    return (states.pop() if len(states) == 1 else ENGINE_FAILED), reason


def name_pages(pages: Sequence[int]) -> str:
    """Page numbers as people write them: "page 3", "pages 1-4, 7"."""
    runs: list[list[int]] = []
    for page in sorted(set(pages)):
        if runs and page == runs[-1][-1] + 1:
            runs[-1][1:] = [page]
        else:
            runs.append([page])
    listed = ", ".join("-".join(map(str, run)) for run in runs)
    return f"page {listed}" if len(pages) == 1 else f"pages {listed}"
