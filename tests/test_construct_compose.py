from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nclue_construct.cluster import Condition
from nclue_construct.compose import Candidate, ComposeLimits, compose, explain_grade, judge
from nclue_construct.emit import make_qrels, make_queries
from nclue_construct.search import Presence, Searched
from nclue_construct.select import SelectLimits, select


def held(*pages, doubtful=()):
    return Presence(set(pages), set(doubtful), set(pages))


def searched(name, documents):
    return Searched(Condition(name, "heading", (name,), (), (), ()), documents)


def test_golds_need_every_condition_on_pages_of_its_own():
    first = {"two_pages": held(1), "one_page": held(4), "shared": held(1, 2), "half": held(1)}
    second = {"two_pages": held(2), "one_page": held(4), "shared": held(2, 3)}
    candidate = judge(["A", "B"], [first, second])
    assert candidate.golds == ("two_pages",)
    assert candidate.subsets == ("half", "one_page", "shared")


def test_a_document_whose_grade_hangs_on_doubtful_pages_spoils_the_conjunction():
    first = {"gold": held(1), "unclear": held(1)}
    second = {"gold": held(2), "unclear": held(doubtful=[2])}
    assert judge(["A", "B"], [first, second]) is None


def test_a_doubtful_page_that_would_hold_all_conditions_spoils_the_conjunction():
    assert judge(["A", "B"], [{"gold": held(1)}, {"gold": held(2, doubtful=[1])}]) is None


def test_doubtful_pages_that_change_nothing_are_harmless():
    assert judge(["A", "B"], [{"gold": held(1)}, {"gold": held(2, doubtful=[3])}]).golds


@given(st.lists(st.lists(st.sets(st.integers(1, 4)), min_size=2, max_size=3), max_size=4))
def test_golds_and_subsets_agree_with_the_definition_by_brute_force(documents):
    from itertools import product

    size = 2
    presences = [{f"d{n}": held(*sets[c]) for n, sets in enumerate(documents)} for c in range(size)]
    candidate = judge(["A", "B"], presences)
    for n, sets in enumerate(documents):
        sets = sets[:size]
        distinct = any(len(set(choice)) == size for choice in product(*sets))
        is_gold = distinct and not set.intersection(*sets)
        assert (f"d{n}" in candidate.golds) == is_gold
        assert (f"d{n}" in candidate.subsets) == (any(sets) and not is_gold)


def conditions(n_documents=40):
    names = ("Red Fox", "Blue Whale", "Green Frog", "White Owl", "Black Bear", "Red Deer")
    return [
        searched(name, {
            f"d{d}": held(1 + c) for d in range(n_documents) if (d * (c + 3)) % 7 < 2
        })
        for c, name in enumerate(names)
    ]  # fmt: skip


def test_conjunctions_meet_the_limits_and_share_no_word():
    limits = ComposeLimits(max_golds=12, min_subsets=3)
    made = compose(conditions(), limits)
    assert {len(item.conditions) for item in made} == {2, 3}
    for item in made:
        assert limits.min_golds <= len(item.golds) <= limits.max_golds
        assert limits.min_subsets <= len(item.subsets) <= limits.max_subsets
        assert not {"Red Fox", "Red Deer"} <= set(item.conditions)


def test_conjunctions_of_four_conditions_are_possible():
    # Documents 0-2 hold five conditions on pages of their own, the others fewer.
    items = [
        searched(name, {f"d{d}": held(1 + c) for d in range(20) if d < 3 or (d + c) % 3 == 0})
        for c, name in enumerate(("Red Fox", "Blue Whale", "Green Frog", "White Owl", "Black Bear"))
    ]
    made = compose(items, ComposeLimits(sizes=(4,)))
    assert made
    for item in made:
        assert len(item.conditions) == 4
        assert set(item.golds) == {"d0", "d1", "d2"}


def test_the_seed_alone_decides_the_order():
    limits = ComposeLimits(max_golds=12, min_subsets=3)
    again = compose(list(reversed(conditions())), limits)
    assert compose(conditions(), limits) == again
    other = compose(conditions(), ComposeLimits(max_golds=12, min_subsets=3, seed=12))
    assert sorted(item.conditions for item in other) == sorted(item.conditions for item in again)
    assert other != again


def pool():
    return [
        Candidate((f"c{a}", f"c{b}"), (f"d{(a + b) % 9}",), ("x",))
        for a in range(12)
        for b in range(a + 1, 12)
    ]


def test_selection_spreads_conditions_and_golds():
    source_of = {f"d{n}": "abc"[n % 3] for n in range(9)}
    limits = SelectLimits({2: 20}, per_condition=4, per_gold=3, per_family=3)
    chosen = select(pool(), source_of, limits)
    assert len(chosen) == 20
    assert max(Counter(name for item in chosen for name in item.conditions).values()) <= 4
    assert max(Counter(doc for item in chosen for doc in item.golds).values()) <= 3
    sources = Counter(source_of[doc] for item in chosen for doc in item.golds)
    assert min(sources.values()) >= 4


def test_no_two_queries_share_two_conditions():
    candidates = [
        Candidate(("a", "b"), ("d0",), ()),
        Candidate(("a", "b", "c"), ("d1",), ()),
        Candidate(("a", "c"), ("d2",), ()),
    ]
    chosen = select(candidates, {"d0": "s", "d1": "s", "d2": "s"}, SelectLimits({2: 2, 3: 1}))
    assert [item.conditions for item in chosen] == [("a", "b", "c")]


def test_judgments_hold_the_pages_and_the_grade_below_n_where_one_page_suffices():
    found = {
        "A": searched("A", {"gold": held(1), "single": held(5), "none": held(doubtful=[1])}),
        "B": searched("B", {"gold": held(2), "single": held(5)}),
    }
    queries = make_queries([Candidate(("A", "B"), ("gold",), ("single",))], "q", 11)
    rows = make_qrels(queries, found)
    assert [(row.doc_id, row.grade, row.label) for row in rows] == [
        ("gold", 2, "gold"), ("single", 1, "subset"),
    ]  # fmt: skip
    assert {item.condition: item.pages for item in rows[0].evidence} == {"A": (1,), "B": (2,)}


@pytest.mark.parametrize(
    ("pages", "text"),
    [
        ([[], []], "no condition"),
        ([[1], []], "1 of 2"),
        ([[1], [2]], "gold"),
        ([[1], [1]], "page 1 alone"),
        ([[1], [2], [1, 2]], "distinct pages"),
    ],
)
def test_grades_are_explained(pages, text):
    assert text in explain_grade(pages)
