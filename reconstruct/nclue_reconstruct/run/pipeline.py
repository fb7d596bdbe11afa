"""The steps of a reconstruction, in order: fetch, verify, render, OCR, pages."""

from __future__ import annotations

import contextlib
import sys
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from nclue_core.files import sha256_file
from nclue_core.pages import page_path
from nclue_core.schema import CorpusDocument
from nclue_reconstruct.fetch.pdf_store import recalled, remember
from nclue_reconstruct.fetch.states import CHANGED, GONE, OK, TRUNCATED, FetchResult
from nclue_reconstruct.outcome import OK as DONE
from nclue_reconstruct.outcome import DocumentOutcome
from nclue_reconstruct.read.engines import Engine
from nclue_reconstruct.read.render import render_document
from nclue_reconstruct.run.executors import Call, Cluster, run_calls
from nclue_reconstruct.run.fetching import fetch_documents, judge
from nclue_reconstruct.run.limits import document_timeout_s
from nclue_reconstruct.run.ocr_steps import finished_pages, ocr_document
from nclue_reconstruct.run.progress import Event, Tell, silent
from nclue_reconstruct.run.staging import InFile, OutFolder
from nclue_reconstruct.run.windows import Window, join, windows_of
from nclue_reconstruct.run.workspace import Workspace, page_files

__all__ = [
    "Parallel",
    "fetch_documents",
    "ocr_documents",
    "render_documents",
    "verify_documents",
]

SECONDS_PER_PAGE = {"text": 5.0, "tesseract": 90.0, "mineru": 240.0}
RENDER_SECONDS_PER_PAGE = 30.0
RENDER_WINDOW_PAGES = 20


@dataclass(frozen=True)
class Parallel:
    """How many at once, and where."""

    jobs: int = 1
    engine: str = "local"
    memory_mb: int = 4096
    cluster: Cluster = field(default_factory=Cluster)

    @property
    def apart(self) -> bool:
        """Whether workers have disks of their own."""
        return self.engine == "ray" and self.cluster.storage == "node"


def verify_documents(
    documents: Sequence[CorpusDocument], workspace: Workspace, *, tell: Tell = silent
) -> dict[str, FetchResult]:
    """Hash every PDF that is there and compare; nothing is fetched or removed."""
    results = {}
    for document in documents:
        result = judge(document, mirror="") or _verify_one(document, workspace.pdf(document.doc_id))
        results[document.doc_id] = result
        workspace.record(document.doc_id, "fetch", asdict(result))
        tell(Event(document.doc_id, result.state, result.reason, n_bytes=result.n_bytes or 0))
    workspace.save()
    return results


def _verify_one(document: CorpusDocument, target: Path) -> FetchResult:
    if not target.is_file():
        return FetchResult(GONE, "not fetched yet")
    found, n_bytes = sha256_file(target), target.stat().st_size
    if document.sha256 is not None and found != document.sha256:
        reason = f"{target}: expected SHA-256 {document.sha256}, found {found}"
        return FetchResult(CHANGED, reason, n_bytes, found)
    if document.sha256 is None and document.n_bytes not in (None, n_bytes):
        state = TRUNCATED if n_bytes < (document.n_bytes or 0) else CHANGED
        reason = f"{target}: expected {document.n_bytes:,} bytes, found {n_bytes:,}"
        return FetchResult(state, reason, n_bytes, found)
    remember(target, n_bytes, found)
    return FetchResult(OK, "", n_bytes, found)


