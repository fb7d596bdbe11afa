"""The whole job: command, manifest, interruption, and documents that fail."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from http_server import Answer, Server
from nclue_cli.main import main
from nclue_core import ExitCode, UsageError
from nclue_core.pages import read_document
from nclue_dataset.collection_writer import write_release
from nclue_reconstruct.outcome import DocumentOutcome
from nclue_reconstruct.run import executors
from nclue_reconstruct.run.executors import Call, run_calls
from nclue_reconstruct.run.workspace import Workspace
from tiny_release import tiny_collection


def make_pdf(title: str, pages: int = 3) -> bytes:
    document = pymupdf.open()
    for number in range(1, pages + 1):
        # Unlike texts at unlike heights: no running header.
        text = f"{title} says {'once ' * number}what it is about"
        document.new_page().insert_text((72, 90 + 150 * number), text)
    return document.tobytes(no_new_id=True)


PDFS = {f"d{i}": make_pdf(f"Document {i}") for i in range(1, 5)}


def release_of(folder: Path, base: str) -> Path:
    """The tiny release with PDFs at a server; d4 has only a landing page."""
    collection = tiny_collection()
    corpus = [
        replace(
            document,
            pdf_url=f"{base}/{document.doc_id}.pdf" if document.doc_id != "d4" else None,
            landing_url="https://example.org/d4",
            sha256=hashlib.sha256(PDFS[document.doc_id]).hexdigest(),
            n_pages=3,
        )
        for document in collection.corpus
    ]
    write_release(folder, {"tiny": replace(collection, corpus=corpus)}, {"version": "1.0.0"})
    return folder


@pytest.fixture
def server() -> Iterator[Server]:
    with Server().running() as running:
        for doc_id, data in PDFS.items():
            running.answers[f"/{doc_id}.pdf"] = [Answer(200, data)]
        yield running


def reconstruct(
    capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, dict[str, Any], str]:
    code = main(["reconstruct", *arguments, "--json", "--allow-private"])
    printed = capsys.readouterr()
    return code, json.loads(printed.out), printed.err


def test_everything_is_fetched_read_and_told(
    own_caches: Path, capsys: pytest.CaptureFixture[str], server: Server, tmp_path: Path
) -> None:
    release, out = release_of(tmp_path / "release", server.base), tmp_path / "out"
    code, result, said = reconstruct(
        capsys, "tiny", "--release", str(release), "--out", str(out), "--ocr", "text", "--jobs", "2"
    )
    assert code == ExitCode.FAILED  # d4 cannot be fetched
    assert result["steps"]["fetch"]["done"] == 3
    assert result["steps"]["fetch"]["failures"]["d4"]["state"] == "landing_only"
    assert "https://example.org/d4" in said
    assert result["steps"]["ocr_text"]["done"] == 3
    pages = read_document(out / "ocr_text", "d2")
    assert pages[1].text == "Document 2 says once once what it is about"
    assert (out / "pages.parquet").is_file()
    assert (out / "pdfs" / "d1.pdf").read_bytes() == PDFS["d1"]
    asked = len(server.seen)
    again = reconstruct(
        capsys, "tiny", "--release", str(release), "--out", str(out), "--ocr", "text"
    )
    assert again[1] == result
    assert len(server.seen) == asked


def test_steps_run_alone_and_a_mirror_serves_landing_pages(
    own_caches: Path, capsys: pytest.CaptureFixture[str], server: Server, tmp_path: Path
) -> None:
    release, out = release_of(tmp_path / "release", server.base), tmp_path / "out"
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    for doc_id in ("d1", "d4"):
        (mirror / f"{doc_id}.pdf").write_bytes(PDFS[doc_id])
    (mirror / "d2.pdf").write_bytes(PDFS["d1"])  # another document under this name
    options = ["tiny", "--release", str(release), "--out", str(out)]
    result = reconstruct(capsys, "fetch", *options, "--mirror", str(mirror))[1]
    failures = {d: f["state"] for d, f in result["steps"]["fetch"]["failures"].items()}
    assert failures == {"d2": "changed_at_source", "d3": "gone"}
    assert server.seen == []
    url = reconstruct(capsys, "fetch", *options, "--mirror", server.base)[1]
    assert url["steps"]["fetch"]["done"] == 4
    (out / "pdfs" / "d3.pdf").write_bytes(PDFS["d3"] + b"changed")
    verified = reconstruct(capsys, "verify", *options)[1]["steps"]["fetch"]
    assert set(verified["failures"]) == {"d3"}
    rendered = reconstruct(capsys, "render", *options, "--docs", "d1", "--dpi", "36")
    assert rendered[1]["steps"]["render"]["done"] == 1
    assert len(list((out / "pages" / "d1").glob("*.png"))) == 3


def test_status_and_dry_run_change_nothing(
    own_caches: Path, capsys: pytest.CaptureFixture[str], server: Server, tmp_path: Path
) -> None:
    release = release_of(tmp_path / "release", server.base)
    options = ["tiny", "--release", str(release), "--out", str(tmp_path / "out")]
    assert main(["reconstruct", *options, "--dry-run"]) == ExitCode.OK
    assert "4 documents" in capsys.readouterr().out
    code, result, _ = reconstruct(capsys, "status", *options)
    assert (code, result["steps"]["fetch"]["to_do"]) == (ExitCode.OK, 4)
    assert not (tmp_path / "out").exists()
    assert server.seen == []


def test_a_run_killed_at_any_moment_is_continued_to_the_same_bytes(
    own_caches: Path, server: Server, tmp_path: Path
) -> None:
    slow = {f"/{d}.pdf": [Answer(200, data, delay_s=0.25)] for d, data in PDFS.items()}
    release = release_of(tmp_path / "release", server.base)

    def command(out: Path) -> list[str]:
        return [sys.executable, "-m", "nclue_cli.main", "reconstruct", "tiny", "--out", str(out),
                "--release", str(release), "--ocr", "text", "--allow-private",
                "--jobs", "1"]  # fmt: skip

    straight, broken = tmp_path / "straight", tmp_path / "broken"
    subprocess.run(command(straight), capture_output=True, check=False)
    server.answers.update(slow)
    for moment in (0.6, 0.9, 1.4):
        process = subprocess.Popen(
            command(broken), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        time.sleep(moment)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pdf in broken.glob("pdfs/*.pdf"):  # whatever has its name is whole
            assert pdf.read_bytes() == PDFS[pdf.stem]
    subprocess.run(command(broken), capture_output=True, check=False)
    names = [path.relative_to(straight) for path in straight.rglob("*") if path.is_file()]
    kept = [n for n in names if n.parts[0] in ("pdfs", "ocr_text") and ".state" not in n.parts]
    assert len(kept) == 3 + 9
    for name in [*kept, Path("pages.parquet")]:
        assert (broken / name).read_bytes() == (straight / name).read_bytes(), name
    assert not [*broken.rglob("*.part"), *broken.rglob("*.tmp")]


def test_two_runs_in_one_folder_are_refused(
    own_caches: Path, capsys: pytest.CaptureFixture[str], server: Server, tmp_path: Path
) -> None:
    release, out = release_of(tmp_path / "release", server.base), tmp_path / "out"
    with Workspace(out).locked():
        code = main(["reconstruct", "fetch", "tiny", "--release", str(release), "--out", str(out)])
    assert code == ExitCode.USAGE
    assert "another run works in" in capsys.readouterr().err


def test_unknown_documents_and_words_are_usage_errors(
    own_caches: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    release = release_of(tmp_path / "release", "http://127.0.0.1:1")
    options = ["--release", str(release), "--out", str(tmp_path / "out")]
    assert main(["reconstruct", "tiny", *options, "--docs", "d9"]) == ExitCode.USAGE
    assert "no document is called 'd9'" in capsys.readouterr().err
    assert main(["reconstruct", "fetch", "tiny", "more", *options]) == ExitCode.USAGE


def work(number: int) -> DocumentOutcome:
    """A call that behaves by number: 1 crashes, 2 hangs, others are fine."""
    if number == 1:
        os.kill(os.getpid(), signal.SIGSEGV)
    if number == 2:
        time.sleep(60)
    return DocumentOutcome("ok", "", number, number, 0.0)


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_crash_or_hang_of_one_document_loses_one(jobs: int) -> None:
    # Only the one that hangs is given little time: starting a worker can take a while.
    calls = [Call(f"d{i}", work, (i,), 4.0 if i == 2 else 120.0) for i in range(5)]
    states = {call.doc_id: outcome.state for call, outcome in run_calls(calls, jobs=jobs)}
    assert states == {"d0": "ok", "d1": "crashed", "d2": "timeout", "d3": "ok", "d4": "ok"}


def test_stopping_early_ends_the_workers() -> None:
    calls = [Call(f"d{i}", work, (0,), 120.0) for i in range(20)]
    running = run_calls(calls, jobs=2)
    assert next(iter(running))[1].state == "ok"
    running.close()
    with pytest.raises(StopIteration):
        next(running)


def test_a_missing_ray_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(Exception, match=r'pip install "nclue\[ray\]"'):
        list(run_calls([], executor="ray"))
    with pytest.raises(UsageError, match="there are local, process, ray"):
        run_calls([], executor="spark")
    assert executors.EXECUTORS == ("local", "process", "ray")
