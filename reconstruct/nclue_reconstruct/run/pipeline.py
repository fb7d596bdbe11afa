"""The steps of a reconstruction, in order: fetch, verify, render, OCR, pages."""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from nclue_core.files import sha256_file
from nclue_core.schema import CorpusDocument
from nclue_reconstruct.fetch.pdf_store import recalled, remember
from nclue_reconstruct.fetch.states import CHANGED, GONE, OK, TRUNCATED, FetchResult
from nclue_reconstruct.limits import document_timeout_s
from nclue_reconstruct.outcome import OK as DONE
from nclue_reconstruct.outcome import DocumentOutcome
from nclue_reconstruct.read.engine import Engine
from nclue_reconstruct.read.render import render_document
from nclue_reconstruct.read.textlayer import engine_version
from nclue_reconstruct.run.executors import Call, Cluster, run_calls
from nclue_reconstruct.run.fetching import fetch_documents, judge
from nclue_reconstruct.run.ocr_steps import ocr_document
from nclue_reconstruct.run.page_sets import PageSets
from nclue_reconstruct.run.progress import Event, Tell, silent
from nclue_reconstruct.run.staging import InFile, OutFolder
from nclue_reconstruct.run.windows import fair_size, join, windows_of
from nclue_reconstruct.run.workspace import Workspace
from nclue_reconstruct.window import WHOLE, Window

__all__ = [
    "Parallel",
    "fetch_documents",
    "fetched",
    "ocr_documents",
    "render_documents",
    "verify_documents",
]

RENDERING = "1"  # of our own code: raise it when the same page gives another picture
RENDER_SECONDS_PER_PAGE = 30.0
RENDER_WINDOW_PAGES = 20
RENDER_LEAST_PAGES = 4

Say = Callable[[str], None]


@dataclass(frozen=True)
class Parallel:
    """How many at once, and where."""

    jobs: int = 1
    executor: str = "process"
    memory_mb: int = 4096
    cluster: Cluster = field(default_factory=Cluster)

    @property
    def apart(self) -> bool:
        """Whether workers have disks of their own."""
        return self.executor == "ray" and self.cluster.storage == "node"


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


@dataclass(frozen=True)
class _Step:
    """What `render_documents` and `ocr_documents` differ in."""

    name: str  # in the manifest
    folder: Path  # of its results, a folder per document
    suffix: str  # of its files
    settings: dict[str, Any]  # all that shapes them, apart from the PDF
    record: dict[str, Any]  # what the manifest says of them
    largest: int | None  # pages of a window
    smallest: int
    function: Callable[..., DocumentOutcome]
    arguments: Callable[[str, Path, str], tuple[Any, ...]]  # of a document, its PDF, and its hash
    limit_s: Callable[[int | None], float]  # for so many pages


def render_documents(
    documents: Sequence[CorpusDocument],
    workspace: Workspace,
    *,
    dpi: int,
    parallel: Parallel,
    tell: Tell = silent,
    say: Say = silent,
) -> dict[str, DocumentOutcome]:
    """Render the pages of every fetched document to ``pages/<doc_id>/<page>.png``.

    Args:
        documents: Those whose PDFs are not there, or not right, are passed over.
        workspace: Where.
        dpi: Resolution; pictures of another one are set aside.
        parallel: How many at once, and where.
        tell: Called as pages and documents end.
        say: Called with what users must know, as that pages are made again.
    """
    out = workspace.pages()
    step = _Step(
        name="render",
        folder=out,
        suffix="png",
        settings={"dpi": dpi, "format": "png", "version": engine_version(), "reading": RENDERING},
        record={"dpi": dpi},
        largest=RENDER_WINDOW_PAGES,
        smallest=RENDER_LEAST_PAGES,
        function=render_document,
        arguments=lambda doc_id, pdf, sha256: (InFile(pdf), OutFolder(out), dpi, doc_id),
        limit_s=lambda pages: document_timeout_s(pages, RENDER_SECONDS_PER_PAGE),
    )
    return _Work(step, workspace, parallel, tell).run(fetched(documents, workspace), say)


def ocr_documents(
    documents: Sequence[CorpusDocument],
    workspace: Workspace,
    engine: Engine,
    *,
    parallel: Parallel,
    tell: Tell = silent,
    say: Say = silent,
) -> dict[str, DocumentOutcome]:
    """Read the page texts of every fetched document into ``ocr_<engine>/<doc_id>/<page>.json``.

    Args:
        documents: Those whose PDFs are not there, or not right, are passed over.
        workspace: Where.
        engine: Texts that were read under other settings than its are set aside.
        parallel: How many at once, and where.
        tell: Called as pages and documents end.
        say: Called with what users must know, as that pages are read again.

    Raises:
        MissingDependencyError: The engine is not ready (nothing has been done then).
    """
    engine.check_ready()
    ready, out = engine.prepared(), workspace.ocr(engine.name)
    step = _Step(
        name=f"ocr_{engine.name}",
        folder=out,
        suffix="json",
        settings=ready.settings(),
        record={"engine": ready.version()},
        largest=engine.window_pages,
        smallest=engine.least_window_pages,
        function=ocr_document,
        arguments=lambda doc_id, pdf, sha: (ready, InFile(pdf), doc_id, sha, OutFolder(out)),
        limit_s=ready.limit_s,
    )
    return _Work(step, workspace, parallel, tell).run(fetched(documents, workspace), say)


Fetched = tuple[CorpusDocument, Path, str]


def fetched(documents: Sequence[CorpusDocument], workspace: Workspace) -> list[Fetched]:
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


