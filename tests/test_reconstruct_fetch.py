"""Fetching: the right bytes under the final name, whatever the server does."""

from __future__ import annotations

import email.utils
import gzip
import hashlib
import importlib.util
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import http_server
from http_server import Answer, Seen, Server
from nclue_http.addresses import address_problem
from nclue_http.client import retry_after
from nclue_http.hosts import HostLimit, Hosts
from nclue_reconstruct.fetch.hosts import polite_address
from nclue_reconstruct.fetch.pdf_store import existing
from nclue_reconstruct.fetch.states import FetchResult
from nclue_reconstruct.fetch.transfer import Fetcher, FetchSettings

PDF = b"%PDF-1.4\n" + bytes(range(256)) * 8 + b"\n%%EOF\n"
SHA = hashlib.sha256(PDF).hexdigest()
ETAG = {"ETag": '"v1"'}


@pytest.fixture
def server() -> Iterator[Server]:
    with Server().running() as running:
        yield running


class Client:
    """A fetcher whose waits are recorded instead of waited."""

    def __init__(self, tmp_path: Path, **settings: Any) -> None:
        self.waits: list[float] = []
        hosts = Hosts({}, HostLimit(8, 0.0), sleep=self.waits.append)
        options = {"allow_private": True, "attempts": 4, "read_timeout_s": 2.0, **settings}
        self.fetcher = Fetcher(FetchSettings(**options), hosts, sleep=self.waits.append)
        self.target = tmp_path / "pdfs" / "doc.pdf"

    def get(self, url: str, sha256: str | None = SHA, n_bytes: int | None = None) -> FetchResult:
        return self.fetcher.fetch(url, self.target, sha256, n_bytes=n_bytes)

    def leftovers(self) -> list[str]:
        names = [path.name for path in self.target.parent.iterdir() if path.is_file()]
        return sorted(name for name in names if name != "doc.pdf")


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path)


def ranged(seen: Seen) -> Answer:
    """A server that honours ranges."""
    return http_server.ranged(PDF, seen, ETAG)


def test_a_good_file_gets_its_final_name_and_is_not_fetched_again(
    server: Server, client: Client
) -> None:
    server.answers["/a"] = [Answer(200, PDF, {"Content-Type": "text/html"})]
    first, second = client.get(server.base + "/a"), client.get(server.base + "/a")
    assert (first.state, first.sha256, first.n_bytes) == ("ok", SHA, len(PDF))
    assert client.target.read_bytes() == PDF
    assert (second.state, second.attempts, len(server.seen)) == ("ok", 0, 1)
    assert client.leftovers() == []


def test_the_client_says_who_it_is_and_asks_for_plain_bytes(server: Server, tmp_path: Path) -> None:
    server.answers["/a"] = [Answer(200, PDF)]
    Client(tmp_path, contact="me@example.org").get(server.base + "/a")
    agent = server.seen[0].headers["user-agent"]
    assert agent.startswith("nclue/")
    assert "me@example.org" in agent
    assert "Mozilla" not in agent
    assert server.seen[0].headers["accept-encoding"] == "identity"


