"""Aggregation, composition and fusion, against brute force and hand arithmetic."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from nclue_systems import compose, reciprocal_rank_fusion
from nclue_systems.corpus import Units

SCORE = st.sampled_from([0.0, 0.5, 1.0, 1.25, 2.0, 3.5])


def units_of(documents: list[int]) -> Units:
    owners = np.array(documents, np.int64)
    zeros = np.zeros_like(owners)
    return Units(zeros, zeros + 1, owners, zeros)


UP_TO_FOUR = st.integers(1, 4)


@st.composite
def scored_pages(draw, n_conditions=UP_TO_FOUR):
    counts = draw(st.lists(st.integers(0, 5), min_size=1, max_size=4))
    owners = [d for d, count in enumerate(counts) for _ in range(count)]
    n = draw(n_conditions)
    rows = draw(st.lists(st.lists(SCORE, min_size=len(owners), max_size=len(owners)),
                         min_size=n, max_size=n))  # fmt: skip
    return owners, len(counts), [np.array(row, float) for row in rows]


def best_sum_by_permutations(columns: list[list[float]]) -> float:
    """Every injective map of conditions to pages; extra pages of score 0 stand for "none"."""
    n = len(columns)
    padded = [[*column, *[0.0] * n] for column in columns]
    return max(
        sum(padded[c][page] for c, page in enumerate(choice))
        for choice in itertools.permutations(range(len(padded[0])), n)
    )


@settings(deadline=None)
@given(scored_pages())
def test_distinct_pages_finds_the_best_of_all_permutations(drawn):
    owners, n_documents, scores = drawn
    found = compose.distinct_pages(scores, units_of(owners), n_documents)
    for document in range(n_documents):
        mine = [i for i, owner in enumerate(owners) if owner == document]
        expected = best_sum_by_permutations([[float(row[i]) for i in mine] for row in scores])
        assert found[document] == pytest.approx(expected)


@settings(deadline=None)
@given(scored_pages(n_conditions=st.integers(5, 6)))
def test_distinct_pages_agrees_with_scipy_for_many_conditions(drawn):
    owners, n_documents, scores = drawn
    found = compose.distinct_pages(scores, units_of(owners), n_documents)
    for document in range(n_documents):
        mine = [i for i, owner in enumerate(owners) if owner == document]
        table = np.array([row[mine] for row in scores])
        expected = table[linear_sum_assignment(table, maximize=True)].sum() if mine else 0
        assert found[document] == pytest.approx(expected)


@settings(deadline=None)
@given(scored_pages(n_conditions=st.integers(2, 4)))
def test_enumeration_and_hungarian_method_agree(drawn):
    owners, n_documents, scores = drawn
    best = [compose.best_pages(s, units_of(owners), n_documents, len(scores)) for s in scores]
    tops, pages = np.stack([b[0] for b in best]), np.stack([b[1] for b in best])
    enumerated = compose._enumerate_assignments(tops, pages)
    assert enumerated == pytest.approx(compose._solve_assignments(tops, pages))


def test_one_page_cannot_serve_two_conditions():
    scores = [np.array([3.0, 1.0]), np.array([2.5, 0.0])]
    # page 1 is the best of both: 1 + 2.5 beats 3 + 0
    assert compose.distinct_pages(scores, units_of([0, 0]), 1).tolist() == [3.5]


@settings(deadline=None)
@given(scored_pages())
def test_best_unit_is_the_maximum_and_mean_of_one_is_the_same(drawn):
    owners, n_documents, scores = drawn
    units = units_of(owners)
    best = compose.best_unit(scores[0], units, n_documents)
    for document in range(n_documents):
        own = [float(s) for s, owner in zip(scores[0], owners) if owner == document]
        assert best[document] == max(own, default=0)
        top3 = sorted(own, reverse=True)[:3]
        mean = compose.mean_of_best(3)(scores[0], units, n_documents)[document]
        assert mean == pytest.approx(sum(top3) / len(top3) if top3 else 0)
    assert compose.mean_of_best(1)(scores[0], units, n_documents).tolist() == best.tolist()


def test_compositions_by_hand():
    scores = np.array([[2.0, 3.0, 0.0], [6.0, 3.0, 5.0]])  # 2 conditions, 3 documents
    assert compose.minimum(scores).tolist() == [2, 3, 0]
    assert compose.product(scores).tolist() == [12, 9, 0]
    assert compose.harmonic_mean(scores).tolist() == [3, 3, 0]


def test_rrf_by_hand():
    fused = reciprocal_rank_fusion([["a", "b", "c"], ["b", "d"]])
    expected = [("b", 1 / 62 + 1 / 61), ("a", 1 / 61), ("d", 1 / 62), ("c", 1 / 63)]
    assert [doc for doc, _ in fused] == [doc for doc, _ in expected]
    assert [score for _, score in fused] == pytest.approx([score for _, score in expected])


def test_rrf_breaks_ties_by_document_and_reads_no_deeper_than_its_depth():
    assert [d for d, _ in reciprocal_rank_fusion([["z"], ["a"]])] == ["a", "z"]
    long = [f"d{i:03}" for i in range(150)]
    assert [d for d, _ in reciprocal_rank_fusion([long, long])] == long[:100]
    assert reciprocal_rank_fusion([[], []]) == []


RANKINGS = st.lists(st.lists(st.sampled_from("abcdefg"), unique=True), min_size=2, max_size=3)


@settings(deadline=None)
@given(RANKINGS)
def test_rrf_does_not_depend_on_the_order_of_the_runs(rankings):
    assert reciprocal_rank_fusion(rankings) == reciprocal_rank_fusion(rankings[::-1])


@settings(deadline=None)
@given(st.lists(st.sampled_from("abcdefg"), unique=True))
def test_rrf_of_a_run_with_itself_is_that_run(ranking):
    assert [doc for doc, _ in reciprocal_rank_fusion([ranking, ranking])] == ranking