class _Work:
    """The calls of one step, and what becomes of the documents."""

    def __init__(self, step: _Step, workspace: Workspace, parallel: Parallel, tell: Tell) -> None:
        self._step = step
        self._workspace = workspace
        self._parallel = parallel
        self._tell = tell
        self._sets = PageSets(workspace, step.name, step.folder, step.suffix, step.settings)
        self._records: dict[str, dict[str, Any]] = {}  # facts for the manifest
        self._expected: dict[str, int | None] = {}  # pages, by the release
        self._told: Counter[str] = Counter()  # pages
        self._left: Counter[str] = Counter()  # calls
        self._parts: dict[str, list[tuple[Window, DocumentOutcome]]] = defaultdict(list)
        self._results: dict[str, DocumentOutcome] = {}

    def run(self, documents: Sequence[Fetched], say: Say) -> dict[str, DocumentOutcome]:
        """Run what is left to do; the outcome of every document, also of those done before."""
        left = [one for one in documents if not self._is_done(one[0], one[2])]
        for change in self._sets.changes():
            say(change)
        calls = self._calls(left)
        self._workspace.save()
        if calls:
            self._run(calls)
        self._workspace.save()
        return self._results

    def _is_done(self, document: CorpusDocument, sha256: str) -> bool:
        """Whether a document needs no call: so it was recorded, and its files are all there."""
        doc_id = document.doc_id
        made_by = self._sets.claim(doc_id, sha256)
        self._records[doc_id] = {**self._step.record, "settings": made_by, "sha256": sha256}
        self._expected[doc_id] = document.n_pages
        row = self._workspace.outcome(doc_id, self._step.name)
        if row is not None and row.get("settings") != made_by:
            self._workspace.forget(doc_id, self._step.name)  # `status` would say that it is done
        if row is None or row["state"] != DONE or {**row, **self._records[doc_id]} != row:
            return False
        if len(self._sets.pages(doc_id)) != row["pages_total"]:
            return False
        done = row["pages_done"]
        self._results[doc_id] = DocumentOutcome(DONE, "", done, done, 0.0)
        lost = (document.n_pages or done) - done
        self._tell(Event(doc_id, DONE, "", pages=done, lost=lost, is_new=False))
        return True

    def _calls(self, documents: Sequence[Fetched]) -> list[Call]:
        """Windows of what is left, long ones first: the last to end are short, so all stay busy."""
        there = {document.doc_id: self._sets.pages(document.doc_id) for document, _, _ in documents}
        n_left = sum(
            max((document.n_pages or 0) - len(there[document.doc_id]), 0)
            for document, _, _ in documents
        )
        step = self._step
        size = fair_size(n_left, self._parallel.jobs, step.largest, step.smallest)
        calls: list[Call] = []
        for one in documents:
            calls += self._calls_of(one, there[one[0].doc_id], size)
        return sorted(calls, key=lambda call: -call.timeout_s)

    def _calls_of(self, one: Fetched, there: set[int], size: int | None) -> list[Call]:
        document, pdf, sha256 = one
        doc_id, n_pages = document.doc_id, document.n_pages
        if there:
            self._told[doc_id] = len(there)
            self._tell(Event(doc_id, None, pages=len(there), is_new=False))
        calls = []
        for window in windows_of(n_pages, size):
            pages = window.pages(n_pages or 0)
            if window.last is not None and there.issuperset(pages):
                continue  # the last window is open, and always looked at
            # Only workers without our disk must be told what is there.
            skip = frozenset(filter(window.holds, there if self._parallel.apart else ()))
            limit_s = self._step.limit_s(None if n_pages is None else max(len(pages), 1))
            arguments = (*self._step.arguments(doc_id, pdf, sha256), window, skip)
            calls.append(Call(doc_id, self._step.function, arguments, limit_s, window))
        self._left[doc_id] = len(calls)
        return calls

    def _run(self, calls: Sequence[Call]) -> None:
        running = run_calls(
            calls,
            executor=self._parallel.executor,
            jobs=self._parallel.jobs,
            memory_mb=self._parallel.memory_mb,
            cluster=self._parallel.cluster,
            on_page=self._page_ended,
        )
        with contextlib.closing(running):  # type: ignore[type-var]
            try:
                for call, outcome in running:
                    self._ended(call, outcome)
            finally:
                self._workspace.save()

    def _page_ended(self, call: Call, page: int | None) -> None:
        new = 1 if page is not None else self._untold(call.doc_id)
        if new:
            self._told[call.doc_id] += new
            self._tell(Event(call.doc_id, None, pages=new))

    def _untold(self, doc_id: str) -> int:
        """Pages on disk that nobody was told of."""
        return max(len(self._sets.pages(doc_id)) - self._told[doc_id], 0)

    def _ended(self, call: Call, outcome: DocumentOutcome) -> None:
        doc_id = call.doc_id
        parts = self._parts[doc_id]
        parts.append((call.window, outcome))
        self._left[doc_id] -= 1
        if self._left[doc_id]:
            self._page_ended(call, None)
            return
        whole = _joined(parts, self._sets.pages(doc_id))
        self._results[doc_id] = whole
        row = {**whole.to_json(), **self._records[doc_id]}
        self._workspace.record(doc_id, self._step.name, row)
        new = self._untold(doc_id)
        self._told[doc_id] += new
        lost = (self._expected[doc_id] or self._told[doc_id]) - self._told[doc_id]
        self._tell(Event(doc_id, whole.state, whole.reason, pages=new, lost=lost))


def _joined(
    parts: Sequence[tuple[Window, DocumentOutcome]], on_disk: Collection[int]
) -> DocumentOutcome:
    if parts[0][0] == WHOLE:  # of a call that was ended, only the disk knows what it had done
        outcome = parts[0][1]
        return replace(outcome, pages_done=max(outcome.pages_done, len(on_disk)))
    return join(sorted(parts, key=lambda part: part[0].first), on_disk)
