"""Many documents: rows judged before a request, hosts beside each other, full disks, interrupts."""

from __future__ import annotations

import errno
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from http_server import Answer, Server
from nclue_core import NClueError
from nclue_core.files import file_name, id_of_file_name
from nclue_core.schema import CorpusDocument
from nclue_http.hosts import HostLimit, Hosts
from nclue_reconstruct.fetch.parts import Part
from nclue_reconstruct.fetch.transfer import Fetcher, FetchSettings
from nclue_reconstruct.run.fetching import fetch_documents, judge, retired_place
from nclue_reconstruct.run.workspace import Workspace
from tiny_release import tiny_collection

PDF = b"%PDF-1.4 one and the same\n%%EOF\n"
SHA = hashlib.sha256(PDF).hexdigest()


def document(
    doc_id: str, url: str | None, sha256: str | None = SHA, landing_url: str | None = None
) -> CorpusDocument:
    row = tiny_collection().corpus[0]
    return replace(row, doc_id=doc_id, pdf_url=url, sha256=sha256, landing_url=landing_url)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server().running() as running:
        yield running


def fetcher(**limits: HostLimit) -> Fetcher:
    settings = FetchSettings(allow_private=True, attempts=2, first_wait_s=0.01)
    return Fetcher(settings, Hosts(limits, HostLimit(8, 0.0)))


JUDGED = {
    "retired ftp": (document("p", "ftp://ftp.example.org/x.tar.gz"), "unsafe_url", "resolve-pmc"),
    "another scheme": (document("p", "file:///etc/hostname"), "unsafe_url", "file"),
    "private address": (document("p", "http://192.168.1.1/x.pdf"), "unsafe_url", "192.168.1.1"),
    "no ID": (document("", "https://example.org/a.pdf"), "bad_row", "empty"),
    "long ID": (document("é" * 40, "https://example.org/a.pdf"), "bad_row", "file name"),
    "no hash": (document("p", "https://example.org/a.pdf", "XYZ"), "bad_row", "'XYZ'"),
    "landing page": (document("p", None, SHA, "https://x.org/p"), "landing_only", "https://x.org/p"),
    "nothing known": (document("p", None), "landing_only", "no address"),
}  # fmt: skip


@pytest.mark.parametrize("name", JUDGED)
def test_rows_that_cannot_be_fetched_are_judged_without_a_request(name: str) -> None:
    row, state, told = JUDGED[name]
    verdict = judge(row)
    assert verdict is not None
    assert verdict.state == state
    assert told in verdict.reason


def test_plain_http_is_tried_and_a_mirror_needs_no_address_of_the_row() -> None:
    assert judge(document("p", "http://example.org/a.pdf")) is None
    assert judge(document("p", None), mirror="/data") is None
    assert judge(document("", None), mirror="/data") is not None


def test_a_removed_document_and_a_bad_row_lose_themselves_alone(
    server: Server, tmp_path: Path
) -> None:
    server.answers["/a.pdf"] = [Answer(200, PDF)]
    documents = [
        document("gone", f"{server.base}/deprecated/oa_pdf/gone.pdf"),
        document("", f"{server.base}/a.pdf"),
        document("../up", f"{server.base}/a.pdf"),
        document("a", f"{server.base}/a.pdf"),
    ]
    results = fetch_documents(documents, Workspace(tmp_path), fetcher())
    states = {doc_id: result.state for doc_id, result in results.items()}
    assert states == {"gone": "gone", "": "bad_row", "../up": "ok", "a": "ok"}
    assert list(states) == ["gone", "", "../up", "a"]
    assert "--resolve-pmc-oa" in results["gone"].reason  # its address is one that was retired
    assert results["gone"].attempts == 1
    assert sorted(path.name for path in (tmp_path / "pdfs").glob("*.pdf")) == [
        "%2E.%2Fup.pdf",
        "a.pdf",
    ]


ODD_IDS = ["../p5", "CON", "a:b?c", "10.1000/é%", "x."]


@pytest.mark.parametrize("by_folder", [True, False])
def test_odd_ids_are_found_in_a_mirror_under_their_file_names(
    server: Server, tmp_path: Path, by_folder: bool
) -> None:
    for doc_id in ODD_IDS:
        (tmp_path / f"{file_name(doc_id)}.pdf").write_bytes(PDF)
        server.answers[f"/{quote(file_name(doc_id))}.pdf"] = [Answer(200, PDF)]
    rows = [document(doc_id, None) for doc_id in ODD_IDS]
    mirror = str(tmp_path) if by_folder else server.base
    results = fetch_documents(rows, Workspace(tmp_path / "out"), fetcher(), mirror=mirror)
    assert {doc_id: result.state for doc_id, result in results.items()} == dict.fromkeys(
        ODD_IDS, "ok"
    )
    kept = {id_of_file_name(path.name[:-4]) for path in (tmp_path / "out" / "pdfs").glob("*.pdf")}
    assert kept == set(ODD_IDS)


