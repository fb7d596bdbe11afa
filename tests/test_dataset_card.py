"""The card check: each fault that uploads fine and breaks later is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nclue_dataset.card_check import check_card, config_name_problem, split_name_problem

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
    "bad split": (GOOD.replace("split: raw", "split: clean-v2"), "must match"),
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


@pytest.mark.parametrize("name", ["clean-v2", "natural query", "train\n", "", "a/b", "all", "é-x"])
def test_bad_split_names_are_refused_with_the_rule(name: str) -> None:
    assert split_name_problem(name)


@pytest.mark.parametrize("name", ["a:b", "a/b", "a b?", "con", "x*", "", "NUL.txt", "a\n", "dot."])
def test_bad_config_names_are_refused_with_the_rule(name: str) -> None:
    assert config_name_problem(name)


@pytest.mark.parametrize("name", ["raw", "clean_v2", "sourceshift.raw"])
def test_names_in_use_are_good(name: str) -> None:
    assert split_name_problem(name) is None
    assert config_name_problem(f"{name}-qrels") is None


@pytest.mark.shared
@pytest.mark.parametrize(
    "name", ["bad_yaml", "dup_split", "missing_file", "mixed_formats", "two_defaults"]
)
def test_recorded_cards_are_found_faulty(name: str, shared_dir: Path) -> None:
    assert check_card(shared_dir / "cases" / "dev" / "H07" / name)


@pytest.mark.shared
def test_recorded_names_are_judged_as_recorded(shared_dir: Path) -> None:
    names = json.loads((shared_dir / "cases" / "dev" / "H06" / "names.json").read_text())
    assert [n for n in names["ok"] if split_name_problem(n) or config_name_problem(n)] == []
    assert [n for n in names["bad_split"] if not split_name_problem(n)] == []
    assert [n for n in names["bad_config"] if not config_name_problem(n)] == []
