"""The recorded failures of peer tools, as far as they concern scores and run files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nclue_metric import Judgments, common_support, score_rankings, summarize
from nclue_metric.runs import RunFormatError, read_qrels, read_run, run_from_mapping

pytestmark = pytest.mark.shared

# Names of the cases -> our attributes, and the gain they need.
NAMES = {
    "nclue_score@10": ("score", "linear"),
    "gold_hit@10": ("hit", "linear"),
    "gold_ndcg@10": ("gold_ndcg", "linear"),
    "graded_ndcg@10_linear": ("graded_ndcg", "linear"),
    "graded_ndcg@10_exp": ("graded_ndcg", "exponential"),
}


@pytest.fixture
def case(shared_dir: Path, request: pytest.FixtureRequest) -> Path:
    return shared_dir / "cases" / "dev" / request.param


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def conditions_of(folder: Path) -> dict[str, int] | int:
    queries = folder / "queries.jsonl"
    if not queries.exists():
        return 2
    rows = [json.loads(line) for line in queries.read_text().splitlines()]
    return {row["query_id"]: len(row["conditions"]) for row in rows}


def values_of(judged: Judgments, run: dict[str, list[str]]) -> dict[str, dict[str, float]]:
    """Every named score per query ID."""
    rankings = judged.align(run).rankings
    by_gain = {gain: score_rankings(judged, rankings, gain=gain)[10]
               for gain in ("linear", "exponential")}  # fmt: skip
    return {
        query_id: {name: getattr(by_gain[gain], attr)[row] for name, (attr, gain) in NAMES.items()}
        for row, query_id in enumerate(judged.query_ids)
    }


@pytest.mark.parametrize(
    "case", ["M05", "M07", "M10", "M13", "M18", "M20", "M22"], indirect=True, ids=str
)
def test_case_gives_the_recorded_values_per_query(case: Path) -> None:
    expected = read(case / "case.expected.json")["expected"]
    run_file = case / ("run_empty_list.json" if case.name == "M07" else "run.json")
    per_query = expected.get("per_query") or expected.get("run_empty_list", {}).get("per_query")
    per_query = per_query or {"q3": expected["q3"]}
    judged = Judgments.from_mapping(read_qrels(case / "qrels.json"), conditions_of(case))
    found = values_of(judged, read_run(run_file).rankings)
    assert per_query
    for query_id, values in per_query.items():
        for name, value in values.items():
            assert found[query_id][name] == pytest.approx(value, abs=1e-6), (query_id, name)


@pytest.mark.parametrize("case", ["M01"], indirect=True, ids=str)
def test_repeats_are_an_error_or_kept_first_as_asked(case: Path) -> None:
    with pytest.raises(RunFormatError, match="query 'q1': document 'g1' stands at ranks 1, 2, 3"):
        read_run(case / "run.json")
    run = read_run(case / "run.json", repeats="first")
    judged = Judgments.from_mapping(read_qrels(case / "qrels.json"), 2)
    expected = read(case / "case.expected.json")["expected"]["if_policy_first_occurrence"]
    assert values_of(judged, run.rankings)["q1"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("case", ["M02"], indirect=True, ids=str)
@pytest.mark.parametrize(
    ("ties", "rule"),
    [
        ("input", "spec_rule(stable input order)"),
        ("trec_eval", "if_trec_rule(score desc, docid desc)"),
    ],
)  # fmt: skip
def test_ties_follow_the_named_rule(case: Path, ties: str, rule: str) -> None:
    expected = read(case / "case.expected.json")["expected"][rule]
    judged = Judgments.from_mapping(read_qrels(case / "qrels.txt"), 2)
    for name, values in expected.items():
        run = read_run(case / f"{name}.trec", ties=ties)
        found = next(iter(values_of(judged, run.rankings).values()))
        assert found["gold_ndcg@10"] == pytest.approx(values["gold_ndcg@10"], abs=1e-6)
        assert run.n_tied == 2


@pytest.mark.parametrize("case", ["M08"], indirect=True, ids=str)
def test_ids_that_are_no_exact_strings_are_refused(case: Path) -> None:
    assert read_run(case / "run_string.json").rankings == {"1": ["007", "42"]}
    for name in ("run_int_like", "run_float", "run_padded"):
        with pytest.raises(RunFormatError, match="query '1': document ID"):
            read_run(case / f"{name}.json")


@pytest.mark.parametrize("case", ["M11"], indirect=True, ids=str)
@pytest.mark.parametrize("name", ["qrels_float.txt", "qrels_bool.json", "qrels_text.txt"])
def test_grades_that_are_no_whole_numbers_are_refused(case: Path, name: str) -> None:
    with pytest.raises(RunFormatError, match="is not a whole number"):
        read_qrels(case / name)


@pytest.mark.parametrize("case", ["M14"], indirect=True, ids=str)
def test_every_encoding_gives_the_numbers_of_the_plain_file(case: Path) -> None:
    expected = read(case / "case.expected.json")["expected"]["value"]
    judged = Judgments.from_mapping(read_qrels(case / "qrels.txt"), 2)
    files = [path for path in case.iterdir() if "trec" in path.name]
    assert len(files) >= 8
    for path in files:
        assert values_of(judged, read_run(path).rankings)["q1"] == pytest.approx(expected), path


@pytest.mark.parametrize("case", ["M21"], indirect=True, ids=str)
def test_exclusions_are_applied_before_ranks_are_counted(case: Path, tmp_path: Path) -> None:
    from nclue_dataset.scoring import without_excluded

    judged = Judgments.from_mapping(read_qrels(case / "qrels.json"), 2)
    run = read_run(case / "run.json").rankings
    kept = without_excluded(run, read_run(case / "excluded.json").rankings)
    expected = read(case / "case.expected.json")["expected"]["if_exclusions_supported"]
    assert values_of(judged, kept)["q1"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("case", ["M24"], indirect=True, ids=str)
def test_ordering_without_common_support_is_undefined(case: Path) -> None:
    judged = Judgments.from_mapping(read_qrels(case / "qrels.json"), 2)
    base, variant = (
        score_rankings(judged, judged.align(read_run(case / f"{name}.json").rankings).rankings)[10]
        for name in ("base", "variant")
    )
    n, *values = common_support(base, variant)
    assert n == 0
    assert np.isnan(values).all()


@pytest.mark.parametrize("case", ["M07"], indirect=True, ids=str)
def test_empty_runs_are_zero_or_one_clear_error(case: Path) -> None:
    judged = Judgments.from_mapping(read_qrels(case / "qrels.json"), 2)
    empty = read_run(case / "run_all_empty.json").rankings
    summary = summarize(score_rankings(judged, judged.align(empty).rankings)[10])
    assert (summary["n_clue_score@10"], summary["gold_ndcg@10"]) == (0, 0)
    with pytest.raises(RunFormatError, match="the file holds no ranking"):
        read_run(case / "run_no_keys.json")
    assert run_from_mapping({"q1": []}).rankings == {"q1": []}


def score_of(folder: Path, run: Any) -> float:
    """The n-Clue Score of a run against the judgments of the release beside it."""
    from nclue_dataset.release import read_release
    from nclue_dataset.scoring import collection_judgments

    release = read_release(folder / "release")
    judged = collection_judgments(release.collection(next(iter(release.collections))))
    scored = score_rankings(judged, judged.align(run.rankings).rankings)
    return float(summarize(scored[10])["n_clue_score@10"])


@pytest.mark.parametrize("case", ["N01"], indirect=True, ids=str)
def test_ranks_order_rows_of_every_format(case: Path) -> None:
    expected = read(case / "case.expected.json")["expected"]
    for name in expected["same_value_for"]:
        run = read_run(case / name)
        assert run.rankings == {"q1": ["g1", "s1", "s2"]}
        assert score_of(case, run) == 100 * expected["value"]["n_clue_score@10"]


@pytest.mark.parametrize("case", ["N02"], indirect=True, ids=str)
def test_lines_of_another_layout_are_refused_by_column(case: Path) -> None:
    with pytest.raises(RunFormatError, match=r"score_at_rank\.trec:1: .*the rank.*found '9\.5'"):
        read_run(case / "score_at_rank.trec")
    with pytest.raises(RunFormatError, match=r"no_q0\.trec:1: .*the second is Q0, found 'g1'"):
        read_run(case / "no_q0.trec")


@pytest.mark.parametrize("case", ["N19"], indirect=True, ids=str)
def test_judgments_of_other_shapes_are_read_or_refused_by_place(case: Path) -> None:
    with pytest.raises(RunFormatError, match=r"list\.json: query 'q1': expected {doc_id: grade}"):
        read_qrels(case / "list.json")
    with pytest.raises(RunFormatError, match=r"typo\.txt:2: grade '--1' is not a whole number"):
        read_qrels(case / "typo.txt")
    assert read_qrels(case / "beir.tsv") == {"q1": {"g1": 2}}
