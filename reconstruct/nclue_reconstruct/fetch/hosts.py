"""Politeness per host: requests at once, time between them, and pauses that servers ask for."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True)
class HostLimit:
    """What one host is asked at most."""

    concurrent: int
    interval_s: float  # between the starts of two requests


DEFAULT_LIMIT = HostLimit(4, 0.1)
NO_LIMIT = HostLimit(64, 0.0)  # a mirror that the user named
# arXiv asks for three seconds between requests, NCBI for three requests a second.
LIMITS = {
    "export.arxiv.org": HostLimit(1, 3.0),
    "documents.worldbank.org": HostLimit(2, 0.5),
    "documents1.worldbank.org": HostLimit(2, 0.5),
    "openknowledge.worldbank.org": HostLimit(2, 0.5),
    "www.ncbi.nlm.nih.gov": HostLimit(2, 0.4),
    "pmc.ncbi.nlm.nih.gov": HostLimit(2, 0.4),
    "www.govinfo.gov": HostLimit(2, 0.5),
    "files.eric.ed.gov": HostLimit(2, 0.5),
}


_ARXIV = re.compile(r"https?://(?:www\.)?arxiv\.org(?=/)", re.IGNORECASE)


def polite_address(url: str) -> str:
    """The address that programs are asked to use; arXiv has a host of its own for them."""
    return _ARXIV.sub("https://export.arxiv.org", url, count=1) if _ARXIV.match(url) else url


class _Host:
    def __init__(self, limit: HostLimit) -> None:
        self.limit = limit
        self.slots = threading.BoundedSemaphore(limit.concurrent)
        self.lock = threading.Lock()
        self.next_start = 0.0


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
        self._limits = LIMITS if limits is None else limits
        self._default = default
        self._clock = clock
        self._sleep = sleep
        self._hosts: dict[str, _Host] = {}
        self._lock = threading.Lock()

    @contextmanager
    def turn(self, url: str) -> Iterator[None]:
        """Wait for a place and for the interval of the URL's host."""
        with self._host(url).slots:
            self.wait(url)
            yield

    def wait(self, url: str) -> None:
        """Wait for the interval of the URL's host alone (a redirect to it)."""
        host = self._host(url)
        with host.lock:
            start = max(self._clock(), host.next_start)
            host.next_start = start + host.limit.interval_s
        self._wait_until(start)

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
            host.next_start = max(host.next_start, self._clock() + seconds)

    def _host(self, url: str) -> _Host:
        name = _host_name(url)
        with self._lock:
            if name not in self._hosts:
                self._hosts[name] = _Host(self._limits.get(name, self._default))
            return self._hosts[name]

    def _wait_until(self, moment: float) -> None:
        delay = moment - self._clock()
        if delay > 0:
            self._sleep(delay)


def _host_name(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""
