"""Fetch one PDF so that its final name always means the published bytes.

The body goes to ``<doc_id>.pdf.part`` in the same folder and is hashed on the way; only when
its SHA-256 is the recorded one is it flushed to disk and renamed. What a server says (status,
content type, length) decides nothing about the content: the bytes do.
"""

from __future__ import annotations

import contextlib
import email.utils
import hashlib
import json
import os
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any
from urllib.parse import urljoin, urlsplit

import requests
import urllib3
from nclue_reconstruct.addresses import address_problem
from nclue_reconstruct.hosts import Hosts

from nclue_core._version import __version__
from nclue_core.files import sha256_file, write_text

OK = "ok"
CHANGED = "changed_at_source"  # a PDF with another hash; kept aside as .mismatch
NOT_PDF = "not_pdf"  # a web page, a notice, anything that is no PDF
GONE = "gone"  # 404, 410, or not in the mirror
FORBIDDEN = "forbidden"  # 401, 403, 451
RATE_LIMITED = "rate_limited"  # asked to wait longer than we do in one run
SERVER_ERROR = "server_error"  # 5xx to the end
TIMEOUT = "timeout"
TRUNCATED = "truncated"  # the body ended early, again and again
TOO_LARGE = "too_large"
UNSAFE_URL = "unsafe_url"
NETWORK = "network"  # no connection, no such host, broken protocol
REDIRECT_LOOP = "redirect_loop"  # more redirects than are followed
LANDING_ONLY = "landing_only"  # only a web page about the document is known
FETCH_STATES = (
    OK, CHANGED, NOT_PDF, GONE, FORBIDDEN, RATE_LIMITED, SERVER_ERROR, TIMEOUT, TRUNCATED,
    TOO_LARGE, UNSAFE_URL, REDIRECT_LOOP, NETWORK, LANDING_ONLY,
)  # fmt: skip
_RETRIED = frozenset([RATE_LIMITED, SERVER_ERROR, TIMEOUT, TRUNCATED, NETWORK])

_BLOCK = 1 << 17
_STATUS = {404: GONE, 410: GONE, 401: FORBIDDEN, 403: FORBIDDEN, 451: FORBIDDEN,
           429: RATE_LIMITED, 503: RATE_LIMITED, 408: TIMEOUT}  # fmt: skip


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


@dataclass(frozen=True)
class FetchResult:
    """What became of one document."""

    state: str  # one of FETCH_STATES
    reason: str  # empty where ok
    n_bytes: int | None = None
    sha256: str | None = None  # of what was received, also where it is not the recorded one
    attempts: int = 0
    seconds: float = 0.0


