"""Fetch one PDF so that its final name always means the published bytes.

The body goes to ``<doc_id>.pdf.part`` in the same folder and is hashed on the way; only when
its SHA-256 is the recorded one is it flushed to disk and renamed. What a server says (status,
content type, length) decides nothing about the content: the bytes do.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar

import requests

from nclue_core._version import __version__
from nclue_core.errors import UsageError
from nclue_http.client import (
    Client,
    HttpSettings,
    body_length,
    header_text,
    is_coded,
    read_at_most,
)
from nclue_http.errors import HttpError
from nclue_http.hosts import NO_LIMIT, Hosts
from nclue_reconstruct.fetch.content import GZIP, has_end, is_pdf, kind_of
from nclue_reconstruct.fetch.hosts import LIMITS, polite_address
from nclue_reconstruct.fetch.parts import BLOCK, Part
from nclue_reconstruct.fetch.pdf_store import existing, remember
from nclue_reconstruct.fetch.states import (
    NOT_PDF,
    OK,
    RATE_LIMITED,
    RETRIED,
    TOO_LARGE,
    TRUNCATED,
    ChangedError,
    FetchError,
    FetchResult,
    fetch_error,
)

Found = TypeVar("Found")
_STARTS_OVER = 0.0  # seconds to wait before a try that only a bad part made necessary


@dataclass(frozen=True)
class FetchSettings:
    """How to fetch."""

    contact: str | None = None  # address or URL of the person who fetches, for the User-Agent
    connect_timeout_s: float = 20.0
    read_timeout_s: float = 60.0  # without a byte
    total_timeout_s: float = 1800.0  # for one document in one run: all tries and waits
    max_bytes: int = 1 << 30
    attempts: int = 5
    first_wait_s: float = 1.0  # doubled from try to try, with jitter
    max_wait_s: float = 120.0  # also of what a server may ask for; longer ends the document
    max_redirects: int = 8
    allow_private: bool = False
    rehash: bool = False  # hash files that are there, even if size and time are as recorded

    @property
    def user_agent(self) -> str:
        """Who asks, honestly.

        Raises:
            UsageError: The contact cannot be sent.
        """
        try:
            contact = f"; {header_text(self.contact)}" if self.contact else ""
        except ValueError as err:
            raise UsageError(f"--contact {self.contact!r}: {err}") from None
        return f"nclue/{__version__} (rebuilds the n-Clue benchmark{contact})"

    def http(self) -> HttpSettings:
        """The same for the client below."""
        return HttpSettings(
            {
                "User-Agent": self.user_agent,
                "Accept": "application/pdf, */*;q=0.5",
                "Accept-Encoding": "identity",
            },
            self.connect_timeout_s,
            self.read_timeout_s,
            self.total_timeout_s,
            self.max_wait_s,
            self.max_redirects,
            self.allow_private,
        )


@dataclass(frozen=True)
class Wanted:
    """What is fetched: where from, and what is recorded of it."""

    url: str
    sha256: str | None
    n_bytes: int | None
    trusted: bool
    deadline: float  # by `time.monotonic`


class Fetcher:
    """Fetches documents; safe to use from several threads; `close` it at the end.

    Args:
        settings: How.
        hosts: Limits shared by all threads.
        sleep, rng: For tests.
    """

    def __init__(
        self,
        settings: FetchSettings | None = None,
        hosts: Hosts | None = None,
        sleep: Callable[[float], object] | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.settings = settings or FetchSettings()
        self._stopped = threading.Event()
        self._sleep = sleep or self._stopped.wait
        self.hosts = hosts or Hosts(LIMITS, sleep=self._sleep)
        self._rng = rng or random.Random()  # noqa: S311 - jitter, no secret
        self._client = Client(self.settings.http(), self.hosts, polite_address)

    def __enter__(self) -> Fetcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections that are kept."""
        self._client.close()

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """End what runs, soon: waits return, connections are closed, nothing more is asked."""
        self._stopped.set()
        self._client.stop()

    def deadline(self) -> float:
        """When a document that begins now must have ended, by `time.monotonic`."""
        return time.monotonic() + self.settings.total_timeout_s

    def fetch(
        self,
        url: str,
        target: Path,
        sha256: str | None,
        *,
        n_bytes: int | None = None,
        trusted: bool = False,
        deadline: float | None = None,
    ) -> FetchResult:
        """Fetch a PDF to its final name, unless it is there.

        Args:
            url: http or https.
            target: Final name; temporary files lie beside it.
            sha256: Recorded hash; None accepts any PDF (the result has the hash found).
            n_bytes: Recorded size; fewer bytes without the recorded hash are an incomplete file.
            trusted: The user named this address (a mirror): private addresses are fine.
            deadline: As of `deadline`; by default one of its own.

        Returns:
            A result; failures of one document are states, not exceptions.

        Raises:
            OSError: The disk is full or not writable: no document can be saved.
        """
        began = time.monotonic()
        here = existing(target, sha256, n_bytes=n_bytes, rehash=self.settings.rehash)
        if here is not None:
            return FetchResult(OK, "", *here, attempts=0, seconds=time.monotonic() - began)
        target.parent.mkdir(parents=True, exist_ok=True)
        url = polite_address(url)
        part = Part(target, url)
        if part.is_whole(sha256):
            return self._finish(part, target, sha256 or "", 0, began)
        wanted = Wanted(url, sha256, n_bytes, trusted, deadline or self.deadline())
        attempt = 0
        while True:
            attempt += 1
            try:
                found = self._try(wanted, part)
                return self._finish(part, target, found, attempt, began)
            except FetchError as err:
                wait_s = self._next_wait(err, attempt, wanted.deadline)
                if wait_s is None:
                    asked = attempt - err.is_final  # a host that is left alone was not asked
                    return err.result(asked, time.monotonic() - began)
                self._pause(err, url, wait_s)
                self._sleep(wait_s)

    def read_small(
        self, url: str, max_bytes: int, *, trusted: bool = False, deadline: float | None = None
    ) -> bytes:
        """Fetch a small file into memory, one try, under the same rules of address and host.

        Raises:
            FetchError: It cannot be fetched, or is larger than ``max_bytes``.
        """
        return self._read(
            url, lambda response: read_at_most(response, max_bytes), trusted, deadline
        )

    def save(
        self,
        url: str,
        stream: IO[bytes],
        max_bytes: int,
        *,
        trusted: bool = False,
        deadline: float | None = None,
    ) -> None:
        """Fetch a file that is no PDF into an open stream, one try, under the same rules.

        Raises:
            FetchError: It cannot be fetched, or is larger than ``max_bytes``.
        """

        def read(response: requests.Response) -> None:
            left = max_bytes
            while block := response.raw.read(BLOCK, decode_content=is_coded(response)):
                left -= len(block)
                if left < 0:
                    raise FetchError(TOO_LARGE, f"{url}: more than {max_bytes:,} bytes")
                stream.write(block)

        self._read(url, read, trusted, deadline)

    def _read(
        self,
        url: str,
        read: Callable[[requests.Response], Found],
        trusted: bool,
        deadline: float | None,
    ) -> Found:
        def checked(response: requests.Response) -> Found:
            if response.status_code != 200:
                raise self._client.refuse_status(response)
            return read(response)

        try:
            found = self._client.exchange(
                url, checked, trusted=trusted, deadline=deadline, asker=url
            )
        except HttpError as err:
            raise fetch_error(err) from err
        self.hosts.welcomed(url)
        return found

    def _finish(
        self, part: Part, target: Path, sha256: str, attempts: int, began: float
    ) -> FetchResult:
        n_bytes = part.finish()
        remember(target, n_bytes, sha256)
        return FetchResult(OK, "", n_bytes, sha256, attempts, time.monotonic() - began)

    def _next_wait(self, failure: FetchError, attempt: int, deadline: float) -> float | None:
        """Seconds to wait before another try; None if there is none."""
        exhausted = attempt >= self.settings.attempts or self._stopped.is_set()
        if failure.state not in RETRIED or failure.is_final or exhausted:
            return None
        wait_s = failure.wait_s
        if wait_s is None:
            grown = self.settings.first_wait_s * float(2 ** (attempt - 1))
            wait_s = min(grown * self._rng.uniform(0.5, 1.5), self.settings.max_wait_s)
        in_time = time.monotonic() + wait_s < deadline
        return wait_s if wait_s <= self.settings.max_wait_s and in_time else None

    def _pause(self, failure: FetchError, url: str, wait_s: float) -> None:
        """Where a host says "slow down" and not for how long, its other documents wait as well."""
        said_when = failure.wait_s is not None  # then it is paused already
        if (
            failure.state == RATE_LIMITED
            and not said_when
            and self.hosts.limit(url) is not NO_LIMIT
        ):
            self.hosts.pause(failure.url or url, wait_s)

    def _try(self, wanted: Wanted, part: Part) -> str:
        """One download; returns the SHA-256 of the part, which is the wanted file then."""
        body = _Body(part, wanted, self.settings)
        resumable = wanted.sha256 is not None

        def receive(response: requests.Response) -> None:
            status = response.status_code
            if status == 200 or (status == 206 and resumable and part.continues(response)):
                body.receive(response)
            elif resumable and status in (206, 416):  # not the rest of what we have
                part.discard()
                reason = f"{response.url}: the server cannot resume"
                raise FetchError(TRUNCATED, reason, _STARTS_OVER)
            else:
                raise self._client.refuse_status(response)

        try:
            self._client.exchange(
                wanted.url,
                receive,
                headers=part.conditions() if resumable else None,
                trusted=wanted.trusted,
                deadline=wanted.deadline,
                asker=part.path.name,
            )
            body.judge()
        except HttpError as err:
            failure = fetch_error(err)
            if failure.state == TOO_LARGE:
                part.discard()
            if failure.state == NOT_PDF:  # a page for people, or one that keeps programs out
                self.hosts.refused(body.url, part.path.name, "no PDF, but something else")
            raise failure from err
        self.hosts.welcomed(body.url)
        return body.sha256


