"""One worker and two for rendering and the text layer, and memory over many pages.

    python benchmarks/reconstruct_speed.py --pdfs DIR [--pages 250] [--rounds 3]

Whole documents are taken from the PDFs of a folder, evenly spread. Memory is the resident set of
a worker process after every so many pages: 2,000 pages in documents of 100, and in one document.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import pymupdf

from nclue_core.schema import CorpusDocument
from nclue_reconstruct.limits import Worker
from nclue_reconstruct.read.engine_text import TextEngine
from nclue_reconstruct.read.render import render_document
from nclue_reconstruct.run.ocr_steps import ocr_document
from nclue_reconstruct.run.pipeline import Parallel, ocr_documents, render_documents
from nclue_reconstruct.run.workspace import Workspace
from nclue_reconstruct.window import Window

TEXT_TIMES = 20  # the text layer is read so much faster than a page is rendered
MAX_PAGES = 60  # of a document, so that two workers can share the work evenly


def choose(pdfs: Path, count: int, target: Path) -> list[CorpusDocument]:
    """Copy documents of about so many pages in all (or as many as there are)."""
    target.mkdir(parents=True)
    rows: list[CorpusDocument] = []
    files = sorted(pdfs.glob("*.pdf"))
    for path in (path for start in range(7) for path in files[start::7]):
        with pymupdf.open(path) as document:
            pages = document.page_count
        if pages > MAX_PAGES or sum(row.n_pages or 0 for row in rows) >= count:
            continue
        name = f"d{len(rows):03d}"
        shutil.copy(path, target / f"{name}.pdf")
        rows.append(CorpusDocument(name, "x", None, None, None, None, None, pages, None, None))
    return rows


def one_against_two(step: str, rows: list[CorpusDocument], rounds: int, folder: Path) -> dict:
    """Seconds of one worker over seconds of two."""

    def run(jobs: int) -> float:
        workspace = Workspace(folder / "work")
        shutil.rmtree(workspace.root, ignore_errors=True)
        shutil.copytree(folder / "chosen" / step, workspace.root / "pdfs")
        began = time.perf_counter()
        if step == "render":
            render_documents(rows, workspace, dpi=200, parallel=Parallel(jobs))
        else:
            ocr_documents(rows, workspace, TextEngine(), parallel=Parallel(jobs))
        return time.perf_counter() - began

    n_pages = sum(row.n_pages or 0 for row in rows)
    run(2)  # files come into the cache
    taken = [(run(1), run(2)) for _ in range(rounds)]
    found = {
        "documents": len(rows),
        "pages": n_pages,
        "pages_per_second_1_worker": round(n_pages / statistics.median(t[0] for t in taken), 1),
        "two_workers_times_as_fast": round(statistics.median(t[0] / t[1] for t in taken), 2),
    }
    print(step, found, flush=True)
    return found


def make_long(path: Path, n_pages: int) -> None:
    """Simulated pages of text."""
    document = pymupdf.open()
    for number in range(n_pages):
        lines = [f"{number} {line} " + "words of a page " * 5 for line in range(40)]
        document.new_page().insert_text((60, 60), lines)
    document.save(path)


def rss_mb(pid: int) -> float:
    """Resident memory of a process, in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def memory(folder: Path) -> dict[str, list[float]]:
    """MB of one worker after 400, 800, … 2,000 pages."""
    short, long = folder / "short.pdf", folder / "long.pdf"
    make_long(short, 100)
    make_long(long, 2_000)
    found: dict[str, list[float]] = {}
    with Worker() as worker:
        found["text, 20 documents of 100 pages"] = []
        for number in range(20):
            arguments = (TextEngine(), short, f"d{number}", "0" * 64, folder / "text")
            worker.run(ocr_document, *arguments, timeout_s=600)
            if number % 4 == 3:
                found["text, 20 documents of 100 pages"].append(round(rss_mb(worker.pid or 0)))
    with Worker() as worker:
        found["render, one document of 2,000 pages"] = []
        for first in range(1, 2_001, 400):
            for start in range(first, first + 400, 50):
                window = Window(start, start + 49)
                worker.run(render_document, long, folder / "png", 100, window=window, timeout_s=600)
            found["render, one document of 2,000 pages"].append(round(rss_mb(worker.pid or 0)))
            shutil.rmtree(folder / "png")
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pdfs", type=Path, required=True)
    parser.add_argument("--pages", type=int, default=250)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=["memory", "render", "text"],
                        help="measure just this, and keep the rest of --out")  # fmt: skip
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        result: dict[str, Any] = {"cores": os.cpu_count()}
        if arguments.only and arguments.out:
            result = json.loads(arguments.out.read_text())
        if arguments.only in (None, "memory"):
            result["memory_mb"] = memory(Path(name))
        for step, count in (("render", arguments.pages), ("text", TEXT_TIMES * arguments.pages)):
            if arguments.only not in (None, step):
                continue
            rows = choose(arguments.pdfs, count, Path(name) / "chosen" / step)
            result[step] = one_against_two(step, rows, arguments.rounds, Path(name))
    print(json.dumps(result, indent=1))
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
