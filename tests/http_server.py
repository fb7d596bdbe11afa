"""A real HTTP server on loopback that answers as a test says; all tests and benchmarks use it."""

from __future__ import annotations

import ssl
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from requests.structures import CaseInsensitiveDict


@dataclass
class Answer:
    """One answer.

    ``cut`` sends only so many bytes of the body and closes the connection; ``framed=False``
    announces no length; ``trickle`` sends the "head" or "body" byte by byte for some seconds;
    ``pieces`` sends the body in so many parts, ``pause_s`` before each; ``raw`` is all that is
    sent, head and body, before the connection is closed.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    delay_s: float = 0.0
    framed: bool = True
    trickle: str | None = None
    pieces: int = 1
    pause_s: float = 0.0
    raw: bytes | None = None


@dataclass
class Seen:
    """A request that came in; names of headers in any letter case."""

    path: str
    headers: Mapping[str, str]
    method: str = "GET"
    body: bytes = b""


Rule = Callable[[Seen], Answer]


class _Quiet(ThreadingHTTPServer):
    """Says nothing of clients that leave (tests kill some)."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exc_info()[1], (ConnectionError, ssl.SSLError)):
            super().handle_error(request, client_address)


class Server:
    """Answers by path: a list is used up one by one, its last answer stays.

    Args:
        otherwise: Answers what has no rule of its own; 404 by default.
        tls: Files of certificate and key, for https.
    """

    def __init__(self, otherwise: Rule | None = None, tls: tuple[Path, Path] | None = None) -> None:
        self.answers: dict[str, list[Answer] | Rule] = {}
        self.otherwise = otherwise or (lambda seen: Answer(404, b"no such thing"))
        self.seen: list[Seen] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = CaseInsensitiveDict(self.headers.items())
                seen = Seen(self.path, headers, self.command, body)
                outer.seen.append(seen)
                outer._send(self, outer._answer(seen))

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *args: object) -> None:
                pass

        self._http = _Quiet(("127.0.0.1", 0), Handler)
        if tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        scheme = "http" if tls is None else "https"
        self.base = f"{scheme}://127.0.0.1:{self._http.server_address[1]}"

    def _answer(self, seen: Seen) -> Answer:
        rule = self.answers.get(seen.path, self.otherwise)
        if callable(rule):
            return rule(seen)
        return rule.pop(0) if len(rule) > 1 else rule[0]

    def _send(self, handler: BaseHTTPRequestHandler, answer: Answer) -> None:
        if answer.delay_s:
            threading.Event().wait(answer.delay_s)
        if answer.trickle == "head":
            return _trickle(handler, b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1000)
        if answer.raw is not None:
            handler.close_connection = True
            handler.wfile.write(answer.raw)
            return None
        handler.send_response(answer.status)
        framing = {"Content-Length": str(len(answer.body))} if answer.framed else {}
        headers = {**framing, **answer.headers}
        for name, value in headers.items():
            handler.send_header(name, value.replace("{BASE}", self.base))
        handler.end_headers()
        if answer.trickle == "body":
            return _trickle(handler, answer.body)
        body = answer.body if answer.cut is None else answer.body[: answer.cut]
        size = max(1, len(body) // answer.pieces)
        for at in range(0, len(body), size):
            if answer.pause_s:
                threading.Event().wait(answer.pause_s)
            handler.wfile.write(body[at : at + size])
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


def ranged(content: bytes, seen: Seen, headers: dict[str, str], **more: float) -> Answer:
    """The content, or the rest of it that a ``Range`` asks for."""
    start = int(seen.headers.get("range", "bytes=0-")[6:].rstrip("-"))
    if not start:
        return Answer(200, content, headers, **more)
    where = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}
    return Answer(206, content[start:], {**headers, **where}, **more)
