"""The part that speaks HTTP: addresses in every spelling, redirects, pace, certificates."""

from __future__ import annotations

import itertools
import socket
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from http_server import Answer, Server
from nclue_http.addresses import address_problem, canonical_url, literal_problem, redirect_target
from nclue_http.client import Client, HttpSettings, Reply, header_text
from nclue_http.errors import HttpError
from nclue_http.hosts import HostLimit, Hosts

TLS = Path(__file__).parent / "tls"  # made once for these tests: nothing trusts its authority


@pytest.fixture
def server() -> Iterator[Server]:
    with Server().running() as running:
        yield running


@pytest.fixture
def client() -> Iterator[Client]:
    with Client(HttpSettings({}, allow_private=True, read_timeout_s=5.0)) as opened:
        yield opened


def ask(client: Client, url: str, **options: Any) -> Reply:
    return client.ask(url, 1 << 20, **options)


PRIVATE = ["10.0.0.1", "127.0.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.1.2.3"]


def v6_of(prefix: str, inner: str, shift: int = 0, tail: int = 0) -> str:
    """An IPv6 address that carries an IPv4 address, by arithmetic."""
    base = int.from_bytes(socket.inet_pton(socket.AF_INET6, prefix), "big")
    number = base | int.from_bytes(socket.inet_aton(inner), "big") << shift | tail
    return socket.inet_ntop(socket.AF_INET6, number.to_bytes(16, "big"))


EMBEDDINGS = {
    "NAT64": lambda ip: v6_of("64:ff9b::", ip),
    "local NAT64": lambda ip: v6_of("64:ff9b:1::", ip),
    "IPv4-mapped": lambda ip: v6_of("::ffff:0:0", ip),
    "IPv4-compatible": lambda ip: v6_of("::", ip),
    "IPv4-translated": lambda ip: v6_of("::ffff:0:0:0", ip),
    "6to4": lambda ip: v6_of("2002::", ip, 80, 1),
    "Teredo": lambda ip: v6_of("2001::", ip, 64),
    "ISATAP": lambda ip: v6_of("2a00:1450::5efe:0:0", ip),
    "ISATAP, global bit": lambda ip: v6_of("2a00:1450::200:5efe:0:0", ip),
}


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_private_addresses_inside_ipv6_are_refused(name: str) -> None:
    for ip in PRIVATE:
        assert literal_problem(f"http://[{EMBEDDINGS[name](ip)}]/x.pdf"), (name, ip)


OTHERS = [
    "[fec0::1]", "[fc00::1]", "[fd12:3456::1]", "[fe80::1%25eth0]", "[ff02::1]", "[::]", "[::1]",
    "[2001:db8::1]", "[3fff::1]", "[100::1]", "[5f00::1]", "[4000::1]", "0.0.0.0", "0.255.0.1",
    "224.0.0.1", "239.1.2.3", "240.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.0.8",
    "192.88.99.1", "203.0.113.9", "100.127.255.255", "172.31.255.255",
    "2130706433", "0x7f000001", "017700000001", "0x7f.1", "0177.0.0.1", "127.1", "127.0.1",
    "127.0.0.1.", "10.0.0.1.", "0xA.0.0.1", "\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021",
    "%31%32%37.0.0.1",
    "127%2e0%2e0%2e1", "①②⑦.0.0.1", "999.1.1.1", "localhost.", "LOCALHOST",
    "a.localhost", "printer.local", "metadata.google.internal", "router.home.arpa",
]  # fmt: skip


@pytest.mark.parametrize("host", OTHERS)
def test_special_hosts_are_refused_in_any_spelling_without_asking_anybody(host: str) -> None:
    assert literal_problem(f"http://{host}/x.pdf")
    assert literal_problem(f"http://{host}:8080/x.pdf")


@pytest.mark.parametrize(
    "host",
    ["8.8.8.8", "8.8.8.8.", "134744072", "[2606:4700::6810:84e5]", "[64:ff9b::808:808]",
     "[::ffff:8.8.8.8]", "[2002:808:808::1]", "example.org", "example.org.", "bücher.example",
     "a_b.example.org", "3com.com", "1.2.3.4.5.example.org", "localhost.example.org"],
)  # fmt: skip
def test_public_hosts_are_not(host: str) -> None:
    assert literal_problem(f"http://{host}/x.pdf") is None


@given(st.integers(0, 2**32 - 1), st.sampled_from(["{}", "{:#x}", "0{:o}"]))
def test_a_number_is_judged_as_the_address_it_is(number: int, spelling: str) -> None:
    dotted = ".".join(str(byte) for byte in number.to_bytes(4, "big"))
    url = f"http://{spelling.format(number)}/"
    assert bool(literal_problem(url)) == bool(literal_problem(f"http://{dotted}/"))
    assert canonical_url(url) == f"http://{dotted}/"


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=40))
def test_no_address_is_a_crash(text: str) -> None:
    assert literal_problem(text, allow_private=True) or text.strip().lower().startswith("http")
    literal_problem(f"http://{text}/")
    literal_problem(f"http://example.org/{text}")