class _Body:
    """The body of one answer: received into the part, then judged by its bytes."""

    def __init__(self, part: Part, wanted: Wanted, settings: FetchSettings) -> None:
        self.sha256 = ""
        self.url = wanted.url
        self._part = part
        self._expected = wanted.sha256
        self._recorded = wanted.n_bytes
        self._settings = settings
        self._n_bytes = 0
        self._resumed = False
        self._framed = True
        self._headers: dict[str, str] = {}

    def receive(self, response: requests.Response) -> None:
        """Write the body to the part, hashing it on the way.

        Raises:
            FetchError: It is too large, or shorter than announced.
        """
        coded = is_coded(response)
        announced = body_length(response)  # urllib3 keeps coded bodies to it
        length = None if coded else announced
        self.url = response.url
        self._resumed = response.status_code == 206
        self._framed = announced is not None or "transfer-encoding" in response.headers
        self._headers = {name.lower(): value for name, value in response.headers.items()}
        with self._part.writer(response, self._resumed) as (stream, digest, had):
            self._check_size(response.url, had + (length or 0), "announced")
            self._n_bytes = had
            while block := response.raw.read(BLOCK, decode_content=coded):
                self._n_bytes += len(block)
                self._check_size(response.url, self._n_bytes, "arrived")
                stream.write(block)
                digest.update(block)
        arrived = self._n_bytes - had
        if length is not None and arrived != length:
            reason = f"{response.url}: {arrived:,} of {length:,} bytes arrived"
            raise FetchError(TRUNCATED, reason)
        self.sha256 = digest.hexdigest()

    def judge(self) -> None:
        """Accept the whole body, or say what it is instead.

        Raises:
            FetchError: It is not the wanted file; the part is gone, or set aside.
        """
        if self._is_wanted():
            return
        if self._resumed:  # beginning and rest may be of two files: no judgement of the source
            self._part.discard()
            reason = f"{self.url}: the continued file is not the recorded one"
            raise FetchError(TRUNCATED, reason, _STARTS_OVER)
        kind = kind_of(*self._part.edges())
        if kind == GZIP and self._unpack() and self._is_wanted():
            return
        head, tail = self._part.edges()
        if not is_pdf(head, tail):
            self._part.discard()
            raise FetchError(NOT_PDF, f"{self.url}: {self._described(head, kind)}", url=self.url)
        missing = self._missing(tail)
        if missing is not None:
            if self._framed:  # else the rest may come
                self._part.discard()
            raise FetchError(TRUNCATED, f"{self.url}: {missing}")
        if self._expected is not None or self._n_bytes > (self._recorded or self._n_bytes):
            raise self._changed()

    def _is_wanted(self) -> bool:
        return self._expected is not None and self.sha256 == self._expected

    def _unpack(self) -> bool:
        """Take what is in a gzip file that was sent as if it were the PDF."""
        found = self._part.unpack(self._settings.max_bytes)
        if found is not None:
            self._n_bytes, self.sha256 = found
        return found is not None

    def _missing(self, tail: bytes) -> str | None:
        """What tells that the file is incomplete, if anything does."""
        recorded = self._recorded
        if recorded is not None and self._n_bytes < recorded:
            return f"{self._n_bytes:,} of {recorded:,} recorded bytes arrived"
        told = self._framed or (recorded is not None and self._expected is None)
        if told or has_end(tail, self._n_bytes):
            return None
        return f"{self._n_bytes:,} bytes of unknown length without an end of file"

    def _described(self, head: bytes, kind: str) -> str:
        said = self._headers.get("content-type", "no content type")
        shown = head[:60].decode("ascii", "replace")
        return f"{kind} instead of a PDF: {self._n_bytes:,} bytes of {said} that begin {shown!r}"

    def _changed(self) -> ChangedError:
        dated = self._headers.get("last-modified", "not dated")
        etag = self._headers.get("etag", "none")
        aside = self._part.set_aside()
        expected = f"SHA-256 {self._expected}" if self._expected else f"{self._recorded:,} bytes"
        reason = (
            f"{self.url}: expected {expected}, found {self.sha256} "
            f"({self._n_bytes:,} bytes, {dated}, ETag {etag}); kept as {aside.name}"
        )
        return ChangedError(reason, self._n_bytes, self.sha256)

    def _check_size(self, url: str, n_bytes: int, how: str) -> None:
        limit = self._settings.max_bytes
        if n_bytes > limit:
            reason = f"{url}: {n_bytes:,} bytes {how}, at most {limit:,} are taken"
            raise FetchError(TOO_LARGE, reason)
