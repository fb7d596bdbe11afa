"""Kills at random moments, and the second run of a large finished tree. Simulated documents.

    python benchmarks/endurance.py kills [--times 50] [--seed 0]
    python benchmarks/endurance.py rerun [--documents 2021]

``kills``: a reconstruction (fetched from a slow server on loopback, read by Tesseract) is killed
with SIGKILL at a random moment (every other time while it fetches) and run again; every file must
have the bytes of an undisturbed run. ``rerun``: the same command on a finished tree must send no
request; its time is recorded.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymupdf

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from http_server import Answer, Seen, Server, ranged
from nclue_core.schema import CorpusDocument, Evidence, Qrel, Query
from nclue_dataset.collection_writer import write_release
from nclue_dataset.release import Collection

WORDS = ["river", "budget", "audit", "school", "harvest", "tender", "energy", "clinic", "border"]


def make_pdf(number: int, n_pages: int, n_lines: int) -> bytes:
    """A PDF of its own for each number."""
    rng = random.Random(number)
    document = pymupdf.open()
    for _ in range(n_pages):
        page = document.new_page()
        for line in range(n_lines):
            text = " ".join(rng.choices(WORDS, k=7))
            page.insert_text((72, 90 + 24 * line), text, fontsize=12)
    return document.tobytes(no_new_id=True)


@contextlib.contextmanager
def serving(pdfs: dict[str, bytes], pause_s: float = 0.0) -> Iterator[Server]:
    """Serve the PDFs in eight pieces, with ranges and strong ETags, so that parts are continued."""

    def answer(seen: Seen) -> Answer:
        content = pdfs[seen.path.rpartition("/")[2].removesuffix(".pdf")]
        etag = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"'}
        return ranged(content, seen, etag, pieces=8, pause_s=pause_s)

    with Server(answer).running() as server:
        yield server


def release_of(folder: Path, base: str, pdfs: dict[str, bytes], n_pages: int) -> Path:
    """A release with these documents and one query."""
    corpus = [
        CorpusDocument(
            doc_id, "simulated", None, f"{base}/{doc_id}.pdf", None,
            hashlib.sha256(content).hexdigest(), len(content), n_pages, "CC0-1.0", None,
        )
        for doc_id, content in pdfs.items()
    ]  # fmt: skip
    query = Query("q1", "River and Budget", ("River", "Budget"))
    evidence = (Evidence("River", (1,)), Evidence("Budget", (2,)))
    qrels = {"final": [Qrel("q1", corpus[0].doc_id, 2, "gold", evidence)]}
    forms = {"raw": {"q1": query.query_text_eval_full}}
    collection = Collection("simulated", Path(), [query], forms, qrels, corpus, [])
    write_release(folder, {"simulated": collection}, {"version": "1.0.0"})
    return folder


def command(release: Path, out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "nclue_cli.main", "reconstruct", "simulated", "--release",
            str(release), "--out", str(out), "--allow-private", *more]  # fmt: skip


def results_in(out: Path) -> dict[str, str]:
    """SHA-256 of every file that a run is for."""
    found = {}
    for path in sorted(out.rglob("*")):
        name = path.relative_to(out)
        is_result = name.parts[0] in ("pdfs", "ocr_tesseract") or path.suffix == ".parquet"
        if is_result and path.is_file() and ".state" not in name.parts:
            found[name.as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def stage_of(out: Path, n_documents: int) -> str:
    """What was going on when the run was killed."""
    if len(list(out.glob("pdfs/*.pdf"))) < n_documents:
        return "fetch" if out.exists() else "start"
    return "ocr"


def kills(times: int, seed: int, folder: Path) -> dict[str, Any]:
    """Kill and continue, again and again."""
    pdfs = {f"d{i}": make_pdf(i, 3, 10) for i in range(8)}
    rng = random.Random(seed)
    environment = {
        **os.environ,
        "NCLUE_CACHE": str(folder / "cache"),
        "HF_HOME": str(folder / "hf"),
    }
    with serving(pdfs, 0.3) as server:
        release = release_of(folder / "release", server.base, pdfs, 3)
        options = ("--ocr", "tesseract", "--dpi", "70", "--jobs", "2")

        def run(out: Path) -> int:
            return subprocess.run(
                command(release, out, *options), env=environment, capture_output=True, check=False
            ).returncode

        began = time.monotonic()
        assert run(folder / "straight") == 0
        whole_s = time.monotonic() - began
        fetched = [path.stat().st_mtime for path in (folder / "straight" / "pdfs").glob("*.pdf")]
        fetch_s = max(fetched) - time.time() + time.monotonic() - began
        expected = results_in(folder / "straight")
        stages: Counter[str] = Counter()
        for number in range(times):
            out = folder / f"out{number}"
            process = subprocess.Popen(
                command(release, out, *options), env=environment, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
            time.sleep(rng.uniform(0.3, whole_s if number % 2 else fetch_s))
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            stage = stage_of(out, len(pdfs))
            stages[stage] += 1
            code, found = run(out), results_in(out)
            left = [*out.rglob("*.part"), *out.rglob("*.tmp")]
            if code or found != expected or left:
                wrong = sorted(
                    k for k in expected.keys() | found if expected.get(k) != found.get(k)
                )
                raise SystemExit(
                    f"kill {number} ({stage}): code {code}, differ {wrong}, left {left}"
                )
            shutil.rmtree(out)
            print(f"{number + 1}/{times}: killed during {stage}, same bytes", flush=True)
    return {
        "kills": times,
        "during": dict(stages),
        "files_compared": len(expected),
        "all_bytes_as_undisturbed": True,
        "seconds_undisturbed": round(whole_s, 1),
    }


def rerun(n_documents: int, folder: Path) -> dict[str, Any]:
    """The same command twice."""
    pdfs = {f"d{i:04d}": make_pdf(i, 2, 2) for i in range(n_documents)}
    environment = {
        **os.environ,
        "NCLUE_CACHE": str(folder / "cache"),
        "HF_HOME": str(folder / "hf"),
    }
    with serving(pdfs) as server:
        release = release_of(folder / "release", server.base, pdfs, 2)

        def run() -> float:
            began = time.monotonic()
            subprocess.run(
                command(release, folder / "out", "--ocr", "text", "--mirror", server.base),
                env=environment, check=True, stdout=subprocess.DEVNULL,
            )  # fmt: skip
            return time.monotonic() - began

        first_s = run()
        asked = len(server.seen)
        again = [run() for _ in range(3)]
        if len(server.seen) != asked:
            raise SystemExit(f"{len(server.seen) - asked} requests in the second run")
    return {
        "documents": n_documents,
        "requests_of_the_first_run": asked,
        "requests_of_the_others": 0,
        "first_run_s": round(first_s, 1),
        "finished_tree_s": round(statistics.median(again), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["kills", "rerun"])
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--documents", type=int, default=2021)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if arguments.what == "kills":
            result = kills(arguments.times, arguments.seed, Path(name))
        else:
            result = rerun(arguments.documents, Path(name))
    result = {"simulated": True, **result}
    print(json.dumps(result, indent=1))
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
