"""Fetch many documents: judged before a request is made, hosts beside each other."""

from __future__ import annotations

import queue
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from nclue_reconstruct import pmc
from nclue_reconstruct.addresses import literal_problem
from nclue_reconstruct.fetch import Fetcher
from nclue_reconstruct.hosts import polite_address
from nclue_reconstruct.pdf_store import copy_from, existing
from nclue_reconstruct.states import (
    BAD_ROW,
    LANDING_ONLY,
    OK,
    UNSAFE_URL,
    FetchError,
    FetchResult,
)
from nclue_reconstruct.workspace import Workspace

from nclue_core.files import SHA256_PATTERN, unsafe_id_reason
from nclue_core.schema import CorpusDocument

Tell = Callable[[str, str, str], None]  # doc_id, state, reason
FETCHES_AT_ONCE = 16
_RETIRED_PLACES = ("/deprecated/", "/oa_package/", "/oa_pdf/")


def silent(_doc_id: str, _state: str, _reason: str) -> None:
    """Tell nobody."""


def judge(
    document: CorpusDocument, *, mirror: str | None = None, allow_private: bool = False
) -> FetchResult | None:
    """Why nothing is asked for a document, told from its row alone; None if it can be tried.

    Args:
        document: A row of the corpus.
        mirror: As in `fetch_documents`: the row's own address does not matter then.
        allow_private: Addresses in the user's own network are fine.
    """
    reason = unsafe_id_reason(document.doc_id)
    if reason:
        return FetchResult(BAD_ROW, f"doc_id {document.doc_id!r} cannot be a file name: {reason}")
    if document.sha256 is not None and not SHA256_PATTERN.fullmatch(document.sha256):
        return FetchResult(BAD_ROW, f"the recorded hash {document.sha256!r} is no SHA-256")
    if mirror is not None:
        return None
    if document.pdf_url is None:
        where = document.landing_url or "no address is known"
        reason = f"only a web page is known: {where}; get the PDF, and use --mirror"
        return FetchResult(LANDING_ONLY, reason)
    problem = literal_problem(document.pdf_url, allow_private=allow_private)
    return FetchResult(UNSAFE_URL, f"{document.pdf_url}: {problem}") if problem else None


def is_mirror_url(mirror: str) -> bool:
    """Whether a mirror is a base URL; else it is a folder."""
    return mirror.startswith(("http://", "https://"))


class DocumentSource:
    """Where the PDF of one document comes from, by the user's choices.

    Args:
        workspace: Where to.
        fetcher: How.
        mirror: A folder of ``<doc_id>.pdf``, or a base URL of such, instead of ``pdf_url``.
        pmc_service: Base address of the PMC cloud service, to look for the PDFs of documents
            with a PMCID that cannot be had at their own address.
    """

    def __init__(
        self,
        workspace: Workspace,
        fetcher: Fetcher,
        mirror: str | None = None,
        pmc_service: str | None = None,
    ) -> None:
        self._workspace = workspace
        self._fetcher = fetcher
        self._mirror = mirror
        self._pmc_service = pmc_service
        if mirror is not None and is_mirror_url(mirror):
            fetcher.hosts.lift(mirror)

    def address(self, document: CorpusDocument) -> str:
        """The address to ask first; empty where none is asked."""
        if self._mirror is None:
            return polite_address(document.pdf_url or "")
        if is_mirror_url(self._mirror):
            return f"{self._mirror.rstrip('/')}/{document.doc_id}.pdf"
        return ""

    def get(self, document: CorpusDocument) -> FetchResult:
        """Fetch and verify one document."""
        settings = self._fetcher.settings
        verdict = judge(document, mirror=self._mirror, allow_private=settings.allow_private)
        if verdict is not None and verdict.state == BAD_ROW:
            return verdict
        target = self._workspace.pdf(document.doc_id)
        here = existing(target, document.sha256, rehash=settings.rehash)
        if here is not None:  # wherever it came from
            return FetchResult(OK, "", *here)
        if self._mirror is not None:
            return self._from_mirror(document, self._mirror, target)
        result = verdict or self._fetcher.fetch(self.address(document), target, document.sha256)
        pmcid = pmc.pmcid_of(document)
        if result.state == OK or self._pmc_service is None or pmcid is None:
            return _with_hint(result, document)
        return self._from_pmc(pmcid, self._pmc_service, document, target) or result

    def _from_mirror(self, document: CorpusDocument, mirror: str, target: Path) -> FetchResult:
        if is_mirror_url(mirror):
            url = self.address(document)
            return self._fetcher.fetch(url, target, document.sha256, trusted=True)
        source = Path(mirror) / f"{document.doc_id}.pdf"
        return copy_from(source, target, document.sha256)

    def _from_pmc(
        self, pmcid: str, service: str, document: CorpusDocument, target: Path
    ) -> FetchResult | None:
        """The first version whose bytes are the recorded ones; None if there is no version.

        The service's address comes from the user or from us, so it is trusted like a mirror's.
        """
        fetcher = self._fetcher
        try:
            addresses = pmc.pdf_urls(
                pmcid, lambda url, size: fetcher.read_small(url, size, trusted=True), service
            )
        except FetchError as err:
            return FetchResult(err.state, f"looking for {pmcid}: {err.reason}")
        result = None
        for url in addresses:
            result = fetcher.fetch(url, target, document.sha256, trusted=True)
            if result.state == OK:
                break
        return result


