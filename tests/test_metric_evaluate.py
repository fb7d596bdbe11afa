"""The `evaluate` module: loaded from the clone, checked inputs, documented example."""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path
from typing import Any

import evaluate
import numpy as np
import pytest

import nclue_core
from nclue_dataset.metric_cache import FILES
from nclue_metric import n_clue as module

REFERENCE = {"doc_ids": ["g", "s"], "grades": [2, 1], "n_conditions": 2}


@pytest.fixture(scope="module")
def metric(project_dir: Path) -> Any:
    return evaluate.load(str(project_dir / "metrics" / "n_clue"))


def test_compute_returns_percentages_denominator_and_signature(metric: Any) -> None:
    result = metric.compute(predictions=[["x", "g", "s"], ["s", "g"]], references=[REFERENCE] * 2)
    assert result["n_clue_score@10"] == result["gold_first@10"] == 50
    assert (result["gold_hit@10"], result["n_queries"], result["n_empty"]) == (100, 2, 0)
    assert f"v:{nclue_core.__version__}|k:10|gain:linear" in result["signature"]


def test_several_cutoffs_and_scores_per_query_come_in_one_call(metric: Any) -> None:
    result = metric.compute(
        predictions=[["s", "g"], []], references=[REFERENCE] * 2, k=[1, 2], per_query=True,
        query_ids=["qa", "qb"],
    )  # fmt: skip
    assert (result["gold_hit@1"], result["gold_hit@2"], result["n_empty"]) == (0, 50, 1)
    assert result["query_ids"] == ["qa", "qb"]
    assert result["per_query"]["outcome@2"] == [1, 0]


def test_loaded_from_the_clone_and_installed_give_the_same_result(metric: Any) -> None:
    installed = module.NClue()
    inputs = {"predictions": [["s", "g"]], "references": [REFERENCE]}
    assert metric.compute(**inputs) == installed.compute(**inputs)


