"""`nclue compare`: the paired table and its data."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nclue_cli.main import main
from nclue_core import ExitCode
from nclue_dataset.collection_writer import write_release
from nclue_metric import Judgments
from nclue_stats.compare import compare_runs, family_intervals
from nclue_stats.tables import as_latex, as_markdown, escape_latex
from tiny_release import tiny_collection, write_tiny


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return write_tiny(tmp_path / "release")


def compared(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["compare", *arguments, "--json"]) == ExitCode.OK
    return json.loads(capsys.readouterr().out)


def test_contrast_has_deltas_outcomes_and_conditions(
    capsys: pytest.CaptureFixture[str], release: Path
) -> None:
    result = compared(capsys, "backward", "forward", "--release", str(release))
    (contrast,) = result["contrasts"]
    assert (contrast["base"], contrast["variant"], contrast["n_queries"]) == (
        "backward", "forward", 3,
    )  # fmt: skip
    assert contrast["score"]["delta"] == 100
    assert contrast["hit"]["delta"] == pytest.approx(200 / 3)
    assert contrast["score"]["p_query"] == 2 / 8  # all three differ one way: 2 of 8 patterns
    assert contrast["n_families"] == 2  # q1 and q3 share their gold
    assert contrast["score"]["p_family"] == 2 / 4
    assert contrast["base_outcomes"] == pytest.approx([200 / 3, 100 / 3, 0])
    assert (contrast["common_n"], contrast["delta_d"]) == (1, 1.0)
    # backward's first judged documents are subsets, and not those of forward, which has golds
    assert contrast["promotion_bounds"] == pytest.approx([0, 0, 0], abs=1e-9)
    assert result["conditions"]["seed"] == 0


def test_without_common_support_the_ordering_is_null_and_the_table_still_printed(
    capsys: pytest.CaptureFixture[str], release: Path, tmp_path: Path
) -> None:
    for name, run in (("one", {"q1": ["d1"]}), ("two", {"q2": ["d2"]})):
        (tmp_path / f"{name}.json").write_text(json.dumps(run))
    runs = [str(tmp_path / f"{name}.json") for name in ("one", "two")]
    (contrast,) = compared(capsys, *runs, "--release", str(release))["contrasts"]
    assert (contrast["common_n"], contrast["base_d"], contrast["delta_d"]) == (0, None, None)
    assert main(["compare", *runs, "--release", str(release)]) == ExitCode.OK
    printed = capsys.readouterr()
    assert "common n        0" in printed.out
    assert "nan" not in printed.out
    assert "2 queries have no ranking" in printed.err


@pytest.mark.parametrize(("option", "start"), [("--markdown", "| variant"), ("--latex", r"\begin")])
def test_tables_for_papers(
    capsys: pytest.CaptureFixture[str], release: Path, option: str, start: str
) -> None:
    assert main(["compare", "backward", "forward", "--release", str(release), option]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(start)
    assert "+100.0" in printed
    assert main(["compare", "a", "b", "--latex", "--json"]) == ExitCode.USAGE


def judged(n_queries: int = 60) -> tuple[Judgments, list[list[str]], list[list[str]]]:
    rng = np.random.default_rng(0)
    qrels = {f"q{i}": {f"g{i % 9}": 2, f"s{i % 4}": 1} for i in range(n_queries)}
    runs = [
        [list(rng.permutation([f"g{i % 9}", f"s{i % 4}", "x"])) for i in range(n_queries)]
        for _ in range(2)
    ]
    return Judgments.from_mapping(qrels, 2), runs[0], runs[1]


def test_a_contrast_does_not_depend_on_its_neighbours_but_its_adjustment_does() -> None:
    judgments, base, variant = judged()
    alone = compare_runs(judgments, ("b", base), [("v", variant)])[0]
    beside = compare_runs(judgments, ("b", base), [("v", variant), ("same", base)])[0]
    assert alone.score == beside.score
    assert beside.p_holm >= alone.p_holm


def test_a_run_compared_with_itself_differs_in_nothing() -> None:
    judgments, base, _ = judged()
    contrast = compare_runs(judgments, ("b", base), [("b", base)])[0]
    assert (contrast.score.delta, contrast.score.low, contrast.score.high) == (0, 0, 0)
    assert (contrast.score.p_query, contrast.p_block) == (1, 1)
    assert math.isnan(contrast.break_even)


def test_same_seed_same_numbers() -> None:
    judgments, base, variant = judged()
    one, two = (compare_runs(judgments, ("b", base), [("v", variant)], rng=7)[0] for _ in range(2))
    assert repr(one) == repr(two)


def test_intervals_of_a_run_hold_its_score() -> None:
    from nclue_metric import score_rankings

    judgments, base, _ = judged()
    scores = score_rankings(judgments, base)[10]
    intervals = family_intervals(judgments, scores)
    for measure, (low, high) in intervals.items():
        assert low <= 100 * getattr(scores, measure).mean() <= high


def test_names_are_escaped_in_tables() -> None:
    judgments, base, variant = judged(10)
    contrasts = compare_runs(judgments, ("a_b", base), [("x|y&z", variant)])
    assert r"x\|y&z - a_b" in as_markdown(contrasts)
    assert r"x|y\&z - a\_b" in as_latex(contrasts)
    assert escape_latex("\\") == r"\textbackslash{}"


def test_one_family_is_said_to_give_no_interval(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    whole = tiny_collection()
    kept = {"q1", "q3"}  # their only gold is d1
    part = replace(
        whole,
        queries=[query for query in whole.queries if query.query_id in kept],
        forms={form: {q: texts[q] for q in kept} for form, texts in whole.forms.items()},
        qrels={copy: [row for row in rows if row.query_id in kept]
               for copy, rows in whole.qrels.items()},
        rankings=[ranking for ranking in whole.rankings if ranking.query_id in kept],
    )  # fmt: skip
    write_release(tmp_path / "part", {"tiny": part}, {"version": "1.0.0"})
    arguments = ["backward", "forward", "--release", str(tmp_path / "part")]
    assert main(["compare", *arguments]) == ExitCode.OK
    assert "share one set of golds" in capsys.readouterr().err


def test_a_negative_seed_is_refused(capsys: pytest.CaptureFixture[str], release: Path) -> None:
    arguments = ["compare", "backward", "forward", "--release", str(release), "--seed", "-1"]
    assert main(arguments) == ExitCode.USAGE
    assert "seed -1" in capsys.readouterr().err
