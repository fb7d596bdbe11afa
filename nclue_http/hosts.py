"""Politeness per host: requests at once, time between them, pauses that servers ask for.

And an end of asking: a host that refuses one request after the other, or that cannot be reached,
is left alone for the rest of the run.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from nclue_http.errors import NETWORK, POSTPONED, TIMEOUT, HttpError

MAX_REFUSALS = 5  # in a row, before a host is left alone
REFUSALS_PER_ASKER = 2  # counted of one asker, so that one bad document closes no host
TRIES_OF_A_STRANGER = 3  # to reach a host that has never answered
TRIES_OF_A_FRIEND = 15  # to reach one that has


@dataclass(frozen=True)
class HostLimit:
    """What one host is asked at most."""

    concurrent: int
    interval_s: float  # between the starts of two requests


DEFAULT_LIMIT = HostLimit(4, 0.1)
NO_LIMIT = HostLimit(64, 0.0)  # a host that the user named; its refusals do not close it


class _Host:
    def __init__(self, limit: HostLimit) -> None:
        self.limit = limit
        self.slots = threading.BoundedSemaphore(limit.concurrent)
        self.lock = threading.Lock()
        self.next_start = 0.0
        self.paused_at = float("-inf")
        self.has_answered = False
        self.unreached = 0  # tries in a row
        self.refusals: Counter[str] = Counter()  # in a row, by asker
        self.closed: tuple[str, str] | None = None  # kind and reason


class Hosts:
    """Shared by all threads of a run.

    Args:
        limits: Host name -> limit; others get the default.
        default: Limit of all other hosts.
        clock, sleep: For tests.
    """

    def __init__(
        self,
        limits: dict[str, HostLimit] | None = None,
        default: HostLimit = DEFAULT_LIMIT,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._limits = limits or {}
        self._default = default
        self._clock = clock
        self._sleep = sleep
        self._hosts: dict[str, _Host] = {}
        self._lock = threading.Lock()

    @contextmanager
    def turn(self, url: str, deadline: float = float("inf")) -> Iterator[float]:
        """Wait for a place and for the interval of the URL's host; gives the time of the start.

        Args:
            url: What is about to be asked.
            deadline: By `time.monotonic`; no wait goes beyond it.

        Raises:
            HttpError: The host is left alone, or the wait would be too long.
        """
        host = self._host(url)
        _check_open(host)
        left = min(max(deadline - self._clock(), 0.0), threading.TIMEOUT_MAX)
        if not host.slots.acquire(timeout=left):
            raise HttpError(TIMEOUT, f"no turn at {_host_name(url)} within the time of a document")
        try:
            self._wait(url, host, deadline)
            _check_open(host)
            yield self._clock()
        finally:
            host.slots.release()

    def _wait(self, url: str, host: _Host, deadline: float) -> None:
        with host.lock:
            now = self._clock()
            start = max(now, host.next_start)
            if start > deadline:
                reason = f"{_host_name(url)} asked to wait {start - now:,.0f} s; run again later"
                raise HttpError(POSTPONED, reason)
            host.next_start = start + host.limit.interval_s
        if start > now:
            self._sleep(start - now)

    def name(self, url: str) -> str:
        """The URL's host, lower case; empty if it has none."""
        return _host_name(url)

    def limit(self, url: str) -> HostLimit:
        """What the URL's host is asked at most."""
        return self._host(url).limit

    def lift(self, url: str) -> None:
        """No limit for this host: the user named it."""
        with self._lock:
            self._hosts[_host_name(url)] = _Host(NO_LIMIT)

    def pause(self, url: str, seconds: float) -> None:
        """No request to this host for so long (it said so, or failed)."""
        host = self._host(url)
        with host.lock:
            host.paused_at = self._clock()
            host.next_start = max(host.next_start, host.paused_at + seconds)

    def leave(self, url: str, why: str) -> None:
        """Ask this host nothing more; what would be asked is postponed."""
        host = self._host(url)
        with host.lock:
            host.closed = host.closed or (POSTPONED, f"{_host_name(url)} is left alone: {why}")

    def reached(self, url: str) -> None:
        """The host answered, whatever it said."""
        host = self._host(url)
        host.has_answered, host.unreached = True, 0

    def unreached(self, url: str, reason: str) -> None:
        """No connection came about; after a few in a row nothing more is tried."""
        host = self._host(url)
        with host.lock:
            host.unreached += 1
            tries = TRIES_OF_A_FRIEND if host.has_answered else TRIES_OF_A_STRANGER
            if host.unreached >= tries:
                host.closed = host.closed or (NETWORK, reason)

    def welcomed(self, url: str) -> None:
        """The host gave an honest answer; refusals before it are forgotten."""
        self._host(url).refusals.clear()

    def refused(self, url: str, asker: str, what: str, started: float | None = None) -> None:
        """The host refused; after a few refusals in a row it is left alone.

        Args:
            url: What was asked.
            asker: For whom; one of them counts for a few refusals at most.
            what: The refusal, for the message.
            started: Start of the request, where the host said when to come back: requests that
                were on their way when it first said so count for nothing.
        """
        host = self._host(url)
        if host.limit is NO_LIMIT or (started is not None and started < host.paused_at):
            return
        with host.lock:
            host.refusals[asker] += 1
            counted = sum(min(n, REFUSALS_PER_ASKER) for n in host.refusals.values())
        if counted >= MAX_REFUSALS:
            self.leave(url, f"it refused again and again ({what}); run again later")

    def _host(self, url: str) -> _Host:
        name = _host_name(url)
        with self._lock:
            if name not in self._hosts:
                self._hosts[name] = _Host(self._limits.get(name, self._default))
            return self._hosts[name]


def _check_open(host: _Host) -> None:
    if host.closed is not None:
        err = HttpError(*host.closed)
        err.is_final = True
        raise err


def _host_name(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower().rstrip(".")
    except ValueError:
        return ""
