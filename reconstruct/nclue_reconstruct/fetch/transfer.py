"""Fetch one PDF so that its final name always means the published bytes.

The body goes to ``<doc_id>.pdf.part`` in the same folder and is hashed on the way; only when
its SHA-256 is the recorded one is it flushed to disk and renamed. What a server says (status,
content type, length) decides nothing about the content: the bytes do.
"""

from __future__ import annotations

import email.utils
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import IO
from urllib.parse import urljoin, urlsplit

import requests
import urllib3

from nclue_core._version import __version__
from nclue_reconstruct.fetch.addresses import address_problem, peer_problem
from nclue_reconstruct.fetch.connections import Clock, open_session
from nclue_reconstruct.fetch.hosts import Hosts, polite_address
from nclue_reconstruct.fetch.parts import BLOCK, Part, is_coded
from nclue_reconstruct.fetch.pdf_store import existing, remember
from nclue_reconstruct.fetch.states import (
    NETWORK,
    NOT_PDF,
    OK,
    REDIRECT_LOOP,
    RETRIED,
    TIMEOUT,
    TOO_LARGE,
    TRUNCATED,
    UNEXPECTED,
    UNSAFE_URL,
    ChangedError,
    FetchError,
    FetchResult,
    state_of_status,
)

_STARTS_OVER = 0.0  # seconds to wait before a try that only a bad part made necessary


@dataclass(frozen=True)
class FetchSettings:
    """How to fetch."""

    contact: str | None = None  # address or URL of the person who fetches, for the User-Agent
    connect_timeout_s: float = 20.0
    read_timeout_s: float = 60.0  # without a byte
    total_timeout_s: float = 1800.0  # for one try of one document
    max_bytes: int = 1 << 30
    attempts: int = 5
    first_wait_s: float = 1.0  # doubled from try to try, with jitter
    max_wait_s: float = 120.0  # also of what a server may ask for; longer ends the document
    max_redirects: int = 8
    allow_private: bool = False
    rehash: bool = False  # hash files that are there, even if size and time are as recorded

    @property
    def user_agent(self) -> str:
        """Who asks, honestly."""
        contact = f"; {self.contact}" if self.contact else ""
        return f"nclue/{__version__} (rebuilds the n-Clue benchmark{contact})"