class FetchError(Exception):
    """A try that failed; ``state`` is one of FETCH_STATES."""

    def __init__(self, state: str, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.state = state
        self.reason = reason
        self.wait_s = wait_s  # what the server asks for

    def result(self, attempts: int, seconds: float) -> FetchResult:
        """The end of the document, if there is no other try."""
        return FetchResult(self.state, self.reason, attempts=attempts, seconds=seconds)


class _ChangedError(FetchError):
    def __init__(self, reason: str, n_bytes: int, sha256: str) -> None:
        super().__init__(CHANGED, reason)
        self.n_bytes = n_bytes
        self.sha256 = sha256

    def result(self, attempts: int, seconds: float) -> FetchResult:
        """With the size and hash that were found."""
        return FetchResult(CHANGED, self.reason, self.n_bytes, self.sha256, attempts, seconds)


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
        sleep: Callable[[float], None] = time.sleep,
        rng: random.Random | None = None,
    ) -> None:
        self.settings = settings or FetchSettings()
        self._hosts = hosts or Hosts()
        self._sleep = sleep
        self._rng = rng or random.Random()  # noqa: S311 - jitter, no secret
        self._session = requests.Session()
        adapter = requests.adapters.HTTPAdapter(pool_connections=64, pool_maxsize=64)
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, adapter)
        self._session.headers.update(
            {"User-Agent": self.settings.user_agent, "Accept": "application/pdf, */*;q=0.5"}
        )

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
        failure = FetchError(NETWORK, "not tried")
        for attempt in range(1, self.settings.attempts + 1):
            try:
                n_bytes, found = self._try(url, target, sha256, trusted)
                remember(target, n_bytes, found)
                seconds = time.monotonic() - began
                return FetchResult(OK, "", n_bytes, found, attempt, seconds)
            except FetchError as err:
                failure = err
                wait_s = self._next_wait(err, attempt)
                if wait_s is None:
                    return err.result(attempt, time.monotonic() - began)
                self._hosts.pause(url, err.wait_s or 0.0)
                self._sleep(wait_s)
        return failure.result(self.settings.attempts, time.monotonic() - began)

    def read_small(self, url: str, max_bytes: int, *, trusted: bool = False) -> bytes:
        """Fetch a small file into memory, one try, under the same rules of address and host.

        Raises:
            FetchError: It cannot be fetched, or is larger than ``max_bytes``.
        """
        try:
            with self._hosts.turn(url), self._open(url, None, trusted) as response:
                data: bytes = response.raw.read(max_bytes + 1, decode_content=True)
        except (requests.RequestException, urllib3.exceptions.HTTPError) as err:
            raise _network_failure(url, err) from err
        if len(data) > max_bytes:
            raise FetchError(TOO_LARGE, f"{url}: more than {max_bytes:,} bytes")
        return data

    def _next_wait(self, failure: FetchError, attempt: int) -> float | None:
        """Seconds to wait before another try; None if there is none."""
        if failure.state not in _RETRIED or attempt >= self.settings.attempts:
            return None
        if failure.wait_s is not None:
            return failure.wait_s if failure.wait_s <= self.settings.max_wait_s else None
        grown = self.settings.first_wait_s * float(2 ** (attempt - 1))
        return min(grown * self._rng.uniform(0.5, 1.5), self.settings.max_wait_s)

    def _try(self, url: str, target: Path, sha256: str | None, trusted: bool) -> tuple[int, str]:
        part = _Part(target)
        try:
            with self._hosts.turn(url), self._open(url, part, trusted) as response:
                n_bytes, found = self._receive(response, part)
        except requests.Timeout as err:
            raise FetchError(
                TIMEOUT, f"{url}: no answer in time ({err.__class__.__name__})"
            ) from err
        except (requests.RequestException, urllib3.exceptions.HTTPError) as err:
            raise _network_failure(url, err) from err
        _judge(url, part.path, n_bytes, found, sha256, response)
        part.finish(target)
        return n_bytes, found

    def _open(self, url: str, part: _Part | None, trusted: bool) -> requests.Response:
        """The answer after redirects, with its body not yet read."""
        here = url
        for _ in range(self.settings.max_redirects + 1):
            allow = trusted or self.settings.allow_private
            problem = address_problem(here, allow_private=allow)
            if problem:
                raise FetchError(UNSAFE_URL, f"{here}: {problem}")
            response = self._session.get(
                here,
                stream=True,
                allow_redirects=False,
                headers={"Accept-Encoding": "identity", **(part.conditions() if part else {})},
                timeout=(self.settings.connect_timeout_s, self.settings.read_timeout_s),
            )
            if not response.is_redirect:
                return self._checked(response, part)
            response.close()
            here = urljoin(here, response.headers["location"])
        limit = self.settings.max_redirects
        raise FetchError(REDIRECT_LOOP, f"{url}: more than {limit} redirects")

    def _checked(self, response: requests.Response, part: _Part | None) -> requests.Response:
        status = response.status_code
        if status == 200 or (status == 206 and part and part.continues(response)):
            return response
        response.close()
        if part and status in (206, 416):  # not the rest of what we have: start over
            part.discard()
            raise FetchError(TRUNCATED, f"{response.url}: the server cannot resume", wait_s=0.0)
        state = _STATUS.get(status, SERVER_ERROR if status >= 500 else GONE)
        reason = f"{response.url}: the server answered {status} {response.reason}"
        wait_s = retry_after(response.headers.get("retry-after"))
        if wait_s is not None and wait_s > self.settings.max_wait_s:
            reason += f" and asks to wait {wait_s:,.0f} s; run again later"
        raise FetchError(state, reason, wait_s)

    def _receive(self, response: requests.Response, part: _Part) -> tuple[int, str]:
        settings = self.settings
        coded = response.headers.get("content-encoding", "identity").lower() not in ("", "identity")
        resumed = response.status_code == 206
        expected = None if coded else _length(response)
        deadline = time.monotonic() + settings.total_timeout_s
        with part.writer(response, resumed) as (stream, digest, had):
            if expected is not None and had + expected > settings.max_bytes:
                raise FetchError(
                    TOO_LARGE,
                    f"{response.url}: {had + expected:,} bytes announced, at most "
                    f"{settings.max_bytes:,} are taken",
                )
            total = had
            while block := response.raw.read(_BLOCK, decode_content=coded):
                total += len(block)
                if total > settings.max_bytes:
                    raise FetchError(
                        TOO_LARGE, f"{response.url}: more than {settings.max_bytes:,} bytes"
                    )
                if time.monotonic() > deadline:
                    raise FetchError(TIMEOUT, f"{response.url}: {total:,} bytes in "
                                           f"{settings.total_timeout_s:,.0f} s")  # fmt: skip
                stream.write(block)
                digest.update(block)
            stream.flush()
            os.fsync(stream.fileno())
        if expected is not None and total - had != expected:
            raise FetchError(
                TRUNCATED, f"{response.url}: {total - had:,} of {expected:,} bytes arrived"
            )
        return total, digest.hexdigest()


