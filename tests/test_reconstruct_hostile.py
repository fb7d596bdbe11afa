"""Odd and hostile servers, files and packages lose themselves alone."""

from __future__ import annotations

import hashlib
import io
import socket
import socketserver
import tarfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from nclue_core.files import file_name
from nclue_core.schema import CorpusDocument
from nclue_http.client import retry_after
from nclue_http.hosts import HostLimit, Hosts
from nclue_reconstruct.fetch import pmc_packages
from nclue_reconstruct.fetch.pmc_packages import take_pdf
from nclue_reconstruct.fetch.states import FetchError
from nclue_reconstruct.fetch.transfer import Fetcher, FetchSettings
from nclue_reconstruct.outcome import DocumentOutcome
from nclue_reconstruct.read.engines import get_engine
from nclue_reconstruct.run import fetching
from nclue_reconstruct.run.executors import Call, run_calls
from nclue_reconstruct.run.fetching import fetch_documents
from nclue_reconstruct.run.pipeline import (
    Parallel,
    ocr_documents,
    render_documents,
    verify_documents,
)
from nclue_reconstruct.run.windows import windows_of
from nclue_reconstruct.run.workspace import Workspace
from tiny_release import tiny_collection
from toy_engines import FailingEngine, NullEngine

PDF = b"%PDF-1.4 fine\n%%EOF\n"
SHA = hashlib.sha256(PDF).hexdigest()
FINE = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(PDF), PDF)


def document(doc_id: str, url: str | None, **more: Any) -> CorpusDocument:
    row = replace(tiny_collection().corpus[0], doc_id=doc_id, pdf_url=url, sha256=SHA)
    return replace(row, **more)


class RawServer(socketserver.ThreadingTCPServer):
    """Answers each path with exactly these bytes; counts how many were taken."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, answers: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), RawHandler)
        self.answers = answers
        self.sent = 0
        self.base = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients may hang up."""


class RawHandler(socketserver.StreamRequestHandler):
    server: RawServer

    def handle(self) -> None:
        path = self.rfile.readline().split(b" ")[1].decode("latin-1")
        while self.rfile.readline().strip():
            pass
        answer = self.server.answers.get(path, FINE)
        for start in range(0, len(answer), 1 << 16):
            self.server.sent += self.request.send(answer[start : start + (1 << 16)])
        self.request.shutdown(socket.SHUT_WR)


@pytest.fixture
def serve() -> Iterator[Any]:
    servers: list[RawServer] = []

    def start(answers: dict[str, bytes]) -> RawServer:
        server = RawServer(answers)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def fetcher(**settings: Any) -> Fetcher:
    chosen = FetchSettings(allow_private=True, attempts=1, **settings)
    return Fetcher(chosen, Hosts({}, HostLimit(8, 0.0)))


NOTHING = b"Content-Length: 0\r\n\r\n"
ODD_ANSWERS = {
    "latin-1 redirect": b"HTTP/1.1 302 Found\r\nLocation: /Espa\xf1a.pdf\r\n" + NOTHING,
    "half an address": b"HTTP/1.1 302 Found\r\nLocation: http://[\r\n" + NOTHING,
    "odd host": "HTTP/1.1 302 Found\r\nLocation: http://℀.com/\r\n".encode() + NOTHING,
    "late date": b"HTTP/1.1 503 No\r\nRetry-After: Mon, 01 Jan 99999999999999999999 00:00:00 GMT"
    b"\r\n" + NOTHING,
    "negative chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n"
    b"\r\n",
    "no HTTP": b"\x00\x01\x02",
    "empty": b"",
}


@pytest.mark.parametrize("name", ODD_ANSWERS)
def test_an_odd_answer_loses_its_document_alone(serve: Any, tmp_path: Path, name: str) -> None:
    server = serve({"/odd.pdf": ODD_ANSWERS[name]})
    rows = [document("odd", f"{server.base}/odd.pdf"), document("good", f"{server.base}/g.pdf")]
    results = fetch_documents(rows, Workspace(tmp_path), fetcher())
    assert results["good"].state == "ok"
    if name == "latin-1 redirect":  # understood, as browsers do
        assert results["odd"].state == "ok"
    else:
        assert results["odd"].state != "ok"
    assert "/odd.pdf" in results["odd"].reason or results["odd"].state == "ok"