def fetch_documents(
    documents: Sequence[CorpusDocument],
    workspace: Workspace,
    fetcher: Fetcher,
    *,
    mirror: str | None = None,
    pmc_service: str | None = None,
    jobs: int = FETCHES_AT_ONCE,
    tell: Tell = silent,
) -> dict[str, FetchResult]:
    """Fetch and verify PDFs; what is there already is kept.

    Args:
        documents: Their ``pdf_url`` and ``sha256``.
        workspace: Where to.
        fetcher: How.
        mirror: See `DocumentSource`.
        pmc_service: See `DocumentSource`.
        jobs: Documents at once, of one host; the fetcher has its own limits per host.
        tell: Called as each document ends.

    Returns:
        Document ID -> result, in the order of the documents.

    Raises:
        OSError: The disk is full or not writable; what was fetched until then is kept.
    """
    source = DocumentSource(workspace, fetcher, mirror, pmc_service)
    results: dict[str, FetchResult] = {}
    try:
        for document, result in _run(documents, source, fetcher, jobs):
            results[document.doc_id] = result
            workspace.record(document.doc_id, "fetch", asdict(result))
            tell(document.doc_id, result.state, result.reason)
    finally:
        workspace.save()
    return {document.doc_id: results[document.doc_id] for document in documents}


_Ended = tuple[CorpusDocument, FetchResult] | BaseException | None


def _run(
    documents: Sequence[CorpusDocument], source: DocumentSource, fetcher: Fetcher, jobs: int
) -> Iterator[tuple[CorpusDocument, FetchResult]]:
    """Threads per host, so that a slow host, or one that asks to wait, holds up no other."""
    by_host: dict[str, queue.SimpleQueue[CorpusDocument]] = defaultdict(queue.SimpleQueue)
    n_threads: dict[str, int] = {}
    for document in documents:
        host = fetcher.hosts.name(source.address(document))
        by_host[host].put(document)
        n_threads[host] = min(jobs, fetcher.hosts.limit(source.address(document)).concurrent)
    ended: queue.SimpleQueue[_Ended] = queue.SimpleQueue()
    threads = [
        threading.Thread(target=_work, args=(waiting, source, fetcher, ended), daemon=True)
        for host, waiting in by_host.items()
        for _ in range(min(n_threads[host], waiting.qsize()))
    ]
    for thread in threads:
        thread.start()
    try:
        yield from _gather(ended, len(threads))
    except BaseException:  # an interrupt, or a full disk: end the downloads now
        fetcher.stop()
        raise
    finally:
        for thread in threads:
            thread.join()


def _gather(
    ended: queue.SimpleQueue[_Ended], running: int
) -> Iterator[tuple[CorpusDocument, FetchResult]]:
    while running:
        item = ended.get()
        if item is None:
            running -= 1
        elif isinstance(item, BaseException):
            raise item
        else:
            yield item


def _work(
    waiting: queue.SimpleQueue[CorpusDocument],
    source: DocumentSource,
    fetcher: Fetcher,
    ended: queue.SimpleQueue[_Ended],
) -> None:
    try:
        while not fetcher.stopped:
            document = waiting.get_nowait()
            ended.put((document, source.get(document)))
    except queue.Empty:
        pass
    except BaseException as err:  # handed to the thread that reads
        ended.put(err)
    finally:
        ended.put(None)


def _with_hint(result: FetchResult, document: CorpusDocument) -> FetchResult:
    """Say so where an address lies in a place of PMC that is not served any more."""
    url = document.pdf_url or ""
    if result.state == OK or not any(place in url for place in _RETIRED_PLACES):
        return result
    hint = "a place of the retired PMC file services; try --resolve-pmc-oa"
    return FetchResult(**{**asdict(result), "reason": f"{result.reason} ({hint})"})
