import pytest

from construct_corpus import zoned
from nclue_construct.cluster import Condition
from nclue_construct.search import Presence, Searched, Searcher
from nclue_construct.verify import bare_document, doubtful_absences, missing_pages


def condition(name, kind="heading", surfaces=(), acronyms=(), hints=()):
    return Condition(name, kind, (name, *surfaces), tuple(acronyms), tuple(hints), ("doc",))


def search(wanted, *texts, documents=None):
    documents = documents or {"doc": [[("text", text)] for text in texts]}
    pages = [zoned(*blocks, doc_id=doc_id) for doc_id, blocks in documents.items()]
    (found,) = Searcher([wanted]).search(pages)
    return found


def test_every_page_of_every_document_is_searched():
    documents = {
        "a": [[("text", "Nothing")], [("text", "risk management")]],
        "b": [[("title", "RISK MANAGEMENT")]],
        "c": [[("text", "Nothing")]],
    }
    found = search(condition("Risk Management"), documents=documents)
    assert {doc_id: here.pages for doc_id, here in found.documents.items()} == {"a": {2}, "b": {1}}
    assert found.documents["b"].heading == {1}


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (condition("Financial Assets"), "the non-financial assets"),
        (condition("Court of Justice", "entity"), "the African Court of Justice"),
        (condition("Department of Energy", "entity"), "Department of Energy and Climate"),
        (condition("Open Forum", "entity"), "an open forum was held"),
        (condition("World Food Programme", "entity", hints=["WFP"]), "the WFP"),
    ],
)
def test_what_may_mean_something_else_is_doubtful(wanted, text):
    presence = search(wanted, text).documents["doc"]
    assert (presence.pages, presence.doubtful) == (set(), {1})


@pytest.mark.parametrize(
    "text",
    ["the United Nations Court of Justice", "By the Court of Justice", "U.S. Court of Justice"],
)
def test_qualifiers_do_not_make_another_name(text):
    assert search(condition("Court of Justice", "entity"), text).documents["doc"].pages == {1}


def test_text_that_does_not_count_is_doubtful():
    found = search(
        condition("Risk Management"), documents={"doc": [[("header", "Risk Management")]]}
    )
    assert found.documents["doc"].doubtful == {1}


def test_acronyms_count_where_the_document_spells_them_out():
    wanted = condition("World Food Programme", "entity", acronyms=["WFP"])
    found = search(wanted, "the World Food Programme (WFP)", "by WFP", "by wfp")
    assert found.documents["doc"].pages == {1, 2}


def test_an_acronym_that_begins_an_identifier_names_nothing():
    wanted = condition("Fish and Wildlife Service", "entity", acronyms=["FWS"])
    found = search(wanted, "Fish and Wildlife Service (FWS)", "Docket No. FWS\u2013R4\u2013ES")
    assert found.documents["doc"].pages == {1}
    assert found.documents["doc"].doubtful == {2}


def test_acronyms_elsewhere_count_only_if_most_documents_spell_them_out():
    wanted = condition("World Food Programme", "entity", acronyms=["WFP"])
    spelled = {f"d{n}": [[("text", "World Food Programme (WFP)")]] for n in range(3)}
    bare = {"e": [[("text", "by WFP")]]}
    assert search(wanted, documents=spelled | bare).documents["e"].pages == {1}
    many = bare | {f"e{n}": [[("text", "by WFP")]] for n in range(4)}
    assert search(wanted, documents=spelled | many).documents["e"].doubtful == {1}


def test_acronyms_of_two_letters_never_count_alone():
    wanted = condition("World Bank", "entity", acronyms=["WB"])
    spelled = {f"d{n}": [[("text", "World Bank (WB)")]] for n in range(9)}
    found = search(wanted, documents=spelled | {"e": [[("text", "by WB")]]})
    assert found.documents["e"].doubtful == {1}


def test_a_search_survives_writing_and_reading():
    found = search(condition("Risk Management", acronyms=["RM"]), "Risk Management (RM)")
    assert Searched.from_json(found.to_json()) == found


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Household Composition", "differences in household demographic composition"),
        ("Household Composition", "the composition of the household"),
        ("Public Comment Periods", "Comments of the public. The comment period ended."),
        ("Risk Management", "The risk. Management met."),
        ("Energy Efficiency", "more energy efficient houses"),
        ("Youth Engagement", "the importance of engaging with youth"),
        ("Diabetes", "care of diabetic patients"),
        ("Risk Management", "counterrisk managements"),
        ("United Nations Statistics Division", "questions (Statistics Division)"),
    ],
)
def test_words_close_together_make_an_absence_doubtful(name, text):
    found = Searched(condition(name), {})
    assert list(doubtful_absences(found, [bare_document(zoned([("text", text)]))])) == ["doc"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Household Composition", "the household. Its members were asked about the composition"),
        ("Risk Management", "risk of loss, which the senior management knew"),
    ],
)
def test_words_far_apart_leave_an_absence_clear(name, text):
    found = Searched(condition(name), {})
    assert list(doubtful_absences(found, [bare_document(zoned([("text", text)]))])) == []


def test_a_phrase_broken_by_the_end_of_a_page_makes_an_absence_doubtful():
    pages = zoned([("text", "about risk")], [("text", "management of")])
    found = Searched(condition("Risk Management"), {})
    assert list(doubtful_absences(found, [bare_document(pages)])) == ["doc"]


def test_a_page_without_the_wording_is_missed_on_the_second_reading():
    document = bare_document(zoned([("text", "risk management")], [("text", "nothing")]))
    found = Searched(condition("Risk Management"), {"doc": Presence({1, 2})})
    assert missing_pages(found, document) == [2]


def test_a_shortened_name_of_a_law_makes_an_absence_doubtful():
    document = bare_document(zoned([("text", "under the Refuge Administration Act (16 U.S.C.)")]))
    found = Searched(condition("National Wildlife Refuge System Administration Act", "entity"), {})
    assert list(doubtful_absences(found, [document])) == ["doc"]
    other = Searched(condition("Federal Land Policy and Management Act", "entity"), {})
    forest = bare_document(zoned([("text", "the National Forest Management Act")]))
    assert list(doubtful_absences(other, [forest])) == []
