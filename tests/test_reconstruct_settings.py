"""Finished work is known by all settings that shape it: no page of yesterday's settings is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nclue_cli.main import main
from nclue_core import ExitCode
from nclue_core.pages import read_document
from nclue_reconstruct.outcome import DocumentOutcome
from nclue_reconstruct.read import engine_text, tesseract
from nclue_reconstruct.read.engine import Engine
from nclue_reconstruct.read.engine_mineru import MinerUEngine
from nclue_reconstruct.read.engine_tesseract import TesseractEngine
from nclue_reconstruct.read.engine_text import TextEngine
from nclue_reconstruct.read.mineru_adapter import parse_output
from nclue_reconstruct.read.mineru_driver import MinerU
from nclue_reconstruct.read.tesseract import Tesseract
from nclue_reconstruct.run import pipeline
from nclue_reconstruct.run.executors import Call, Ended
from nclue_reconstruct.run.page_sets import PageSets, difference, fingerprint, recorded
from nclue_reconstruct.run.pages_out import is_current, write_pages_parquet
from nclue_reconstruct.run.pipeline import Parallel, ocr_documents, render_documents
from nclue_reconstruct.run.staging import in_place
from nclue_reconstruct.run.workspace import Workspace, summary
from test_reconstruct_pipeline import release_of
from test_reconstruct_windows import contents, document, put_pdf
from toy_engines import FailingEngine, NullEngine

ROWS = [document("a", 3), document("b", 2)]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path / "out")
    put_pdf(made, "a", 3)
    put_pdf(made, "b", 2)
    return made


@pytest.fixture(autouse=True)
def no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls run here: starting workers is not what these tests are about."""

    def run(calls: Sequence[Call], on_page: Any, **_more: Any) -> Iterator[Ended]:
        for call in calls:
            yield call, call.function(*in_place(call.arguments))
            on_page(call, None)

    monkeypatch.setattr(pipeline, "run_calls", run)


def read(workspace: Workspace, engine: Engine) -> tuple[dict[str, DocumentOutcome], list[str]]:
    said: list[str] = []
    found = ocr_documents(ROWS, workspace, engine, parallel=Parallel(1), say=said.append)
    return found, said


def texts(workspace: Workspace, doc_id: str = "a") -> list[str]:
    return [page.text for page in read_document(workspace.root / "ocr_null", doc_id)]


def test_other_settings_read_again_say_so_and_come_back_for_nothing(workspace: Workspace) -> None:
    assert read(workspace, NullEngine(word="low"))[1] == []
    first = contents(workspace.root / "ocr_null")
    found, said = read(workspace, NullEngine(word="high"))
    assert [outcome.state for outcome in found.values()] == ["ok", "ok"]
    assert texts(workspace) == ["high 1 of a", "high 2 of a", "high 3 of a"]
    assert said == [
        "2 documents read again: settings changed from word low to word high "
        "(pages until now: earlier/ocr_null)"
    ]
    inode = next((workspace.root / "earlier").rglob("1.json")).stat().st_ino
    assert read(workspace, NullEngine(word="low"))[1] == []  # nothing had to be read
    assert contents(workspace.root / "ocr_null") == first
    assert inode in {path.stat().st_ino for path in workspace.root.glob("ocr_null/*/1.json")}


def test_windows_of_two_settings_are_never_in_one_document(workspace: Workspace) -> None:
    read(workspace, FailingEngine(word="low", fail_pages=(3,)))
    assert sorted(contents(workspace.root / "ocr_failing")) == ["a/1.json", "a/2.json", "b/1.json",
                                                                "b/2.json"]  # fmt: skip
    read(workspace, FailingEngine(word="high", fail_pages=(1, 2)))
    assert sorted(contents(workspace.root / "ocr_failing")) == ["a/3.json"]
    assert b"high" in contents(workspace.root / "ocr_failing")["a/3.json"]


