"""Gold+Support: worked by hand, a brute force over page choices, and laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nclue_metric import Judgments, ScoringError
from nclue_metric.support import summarize_support, support_scores, top_pages

JUDGMENTS = Judgments.from_mapping(
    {"q1": {"g": 2, "h": 2, "s": 1}, "q2": {"g": 2}, "q3": {"g": 2}}, 2
)
EVIDENCE = [
    {"g": [[2], [19, 20]], "h": [[5], [6]]},
    {"g": [[1], [2]]},
    {"g": [[1], [2]]},
]


def test_pages_are_distinct_best_first_and_ties_keep_their_order() -> None:
    pages = [(7, 0.5), (3, 0.9), (7, 0.95), (4, 0.9), (1, 0.1)]
    assert top_pages(pages, 3) == [7, 3, 4]


def test_the_best_covered_gold_counts_over_all_queries() -> None:
    surfaced = [
        # g: page 2 covers one of two conditions among the best three; h covers both
        {"g": [(2, 3.0), (9, 2.0), (8, 1.0), (19, 0.5)], "h": [(6, 1.0), (5, 0.9)]},
        {"g": [(1, 1.0)]},  # one of two conditions
        {},
    ]
    rankings = [["s", "g", "h"], ["g"], ["x"]]  # q3: no gold retrieved
    at_3 = support_scores(JUDGMENTS, rankings, surfaced, EVIDENCE)[3]
    assert at_3.success.tolist() == [1, 0, 0]
    assert at_3.condition_coverage.tolist()[:2] == [1.0, 0.5]
    assert math.isnan(at_3.condition_coverage[2])
    summary = summarize_support(at_3)
    assert summary["gold_support@3"] == pytest.approx(100 / 3)
    assert summary["condition_page_coverage@3"] == 75
    assert summary["all_condition_page_coverage@3"] == 50
    assert summary["n_gold_hit"] == 2


def test_golds_behind_the_cutoff_do_not_count() -> None:
    surfaced = [{"h": [(5, 1), (6, 1)]}, {}, {}]
    at_1 = support_scores(JUDGMENTS, [["x", "h"], [], []], surfaced, EVIDENCE, k=1)[3]
    assert at_1.success.sum() == 0


REFUSED = {
    "no pages": ([{}, {}, {}], EVIDENCE, "no page was surfaced"),
    "page zero": ([{"g": [(0, 1.0)]}, {}, {}], EVIDENCE, "pages start at 1"),
    "nan": ([{"g": [(1, math.nan)]}, {}, {}], EVIDENCE, "scores are numbers"),
    "no pair": ([{"g": [("1", 1.0)]}, {}, {}], EVIDENCE, "no pair of a 1-based page number"),
    "document level": ([{"g": [(1, 1.0)]}, {}, {}], [{}, {}, {}], "has no evidence pages"),
    "lengths": ([{}], EVIDENCE, "expected the same number"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_scored_is_refused(name: str) -> None:
    surfaced, evidence, message = REFUSED[name]
    with pytest.raises(ScoringError, match=message):
        support_scores(JUDGMENTS, [["g"], [], []], surfaced, evidence)


PAGES = st.integers(1, 6)
PAIRS = st.lists(st.tuples(PAGES, st.sampled_from([0.0, 0.5, 1.0])), max_size=8)


@given(
    surfaced=st.dictionaries(st.sampled_from("abc"), PAIRS, min_size=1),
    evidence=st.fixed_dictionaries(
        dict.fromkeys("abc", st.lists(st.sets(PAGES, min_size=1), min_size=2, max_size=2))
    ),
    ranking=st.permutations("abcxyz"),
)
@settings(max_examples=150, deadline=None)
def test_support_agrees_with_a_plain_reading_of_the_definition_and_grows_with_m(
    surfaced: dict, evidence: dict, ranking: list
) -> None:
    judged = Judgments.from_mapping({"q": dict.fromkeys("abc", 2)}, 2)
    by_m = support_scores(
        judged, [ranking], [surfaced], [{d: list(map(sorted, e)) for d, e in evidence.items()}],
        k=4, ms=range(1, 9),
    )  # fmt: skip
    for m, scores in by_m.items():
        expected = False
        for doc_id in ranking[:4]:
            if doc_id in "abc":
                best = {p: max(s for q, s in surfaced.get(doc_id, []) if q == p)
                        for p, _ in surfaced.get(doc_id, [])}  # fmt: skip
                top = set(sorted(best, key=best.get, reverse=True)[:m])
                expected |= all(top & pages for pages in evidence[doc_id])
        assert bool(scores.success[0]) == expected
    assert (np.diff([by_m[m].success[0] for m in range(1, 9)]) >= 0).all()
