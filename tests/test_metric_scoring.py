"""The scores: hand-worked rankings, pytrec_eval, and laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from nclue_metric import (
    GOLD_FIRST,
    MISS,
    SUBSET_FIRST,
    Judgments,
    ScoringError,
    common_support,
    score_rankings,
    summarize,
)

QRELS = {"q": {"g1": 2, "g2": 2, "s1": 1, "s2": 1, "zero": 0}}

# Worked by hand: golds g1 g2, subsets s1 s2; discounts 1, 1/log2(3), 1/2, 1/log2(5), …
# Ideal Gold-DCG 1 + 0.630930; ideal graded DCG 2 + 2*0.630930 + 0.5 + 0.430677 = 4.192536.
WORKED = {
    "gold first": (["g1", "s1", "x"], 1, 1, GOLD_FIRST, 1 / 1.630930, 2.630930 / 4.192536),
    "subset first": (["s1", "g1"], 0, 1, SUBSET_FIRST, 0.630930 / 1.630930, 2.261860 / 4.192536),
    "unjudged ahead": (["x", "zero", "g1"], 1, 1, GOLD_FIRST, 0.5 / 1.630930, 1.0 / 4.192536),
    "gold at 10": (
        [*"abcdefghi", "g1"], 1, 1, GOLD_FIRST, 0.289065 / 1.630930, 0.578130 / 4.192536,
    ),
    "gold at 11": ([*"abcdefghij", "g1"], 0, 0, MISS, 0.0, 0.0),
    "subset only": (["s1", "s2"], 0, 0, MISS, 0.0, 1.630930 / 4.192536),
    "second gold after subset": (
        ["g1", "s1", "g2"], 1, 1, GOLD_FIRST, 1.5 / 1.630930, 3.630930 / 4.192536,
    ),
    "empty": ([], 0, 0, MISS, 0.0, 0.0),
}  # fmt: skip


@pytest.mark.parametrize("name", WORKED)
def test_worked_rankings_give_the_values_computed_by_hand(name: str) -> None:
    ranking, score, hit, outcome, gold_ndcg, graded = WORKED[name]
    at_10 = score_rankings(Judgments.from_mapping(QRELS, 2), [ranking])[10]
    assert (at_10.score[0], at_10.hit[0], at_10.outcome[0]) == (score, hit, outcome)
    assert at_10.gold_ndcg[0] == pytest.approx(gold_ndcg, abs=1e-6)
    assert at_10.graded_ndcg[0] == pytest.approx(graded, abs=1e-6)


def test_exponential_gain_is_two_to_the_grade_minus_one() -> None:
    judged = Judgments.from_mapping(QRELS, 2)
    at_10 = score_rankings(judged, [["g1", "s1"]], gain="exponential")[10]
    ideal = 3 + 3 * 0.630930 + 0.5 + 0.430677
    assert at_10.graded_ndcg[0] == pytest.approx((3 + 0.630930) / ideal, abs=1e-6)


def test_gold_is_the_grade_that_equals_the_number_of_conditions_of_the_query() -> None:
    qrels = {
        "qa": {"d1": 2, "d2": 1},
        "qb": {"d1": 2, "d3": 3, "d4": 1},
        "qc": {"d3": 3, "d1": 2},
    }
    judged = Judgments.from_mapping(qrels, {"qa": 2, "qb": 3, "qc": 3})
    summary = summarize(score_rankings(judged, [["d1", "d2"], ["d1", "d3"], ["x", "d3", "d1"]])[10])
    assert summary["n_clue_score@10"] == pytest.approx(66.6667, abs=1e-4)
    assert summary["gold_hit@10"] == 100
    assert summary["gold_ndcg@10"] == pytest.approx(75.3953, abs=1e-4)


def test_ideal_gold_ndcg_counts_judged_golds_not_returned_ones() -> None:
    judged = Judgments.from_mapping({"q": dict.fromkeys("abcd", 2)}, 2)
    at_10 = score_rankings(judged, [["a"]])[10]
    assert at_10.gold_ndcg[0] == pytest.approx(1 / 2.561606, abs=1e-6)


def test_queries_without_gold_are_misses_and_their_gold_ndcg_is_undefined_and_counted() -> None:
    judged = Judgments.from_mapping({"none": {}, "subset": {"s": 1}, "ok": {"g": 2}}, 2)
    at_10 = score_rankings(judged, [["x"], ["s"], ["g"]])[10]
    assert np.isnan(at_10.gold_ndcg).tolist() == [True, True, False]
    assert np.isnan(at_10.graded_ndcg).tolist() == [True, False, False]
    summary = summarize(at_10)
    assert summary["n_clue_score@10"] == pytest.approx(100 / 3)
    assert summary["gold_ndcg@10"] == 100
    assert (summary["undefined_gold_ndcg"], summary["n_queries"]) == (2, 3)


def test_no_queries_at_all_give_undefined_shares_without_a_warning() -> None:
    judged = Judgments.from_mapping({}, 2)
    summary = summarize(score_rankings(judged, [])[10])
    assert math.isnan(summary["n_clue_score@10"])
    assert summary["n_queries"] == 0


def test_document_named_like_its_query_is_kept() -> None:
    judged = Judgments.from_mapping({"5": {"5": 2, "6": 1}}, 2)
    assert score_rankings(judged, [["5", "6"]])[10].score[0] == 1


def test_aligning_a_run_names_missing_and_extra_queries() -> None:
    judged = Judgments.from_mapping({"q1": {"a": 2}, "q2": {"b": 2}, "q3": {"c": 2, "d": 1}}, 2)
    aligned = judged.align({"q1": ["a"], "q3": ["c", "d"], "q9": ["z"]})
    assert (aligned.missing, aligned.extra) == (("q2",), ("q9",))
    summary = summarize(score_rankings(judged, aligned.rankings)[10])
    assert summary["n_clue_score@10"] == pytest.approx(66.6667, abs=1e-4)
    assert summary["n_queries"] == 3


BAD_JUDGMENTS = {
    "fraction": ({"q": {"d": 1.5}}, "grade 1.5 is float"),
    "whole float": ({"q": {"d": 2.0}}, "grade 2.0 is float"),
    "bool": ({"q": {"d": True}}, "grade True is bool"),
    "text": ({"q": {"d": "gold"}}, "grade 'gold' is str"),
    "above n": ({"q": {"d": 3}}, r"grade 3 is not in 0\.\.2"),
    "negative": ({"q": {"d": -1}}, r"grade -1 is not in 0\.\.2"),
    "int document": ({"q": {7: 1}}, "doc_id 7 is int"),
    "int query": ({7: {"d": 1}}, "query_id 7 is int"),
}


@pytest.mark.parametrize("name", BAD_JUDGMENTS)
def test_bad_judgments_are_refused_with_the_value(name: str) -> None:
    qrels, message = BAD_JUDGMENTS[name]
    with pytest.raises(ScoringError, match=message):
        Judgments.from_mapping(qrels, 2)


BAD_RANKINGS = {
    "repeat": ([["g1", "g1", "g1", "s1"]], "'g1' stands at ranks 1, 2, 3"),
    "int": ([["g1", 7]], "query 'q', rank 2: document ID 7 is int"),
    "float": ([[7.0]], "document ID 7.0 is float"),
    "none": ([[None]], "document ID None is NoneType"),
    "string": (["g1"], "ranking 0 is str 'g1', expected a list"),
    "too many": ([[], []], "2 rankings for 1 queries"),
}


@pytest.mark.parametrize("name", BAD_RANKINGS)
def test_bad_rankings_are_refused_with_place_and_value(name: str) -> None:
    rankings, message = BAD_RANKINGS[name]
    with pytest.raises(ScoringError, match=message):
        score_rankings(Judgments.from_mapping(QRELS, 2), rankings)


@pytest.mark.parametrize("k", [0, -1, True, 1.0, "10"])
def test_cutoffs_are_whole_numbers_from_one(k: object) -> None:
    with pytest.raises(ScoringError, match="expected a whole number of at least 1"):
        score_rankings(Judgments.from_mapping(QRELS, 2), [["g1"]], ks=[k])


def test_common_support_without_a_shared_hit_is_undefined() -> None:
    judged = Judgments.from_mapping({"q1": {"a": 2}, "q2": {"b": 2}}, 2)
    base = score_rankings(judged, [["a"], []])[10]
    variant = score_rankings(judged, [[], ["b"]])[10]
    n, *values = common_support(base, variant)
    assert n == 0
    assert all(math.isnan(value) for value in values)


def test_common_support_counts_only_queries_both_hit() -> None:
    judged = Judgments.from_mapping({q: {"g": 2, "s": 1} for q in "abc"}, 2)
    base = score_rankings(judged, [["g"], ["s", "g"], []])[10]
    variant = score_rankings(judged, [["g"], ["g"], ["g"]])[10]
    assert common_support(base, variant) == (2, 0.5, 1.0, 0.5)


DOCS = [f"d{i}" for i in range(14)]


@st.composite
def scored_queries(draw: st.DrawFn) -> tuple[dict, dict, list]:
    """A few queries with grades, n and rankings over a small pool."""
    total = draw(st.integers(1, 4))
    n = {f"q{i}": draw(st.integers(2, 4)) for i in range(total)}
    qrels = {
        q: draw(st.dictionaries(st.sampled_from(DOCS), st.integers(0, n[q]), max_size=10))
        for q in n
    }
    rankings = [
        draw(st.permutations(DOCS))[: draw(st.integers(0, len(DOCS)))] for _ in range(total)
    ]
    return qrels, n, rankings


@given(scored_queries(), st.integers(1, 15))
@settings(max_examples=150, deadline=None)
def test_both_ndcgs_and_hit_agree_with_pytrec_eval(case: tuple, k: int) -> None:
    qrels, n, rankings = case
    ours = score_rankings(Judgments.from_mapping(qrels, n), rankings, ks=[k])[k]
    run = {q: {d: -float(r) for r, d in enumerate(docs)} for q, docs in zip(n, rankings)}
    gold = {q: {d: int(g == n[q]) for d, g in table.items()} for q, table in qrels.items()}
    measures = {f"ndcg_cut.{k}", f"success.{k}"}
    theirs_gold = pytrec_eval.RelevanceEvaluator(gold, measures).evaluate(run)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {f"ndcg_cut.{k}"}).evaluate(run)
    for row, query_id in enumerate(n):
        if any(gold[query_id].values()):
            peer = theirs_gold.get(query_id, {})
            assert ours.gold_ndcg[row] == pytest.approx(peer.get(f"ndcg_cut_{k}", 0), abs=1e-9)
            assert ours.hit[row] == peer.get(f"success_{k}", 0)
        if any(qrels[query_id].values()):
            peer = theirs.get(query_id, {})
            assert ours.graded_ndcg[row] == pytest.approx(peer.get(f"ndcg_cut_{k}", 0), abs=1e-9)


@given(scored_queries())
@settings(max_examples=100, deadline=None)
def test_score_follows_its_definition_by_ranks(case: tuple) -> None:
    qrels, n, rankings = case
    ours = score_rankings(Judgments.from_mapping(qrels, n), rankings)[10]
    for row, (query_id, ranking) in enumerate(zip(n, rankings)):
        grades = [qrels[query_id].get(doc_id, 0) for doc_id in ranking]
        gold = next((r for r, g in enumerate(grades, 1) if g == n[query_id]), math.inf)
        subset = next((r for r, g in enumerate(grades, 1) if 0 < g < n[query_id]), math.inf)
        assert ours.score[row] == (gold <= 10 and gold < subset)
        assert ours.hit[row] == (gold <= 10)


@given(scored_queries())
@settings(max_examples=60, deadline=None)
def test_hit_never_falls_with_k_and_unjudged_documents_do_not_matter_for_score(case: tuple) -> None:
    qrels, n, rankings = case
    judged = Judgments.from_mapping(qrels, n)
    by_k = score_rankings(judged, rankings, ks=range(1, 16))
    hits = np.array([by_k[k].hit for k in range(1, 16)])
    assert (np.diff(hits, axis=0) >= 0).all()
    without = [[d for d in ranking if qrels[q].get(d, 0)] for q, ranking in zip(n, rankings)]
    assert (score_rankings(judged, without, [99])[99].score == by_k[15].score).all()


@given(scored_queries(), st.randoms())
@settings(max_examples=60, deadline=None)
def test_the_order_of_queries_changes_no_mean_and_promotion_never_lowers_hit(
    case: tuple, random: object
) -> None:
    qrels, n, rankings = case
    order = list(n)
    random.shuffle(order)
    by_id = dict(zip(n, rankings))
    ours = summarize(score_rankings(Judgments.from_mapping(qrels, n), rankings)[10])
    shuffled = Judgments.from_mapping({q: qrels[q] for q in order}, n)
    again = summarize(score_rankings(shuffled, [by_id[q] for q in order])[10])
    assert ours == pytest.approx(again, nan_ok=True)
    promoted = {q: {d: n[q] if g else g for d, g in table.items()} for q, table in qrels.items()}
    better = summarize(score_rankings(Judgments.from_mapping(promoted, n), rankings)[10])
    assert better["gold_hit@10"] >= ours["gold_hit@10"]


def test_content_hash_follows_judgments_and_neither_their_order_nor_query_ids() -> None:
    qrels = {"q": {"a": 1, "b": 2}, "r": {"a": 2}}
    one = Judgments.from_mapping(qrels, 2)
    same = Judgments.from_mapping({"1": {"a": 2}, "0": {"b": 2, "a": 1, "c": 0}}, 2)
    other = Judgments.from_mapping({**qrels, "q": {"a": 2, "b": 2}}, 2)
    assert one.content_hash == same.content_hash != other.content_hash
    assert one.content_hash != Judgments.from_mapping(qrels, 3).content_hash
