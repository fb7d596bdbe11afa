"""Scoring files in whole-file operations gives what reading them one by one gives."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nclue_metric import Judgments, ScoringError, files, runs, score_files, score_rankings
from nclue_metric.files import GradeTable
from nclue_metric.runs import RunFormatError, read_run

FIELDS = ("score", "hit", "outcome", "gold_rank", "subset_rank", "gold_ndcg", "graded_ndcg")
# Of different lengths and of more than one word of eight bytes, some alike but for the end.
POOL = ["a", "b", "ab", "world_bank_1", "world_bank_2", "world_bank_12", "x" * 40, "x" * 41]
QRELS = {
    "q1": {"a": 2, "b": 1, "world_bank_1": 2, "x" * 40: 1},
    "q2": {"world_bank_2": 3, "ab": 2, "x" * 41: 1},
    "q3": {"never_found": 2},
}
JUDGMENTS = Judgments.from_mapping(QRELS, {"q1": 2, "q2": 3, "q3": 2})

RANKED = st.lists(st.sampled_from([*POOL, "unjudged", "also_unjudged_0001"]), max_size=8)
RUNS = st.dictionaries(st.sampled_from(["q1", "q2", "q3", "other"]), RANKED, min_size=1)
STEPS = st.sampled_from([0.0, 0.0, 1.0, 2.5])


def slowly(path: Path, **rules: str) -> tuple:
    """The scores by way of `read_run`, and what it says of the run."""
    run = read_run(path, **rules)
    aligned = JUDGMENTS.align(run.rankings)
    scores = score_rankings(JUDGMENTS, aligned.rankings, (1, 3, 10))
    return scores, aligned.missing, aligned.extra, run.n_tied, run.n_repeats_dropped, run.name


def outcome(call: object) -> object:
    """What a call gives, or its error."""
    try:
        return call()  # type: ignore[operator]
    except ScoringError as err:
        return str(err)


def assert_same(path: Path, **rules: str) -> None:
    expected = outcome(lambda: slowly(path, **rules))
    found = outcome(lambda: next(files.score_files(JUDGMENTS, [path], (1, 3, 10), **rules)))
    if isinstance(expected, str):
        assert found == expected
        return
    scores, *rest = expected  # type: ignore[misc]
    assert [found.missing, found.extra, found.n_tied, found.n_repeats_dropped, found.name] == rest
    for k in (1, 3, 10):
        for field in FIELDS:
            left, right = getattr(found.scores[k], field), getattr(scores[k], field)
            np.testing.assert_array_equal(left, right)


@given(
    RUNS, st.data(), st.sampled_from(["input", "trec_eval"]), st.sampled_from(["error", "first"])
)
@settings(max_examples=300, deadline=None)
def test_trec_files_score_as_their_rankings_do(
    run: dict[str, list[str]], data: st.DataObject, ties: str, repeats: str
) -> None:
    lines = []
    for query_id, ranked in run.items():
        score = 100.0
        for rank, doc_id in enumerate(ranked):
            score -= data.draw(STEPS)
            lines.append(f"{query_id} Q0 {doc_id} {rank} {score:g} tag\n")
    shuffled = data.draw(st.permutations(lines)) if data.draw(st.booleans()) else lines
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.trec"
        path.write_text("".join(shuffled))
        assert_same(path, ties=ties, repeats=repeats)


@given(RUNS, st.data(), st.sampled_from(["none", "falling", "any"]))
@settings(max_examples=200, deadline=None)
def test_parquet_files_score_as_their_rankings_do(
    run: dict[str, list[str]], data: st.DataObject, kind: str
) -> None:
    table: dict[str, list] = {"query_id": list(run), "doc_ids": list(run.values())}
    if kind != "none":
        numbers = st.floats(-9, 9, width=32) if kind == "any" else st.just(0.0)
        scores = [[data.draw(numbers) for _ in ranked] for ranked in run.values()]
        if kind == "falling":
            scores = [[-float(rank) for rank in range(len(ranked))] for ranked in run.values()]
        table["scores"] = scores
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.parquet"
        schema = pa.schema({"query_id": pa.string(), "doc_ids": pa.list_(pa.string())})
        if "scores" in table:
            schema = schema.append(pa.field("scores", pa.list_(pa.float32())))
        pq.write_table(pa.table(table, schema=schema), path)
        assert_same(path)


@pytest.mark.parametrize("fast", [True, False])
def test_hand_worked_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fast: bool) -> None:
    """q1: subset b at 1, gold a at 2. q2: gold at 1, subset at 2. q3: nothing."""
    if not fast:
        monkeypatch.setattr(runs, "read_columns", lambda data: None)
    else:
        monkeypatch.setattr(runs, "read_lines", None)  # not needed
    path = tmp_path / "r.trec.gz"
    text = "q1 Q0 b 1 2 t\nq1 Q0 a 2 1 t\nq2 Q0 world_bank_2 1 .5 t\nq2 Q0 ab 2 -.5 t"
    path.write_bytes(gzip.compress(text.encode()))
    (found,) = score_files(JUDGMENTS, [path])
    scores = found.scores[10]
    assert found.name == "r"
    assert scores.score.tolist() == [0, 1, 0]
    assert scores.hit.tolist() == [1, 1, 0]
    assert scores.gold_rank.tolist() == [2, 1, np.inf]
    assert scores.subset_rank.tolist() == [1, 2, np.inf]
    assert found.missing == ("q3",)


def test_many_documents_and_a_deep_list_are_scored_as_lists_are(tmp_path: Path) -> None:
    grades = {f"doc_{i:05d}": 1 + i % 2 for i in range(3_000)}
    judgments = Judgments.from_mapping({"q": grades}, 2)
    ranked = [f"doc_{i:05d}" for i in range(2_500, 3_500)]
    path = tmp_path / "run.trec"
    path.write_text("".join(f"q Q0 {d} {r} {-r} t\n" for r, d in enumerate(ranked)))
    (found,) = score_files(judgments, [path], (1_000,))
    expected = score_rankings(judgments, [ranked], (1_000,))[1_000]
    assert found.scores[1_000].graded_ndcg == expected.graded_ndcg


@pytest.mark.parametrize("cells", [0, files.MAX_CELLS])
def test_what_does_not_fit_the_table_is_scored_by_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: int
) -> None:
    monkeypatch.setattr(files, "MAX_CELLS", cells)
    assert GradeTable(JUDGMENTS)._fits == bool(cells)
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"q1": ["a", "b"]}))
    assert_same(path)


def test_one_long_list_among_short_ones_needs_no_large_table(tmp_path: Path) -> None:
    lines = [f"s{i} Q0 a 0 1 t\n" for i in range(5_000)]
    lines += [f"q1 Q0 u{i} {i} {-i} t\n" for i in range(5_000)]
    path = tmp_path / "run.trec"
    path.write_text("".join(lines))
    assert_same(path)
    path.write_text("".join([*lines, "q1 Q0 u7 9 -9999 t\n"]))
    with pytest.raises(RunFormatError, match="'u7' stands at ranks 8, 5001"):
        next(score_files(JUDGMENTS, [path]))


def test_bad_arguments_are_refused_before_any_file_is_read() -> None:
    for bad in ({"ks": ()}, {"ks": (0,)}, {"gain": "cubic"}, {"ties": "x"}, {"repeats": "last"}):
        with pytest.raises(ScoringError):
            score_files(JUDGMENTS, ["no such file"], **bad)
    with pytest.raises(RunFormatError, match="no such file: cannot be read"):
        next(score_files(JUDGMENTS, ["no such file"]))


def test_parquet_files_of_several_row_groups_are_read(tmp_path: Path) -> None:
    rows = {"query_id": ["q1", "q2", "q3"], "doc_ids": [["b", "a"], ["world_bank_2"], []]}
    path = tmp_path / "run.parquet"
    pq.write_table(pa.table(rows), path, row_group_size=1)
    assert read_run(path).rankings == {"q1": ["b", "a"], "q2": ["world_bank_2"], "q3": []}
    assert_same(path)


def test_parquet_that_is_odd_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    twice = pa.table([["q"], [["a"]], [["b"]]], names=["query_id", "doc_ids", "doc_ids"])
    pq.write_table(twice, path)
    with pytest.raises(RunFormatError, match=r"run\.parquet: a column stands twice"):
        read_run(path)
    latin = pa.array([b"\xf1"], pa.binary()).view(pa.string())
    lists = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), latin)
    pq.write_table(pa.table({"query_id": ["q"], "doc_ids": lists}), path)
    for read in (lambda: read_run(path), lambda: next(score_files(JUDGMENTS, [path]))):
        with pytest.raises(RunFormatError, match="not UTF-8"):
            read()


ALIKE = {
    "JSON in six words": '{"q1" : {"a" : 1 }}',
    "a list": "[q1] Q0 a 1 1 t\n",
    "infinite ties": "q1 Q0 b 1 inf t\nq1 Q0 a 2 inf t\nq1 Q0 ab 3 -inf t\n",
    "points": "q1 Q0 a 1 ....... t\n",
    "nonsense of sixteen": "q1 Q0 a 1 ..69/06:+/50-7 t\n",
}


@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.parametrize("ties", ["input", "trec_eval"])
def test_what_looks_like_a_usual_file_is_read_for_what_it_is(
    tmp_path: Path, name: str, ties: str
) -> None:
    path = tmp_path / "run"
    path.write_text(ALIKE[name])
    assert_same(path, ties=ties)
