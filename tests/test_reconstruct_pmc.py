"""PMC articles: found in the cloud service by PMCID, chosen by hash."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from http_server import Answer, Server
from nclue_cli.main import main
from nclue_dataset.collection_writer import write_release
from nclue_reconstruct.fetch import pmc_packages
from nclue_reconstruct.fetch.pmc import listing_url, pdf_urls, pmcid_of
from nclue_reconstruct.fetch.pmc_packages import links_of, take_pdf
from nclue_reconstruct.fetch.states import FetchError
from tiny_release import tiny_collection

PDF = b"%PDF-1.4 version two\n%%EOF\n"
OTHER = b"%PDF-1.4 version three\n%%EOF\n"


def listing(*versions: str) -> bytes:
    entries = "".join(f"<CommonPrefixes><Prefix>{v}/</Prefix></CommonPrefixes>" for v in versions)
    return f'<?xml version="1.0"?><ListBucketResult>{entries}</ListBucketResult>'.encode()


@pytest.mark.parametrize(
    ("doc_id", "url", "expected"),
    [
        ("pmc_oa_PMC7326321", None, "PMC7326321"),
        ("d1", "https://example.org/articles/PMC12/pdf/x.pdf", "PMC12"),
        ("d1", "https://example.org/pmc.pdf", None),
        ("PMC0123", None, None),
    ],
)
def test_pmcids_are_found_in_ids_and_addresses(
    doc_id: str, url: str | None, expected: str | None
) -> None:
    document = replace(tiny_collection().corpus[0], doc_id=doc_id, pdf_url=url, landing_url=None)
    assert pmcid_of(document) == expected


def test_versions_of_the_article_alone_are_listed_newest_first() -> None:
    asked = []

    def read(url: str, size: int) -> bytes:
        asked.append(url)
        return listing("PMC12.1", "PMC12.10", "PMC12.9", "PMC123.1", "../x.1", "PMC12.1/evil")

    urls = pdf_urls("PMC12", read, "http://service")
    assert urls == [f"http://service/PMC12.{v}/PMC12.{v}.pdf" for v in (10, 9, 1)]
    assert asked == [listing_url("PMC12", "http://service")]
    assert pdf_urls("PMC12", lambda url, size: b"") == []


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """One article whose own address is of the retired service."""
    collection = tiny_collection()
    document = replace(
        collection.corpus[0],
        doc_id="pmc_oa_PMC12",
        pdf_url="ftp://ftp.ncbi.nlm.nih.gov/pub/pmc/oa_package/00/11/PMC12.tar.gz",
        sha256=hashlib.sha256(PDF).hexdigest(),
    )
    article = replace(collection, corpus=[document, *collection.corpus], rankings=[])
    write_release(tmp_path / "release", {"tiny": article}, {"version": "1.0.0"})
    return tmp_path / "release"


def test_the_version_with_the_recorded_hash_is_taken(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    options = ["reconstruct", "fetch", "tiny", "--release", str(release), "--out", str(out),
               "--docs", "pmc_oa_PMC12", "--json"]  # fmt: skip
    assert main(options) == 1
    failure = json.loads(capsys.readouterr().out)["steps"]["fetch"]["failures"]["pmc_oa_PMC12"]
    assert failure["state"] == "unsafe_url"
    assert "--resolve-pmc-oa" in failure["reason"]
    with Server().running() as server:
        server.answers[listing_url("PMC12", "")] = [
            Answer(200, listing("PMC12.1", "PMC12.2", "PMC12.3"))
        ]
        server.answers["/PMC12.3/PMC12.3.pdf"] = [Answer(200, OTHER)]
        server.answers["/PMC12.2/PMC12.2.pdf"] = [Answer(200, PDF)]
        assert main([*options, "--pmc-service", server.base]) == 0
        paths = [seen.path for seen in server.seen]
    assert paths[1:] == ["/PMC12.3/PMC12.3.pdf", "/PMC12.2/PMC12.2.pdf"]
    assert (out / "pdfs" / "pmc_oa_PMC12.pdf").read_bytes() == PDF


def test_an_article_that_is_not_there_keeps_the_first_failure(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["reconstruct", "fetch", "tiny", "--release", str(release), "--json",
               "--out", str(tmp_path / "out"), "--docs", "pmc_oa_PMC12"]  # fmt: skip
    with Server().running() as server:
        server.answers[listing_url("PMC12", "")] = [Answer(200, listing())]
        assert main([*options, "--pmc-service", server.base]) == 1
    failures = json.loads(capsys.readouterr().out)["steps"]["fetch"]["failures"]
    assert failures["pmc_oa_PMC12"]["state"] == "unsafe_url"


def test_a_listing_without_end_is_refused(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["reconstruct", "fetch", "tiny", "--release", str(release), "--json",
               "--out", str(tmp_path / "out"), "--docs", "pmc_oa_PMC12"]  # fmt: skip
    with Server().running() as server:
        server.answers[listing_url("PMC12", "")] = [Answer(200, b"x" * (1 << 21))]
        assert main([*options, "--pmc-service", server.base]) == 1
    failures = json.loads(capsys.readouterr().out)["steps"]["fetch"]["failures"]
    assert failures["pmc_oa_PMC12"]["state"] == "too_large"


def package(path: Path, members: dict[str, bytes], *, link: bool = False) -> Path:
    """A tar.gz like those of the retired service."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        if link:
            info = tarfile.TarInfo("PMC12/link.pdf")
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/hostname"
            archive.addfile(info)
    return path


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


