"""The text layer: order, headings, running lines, notes; hostile and odd input."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nclue_core.pages import page_from_json
from nclue_reconstruct.outcome import DocumentError
from nclue_reconstruct.read import headings, running
from nclue_reconstruct.read.reading_order import reading_order
from nclue_reconstruct.read.textlayer import extract_document
from nclue_reconstruct.run.pages_out import (
    page_features,
    page_schema,
    read_page_tables,
    to_markdown,
    write_pages_parquet,
)
from reconstruct_pdfs import BODY, blank, body, encrypted, raw, write


def extract(pdf, doc_id="doc"):
    return list(extract_document(pdf, doc_id, "0" * 64))


def of_type(record, *types):
    return [block.text for block in record.blocks if block.type in types]


@pytest.fixture
def report(tmp_path):
    """Six pages with header, footer, numbers and headings of three levels."""
    pages = []
    for number in range(1, 7):
        lines = [
            (72, 40, "Annual Labour Report", 8),
            (72, 820, "Ministry of Statistics", 8),
            (300, 820, f"{number + 10}", 8),
            (72, 100, f"{number} Chapter about things", 18, "hebo"),
            *body(72, 130, 8),
            (72, 260, f"{number}.1 Section in detail", 12, "hebo"),
            *body(72, 280, 8),
            (72, 400, "Findings of the year", 12, "hebo"),
            *body(72, 420, 8),
        ]
        pages.append(lines)
    return write(tmp_path / "report.pdf", pages)


def test_headers_and_footers_are_kept_as_blocks_and_left_out_of_the_text(report):
    for number, record in enumerate(extract(report), start=1):
        assert of_type(record, "header") == ["Annual Labour Report"]
        assert of_type(record, "footer") == ["Ministry of Statistics"]
        assert of_type(record, "page_number") == [str(number + 10)]
        assert "Annual" not in record.text
        assert "Ministry" not in record.text
        assert record.page == number


def test_headings_have_the_level_of_their_numbering_and_style(report):
    record = extract(report)[2]
    titles = [(b.text, b.level) for b in record.blocks if b.type == "title"]
    assert titles == [
        ("3 Chapter about things", 1),
        ("3.1 Section in detail", 2),
        ("Findings of the year", 2),
    ]


def test_levels_of_the_outline_come_before_those_of_the_style(tmp_path):
    lines = [
        (72, 100, "Part of the whole", 12, "hebo"),
        *body(72, 120, 10),
        (72, 300, "Another matter", 12, "hebo"),
        *body(72, 320, 10),
    ]
    toc = [[1, "Cover", 1], [2, "Chapter", 1], [3, "Part of the Whole", 1]]
    record = extract(write(tmp_path / "a.pdf", [lines], toc=toc))[0]
    titles = [(b.text, b.level) for b in record.blocks if b.type == "title"]
    assert titles == [("Part of the whole", 3), ("Another matter", 3)]


def test_boxes_are_fractions_of_the_page_as_displayed(tmp_path):
    pdf = write(tmp_path / "a.pdf", [[(100, 400, "somewhere in the middle", 20)]], size=(400, 800))
    record = extract(pdf)[0]
    (block,) = record.blocks
    x0, y0, x1, y1 = block.bbox
    assert (record.width, record.height) == (400, 800)
    assert x0 == pytest.approx(0.25, abs=0.01)
    assert y0 < 0.5 <= y1
    assert x0 < x1 <= 1


def test_a_rotated_page_has_the_size_and_boxes_of_its_display(tmp_path):
    import pymupdf

    pdf = write(tmp_path / "a.pdf", [[(72, 100, "rotated words here", 12)]], size=(400, 800))
    document = pymupdf.open(pdf)
    document[0].set_rotation(90)
    document.saveIncr()
    record = extract(pdf)[0]
    assert (record.width, record.height) == (800, 400)
    assert record.note == "text runs sideways"
    assert record.blocks[0].bbox[0] > 0.8  # what was near the top is now at the right
    assert record.blocks[0].bbox[1] == pytest.approx(72 / 400, abs=0.01)


def test_two_columns_are_read_one_after_the_other(tmp_path):
    half = "left column text that is long enough "
    left = [(60, 100 + 14 * i, f"left {i} {half}"[:42], 10) for i in range(20)]
    right = [(320, 100 + 14 * i, f"right {i} {half}"[:42], 10) for i in range(20)]
    mixed = [(60, 60, "A title over both of the columns", 18, "hebo"), *right, *left]
    text = extract(write(tmp_path / "a.pdf", [mixed]))[0].text
    assert text.index("A title over") < text.index("left 0")
    assert text.index("left 19") < text.index("right 0")


def test_order_of_the_file_stays_where_it_never_goes_back_up(tmp_path):
    boxes = [(0, 0, 50, 10), (0, 20, 50, 30), (60, 0, 110, 10), (60, 20, 110, 30)]
    assert reading_order(boxes) == [0, 1, 2, 3]


def test_boxes_in_disorder_are_cut_into_bands_and_columns():
    title, left1, left2 = (0, 0, 110, 8), (0, 20, 50, 30), (0, 40, 50, 55)
    right1, right2 = (60, 22, 110, 33), (60, 40, 110, 55)
    boxes = [right2, left2, title, right1, left1]
    assert [boxes[i] for i in reading_order(boxes)] == [title, left1, left2, right1, right2]


@given(
    st.lists(
        st.tuples(*[st.floats(0, 500) for _ in range(4)]).map(
            lambda b: (min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3]))
        ),
        max_size=40,
    )
)
def test_reading_order_keeps_every_box_once(boxes):
    assert sorted(reading_order(boxes)) == list(range(len(boxes)))


def test_heads_of_tables_at_the_top_of_a_few_pages_are_no_running_headers(tmp_path):
    words = [
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "zeta",
        "eta",
        "theta",
        "iota",
        "kappa",
        "lamda",
        "mu",
        "nu",
    ]

    def own_body(page, y, n):
        return [(72, y + 13 * i, f"{words[page]} {words[i % 13]} {BODY}", 10) for i in range(n)]

    pages = [[*own_body(i, 70, 40), (72, 830, str(i + 1), 8)] for i in range(12)]
    for number in (4, 5, 6):
        pages[number] = [
            (72, 70, "Model", 10),
            (300, 70, "Accuracy", 10),
            *own_body(number, 90, 38),
            (72, 830, str(number + 1), 8),
        ]
    records = extract(write(tmp_path / "a.pdf", pages))
    assert "Model" in records[4].text
    assert of_type(records[4], "header") == []
    assert of_type(records[4], "page_number") == ["5"]


def test_years_under_the_charts_of_several_pages_are_no_page_numbers(tmp_path):
    pages = [
        [*body(72, 100, 30), (100, 780, "1983", 8), (300, 830, str(i + 1), 8)] for i in range(5)
    ]
    for record in extract(write(tmp_path / "a.pdf", pages)):
        assert "1983" in record.text
        assert of_type(record, "page_number") == [str(record.page)]


def test_titles_of_slides_that_repeat_stay_titles(tmp_path):
    pages = [
        [(60, 60, "Pre-Submitted Questions" if i in (3, 4, 5) else f"Topic {i}", 30),
         *body(60, 150, 6)]
        for i in range(10)
    ]  # fmt: skip
    records = extract(write(tmp_path / "a.pdf", pages, size=(960, 540)))
    assert of_type(records[4], "title") == ["Pre-Submitted Questions"]


def test_roman_numbers_that_count_pages_are_page_numbers(tmp_path):
    romans = ["i", "ii", "iii", "iv", "v"]
    pages = [[*body(72, 100, 30), (300, 830, roman, 8)] for roman in romans]
    records = extract(write(tmp_path / "a.pdf", pages))
    assert [of_type(record, "page_number") for record in records] == [[r] for r in romans]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12", True), ("- 12 -", True), ("Page 3 of 10", True), ("xiv", True), ("A-7", True),
        ("12 | P a g e", True), ("Table 1", False), ("2020 2021", False), ("word", False),
        ("12 of the", False),
    ],
)  # fmt: skip
def test_page_numbers_are_told_from_other_short_lines(text, expected):
    assert running.is_page_number(text) is expected


def test_a_table_of_contents_is_noted_and_its_entries_are_no_headings(tmp_path):
    entries = [
        (72, 120 + 20 * i, f"{i + 1}. Chapter name {'.' * 60} {i * 7 + 3}", 10) for i in range(9)
    ]
    pages = [[(72, 80, "Contents", 16, "hebo"), *entries], body(72, 100, 30)]
    first, second = extract(write(tmp_path / "a.pdf", pages))
    assert first.note == "table of contents"
    assert of_type(first, "title") == ["Contents"]
    assert second.note is None


def test_a_table_with_dot_leaders_whose_numbers_fall_is_no_table_of_contents():
    rows = [f"Total {'.' * 20} {number}" for number in (9780, 120, 7732, 11, 642)]
    assert not headings.is_contents(rows)
    assert headings.is_contents([f"Total {'.' * 20} {number}" for number in (1, 2, 9, 11, 64)])


def test_a_run_in_heading_is_no_heading_but_a_line_of_its_own_is(tmp_path):
    lines = [
        (72, 100, "Methods of the study", 10, "hebo"),
        (72, 114, "Covering more types.", 10, "hebo"),
        (180, 114, "The goal is to include as many as", 10),
        *body(72, 128, 20),
    ]
    record = extract(write(tmp_path / "a.pdf", [lines]))[0]
    assert of_type(record, "title") == ["Methods of the study"]


def test_lines_in_italics_and_capitals_are_headings_where_they_stand_alone(tmp_path):
    lines = [
        (72, 80, "INDICATORS OF THE LABOUR FORCE", 9),
        *body(72, 100, 10),
        (72, 260, "Historical Distribution", 10, "heit"),
        *body(72, 280, 10),
        (72, 440, "Source: a survey of the region", 10, "heit"),
    ]
    record = extract(write(tmp_path / "a.pdf", [lines]))[0]
    assert of_type(record, "title") == ["INDICATORS OF THE LABOUR FORCE", "Historical Distribution"]


def test_a_title_of_several_lines_is_one_title(tmp_path):
    lines = [
        (72, 80, "Enhancing the Evaluation of Facts", 20, "hebo"),
        (72, 104, "with negative samples", 20, "hebo"),
        *body(72, 150, 20),
    ]
    record = extract(write(tmp_path / "a.pdf", [lines]))[0]
    assert of_type(record, "title") == ["Enhancing the Evaluation of Facts with negative samples"]


def test_a_text_layer_with_a_few_symbols_is_no_garbage():
    from nclue_reconstruct.read.textlayer import _is_garbled

    assert not _is_garbled("a check box \uf06f and another one \uf06f")
    assert _is_garbled("wor\ufffd\ufffd 12\ufffd8+3\ufffd\ufffd of\ufffd it\ufffd\ufffd")


def test_captions_lists_and_footnotes_have_their_types(tmp_path):
    lines = [
        *body(72, 100, 20),
        (72, 400, "Table 3: Households by region", 10, "hebo"),
        (72, 500, "· the first of several points", 10),
        (72, 780, "3 Data of the second round are not yet final.", 7),
    ]
    record = extract(write(tmp_path / "a.pdf", [lines]))[0]
    assert of_type(record, "caption") == ["Table 3: Households by region"]
    assert of_type(record, "list")[0].endswith("the first of several points")
    assert of_type(record, "footnote") == ["3 Data of the second round are not yet final."]
    assert of_type(record, "title") == []


def test_a_page_without_text_says_so(tmp_path):
    (record,) = extract(blank(tmp_path / "a.pdf"))
    assert (record.has_text, record.text, record.note) == (False, "", "no text layer")


def test_an_empty_user_password_is_no_obstacle(tmp_path):
    records = extract(encrypted(tmp_path / "a.pdf", ""))
    assert [record.text for record in records] == [f"secret page {i}" for i in (1, 2, 3)]


def test_a_password_is_named_as_what_is_missing(tmp_path):
    with pytest.raises(DocumentError, match="password is required") as info:
        extract(encrypted(tmp_path / "a.pdf", "secret"))
    assert info.value.state == "password_required"


def test_hyphens_at_line_ends_stay(tmp_path):
    lines = [(72, 100, "an impor-", 10), (72, 112, "tant matter", 10)]
    assert extract(write(tmp_path / "a.pdf", [lines]))[0].text == "an impor-\ntant matter"


def test_an_unreadable_text_layer_is_not_passed_on(tmp_path):
    """A font whose codes mean nothing gives replacement characters."""
    stream = b"BT /F1 12 Tf 72 700 Td <" + b"0102030405" * 12 + b"> Tj ET"
    to_unicode = b"begincmap 1 beginbfrange <01> <05> <FFFD> endbfrange endcmap"
    pdf = raw(
        tmp_path / "a.pdf",
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R"
            b"/Resources<</Font<</F1 5 0 R>>>>>>",
            b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
            b"<</Type/Font/Subtype/Type1/BaseFont/Symbola/FirstChar 1/LastChar 5"
            b"/Widths[500 500 500 500 500]/ToUnicode 6 0 R"
            b"/Encoding<</Type/Encoding/Differences[1/g1/g2/g3/g4/g5]>>>>",
            b"<</Length %d>>stream\n%s\nendstream" % (len(to_unicode), to_unicode),
        ],
    )
    (record,) = extract(pdf)
    assert not record.has_text
    assert record.text == ""


def test_a_damaged_outline_takes_nothing_from_the_pages(tmp_path):
    pdf = raw(
        tmp_path / "a.pdf",
        [
            b"<</Type/Catalog/Pages 2 0 R/Outlines 5 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font"
            b"<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>",
            b"<</Length 42>>stream\nBT /F1 12 Tf 72 700 Td (still readable) Tj ET\nendstream",
            b"<</First 6 0 R/Last 6 0 R>>",
            b"<</Title(loop)/Parent 5 0 R/Next 6 0 R/First 6 0 R/Dest[99 0 R]>>",
        ],
    )
    assert extract(pdf)[0].text == "still readable"


def test_a_footer_stored_first_moves_to_its_place_and_nothing_else_does():
    footer, title = (70, 800, 500, 810), (70, 60, 500, 80)
    left, right = (70, 100, 280, 700), (310, 100, 500, 700)
    note = (70, 710, 280, 790)  # stored after the right column, as in the file
    boxes = [footer, title, left, right, note]
    assert reading_order(boxes) == [1, 2, 3, 4, 0]


def test_labels_of_a_figure_do_not_disturb_the_columns(tmp_path):
    """Labels stored bottom up, across the gap between the columns."""
    left = [(60, 300 + 14 * i, f"left {i} of the text in columns", 10) for i in range(20)]
    right = [(320, 300 + 14 * i, f"right {i} of the text in columns", 10) for i in range(20)]
    labels = [(200 + 20 * i, 280 - 18 * i, f"label {i}", 7) for i in range(9)]
    pdf = write(tmp_path / "a.pdf", [[*left, *labels, *right]])
    text = extract(pdf)[0].text
    places = [text.index(words) for words in ("left 0", "left 19", "right 0", "right 19")]
    assert places == sorted(places)
    assert [text.index(f"label {i}") for i in range(9)] == sorted(
        text.index(f"label {i}") for i in range(9)
    )


def test_order_of_many_boxes_is_found_quickly():
    boxes = [(310 * (i % 2), 30 * (i // 2), 310 * (i % 2) + 300, 30 * (i // 2) + 20)
             for i in reversed(range(600))]  # fmt: skip
    began = time.monotonic()
    order = reading_order(boxes)
    assert time.monotonic() - began < 0.5
    assert [boxes[i][0] for i in order] == [0] * 300 + [310] * 300


def test_long_lines_and_many_lines_take_linear_time(tmp_path):
    """Lines of dots and blanks are what backtracking patterns choke on."""
    began = time.monotonic()
    for text in ("." * 5000, "1." * 2500, "- " * 2500, " ." * 2500 + "x", "(" * 5000):
        headings.ends_with_leader(text)
        running.is_page_number(text)
        running.line_keys("top", text, 1)
        headings.looks_like_heading(
            headings.Unit([text], (0, 0, 1, 1), 10, True, 1), headings.Typography(10, False, 10)
        )
    assert time.monotonic() - began < 1


def test_records_survive_json(report):
    for record in extract(report):
        assert page_from_json(json.loads(json.dumps(record.to_json()))) == record


def test_control_characters_and_lone_surrogates_do_not_reach_the_text(tmp_path):
    from nclue_reconstruct.read.textlines import _line, _no_turn

    span = {"text": "a\x00b\ud800c\td\xa0e", "size": 10, "flags": 0, "font": "F"}
    line = _line({"spans": [span], "bbox": (0, 0, 1, 1), "dir": (1.0, 0.0)}, 0, _no_turn)
    assert line.text == "ab\ufffdc d e"


class TestPagesParquet:
    @pytest.fixture
    def folder(self, report, tmp_path):
        from nclue_core.pages import write_page

        folder = tmp_path / "ocr_text"
        for doc_id in ("b-doc", "a-doc"):
            for record in extract(report, doc_id):
                write_page(folder, record)
        return folder

    def test_has_every_page_once_in_order(self, folder, tmp_path):
        path = tmp_path / "pages.parquet"
        assert write_pages_parquet(folder, path) == 12
        (table,) = read_page_tables(path)
        places = list(zip(table["doc_id"].to_pylist(), table["page"].to_pylist()))
        assert places == [(d, p) for d in ("a-doc", "b-doc") for p in range(1, 7)]

    def test_gives_the_records_back(self, folder, tmp_path):
        from nclue_core.pages import read_pages

        path = tmp_path / "pages.parquet"
        write_pages_parquet(folder, path)
        rows = [row for table in read_page_tables(path) for row in table.to_pylist()]
        assert [page_from_json(row) for row in rows] == list(read_pages(folder))

    def test_is_the_same_bytes_again_and_is_not_rewritten(self, folder, tmp_path):
        first, second = tmp_path / "1.parquet", tmp_path / "2.parquet"
        write_pages_parquet(folder, first)
        write_pages_parquet(folder, second)
        assert first.read_bytes() == second.read_bytes()
        before = first.stat().st_ino
        assert write_pages_parquet(folder, first) == 12
        assert first.stat().st_ino == before

    def test_is_rewritten_when_a_page_was_added(self, folder, tmp_path):
        path = tmp_path / "pages.parquet"
        write_pages_parquet(folder, path)
        extra = (folder / "a-doc" / "6.json").read_text().replace('"page":6', '"page":7')
        (folder / "a-doc" / "7.json").write_text(extra)
        assert write_pages_parquet(folder, path) == 13

    def test_has_the_declared_schema(self):
        assert page_features().arrow_schema.equals(page_schema())

    def test_markdown_has_pages_and_headings_without_headers(self, report):
        text = to_markdown(extract(report)[:2])
        assert text.startswith("<!-- page 1 -->\n\n# 1 Chapter about things\n")
        assert "\n## 2.1 Section in detail\n" in text
        assert "Annual Labour Report" not in text
        assert BODY.strip() in text


@pytest.mark.shared
@pytest.mark.parametrize(
    ("doc_id", "page", "titles"),
    [
        (
            "acl_naacl2024_a_closer_look_at_the_self_verification_abilit",
            2,
            ["2 Related Work", "2.1 Language Models for Logical Reasoning",
             "2.2 Self-Verification with Large Language Models"],
        ),
        (
            "unu_wider_wp2020_167_wage_inequality_india",
            6,
            ["2.2 Construction of variables",
             "2.3 Matching occupational classifications across surveys"],
        ),
    ],
)  # fmt: skip
def test_headings_of_real_papers_are_found(shared_dir, doc_id, page, titles):
    pdf = shared_dir / "corpus" / "pdfs" / f"{doc_id}.pdf"
    assert of_type(extract(pdf, doc_id)[page - 1], "title") == titles


class TestRunningHeads:
    """Lines that repeat near an edge and belong to the text."""

    @staticmethod
    def survey(n_pages=12):
        """Tables whose rows go on to the last line of each page, at heights that differ."""
        pages = []
        for number in range(n_pages):
            rows = [(72, 60 + 12 * i + number % 3, f"Row {number}.{i}", 9) for i in range(60)]
            label = (72, 790 + number % 3, "Female", 9)
            cells = [(300 + 80 * j, 790 + number % 3, f"{number * 7 + j}.4", 9) for j in range(3)]
            foot = [(72, 825, "Survey of the Region 2019", 8), (500, 825, str(number + 1), 8)]
            pages.append([*rows, label, *cells, *foot])
        return pages

    def test_a_row_label_beside_its_cells_stays_in_the_text(self, tmp_path):
        for record in extract(write(tmp_path / "a.pdf", self.survey())):
            assert "Female" in record.text
            assert of_type(record, "footer") == ["Survey of the Region 2019"]
            assert of_type(record, "page_number") == [str(record.page)]

    def test_heads_of_a_table_that_goes_on_over_a_few_pages_stay(self, tmp_path):
        pages = [[(72, 100, f"Prose {i}", 10), *body(72, 120, 40)] for i in range(14)]
        for number in range(4, 8):
            heads = [(72 + 120 * j, 50, word, 9) for j, word in enumerate(("Age", "Men", "Women"))]
            pages[number] = [
                *heads,
                *((72, 80 + 12 * i, f"{i} {i * number}", 9) for i in range(55)),
            ]
        for record in extract(write(tmp_path / "a.pdf", pages))[4:8]:
            assert all(word in record.text for word in ("Age", "Men", "Women"))

    @pytest.mark.parametrize("title", ["Annex {}", "Table {}: Results", "{}. Country profile"])
    def test_a_numbered_heading_counts_no_pages(self, tmp_path, title):
        pages = [[(72, 60, title.format(i), 11), (300, 825, str(i + 4), 8)] for i in range(1, 9)]
        for number, record in enumerate(extract(write(tmp_path / "a.pdf", pages)), start=1):
            assert record.text == title.format(number)
            assert of_type(record, "page_number") == [str(number + 4)]

    def test_a_heading_that_grows_beside_another_page_number_stays(self, tmp_path):
        pages = [
            [(72, 60, f"{i} Profile", 11), *body(72, 120, 30), (300, 825, str(i + 10), 8)]
            for i in range(1, 5)
        ]
        pages += [[*body(72, 100, 30), (300, 825, str(i + 10), 8)] for i in range(5, 12)]
        records = extract(write(tmp_path / "a.pdf", pages))
        assert [f"{i} Profile" in records[i - 1].text for i in range(1, 5)] == [True] * 4

    def test_a_page_keeps_its_only_line(self, tmp_path):
        head, pages = (72, 40, "Annual Labour Report", 8), []
        for number in range(8):
            pages.append([head, *(() if number == 5 else body(72, 100, 30))])
        records = extract(write(tmp_path / "a.pdf", pages))
        assert records[5].text == "Annual Labour Report"
        assert all("Annual" not in record.text for record in records if record.page != 6)
