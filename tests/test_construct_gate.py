from collections import Counter

import pytest

from nclue_construct.cluster import Condition, cluster_key
from nclue_construct.gate import GateContext, GateLimits, gate_context, judge_condition
from nclue_construct.search import Presence, Searched

SOURCES = {f"d{n}": ("alpha", "beta")[n % 2] for n in range(60)}


def searched(name, kind="heading", n=5, **counts):
    documents = {f"d{i}": Presence({1}, set(), {1}) for i in range(n)}
    found = Searched(Condition(name, kind, (name,), (), (), ()), documents, n_hits=10, n_strong=10)
    for field, value in counts.items():
        setattr(found, field, value)
    return found


def decide(found, keys=frozenset(), twins=None):
    return judge_condition(found, GateContext(GateLimits(), SOURCES, keys, twins or {}))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Grievance Mechanism", "heading"),
        ("Executive Summary", "heading"),
        ("COVID-19", "gazetteer"),
        ("Clean Water Act", "entity"),
        ("Office of Management and Budget", "entity"),
        ("Bald and Golden Eagle Protection Act", "entity"),
    ],
)
def test_what_a_person_would_ask_for_is_kept(name, kind):
    assert decide(searched(name, kind)).verdict == "KEEP"


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("Total", "length"),
        ("Equity", "length"),
        ("Other", "length"),
        ("A Very Long Heading About Many Different Things", "length"),
        ("Other Assets", "fragment"),
        ("Our Goals", "fragment"),
        ("For the Transition", "fragment"),
        ("Place of", "fragment"),
        ("Law No", "fragment"),
        ("Department of Agriculture\u2019s", "fragment"),
        ("What You Want?", "fragment"),
        ("Annex B Data", "fragment"),
        ("Section Two Rules", "label"),
        ("Form 10-K", "fragment"),
        ("Fiscal 2014", "label"),
        ("December Meetings", "date_or_unit"),
        ("USD Million", "date_or_unit"),
        ("Table of Contents", "label"),
        ("Final Rule", "boilerplate"),
        ("Docket Numbers", "boilerplate"),
        ("Key Findings", "vague"),
        ("Results and Analysis", "vague"),
    ],
)
def test_what_nobody_would_ask_for_is_rejected_by_its_rule(name, rule):
    decision = decide(searched(name))
    assert (decision.verdict, decision.rule) == ("REJECT", rule)


@pytest.mark.parametrize("name", ["Exchange Act and Rule", "Panel and the Council"])
def test_two_names_joined_by_and_are_rejected(name):
    assert decide(searched(name, "entity")).rule == "fragment"


@pytest.mark.parametrize(
    ("found", "rule"),
    [
        (searched("Grievance Mechanism", n=2), "frequency"),
        (searched("Grievance Mechanism", n=50), "frequency"),
        (searched("Grievance Mechanism", n_strong=4), "weak"),
        (searched("Water Act", "entity", before=Counter(clean=6)), "part_of_name"),
        (searched("Panel on Climate", "entity", after=Counter(change=9)), "part_of_name"),
        (searched("Open Forum", "entity", n_lower=3), "small_letters"),
        (searched("Court of Justice", "entity", n_inside=3), "inside_longer_names"),
    ],
)
def test_where_a_phrase_stands_decides_too(found, rule):
    assert decide(found).rule == rule


def test_a_heading_of_one_source_is_its_template():
    found = searched("Grievance Mechanism")
    found.documents = {f"d{n}": Presence({1}, set(), {1}) for n in (0, 2, 4)}
    assert decide(found).rule == "template"


def test_a_condition_that_is_doubtful_anywhere_is_dropped():
    found = searched("Grievance Mechanism")
    found.documents["d9"] = Presence(set(), {3})
    assert (decide(found).verdict, decide(found).rule) == ("SPLIT", "doubtful")


def test_a_part_of_an_office_is_not_asked_for():
    keys = frozenset([cluster_key("Department of Health and Human Services")])
    assert decide(searched("Health and Human Services", "entity"), keys).rule == "two_in_one"


def test_a_misspelt_twin_of_a_frequent_name_is_dropped():
    right = searched(
        "National Oceanic and Atmospheric Administration", "entity", n_hits=50, n_strong=50
    )
    wrong = searched("National Oceanographic and Atmospheric Administration", "entity")
    context = gate_context([right, wrong], SOURCES, GateLimits(max_words=8, max_letters=70))
    assert judge_condition(right, context).verdict == "KEEP"
    assert judge_condition(wrong, context).rule == "two_in_one"