def render_documents(
    documents: Sequence[CorpusDocument],
    workspace: Workspace,
    *,
    dpi: int,
    parallel: Parallel,
    tell: Tell = silent,
) -> dict[str, DocumentOutcome]:
    """Render the pages of every fetched document to ``pages/<doc_id>/<page>.png``."""
    work = _Work(workspace, "render", workspace.pages(), "png", {"dpi": dpi}, parallel, tell)
    for document, pdf, sha256 in _fetched(documents, workspace):
        if work.is_done(document.doc_id, sha256):
            continue
        # A picture does not tell of which file it is; one of another size is made again.
        if work.is_of_another(document.doc_id, sha256):
            work.remove(document.doc_id)
        # Only workers without our disk must be told what is there.
        told = parallel.apart and work.is_same(document.doc_id, sha256)
        skip = work.on_disk(document.doc_id) if told else set()
        for window in windows_of(document.n_pages, RENDER_WINDOW_PAGES):
            arguments = (InFile(pdf), OutFolder(workspace.pages()), dpi, document.doc_id, window)
            mine = frozenset(page for page in skip if window.holds(page))
            timeout_s = _timeout_s(document, window, RENDER_SECONDS_PER_PAGE, 60.0)
            work.add(document, sha256, Call(
                document.doc_id, _render, (*arguments, mine), timeout_s, window
            ))  # fmt: skip
    return work.run()


def _render(
    pdf: Path, out: Path, dpi: int, doc_id: str, window: Window, skip: frozenset[int]
) -> DocumentOutcome:
    return render_document(pdf, out, dpi, doc_id=doc_id, window=window, skip=skip)


def ocr_documents(
    documents: Sequence[CorpusDocument],
    workspace: Workspace,
    engine: Engine,
    *,
    parallel: Parallel,
    tell: Tell = silent,
) -> dict[str, DocumentOutcome]:
    """Read the page texts of every fetched document into ``ocr_<engine>/<doc_id>/<page>.json``.

    Raises:
        MissingDependencyError: The engine is not ready (nothing has been done then).
    """
    engine.check_ready()
    out = workspace.ocr(engine.name)
    more = {"engine": engine.version()}
    work = _Work(workspace, f"ocr_{engine.name}", out, "json", more, parallel, tell)
    for document, pdf, sha256 in _fetched(documents, workspace):
        if work.is_done(document.doc_id, sha256):
            continue
        skip: set[int] = set()
        if parallel.apart:  # workers cannot see, or remove, what is there
            folder = page_path(out, document.doc_id, 1).parent
            skip = finished_pages(folder, sys.maxsize, sha256)
        for window in windows_of(document.n_pages, engine.window_pages):
            arguments = (engine, InFile(pdf), document.doc_id, sha256, OutFolder(out), window)
            per_page = SECONDS_PER_PAGE.get(engine.name, 90.0)
            timeout_s = _timeout_s(document, window, per_page, 300.0)
            mine = frozenset(page for page in skip if window.holds(page))
            work.add(document, sha256, Call(
                document.doc_id, _ocr, (*arguments, mine), timeout_s, window
            ))  # fmt: skip
    return work.run()


def _ocr(
    engine: Engine,
    pdf: Path,
    doc_id: str,
    sha256: str,
    out: Path,
    window: Window,
    skip: frozenset[int],
) -> DocumentOutcome:
    return ocr_document(engine, pdf, doc_id, sha256, out, window=window, skip=skip)


def _fetched(
    documents: Sequence[CorpusDocument], workspace: Workspace
) -> list[tuple[CorpusDocument, Path, str]]:
    """The documents whose PDFs are there and right, with path and hash."""
    found = []
    for document in documents:
        if judge(document, mirror="") is not None:  # a row whose ID or hash is none
            continue
        pdf = workspace.pdf(document.doc_id)
        if pdf.is_file():
            sha256 = recalled(pdf) or sha256_file(pdf)
            if document.sha256 in (None, sha256):
                found.append((document, pdf, sha256))
    return found


def _timeout_s(document: CorpusDocument, window: Window, per_page_s: float, base_s: float) -> float:
    n_pages = document.n_pages
    if n_pages is not None:
        n_pages = max(len(window.pages(n_pages)), 1)
    return document_timeout_s(n_pages, per_page_s, base_s=base_s)


