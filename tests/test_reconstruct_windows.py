"""Long documents in windows: the same bytes however they are cut, and wherever they are run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nclue_cli.output import Lines
from nclue_core import UsageError
from nclue_core.schema import CorpusDocument
from nclue_reconstruct.outcome import DocumentOutcome, PageFailure
from nclue_reconstruct.read.engines import get_engine
from nclue_reconstruct.run import pipeline
from nclue_reconstruct.run.executors import Cluster
from nclue_reconstruct.run.pipeline import Parallel, ocr_documents, render_documents
from nclue_reconstruct.run.progress import Event, Pace
from nclue_reconstruct.run.staging import OutFolder, keep
from nclue_reconstruct.run.windows import join, windows_of
from nclue_reconstruct.run.workspace import Workspace
from nclue_reconstruct.window import WHOLE, Window
from tiny_release import tiny_collection
from toy_engines import FailingEngine, NullEngine

ONE_BY_ONE = Parallel(1)


def document(doc_id: str, n_pages: int | None) -> CorpusDocument:
    return replace(tiny_collection().corpus[0], doc_id=doc_id, sha256=None, n_pages=n_pages)


def put_pdf(workspace: Workspace, doc_id: str, n_pages: int, word: str = "page") -> None:
    pdf = pymupdf.open()
    for number in range(1, n_pages + 1):
        pdf.new_page(width=300, height=200).insert_text((40, 90), f"{word} {number}", fontsize=24)
    path = workspace.pdf(doc_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pdf.tobytes(no_new_id=True))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path / "out")
    put_pdf(made, "long", 12)
    put_pdf(made, "short", 2)
    return made


DOCUMENTS = [document("long", 12), document("short", 2)]


def contents(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 20))
def test_windows_hold_each_page_once_even_where_the_number_is_wrong(
    expected: int, found: int, size: int
) -> None:
    windows = windows_of(expected, size)
    pages = [page for window in windows for page in window.pages(found)]
    assert pages == list(range(1, found + 1))
    assert all(sum(window.holds(page) for window in windows) == 1 for page in pages)
    assert all(window.pages(expected) for window in windows)


def test_documents_of_unknown_length_and_engines_for_whole_documents_have_one_window() -> None:
    assert windows_of(None, 5) == windows_of(12, None) == windows_of(5, 5) == [WHOLE]
    assert windows_of(11, 5) == [Window(1, 5), Window(6, 10), Window(11, None)]


def part(state: str, done: int, *failures: PageFailure, reason: str = "") -> DocumentOutcome:
    return DocumentOutcome(state, reason, done, 10, 1.0, failures)


def test_outcomes_of_windows_are_joined_by_hand() -> None:
    first, last = Window(1, 5), Window(6, None)
    fine = join([(first, part("ok", 5)), (last, part("ok", 5))], range(1, 11))
    assert fine == DocumentOutcome("ok", "", 10, 10, 2.0)
    failed = PageFailure(7, "timeout", "too slow")
    some = join([(first, part("ok", 5)), (last, part("partial", 4, failed))],
                [*range(1, 7), 8, 9, 10])  # fmt: skip
    assert (some.state, some.reason, some.pages_done) == ("partial", "page 7: too slow", 9)
    # The second window's process died when it had done two pages.
    died = DocumentOutcome("crashed", "it ended", 0, None, 0.0)
    lost = join([(first, part("ok", 5)), (last, died)], range(1, 8))
    assert (lost.state, lost.reason, lost.pages_done) == ("partial", "pages 8-10: it ended", 7)
    locked = DocumentOutcome("password_required", "locked", 0, None, 0.5)
    assert join([(first, locked), (last, locked)], []) == replace(locked, seconds=1.0)


@pytest.mark.parametrize("jobs", [1, 3])
def test_processes_write_the_bytes_that_one_by_one_writes(
    workspace: Workspace, tmp_path: Path, jobs: int
) -> None:
    other = Workspace(tmp_path / "other")
    put_pdf(other, "long", 12)
    put_pdf(other, "short", 2)
    unknown = [document("long", None), document("short", None)]  # no windows
    for engine in (NullEngine(), get_engine("text")):
        done = ocr_documents(DOCUMENTS, workspace, engine, parallel=Parallel(jobs))
        ocr_documents(unknown, other, engine, parallel=ONE_BY_ONE)
        assert {k: (o.state, o.pages_done) for k, o in done.items()} == {
            "long": ("ok", 12),
            "short": ("ok", 2),
        }
        folder = f"ocr_{engine.name}"
        assert contents(workspace.root / folder) == contents(other.root / folder)
        assert len(contents(workspace.root / folder)) == 14


@pytest.mark.tesseract
def test_tesseract_and_rendering_give_the_same_bytes_in_windows(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Workspace(tmp_path / "other")
    put_pdf(other, "long", 4)
    put_pdf(workspace, "long", 4)
    documents, unknown = [document("long", 4)], [document("long", None)]
    engine = get_engine("tesseract", dpi=100)
    monkeypatch.setattr(type(engine), "window_pages", 2)
    monkeypatch.setattr(pipeline, "RENDER_WINDOW_PAGES", 3)
    ocr_documents(documents, workspace, engine, parallel=Parallel(2))
    ocr_documents(unknown, other, engine, parallel=ONE_BY_ONE)
    render_documents(documents, workspace, dpi=50, parallel=Parallel(2))
    render_documents(unknown, other, dpi=50, parallel=ONE_BY_ONE)
    for folder in ("ocr_tesseract", "pages"):
        assert contents(workspace.root / folder) == contents(other.root / folder)
        assert len(contents(workspace.root / folder)) == 4


def test_a_window_that_crashes_loses_its_own_pages_alone(workspace: Workspace) -> None:
    engine = FailingEngine(how="crash", fail_pages=(7,))
    told: list[Event] = []
    found = ocr_documents(DOCUMENTS, workspace, engine, parallel=ONE_BY_ONE, tell=told.append)
    assert found["short"].state == "ok"
    assert (found["long"].state, found["long"].pages_done) == ("partial", 8)
    assert found["long"].reason.startswith("pages 7-10: the process that worked on it ended")
    assert sum(event.state is not None for event in told) == 2
    again = ocr_documents(DOCUMENTS, workspace, FailingEngine(fail_pages=()), parallel=ONE_BY_ONE)
    assert (again["long"].state, again["long"].pages_done) == ("ok", 12)


def test_what_is_done_needs_no_call(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    ocr_documents(DOCUMENTS, workspace, NullEngine(), parallel=ONE_BY_ONE)
    render_documents(DOCUMENTS, workspace, dpi=30, parallel=ONE_BY_ONE)
    (workspace.root / "ocr_null" / "long" / "3.json").unlink()
    called: list[str] = []

    def run(calls: list[Any], **_more: Any) -> Any:
        called.extend(call.doc_id for call in calls)
        yield from ()

    monkeypatch.setattr(pipeline, "run_calls", run)
    fresh = Workspace(workspace.root)
    told: list[Event] = []
    render_documents(DOCUMENTS, fresh, dpi=30, parallel=ONE_BY_ONE, tell=told.append)
    assert called == []
    assert [(event.state, event.is_new) for event in told] == [("ok", False)] * 2
    ocr_documents(DOCUMENTS, fresh, NullEngine(), parallel=ONE_BY_ONE)
    assert set(called) == {"long"}  # a page of it is missing
    called.clear()
    render_documents(DOCUMENTS, fresh, dpi=40, parallel=ONE_BY_ONE)
    assert set(called) == {"long", "short"}


def test_pages_of_another_file_are_made_again(workspace: Workspace) -> None:
    rows = [document("short", 2)]
    render_documents(rows, workspace, dpi=30, parallel=ONE_BY_ONE)
    ocr_documents(rows, workspace, get_engine("text"), parallel=ONE_BY_ONE)
    before = contents(workspace.root / "pages")
    put_pdf(workspace, "short", 2, "leaf")
    render_documents(rows, workspace, dpi=30, parallel=ONE_BY_ONE)
    ocr_documents(rows, workspace, get_engine("text"), parallel=ONE_BY_ONE)
    after = contents(workspace.root / "pages")
    assert before.keys() == after.keys()
    assert all(before[name] != after[name] for name in before)
    assert all(b"leaf" in text for text in contents(workspace.root / "ocr_text").values())


@pytest.mark.parametrize("name", ["../up.json", "/etc/x", "a/../../b"])
def test_a_worker_cannot_write_outside_its_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="outside its folder"):
        keep({name: b"x"}, (OutFolder(tmp_path / "out"),))
    assert not (tmp_path / "out").exists()


def test_storage_is_one_that_there_is() -> None:
    with pytest.raises(UsageError, match="there are shared, node"):
        Cluster(storage="cloud")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_pace_worked_out_by_hand() -> None:
    clock = Clock()
    pace = Pace("ocr", 4, 100, clock)
    assert pace.seconds_left is None
    assert pace.text() == "ocr: 0/4 documents"
    pace.add(Event("a", "ok", pages=40, is_new=False))  # from an earlier run
    clock.now = 110.0
    pace.add(Event("b", None, pages=10))
    pace.add(Event("b", "partial", "page 3: no", pages=10))
    # 20 pages in 10 s; 40 left.
    assert pace.seconds_left == 20
    assert pace.text() == "ocr: 2/4 documents, 60/100 pages (2.0/s), 1 failed, 20 s left"
    pace.add(Event("c", "ok", pages=30))
    pace.add(Event("d", "ok", pages=10))
    clock.now = 3_850.0
    assert pace.text() == "ocr: 4/4 documents, 100/100 pages (0.0/s), 1 failed, in 1 h 2 min"


def test_pace_of_documents_without_pages() -> None:
    clock = Clock()
    pace = Pace("fetch", 10, None, clock)
    clock.now = 102.0
    pace.add(Event("a", "ok", n_bytes=2_500_000))
    assert pace.text() == "fetch: 1/10 documents, 2 MB, 18 s left"


def test_lines_come_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines(quiet=False, every_s=3600)
    lines.now_and_then(lambda: "too soon")
    Lines(quiet=True, every_s=0).now_and_then(lambda: "quiet")
    Lines(quiet=False, every_s=0).now_and_then(lambda: "now")
    assert capsys.readouterr().err == "now\n"
