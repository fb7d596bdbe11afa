"""The card check: each fault that uploads fine and breaks later is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from nclue_dataset.card_check import check_card

GOOD = """---
configs:
- config_name: mini
  default: true
  data_files:
  - split: raw
    path: mini/raw.parquet
  - split: clean_v2
    path: mini/*.parquet
---
# Card
"""


def folder_with(tmp_path: Path, card: str, files: tuple[str, ...] = ("mini/raw.parquet",)) -> Path:
    (tmp_path / "README.md").write_text(card)
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def test_a_good_card_has_no_problem(tmp_path: Path) -> None:
    assert check_card(folder_with(tmp_path, GOOD)) == []


FAULTS = {
    "two defaults": (
        GOOD.replace("configs:", "configs:\n- config_name: other\n  default: true"),
        "two configs are the default: other, mini",
    ),
    "missing file": (GOOD.replace("mini/raw", "mini/none"), "no file in the folder matches"),
    "path outside": (GOOD.replace("mini/raw", "../raw"), "no file in the folder matches"),
    "split twice": (GOOD.replace("clean_v2", "raw"), "split 'raw' is declared twice"),
    "mixed formats": (GOOD.replace("*.parquet", "x.csv"), r"several formats (.csv, .parquet)"),
    "unquoted colon": (GOOD.replace("---\nconf", "---\nname: n-Clue: a set\nconf"), "mapping"),
    "no yaml": ("# Card\n", "no YAML block"),
    "no configs": ("---\nlicense: mit\n---\n", "no configs"),
    "config twice": (
        GOOD.replace("configs:", "configs:\n- config_name: mini"), "is declared twice",
    ),
    "bad split": (GOOD.replace("split: raw", "split: clean-v2"), "split name 'clean-v2'"),
    "not a list": (GOOD.replace("configs:", "configs: 3\nother:"), "configs is no list"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_named(name: str, tmp_path: Path) -> None:
    card, message = FAULTS[name]
    problems = check_card(folder_with(tmp_path, card, ("mini/raw.parquet", "mini/x.csv")))
    assert any(message in problem for problem in problems), problems


def test_a_loader_script_beside_the_data_is_a_problem(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, GOOD, ("mini/raw.parquet", "nclue.py"))
    assert check_card(folder) == ["nclue.py: a loader script; `datasets` runs none"]


@pytest.mark.shared
@pytest.mark.parametrize(
    "name", ["bad_yaml", "dup_split", "missing_file", "mixed_formats", "two_defaults"]
)
def test_recorded_cards_are_found_faulty(name: str, shared_dir: Path) -> None:
    assert check_card(shared_dir / "cases" / "dev" / "H07" / name)
