"""PMC articles: found in the cloud service by PMCID, chosen by hash."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from http_server import Answer, Server
from nclue_reconstruct.pmc import listing_url, pdf_urls, pmcid_of
from tiny_release import tiny_collection

from nclue_cli.main import main
from nclue_dataset.collection_writer import write_release

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