def test_an_error_that_nobody_expected_loses_its_document_alone(
    serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve({})
    get = fetching.DocumentSource.get

    def fail(self: Any, row: CorpusDocument) -> Any:
        if row.doc_id == "odd":
            raise KeyError("nobody expected this")
        return get(self, row)

    monkeypatch.setattr(fetching.DocumentSource, "get", fail)
    rows = [document(name, f"{server.base}/{name}.pdf") for name in ("odd", "good")]
    results = fetch_documents(rows, Workspace(tmp_path), fetcher())
    assert {k: r.state for k, r in results.items()} == {"odd": "unexpected_answer", "good": "ok"}


def test_the_body_of_a_redirect_is_not_read(serve: Any, tmp_path: Path) -> None:
    size = 60 << 20
    head = b"HTTP/1.1 302 Found\r\nLocation: /good.pdf\r\nContent-Length: %d\r\n\r\n" % size
    server = serve({"/odd.pdf": head + bytes(size)})
    rows = [document("odd", f"{server.base}/odd.pdf")]
    results = fetch_documents(rows, Workspace(tmp_path), fetcher())
    assert results["odd"].state == "ok"
    assert server.sent < 20 << 20  # what fits into the buffers of the sockets


def test_what_a_server_says_cannot_control_a_terminal(serve: Any, tmp_path: Path) -> None:
    server = serve({"/odd.pdf": b"HTTP/1.1 404 \x1b[2J\x1b]0;title\x07gone\r\n" + NOTHING})
    rows = [document("odd", f"{server.base}/odd.pdf")]
    reason = fetch_documents(rows, Workspace(tmp_path), fetcher())["odd"].reason
    assert "gone" in reason
    assert reason.isprintable()


def test_a_body_that_is_too_large_leaves_nothing(serve: Any, tmp_path: Path) -> None:
    server = serve({"/odd.pdf": b"HTTP/1.1 200 OK\r\n\r\n" + bytes(3 << 20)})
    rows = [document("odd", f"{server.base}/odd.pdf")]
    results = fetch_documents(rows, Workspace(tmp_path), fetcher(max_bytes=1 << 20))
    assert results["odd"].state == "too_large"
    assert not list((tmp_path / "pdfs").glob("odd*"))


def test_a_date_beyond_all_calendars_is_no_wait() -> None:
    assert retry_after("Mon, 01 Jan 99999999999999999999 00:00:00 GMT") is None


def test_many_hosts_need_no_more_threads_than_there_may_be(
    serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve({})
    monkeypatch.setattr(fetching, "MAX_THREADS", 5)
    port = server.server_address[1]
    rows = [document(f"d{i}", f"http://127.0.0.{i + 1}:{port}/a.pdf") for i in range(40)]
    before, most = threading.active_count(), 0

    def count(_event: object) -> None:
        nonlocal most
        most = max(most, sum(t.name.endswith("(_work)") for t in threading.enumerate()))

    monkeypatch.setattr("socket.getaddrinfo", _all_here(socket.getaddrinfo))
    results = fetch_documents(rows, Workspace(tmp_path), fetcher(), tell=count)
    assert len(results) == 40  # addresses of loopback other than the first refuse on some systems
    assert 1 <= most <= 5
    assert threading.active_count() <= before + 45


def _all_here(original: Any) -> Any:
    def resolve(host: Any, port: Any, *more: Any, **named: Any) -> Any:
        return original("127.0.0.1" if str(host).startswith("127.") else host, port, *more, **named)

    return resolve


# Rendering and OCR


def put_pdf(workspace: Workspace, doc_id: str, content: bytes) -> CorpusDocument:
    path = workspace.pdf(doc_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return document(doc_id, None, sha256=None, n_pages=None)


def pages_pdf(word: str, n_pages: int) -> bytes:
    pdf = pymupdf.open()
    for number in range(1, n_pages + 1):
        pdf.new_page(width=200, height=100).insert_text((20, 50), f"{word} {number}")
    return pdf.tobytes(no_new_id=True)


FLAT_PAGE = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 100000000000 5]>>endobj\n"
    b"trailer<</Root 1 0 R>>\n%%EOF\n"
)


def test_a_page_of_an_impossible_size_is_rendered_as_letter(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    rows = [put_pdf(workspace, "flat", FLAT_PAGE), put_pdf(workspace, "good", pages_pdf("w", 1))]
    found = render_documents(rows, workspace, dpi=50, parallel=Parallel(1))
    assert found["good"].state == "ok"
    assert found["flat"].state == "repaired"  # it has no table of objects
    assert found["flat"].pages_done == 1


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_unexpected_error_of_an_engine_loses_its_document_alone(
    tmp_path: Path, jobs: int
) -> None:
    workspace = Workspace(tmp_path)
    rows = [
        put_pdf(workspace, "bad", pages_pdf("w", 2)),
        put_pdf(workspace, "one", pages_pdf("w", 1)),
    ]
    engine = FailingEngine(how="raise", fail_pages=(2,))
    found = ocr_documents(rows, workspace, engine, parallel=Parallel(jobs))
    assert found["one"].state == "ok"
    assert (found["bad"].state, found["bad"].pages_done) == ("engine_failed", 1)
    assert "raised on purpose" in found["bad"].reason


def sleep_long(seconds: float) -> DocumentOutcome:
    time.sleep(seconds)
    return DocumentOutcome("ok", "", 1, 1, 0.0)


def test_an_interrupt_does_not_wait_for_running_calls() -> None:
    calls = [Call("quick", sleep_long, (0.0,), 60.0)]
    calls += [Call(f"d{i}", sleep_long, (60.0,), 90.0) for i in range(4)]
    running = run_calls(calls, jobs=2)
    next(iter(running))
    began = time.monotonic()
    running.close()  # as an interrupt does
    assert time.monotonic() - began < 15


def test_a_pdf_that_is_known_to_be_wrong_is_not_read(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    row = replace(put_pdf(workspace, "wrong", pages_pdf("w", 1)), sha256=SHA)
    assert verify_documents([row], workspace)["wrong"].state == "changed_at_source"
    assert ocr_documents([row], workspace, NullEngine(), parallel=Parallel(1)) == {}
    assert render_documents([row], workspace, dpi=30, parallel=Parallel(1)) == {}


def test_an_id_without_a_file_name_stops_no_step(serve: Any, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    rows = [document("x" * 181, None), put_pdf(workspace, "good", pages_pdf("w", 1))]
    assert verify_documents(rows, workspace)["x" * 181].state == "bad_row"
    found = ocr_documents(rows, workspace, get_engine("text"), parallel=Parallel(1))
    assert {k: o.state for k, o in found.items()} == {"good": "ok"}
    base = serve({}).base
    results = fetch_documents(rows, workspace, fetcher(), mirror=base)
    assert results["x" * 181].state == "bad_row"


def test_a_web_page_without_a_recorded_hash_is_no_pdf_in_a_mirror_either(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"<html>")
    rows = [document("a", None, sha256=None)]
    workspace = Workspace(tmp_path / "out")
    found = fetch_documents(rows, workspace, fetcher(), mirror=str(tmp_path))
    assert found["a"].state == "not_pdf"
    assert not workspace.pdf("a").exists()


def test_a_file_of_a_mirror_that_cannot_be_read_is_said_to_be_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked, opened = tmp_path / "a.pdf", Path.open
    locked.write_bytes(PDF)

    def deny(self: Path, *more: Any, **named: Any) -> Any:
        if self == locked:
            raise PermissionError(13, "Permission denied")
        return opened(self, *more, **named)

    monkeypatch.setattr(Path, "open", deny)
    rows = [document("a", None)]
    found = fetch_documents(rows, Workspace(tmp_path / "out"), fetcher(), mirror=str(tmp_path))
    assert (found["a"].state, str(locked) in found["a"].reason) == ("forbidden", True)


def test_a_release_that_claims_a_billion_pages_costs_nothing() -> None:
    windows = windows_of(10**9, 20)
    assert len(windows) == 5_000
    assert windows[-1].pages(10**6)[-1] == 10**6


def test_a_run_knows_what_another_wrote_before_it_got_the_folder(tmp_path: Path) -> None:
    waiting, other = Workspace(tmp_path), Workspace(tmp_path)
    with other.locked():
        other.record("a", "fetch", {"state": "ok"})
        other.save()
    with waiting.locked():
        waiting.save()
    assert Workspace(tmp_path).outcome("a", "fetch") == {"state": "ok"}


def test_rendering_a_file_by_its_name_alone_finds_its_id(tmp_path: Path) -> None:
    from nclue_reconstruct.read.render import render_document

    path = tmp_path / f"{file_name('a:b')}.pdf"
    path.write_bytes(pages_pdf("w", 1))
    render_document(path, tmp_path / "pages", 30)
    assert (tmp_path / "pages" / "a%3Ab" / "1.png").is_file()


# Packages


def pax_package(path: Path, members: list[tuple[str, dict[str, str], bytes]]) -> Path:
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name, headers, content in members:
            info = tarfile.TarInfo(name)
            info.size, info.pax_headers = len(content), headers
            archive.addfile(info, io.BytesIO(content))
    return path


def chained(path: Path) -> Path:
    """Headers of headers of headers."""
    import gzip

    info = tarfile.TarInfo("long")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 5
    block = info.tobuf(tarfile.GNU_FORMAT) + b"name".ljust(512, b"\0")
    with gzip.open(path, "wb") as stream:
        stream.write(block * 3_000)
    return path


def backwards(path: Path) -> Path:
    """A member of negative size: its successor would be the one before."""
    import gzip

    info = tarfile.TarInfo("a.pdf")
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    block[124:136] = b"\xff" * 8 + (-1024).to_bytes(4, "big", signed=True)
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    with gzip.open(path, "wb") as stream:
        stream.write(bytes(block) * 4 + bytes(1024))
    return path


BAD = {
    "sparse map": lambda p: pax_package(p, [("a.pdf", {"GNU.sparse.map": "x,y"}, PDF)]),
    "chained headers": chained,
    "negative size": backwards,
}


@pytest.mark.parametrize("name", BAD)
def test_bombs_in_packages_are_damaged_packages(tmp_path: Path, name: str) -> None:
    packed = BAD[name](tmp_path / "p.tar.gz")
    began = time.monotonic()
    with pytest.raises(FetchError) as failure:
        take_pdf(packed, tmp_path / "d.pdf", SHA, 1 << 20)
    assert failure.value.state in ("truncated", "not_pdf")
    assert time.monotonic() - began < 10
    assert not (tmp_path / "d.pdf").exists()


def test_headers_of_packages_do_not_pile_up(tmp_path: Path) -> None:
    import tracemalloc

    members = [(f"a{i}.xml", {"comment": "x" * 400_000}, b"<a/>") for i in range(60)]
    packed = pax_package(tmp_path / "p.tar.gz", members)
    tracemalloc.start()
    with pytest.raises(FetchError):
        take_pdf(packed, tmp_path / "d.pdf", SHA, 1 << 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12_000_000  # all of them would be 24 MB and more


def test_a_web_page_in_a_package_is_no_pdf(tmp_path: Path) -> None:
    packed = pax_package(tmp_path / "p.tar.gz", [("a.pdf", {}, b"<html>")])
    with pytest.raises(FetchError) as failure:
        take_pdf(packed, tmp_path / "d.pdf", None, 1 << 20)
    assert failure.value.state == "not_pdf"


def test_a_long_answer_of_the_older_service_is_read_in_no_time() -> None:
    began = time.monotonic()
    assert pmc_packages.links_of(b"<link " + b"a" * 1_000_000 + b">") == []
    assert pmc_packages.links_of((b"<link " + b"a" * 1_900 + b">") * 500) == []
    assert time.monotonic() - began < 5