@pytest.mark.parametrize("lost", ["state", "manifest", "moved"])
def test_whatever_is_lost_no_page_is_taken_for_another(workspace: Workspace, lost: str) -> None:
    read(workspace, NullEngine(word="low"))
    if lost == "state":  # as pages of version 0.1.0 are
        for path in (workspace.root / ".state").rglob("*.json"):
            path.unlink()
    elif lost == "manifest":
        workspace.manifest.unlink()
    else:  # killed after the record was taken away, before anything came in its place
        (workspace.root / ".state" / "ocr_null" / "a.json").unlink()
    fresh = Workspace(workspace.root)
    _, said = read(fresh, NullEngine(word="high"))
    assert texts(fresh) == ["high 1 of a", "high 2 of a", "high 3 of a"]
    assert any("unknown" in line for line in said) == (lost != "manifest")
    kept = (path.read_text() for path in (workspace.root / "earlier").rglob("*.json"))
    assert sum("low" in text for text in kept) == 5


def test_status_does_not_take_other_settings_for_done(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    read(workspace, NullEngine(word="low"))

    def interrupted(calls: Sequence[Call], **_more: Any) -> Iterator[Ended]:
        raise KeyboardInterrupt
        yield from ()

    monkeypatch.setattr(pipeline, "run_calls", interrupted)
    with pytest.raises(KeyboardInterrupt):
        read(workspace, NullEngine(word="high"))
    counts = summary(Workspace(workspace.root), ROWS)["steps"]
    assert counts.get("ocr_null", {"done": 0})["done"] == 0


def test_pages_of_unknown_settings_are_all_kept(workspace: Workspace) -> None:
    for word in ("one", "two", "three"):
        read(workspace, NullEngine(word=word))
        (workspace.root / ".state" / "ocr_null" / "a.json").unlink()
    read(workspace, NullEngine(word="four"))
    kept = [path.read_text() for path in (workspace.root / "earlier").rglob("a/1.json")]
    assert sorted(word for text in kept for word in ("one", "two", "three") if word in text) == [
        "one", "three", "two",
    ]  # fmt: skip


def test_another_pdf_and_a_changed_reading_are_read_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    read(workspace, NullEngine())
    put_pdf(workspace, "a", 3, "leaf")
    assert read(workspace, NullEngine())[1] == [
        "1 document read again: the PDF is another (pages until now: earlier/ocr_null)"
    ]
    monkeypatch.setattr(NullEngine, "reading", "2")
    assert "from reading 1 to reading 2" in read(workspace, NullEngine())[1][0]
    monkeypatch.setattr(NullEngine, "version", lambda self: "null 2")
    assert "from version null 1 to version null 2" in read(workspace, NullEngine())[1][0]


def test_pictures_of_another_resolution_are_set_aside(workspace: Workspace) -> None:
    said: list[str] = []
    for dpi in (30, 60, 30):
        render_documents(ROWS, workspace, dpi=dpi, parallel=Parallel(1), say=said.append)
    assert len(said) == 1
    assert "from dpi 30 to dpi 60" in said[0]
    assert len(list((workspace.root / "pages").rglob("*.png"))) == 5
    assert len(list((workspace.root / "earlier" / "render").rglob("*.png"))) == 5


def test_the_table_is_made_anew_also_where_sizes_are_the_same(workspace: Workspace) -> None:
    import pyarrow.parquet as pq

    path, folder = workspace.root / "pages.parquet", workspace.root / "ocr_null"
    read(workspace, NullEngine(word="one"))
    write_pages_parquet(folder, path)
    before = path.stat().st_ino
    write_pages_parquet(folder, path)
    assert path.stat().st_ino == before
    assert is_current(path, folder)
    read(workspace, NullEngine(word="two"))  # as many bytes
    assert not is_current(path, folder)
    write_pages_parquet(folder, path)
    assert pq.read_table(path)["text"].to_pylist()[0] == "two 1 of a"


FOUND = Tesseract("eng", "true", "tesseract 5", "", library=False, has_osd=True)
TESSERACT = TesseractEngine(found=FOUND)
MINERU = MinerUEngine(found=MinerU("true", "4.0"))


@pytest.mark.parametrize(
    ("engine", "other", "told"),
    [
        (TESSERACT, replace(TESSERACT, dpi=300), "dpi 200 to dpi 300"),
        (TESSERACT, replace(TESSERACT, lang="deu"), "lang eng to lang deu"),
        (TESSERACT, replace(TESSERACT, found=replace(FOUND, version="tesseract 6")),
         "version tesseract 5 to version tesseract 6"),
        (MINERU, replace(MINERU, tier="flash"), "tier basic to tier flash"),
        (MINERU, replace(MINERU, found=MinerU("true", "5.0")),
         "version mineru 4.0 to version mineru 5.0"),
        (TextEngine(), TextEngine(NullEngine()), "ocr_missing none to "),
        (TextEngine(NullEngine(word="x")), TextEngine(NullEngine(word="y")),
         "ocr_missing word x to ocr_missing word y"),
        (TextEngine(TESSERACT), TextEngine(replace(TESSERACT, dpi=60)),
         "ocr_missing dpi 200 to ocr_missing dpi 60"),
    ],
)  # fmt: skip
def test_every_setting_of_every_engine_counts(engine: Engine, other: Engine, told: str) -> None:
    before, after = engine.settings(), other.settings()
    assert fingerprint(before) != fingerprint(after)
    assert told in difference(before, after)
    assert json.loads(json.dumps(before)) == before


def test_limits_do_not_count() -> None:
    assert replace(TESSERACT, page_timeout_s=7.0).settings() == TESSERACT.settings()
    assert replace(TESSERACT, page_timeout_s=700.0).limit_s(10) == 300 + 10 * 700
    assert TextEngine(TESSERACT).limit_s(10) > TESSERACT.limit_s(10)  # all pages may be scans


def test_other_data_of_a_language_counts(tmp_path: Path) -> None:
    found = replace(FOUND, tessdata=str(tmp_path), has_osd=False)
    versions = set()
    for content in (b"fast", b"best"):
        (tmp_path / "eng.traineddata").write_bytes(content)
        tesseract._data_version.cache_clear()  # as in another process
        versions.add(tesseract.data_version(found))
    assert len(versions) == 2


def test_the_code_that_reads_text_layers_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = engine_text.code_version()
    for path in Path(engine_text.__file__).parent.glob("*.py"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(engine_text, "__file__", str(tmp_path / "engine_text.py"))

    def version_after(name: str) -> str:
        (tmp_path / name).write_text("# changed")
        engine_text.code_version.cache_clear()
        return engine_text.code_version()

    assert version_after("mineru_driver.py") == before
    changed = version_after("running.py")
    assert changed != before
    assert version_after("a_new_file.py") not in (before, changed)
    engine_text.code_version.cache_clear()


def test_a_record_that_cannot_be_read_is_unknown(workspace: Workspace) -> None:
    sets = PageSets(workspace, "ocr_null", workspace.ocr("null"), "json", {"dpi": 1})
    sets.claim("a", "ab")
    assert recorded(workspace.root, "ocr_null", "a") == {"dpi": 1, "sha256": "ab"}
    for damage in ("", "[1]", "{", "[" * 100_000):
        (workspace.root / ".state" / "ocr_null" / "a.json").write_text(damage)
        assert recorded(workspace.root, "ocr_null", "a") is None


def put_release(tmp_path: Path, workspace: Workspace) -> list[str]:
    """The tiny release, and PDFs that it knows nothing of but their names and lengths."""
    release = release_of(tmp_path / "release", "http://127.0.0.1:1")
    rows = [json.loads(row) for row in next(release.rglob("corpus.jsonl")).read_text().splitlines()]
    for row in rows:
        row["sha256"] = None
        put_pdf(workspace, row["doc_id"], 3, "words of a page")
    next(release.rglob("corpus.jsonl")).write_text("".join(json.dumps(r) + "\n" for r in rows))
    return ["tiny", "--release", str(release), "--out", str(workspace.root)]


def test_pages_needs_no_engine_and_names_those_that_there_are(
    own_caches: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], workspace: Workspace,
) -> None:  # fmt: skip
    options = put_release(tmp_path, workspace)
    assert main(["reconstruct", "ocr", *options, "--ocr", "text"]) == ExitCode.OK
    monkeypatch.setenv("PATH", str(tmp_path))  # no Tesseract, no MinerU
    assert main(["reconstruct", "pages", *options]) == ExitCode.OK
    assert "12 pages" in capsys.readouterr().err
    (workspace.root / "ocr_other").mkdir()
    assert main(["reconstruct", "pages", *options]) == ExitCode.USAGE
    assert "name one with --ocr (other, text)" in capsys.readouterr().err
    with (workspace.root / "ocr_text" / "d1" / "1.json").open("a") as stream:
        stream.write("\n")
    assert main(["reconstruct", "ocr", *options, "--ocr", "text"]) == ExitCode.OK
    assert "is not of these page texts" in capsys.readouterr().err


def test_options_that_would_change_nothing_are_told(
    own_caches: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], workspace: Workspace
) -> None:
    options = ["reconstruct", "ocr", *put_release(tmp_path, workspace)]
    for wrong, told in (
        (["--ocr", "text", "--lang", "deu"], "lang is no option of the engine text, which has no"),
        (["--ocr", "tesseract", "--tier", "flash"], "which has: lang, dpi, page_timeout_s"),
        (["--ocr", "tesseract", "--ocr-missing", "mineru"], "ocr_missing goes with the engine"),
        (["--ocr-missing", "tesseract"], "ocr_missing goes with the engine text"),
        (["--ocr", "tesseract", "--page-timeout", "0"], "--page-timeout"),
        (["--ocr", "mineru", "--tier", "best"], "--tier"),
    ):
        assert main([*options, *wrong]) == ExitCode.USAGE
        assert told in capsys.readouterr().err
    assert main([*options, "--ocr", "text", "--engine", "local"]) == ExitCode.OK
    assert "--engine is now --executor" in capsys.readouterr().err