class _Work:
    """The calls of one step, and what becomes of the documents.

    Args:
        workspace: Where outcomes are recorded.
        step: Name of the step in the manifest.
        folder: Where its results lie, a folder per document.
        suffix: Of its files.
        more: Facts that go into the record; results under other facts are made again, or at
            least looked at again.
        parallel: How to run.
        tell: Called as windows and documents end.
    """

    def __init__(
        self,
        workspace: Workspace,
        step: str,
        folder: Path,
        suffix: str,
        more: dict[str, Any],
        parallel: Parallel,
        tell: Tell,
    ) -> None:
        self._workspace = workspace
        self._step = step
        self._folder = folder
        self._suffix = suffix
        self._more = more
        self._parallel = parallel
        self._tell = tell
        self._calls: list[Call] = []
        self._hashes: dict[str, str] = {}
        self._left: dict[str, int] = defaultdict(int)
        self._parts: dict[str, list[tuple[Window, DocumentOutcome]]] = defaultdict(list)
        self._results: dict[str, DocumentOutcome] = {}

    def is_same(self, doc_id: str, sha256: str) -> bool:
        """Whether what was recorded is of this file, made in this way."""
        row = self._workspace.outcome(doc_id, self._step) or {}
        return {**row, **self._more, "sha256": sha256} == row

    def is_of_another(self, doc_id: str, sha256: str) -> bool:
        """Whether what was recorded is of another file."""
        row = self._workspace.outcome(doc_id, self._step)
        return row is not None and row.get("sha256", sha256) != sha256

    def remove(self, doc_id: str) -> None:
        """Remove the results of a document."""
        for _, path in list(page_files(page_path(self._folder, doc_id, 1).parent, self._suffix)):
            path.unlink()

    def on_disk(self, doc_id: str) -> set[int]:
        """The pages that have a result."""
        folder = page_path(self._folder, doc_id, 1).parent
        return {page for page, _ in page_files(folder, self._suffix)}

    def is_done(self, doc_id: str, sha256: str) -> bool:
        """Whether a document needs no call: so it was recorded, and its files are all there."""
        row = self._workspace.outcome(doc_id, self._step)
        if row is None or row["state"] != DONE or not self.is_same(doc_id, sha256):
            return False
        if len(self.on_disk(doc_id)) != row["pages_total"]:
            return False
        self._results[doc_id] = DocumentOutcome(DONE, "", row["pages_done"], row["pages_done"], 0.0)
        self._tell(Event(doc_id, DONE, "", pages=row["pages_done"], is_new=False))
        return True

    def add(self, document: CorpusDocument, sha256: str, call: Call) -> None:
        """A call to run."""
        self._calls.append(call)
        self._hashes[document.doc_id] = sha256
        self._left[document.doc_id] += 1

    def run(self) -> dict[str, DocumentOutcome]:
        """Run the calls; the outcome of every document, also of those that needed none."""
        if not self._calls:
            self._workspace.save()
            return self._results
        # Long calls first, so that the last ones to end are short and all workers stay busy.
        running = run_calls(
            sorted(self._calls, key=lambda call: -call.timeout_s),
            engine=self._parallel.engine,
            jobs=self._parallel.jobs,
            memory_mb=self._parallel.memory_mb,
            cluster=self._parallel.cluster,
        )
        with contextlib.closing(running):  # type: ignore[type-var]
            try:
                for call, outcome in running:
                    self._ended(call, outcome)
            finally:
                self._workspace.save()
        return self._results

    def _ended(self, call: Call, outcome: DocumentOutcome) -> None:
        parts = self._parts[call.doc_id]
        parts.append((call.window, outcome))
        self._left[call.doc_id] -= 1
        if self._left[call.doc_id]:
            self._tell(Event(call.doc_id, None, "", pages=outcome.pages_done))
            return
        whole = _joined(parts, self.on_disk(call.doc_id))
        self._results[call.doc_id] = whole
        row = {**whole.to_json(), **self._more, "sha256": self._hashes[call.doc_id]}
        self._workspace.record(call.doc_id, self._step, row)
        self._tell(Event(call.doc_id, whole.state, whole.reason, pages=outcome.pages_done))


def _joined(
    parts: Sequence[tuple[Window, DocumentOutcome]], on_disk: Collection[int]
) -> DocumentOutcome:
    if len(parts) == 1:  # of a call that was ended, only the disk knows what it had done
        outcome = parts[0][1]
        return replace(outcome, pages_done=max(outcome.pages_done, len(on_disk)))
    return join(sorted(parts, key=lambda part: part[0].first), on_disk)
