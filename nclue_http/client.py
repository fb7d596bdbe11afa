"""Ask a server, and read its answer within limits: redirects, waits, time, size, addresses."""

from __future__ import annotations

import email.utils
import functools
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import requests
import urllib3

from nclue_http.addresses import address_problem, canonical_url, peer_problem, redirect_target
from nclue_http.connections import Clock, open_session
from nclue_http.errors import (
    CERTIFICATE,
    NETWORK,
    REDIRECT_LOOP,
    STATUS,
    TIMEOUT,
    TOO_LARGE,
    TRUNCATED,
    UNEXPECTED,
    UNSAFE_URL,
    HttpError,
)
from nclue_http.hosts import NO_LIMIT, Hosts

Found = TypeVar("Found")
REFUSING = frozenset([403, 429, 503])  # statuses by which hosts keep programs out
_HONEST = frozenset([404, 410])
_FAILURES = (
    HttpError, requests.RequestException, urllib3.exceptions.HTTPError,
    ValueError, OverflowError,  # of a header that no library expects
)  # fmt: skip


@dataclass(frozen=True)
class HttpSettings:
    """How to ask."""

    headers: Mapping[str, str]
    connect_timeout_s: float = 20.0
    read_timeout_s: float = 60.0  # without a byte
    total_timeout_s: float = 1800.0  # for all of one exchange
    max_wait_s: float = 120.0  # what a server may ask for
    max_redirects: int = 8  # 0: a redirect is an answer like others
    allow_private: bool = False
    allow_downgrade: bool = True  # redirects from https to http


@dataclass(frozen=True)
class Reply:
    """A whole answer."""

    status: int
    headers: Mapping[str, str]  # names in any letter case
    content: bytes