class Fetcher:
    """Fetches documents; safe to use from several threads.

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
        self.hosts = hosts or Hosts(sleep=self._sleep)
        self._rng = rng or random.Random()  # noqa: S311 - jitter, no secret
        self._clocks: set[Clock] = set()
        headers = {
            "User-Agent": self.settings.user_agent,
            "Accept": "application/pdf, */*;q=0.5",
            "Accept-Encoding": "identity",
        }
        self._trusting = open_session(headers, None)
        self._wary = open_session(headers, _refuse_special_peers)

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """End what runs, soon: waits return, connections are closed, nothing more is asked."""
        self._stopped.set()
        for clock in list(self._clocks):
            clock.expire()

    def fetch(
        self, url: str, target: Path, sha256: str | None, *, trusted: bool = False
    ) -> FetchResult:
        """Fetch a PDF to its final name, unless it is there.

        Args:
            url: http or https.
            target: Final name; temporary files lie beside it.
            sha256: Recorded hash; None accepts any PDF (the result has the hash found).
            trusted: The user named this address (a mirror): private addresses are fine.

        Returns:
            A result; failures of one document are states, not exceptions.

        Raises:
            OSError: The disk is full or not writable: no document can be saved.
        """
        began = time.monotonic()
        here = existing(target, sha256, rehash=self.settings.rehash)
        if here is not None:
            return FetchResult(OK, "", *here, attempts=0, seconds=time.monotonic() - began)
        target.parent.mkdir(parents=True, exist_ok=True)
        url = polite_address(url)
        part = Part(target, url)
        if part.is_whole(sha256):
            return self._finish(part, target, sha256 or "", 0, began)
        failure = FetchError(NETWORK, "not tried")
        for attempt in range(1, self.settings.attempts + 1):
            try:
                found = self._try(url, part, sha256, trusted)
                return self._finish(part, target, found, attempt, began)
            except FetchError as err:
                failure = err
                wait_s = self._next_wait(err, attempt)
                if wait_s is None:
                    return err.result(attempt, time.monotonic() - began)
                self.hosts.pause(url, err.wait_s or 0.0)
                self._sleep(wait_s)
        return failure.result(self.settings.attempts, time.monotonic() - began)

    def read_small(self, url: str, max_bytes: int, *, trusted: bool = False) -> bytes:
        """Fetch a small file into memory, one try, under the same rules of address and host.

        Raises:
            FetchError: It cannot be fetched, or is larger than ``max_bytes``.
        """
        data = b""

        def read(response: requests.Response) -> None:
            nonlocal data
            data = response.raw.read(max_bytes + 1, decode_content=True)

        self._exchange(url, None, trusted, read)
        if len(data) > max_bytes:
            raise FetchError(TOO_LARGE, f"{url}: more than {max_bytes:,} bytes")
        return data

    def save(self, url: str, stream: IO[bytes], max_bytes: int, *, trusted: bool = False) -> None:
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

        self._exchange(url, None, trusted, read)

    def _finish(
        self, part: Part, target: Path, sha256: str, attempts: int, began: float
    ) -> FetchResult:
        n_bytes = part.finish()
        remember(target, n_bytes, sha256)
        return FetchResult(OK, "", n_bytes, sha256, attempts, time.monotonic() - began)

    def _next_wait(self, failure: FetchError, attempt: int) -> float | None:
        """Seconds to wait before another try; None if there is none."""
        exhausted = attempt >= self.settings.attempts or self._stopped.is_set()
        if failure.state not in RETRIED or exhausted:
            return None
        if failure.wait_s is not None:
            return failure.wait_s if failure.wait_s <= self.settings.max_wait_s else None
        grown = self.settings.first_wait_s * float(2 ** (attempt - 1))
        return min(grown * self._rng.uniform(0.5, 1.5), self.settings.max_wait_s)

    def _try(self, url: str, part: Part, sha256: str | None, trusted: bool) -> str:
        """One download; returns the SHA-256 of the part, which is the wanted file then."""
        body = _Body(part, sha256, self.settings)
        try:
            self._exchange(url, part if sha256 else None, trusted, body.receive)
        except FetchError as err:
            if err.state == TOO_LARGE:
                part.discard()
            raise
        body.judge(url)
        return body.sha256

    def _exchange(
        self,
        url: str,
        part: Part | None,
        trusted: bool,
        read: Callable[[requests.Response], None],
    ) -> None:
        """Ask and read the answer, in its turn and its time; failures become FetchErrors."""
        with self.hosts.turn(url):
            clock = Clock(self.settings.total_timeout_s)
            self._clocks.add(clock)
            try:
                with clock.running(), self._open(url, part, trusted) as response:
                    read(response)
                    if clock.expired:  # a body without a length seems to end there
                        raise FetchError(TIMEOUT, "")
            except (requests.RequestException, urllib3.exceptions.HTTPError, FetchError) as err:
                raise self._failure(url, err, clock) from err
            except (ValueError, OverflowError) as err:  # of a header that no library expects
                reason = f"{url}: the answer cannot be understood: {err}"
                raise FetchError(UNEXPECTED, reason) from err
            finally:
                self._clocks.discard(clock)

    def _failure(self, url: str, err: Exception, clock: Clock) -> FetchError:
        if self._stopped.is_set():
            return FetchError(NETWORK, f"{url}: stopped")
        if clock.expired:
            return FetchError(TIMEOUT, f"{url}: not whole within {clock.seconds:,.0f} s")
        return err if isinstance(err, FetchError) else _network_failure(url, err)

    def _open(self, url: str, part: Part | None, trusted: bool) -> requests.Response:
        """The answer after redirects, with its body not yet read.

        A mirror that the user named may be private; what it redirects to may not.
        """
        here = url
        for _ in range(self.settings.max_redirects + 1):
            trusted = trusted and _same_origin(here, url)
            response = self._get(here, part, trusted or self.settings.allow_private)
            if not response.is_redirect:
                return self._checked(response, part)
            response.close()
            there = polite_address(urljoin(here, response.headers["location"]))
            if not _same_origin(here, there):
                self.hosts.wait(there)
            here = there
        limit = self.settings.max_redirects
        raise FetchError(REDIRECT_LOOP, f"{url}: more than {limit} redirects")

    def _get(self, url: str, part: Part | None, allow_private: bool) -> requests.Response:
        problem = address_problem(url, allow_private=allow_private)
        if problem:
            raise FetchError(UNSAFE_URL, f"{url}: {problem}")
        if self._stopped.is_set():
            raise FetchError(NETWORK, f"{url}: stopped")
        session = self._trusting if allow_private else self._wary
        return session.get(
            url,
            stream=True,
            allow_redirects=False,
            headers=part.conditions() if part else {},
            timeout=(self.settings.connect_timeout_s, self.settings.read_timeout_s),
        )

    def _checked(self, response: requests.Response, part: Part | None) -> requests.Response:
        status = response.status_code
        if status == 200 or (status == 206 and part and part.continues(response)):
            return response
        response.close()
        if part and status in (206, 416):  # not the rest of what we have
            part.discard()
            reason = f"{response.url}: the server cannot resume"
            raise FetchError(TRUNCATED, reason, _STARTS_OVER)
        reason = f"{response.url}: the server answered {status} {response.reason}"
        wait_s = retry_after(response.headers.get("retry-after"))
        if wait_s is not None and wait_s > self.settings.max_wait_s:
            reason += f" and asks to wait {wait_s:,.0f} s; run again later"
        raise FetchError(state_of_status(status), reason, wait_s)


class _Body:
    """The body of one answer: received into the part, then judged by its bytes."""

    def __init__(self, part: Part, expected: str | None, settings: FetchSettings) -> None:
        self.sha256 = ""
        self._part = part
        self._expected = expected
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
        length = None if coded else _length(response)
        self._resumed = response.status_code == 206
        self._framed = length is not None or "transfer-encoding" in response.headers
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

    def judge(self, url: str) -> None:
        """Accept the whole body, or say what it is instead.

        Raises:
            FetchError: It is not the wanted file; the part is gone, or set aside.
        """
        if self._expected is not None and self.sha256 == self._expected:
            return
        if self._resumed:  # beginning and rest may be of two files: no judgement of the source
            self._part.discard()
            reason = f"{url}: the continued file is not the recorded one"
            raise FetchError(TRUNCATED, reason, _STARTS_OVER)
        head, tail = self._part.edges()
        if b"%PDF-" not in head:
            self._part.discard()
            raise FetchError(NOT_PDF, f"{url}: {self._described(head)}: no PDF")
        if not self._framed and b"%%EOF" not in tail:
            self._part.discard()
            reason = f"{url}: {self._n_bytes:,} bytes of unknown length without an end of file"
            raise FetchError(TRUNCATED, reason)
        if self._expected is not None:
            raise self._changed(url)

    def _described(self, head: bytes) -> str:
        kind = self._headers.get("content-type", "no content type")
        return (
            f"{self._n_bytes:,} bytes of {kind} that begin {head[:60].decode('ascii', 'replace')!r}"
        )

    def _changed(self, url: str) -> ChangedError:
        dated = self._headers.get("last-modified", "not dated")
        etag = self._headers.get("etag", "none")
        aside = self._part.set_aside()
        reason = (
            f"{url}: expected SHA-256 {self._expected}, found {self.sha256} "
            f"({self._n_bytes:,} bytes, {dated}, ETag {etag}); kept as {aside.name}"
        )
        return ChangedError(reason, self._n_bytes, self.sha256)

    def _check_size(self, url: str, n_bytes: int, how: str) -> None:
        limit = self._settings.max_bytes
        if n_bytes > limit:
            reason = f"{url}: {n_bytes:,} bytes {how}, at most {limit:,} are taken"
            raise FetchError(TOO_LARGE, reason)


def retry_after(value: str | None) -> float | None:
    """Seconds of a Retry-After header (a number, or a date); None if absent or unusable."""
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:12])
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return max(0.0, (moment - datetime.now(timezone.utc)).total_seconds())


def _length(response: requests.Response) -> int | None:
    value = response.headers.get("content-length", "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None


def _refuse_special_peers(address: str) -> None:
    problem = peer_problem(address)
    if problem:
        raise FetchError(UNSAFE_URL, problem)


def _same_origin(one: str, other: str) -> bool:
    return urlsplit(one)[:2] == urlsplit(other)[:2]


def _network_failure(url: str, err: Exception) -> FetchError:
    text = str(err)
    if isinstance(err, (requests.Timeout, urllib3.exceptions.TimeoutError)) or (
        "timed out" in text.lower()
    ):
        return FetchError(TIMEOUT, f"{url}: no answer, or no byte for too long")
    if "IncompleteRead" in text or isinstance(err, urllib3.exceptions.ProtocolError):
        return FetchError(TRUNCATED, f"{url}: the connection ended early")
    host = urlsplit(url).hostname
    return FetchError(NETWORK, f"{url}: no connection to {host} ({err.__class__.__name__})")