REFUSED = {
    "mixed types": ([["g", 2]], [REFERENCE], "rank 2: document ID 2 is int"),
    "null id": ([[None]], [REFERENCE], "document ID None is NoneType"),
    "flat list": (["g"], [REFERENCE], "predictions\\[0\\] is str 'g'; expected predictions="),
    "length mismatch": ([["g"], ["s"]], [REFERENCE], "2 predictions and 1 references"),
    "no queries": ([], [], "no queries"),
    "repeat": ([["g", "g"]], [REFERENCE], "'g' stands at ranks 1, 2"),
    "float grade": (
        [["g"]], [{"doc_ids": ["g"], "grades": [1.5], "n_conditions": 2}], "grade 1.5 is float",
    ),
    "bool grade": (
        [["g"]], [{"doc_ids": ["g"], "grades": [True], "n_conditions": 2}], "grade True is bool",
    ),
    "missing key": ([["g"]], [{"doc_ids": ["g"], "n_conditions": 2}], "has the keys"),
    "extra key": ([["g"]], [{**REFERENCE, "note": "x"}], "has the keys"),
    "not a mapping": ([["g"]], [["g"]], "references\\[0\\] is list"),
    "grade above n": (
        [["g"]], [{"doc_ids": ["g"], "grades": [3], "n_conditions": 2}], r"not in 0\.\.2",
    ),
    "no n": (
        [["g"]], [{"doc_ids": ["g"], "grades": [2], "n_conditions": None}], "n_conditions is None",
    ),
    "judged twice": (
        [["g"]], [{"doc_ids": ["g", "g"], "grades": [2, 1], "n_conditions": 2}], "ranks 1, 2",
    ),
    "nothing": (None, [REFERENCE], "predictions is NoneType"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_bad_inputs_are_refused_and_the_object_stays_usable(metric: Any, name: str) -> None:
    predictions, references, message = REFUSED[name]
    # Not ScoringError itself: the module loaded from the clone has a class of its own.
    with pytest.raises(ValueError, match=message):
        metric.compute(predictions=predictions, references=references)
    good = metric.compute(predictions=[["g"]], references=[REFERENCE])
    assert (good["n_clue_score@10"], good["n_queries"]) == (100, 1)


def test_a_bad_cutoff_is_refused_and_the_object_stays_usable(metric: Any) -> None:
    with pytest.raises(ValueError, match="k is 0, expected"):
        metric.compute(predictions=[["g"]], references=[REFERENCE], k=0)
    assert metric.compute(predictions=[["s"]], references=[REFERENCE])["n_queries"] == 1


def test_a_bad_call_leaves_no_file(
    project_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metric = evaluate.load(str(project_dir / "metrics" / "n_clue"), cache_dir=str(tmp_path))
    good = {"predictions": [["g"]], "references": [REFERENCE]}
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    for bad, message in (
        ({"k": 0}, "k is 0"), ({"k": []}, "no cutoff"), ({"k": "10"}, "k is '10'"),
        ({"gain": "cubic"}, "gain is 'cubic'"), ({"gian": "linear"}, "did you mean 'gain'"),
        ({"n_resamples": -1}, "n_resamples is -1"), ({"seed": 1.5}, "seed is 1.5"),
        ({"m": 0}, "m is 0"), ({"per_query": "yes"}, "per_query is 'yes'"),
        ({"evidence": [{}]}, "go together"), ({"query_ids": ["a", "b"]}, "2 query IDs"),
        ({"predictions": [["g", 3]]}, "document ID 3"), ({"references": [{}]}, "has the keys"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            metric.compute(**{**good, **bad})
    assert metric.compute(**good)["n_clue_score@10"] == 100
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before


def test_what_was_added_outlives_a_bad_option_and_is_a_copy(metric: Any) -> None:
    ranking = ["g"]
    metric.add(prediction=ranking, reference=REFERENCE)
    ranking.clear()
    with pytest.raises(ValueError, match="k is 0"):
        metric.compute(k=0)
    assert metric.compute()["n_clue_score@10"] == 100
    with pytest.raises(ValueError, match="predictions is NoneType"):
        metric.compute()


def test_arrays_are_taken_as_lists(metric: Any) -> None:
    reference = {**REFERENCE, "grades": np.array([2, 1])}
    plain = metric.compute(predictions=[["s", "g"]], references=[REFERENCE])
    assert plain == metric.compute(predictions=np.array([["s", "g"]]), references=[reference])


def test_batches_and_single_rankings_add_up(metric: Any) -> None:
    metric.add_batch(predictions=[["g"]], references=[REFERENCE])
    metric.add(prediction=["s", "g"], reference=REFERENCE)
    assert metric.compute()["n_clue_score@10"] == 50


def test_empty_rankings_count_as_misses(metric: Any) -> None:
    result = metric.compute(predictions=[[], []], references=[REFERENCE] * 2)
    assert (result["n_clue_score@10"], result["miss@10"], result["gold_ndcg@10"]) == (0, 100, 0)


def test_empty_judgments_leave_ndcg_undefined_and_counted(metric: Any) -> None:
    empty = {"doc_ids": [], "grades": [], "n_conditions": 2}
    result = metric.compute(predictions=[["g"], ["g"]], references=[empty, REFERENCE])
    assert (result["undefined_gold_ndcg"], result["gold_ndcg@10"]) == (1, 100)


def test_example_in_the_description_gives_what_it_says(
    metric: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluate, "load", lambda name: metric)
    examples = doctest.DocTestParser().get_doctest(
        module._KWARGS_DESCRIPTION, {}, "description", None, 0
    )
    outcome = doctest.DocTestRunner().run(examples)
    assert outcome.attempted >= 5
    assert outcome.failed == 0


def test_files_suit_the_import_scanner_of_evaluate(project_dir: Path) -> None:
    # It reads lines: `import a, b` would be a package "a,", and only neighbours that the main
    # file names are copied; each neighbour that another needs must stand there too.
    folder = project_dir / "metrics" / "n_clue"
    named = set(re.findall(r"^from \.(\w+) import", (folder / "n_clue.py").read_text(), re.M))
    assert {f"{name}.py" for name in named} | {"n_clue.py"} == set(FILES)
    for name in FILES:
        text = (folder / name).read_text()
        needed = set(re.findall(r"^from \.(\w+) import", text, re.M))
        assert needed <= named
        assert "'''" not in text
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                assert len(node.names) == 1, f"{name}: one import per line"


def test_version_of_the_metric_is_that_of_the_kit() -> None:
    assert nclue_core.__version__ == module.VERSION


def test_examples_of_the_metric_card_give_what_the_card_says(
    metric: Any, project_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluate, "load", lambda name: metric)
    monkeypatch.chdir(tmp_path)  # an example writes a file
    card = project_dir / "metrics" / "n_clue" / "README.md"
    outcome = doctest.testfile(str(card), module_relative=False)
    assert outcome.attempted >= 14
    assert outcome.failed == 0


def test_page_support_is_computed_where_pages_are_given(metric: Any) -> None:
    result = metric.compute(
        predictions=[["g"], ["g"]],
        references=[REFERENCE] * 2,
        surfaced_pages=[{"g": [(2, 0.9), (5, 0.8)]}, {"g": [(2, 0.9)]}],
        evidence=[{"g": [[2], [5]]}] * 2,
        m=[1, 3],
    )
    assert (result["gold_support@1"], result["gold_support@3"]) == (0, 50)
    assert result["condition_page_coverage@3"] == 75


def test_page_support_without_evidence_is_refused(metric: Any) -> None:
    with pytest.raises(ValueError, match="go together"):
        metric.compute(predictions=[["g"]], references=[REFERENCE], surfaced_pages=[{}])


def test_intervals_come_on_request_with_their_seed_in_the_signature(metric: Any) -> None:
    inputs = {
        "predictions": [["g"], ["s", "g"], ["x"]] * 10,
        "references": [
            {**REFERENCE, "doc_ids": [f"g{i}" if i % 3 else "g", "s"]} for i in range(30)
        ],
    }
    plain = metric.compute(**inputs)
    result = metric.compute(**inputs, n_resamples=500, seed=3)
    low, high = result["n_clue_score@10_ci95"]
    assert low <= result["n_clue_score@10"] <= high
    assert result["signature"].endswith("|resamples:500|seed:3")
    assert metric.compute(**inputs, n_resamples=500, seed=3) == result
    assert not [name for name in plain if "ci95" in name]