@pytest.mark.shared
def test_rows_of_case_d11_are_judged_as_it_says(shared_dir: Path) -> None:
    rows = json.loads((shared_dir / "cases/dev/D11/manifest.json").read_text())
    judged = {
        row["doc_id"]: judge(document(row["doc_id"], row["url"], row["sha256"])) for row in rows
    }
    refused = {doc_id: found.state for doc_id, found in judged.items() if found}
    assert refused == {"p1": "unsafe_url", "p4": "unsafe_url", "p8": "bad_row"}
    assert "pmc-oa-opendata" in judged["p1"].reason  # where the files are now
    names = {doc_id: file_name(doc_id) for doc_id in judged if doc_id not in refused}
    assert names["../p5"] == "%2E.%2Fp5"
    assert names["CON"] == "%43ON"
    assert id_of_file_name(names["a:b?c"]) == "a:b?c"
    legacy = [row["doc_id"] for row in rows if retired_place(document(row["doc_id"], row["url"]))]
    assert legacy == ["p1", "p2"]


def test_a_slow_host_holds_up_no_other(server: Server, tmp_path: Path) -> None:
    server.answers["/slow.pdf"] = [Answer(200, PDF, delay_s=0.3)]
    server.answers["/fast.pdf"] = [Answer(200, PDF)]
    slow = server.base.replace("127.0.0.1", "localhost")
    documents = [document(f"s{i}", f"{slow}/slow.pdf") for i in range(4)]
    documents += [document(f"f{i}", f"{server.base}/fast.pdf") for i in range(4)]
    ended: list[str] = []
    results = fetch_documents(
        documents,
        Workspace(tmp_path),
        fetcher(localhost=HostLimit(1, 0.0)),
        jobs=2,
        tell=lambda event: ended.append(event.doc_id),
    )
    assert {result.state for result in results.values()} == {"ok"}
    assert {doc_id[0] for doc_id in ended[:4]} == {"f"}


def test_what_is_there_is_kept_whatever_the_row_says_of_its_address(tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    (mirror / "p.pdf").write_bytes(PDF)
    rows = [document("p", None, SHA, "https://example.org/p")]
    workspace = Workspace(tmp_path / "out")
    assert fetch_documents(rows, workspace, fetcher(), mirror=str(mirror))["p"].state == "ok"
    assert fetch_documents(rows, workspace, fetcher())["p"].state == "ok"


def test_a_web_page_in_a_mirror_is_no_pdf(tmp_path: Path) -> None:
    (tmp_path / "p.pdf").write_bytes(b"<html>")
    result = fetch_documents(
        [document("p", None)], Workspace(tmp_path / "out"), fetcher(), mirror=str(tmp_path)
    )
    assert result["p"].state == "not_pdf"


def test_a_mirror_that_the_user_names_is_not_throttled(server: Server, tmp_path: Path) -> None:
    rows = [document(f"d{i}", None) for i in range(12)]
    for row in rows:
        server.answers[f"/{row.doc_id}.pdf"] = [Answer(200, PDF)]
    slow = Fetcher(FetchSettings(), Hosts({}, HostLimit(1, 0.5)))
    began = time.monotonic()
    results = fetch_documents(rows, Workspace(tmp_path), slow, mirror=server.base)
    assert {result.state for result in results.values()} == {"ok"}
    assert time.monotonic() - began < 3  # 5.5 s at the pace of a stranger's host


def test_a_full_disk_ends_the_run_and_says_what_to_do(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers["/a.pdf"] = [Answer(200, PDF)]

    def full(self: Part) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Part, "finish", full)
    workspace = Workspace(tmp_path / "out")
    rows = [document(f"d{i}", f"{server.base}/a.pdf") for i in range(20)]
    told = r"the disk is full.*run the same command again"
    with pytest.raises(NClueError, match=told), workspace.told_disk():
        fetch_documents(rows, workspace, fetcher())
    assert len(server.seen) < 20


def test_an_interrupt_ends_waiting_downloads_at_once(server: Server, tmp_path: Path) -> None:
    server.answers["/slow.pdf"] = [Answer(200, PDF, delay_s=3.0)]
    server.answers["/fast.pdf"] = [Answer(200, PDF)]
    rows = [document("fast", f"{server.base}/fast.pdf")]
    rows += [document(f"s{i}", f"{server.base}/slow.pdf") for i in range(6)]

    def interrupt(_event: object) -> None:
        raise KeyboardInterrupt

    before = threading.active_count()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        fetch_documents(rows, Workspace(tmp_path), fetcher(), tell=interrupt)
    assert time.monotonic() - began < 1.5
    assert threading.active_count() <= before + 7  # the server's threads still wait
    assert Workspace(tmp_path).outcome("fast", "fetch") is not None
