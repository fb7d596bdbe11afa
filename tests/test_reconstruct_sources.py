"""Fetching from sources as they are: cut and odd files, hosts that refuse, no network, links."""

from __future__ import annotations

import gzip
import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from http_server import Answer, Server
from nclue_cli.main import main
from nclue_core import ExitCode
from nclue_core.errors import InputError, UsageError
from nclue_core.schema import CorpusDocument, Qrel
from nclue_dataset.collection_writer import write_release
from nclue_http.hosts import HostLimit, Hosts
from nclue_reconstruct.fetch.content import has_end, kind_of
from nclue_reconstruct.fetch.states import FetchResult
from nclue_reconstruct.fetch.transfer import Fetcher, FetchSettings
from nclue_reconstruct.run.fetching import fetch_documents
from nclue_reconstruct.run.pipeline import verify_documents
from nclue_reconstruct.run.workspace import Workspace, chosen
from tiny_release import tiny_collection

BODY = b"%PDF-1.7\n1 0 obj\n<</Type/Catalog>>\nendobj\n" + bytes(range(256)) * 8
PDF = BODY + b"\nstartxref\n" + str(len(BODY) - 9).encode() + b"\n%%EOF\n"
SHA = hashlib.sha256(PDF).hexdigest()


@pytest.fixture
def server() -> Iterator[Server]:
    with Server().running() as running:
        yield running


def fetcher(hosts: Hosts | None = None, **settings: Any) -> Fetcher:
    """One that does not wait, but counts its waits against nothing."""
    options = {"allow_private": True, "attempts": 3, "first_wait_s": 0.01, **settings}
    hosts = hosts or Hosts({}, HostLimit(2, 0.0), sleep=lambda _: None)
    return Fetcher(FetchSettings(**options), hosts, sleep=lambda _: None)


def document(doc_id: str, url: str, **more: Any) -> CorpusDocument:
    row = {"pdf_url": url, "landing_url": None, "sha256": SHA, "n_bytes": len(PDF), **more}
    return replace(tiny_collection().corpus[0], doc_id=doc_id, **row)


def fetched(server: Server, tmp_path: Path, answer: Answer, **row: Any) -> FetchResult:
    server.answers["/a.pdf"] = [answer]
    rows = [document("a", f"{server.base}/a.pdf", **row)]
    with fetcher() as opened:
        return fetch_documents(rows, Workspace(tmp_path / "out"), opened)["a"]