class Client:
    """Asks servers; safe to use from several threads.

    Args:
        settings: How.
        hosts: Limits shared by all threads; by default there are none.
        rewrite: Gives the address to ask in place of one that a redirect names.
    """

    def __init__(
        self,
        settings: HttpSettings,
        hosts: Hosts | None = None,
        rewrite: Callable[[str], str] = str,
    ) -> None:
        self.settings = settings
        self.hosts = hosts or Hosts(default=NO_LIMIT)
        self._rewrite = rewrite
        self._stopped = threading.Event()
        self._clocks: set[Clock] = set()
        self._trusting = open_session(dict(settings.headers), None)
        self._wary = open_session(dict(settings.headers), _refuse_special_peers)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections that are kept."""
        self._trusting.close()
        self._wary.close()

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """End what runs, soon: connections are closed, nothing more is asked."""
        self._stopped.set()
        for clock in list(self._clocks):
            clock.expire()

    def exchange(
        self,
        url: str,
        read: Callable[[requests.Response], Found],
        *,
        headers: Mapping[str, str] | None = None,
        json: Any = None,
        trusted: bool = False,
        deadline: float | None = None,
        asker: str = "",
    ) -> Found:
        """Ask, follow redirects, and read the answer, each in the turn of the host that is asked.

        Args:
            url: http or https.
            read: Reads the answer, whatever its status (`refuse_status` refuses errors).
            headers: More than those of the settings.
            json: A body to post; None asks by GET.
            trusted: The user named this address, so it may be private; what it redirects to on
                another host may not.
            deadline: By `time.monotonic`; by default the total of the settings from now.
            asker: For whom, where hosts count refusals.

        Raises:
            HttpError: There is no answer, or ``read`` refused it.
        """
        if deadline is None:
            deadline = time.monotonic() + self.settings.total_timeout_s
        here, before = url, None
        for _ in range(self.settings.max_redirects + 1):
            private = self.settings.allow_private or (trusted and _same_origin(here, url))
            here = self._judged(here, private, before)
            session = self._trusting if private else self._wary
            question = functools.partial(self._send, session, here, headers, json)
            there, found = self._hop(here, question, read, deadline, asker)
            if there is None:
                return found  # type: ignore[return-value]
            here, before = there, here
        raise HttpError(REDIRECT_LOOP, f"more than {self.settings.max_redirects} redirects", url)

    def _hop(
        self,
        here: str,
        question: Callable[[], requests.Response],
        read: Callable[[requests.Response], Found],
        deadline: float,
        asker: str,
    ) -> tuple[str | None, Found | None]:
        """Ask one host: where it redirects to, or what was read."""
        with self.hosts.turn(here, deadline) as started:
            clock = Clock(max(deadline - time.monotonic(), 0.0))
            self._clocks.add(clock)
            answered = False
            try:
                with clock.running(), question() as response:
                    answered = True
                    there = self._redirect(here, response)
                    found = read(response) if there is None else None
                    if clock.expired:  # a body without a length seems to end there
                        raise HttpError(TIMEOUT, "")
                    return there, found
            except _FAILURES as err:
                failure = self._failure(here, err, clock)
                if not (answered and failure.kind == TIMEOUT):  # slow, but it does answer
                    self._note(here, failure, asker, started)
                raise failure from err
            finally:
                self._clocks.discard(clock)

    def ask(self, url: str, max_bytes: int, **options: Any) -> Reply:
        """The whole answer, whatever its status, in memory.

        Args:
            url: http or https.
            max_bytes: Largest answer that is taken.
            **options: As in `exchange`.

        Raises:
            HttpError: There is no answer, or it is too large.
        """

        def read(response: requests.Response) -> Reply:
            return Reply(response.status_code, response.headers, read_at_most(response, max_bytes))

        return self.exchange(url, read, **options)

    def refuse_status(self, response: requests.Response) -> HttpError:
        """The error for an answer that its status makes useless."""
        reason = f"the server answered {response.status_code} {response.reason}"
        wait_s = retry_after(response.headers.get("retry-after"))
        if wait_s is not None and wait_s > self.settings.max_wait_s:
            reason += f" and asks to wait {wait_s:,.0f} s; run again later"
        status = response.status_code
        return HttpError(STATUS, reason, response.url, status=status, wait_s=wait_s)

    def _judged(self, url: str, allow_private: bool, before: str | None) -> str:
        problem = address_problem(url, allow_private=allow_private)
        if problem and before:
            raise HttpError(UNSAFE_URL, f"redirects to {url}, which is refused: {problem}", before)
        if problem:
            raise HttpError(UNSAFE_URL, problem, url)
        return canonical_url(url)

    def _send(
        self, session: requests.Session, url: str, headers: Mapping[str, str] | None, json: Any
    ) -> requests.Response:
        if self.stopped:
            raise HttpError(NETWORK, "stopped", url)
        return session.request(
            "GET" if json is None else "POST",
            url,
            json=json,
            stream=True,
            allow_redirects=False,
            headers=headers,
            timeout=(self.settings.connect_timeout_s, self.settings.read_timeout_s),
        )

    def _redirect(self, here: str, response: requests.Response) -> str | None:
        """Where an answer leads; None where it is the answer."""
        self.hosts.reached(here)
        if not response.is_redirect or not self.settings.max_redirects:
            return None
        places = set(response.raw.headers.getlist("location"))
        if len(places) != 1 or not next(iter(places)).strip():
            what = "nowhere" if len(places) == 1 else f"{len(places)} places at once"
            raise HttpError(UNEXPECTED, f"a redirect to {what}", here)
        there = self._rewrite(redirect_target(here, places.pop()))
        if not self.settings.allow_downgrade and _is_downgrade(here, there):
            raise HttpError(UNSAFE_URL, f"redirects to {there}, which is refused: no https", here)
        return there

    def _failure(self, url: str, err: Exception, clock: Clock) -> HttpError:
        if self.stopped:
            return HttpError(NETWORK, "stopped", url)
        if clock.expired:
            limit = self.settings.total_timeout_s
            return HttpError(TIMEOUT, f"not whole within {limit:,.0f} s", url)
        return err if isinstance(err, HttpError) else failure_of(url, err, self.settings)

    def _note(self, here: str, failure: HttpError, asker: str, started: float) -> None:
        """Tell the hosts how this one behaved."""
        if self.stopped:
            return
        wait_s = failure.wait_s
        if failure.kind == NETWORK:
            self.hosts.unreached(here, str(failure))
        elif failure.status in _HONEST:
            self.hosts.welcomed(here)
        elif failure.status in REFUSING or failure.kind == TIMEOUT:
            self.hosts.refused(here, asker, failure.what, None if wait_s is None else started)
            if wait_s is not None and wait_s > self.settings.max_wait_s:
                self.hosts.leave(here, failure.what)
        if failure.status and wait_s is not None and wait_s <= self.settings.max_wait_s:
            self.hosts.pause(here, wait_s)


def read_at_most(response: requests.Response, max_bytes: int) -> bytes:
    """The whole body.

    Raises:
        HttpError: It is larger.
    """
    data: bytes = response.raw.read(max_bytes + 1, decode_content=True)
    if len(data) > max_bytes:
        raise HttpError(TOO_LARGE, f"more than {max_bytes:,} bytes", response.url)
    return data


def header_text(text: str) -> str:
    """A person's words for a header: letters beyond ASCII as ``%XX`` of UTF-8.

    Raises:
        ValueError: They hold control characters.
    """
    if any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in text):
        raise ValueError("control characters (a line break, a tab) cannot be sent")
    return "".join(c if c.isascii() else quote(c, errors="surrogatepass") for c in text)


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


def body_length(response: requests.Response) -> int | None:
    """The announced length of the body on the wire, if it is one number."""
    value = response.headers.get("content-length", "").strip()
    return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None


def is_coded(response: requests.Response) -> bool:
    """Whether the bytes on the wire are not the bytes of the file."""
    return response.headers.get("content-encoding", "").strip().lower() not in ("", "identity")


def _refuse_special_peers(address: str) -> None:
    problem = peer_problem(address)
    if problem:
        raise HttpError(UNSAFE_URL, problem)


def _same_origin(one: str, other: str) -> bool:
    return urlsplit(one)[:2] == urlsplit(canonical_url(other))[:2] or one == other


def _is_downgrade(here: str, there: str) -> bool:
    return here.startswith("https:") and not there.startswith("https:")


def failure_of(url: str, err: Exception, settings: HttpSettings) -> HttpError:
    """What an error of `requests`, `urllib3` or below means."""
    causes = list(_causes(err))

    def among(*kinds: type[BaseException]) -> Any:
        return next((cause for cause in causes if isinstance(cause, kinds)), None)

    unreached = _unreached(among, settings)
    host = urlsplit(url).hostname
    if among(ssl.SSLCertVerificationError):
        return HttpError(CERTIFICATE, _certificate(among(ssl.SSLCertVerificationError)), url)
    if unreached is not None:  # no URL: it holds for all of the host
        return HttpError(NETWORK, f"no connection to {host}: {unreached}")
    if among(requests.Timeout, urllib3.exceptions.TimeoutError, TimeoutError):
        return HttpError(TIMEOUT, "no answer, or no byte for too long", url)
    if among(http.client.IncompleteRead, ConnectionError, urllib3.exceptions.IncompleteRead):
        return HttpError(TRUNCATED, "the connection ended early", url)
    if among(http.client.HTTPException) or not among(urllib3.exceptions.ProtocolError):
        return HttpError(UNEXPECTED, f"the answer cannot be understood: {causes[-1]}", url)
    return HttpError(TRUNCATED, f"the connection ended early ({causes[-1]})", url)


def _unreached(among: Callable[..., Any], settings: HttpSettings) -> str | None:
    """Why no connection came about; None if one did."""
    below = urllib3.exceptions
    if among(socket.gaierror):
        return "its name cannot be resolved"
    if among(below.ConnectTimeoutError):
        return f"none in {settings.connect_timeout_s:,.0f} s"
    if among(below.ProxyError):
        return "the proxy does not lead there"
    if among(ssl.SSLError):
        return f"no TLS ({among(ssl.SSLError).reason})"
    if among(below.NewConnectionError):
        return str(getattr(among(OSError), "strerror", None) or "refused").lower()
    return None


def _certificate(err: ssl.SSLCertVerificationError) -> str:
    """What is wrong with a certificate, and what to do."""
    elsewhere = "else only its owner can mend it: get the PDFs elsewhere, and use --mirror"
    what = f"its certificate is not accepted: {err.verify_message}"
    if err.verify_code in (9, 10):
        return f"{what}; see whether the clock of this machine is right, {elsewhere}"
    if err.verify_code in (18, 19, 20, 21):
        return (
            f"{what}; if you know the authority that signed it (of a company's proxy, say), name "
            f"its file in REQUESTS_CA_BUNDLE, {elsewhere}"
        )
    return f"{what}; {elsewhere.removeprefix('else ')}"


def _causes(err: BaseException) -> Iterator[BaseException]:
    """An error, what it was raised from, and what it carries; the innermost last."""
    seen: list[Any] = []
    waiting: list[Any] = [err]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, BaseException) and not any(one is other for other in seen):
            seen.append(one)
            yield one
            waiting += [*one.args, getattr(one, "reason", None), one.__cause__, one.__context__]