HOSTILE = {
    "../../outside.pdf": b"%PDF-1.4 outside",
    "/tmp/absolute.pdf": b"%PDF-1.4 absolute",
    "PMC12/supplement.pdf": OTHER,
    "PMC12/article.pdf": PDF,
    "PMC12/article.nxml": b"<article/>",
}


def test_only_the_bytes_with_the_hash_leave_a_package(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    packed = package(tmp_path / "in" / "p.tar.gz", HOSTILE, link=True)
    target = tmp_path / "out" / "deep" / "d.pdf"
    assert take_pdf(packed, target, sha(PDF), 1 << 20) == (len(PDF), sha(PDF))
    assert target.read_bytes() == PDF
    left = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert left == ["d.pdf", "p.tar.gz"]


def test_without_a_hash_a_package_with_one_pdf_is_clear(tmp_path: Path) -> None:
    one = package(tmp_path / "one.tar.gz", {"a/x.PDF": PDF, "a/x.xml": b""})
    assert take_pdf(one, tmp_path / "d.pdf", None, 1 << 20) == (len(PDF), sha(PDF))
    two = package(tmp_path / "two.tar.gz", HOSTILE)
    with pytest.raises(FetchError, match="found 4 PDFs") as failure:
        take_pdf(two, tmp_path / "e.pdf", None, 1 << 20)
    assert failure.value.state == "changed_at_source"
    assert not (tmp_path / "e.pdf").exists()


def bomb(path: Path) -> Path:
    """A header that says that it is one gigabyte long, and so it is."""
    info = tarfile.TarInfo("pax")
    info.type, info.size = tarfile.XHDTYPE, 1 << 30
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(info.tobuf(tarfile.USTAR_FORMAT))
        for _ in range(64):
            stream.write(bytes(1 << 20))
    return path


def cut(path: Path) -> Path:
    whole = package(path, {"a.pdf": b"%PDF-" + random.Random(0).randbytes(50_000)}).read_bytes()
    path.write_bytes(whole[:20_000])
    return path


def noise(path: Path) -> Path:
    path.write_bytes(b"<html>not a package</html>")
    return path


BAD_PACKAGES = {
    "cut": (cut, "truncated"),
    "web page": (noise, "truncated"),
    "header bomb": (bomb, "truncated"),
    "no PDF": (lambda path: package(path, {"a.xml": b"<a/>"}), "not_pdf"),
    "large PDF": (lambda path: package(path, {"a.pdf": bytes(2_000_000)}), "too_large"),
    "other PDF": (lambda path: package(path, {"a.pdf": OTHER}), "changed_at_source"),
}


@pytest.mark.parametrize("name", BAD_PACKAGES)
def test_bad_packages_are_states_and_leave_nothing(name: str, tmp_path: Path) -> None:
    make, state = BAD_PACKAGES[name]
    packed = make(tmp_path / "p.tar.gz")
    with pytest.raises(FetchError) as failure:
        take_pdf(packed, tmp_path / "d.pdf", sha(PDF), 1 << 20)
    assert failure.value.state == state
    assert [path.name for path in tmp_path.iterdir()] == ["p.tar.gz"]


def test_too_many_members_are_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = package(tmp_path / "p.tar.gz", HOSTILE)
    for limit in ("MAX_MEMBERS", "MAX_UNPACKED_BYTES"):
        with monkeypatch.context() as patch:
            patch.setattr(pmc_packages, limit, 3)
            with pytest.raises(FetchError) as failure:
                take_pdf(packed, tmp_path / "d.pdf", sha(PDF), 1 << 20)
        assert failure.value.state == "too_large"


def test_links_of_the_older_service_are_read_without_an_xml_parser() -> None:
    answer = b"""<?xml version="1.0"?><!DOCTYPE OA [<!ENTITY a "aaaa">]><OA><records>
    <record id="PMC12" license="CC BY"><link format="tgz" updated="2020-01-01 00:00:00"
      href="ftp://ftp.example.org/pub/oa_package/PMC12.tar.gz" />
    <link format='pdf' href='ftp://ftp.example.org/a.pdf?x=1&amp;y=2' />
    <link format="zip" href="x"/>
    </record></records></OA>"""
    assert links_of(answer) == [
        ("pdf", "https://ftp.example.org/a.pdf?x=1&y=2"),
        ("tgz", "https://ftp.example.org/pub/oa_package/PMC12.tar.gz"),
    ]
    assert links_of(b'<OA><error code="idIsNotOpenAccess">no</error></OA>') == []


@pytest.mark.parametrize("packed", [PDF, OTHER])
def test_a_package_of_the_older_service_is_the_last_resort(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], packed: bytes
) -> None:
    out = tmp_path / "out"
    options = ["reconstruct", "fetch", "tiny", "--release", str(release), "--out", str(out),
               "--docs", "pmc_oa_PMC12", "--json", "--allow-private"]  # fmt: skip
    content = package(tmp_path / "p.tar.gz", {"PMC12/a.pdf": packed}).read_bytes()
    with Server().running() as server:
        server.answers[listing_url("PMC12", "")] = [Answer(200, listing())]
        link = f'<link format="tgz" href="{server.base}/oa_package/PMC12.tar.gz"/>'
        server.answers["/oa.fcgi?id=PMC12"] = [Answer(200, link.encode())]
        server.answers["/oa_package/PMC12.tar.gz"] = [Answer(200, content)]
        code = main([*options, "--pmc-service", server.base, "--pmc-oa-service",
                     f"{server.base}/oa.fcgi"])  # fmt: skip
        asked = [seen.path for seen in server.seen]
    assert asked[1:] == ["/oa.fcgi?id=PMC12", "/oa_package/PMC12.tar.gz"]
    result = json.loads(capsys.readouterr().out)["steps"]["fetch"]
    files = [path.name for path in (out / "pdfs").iterdir() if path.is_file()]
    if packed == PDF:
        assert (code, files) == (0, ["pmc_oa_PMC12.pdf"])
        assert (out / "pdfs" / "pmc_oa_PMC12.pdf").read_bytes() == PDF
    else:
        assert (code, files) == (1, [])
        assert sha(OTHER) in result["failures"]["pmc_oa_PMC12"]["reason"]
