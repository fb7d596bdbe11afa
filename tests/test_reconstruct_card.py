"""The card of the reconstruction names every state that there is."""

from __future__ import annotations

import re
from pathlib import Path

from nclue_reconstruct.fetch import FetchSettings
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
