"""The distribution: what the wheel holds, what importing costs, how the command behaves."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from nclue_cli.main import COMMANDS, cli, main
from nclue_core import ExitCode

HEAVY = {"datasets", "evaluate", "pyarrow", "pandas", "pymupdf", "scipy", "torch", "gradio", "rich"}


@pytest.fixture(scope="module")
def wheel_names(project_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", str(folder), str(project_dir)], check=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        return wheel.namelist()


def test_wheel_holds_only_names_of_the_kit(wheel_names: list[str]) -> None:
    tops = {name.partition("/")[0] for name in wheel_names}
    assert all(top.startswith("nclue_") or top.startswith("nclue-") for top in tops), tops
    assert {"nclue_metric", "nclue_reconstruct", "nclue_dataset", "nclue_cli"} <= tops


def test_wheel_holds_the_embedded_benchmark_the_cards_and_type_markers(
    wheel_names: list[str],
) -> None:
    names = set(wheel_names)
    assert {
        "nclue_dataset/mini/MANIFEST.json",
        "nclue_dataset/mini/queries.jsonl",
        "nclue_dataset/mini/reference_runs/bm25_and.jsonl.gz",
        "nclue_cards/dataset_card.md",
        "nclue_metric/README.md",
        "nclue_metric/app.py",
        "nclue_core/py.typed",
    } <= names
    assert not [name for name in names if name.endswith((".pdf", ".png", ".jpg"))]


def test_embedded_benchmark_stays_small(project_dir: Path) -> None:
    files = (project_dir / "nclue_dataset" / "mini").rglob("*")
    assert sum(path.stat().st_size for path in files if path.is_file()) < 3_000_000


PARTS = ("nclue_core", "nclue_http", "nclue_metric", "nclue_dataset", "nclue_reconstruct",
         "nclue_construct", "nclue_systems", "nclue_stats", "nclue_cli.main")  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
def test_importing_a_part_loads_no_heavy_library(part: str) -> None:
    code = f"import sys, {part}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert HEAVY.isdisjoint(name.partition(".")[0] for name in done.stdout.split())


def test_help_answers_at_once() -> None:
    command = [sys.executable, "-m", "nclue_cli.main", "--help"]
    taken = []
    for _ in range(3):
        before = os.times()
        subprocess.run(command, capture_output=True, check=True)
        after = os.times()
        used = after.children_user + after.children_system
        taken.append(used - before.children_user - before.children_system)
    assert min(taken) < 0.5  # processor seconds, so that a busy machine changes nothing


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_options_explained(name: str) -> None:
    done = CliRunner().invoke(cli, [name, "--help"])
    assert done.exit_code == 0
    assert "Usage:" in done.output


def test_unknown_commands_and_options_are_usage_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nothing"]) == ExitCode.USAGE
    assert main(["score", "--nothing"]) == ExitCode.USAGE
    assert "No such option" in capsys.readouterr().err


def test_errors_of_the_kit_end_with_their_exit_code_and_no_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "run.json"
    bad.write_text('{"q": [7]}')
    assert main(["score", str(bad)]) == ExitCode.INPUT
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "run.json: query 'q': document ID 7 is int" in printed.err


def test_a_reader_that_leaves_is_no_error() -> None:
    command = f"{sys.executable} -m nclue_cli.main --help | head -c 1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr == ""


def test_doctor_reports_every_part_and_says_what_to_do() -> None:
    done = CliRunner().invoke(cli, ["doctor"])
    assert done.exit_code == 0
    for part in ("nclue", "datasets", "Tesseract", "MinerU", "extra ray", "free disk"):
        assert part in done.output
