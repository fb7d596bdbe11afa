"""The card of the reconstruction names every state that there is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from nclue_reconstruct.fetch.states import FETCH_STATES
from nclue_reconstruct.fetch.transfer import FetchSettings
from nclue_reconstruct.read.engine_mineru import MinerUEngine
from nclue_reconstruct.read.engine_tesseract import TesseractEngine
from nclue_reconstruct.read.tesseract import PAGE_TIMEOUT_S
from nclue_reconstruct.run.executors import MAX_LOSSES
from nclue_reconstruct.run.pipeline import RENDER_WINDOW_PAGES
from nclue_reconstruct.run.windows import fair_size


def test_card_lists_exactly_the_states_of_fetching(project_dir: Path) -> None:
    text = (project_dir / "cards" / "reconstruct.md").read_text()
    table = text.partition("## States of fetching")[2].partition("## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.M)) == set(FETCH_STATES)


def test_card_tells_the_limits_in_force(project_dir: Path) -> None:
    text = (project_dir / "cards" / "reconstruct.md").read_text()
    settings = FetchSettings()
    assert f"up to {settings.max_wait_s:.0f} s" in text
    assert f"no connection in {settings.connect_timeout_s:.0f} s" in text
    assert f"no byte in {settings.read_timeout_s:.0f} s" in text
    assert f"whole in {settings.total_timeout_s / 60:.0f} minutes" in text
    assert f"more than {settings.max_redirects} redirects" in text
    assert settings.max_bytes == 2**30
    assert settings.attempts == 5
    windows = (TesseractEngine.window_pages, RENDER_WINDOW_PAGES, MinerUEngine.window_pages)
    told = re.search(r"Tesseract (\d+), rendering (\d+),\s+MinerU (\d+)", text)
    assert told is not None
    assert tuple(map(int, told.groups())) == windows
    assert f"up to {('zero', 'one', 'two', 'three')[MAX_LOSSES]} times" in text


def test_card_tells_what_was_measured(project_dir: Path) -> None:
    text = (project_dir / "cards" / "reconstruct.md").read_text()
    measured = json.loads((project_dir / "benchmarks/results/rerun.json").read_text())
    told = re.search(r"over ([\d,]+) finished documents took ([\d.]+) s", text)
    assert told is not None
    assert int(told[1].replace(",", "")) == measured["documents"]
    assert float(told[2]) == pytest.approx(measured["finished_tree_s"], abs=0.05)
    assert measured["requests_of_the_others"] == 0


def test_cards_tell_the_limits_and_costs_of_tesseract(project_dir: Path) -> None:
    text = " ".join((project_dir / "cards" / "reconstruct.md").read_text().split())
    cost = json.loads((project_dir / "benchmarks/results/pytesseract_cost.json").read_text())
    start, left = cost["worker_start_s"], cost["after_a_limit_of_1_s"]
    assert f"{start['with pytesseract']} s instead of {start['without']} s" in text
    assert f"takes about as long ({cost['page_times_as_long']} times," in text
    assert f"it left {left['pytesseract']['processes_left']} process running" in text
    assert f"ours left {left['ours']['processes_left']};" in text
    records = (project_dir / "cards" / "page_records.md").read_text()
    assert f"a page may take {PAGE_TIMEOUT_S:.0f} seconds" in records
    assert fair_size(33, 2, TesseractEngine.window_pages) == 5
    assert "33 pages on two processes are seven windows, of five or fewer" in text


def test_card_tells_the_recorded_ratios(project_dir: Path) -> None:
    text = (project_dir / "cards" / "reconstruct.md").read_text()
    results = {
        path.stem: json.loads(path.read_text())
        for path in (project_dir / "benchmarks" / "results").glob("*.json")
    }
    ocr = results["ocr_speed"]["times_as_fast_as"]
    two = results["reconstruct_speed"]
    for ratio, what in (
        (results["fetch_speed"]["nclue_against"]["aria2c -j 8"], "aria2c -j 8"),
        (
            results["ocr_speed_program"]["times_as_fast_as"]["tesseract, 2 at a time"],
            "bare program",
        ),
        (ocr["ocrmypdf --jobs 2, a file per page"], "a file per page"),
        (ocr["ocrmypdf --jobs 2, one file"], "one file of all pages"),
        (ocr["n-Clue, 1 worker"], "beside one: Tesseract"),
        (two["render"]["two_workers_times_as_fast"], "beside one: rendering"),
        (two["text"]["two_workers_times_as_fast"], "beside one: text layer"),
    ):
        (line,) = (line for line in text.splitlines() if line.startswith("|") and what in line)
        assert f"| {ratio:g} times as fast |" in line
    faster = results["ocr_speed"]["pages_per_second"]
    ratio = faster["n-Clue with tesserocr, 2 workers"] / faster["n-Clue, 2 workers"]
    assert f"{ratio:.2f} times as fast as with" in text
    for values in two["memory_mb"].values():
        assert max(values) - min(values) <= 2
        assert f"{values[-1]:g} MB" in text
    assert results["kills"]["kills"] == 50
    assert results["kills"]["all_bytes_as_undisturbed"] is True
    for kind, seconds in (("text layer", "in 27 s"), ("tesseract", "in 218 s")):
        real = results["real_corpus"][kind]
        assert real["documents"] == real["fetched"] == real["read"]
        assert f"{real['pages']:,} pages {seconds}" in text
        assert f"in {real['seconds']} s" == seconds
