import pytest

from construct_corpus import zoned
from nclue_construct.cluster import cluster_facts, cluster_key, condition_of, wordings
from nclue_construct.mine import clean_heading, mine_page
from nclue_construct.surface import squeeze


def mined(*blocks):
    (page,) = zoned(list(blocks))
    return [(fact.route, fact.surface) for fact in mine_page(page)]


@pytest.mark.parametrize(
    ("heading", "phrase"),
    [
        ("3.2 Grievance Mechanism", "Grievance Mechanism"),
        ("IV. Risk Management", "Risk Management"),
        ("A. Background Papers", "Background Papers"),
        ("Section 4: Sampling\nErrors", "Sampling Errors"),
        ("Chapter II  2. Survey Design", "Survey Design"),
        ("Table 3. Net Sales", None),
        ("Figure 2: Map", None),
        ("...", None),
    ],
)
def test_headings_lose_their_numbers(heading, phrase):
    assert clean_heading(heading) == phrase


def test_a_heading_keeps_its_place():
    (page,) = zoned([("text", "First."), ("title", "2. Risk Management")])
    (fact,) = [fact for fact in mine_page(page) if fact.route == "heading"]
    assert page.body[fact.start : fact.end] == "2. Risk Management"


def test_names_run_over_connectors_and_end_at_sentences():
    text = "The Food and Agriculture Organization of the United Nations met. The Board agreed."
    assert ("entity", "Food and Agriculture Organization of the United Nations") in mined(
        ("text", text)
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("the Clean Water Act\u2019s limits", "Clean Water Act"),
        ("under the Clean Water Act We agree", "Clean Water Act"),
        ("The Clean Water Act, the", "Clean Water Act"),
    ],
)
def test_names_lose_what_does_not_belong_to_them(text, name):
    assert ("entity", name) in mined(("text", text))


def test_persons_are_no_names_of_things():
    assert mined(("text", "Thanks to Maria Gonzalez and John Smith for the review.")) == []


def test_a_name_does_not_run_from_one_heading_into_the_next():
    found = mined(("title", "DEPARTMENT OF THE INTERIOR"), ("title", "Fish and Wildlife Service"))
    assert ("entity", "Fish and Wildlife Service") in found


@pytest.mark.parametrize(
    ("text", "acronym", "long_form"),
    [
        ("the World Food Programme (WFP) said", "WFP", "World Food Programme"),
        ("U.S. Fish and Wildlife Service (USFWS)", "USFWS", "Fish and Wildlife Service"),
        ("Food and Agriculture Organization (FAO)", "FAO", "Food and Agriculture Organization"),
        ("of Department of Energy (DOE)", "DOE", "Department of Energy"),
    ],
)
def test_acronyms_are_mined_with_their_long_form(text, acronym, long_form):
    (page,) = zoned([("text", text)])
    facts = [fact for fact in mine_page(page) if fact.route == "acronym"]
    assert [(fact.surface, fact.expands) for fact in facts] == [(acronym, long_form)]


def test_brackets_that_abbreviate_nothing_give_no_acronym():
    assert all(route != "acronym" for route, _ in mined(("text", "the World Bank (see ABC)")))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Labour Force Survey", "labor force surveys"),
        ("the Research & Development Programme", "Research and Development Program"),
        ("World Health Organization", "WORLD HEALTH ORGANISATION"),
        ("Policy Agency", "Policy Agencies"),
    ],
)
def test_regular_variants_are_one_condition(one, other):
    assert cluster_key(one) == cluster_key(other)


@pytest.mark.parametrize(("one", "other"), [("Red List", "Red Lists Act"), ("Air", "Airs Act")])
def test_different_names_stay_apart(one, other):
    assert cluster_key(one) != cluster_key(other)


def test_all_regular_wordings_are_searched():
    keys = {squeeze(form) for form in wordings("Labour Programme", ["Labour Programme"])}
    assert {"labourprogramme", "laborprogram", "labourprogrammes", "laborprograms"} <= keys


def test_an_acronym_joins_the_condition_of_its_long_form():
    (page,) = zoned([("text", "The World Food Programme (WFP). Later the World Food Program.")])
    (condition,) = cluster_facts(mine_page(page))
    assert (condition.name, condition.acronyms) == ("World Food Programme", ("WFP",))


def test_another_name_of_the_same_thing_is_no_condition_of_its_own():
    (page,) = zoned([("text", "the Clean Water Act, or Federal Water Pollution Control Act,")])
    (condition,) = cluster_facts(mine_page(page))
    assert condition.name == "Clean Water Act"
    assert "Federal Water Pollution Control Act" in condition.surfaces


def test_names_in_capitals_are_shown_as_titles():
    (page,) = zoned([("title", "GRIEVANCE MECHANISM"), ("title", "Mechanism of a joint Grievance")])
    assert "Grievance Mechanism" in {condition.name for condition in cluster_facts(mine_page(page))}


def test_a_condition_known_by_name_only_has_its_regular_wordings():
    assert {"COVID-19", "coronavirus disease"} <= set(condition_of("COVID-19").surfaces)
    assert "Pension Plan" in condition_of("Pension Plans").surfaces
