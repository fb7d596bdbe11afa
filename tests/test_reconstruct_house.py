"""The house: which wing may import what, what a worker loads, and an engine in one file."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import nclue_reconstruct
from nclue_core.errors import MissingDependencyError
from nclue_reconstruct.limits import Worker
from nclue_reconstruct.read.engine_mineru import MinerUEngine
from nclue_reconstruct.read.engine_tesseract import TesseractEngine
from nclue_reconstruct.read.engine_text import TextEngine
from nclue_reconstruct.read.mineru_driver import MinerU
from nclue_reconstruct.read.tesseract import Tesseract
from nclue_reconstruct.run.executors import Call, run_calls
from nclue_reconstruct.run.ocr_steps import ocr_document
from nclue_reconstruct.run.pipeline import Parallel, ocr_documents
from nclue_reconstruct.run.progress import Event, Pace
from nclue_reconstruct.run.windows import fair_size, windows_of
from nclue_reconstruct.run.workspace import Workspace
from reconstruct_pdfs import write
from test_reconstruct_windows import Clock, document, put_pdf
from toy_engines import FailingEngine, NullEngine
from worker_modules import list_modules

PACKAGE = Path(nclue_reconstruct.__file__).parent
PARTS = ("nclue_dataset", "nclue_metric", "nclue_stats", "nclue_systems", "nclue_construct",
         "nclue_cli")  # fmt: skip
MAY = {"": {""}, "fetch": {"", "fetch"}, "read": {"", "read"}, "run": {"", "fetch", "read", "run"}}


def imported(path: Path) -> set[str]:
    """Dotted names of all that a file imports, wherever in it, and also for types."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def wing(name: str) -> str:
    """ "fetch" for nclue_reconstruct.fetch and what is below it, "" for what lies at the top."""
    part = name.split(".")[1]
    return part if part in MAY else ""


def wrong_imports(folder: Path) -> list[str]:
    wrong = []
    for path in sorted(folder.rglob("*.py")):
        inside = path.relative_to(folder).parts
        here = inside[0] if len(inside) > 1 else ""
        for name in imported(path):
            own = name.startswith("nclue_reconstruct.")
            if (own and wing(name) not in MAY[here]) or name.split(".")[0] in PARTS:
                wrong.append(f"{'/'.join(inside)} imports {name}")
    return wrong


def test_arrows_between_the_wings_go_one_way() -> None:
    assert wrong_imports(PACKAGE) == []


def test_an_arrow_upwards_is_seen(tmp_path: Path) -> None:
    (tmp_path / "read").mkdir()
    text = "def f():\n    from nclue_reconstruct.run import windows\n"
    (tmp_path / "read" / "render.py").write_text(text)
    (tmp_path / "outcome.py").write_text("from nclue_reconstruct import fetch\nimport nclue_cli\n")
    assert sorted(wrong_imports(tmp_path)) == [
        "outcome.py imports nclue_cli",
        "outcome.py imports nclue_reconstruct.fetch",
        "read/render.py imports nclue_reconstruct.run.windows",
    ]


@pytest.mark.tesseract
def test_a_worker_loads_only_what_it_runs(tmp_path: Path) -> None:
    pdf = write(tmp_path / "a.pdf", [[(72, 100, "words of a page", 20)]])
    ready = TesseractEngine(dpi=50).prepared()  # pytesseract is asked here, not in the worker
    with Worker() as worker:
        for engine in (ready, TextEngine()):
            arguments = (engine, pdf, "a", "ab" * 32, tmp_path / engine.name)
            assert worker.run(ocr_document, *arguments, timeout_s=60).state == "ok"
        loaded = set(worker.run(list_modules, timeout_s=60))
    not_ours = {"requests", "urllib3", "http.client", "ssl", "pytesseract", "pandas", "PIL.Image",
                "datasets", "pyarrow", "ray", "filelock", "click", "rich"}  # fmt: skip
    assert not_ours.isdisjoint(loaded)
    wings = [name for name in loaded if name.startswith("nclue_")]
    assert not [name for name in wings if ".fetch" in name or name.startswith("nclue_cli")]
    assert {n for n in wings if ".run." in n} == {"nclue_reconstruct.run.ocr_steps"}
    assert not [name for name in wings if "mineru" in name]


def test_what_was_found_travels_and_is_sought_again_where_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Tesseract("eng", sys.executable, "tesseract 1", "", library=False, has_osd=False)
    assert TesseractEngine(found=here).version() == "tesseract 1"
    assert MinerUEngine(found=MinerU(sys.executable, "4.1")).version() == "mineru 4.1"
    gone = Tesseract("eng", str(tmp_path / "gone"), "tesseract 1", "", False, False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingDependencyError, match="OCR needs the program 'tesseract'"):
        TesseractEngine(found=gone).version()


TOY = '''
"""A toy."""
from dataclasses import dataclass
from typing import ClassVar
from nclue_core.pages import Block, PageRecord
from nclue_reconstruct.read.engine import Engine, option

@dataclass(frozen=True)
class ToyEngine(Engine):
    name: ClassVar[str] = "toy"
    title: ClassVar[str] = "The toy"
    needs: ClassVar[str] = "a child"
    seconds_per_page: ClassVar[float] = 1.0
    volume: int = option(3, "How loud")

    def version(self):
        return "toy 1"

    def check_ready(self):
        pass

    def read(self, pdf, doc_id, sha256, pages):
        for page in pages:
            yield PageRecord.from_blocks(doc_id, page, [Block("text", "la " * self.volume)],
                engine="toy", engine_version="toy 1", sha256=sha256)
'''