@pytest.mark.parametrize(
    "setting",
    [{"no_proxy": "example.com"}, {"no_proxy": "*", "http_proxy": "http://proxy.example:3128"},
     {"https_proxy": "http://proxy.example:3128"}, {}],
)  # fmt: skip
def test_names_are_judged_before_connecting_unless_a_proxy_resolves_them(
    setting: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in setting.items():
        monkeypatch.setenv(name, value)
    inside = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.5", 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_a, **_k: inside)
    assert "10.0.0.5" in (address_problem("http://papers.example.org/a.pdf") or "")
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    monkeypatch.delenv("no_proxy", raising=False)
    assert address_problem("http://papers.example.org/a.pdf") is None
    assert address_problem("http://0x7f.1/a.pdf")


LOCATIONS = {  # what the header holds -> what browsers ask for
    "raw UTF-8": ("/docs/política.pdf".encode(), "/docs/pol%C3%ADtica.pdf"),
    "raw Latin-1": ("/docs/política.pdf".encode("latin-1"), "/docs/pol%EDtica.pdf"),
    "percent and raw mixed": ("/pol%C3%ADtica/año.pdf".encode(), "/pol%C3%ADtica/a%C3%B1o.pdf"),
    "raw in the query": ("/d?f=año.pdf".encode(), "/d?f=a%C3%B1o.pdf"),
    "three bytes": ("/調査.pdf".encode(), "/%E8%AA%BF%E6%9F%BB.pdf"),
    "a lone percent": ("/100%zz/é.pdf".encode(), "/100%25zz/%C3%A9.pdf"),
    "blanks": (b"/a b.pdf", "/a%20b.pdf"),
    "relative": (b"b.pdf?x=1", "/docs/b.pdf?x=1"),
    "upwards": (b"../up/./b.pdf", "/up/b.pdf"),
    "backslashes": (b"\\docs\\b.pdf", "/docs/b.pdf"),
    "query alone": (b"?page=2", "/docs/a.pdf?page=2"),
    "fragment": (b"/b.pdf#page=3", "/b.pdf"),
    "dressed in blanks": (b"  /b.pdf  ", "/b.pdf"),
}


@pytest.mark.parametrize("name", LOCATIONS)
def test_redirects_lead_where_browsers_go(name: str, server: Server, client: Client) -> None:
    sent, expected = LOCATIONS[name]
    head = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + sent + b"\r\n\r\n"
    server.answers["/docs/a.pdf"] = [Answer(raw=head)]
    server.answers[expected] = [Answer(200, b"here")]
    assert ask(client, f"{server.base}/docs/a.pdf").content == b"here"
    assert [seen.path for seen in server.seen] == ["/docs/a.pdf", expected]


def test_redirects_to_another_host_keep_scheme_and_name() -> None:
    here = "https://example.org/docs/a.pdf"
    assert redirect_target(here, "//cdn.example.net/b.pdf") == "https://cdn.example.net/b.pdf"
    utf8 = "http://bücher.example/é".encode().decode("latin-1")
    assert redirect_target(here, utf8) == "http://xn--bcher-kva.example/%C3%A9"
    assert redirect_target(here, "HTTPS://EXAMPLE.org:443/B") == "https://example.org:443/B"


@pytest.mark.parametrize(
    ("lines", "told"),
    [(b"Location:\r\n", "to nowhere"), (b"Location:   \r\n", "to nowhere"),
     (b"Location: /b\r\nLocation: /c\r\n", "2 places"), (b"X: 1\r\n", "answered 302"),
     (b"Location: http://[::\r\n", "cannot be understood"),
     ("Location: http://℀.com/\r\n".encode(), "cannot be understood")],
)  # fmt: skip
def test_redirects_that_lead_nowhere_are_named(
    lines: bytes, told: str, server: Server, client: Client
) -> None:
    server.answers["/a"] = [Answer(raw=b"HTTP/1.1 302 Found\r\n" + lines + b"\r\n")]

    def refuse(response: Any) -> None:
        raise client.refuse_status(response)

    with pytest.raises(HttpError, match=told) as failure:
        client.exchange(f"{server.base}/a", refuse)
    assert len(server.seen) == 1
    assert failure.value.kind in ("unexpected_answer", "status")


def test_the_same_place_named_twice_is_one_place(server: Server, client: Client) -> None:
    head = b"HTTP/1.1 301 Moved\r\nLocation: /b\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n"
    server.answers |= {"/a": [Answer(raw=head)], "/b": [Answer(200, b"here")]}
    assert ask(client, f"{server.base}/a").content == b"here"


def test_a_wait_that_a_host_behind_a_redirect_asks_for_is_kept_by_that_host(
    server: Server,
) -> None:
    waits: list[float] = []
    hosts = Hosts({}, HostLimit(4, 0.0), sleep=waits.append)
    behind = server.base.replace("127.0.0.1", "localhost")
    server.answers["/a"] = [Answer(302, b"", {"Location": f"{behind}/b"})]
    server.answers["/b"] = [Answer(429, b"", {"Retry-After": "7"})]

    def refuse(response: Any) -> None:
        raise client.refuse_status(response)

    with (
        Client(HttpSettings({}, allow_private=True), hosts) as client,
        pytest.raises(HttpError, match="429") as failure,
    ):
        client.exchange(f"{server.base}/a", refuse)
    assert failure.value.url.startswith(behind)
    with hosts.turn(f"{server.base}/x"):
        assert waits == []
    with hosts.turn(f"{behind}/x"):
        assert len(waits) == 1
        assert 5 < waits[0] <= 7


def test_the_limit_of_a_host_holds_for_those_that_are_sent_there(server: Server) -> None:
    busy, most, lock = 0, 0, threading.Lock()

    def count(_seen: Any) -> Answer:
        nonlocal busy, most
        with lock:
            busy, most = busy + 1, max(most, busy + 1)
        threading.Event().wait(0.03)
        with lock:
            busy -= 1
        return Answer(200, b"x")

    behind = server.base.replace("127.0.0.1", "localhost")
    server.answers["/b"] = count
    server.answers["/a"] = [Answer(302, b"", {"Location": f"{behind}/b"})]
    hosts = Hosts({"localhost": HostLimit(1, 0.0)}, HostLimit(8, 0.0))
    with (
        Client(HttpSettings({}, allow_private=True), hosts) as client,
        ThreadPoolExecutor(4) as pool,
    ):
        found = list(pool.map(lambda _: ask(client, f"{server.base}/a"), range(8)))
    assert (len(found), most) == (8, 1)


CERTIFICATES = {
    "expired": ("expired", "clock of this machine"),
    "early": ("not yet valid", "clock of this machine"),
    "other_host": ("IP address mismatch|not valid for", "--mirror"),
    "self_signed": ("self.signed", "REQUESTS_CA_BUNDLE"),
}


@pytest.mark.parametrize("name", CERTIFICATES)
def test_certificates_that_are_not_accepted_say_why_and_what_to_do(
    name: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(TLS / "authority.pem"))
    why, remedy = CERTIFICATES[name]
    with (
        Server(tls=(TLS / f"{name}.pem", TLS / "key.pem")).running() as server,
        pytest.raises(HttpError, match=why) as failure,
    ):
        ask(client, f"{server.base}/a")
    assert failure.value.kind == "bad_certificate"
    assert remedy in str(failure.value)
    assert server.seen == []


def test_a_certificate_of_a_known_authority_is_fine_and_of_an_unknown_one_is_not(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server(tls=(TLS / "good.pem", TLS / "key.pem")).running() as server:
        server.answers["/a"] = [Answer(200, b"x")]
        with pytest.raises(HttpError, match=r"issuer.*REQUESTS_CA_BUNDLE"):
            ask(client, f"{server.base}/a")
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(TLS / "authority.pem"))
        assert ask(client, f"{server.base}/a").content == b"x"


def test_a_server_without_tls_is_no_bad_certificate(server: Server, client: Client) -> None:
    with pytest.raises(HttpError, match="no TLS") as failure:
        ask(client, server.base.replace("http:", "https:"))
    assert failure.value.kind == "network"


def test_redirects_from_https_to_http_are_refused_where_told(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(TLS / "authority.pem"))
    strict = HttpSettings({}, allow_private=True, allow_downgrade=False)
    with (
        Server(tls=(TLS / "good.pem", TLS / "key.pem")).running() as secure,
        Client(strict) as client,
    ):
        secure.answers["/a"] = [Answer(302, b"", {"Location": f"{server.base}/b"})]
        with pytest.raises(HttpError, match="which is refused: no https"):
            ask(client, f"{secure.base}/a")
    assert server.seen == []


@pytest.mark.parametrize(
    ("text", "sent"),
    [("me@example.org", "me@example.org"), ("Łukasz é", "%C5%81ukasz %C3%A9"),
     ("李雷 <l@x.org>", "%E6%9D%8E%E9%9B%B7 <l@x.org>"), ("\udce9", "%ED%B3%A9")],
)  # fmt: skip
def test_words_of_people_become_headers(text: str, sent: str) -> None:
    assert header_text(text) == sent


@pytest.mark.parametrize("text", ["a\nb", "a\r\nX: 1", "a\tb", "a\x00", "a\x85b", "\x7f"])
def test_words_with_control_characters_are_no_header(text: str) -> None:
    with pytest.raises(ValueError, match="control characters"):
        header_text(text)


def test_connections_are_closed_with_the_client(server: Server) -> None:
    server.answers["/a"] = [Answer(200, b"x")]
    before = threading.active_count()
    with Client(HttpSettings({}, allow_private=True)) as client:
        ask(client, f"{server.base}/a")
        assert threading.active_count() > before  # the server waits on the kept connection
    for _ in itertools.takewhile(lambda _: threading.active_count() > before, range(100)):
        threading.Event().wait(0.02)
    assert threading.active_count() == before


def test_certificates_of_the_tests_are_readable() -> None:
    context = ssl.create_default_context(cafile=str(TLS / "authority.pem"))
    assert len(context.get_ca_certs()) == 1
