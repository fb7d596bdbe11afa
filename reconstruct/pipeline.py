"""The steps of a reconstruction, in order: fetch, verify, render, OCR, pages."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nclue_reconstruct.engines import Engine
from nclue_reconstruct.executors import Call, run_calls
from nclue_reconstruct.fetching import Tell, fetch_documents, silent
from nclue_reconstruct.limits import document_timeout_s
from nclue_reconstruct.ocr_steps import ocr_document
from nclue_reconstruct.outcome import DocumentOutcome
from nclue_reconstruct.pdf_store import recalled, remember
from nclue_reconstruct.render import render_document
from nclue_reconstruct.states import CHANGED, GONE, OK, FetchResult
from nclue_reconstruct.workspace import Workspace

from nclue_core.files import sha256_file
from nclue_core.schema import CorpusDocument

__all__ = [
    "Parallel",
    "fetch_documents",
    "ocr_documents",
    "render_documents",
    "verify_documents",
]

SECONDS_PER_PAGE = {"text": 5.0, "tesseract": 90.0, "mineru": 240.0}
RENDER_SECONDS_PER_PAGE = 30.0


@dataclass(frozen=True)
class Parallel:
    """How many at once, and where."""

    jobs: int = 1
    engine: str = "local"
    memory_mb: int = 4096
    address: str | None = None  # of a Ray cluster
    cpus: float = 1  # of a Ray task
    gpus: float = 0


def verify_documents(
    documents: Sequence[CorpusDocument], workspace: Workspace, *, tell: Tell = silent
) -> dict[str, FetchResult]:
    """Hash every PDF that is there and compare; nothing is fetched or removed."""
    results = {}
    for document in documents:
        result = _verify_one(document, workspace.pdf(document.doc_id))
        results[document.doc_id] = result
        workspace.record(document.doc_id, "fetch", asdict(result))
        tell(document.doc_id, result.state, result.reason)
    workspace.save()
    return results


def _verify_one(document: CorpusDocument, target: Path) -> FetchResult:
    if not target.is_file():
        return FetchResult(GONE, "not fetched yet")
    found, n_bytes = sha256_file(target), target.stat().st_size
    if document.sha256 is not None and found != document.sha256:
        reason = f"{target}: expected SHA-256 {document.sha256}, found {found}"
        return FetchResult(CHANGED, reason, n_bytes, found)
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
    calls = [
        Call(
            document.doc_id,
            _render,
            (workspace.pdf(document.doc_id), workspace.pages(), dpi, document.doc_id),
            document_timeout_s(document.n_pages, RENDER_SECONDS_PER_PAGE),
        )
        for document in documents
        if workspace.pdf(document.doc_id).is_file()
    ]
    return _run(calls, workspace, "render", parallel, tell)


def _render(pdf: Path, out: Path, dpi: int, doc_id: str) -> DocumentOutcome:
    return render_document(pdf, out, dpi, doc_id=doc_id)


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
    calls = []
    for document in documents:
        pdf = workspace.pdf(document.doc_id)
        if not pdf.is_file():
            continue
        sha256 = recalled(pdf) or sha256_file(pdf)
        arguments = (engine, pdf, document.doc_id, sha256, workspace.ocr(engine.name))
        per_page = SECONDS_PER_PAGE.get(engine.name, 90.0)
        timeout_s = document_timeout_s(document.n_pages, per_page, base_s=300.0)
        calls.append(Call(document.doc_id, ocr_document, arguments, timeout_s))
    version = engine.version()
    return _run(calls, workspace, f"ocr_{engine.name}", parallel, tell, {"engine": version})


def _run(
    calls: Sequence[Call],
    workspace: Workspace,
    step: str,
    parallel: Parallel,
    tell: Tell,
    more: dict[str, Any] | None = None,
) -> dict[str, DocumentOutcome]:
    results: dict[str, DocumentOutcome] = {}
    running = run_calls(
        calls,
        engine=parallel.engine,
        jobs=parallel.jobs,
        memory_mb=parallel.memory_mb,
        address=parallel.address,
        cpus=parallel.cpus,
        gpus=parallel.gpus,
    )
    with contextlib.closing(running):  # type: ignore[type-var]
        try:
            for doc_id, outcome in running:
                results[doc_id] = outcome
                workspace.record(doc_id, step, {**asdict(outcome), **(more or {})})
                tell(doc_id, outcome.state, outcome.reason)
        finally:
            workspace.save()
    return results