REFUSALS = {
    "a web page with status 200": (Answer(200, b"<html>Please wait</html>"), "not_pdf"),
    "an empty body": (Answer(200, b""), "not_pdf"),
    "removed": (Answer(404, b"x"), "gone"),
    "removed for good": (Answer(410, b"x"), "gone"),
    "forbidden": (Answer(403, b"x"), "forbidden"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_final_refusals_are_states_and_not_retried(
    name: str, server: Server, client: Client
) -> None:
    answer, state = REFUSALS[name]
    server.answers["/a"] = [answer]
    result = client.get(server.base + "/a")
    assert (result.state, result.attempts) == (state, 1)
    assert server.base in result.reason
    assert not client.target.exists()
    assert client.leftovers() == []


def test_another_pdf_is_kept_aside_with_both_hashes_told(server: Server, client: Client) -> None:
    other = PDF + b"%revised"
    server.answers["/a"] = [Answer(200, other, {"Last-Modified": "Tue, 01 Jan 2030 00:00:00 GMT"})]
    result = client.get(server.base + "/a")
    assert (result.state, result.attempts) == ("changed_at_source", 1)
    assert SHA in result.reason
    assert hashlib.sha256(other).hexdigest() in result.reason
    assert "2030" in result.reason
    assert client.leftovers() == ["doc.pdf.mismatch"]


def test_a_body_cut_short_is_never_promoted_and_tried_again(server: Server, client: Client) -> None:
    server.answers["/a"] = [Answer(200, PDF, cut=500), Answer(200, PDF)]
    result = client.get(server.base + "/a")
    assert (result.state, result.attempts) == ("ok", 2)
    assert client.target.read_bytes() == PDF
    server.answers["/b"] = [Answer(200, PDF, cut=500)]
    client.target = client.target.with_name("other.pdf")
    assert client.get(server.base + "/b").state == "truncated"
    assert not client.target.exists()


def test_resume_asks_for_the_rest_under_the_same_version(server: Server, client: Client) -> None:
    answers = [Answer(200, PDF, ETAG, cut=500)]
    server.answers["/a"] = lambda seen: answers.pop() if answers else ranged(seen)
    result = client.get(server.base + "/a")
    assert (result.state, client.target.read_bytes()) == ("ok", PDF)
    assert server.seen[1].headers["range"] == "bytes=500-"
    assert server.seen[1].headers["if-range"] == '"v1"'


def part_file(client: Client, url: str, data: bytes, validator: str | None = '"v1"') -> None:
    client.target.parent.mkdir(parents=True, exist_ok=True)
    client.target.with_name("doc.pdf.part").write_bytes(data)
    note = {"url": url, "validator": validator}
    client.target.with_name("doc.pdf.part.json").write_text(json.dumps(note))


BAD_RESUMES = {
    "range ignored": [Answer(200, PDF)],
    "another offset": [
        Answer(206, PDF[400:], {"Content-Range": "bytes 400-9/9"}),
        Answer(200, PDF),
    ],
    "no content range": [Answer(206, PDF[500:]), Answer(200, PDF)],
    "gzip instead": [Answer(200, gzip.compress(PDF), {"Content-Encoding": "gzip"})],
    "not satisfiable": [Answer(416, b""), Answer(200, PDF)],
}


@pytest.mark.parametrize("name", BAD_RESUMES)
def test_a_resume_that_does_not_fit_starts_over(name: str, server: Server, client: Client) -> None:
    part_file(client, server.base + "/a", PDF[:500])
    server.answers["/a"] = list(BAD_RESUMES[name])
    assert client.get(server.base + "/a").state == "ok"
    assert client.target.read_bytes() == PDF
    assert server.seen[0].headers["range"] == "bytes=500-"
    assert not any(client.waits)  # nobody asked us to wait


@pytest.mark.parametrize(("path", "validator"), [("/a", None), ("/other", '"v1"')])
def test_parts_of_unknown_version_or_another_address_are_not_resumed(
    path: str, validator: str | None, server: Server, client: Client
) -> None:
    part_file(client, server.base + path, PDF[:300], validator)
    server.answers["/a"] = ranged
    assert client.get(server.base + "/a").state == "ok"
    assert "range" not in server.seen[0].headers


def test_a_damaged_part_is_fetched_again_and_the_source_not_blamed(
    server: Server, client: Client
) -> None:
    part_file(client, server.base + "/a", b"%PDF-" + b"x" * 495)
    server.answers["/a"] = ranged
    assert client.get(server.base + "/a").state == "ok"
    assert client.target.read_bytes() == PDF
    assert ["range" in seen.headers for seen in server.seen] == [True, False]
    assert client.leftovers() == []


def test_a_part_that_is_whole_gets_its_name_without_a_request(
    server: Server, client: Client
) -> None:
    part_file(client, "http://elsewhere/", PDF, None)
    assert client.get(server.base + "/a").state == "ok"
    assert (server.seen, client.leftovers()) == ([], [])


def test_without_a_recorded_hash_nothing_is_resumed(server: Server, client: Client) -> None:
    part_file(client, server.base + "/a", b"%PDF-" + b"x" * 495)
    server.answers["/a"] = ranged
    assert client.get(server.base + "/a", None).sha256 == SHA
    assert "range" not in server.seen[0].headers


def test_an_end_that_nobody_announced_is_not_taken_for_another_edition(
    server: Server, client: Client
) -> None:
    server.answers["/a"] = [Answer(200, PDF, cut=900, framed=False), Answer(200, PDF)]
    result = client.get(server.base + "/a")
    assert (result.state, result.attempts) == ("ok", 2)


@pytest.mark.parametrize("phase", ["head", "body"])
def test_a_trickle_of_bytes_ends_with_the_time_of_the_try(
    phase: str, server: Server, tmp_path: Path
) -> None:
    client = Client(tmp_path, total_timeout_s=0.5, attempts=1)
    server.answers["/a"] = [Answer(200, PDF, ETAG, trickle=phase)]
    began = time.monotonic()
    result = client.get(server.base + "/a")
    assert (result.state, "not whole within" in result.reason) == ("timeout", True)
    assert time.monotonic() - began < 2


def test_stopping_ends_downloads_and_waits(server: Server, tmp_path: Path) -> None:
    client = Client(tmp_path, read_timeout_s=30.0)
    server.answers["/a"] = [Answer(200, PDF, delay_s=1.5)]
    timer = threading.Timer(0.2, client.fetcher.stop)
    timer.start()
    began = time.monotonic()
    result = client.get(server.base + "/a")
    assert (result.state, result.attempts) == ("network", 1)
    assert time.monotonic() - began < 1


@pytest.mark.parametrize("status", [204, 300, 304, 400, 406, 418])
def test_other_answers_are_not_called_gone(status: int, server: Server, client: Client) -> None:
    server.answers["/a"] = [Answer(status, b"")]
    result = client.get(server.base + "/a")
    assert (result.state, result.attempts) == ("unexpected_answer", 1)
    assert str(status) in result.reason


def test_coded_bodies_are_hashed_as_the_pdf_they_hold(server: Server, client: Client) -> None:
    server.answers["/a"] = [Answer(200, gzip.compress(PDF), {"Content-Encoding": "gzip"})]
    assert client.get(server.base + "/a").sha256 == SHA


def test_retry_after_in_seconds_and_as_a_date_is_kept_to(server: Server, client: Client) -> None:
    date = email.utils.formatdate(time.time() + 3, usegmt=True)
    server.answers["/a"] = [
        Answer(429, b"", {"Retry-After": "2"}),
        Answer(503, b"", {"Retry-After": date}),
        Answer(500, b""),
        Answer(200, PDF),
    ]
    result = client.get(server.base + "/a")
    assert (result.state, result.attempts) == ("ok", 4)
    long = [wait for wait in client.waits if wait > 0]
    assert long[0] == 2
    assert any(1 <= wait <= 3 for wait in long[1:])


def test_unusable_and_huge_retry_after_never_sleep_a_day(server: Server, client: Client) -> None:
    server.answers["/a"] = [Answer(429, b"", {"Retry-After": "soon"}), Answer(200, PDF)]
    assert client.get(server.base + "/a").state == "ok"
    assert max(client.waits) < 10
    client.target = client.target.with_name("late.pdf")
    server.answers["/b"] = [Answer(429, b"", {"Retry-After": "86400"})]
    result = client.get(server.base + "/b")
    assert (result.state, result.attempts) == ("rate_limited", 1)
    assert "asks to wait 86,400 s" in result.reason
    assert max(client.waits) < 10


def test_waits_grow_and_end(server: Server, client: Client) -> None:
    server.answers["/a"] = [Answer(500, b"")]
    result = client.get(server.base + "/a")
    assert (result.state, result.attempts) == ("server_error", 4)
    waits = [wait for wait in client.waits if wait > 0]
    assert len(waits) == 3
    assert 0.5 <= waits[0] <= 1.5
    assert 2 <= waits[2] <= 6


def test_slow_servers_end_as_timeout(server: Server, tmp_path: Path) -> None:
    client = Client(tmp_path, read_timeout_s=0.2, attempts=1)
    server.answers["/a"] = [Answer(200, PDF, delay_s=1.5)]
    assert client.get(server.base + "/a").state == "timeout"


@pytest.mark.parametrize("announced", [True, False])
def test_sizes_beyond_the_limit_are_refused_announced_or_not(
    announced: bool, server: Server, tmp_path: Path
) -> None:
    client = Client(tmp_path, max_bytes=1000)
    coding = {} if announced else {"Content-Encoding": "gzip"}
    body = PDF if announced else gzip.compress(b"%PDF-" + bytes(10**6))
    server.answers["/a"] = [Answer(200, body, coding)]
    result = client.get(server.base + "/a")
    assert (result.state, result.attempts) == ("too_large", 1)
    assert not client.target.exists()


def test_redirects_are_followed_a_few_times_and_only_to_http(
    server: Server, client: Client
) -> None:
    server.answers["/a"] = [Answer(302, b"", {"Location": "/b"})]
    server.answers["/b"] = [Answer(200, PDF)]
    assert client.get(server.base + "/a").state == "ok"
    client.target = client.target.with_name("x.pdf")
    server.answers["/loop"] = [Answer(302, b"", {"Location": "/loop"})]
    assert client.get(server.base + "/loop").state == "redirect_loop"
    for location in ("file:///etc/passwd", "ftp://example.org/x", "gopher://x"):
        server.answers["/away"] = [Answer(302, b"", {"Location": location})]
        result = client.get(server.base + "/away")
        assert (result.state, result.attempts) == ("unsafe_url", 1)


def test_redirects_into_a_private_network_are_refused(tmp_path: Path) -> None:
    client = Client(tmp_path, allow_private=False)
    assert client.get("http://127.0.0.1:9/a").state == "unsafe_url"


REFUSED_ADDRESSES = [
    "ftp://ftp.ncbi.nlm.nih.gov/pub/x.tar.gz", "file:///etc/passwd", "http://", "x.pdf",
    "http://user:secret@example.org/", "http://127.0.0.1/", "http://[::1]/", "http://10.1.2.3/",
    "http://169.254.169.254/latest", "http://[::ffff:10.0.0.1]/", "http://0.0.0.0/",
    "http://localhost/",
    "http://2130706433/", "http://[2002:a00:1::]/", "http://224.0.0.1/",
    "http://[fe80::1%25eth0]/", "http://example.org:x/",
]  # fmt: skip


@pytest.mark.parametrize("url", REFUSED_ADDRESSES)
def test_addresses_that_may_not_be_fetched(url: str) -> None:
    assert address_problem(url)


def test_public_addresses_and_private_ones_where_allowed() -> None:
    assert address_problem("https://8.8.8.8/x.pdf") is None
    assert address_problem("http://127.0.0.1/x.pdf", allow_private=True) is None


def test_the_address_reached_is_judged_not_only_the_name(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that changes its address between check and use."""
    resolve = socket.getaddrinfo
    answers = [("8.8.8.8", 80)]

    def changing(host: str, *args: Any, **options: Any) -> Any:
        if host == "rebound.example.org" and answers:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", answers.pop())]
        return resolve("127.0.0.1", *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", changing)
    client = Client(tmp_path, allow_private=False)
    port = server.base.rpartition(":")[2]
    result = client.get(f"http://rebound.example.org:{port}/a")
    assert (result.state, answers, server.seen) == ("unsafe_url", [], [])
    assert "127.0.0.1 is no public address" in result.reason


def test_a_mirror_may_be_private_but_not_lead_elsewhere(server: Server, tmp_path: Path) -> None:
    client = Client(tmp_path, allow_private=False)
    server.answers["/a"] = [Answer(302, b"", {"Location": "/b"})]
    server.answers["/b"] = [Answer(200, PDF)]
    server.answers["/c"] = [Answer(302, b"", {"Location": "http://127.0.0.1:9/x"})]

    def get(path: str, name: str) -> str:
        target = client.target.with_name(name)
        return client.fetcher.fetch(server.base + path, target, SHA, trusted=True).state

    assert get("/a", "a.pdf") == "ok"
    assert get("/c", "c.pdf") == "unsafe_url"


def test_proxies_of_the_environment_are_used(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", server.base)
    server.answers["http://papers.example.org/a"] = [Answer(200, PDF)]
    assert client.get("http://papers.example.org/a").state == "ok"


def test_passwords_of_netrc_are_not_sent(
    server: Server, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    server.answers["/a"] = [Answer(200, PDF)]
    assert client.get(server.base + "/a").state == "ok"
    assert "authorization" not in server.seen[0].headers


def test_unreachable_hosts_end_as_network(tmp_path: Path) -> None:
    client = Client(tmp_path, attempts=2)
    assert client.get("http://127.0.0.1:1/a").state == "network"


def test_files_on_disk_are_trusted_by_size_and_time_and_hashed_on_demand(tmp_path: Path) -> None:
    target = tmp_path / "doc.pdf"
    target.write_bytes(PDF)
    assert existing(target, SHA) == (len(PDF), SHA)
    stat = target.stat()
    target.write_bytes(PDF[:-1] + b"X")
    os.utime(target, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert existing(target, SHA) == (len(PDF), SHA)  # as recorded: not hashed again
    assert existing(target, SHA, rehash=True) is None
    assert (tmp_path / "doc.pdf.mismatch").exists()


@pytest.mark.parametrize("value", ["soon", "-5", "", "1e9", "٣"])
def test_unusable_retry_after_values_are_none(value: str) -> None:
    assert retry_after(value) is None


def test_hosts_are_asked_one_after_the_other_and_do_not_hold_up_each_other() -> None:
    now = [0.0]
    waits: list[tuple[str, float]] = []
    hosts = Hosts({"slow.org": HostLimit(1, 3.0)}, HostLimit(4, 0.0), clock=lambda: now[0],
                  sleep=lambda s: waits.append(("wait", s)))  # fmt: skip
    for url in ("http://slow.org/1", "http://fast.org/1", "http://slow.org/2"):
        with hosts.turn(url):
            pass
    assert waits == [("wait", 3.0)]
    hosts.pause("http://fast.org/", 9.0)
    with hosts.turn("http://fast.org/2"):
        pass
    assert waits[-1] == ("wait", 9.0)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://arxiv.org/pdf/2001.1v1", "https://export.arxiv.org/pdf/2001.1v1"),
        ("https://www.arxiv.org/pdf/1", "https://export.arxiv.org/pdf/1"),
        ("https://arxiv.org.evil.org/pdf/1", "https://arxiv.org.evil.org/pdf/1"),
        ("https://example.org/arxiv.org/", "https://example.org/arxiv.org/"),
    ],
)
def test_arxiv_is_asked_at_its_host_for_programs(url: str, expected: str) -> None:
    assert polite_address(url) == expected


CASES = {
    "D01": "not_pdf", "D01.pdf_as_html_type": "ok", "D02": "ok", "D05": "ok", "D07": "ok",
    "D07.range_with_gzip": "ok", "D08": "ok", "D08.bad_retry_after": "rate_limited", "D09": "ok",
    "D10": "changed_at_source", "D12": "gone", "D18": "redirect_loop",
}  # fmt: skip


@pytest.mark.shared
@pytest.mark.parametrize("name", CASES)
def test_recorded_servers(name: str, shared_dir: Path, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("serve", shared_dir / "cases" / "serve_case.py")
    assert spec is not None
    assert spec.loader is not None
    serve = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(serve)
    served = serve.make(f"dev/{name}")
    thread = threading.Thread(target=served.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        client = Client(tmp_path)
        row = served.manifest[0]
        if served.precondition:
            fixture = shared_dir / "cases" / "fixtures" / "tiny3.pdf"
            part_file(client, row["url"], fixture.read_bytes()[:400])
        result = client.get(row["url"], row.get("sha256"), row.get("bytes"))
    finally:
        served.shutdown()
        served.server_close()
        thread.join()
    assert result.state == CASES[name], result
    if result.state == "ok":
        assert hashlib.sha256(client.target.read_bytes()).hexdigest() == row["sha256"]
    else:
        assert not client.target.exists()
