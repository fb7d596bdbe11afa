"""Fetch many documents: judged before a request is made, hosts beside each other."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nclue_core.errors import InputError, UsageError
from nclue_core.files import SHA256_PATTERN, file_name, open_own
from nclue_core.schema import CorpusDocument
from nclue_http.addresses import literal_problem
from nclue_reconstruct.fetch import pmc, pmc_packages
from nclue_reconstruct.fetch.hosts import polite_address
from nclue_reconstruct.fetch.pdf_store import copy_from, existing, remember
from nclue_reconstruct.fetch.states import (
    BAD_ROW,
    LANDING_ONLY,
    NETWORK,
    OK,
    POSTPONED,
    UNEXPECTED,
    UNSAFE_URL,
    FetchError,
    FetchResult,
)
from nclue_reconstruct.fetch.transfer import Fetcher
from nclue_reconstruct.run.gathering import gather
from nclue_reconstruct.run.progress import Event, Tell, silent
from nclue_reconstruct.run.workspace import Workspace

FETCHES_AT_ONCE = 16
MAX_THREADS = 128  # hosts beyond it wait for their turn
_RETIRED_PLACES = ("/deprecated/", "/oa_package/", "/oa_pdf/")


def judge(
    document: CorpusDocument, *, mirror: str | None = None, allow_private: bool = False
) -> FetchResult | None:
    """Why nothing is asked for a document, told from its row alone; None if it can be tried.

    Args:
        document: A row of the corpus.
        mirror: As in `fetch_documents`: the row's own address does not matter then.
        allow_private: Addresses in the user's own network are fine.
    """
    try:
        file_name(document.doc_id)
    except InputError as err:
        return FetchResult(BAD_ROW, str(err))
    if document.sha256 is not None and not SHA256_PATTERN.fullmatch(document.sha256):
        return FetchResult(BAD_ROW, f"the recorded hash {document.sha256!r} is no SHA-256")
    if mirror is not None:
        return None
    if document.pdf_url is None:
        where = document.landing_url or "no address is known"
        reason = f"only a web page is known: {where}; get the PDF, and use --mirror"
        return FetchResult(LANDING_ONLY, reason)
    problem = literal_problem(document.pdf_url, allow_private=allow_private)
    if problem is None:
        return None
    return FetchResult(UNSAFE_URL, f"{document.pdf_url}: {problem}{_remedy(document.pdf_url)}")


def _remedy(url: str) -> str:
    """What to do about an address that may not be fetched."""
    if url.lower().startswith("ftp:"):
        place = f"PMC files are at {pmc.CLOUD_SERVICE} now, see --resolve-pmc-oa"
        return f"; ftp is not served any more: {place}"
    return "" if literal_problem(url, allow_private=True) else " (allow it with --allow-private)"


def is_mirror_url(mirror: str) -> bool:
    """Whether a mirror is a base URL; else it is a folder."""
    return mirror.startswith(("http://", "https://"))


@dataclass(frozen=True)
class PmcServices:
    """Base addresses of the services of PubMed Central."""

    cloud: str = pmc.CLOUD_SERVICE
    oa: str | None = pmc_packages.OA_SERVICE  # the older one; None: do not ask it


@dataclass(frozen=True)
class _Job:
    """A document on its way."""

    document: CorpusDocument
    target: Path
    deadline: float  # by `time.monotonic`, however many addresses are asked


class DocumentSource:
    """Where the PDF of one document comes from, by the user's choices.

    Args:
        workspace: Where to.
        fetcher: How.
        mirror: A folder of ``<doc_id>.pdf``, or a base URL of such, instead of ``pdf_url``.
        pmc_services: Where to look for the PDFs of documents with a PMCID that cannot be had at
            their own address.
    """

    def __init__(
        self,
        workspace: Workspace,
        fetcher: Fetcher,
        mirror: str | None = None,
        pmc_services: PmcServices | None = None,
    ) -> None:
        self._workspace = workspace
        self._fetcher = fetcher
        self._mirror = mirror
        self._pmc_services = pmc_services
        if mirror is not None and is_mirror_url(mirror):
            fetcher.hosts.lift(mirror)

    def address(self, document: CorpusDocument) -> str:
        """The address to ask first; empty where none is asked."""
        if self._mirror is None:
            return polite_address(document.pdf_url or "")
        if is_mirror_url(self._mirror) and judge(document, mirror=self._mirror) is None:
            return f"{self._mirror.rstrip('/')}/{quote(file_name(document.doc_id))}.pdf"
        return ""

    def get(self, document: CorpusDocument) -> FetchResult:
        """Fetch and verify one document."""
        settings = self._fetcher.settings
        verdict = judge(document, mirror=self._mirror, allow_private=settings.allow_private)
        if verdict is not None and verdict.state == BAD_ROW:
            return verdict
        target = self._workspace.pdf(document.doc_id)
        size = document.n_bytes
        here = existing(target, document.sha256, n_bytes=size, rehash=settings.rehash)
        if here is not None:  # wherever it came from
            return FetchResult(OK, "", *here)
        job = _Job(document, target, self._fetcher.deadline())
        if self._mirror is not None:
            return self._from_mirror(job, self._mirror)
        result = verdict or self._fetch(job, self.address(document))
        pmcid = pmc.pmcid_of(document)
        if result.state == OK or self._pmc_services is None or pmcid is None:
            return _with_hint(result, document)
        return self._from_pmc(pmcid, self._pmc_services, job, result)

    def _fetch(self, job: _Job, url: str, *, trusted: bool = False) -> FetchResult:
        row = job.document
        return self._fetcher.fetch(
            url, job.target, row.sha256, n_bytes=row.n_bytes, trusted=trusted, deadline=job.deadline
        )

    def _from_mirror(self, job: _Job, mirror: str) -> FetchResult:
        row = job.document
        if is_mirror_url(mirror):
            return self._fetch(job, self.address(row), trusted=True)
        source = Path(mirror) / f"{file_name(row.doc_id)}.pdf"
        return copy_from(source, job.target, row.sha256, n_bytes=row.n_bytes)

    def _from_pmc(
        self, pmcid: str, services: PmcServices, job: _Job, result: FetchResult
    ) -> FetchResult:
        """By the cloud service, else by the older one; ``result`` where neither has the article.

        The services' addresses come from the user or from us, so they are trusted like a mirror.
        """
        result = self._ask(self._from_cloud, pmcid, services, job) or result
        if result.state == OK:
            return result
        last = self._ask(self._from_oa_service, pmcid, services, job)
        if last is None or last.state == OK:
            return last or result
        return replace(result, reason=f"{result.reason}; {last.reason}")

    def _ask(
        self, find: Callable[..., FetchResult | None], pmcid: str, *arguments: Any
    ) -> FetchResult | None:
        try:
            return find(pmcid, *arguments)
        except FetchError as err:
            return FetchResult(err.state, f"looking for {pmcid}: {err.reason}")

    def _from_cloud(self, pmcid: str, services: PmcServices, job: _Job) -> FetchResult | None:
        """The first version whose bytes are the recorded ones; None if there is no version."""
        result = None
        if job.document.sha256 is not None:  # a shorter file is another version, no piece of ours
            job = replace(job, document=replace(job.document, n_bytes=None))
        for url in pmc.pdf_urls(pmcid, self._reader(job), services.cloud):
            result = self._fetch(job, url, trusted=True)
            if result.state == OK:
                break
        return result

    def _from_oa_service(self, pmcid: str, services: PmcServices, job: _Job) -> FetchResult | None:
        """A PDF that the older service names, or the one in a package; None if it names none."""
        if services.oa is None:
            return None
        url = pmc_packages.service_url(pmcid, services.oa)
        answer = self._reader(job)(url, pmc_packages.MAX_ANSWER_BYTES)
        result = None
        for kind, address in pmc_packages.links_of(answer):
            take = self._fetch if kind == "pdf" else self._from_package
            result = take(job, address)
            if result.state == OK:
                break
        return result

    def _from_package(self, job: _Job, url: str) -> FetchResult:
        limit = self._fetcher.settings.max_bytes
        target = job.target
        package = target.with_name(f".{target.name}.package.tmp")  # swept after a killed run
        package.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open_own(package, "wb") as stream:
                self._fetcher.save(url, stream, limit, deadline=job.deadline)
            n_bytes, found = pmc_packages.take_pdf(package, target, job.document.sha256, limit)
        except FetchError as err:
            told = err.reason if err.url else f"{url}: {err.reason}"
            return replace(err.result(1, 0.0), reason=told)
        finally:
            package.unlink(missing_ok=True)
        remember(target, n_bytes, found)
        return FetchResult(OK, "", n_bytes, found, attempts=1)

    def _reader(self, job: _Job) -> Callable[[str, int], bytes]:
        return partial(self._fetcher.read_small, trusted=True, deadline=job.deadline)


def fetch_documents(
    documents: Sequence[CorpusDocument],
    workspace: Workspace,
    fetcher: Fetcher,
    *,
    mirror: str | None = None,
    pmc_services: PmcServices | None = None,
    jobs: int = FETCHES_AT_ONCE,
    tell: Tell = silent,
) -> dict[str, FetchResult]:
    """Fetch and verify PDFs; what is there already is kept.

    Args:
        documents: Their ``pdf_url``, ``sha256`` and ``n_bytes``; each host is asked for its own
            in this order, those that were refused in an earlier run last.
        workspace: Where to.
        fetcher: How.
        mirror: See `DocumentSource`.
        pmc_services: See `DocumentSource`.
        jobs: Documents at once, of one host; the fetcher has its own limits per host.
        tell: Called as each document ends.

    Returns:
        Document ID -> result, in the order of the documents.

    Raises:
        OSError: The disk is full or not writable; what was fetched until then is kept.
    """
    source = DocumentSource(workspace, fetcher, mirror, pmc_services)
    results: dict[str, FetchResult] = {}
    try:
        for document, result in _run(_refused_last(documents, workspace), source, fetcher, jobs):
            results[document.doc_id] = result
            workspace.record(document.doc_id, "fetch", asdict(result))
            size, is_new = result.n_bytes or 0, result.attempts > 0
            tell(Event(document.doc_id, result.state, result.reason, n_bytes=size, is_new=is_new))
    finally:
        workspace.save()
    return {document.doc_id: results[document.doc_id] for document in documents}


def _refused_last(
    documents: Sequence[CorpusDocument], workspace: Workspace
) -> list[CorpusDocument]:
    """So that refusals that stay do not close a host before the others are asked, run by run."""

    def was_refused(document: CorpusDocument) -> bool:
        found = workspace.outcome(document.doc_id, "fetch") or {}
        return found.get("state", OK) not in (OK, NETWORK, POSTPONED)

    return sorted(documents, key=was_refused)


def nothing_reached(documents: Sequence[CorpusDocument], workspace: Workspace) -> bool:
    """Whether the last run asked for documents, and no host could be reached for any."""
    found = [workspace.outcome(document.doc_id, "fetch") or {} for document in documents]
    was_there = [row.get("state") == OK and not row.get("attempts") for row in found]
    states = {row.get("state") for row, there in zip(found, was_there) if row and not there}
    return states - {LANDING_ONLY, BAD_ROW, UNSAFE_URL} == {NETWORK}


_Ended = tuple[CorpusDocument, FetchResult] | BaseException | None


def _run(
    documents: Sequence[CorpusDocument], source: DocumentSource, fetcher: Fetcher, jobs: int
) -> Iterator[tuple[CorpusDocument, FetchResult]]:
    """Threads per host, so that a slow host, or one that asks to wait, holds up no other."""
    by_host: dict[str, queue.SimpleQueue[CorpusDocument]] = defaultdict(queue.SimpleQueue)
    n_threads: dict[str, int] = {}
    for document in documents:
        address = source.address(document)
        host = fetcher.hosts.name(address)
        by_host[host].put(document)
        n_threads[host] = min(jobs, fetcher.hosts.limit(address).concurrent)
    turns: queue.SimpleQueue[queue.SimpleQueue[CorpusDocument]] = queue.SimpleQueue()
    for number in range(max(n_threads.values(), default=0)):  # first one thread for each host
        for host, waiting in by_host.items():
            if number < min(n_threads[host], waiting.qsize()):
                turns.put(waiting)
    ended: queue.SimpleQueue[_Ended] = queue.SimpleQueue()
    threads = [
        threading.Thread(target=_work, args=(turns, source, fetcher, ended), daemon=True)
        for _ in range(min(turns.qsize(), MAX_THREADS))
    ]
    started: list[threading.Thread] = []
    try:
        for thread in threads:
            thread.start()
            started.append(thread)
        yield from gather(ended, len(threads))
    except BaseException:  # an interrupt, or a full disk: end the downloads now
        fetcher.stop()
        raise
    finally:
        for thread in started:
            thread.join()


def _work(
    turns: queue.SimpleQueue[queue.SimpleQueue[CorpusDocument]],
    source: DocumentSource,
    fetcher: Fetcher,
    ended: queue.SimpleQueue[_Ended],
) -> None:
    """Serve one host after the other, each to its end."""
    try:
        while not fetcher.stopped:
            waiting = turns.get_nowait()
            with contextlib.suppress(queue.Empty):
                while not fetcher.stopped:
                    document = waiting.get_nowait()
                    ended.put((document, _get(document, source)))
    except queue.Empty:
        pass
    except BaseException as err:  # handed to the thread that reads
        ended.put(err)
    finally:
        ended.put(None)


def _get(document: CorpusDocument, source: DocumentSource) -> FetchResult:
    """One document; what nobody expected loses it alone, a bad disk ends the run."""
    try:
        return source.get(document)
    except (OSError, UsageError):  # of the disk, or a folder that leads elsewhere
        raise
    except Exception as err:
        text = f"{document.pdf_url}: {type(err).__name__}: {err}"
        return FetchError(UNEXPECTED, text).result(1, 0.0)


def _with_hint(result: FetchResult, document: CorpusDocument) -> FetchResult:
    """Say so where an address lies in a place of PMC that is not served any more."""
    hint = retired_place(document)
    if result.state == OK or hint is None:
        return result
    return replace(result, reason=f"{result.reason} ({hint})")


def retired_place(document: CorpusDocument) -> str | None:
    """A warning where a document's address lies in a place that PMC does not serve any more."""
    if not any(place in (document.pdf_url or "") for place in _RETIRED_PLACES):
        return None
    return "a place of the retired PMC file services; try --resolve-pmc-oa"
