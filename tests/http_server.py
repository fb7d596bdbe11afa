"""A real HTTP server on loopback that answers as a test says."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Answer:
    """One answer.

    ``cut`` sends only so many bytes of the body and closes the connection; ``framed=False``
    announces no length; ``trickle`` sends the "head" or "body" byte by byte for some seconds.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    delay_s: float = 0.0
    framed: bool = True
    trickle: str | None = None


@dataclass
class Seen:
    """A request that came in."""

    path: str
    headers: dict[str, str]


class _Quiet(ThreadingHTTPServer):
    """Says nothing of clients that leave (tests kill some)."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Server:
    """Answers by path: a list is used up one by one, its last answer stays."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Answer] | Callable[[Seen], Answer]] = {}
        self.seen: list[Seen] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                seen = Seen(self.path, {k.lower(): v for k, v in self.headers.items()})
                outer.seen.append(seen)
                outer._send(self, outer._answer(seen))

            def log_message(self, *args: object) -> None:
                pass

        self._http = _Quiet(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self._http.server_address[1]}"

    def _answer(self, seen: Seen) -> Answer:
        rule = self.answers.get(seen.path)
        if rule is None:
            return Answer(404, b"no such thing")
        if callable(rule):
            return rule(seen)
        return rule.pop(0) if len(rule) > 1 else rule[0]

    def _send(self, handler: BaseHTTPRequestHandler, answer: Answer) -> None:
        if answer.delay_s:
            threading.Event().wait(answer.delay_s)
        if answer.trickle == "head":
            return _trickle(handler, b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1000)
        handler.send_response(answer.status)
        framing = {"Content-Length": str(len(answer.body))} if answer.framed else {}
        headers = {**framing, **answer.headers}
        for name, value in headers.items():
            handler.send_header(name, value.replace("{BASE}", self.base))
        handler.end_headers()
        if answer.trickle == "body":
            return _trickle(handler, answer.body)
        handler.wfile.write(answer.body if answer.cut is None else answer.body[: answer.cut])
        if answer.cut is not None or not answer.framed:
            handler.close_connection = True
        return None

    @contextmanager
    def running(self) -> Iterator[Server]:
        """Serve while the block runs."""
        thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            self._http.server_close()
            thread.join()


def _trickle(handler: BaseHTTPRequestHandler, data: bytes) -> None:
    handler.close_connection = True
    for i in range(60):
        handler.wfile.write(data[i : i + 1])
        threading.Event().wait(0.05)
