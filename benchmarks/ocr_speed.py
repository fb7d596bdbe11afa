"""OCR of the same pages by this kit, by the bare Tesseract program, and by ocrmypdf.

    python benchmarks/ocr_speed.py --pdfs DIR [--pages 20] [--rounds 3]

Pages are taken evenly from the PDFs of a folder, two of each. Two workers each; what takes turns in
a round is compared within the round, and medians of the ratios are recorded:

    n-Clue       renders at 200 dpi and reads, two worker processes, as `nclue reconstruct ocr` does
    tesseract    the program with OMP_THREAD_LIMIT=1 on ready-made images (rendering is not counted
                 for it), two at a time
    ocrmypdf     --jobs 2 with its defaults, on PDFs of these images (where it is installed): all
                 pages in one file, and a file for each page
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pymupdf

from nclue_core.schema import CorpusDocument
from nclue_reconstruct.read.engine_tesseract import TesseractEngine
from nclue_reconstruct.read.render import render_page, write_png
from nclue_reconstruct.run.pipeline import Parallel, ocr_documents
from nclue_reconstruct.run.workspace import Workspace

DPI = 200
PER_DOCUMENT = 2


def choose(pdfs: Path, count: int) -> list[pymupdf.Document]:
    """Documents of five pages each, from evenly spread files."""
    files = sorted(pdfs.glob("*.pdf"))
    wanted = count // PER_DOCUMENT
    chosen = []
    for path in files[:: max(1, len(files) // wanted)]:
        with pymupdf.open(path) as source:
            if source.needs_pass or source.page_count < 3 + PER_DOCUMENT:
                continue
            part = pymupdf.open()
            part.insert_pdf(source, from_page=3, to_page=2 + PER_DOCUMENT)
        chosen.append(part)
        if len(chosen) == wanted:
            break
    return chosen


def write_inputs(folder: Path, parts: list[pymupdf.Document]) -> list[CorpusDocument]:
    """PDFs for us, images for the program, PDFs of these images for ocrmypdf."""
    rows = []
    together = pymupdf.open()
    for number, part in enumerate(parts):
        name = f"d{number:03d}"
        for kind in ("pdfs", "images", "scans"):
            (folder / kind).mkdir(exist_ok=True)
        (folder / "pdfs" / f"{name}.pdf").write_bytes(part.tobytes(no_new_id=True))
        for page in range(1, PER_DOCUMENT + 1):
            image = render_page(part, page, DPI)
            path = folder / "images" / f"{name}_{page}.png"
            write_png(path, image)
            rect = part[page - 1].rect
            scan = pymupdf.open()
            box = (0, 0, rect.width, rect.height)
            scan.new_page(width=rect.width, height=rect.height).insert_image(box, filename=path)
            scan.save(folder / "scans" / f"{name}_{page}.pdf")
            together.insert_pdf(scan)
        rows.append(
            CorpusDocument(name, "x", None, None, None, None, None, PER_DOCUMENT, None, None)
        )
    together.save(folder / "all.pdf")
    return rows


def by_us(folder: Path, rows: list[CorpusDocument], jobs: int, library: bool) -> None:
    """The OCR step of a reconstruction."""
    workspace = Workspace(folder / "work")
    shutil.rmtree(workspace.root, ignore_errors=True)
    shutil.copytree(folder / "pdfs", workspace.root / "pdfs")
    engine = TesseractEngine(dpi=DPI, library=library)
    found = ocr_documents(rows, workspace, engine, parallel=Parallel(jobs))
    assert {outcome.state for outcome in found.values()} == {"ok"}


def by_program(folder: Path) -> None:
    """The bare program, two at a time."""
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}

    def read(path: Path) -> None:
        command = ["tesseract", str(path), str(path.with_suffix("")), "-l", "eng", "tsv"]
        subprocess.run(command, env=environment, check=True, capture_output=True)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(read, sorted((folder / "images").glob("*.png"))))


def by_ocrmypdf(folder: Path, *, one_file: bool) -> None:
    """Its defaults, on one file of all pages, or on a file for each."""
    files = [folder / "all.pdf"] if one_file else sorted((folder / "scans").glob("*.pdf"))
    for path in files:
        command = ["ocrmypdf", "--jobs", "2", "--quiet", str(path), str(folder / "ocrmypdf.pdf")]
        subprocess.run(command, check=True, capture_output=True)


def versions() -> list[str]:
    """What was compared."""
    found = [TesseractEngine(library=False).version()]
    if shutil.which("ocrmypdf"):
        said = subprocess.run(["ocrmypdf", "--version"], capture_output=True, text=True, check=True)
        found.append(f"ocrmypdf {said.stdout.strip()}")
    return found


def seconds(function: Callable[[], None]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pdfs", type=Path, required=True)
    parser.add_argument("--pages", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", help="just these ways; repeatable")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = write_inputs(folder, choose(arguments.pdfs, arguments.pages))
        ways: dict[str, Callable[[], None]] = {
            "n-Clue, 2 workers": lambda: by_us(folder, rows, 2, False),
            "tesseract, 2 at a time": lambda: by_program(folder),
            "n-Clue, 1 worker": lambda: by_us(folder, rows, 1, False),
        }
        if shutil.which("ocrmypdf"):
            ways["ocrmypdf --jobs 2, one file"] = lambda: by_ocrmypdf(folder, one_file=True)
            ways["ocrmypdf --jobs 2, a file per page"] = lambda: by_ocrmypdf(folder, one_file=False)
        try:
            TesseractEngine(library=True).check_ready()
            ways["n-Clue with tesserocr, 2 workers"] = lambda: by_us(folder, rows, 2, True)
        except Exception as err:
            print(f"without tesserocr: {err}")
        ways = {way: ways[way] for way in arguments.only or ways}
        rounds = []
        for number in range(arguments.rounds):
            taken = {way: seconds(function) for way, function in ways.items()}
            rounds.append(taken)
            print(
                f"round {number + 1}:", {way: round(s, 1) for way, s in taken.items()}, flush=True
            )
    n_pages = len(rows) * PER_DOCUMENT
    ours = "n-Clue, 2 workers"
    result = {
        "versions": versions(),
        "pages": n_pages,
        "dpi": DPI,
        "rounds": arguments.rounds,
        "cores": os.cpu_count(),
        "pages_per_second": {
            way: round(n_pages / statistics.median(t[way] for t in rounds), 3) for way in ways
        },
        "times_as_fast_as": {
            way: round(statistics.median(t[way] / t[ours] for t in rounds), 2)
            for way in ways
            if way != ours
        },
    }
    print(json.dumps(result, indent=1))
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
