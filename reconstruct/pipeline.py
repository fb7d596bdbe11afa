"""The steps of a reconstruction, in order: fetch, verify, render, OCR, pages."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nclue_reconstruct import pmc
from nclue_reconstruct.engines import Engine
from nclue_reconstruct.executors import Call, run_calls
from nclue_reconstruct.fetch import (
    CHANGED,
    GONE,
    LANDING_ONLY,
    OK,
    Fetcher,
    FetchError,
    FetchResult,
    copy_from,
    recalled,
    remember,
)
from nclue_reconstruct.limits import document_timeout_s
from nclue_reconstruct.ocr_steps import ocr_document
from nclue_reconstruct.outcome import DocumentOutcome
from nclue_reconstruct.render import render_document
from nclue_reconstruct.workspace import Workspace

from nclue_core.files import SHA256_PATTERN, sha256_file
from nclue_core.schema import CorpusDocument

Tell = Callable[[str, str, str], None]  # doc_id, state, reason
SECONDS_PER_PAGE = {"text": 5.0, "tesseract": 90.0, "mineru": 240.0}
RENDER_SECONDS_PER_PAGE = 30.0
FETCHES_AT_ONCE = 8


@dataclass(frozen=True)
class Parallel:
    """How many at once, and where."""

    jobs: int = 1
    engine: str = "local"
    memory_mb: int = 4096
    address: str | None = None  # of a Ray cluster


def _silent(_doc_id: str, _state: str, _reason: str) -> None:
    pass


def fetch_documents(
    documents: Sequence[CorpusDocument],
    workspace: Workspace,
    fetcher: Fetcher,
    *,
    mirror: str | None = None,
    pmc_service: str | None = None,
    jobs: int = FETCHES_AT_ONCE,
    tell: Tell = _silent,
) -> dict[str, FetchResult]:
    """Fetch and verify PDFs; what is there already is kept.

    Args:
        documents: Their ``pdf_url`` and ``sha256``.
        workspace: Where to.
        fetcher: How.
        mirror: A folder of ``<doc_id>.pdf``, or a base URL of such, instead of ``pdf_url``.
        pmc_service: Base address of the PMC cloud service, to look for the PDFs of documents
            with a PMCID that cannot be had at their own address.
        jobs: Documents at once; per host the fetcher has its own limits.
        tell: Called as each document ends.
    """
    results: dict[str, FetchResult] = {}
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        waiting = {
            pool.submit(
                _fetch_one, document, workspace, fetcher, mirror, pmc_service
            ): document.doc_id
            for document in documents
        }
        try:
            for future in as_completed(waiting):
                doc_id, result = waiting[future], future.result()
                results[doc_id] = result
                workspace.record(doc_id, "fetch", asdict(result))
                tell(doc_id, result.state, result.reason)
        finally:
            for future in waiting:
                future.cancel()
            workspace.save()
    return {document.doc_id: results[document.doc_id] for document in documents}


def _fetch_one(
    document: CorpusDocument,
    workspace: Workspace,
    fetcher: Fetcher,
    mirror: str | None,
    pmc_service: str | None,
) -> FetchResult:
    target = workspace.pdf(document.doc_id)
    sha256 = document.sha256
    if sha256 is not None and not SHA256_PATTERN.fullmatch(sha256):
        return FetchResult(CHANGED, f"the recorded hash {sha256!r} is no SHA-256")
    if mirror is not None and mirror.startswith(("http://", "https://")):
        url = f"{mirror.rstrip('/')}/{document.doc_id}.pdf"
        return fetcher.fetch(url, target, sha256, trusted=True)
    if mirror is not None:
        source = Path(mirror) / f"{document.doc_id}.pdf"
        return copy_from(source, target, sha256, rehash=fetcher.settings.rehash)
    result = _from_source(document, target, fetcher)
    pmcid = pmc.pmcid_of(document)
    if result.state == OK or pmc_service is None or pmcid is None:
        return result
    return _from_pmc(pmcid, pmc_service, target, sha256, fetcher) or result


def _from_source(document: CorpusDocument, target: Path, fetcher: Fetcher) -> FetchResult:
    if document.pdf_url is not None:
        return fetcher.fetch(document.pdf_url, target, document.sha256)
    where = document.landing_url or "no address is known"
    reason = f"only a web page is known: {where}; get the PDF, and use --mirror"
    return FetchResult(LANDING_ONLY, reason)


def _from_pmc(
    pmcid: str, service: str, target: Path, sha256: str | None, fetcher: Fetcher
) -> FetchResult | None:
    """The first version whose bytes are the recorded ones; None if there is no version at all.

    The service's address comes from the user or from us, so it is trusted like a mirror's.
    """
    try:
        addresses = pmc.pdf_urls(
            pmcid, lambda url, size: fetcher.read_small(url, size, trusted=True), service
        )
    except FetchError as err:
        return FetchResult(err.state, f"looking for {pmcid}: {err.reason}")
    result = None
    for url in addresses:
        result = fetcher.fetch(url, target, sha256, trusted=True)
        if result.state == OK:
            break
    return result


def verify_documents(
    documents: Sequence[CorpusDocument], workspace: Workspace, *, tell: Tell = _silent
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
    tell: Tell = _silent,
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
    tell: Tell = _silent,
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
