"""The documents: their outputs are what the commands print, their links lead somewhere."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nclue_cli.main import COMMANDS


def documents(project: Path) -> list[Path]:
    return [project / "README.md", project / "metrics" / "n_clue" / "README.md",
            *sorted((project / "cards").glob("*.md"))]  # fmt: skip


def test_output_blocks_are_what_the_commands_print(
    project_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = importlib.util.spec_from_file_location(
        "refresh_docs", project_dir / "scripts" / "refresh_docs.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    code = module.main(["--check"])
    assert code == 0, capsys.readouterr().out + "run: python scripts/refresh_docs.py"


@pytest.mark.parametrize("name", ["README.md", "cards/dataset_card.md"])
def test_python_examples_run_as_they_stand(
    name: str, project_dir: Path, own_caches: Path, tmp_path: Path
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (project_dir / name).read_text(), re.S)
    assert blocks
    code = "my_retriever = lambda query: ['some_document']\n" + "\n".join(blocks)
    for command in (
        [sys.executable, "-m", "nclue_cli.main", "prepare"],
        [sys.executable, "-c", code],
    ):
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert done.returncode == 0, done.stderr


def test_links_between_documents_lead_to_files(project_dir: Path) -> None:
    for path in documents(project_dir):
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_documents_name_no_command_that_there_is_not(project_dir: Path) -> None:
    for path in documents(project_dir):
        for name in re.findall(r"`nclue ([a-z][a-z-]*)", path.read_text()):
            assert name in COMMANDS, f"{path.name}: nclue {name}"


def test_readme_shows_exactly_the_two_make_commands(project_dir: Path) -> None:
    text = (project_dir / "README.md").read_text()
    assert re.findall(r"^make (\w+)", text, re.M) == ["demo", "test"]
    makefile = (project_dir / "Makefile").read_text()
    assert re.search(r"^demo:", makefile, re.M)
    assert re.search(r"^test:", makefile, re.M)
    assert len(text.splitlines()) < 200


def test_changelog_and_citation_name_the_version(project_dir: Path) -> None:
    from nclue_core import __version__

    assert f"## {__version__}" in (project_dir / "CHANGELOG.md").read_text()
    assert f"version: {__version__}" in (project_dir / "CITATION.cff").read_text()


def test_speed_figures_of_the_systems_card_are_the_recorded_ones(project_dir: Path) -> None:
    recorded = (project_dir / "benchmarks" / "results" / "bm25_speed.json").read_text()
    measures = json.loads(recorded)["measures"]
    card = (project_dir / "cards" / "systems.md").read_text()
    for name, form in (
        ("peer_index_s", "| {:.1f} s |"), ("own_index_s", "| {:.1f} s |"),
        ("own_index_share_of_peer", "| {:.2f} of its time |"),
        ("peer_1000_queries_s", "| {:.2f} s |"), ("bm25_page_aggregated_s", "| {:.2f} s |"),
        ("queries_times_faster_than_peer", "| {:.0f} times as fast |"),
        ("sdr_times_one_joint_page_query", "| {:.1f} times a joint query |"),
    ):  # fmt: skip
        assert form.format(measures[name]) in card, name


def test_control_by_names_on_mini_is_as_recorded_for_these_judgments(project_dir: Path) -> None:
    from nclue_dataset.collections import load_collection
    from nclue_dataset.scoring import collection_judgments

    text = (project_dir / "benchmarks" / "results" / "mini_exact_name.json").read_text()
    recorded = json.loads(text)
    judged = collection_judgments(load_collection("mini"))
    assert judged.content_hash.startswith(recorded["conditions"]["judgments"])
    card = (project_dir / "cards" / "mini.md").read_text()
    shown = (
        "Score {:.1f}, Hit {:.1f} and outcomes {:.1f} miss, {:.1f} subset first, {:.1f} gold first"
    )
    names = ("n_clue_score@10", "gold_hit@10", "miss@10", "subset_first@10", "gold_first@10")
    assert shown.format(*(recorded[name] for name in names)) in card
