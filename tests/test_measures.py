"""The table of measures: one row reaches every place where measures are shown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from nclue_cli.main import main
from nclue_cli.scorecard import Scorecard, as_html, as_text, row_of
from nclue_metric import Judgments, measures, score_rankings, summarize
from nclue_metric.conditions import VERSION, signature
from tiny_release import write_tiny

TOY = measures.Measure(
    "toy_precision", "toy P", lambda s: (s.grades > 0).sum(axis=1) / s.k,
    "judged documents among the first k", "this test",
)  # fmt: skip


@pytest.fixture
def with_toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one change that a new measure needs."""
    monkeypatch.setattr(measures, "MEASURES", (*measures.MEASURES, TOY))


def test_a_toy_measure_is_one_row_of_one_file(
    with_toy: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release = write_tiny(tmp_path / "release")
    call = ["score", "forward", "--release", str(release), "--k", "2", "--intervals"]
    assert main([*call, "--json", "--per-query"]) == 0
    (result,) = json.loads(capsys.readouterr().out)
    # forward ranks d1, d2, d3: judged among the first two are d1 d2, d2, d1 d2
    assert result["toy_precision@2"] == pytest.approx(100 * 2.5 / 3)
    assert result["per_query"]["q2"]["toy_precision@2"] == 0.5
    low, high = result["toy_precision@2_ci95"]
    assert low <= 100 * 2.5 / 3 <= high
    assert main(call) == 0
    assert "toy P" in capsys.readouterr().out.splitlines()[0]
    compared = ["compare", "forward", "backward", "--release", str(release), "--k", "2", "--json"]
    assert main(compared) == 0
    (contrast,) = json.loads(capsys.readouterr().out)["contrasts"]
    # backward's first two are d4, d3: judged are none, d3, d4
    assert contrast["more"]["toy_precision"]["delta"] == pytest.approx(100 * (1 - 2.5) / 3)
    assert main(compared[:-1]) == 0
    assert "d toy P" in capsys.readouterr().out
    scores = score_rankings(Judgments.from_mapping({"q": {"d": 1}}, 1), [["d"]])
    row = row_of("mine", "raw", summarize(scores[10]))
    card = Scorecard("tiny", 1, 1, "sig", (row,))
    assert "toy P" in as_text(card)
    assert "toy P" in as_html(card, [])


def test_the_metric_of_evaluate_reads_the_same_table(with_toy: None) -> None:
    from nclue_metric.n_clue import NClue

    reference = {"doc_ids": ["d"], "grades": [1], "n_conditions": 1}
    result = NClue().compute(
        predictions=[["x", "d"]], references=[reference], k=2, per_query=True, n_resamples=5
    )
    assert result["toy_precision@2"] == 50
    assert result["per_query"]["toy_precision@2"] == [0.5]
    assert "toy_precision@2_ci95" in result


def test_rows_say_what_they_are() -> None:
    names = [measure.name for measure in measures.MEASURES]
    assert len(set(names)) == len(names)
    for measure in measures.MEASURES:
        assert measure.direction in ("higher", "lower", "")
        assert measure.definition
        assert measure.source
        assert re.fullmatch("[a-z_]+", measure.name)


def test_the_metric_card_has_the_table(project_dir: Path) -> None:
    card = (project_dir / "metrics" / "n_clue" / "README.md").read_text()
    for measure in measures.MEASURES:
        assert f"`{measure.name}" in card, measure.name


def test_measures_keep_their_meaning_beside_ties_of_nothing() -> None:
    scores = score_rankings(Judgments.from_mapping({"q": {"g": 2, "s": 1}}, 2), [["s", "g"]])[10]
    found = {measure.name: measure.of_query(scores).tolist() for measure in measures.MEASURES}
    assert (found["n_clue_score"], found["gold_hit"], found["subset_first"]) == ([0], [1], [1])
    assert (found["gold_rank"], found["subset_rank"], found["outcome"]) == ([2], [1], [1])
    assert found["gold_ndcg"] == [pytest.approx(1 / np.log2(3))]


def test_one_signature_in_one_order_whatever_the_order_given() -> None:
    one = signature({"nclue": "1", "k": [5, 10], "judgments": "ab", "seed": 3})
    assert one == signature({"judgments": "ab", "k": (5, 10), "nclue": "1", "seed": 3})
    expected = "n_clue|v:1|k:5,10|judgments:ab|seed:3"
    assert one == expected
    assert (
        signature({"nclue": "1", "collection": "a|form:x\n"}) == "n_clue|v:1|collection:a/form:x "
    )


def test_the_version_is_stated_once(project_dir: Path) -> None:
    from nclue_core import __version__

    assert __version__ == VERSION
    stated = [
        path for folder in ("nclue_core", "nclue_dataset", "nclue_cli", "metrics", "nclue_systems")
        for path in (project_dir / folder).rglob("*.py")
        if re.search(r"version\w*\s*=\s*[\"']\d+\.\d+\.\d+", path.read_text(), re.I)
    ]  # fmt: skip
    assert [path.name for path in stated] == ["_version.py"]


def test_the_folder_of_the_metric_says_its_version_also_alone(project_dir: Path) -> None:
    """As a Space, without the kit."""
    source = (project_dir / "metrics" / "n_clue" / "conditions.py").read_text()
    alone = source.replace("nclue_core._version", "no_such_module")
    space = {"__file__": str(project_dir / "metrics" / "n_clue" / "conditions.py")}
    exec(compile(alone, "conditions.py", "exec"), space)
    assert re.fullmatch("files-[0-9a-f]{8}", str(space["VERSION"]))
