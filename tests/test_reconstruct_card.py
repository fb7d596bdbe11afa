"""The card of the reconstruction names every state that there is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from nclue_reconstruct.engines import MinerUEngine, TesseractEngine
from nclue_reconstruct.executors import MAX_LOSSES
from nclue_reconstruct.fetch import FetchSettings
from nclue_reconstruct.pipeline import RENDER_WINDOW_PAGES
from nclue_reconstruct.states import FETCH_STATES


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
