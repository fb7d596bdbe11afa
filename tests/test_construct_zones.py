from construct_corpus import record, zoned
from nclue_construct.zones import zone_document

ENTRY = ("text", "1. Adams, J. and Brown, K. 1999. World Bank lending. Vol. 3. 2001. 2002.")


def test_running_headers_and_page_numbers_do_not_count():
    (page,) = zoned([("header", "World Bank"), ("text", "Body"), ("page_number", "7")])
    assert page.body == "Body"
    assert "World Bank" in page.aside


def test_lines_with_leaders_point_elsewhere():
    (page,) = zoned(
        [("text", "Risk Management ........... 7\nRisk was low.\nScope\u2026\u2026\u20268")]
    )
    assert page.body == "Risk was low."
    assert "Risk Management" in page.aside


def test_a_page_noted_as_contents_does_not_count():
    noted = record("doc", 1, ("text", "Risk Management 7"), note="table of contents")
    (page,) = zone_document([noted])
    assert page.body == ""


def test_a_contents_list_within_a_page_ends_at_the_next_heading():
    (page,) = zoned([
        ("text", "Preamble Table of Contents"), ("text", "A. Clean Air Act"),
        ("title", "Background"), ("text", "The Clean Water Act"),
    ])  # fmt: skip
    assert "Clean Air" not in page.body
    assert "Clean Water" in page.body


def test_a_list_of_tables_without_leaders_points_elsewhere():
    rows = "\n".join(f"TABLE {n} Duration of Unemployment by sex {n * 7}" for n in range(1, 9))
    assert zoned([("text", rows)])[0].body == ""


def test_entries_with_their_page_numbers_in_blocks_of_their_own_point_elsewhere():
    blocks = [("text", text) for n in range(8) for text in (f"7.{n} Duration by sex", f"{40 + n}")]
    assert zoned(blocks)[0].body == ""


def test_a_table_of_numbers_is_no_list_of_pages():
    rows = "\n".join(f"Region {name} {n}" for name, n in zip("abcdefgh", (9, 3, 8, 1, 7, 2, 6, 5)))
    assert zoned([("table", rows)])[0].body == rows


def test_the_list_of_sections_of_a_regulation_points_elsewhere():
    text = "162.338 What is it?\n162.339 Will NEPA apply?\n162.340 What then?"
    (page,) = zoned([("text", text), ("title", "Subpart A"), ("text", "162.338 What is it?")])
    assert page.body == "Subpart A\n\n162.338 What is it?"


def test_a_reference_list_goes_on_over_pages_and_ends_at_the_appendix():
    pages = zoned(
        [("text", "Before"), ("title", "7. References"), ENTRY],
        [ENTRY, ("title", "A Prompts"), ("text", "Appendix text")],
    )
    assert pages[0].body == "Before"
    assert pages[1].body == "A Prompts\n\nAppendix text"


def test_a_reference_heading_may_run_into_the_list():
    (page,) = zoned([("text", f"References\n{ENTRY[1]}")])
    assert page.body == ""


def test_a_page_that_does_not_look_like_references_ends_the_list():
    pages = zoned([("title", "References"), ENTRY], [("text", "Chapter text without any years")])
    assert pages[1].body == "Chapter text without any years"


def test_the_word_references_in_a_sentence_begins_no_list():
    (page,) = zoned([("text", "References to the World Bank are few.")])
    assert "World Bank" in page.body


def test_headings_may_continue_in_the_next_heading_but_not_in_text():
    (page,) = zoned([("title", "Grievance"), ("title", "Mechanism"), ("text", "Text")])
    assert page.body == "Grievance\nMechanism\n\nText"
    assert page.kind_at(page.body.index("Mechanism")) == "title"
    assert page.kind_at(page.body.index("Text")) == "text"
