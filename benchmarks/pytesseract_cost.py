"""What pytesseract costs beside our own way to the Tesseract program.

    python benchmarks/pytesseract_cost.py [--pages 3] [--rounds 5] [--out FILE]

Three things, each way in turn within a round: starting a worker with and without the import; a page
of simulated text at 200 dpi, read to data; and what is left of a program that never ends and has
started another, after a time limit of a second (processes and temporary files).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pymupdf
import pytesseract
from PIL import Image

from nclue_reconstruct.outcome import DocumentError
from nclue_reconstruct.read import tesseract
from nclue_reconstruct.read.render import PageImage, render_page

WORKER = "import nclue_reconstruct.run.ocr_steps, nclue_reconstruct.read.engine_tesseract, numpy"
SLEEPER = """#!/bin/sh
sleep 600 &
echo $! > "$0.child"
exec sleep 600
"""


def seconds(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def start(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def images(count: int) -> list[PageImage]:
    document = pymupdf.open()
    for number in range(count):
        lines = [f"{number} {line} " + "words of a page " * 5 for line in range(40)]
        document.new_page().insert_text((60, 60), lines)
    return [render_page(document, page, 200) for page in range(1, count + 1)]


def by_pytesseract(image: PageImage) -> None:
    pixels = Image.frombytes("L", (image.width, image.height), image.samples)
    pytesseract.image_to_data(pixels, config="--dpi 200 --psm 3", timeout=120)


def left_running(child: Path) -> int:
    """1 if what the program started still runs, else 0; it is ended."""
    pid = int(child.read_text())
    time.sleep(1)  # a busy machine takes a while to end what was killed
    try:
        if b"sleep" not in Path(f"/proc/{pid}/cmdline").read_bytes():
            return 0  # it has ended, and waits for its new parent to see it
        os.kill(pid, signal.SIGKILL)
    except (OSError, ProcessLookupError):
        return 0
    return 1


def after_the_limit(image: PageImage) -> dict[str, dict[str, float]]:
    """Seconds until the call came back, and what was left then."""
    found = tesseract.find_tesseract(library=False)
    with tempfile.TemporaryDirectory() as name:
        program = Path(name) / "tesseract"
        program.write_text(SLEEPER)
        program.chmod(0o755)
        pytesseract.pytesseract.tesseract_cmd = str(program)
        hung = tesseract.Tesseract(**{**vars(found), "program": str(program)})
        pixels = Image.frombytes("L", (image.width, image.height), image.samples)
        ways: dict[str, Callable[[], object]] = {
            "pytesseract": lambda: pytesseract.image_to_data(pixels, timeout=1),
            "ours": lambda: tesseract.read_page(image, hung, 1.0),
        }
        result = {}
        for way, function in ways.items():
            began = time.perf_counter()
            with contextlib.suppress(RuntimeError, DocumentError):
                function()
            taken = round(time.perf_counter() - began, 1)
            result[way] = {
                "seconds": taken,
                "processes_left": left_running(program.with_name("tesseract.child")),
            }
        pytesseract.pytesseract.tesseract_cmd = "tesseract"
    return result


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    os.environ["OMP_THREAD_LIMIT"] = "1"
    pages, found = images(arguments.pages), tesseract.find_tesseract(library=False)
    start(WORKER)
    start(f"{WORKER}, pytesseract")
    starts = [(seconds(lambda: start(WORKER)), seconds(lambda: start(f"{WORKER}, pytesseract")))
              for _ in range(arguments.rounds)]  # fmt: skip
    reads = []
    for _ in range(arguments.rounds):
        for page in pages:
            ours = seconds(lambda page=page: tesseract.read_page(page, found))
            reads.append((ours, seconds(lambda page=page: by_pytesseract(page))))
    result = {
        "versions": [found.version, f"pytesseract {pytesseract.__version__}"],
        "pages": len(reads),
        "worker_start_s": {
            "without": round(statistics.median(s[0] for s in starts), 2),
            "with pytesseract": round(statistics.median(s[1] for s in starts), 2),
        },
        "worker_start_times_as_long": round(statistics.median(s[1] / s[0] for s in starts), 1),
        "page_times_as_long": round(statistics.median(r[1] / r[0] for r in reads), 2),
        "after_a_limit_of_1_s": after_the_limit(pages[0]),
    }
    print(json.dumps(result, indent=1))
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