def test_the_last_line_promises_nothing(
    own_caches: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], workspace: Workspace
) -> None:
    options = put_release(tmp_path, workspace)
    workspace.pdf("d4").unlink()
    workspace.pdf("d3").write_bytes(b"%PDF-1.4 nothing")
    assert main(["reconstruct", "ocr", *options, "--ocr", "text"]) == ExitCode.FAILED
    said = capsys.readouterr().err
    assert "1 of 4 documents have no verified PDF: left out" in said
    assert "ocr: 3/3 documents, 6/9 pages" in said
    assert " left" not in said.splitlines()[-1]


# Texts that our own code makes from fixed answers of the programs. If such a test fails because
# the code reads better now: raise ``reading`` of the engine, and note the new hash here. Else
# users keep yesterday's texts beside today's.
GOLDEN = {
    "tesseract": ("1", "a2112df94a97"),
    "mineru": ("1", "26ae540df10e"),
}


def hashed(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:12]


def test_a_change_of_reading_raises_its_number() -> None:
    rows = [(1, 100, 60, "Chapter"), (2, 200, 20, "FINDINGS"), (3, 300, 20, "some"),
            (3, 330, 20, "words"), (4, 960, 20, "17")]  # fmt: skip
    tsv = "\n".join(
        f"5\t1\t{block}\t1\t{top}\t1\t100\t{top}\t{15 * height}\t{height}\t95\t{word}"
        for block, top, height, word in rows
    )
    blocks = tuple(tesseract._blocks(list(tesseract.parse_tsv(tsv)), 1000, 1000, 90))
    assert [block.type for block in blocks][:2] == ["title", "title"]
    assert (TesseractEngine.reading, hashed(blocks)) == GOLDEN["tesseract"]
    spans = {"lines": [{"spans": [{"type": "text", "content": "Some words"}]}]}
    page = {"page_idx": 0, "page_size": [600, 800], "para_blocks": [
        {"type": "title", "bbox": [60, 80, 300, 120], **spans},
        {"type": "text", "bbox": [60, 200, 300, 220], **spans},
    ], "discarded_blocks": []}  # fmt: skip
    output = parse_output({"_backend": "pipeline", "_version_name": "2.7.6", "pdf_info": [page]})
    (record,) = output.records("a", "ab", n_pages=1)
    assert record.text
    assert (MinerUEngine.reading, hashed(record.blocks)) == GOLDEN["mineru"]