SHORTER = BODY[:900] + b"\nstartxref\n33\n%%EOF\n"  # whole, as far as anybody can see
NO_HASH = {"sha256": None}
UNKNOWN = {"sha256": None, "n_bytes": None}
SIZES = {
    "fewer than recorded": (Answer(200, SHORTER), {}, "truncated"),
    "fewer, unframed": (Answer(200, SHORTER, framed=False), {}, "truncated"),
    "fewer, coded": (
        Answer(200, gzip.compress(SHORTER), {"Content-Encoding": "gzip"}), {}, "truncated",
    ),
    "fewer, no hash": (Answer(200, SHORTER), NO_HASH, "truncated"),
    "as recorded, no hash": (Answer(200, PDF, framed=False), NO_HASH, "ok"),
    "more, no hash": (Answer(200, PDF + b"%%EOF\n"), NO_HASH, "changed_at_source"),
    "more, another hash": (Answer(200, PDF + b"%%EOF\n"), {}, "changed_at_source"),
    "right hash, wrong size": (Answer(200, PDF), {"n_bytes": len(PDF) + 9}, "ok"),
    "a short web page": (Answer(200, b"<html>gone</html>"), {}, "not_pdf"),
    "nothing known, whole": (Answer(200, PDF, framed=False), UNKNOWN, "ok"),
    "nothing known, cut": (Answer(200, PDF[:-30], framed=False), UNKNOWN, "truncated"),
    "nothing known, framed": (Answer(200, PDF), UNKNOWN, "ok"),
    "cut in its first part": (
        Answer(200, BODY[:500] + b"\nstartxref\n0\n%%EOF\n", framed=False), UNKNOWN, "truncated",
    ),
    "cut in an addition": (
        Answer(200, PDF + b"9 0 obj\n<</Le", framed=False), UNKNOWN, "truncated",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SIZES)
def test_sizes_tell_incomplete_files(name: str, server: Server, tmp_path: Path) -> None:
    answer, row, state = SIZES[name]
    result = fetched(server, tmp_path, answer, **row)
    assert result.state == state, result
    assert len(server.seen) == (3 if state == "truncated" else 1)  # asked again, or not
    assert (tmp_path / "out/pdfs/a.pdf").exists() == (state == "ok")


def test_an_incomplete_answer_is_followed_by_a_whole_one(server: Server, tmp_path: Path) -> None:
    server.answers["/a.pdf"] = [Answer(200, SHORTER), Answer(200, SHORTER), Answer(200, PDF)]
    with fetcher() as opened:
        rows = [document("a", f"{server.base}/a.pdf")]
        result = fetch_documents(rows, Workspace(tmp_path), opened)["a"]
    assert (result.state, result.attempts) == ("ok", 3)


def test_a_file_in_a_folder_that_is_too_short_is_incomplete_too(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(SHORTER)
    rows = [document("a", "http://example.org/a.pdf")]
    result = fetch_documents(rows, Workspace(tmp_path / "out"), fetcher(), mirror=str(tmp_path))
    assert (result["a"].state, "of 2,1" in result["a"].reason) == ("truncated", True)


def test_a_file_that_is_there_and_too_short_is_fetched_again(
    server: Server, tmp_path: Path
) -> None:
    server.answers["/a.pdf"] = [Answer(200, PDF)]
    rows = [document("a", f"{server.base}/a.pdf", sha256=None)]
    workspace = Workspace(tmp_path)
    workspace.pdf("a").parent.mkdir()
    workspace.pdf("a").write_bytes(SHORTER)
    assert verify_documents(rows, workspace)["a"].state == "truncated"
    assert fetch_documents(rows, workspace, fetcher())["a"].attempts == 1
    assert workspace.pdf("a").read_bytes() == PDF
    assert verify_documents(rows, workspace)["a"].state == "ok"


def test_a_slow_host_that_answers_is_not_one_that_refuses(server: Server, tmp_path: Path) -> None:
    server.otherwise = lambda seen: Answer(200, PDF, trickle="body")
    rows = [document(f"d{i}", f"{server.base}/{i}.pdf") for i in range(8)]
    eight = Hosts({}, HostLimit(8, 0.0))
    with fetcher(eight, total_timeout_s=0.3) as opened:
        results = fetch_documents(rows, Workspace(tmp_path), opened)
    assert {result.state for result in results.values()} == {"timeout"}
    with eight.turn(server.base):  # still open
        pass


BOM = b"\xef\xbb\xbf"
KINDS = {
    "header first": (PDF, "a PDF"),
    "mark before the header": (BOM + PDF, "a PDF"),
    "blank lines before it": (b"\r\n\r\n" + PDF, "a PDF"),
    "mail headers before it": (b"Content-Type: application/pdf\r\n\r\n" + PDF, "a PDF"),
    "a page that mentions it": (b"<html><p>not %PDF-1.4</p></html>", "a web page"),
    "the same in capitals": (b" \n<!DOCTYPE HTML>%PDF-1.4 1 0 obj", "a web page"),
    "a warning before the page": (b"Warning: x\n<html>%PDF-1.4 obj %%EOF", "a web page"),
    "a comment": (b"<!-- %PDF-1.4 %%EOF -->", "a web page"),
    "mark before the page": (BOM + b"<html>%PDF-1.4 %%EOF", "a web page"),
    "a wide page": ("\ufeff<html>%PDF-1.4 %%EOF".encode("utf-16-le"), "a web page"),
    "a script": (b"<script>var a='%PDF-'; obj</script>", "a web page"),
    "XML": (b'<?xml version="1.0"?><error>%PDF-1.4 %%EOF</error>', "XML"),
    "XHTML": (b'<?xml version="1.0"?><html>%PDF-1.4 %%EOF</html>', "a web page"),
    "JSON": (b'{"error": "no %PDF-1.4 obj %%EOF"}', "JSON"),
    "a JSON list": (b'[\n {"file": "%PDF-1.4 obj"}]', "JSON"),
    "a sentence": (b"Sorry, this %PDF-1.4 file is not here.", "no PDF"),
    "header too far behind": (b"x" * 1100 + PDF, "no PDF"),
    "compressed": (gzip.compress(PDF), "a gzip file"),
    "nothing": (b"", "no PDF"),
}


@pytest.mark.parametrize("name", KINDS)
def test_files_are_told_by_their_bytes(name: str) -> None:
    content, kind = KINDS[name]
    assert kind_of(content[:1024], content[-1024:]) == kind


@pytest.mark.parametrize("name", KINDS)
def test_what_is_no_pdf_is_none_with_or_without_a_hash(
    name: str, server: Server, tmp_path: Path
) -> None:
    content, kind = KINDS[name]
    result = fetched(server, tmp_path, Answer(200, content), sha256=None, n_bytes=None)
    is_pdf = kind in ("a PDF", "a gzip file")  # what is packed is taken out
    assert result.state == ("ok" if is_pdf else "not_pdf"), result
    if not is_pdf:
        assert f"{kind} instead of a PDF" in result.reason
        assert fetched(server, tmp_path / "2", Answer(200, content)).state == "not_pdf"


def test_a_pdf_sent_as_a_gzip_file_is_taken_out_and_verified(
    server: Server, tmp_path: Path
) -> None:
    result = fetched(server, tmp_path, Answer(200, gzip.compress(PDF)))
    assert (result.state, result.n_bytes) == ("ok", len(PDF))
    assert (tmp_path / "out/pdfs/a.pdf").read_bytes() == PDF
    for content in (gzip.compress(PDF)[:-20], gzip.compress(b"<html>"), b"\x1f\x8bnothing"):
        other = fetched(server, tmp_path / f"{len(content)}", Answer(200, content))
        assert other.state == "not_pdf"


@pytest.mark.parametrize(
    ("tail", "whole"),
    [(b"startxref\n99\n%%EOF", True), (b"startxref\r\n99\r\n%%EOF\r\n\r\n", True),
     (b"%%EOF\n", True), (b"startxref\n0\n%%EOF\n", False), (b"startxref\n5000\n%%EOF", False),
     (b"startxref\n99\n", False), (b"endobj\n", False), (b"", False),
     (b"startxref\n99\n%%EOF\n7 0 obj\n<<", False),
     (b"startxref\n0\n%%EOF\nendobj startxref\n99\n%%EOF", True)],
)  # fmt: skip
def test_the_end_of_a_pdf_is_told_by_its_last_bytes(tail: bytes, whole: bool) -> None:
    assert has_end(tail, 1000) is whole


BLOCKS = {
    "429": Answer(429, b"slow down"),
    "403": Answer(403, b"no"),
    "503 challenge": Answer(503, b"<html>checking your browser</html>"),
    "200 challenge": Answer(200, b"<!doctype html><title>Just a moment</title>"),
    "never": Answer(429, b"", {"Retry-After": "86400"}),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_host_that_refuses_again_and_again_is_left_alone(
    name: str, server: Server, tmp_path: Path
) -> None:
    server.otherwise = lambda seen: BLOCKS[name]
    other = server.base.replace("127.0.0.1", "localhost")
    server.answers["/fine.pdf"] = [Answer(200, PDF)]
    rows = [document(f"d{i}", f"{server.base}/{i}.pdf") for i in range(30)]
    rows.append(document("fine", f"{other}/fine.pdf"))
    told: list[Any] = []
    results = fetch_documents(rows, Workspace(tmp_path), fetcher(), tell=told.append)
    states = [result.state for result in results.values()]
    assert len(server.seen) <= 16
    assert states.count("postponed") >= 20
    assert results["fine"].state == "ok"  # another host
    assert len({e.reason for e in told if e.state == "postponed"}) == 1
    assert sum(r.attempts == 0 for r in results.values() if r.state == "postponed") >= 20
    server.otherwise = lambda seen: Answer(200, PDF)  # the next run asks again
    again = fetch_documents(rows, Workspace(tmp_path), fetcher())
    assert {result.state for result in again.values()} == {"ok"}


def test_one_refused_document_closes_no_host_and_good_answers_forgive(
    server: Server, tmp_path: Path
) -> None:
    one_at_a_time = Hosts({}, HostLimit(1, 0.0), sleep=lambda _: None)
    rows = []
    for i in range(24):  # the third of each three is refused
        server.answers[f"/{i}.pdf"] = [Answer(403, b"x") if i % 3 == 2 else Answer(200, PDF)]
        rows.append(document(f"d{i}", f"{server.base}/{i}.pdf"))
    server.answers["/bad.pdf"] = [Answer(503, b"busy")]
    rows.insert(0, document("bad", f"{server.base}/bad.pdf"))
    results = fetch_documents(rows, Workspace(tmp_path), fetcher(one_at_a_time, attempts=8))
    states = [result.state for result in results.values()]
    assert (states.count("ok"), states.count("forbidden"), states[0]) == (16, 8, "rate_limited")


def test_refusals_that_stay_do_not_hide_other_documents_for_ever(
    server: Server, tmp_path: Path
) -> None:
    rows = []
    for i in range(12):
        server.answers[f"/{i}.pdf"] = [Answer(403, b"x") if i < 8 else Answer(200, PDF)]
        rows.append(document(f"d{i}", f"{server.base}/{i}.pdf"))
    for _ in range(3):
        results = fetch_documents(rows, Workspace(tmp_path), fetcher())
    assert [results[f"d{i}"].state for i in range(8, 12)] == ["ok"] * 4


def test_a_mirror_that_the_user_names_may_lack_many_files(server: Server, tmp_path: Path) -> None:
    server.otherwise = lambda seen: Answer(403, b"no such key")
    server.answers["/d19.pdf"] = [Answer(200, PDF)]
    rows = [document(f"d{i}", "http://example.org/") for i in range(20)]
    results = fetch_documents(rows, Workspace(tmp_path), fetcher(), mirror=server.base)
    states = [result.state for result in results.values()]
    assert (states.count("forbidden"), states[-1]) == (19, "ok")


def test_the_time_of_a_document_bounds_all_its_tries_and_waits(
    server: Server, tmp_path: Path
) -> None:
    server.answers["/a.pdf"] = [Answer(500, b"")]
    server.answers["/b.pdf"] = [Answer(429, b"", {"Retry-After": "60"})]
    server.answers["/c.pdf"] = [Answer(200, PDF, trickle="body")]
    rows = [document(n, f"{server.base}/{n}.pdf") for n in "abc"]
    settings = FetchSettings(allow_private=True, attempts=50, first_wait_s=0.1, total_timeout_s=0.5)
    began = time.monotonic()
    with Fetcher(settings, Hosts({}, HostLimit(4, 0.0))) as opened:
        results = fetch_documents(rows, Workspace(tmp_path), opened)
    assert time.monotonic() - began < 2
    assert "ok" not in {result.state for result in results.values()}


@pytest.mark.parametrize("contact", ["Łukasz Żak <l@example.org>", "李雷 <l@example.org>", "Zoë"])
def test_contacts_in_any_script_are_sent_in_ascii(
    contact: str, server: Server, tmp_path: Path
) -> None:
    server.answers["/a.pdf"] = [Answer(200, PDF)]
    with fetcher(contact=contact) as opened:
        rows = [document("a", f"{server.base}/a.pdf")]
        assert fetch_documents(rows, Workspace(tmp_path), opened)["a"].state == "ok"
    agent = server.seen[0].headers["user-agent"]
    assert agent.isascii()
    assert "%" in agent


@pytest.fixture
def release(server: Server, tmp_path: Path) -> Path:
    """Six documents of one host, of which the last but one is gold and the last judged twice."""
    rows = [document(f"d{i}", f"{server.base}/{'long/' * 20}{i}.pdf") for i in range(6)]
    tiny = tiny_collection()
    q = [query.query_id for query in tiny.queries]
    n = tiny.queries[0].n_conditions
    gold = next(row for row in tiny.qrels["final"] if row.label == "gold")
    judged = [replace(gold, doc_id="d4"), Qrel(q[0], "d3", n - 1, "subset", ())]
    judged += [Qrel(query_id, "d5", 1, "subset", ()) for query_id in q[:2]]
    collection = replace(tiny, corpus=rows, qrels={"final": judged}, rankings=[])
    write_release(tmp_path / "release", {"tiny": collection}, {"version": "1.0.0"})
    return tmp_path / "release"


def reconstruct(
    capsys: pytest.CaptureFixture[str], release: Path, out: Path, *more: str
) -> tuple[int, str, str]:
    options = ["tiny", "--release", str(release), "--out", str(out), "--allow-private", *more]
    code = main(["reconstruct", "fetch", *options])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_what_matters_is_fetched_first_and_the_limit_says_so(
    server: Server, release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.otherwise = lambda seen: Answer(200, PDF)
    code, _, told = reconstruct(capsys, release, tmp_path / "out", "--limit", "2")
    assert code == ExitCode.OK
    assert {path.name for path in (tmp_path / "out/pdfs").glob("*.pdf")} == {"d4.pdf", "d5.pdf"}
    assert "2 of 6 documents: golds first" in told
    assert "(d4, d5)" in told


def test_documents_are_in_order_of_golds_then_judgments_then_corpus() -> None:
    rows = [document(name, "http://x.org/") for name in "abcde"]
    qrels = [Qrel(q, d, 1, label, ()) for q, d, label in [
        ("1", "d", "gold"), ("1", "c", "subset"), ("2", "c", "subset"), ("2", "b", "subset"),
        ("3", "c", "subset"), ("2", "e", "gold"), ("3", "e", "subset"),
    ]]  # fmt: skip
    assert [row.doc_id for row in chosen(rows, qrels=qrels)] == list("edcba")
    assert [row.doc_id for row in chosen(rows, ["a", "c", "d"], 2, qrels)] == ["d", "c"]
    assert [row.doc_id for row in chosen(rows)] == list("abcde")


def test_without_a_network_each_host_is_named_once_and_the_way_out_told(
    server: Server, release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server._http.server_close()  # nobody listens there any more
    began = time.monotonic()
    code, out, told = reconstruct(capsys, release, tmp_path / "out")
    assert code == ExitCode.NETWORK
    assert time.monotonic() - began < 8
    assert told.count("no connection to 127.0.0.1") == 1
    assert "--mirror" in told
    assert "long/" not in out + told
    assert "network" in out
    main(["reconstruct", "status", "tiny", "--release", str(release), "--out",
          str(tmp_path / "out")])  # fmt: skip
    assert capsys.readouterr().out.count("no connection") == 1


def test_long_addresses_are_printed_once(
    server: Server, release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.otherwise = lambda seen: Answer(404, b"")
    code, out, told = reconstruct(capsys, release, tmp_path / "out", "--limit", "2")
    assert code == ExitCode.FAILED
    assert [(out + told).count(f"{i}.pdf") for i in (4, 5)] == [1, 1]


def test_a_wrong_contact_is_a_wrong_call(
    server: Server, release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, told = reconstruct(capsys, release, tmp_path / "out", "--contact", "a\nX: b")
    assert code == ExitCode.USAGE
    assert "--contact" in told
    assert server.seen == []


@pytest.mark.parametrize(
    "content", [b"garbage", b"\x00\xff", b'{"doc_id": 7}', b'{"doc_id": "a", "fetch": 5}', b"[]",
                b'{"doc_id": "a", "fetch": {"state": 1}}', b'{"doc_id": "a"'],
)  # fmt: skip
def test_a_damaged_manifest_says_that_it_can_be_deleted(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "manifest.jsonl").write_bytes(content + b"\n")
    with pytest.raises(InputError, match=r"manifest\.jsonl:1: .*delete it, losing it loses no w"):
        Workspace(tmp_path)


def outside(tmp_path: Path) -> tuple[Path, Path]:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "precious").write_bytes(b"precious")
    return folder, folder / "precious"


LINKS = ["a.pdf", "a.pdf.part", "a.pdf.part.json", ".state/a.pdf.json", "a.pdf.mismatch",
         "../manifest.jsonl"]  # fmt: skip


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("content", [PDF, PDF + b"changed"], ids=["right", "changed"])
def test_no_file_is_written_through_a_link(
    name: str, content: bytes, server: Server, tmp_path: Path
) -> None:
    folder, precious = outside(tmp_path)
    link = tmp_path / "out/pdfs" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(precious)
    server.answers["/a.pdf"] = [Answer(200, content, {"ETag": '"1"'})]
    workspace = Workspace(tmp_path / "out2") if "manifest" in name else Workspace(tmp_path / "out")
    if "manifest" in name:
        workspace.root = tmp_path / "out"
    fetch_documents([document("a", f"{server.base}/a.pdf")], workspace, fetcher())
    assert precious.read_bytes() == b"precious"
    assert list(folder.iterdir()) == [precious]


@pytest.mark.parametrize("name", ["pdfs", "pdfs/.state"])
def test_no_folder_is_a_link_when_fetching(name: str, server: Server, tmp_path: Path) -> None:
    folder, precious = outside(tmp_path)
    link = tmp_path / "out" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(folder)
    server.answers["/a.pdf"] = [Answer(200, PDF)]
    with pytest.raises(UsageError, match="symbolic link"):
        fetch_documents(
            [document("a", f"{server.base}/a.pdf")], Workspace(tmp_path / "out"), fetcher()
        )
    assert list(folder.iterdir()) == [precious]


@pytest.mark.parametrize(
    "name", ["pdfs", "pages", "pages/a", "ocr_text", "ocr_text/a", "markdown", ".lock"]
)
def test_a_run_does_not_begin_where_a_folder_leads_elsewhere(name: str, tmp_path: Path) -> None:
    folder, precious = outside(tmp_path)
    (tmp_path / "out" / name).parent.mkdir(parents=True)
    (tmp_path / "out" / name).symlink_to(precious if name == ".lock" else folder)
    with pytest.raises(UsageError, match="symbolic link"), Workspace(tmp_path / "out").locked():
        pass
    assert precious.read_bytes() == b"precious"
    assert list(folder.iterdir()) == [precious]


def test_the_output_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "disk")
    with Workspace(tmp_path / "out").locked():
        assert [path.name for path in (tmp_path / "disk").iterdir()] == [".lock"]


def test_validators_that_cannot_be_sent_back_are_not_kept(server: Server, tmp_path: Path) -> None:
    head = b'HTTP/1.1 200 OK\r\nETag: "a\x01b"\r\nContent-Length: %d\r\n\r\n' % len(PDF)
    server.answers["/a.pdf"] = [Answer(raw=head + PDF[:500]), Answer(200, PDF)]
    rows = [document("a", f"{server.base}/a.pdf")]
    assert fetch_documents(rows, Workspace(tmp_path), fetcher())["a"].state == "ok"
    assert "range" not in server.seen[1].headers


N_CASES = {"N10": "ok", "N12": "ok"}


@pytest.mark.shared
@pytest.mark.parametrize("name", N_CASES)
def test_recorded_cases(name: str, shared_dir: Path, tmp_path: Path, server: Server) -> None:
    case = json.loads((shared_dir / "cases/dev" / name / "http.json").read_text())
    row = case["manifest"][0]
    content = (shared_dir / "cases/fixtures/tiny3.pdf").read_bytes()
    location = "/docs/política.pdf".encode()
    if name == "N10":
        head = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + location + b"\r\n\r\n"
        server.answers["/docs/a.pdf"] = [Answer(raw=head)]
        server.answers["/docs/pol%C3%ADtica.pdf"] = [Answer(200, content)]
    else:
        server.answers["/docs/a.pdf"] = [Answer(200, content)]
    rows = [document(row["doc_id"], row["url"].replace("{BASE}", server.base),
                     sha256=row["sha256"], n_bytes=row["bytes"])]  # fmt: skip
    with fetcher(contact="Łukasz" if name == "N12" else None) as opened:
        results = fetch_documents(rows, Workspace(tmp_path), opened)
    assert results[row["doc_id"]].state == N_CASES[name]