def test_an_engine_is_one_file(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "nclue_reconstruct")
    (tmp_path / "nclue_reconstruct" / "read" / "engine_toy.py").write_text(TOY)
    script = (
        "import sys; sys.path.insert(0, sys.argv.pop(1))\n"
        "from nclue_cli.main import main; from nclue_cli.doctor import examine\n"
        "from nclue_reconstruct.read.engines import get_engine\n"
        "toy = get_engine('toy', volume=2)\n"
        "filled = get_engine('text', ocr_missing='toy', volume=9)\n"
        "print(toy.limit_s(10), filled.ocr_missing.volume)\n"
        "print([(f.part, f.found) for f in examine() if f.part == 'The toy'])\n"
        "main(['reconstruct', '--help'])\n"
        "import pathlib; from nclue_reconstruct.run.executors import Call, run_calls\n"
        "from nclue_reconstruct.run.ocr_steps import ocr_document\n"
        "pdf, out = map(pathlib.Path, sys.argv[1:])\n"
        "call = Call('a', ocr_document, (toy, pdf, 'a', 'ab', out), 60.0)\n"
        "print([outcome.state for _, outcome in run_calls([call])])\n"
    )
    pdf = write(tmp_path / "a.pdf", [[(72, 100, "words", 20)]])
    command = [sys.executable, "-c", script, str(tmp_path), str(pdf), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert said.startswith("310.0 9 [('The toy', 'toy 1, a child')]")
    for told in ("mineru|tesseract|text|toy]", "mineru|tesseract|toy]", "--volume INTEGER",
                 "How loud", "toy: a child"):  # fmt: skip
        assert told in said
    assert said.endswith("['ok']")
    assert json.loads((tmp_path / "out" / "a" / "1.json").read_text())["text"] == "la la "


def test_few_pages_are_shared_out_and_many_are_not_cut_small() -> None:
    tesseract = TesseractEngine.window_pages, TesseractEngine.least_window_pages
    assert fair_size(33, 2, *tesseract) == 5
    assert len(windows_of(33, 5)) == 7
    assert fair_size(41_441, 2, *tesseract) == 20
    assert fair_size(3, 8, *tesseract) == 2
    assert fair_size(33, 1, *tesseract) == 20  # alone there is nobody to share with
    assert fair_size(10_000, 8, None) is None
    for n_pages in range(1, 400):
        for jobs in (2, 3, 8):
            size = fair_size(n_pages, jobs, 20, 1)
            assert size is not None
            # By hand: handed out in turn, no worker has more than a window more than another.
            assert size * 4 * jobs >= min(n_pages, 80 * jobs)
            assert size == 1 or (size - 1) * 4 * jobs < n_pages


@pytest.mark.parametrize("jobs", [1, 2])
def test_each_page_is_told_as_it_ends(tmp_path: Path, jobs: int) -> None:
    workspace = Workspace(tmp_path)
    put_pdf(workspace, "a", 7)
    told: list[Event] = []
    rows, parallel = [document("a", 7)], Parallel(jobs)
    engine = FailingEngine(fail_pages=(2, 5))
    ocr_documents(rows, workspace, engine, parallel=parallel, tell=told.append)
    assert [event.pages for event in told] == [1, 1, 1, 1, 1, 0]
    assert (told[-1].state, told[-1].lost) == ("partial", 2)
    again: list[Event] = []
    ocr_documents(rows, workspace, FailingEngine(fail_pages=()), parallel=parallel,
                  tell=again.append)  # fmt: skip
    assert [(event.pages, event.is_new) for event in again] == [
        (5, False), (1, True), (1, True), (0, True),
    ]  # fmt: skip


def test_only_windows_with_pages_left_are_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nclue_reconstruct.run import pipeline

    workspace = Workspace(tmp_path)
    put_pdf(workspace, "a", 33)
    seen: list[int] = []

    def run(calls: list[Call], **more: object) -> object:
        seen.extend(call.window.first for call in calls)
        yield from run_calls(calls)

    monkeypatch.setattr(pipeline, "run_calls", run)
    rows = [document("a", 33)]
    found = ocr_documents(rows, workspace, NullEngine(), parallel=Parallel(2))
    assert found["a"].pages_done == 33
    assert sorted(seen) == [1, 6, 11, 16, 21, 26, 31]
    seen.clear()
    for page in (7, 8):
        (workspace.root / "ocr_null" / "a" / f"{page}.json").unlink()
    found = ocr_documents(rows, workspace, NullEngine(), parallel=Parallel(2))
    assert (found["a"].state, found["a"].pages_done, found["a"].pages_total) == ("ok", 33, 33)
    assert sorted(seen) == [6, 31]


def test_rate_and_time_left_know_what_was_there_and_what_will_not_come() -> None:
    clock = Clock()
    pace = Pace("ocr", 3, 40, clock)
    pace.add(Event("a", None, pages=30, is_new=False))
    clock.now += 10.0
    pace.add(Event("a", None, pages=1))
    pace.add(Event("b", "broken", "no", lost=4))
    # 1 page in 10 s; 40 - 31 - 4 are left.
    assert pace.text() == "ocr: 1/3 documents, 31/40 pages (0.1/s), 1 failed, 50 s left"
    pace.end()
    assert pace.text() == "ocr: 1/3 documents, 31/40 pages (0.1/s), 1 failed, in 10 s"
