"""Connections that look at whom they reached, and that end when the time of a try is over.

A name can resolve to another address between the check of a URL and its use, so the address of
the peer itself is judged before a request is sent. And a server that sends a byte now and then
never meets a read timeout, so a clock of our own closes the socket.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import requests
import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

PeerCheck = Callable[[str], None]  # raises if this address may not be asked
_CURRENT = threading.local()


class Clock:
    """The time that one try may take; ``expired`` tells that it was cut off."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.expired = False
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def running(self) -> Iterator[Clock]:
        """Connections that this thread uses in the block end when the time is over."""
        timer = threading.Timer(self.seconds, self.expire)
        timer.daemon = True
        timer.start()
        _CURRENT.clock = self
        try:
            yield self
        finally:
            _CURRENT.clock = None
            timer.cancel()
            with self._lock:
                self._sockets.clear()  # they go back to the pool and serve other tries

    def watch(self, sock: socket.socket) -> None:
        """End this socket, too, when the time is over."""
        with self._lock:
            self._sockets.append(sock)
        if self.expired:
            self.expire()

    def expire(self) -> None:
        """The time is over: close what is open."""
        with self._lock:
            self.expired = True
            for sock in self._sockets:
                with contextlib.suppress(OSError):
                    # Not the method of a TLS socket: that one changes the state of a reader.
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)


class _Watched:
    """What the connections below share; ``peer_check`` is set by `_connection`."""

    peer_check: PeerCheck | None = None
    sock: Any

    def connect(self) -> None:
        super().connect()  # type: ignore[misc]
        check = type(self).peer_check
        if check is not None:
            try:
                check(str(self.sock.getpeername()[0]))
            except BaseException:
                self.sock.close()
                raise

    def getresponse(self) -> Any:
        clock = getattr(_CURRENT, "clock", None)
        if clock is not None and self.sock is not None:
            clock.watch(self.sock)
        return super().getresponse()  # type: ignore[misc]


def _pools(check: PeerCheck | None) -> dict[str, Any]:
    """Classes of connection pools by scheme."""
    static = None if check is None else staticmethod(check)

    class Plain(_Watched, HTTPConnection):
        peer_check = static

    class Secure(_Watched, HTTPSConnection):
        peer_check = static

    class PlainPool(urllib3.HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(urllib3.HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}


class _Adapter(requests.adapters.HTTPAdapter):
    def __init__(self, check: PeerCheck | None, connections: int) -> None:
        self._check = check
        super().__init__(pool_connections=connections, pool_maxsize=connections)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = _pools(self._check)

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **kwargs)
        if not proxy.lower().startswith("socks"):  # those have connections of their own
            # The peer is the proxy, which the user chose: only the clock applies.
            manager.pool_classes_by_scheme = _pools(None)
        return manager


def open_session(
    headers: dict[str, str], check: PeerCheck | None, connections: int = 64
) -> requests.Session:
    """A session whose connections are watched by the `Clock` of their thread.

    Args:
        headers: Sent with each request.
        check: Called with the IP address of each new peer; raises to refuse it. None for any.
        connections: Kept per host.
    """
    session = requests.Session()
    adapter = _Adapter(check, connections)
    for scheme in ("http://", "https://"):
        session.mount(scheme, adapter)
    session.headers.update(headers)
    session.auth = _no_password
    # It would look for the next address even where redirects are not followed, and read the
    # whole body for that.
    session.resolve_redirects = _no_redirects  # type: ignore[method-assign]
    return session


def _no_redirects(*_arguments: Any, **_more: Any) -> Iterator[requests.Response]:
    return iter(())


def _no_password(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Instead of looking into ~/.netrc: no server of a release gets a password."""
    return request