class _Part:
    """The unfinished file, and what is known of where it came from."""

    def __init__(self, target: Path) -> None:
        self.path = target.with_name(target.name + ".part")
        self._note = target.with_name(target.name + ".part.json")

    def conditions(self) -> dict[str, str]:
        """Headers that ask for the rest, if it can be told whether the file is still the same."""
        validator = self._validator()
        size = self.path.stat().st_size if self.path.exists() else 0
        if not validator or not size:
            return {}
        return {"Range": f"bytes={size}-", "If-Range": validator}

    def continues(self, response: requests.Response) -> bool:
        """Whether a 206 is exactly the rest of what we have, uncoded."""
        size = self.path.stat().st_size if self.path.exists() else -1
        found = re.fullmatch(
            r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("content-range", "").strip()
        )
        coded = response.headers.get("content-encoding", "identity").lower() != "identity"
        return found is not None and int(found[1]) == size and not coded

    @contextlib.contextmanager
    def writer(self, response: requests.Response, resumed: bool) -> Any:
        """The stream, the hash so far and the bytes so far."""
        digest = hashlib.sha256()
        had = 0
        if resumed:
            with self.path.open("rb") as stream:
                while block := stream.read(_BLOCK):
                    digest.update(block)
                    had += len(block)
        else:
            self.discard()
            note = {"url": response.url, "validator": _validator_of(response)}
            write_text(self._note, json.dumps(note))
        with self.path.open("ab") as stream:
            yield stream, digest, had

    def finish(self, target: Path) -> None:
        """Give the verified file its final name."""
        self.path.replace(target)
        self._note.unlink(missing_ok=True)
        _sync_folder(target.parent)

    def discard(self) -> None:
        """Start over."""
        self.path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)

    def _validator(self) -> str | None:
        try:
            validator = json.loads(self._note.read_text(encoding="utf-8"))["validator"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return validator if isinstance(validator, str) else None


def _validator_of(response: requests.Response) -> str | None:
    """What lets a server say whether the file is unchanged: a strong ETag, or a date."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        return None  # what we keep are the decoded bytes: ranges would not fit them
    etag = response.headers.get("etag", "")
    return etag if etag.startswith('"') else response.headers.get("last-modified")


def _judge(
    url: str, part: Path, n_bytes: int, found: str, expected: str | None,
    response: requests.Response,
) -> None:  # fmt: skip
    """Accept the whole body, or say what it is instead; nothing wrong keeps its name."""
    if expected is not None and found == expected:
        return
    with part.open("rb") as stream:
        head = stream.read(1024)
    kind = response.headers.get("content-type", "no content type")
    target = part.with_name(part.name.removesuffix(".part"))
    note = target.with_name(part.name + ".json")
    note.unlink(missing_ok=True)
    if b"%PDF-" not in head:
        part.unlink()
        shown = head[:60].decode("ascii", "replace")
        raise FetchError(
            NOT_PDF, f"{url}: {n_bytes:,} bytes of {kind} that begin {shown!r}: no PDF"
        )
    if expected is None:
        return
    aside = target.with_name(target.name + ".mismatch")
    part.replace(aside)
    dated = response.headers.get("last-modified") or "not dated"
    raise _ChangedError(
        f"{url}: expected SHA-256 {expected}, found {found} ({n_bytes:,} bytes, {dated}); kept as "
        f"{aside.name}",
        n_bytes,
        found,
    )


def existing(target: Path, sha256: str | None, *, rehash: bool = False) -> tuple[int, str] | None:
    """Size and hash of a file that is there and right; a wrong one is set aside.

    The hash recorded beside it counts while size and time are as they were recorded.
    """
    if not target.is_file():
        return None
    known = None if rehash else recalled(target)
    n_bytes = target.stat().st_size
    found = known or sha256_file(target)
    if sha256 is not None and found != sha256:
        target.replace(target.with_name(target.name + ".mismatch"))
        return None
    if known is None:
        remember(target, n_bytes, found)
    return n_bytes, found


def remember(target: Path, n_bytes: int, sha256: str) -> None:
    """Note size, time and hash of a file beside it."""
    note = {"n_bytes": n_bytes, "mtime_ns": target.stat().st_mtime_ns, "sha256": sha256}
    write_text(_state_file(target), json.dumps(note))


def recalled(target: Path) -> str | None:
    """The noted hash, if the file is as it was noted."""
    try:
        note = json.loads(_state_file(target).read_text(encoding="utf-8"))
        stat = target.stat()
        same = (note["n_bytes"], note["mtime_ns"]) == (stat.st_size, stat.st_mtime_ns)
        return str(note["sha256"]) if same else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _state_file(target: Path) -> Path:
    return target.parent / ".state" / f"{target.name}.json"


def retry_after(value: str | None) -> float | None:
    """Seconds of a Retry-After header (a number, or a date); None if absent or unusable."""
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:12])
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except (ValueError, TypeError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return max(0.0, (moment - datetime.now(timezone.utc)).total_seconds())


def _length(response: requests.Response) -> int | None:
    value = response.headers.get("content-length", "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None


def _network_failure(url: str, err: Exception) -> FetchError:
    text = str(err)
    if isinstance(err, urllib3.exceptions.ReadTimeoutError) or "timed out" in text.lower():
        return FetchError(TIMEOUT, f"{url}: no byte for too long")
    if "IncompleteRead" in text or isinstance(err, urllib3.exceptions.ProtocolError):
        return FetchError(TRUNCATED, f"{url}: the connection ended early")
    host = urlsplit(url).hostname
    return FetchError(NETWORK, f"{url}: no connection to {host} ({err.__class__.__name__})")


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def copy_from(
    source: Path, target: Path, sha256: str | None, *, rehash: bool = False
) -> FetchResult:
    """Take a PDF from a folder (a mirror) instead; the hash is checked all the same."""
    began = time.monotonic()
    here = existing(target, sha256, rehash=rehash)
    if here is not None:
        return FetchResult(OK, "", *here)
    if not source.is_file():
        return FetchResult(GONE, f"{source}: not in the mirror")
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    with source.open("rb") as original, part.open("wb") as copy:
        n_bytes, found = _copy(original, copy)
    if sha256 is not None and found != sha256:
        part.unlink()
        reason = f"{source}: expected SHA-256 {sha256}, found {found}"
        return FetchResult(CHANGED, reason, n_bytes, found)
    part.replace(target)
    remember(target, n_bytes, found)
    return FetchResult(OK, "", n_bytes, found, 1, time.monotonic() - began)


def _copy(original: IO[bytes], copy: IO[bytes]) -> tuple[int, str]:
    digest = hashlib.sha256()
    n_bytes = 0
    while block := original.read(_BLOCK):
        digest.update(block)
        copy.write(block)
        n_bytes += len(block)
    copy.flush()
    os.fsync(copy.fileno())
    return n_bytes, digest.hexdigest()
