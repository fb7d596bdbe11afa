"""MinerU: every format that it writes, and the driver against stand-ins of each generation."""

from __future__ import annotations

import json
import os
import stat
import sys
import time
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nclue_core.errors import InputError, MissingDependencyError, UsageError
from nclue_core.pages import PageRecord, read_document
from nclue_reconstruct import outcome
from nclue_reconstruct.read import engines, mineru_driver
from nclue_reconstruct.read.engine_mineru import MinerUEngine
from nclue_reconstruct.read.mineru_adapter import find_output, parse_output, read_output, sniff
from nclue_reconstruct.read.mineru_adapter_text import plain_code, plain_equation, table_text
from nclue_reconstruct.read.mineru_driver import MinerU, MinerUSettings, command
from nclue_reconstruct.run.ocr_steps import ocr_document
from reconstruct_pdfs import encrypted, raw, write

SHA = "ab" * 32


def records(value, **more):
    return list(parse_output(value).records("doc", SHA, **more))


def shape(record):
    return [(b.type, b.level, b.text) for b in record.blocks]


def span(text, kind="text", **more):
    return {"type": kind, "content": text, **more}


def lines(*texts):
    return [{"spans": [span(text)]} for text in texts]


class TestContentListV1:
    def test_items_become_blocks_of_their_page(self):
        value = [
            {"type": "text", "text": "Title ", "text_level": 1, "page_idx": 0,
             "bbox": [100, 50, 500, 90]},
            {"type": "text", "text": "Body ", "page_idx": 0},
            {"type": "text", "text": "Section", "text_level": 2, "page_idx": 2},
            {"type": "list", "sub_type": "text", "list_items": ["one", "two"], "page_idx": 2},
            {"type": "equation", "text": "$$\nE = mc^2\n$$", "text_format": "latex", "page_idx": 2},
            {"type": "code", "code_body": "```python\nx = 1\n```", "code_caption": ["Listing 1"],
             "page_idx": 2},
            {"type": "header", "text": "Annual Report", "page_idx": 2},
            {"type": "page_number", "text": "3", "page_idx": 2},
            {"type": "page_footnote", "text": "1 A note.", "page_idx": 2},
        ]  # fmt: skip
        first, second, third = records(value)
        assert shape(first) == [("title", 1, "Title"), ("text", None, "Body")]
        assert first.blocks[0].bbox == (0.1, 0.05, 0.5, 0.09)
        assert (second.page, second.has_text, second.note) == (2, False, "empty page")
        assert shape(third) == [
            ("title", 2, "Section"),
            ("list", None, "one\ntwo"),
            ("equation", None, "E = mc^2"),
            ("caption", None, "Listing 1"),
            ("code", None, "x = 1"),
            ("header", None, "Annual Report"),
            ("page_number", None, "3"),
            ("footnote", None, "1 A note."),
        ]
        assert "Annual Report" not in third.text
        assert "1 A note." in third.text

    def test_tables_and_captions_are_text(self):
        value = [
            {
                "type": "table",
                "page_idx": 0,
                "table_caption": ["Table 1: Values", "in dollars"],
                "table_body": "<table><tr><th>A</th><th>B</th></tr>"
                "<tr><td>1</td><td>2 &amp; 3</td></tr></table>",
                "table_footnote": ["Source: survey"],
            }
        ]
        (record,) = records(value)
        assert record.text == "Table 1: Values\nin dollars\nA\tB\n1\t2 & 3\nSource: survey"

    @pytest.mark.parametrize(
        "caption",
        [
            {"img_caption": "Figure 1"},
            {"img_caption": ["Figure 1"]},
            {"image_caption": ["Figure 1"]},
        ],
        ids=["0.7: string", "0.9-2.0: img_", "2.1: image_"],
    )
    def test_captions_of_all_versions_are_read(self, caption):
        (record,) = records([{"type": "image", "page_idx": 0, "img_path": "images/", **caption}])
        assert shape(record) == [("caption", None, "Figure 1")]

    def test_what_is_discarded_is_left_out_of_the_text(self):
        value = [
            {"type": "text", "text": "Body", "page_idx": 0},
            {"type": "discarded", "text": "Report", "page_idx": 0, "bbox": [1, 10, 99, 20]},
            {"type": "discarded", "text": "Ministry", "page_idx": 0, "bbox": [1, 950, 99, 960]},
            {"type": "discarded", "text": "- 7 -", "page_idx": 0, "bbox": [1, 970, 99, 980]},
        ]
        (record,) = records(value)
        assert [b.type for b in record.blocks] == ["text", "header", "footer", "page_number"]
        assert record.text == "Body"

    def test_traps_of_real_files_are_no_errors(self):
        value = [
            {"bbox": [0, 0, 1, 1], "page_idx": 0},  # a block that MinerU itself does not know
            {"type": "text", "text": "", "page_idx": 1},  # merged into the page before
            {"type": "table", "img_path": "", "page_idx": 1},  # continues a table
            {"type": "new_kind", "text": "something", "page_idx": 1},
            {"type": "text", "text": "odd box", "page_idx": 1, "bbox": ["a", None, 3]},
            {"type": "text", "text": 7, "page_idx": 1},
            {"type": "text", "text": "lost", "page_idx": "x"},
            "not an object",
        ]
        first, second = records(value)
        assert first.blocks == ()
        assert shape(second) == [("other", None, "something"), ("text", None, "odd box")]
        assert second.blocks[1].bbox is None

    def test_pages_after_the_last_item_come_from_the_known_count(self):
        value = [{"type": "text", "text": "a", "page_idx": 0}]
        assert [record.page for record in records(value, n_pages=3)] == [1, 2, 3]

    def test_a_window_is_placed_by_its_offset(self):
        value = [{"type": "text", "text": "a", "page_idx": 1}]
        assert [(r.page, r.text) for r in records(value, n_pages=2, offset=50)] == [
            (51, ""),
            (52, "a"),
        ]

    def test_more_pages_than_the_document_has_are_an_error(self):
        value = [{"type": "text", "text": "a", "page_idx": 5}]
        with pytest.raises(InputError, match="has a page 6, but only 3 pages were expected"):
            records(value, n_pages=3)


def test_content_list_v2_keeps_empty_pages_and_reads_spans():
    def item(kind, content, **more):
        return {"type": kind, "content": content, **more}

    value = [
        [
            item("title", {"title_content": [span("Sec"), span("tion")], "level": 2},
                 bbox=[0, 0, 500, 100]),
            item("paragraph", {"paragraph_content": [
                span("See "), span("x^2", "equation_inline"), {"type": "hyperlink", "url": "u",
                "children": [span("here")]}]}),
            item("page_header", {"page_header_content": [span("Head")]}),
        ],
        [],
        [
            item("table", {"html": "<table><tr><td>1</td></tr></table>",
                           "table_caption": [span("Table 2")], "table_footnote": []}),
            item("list", {"list_items": [{"item_content": [span("one")]},
                                         {"item_content": [span("two")]}]}),
            item("equation_interline", {"math_content": "a = b"}),
            item("algorithm", {"algorithm_caption": [], "algorithm_content": [span("for x")]}),
            {"bbox": [0, 0, 1, 1]},
        ],
    ]  # fmt: skip
    first, second, third = records(value)
    assert shape(first) == [("title", 2, "Section"), ("text", None, "See x^2here"),
                            ("header", None, "Head")]  # fmt: skip
    assert (second.page, second.blocks) == (2, ())
    assert shape(third) == [
        ("caption", None, "Table 2"),
        ("table", None, "1"),
        ("list", None, "one\ntwo"),
        ("equation", None, "a = b"),
        ("code", None, "for x"),
    ]


class TestMiddle:
    def page(self, index, *blocks, discarded=(), preproc=()):
        return {
            "page_idx": index,
            "page_size": [600, 800],
            "para_blocks": list(blocks),
            "discarded_blocks": list(discarded),
            "preproc_blocks": list(preproc),
        }

    def document(self, *pages, **more):
        return {"pdf_info": list(pages), "_backend": "pipeline", "_version_name": "2.7.6", **more}

    def test_every_page_has_an_entry_with_size_version_and_boxes(self):
        title = {"type": "title", "level": 2, "bbox": [60, 80, 300, 160], "lines": lines("A", "B")}
        foot = {"type": "page_number", "bbox": [1, 1, 2, 2], "lines": lines("12")}
        value = self.document(self.page(0, title, discarded=[foot]), self.page(1))
        first, second = records(value)
        assert shape(first) == [("title", 2, "A B"), ("page_number", None, "12")]
        assert first.blocks[0].bbox == (0.1, 0.1, 0.5, 0.2)
        assert (first.width, first.height, first.engine_version) == (600, 800, "mineru 2.7.6")
        assert (second.page, second.note) == (2, "empty page")

    def test_a_paragraph_over_a_page_break_is_put_back_on_its_pages(self):
        begins = {
            "type": "text",
            "lines": [
                {"spans": [span("begins here")]},
                {"spans": [span("ends there", cross_page=True)]},
                {"spans": [span("at last.", cross_page=True)]},
            ],
        }
        rest = {"type": "text", "lines": [], "lines_deleted": True, "bbox": [60, 80, 300, 160]}
        after = {"type": "text", "lines": lines("Next paragraph.")}
        first, second = records(self.document(self.page(0, begins), self.page(1, rest, after)))
        assert first.text == "begins here"
        assert second.text == "ends there\nat last.\nNext paragraph."
        assert second.blocks[0].bbox == (0.1, 0.1, 0.5, 0.2)

    def test_moved_text_without_a_mark_goes_to_the_top_of_its_page(self):
        begins = {"type": "text", "lines": [{"spans": [span("a"), span("b", cross_page=True)]}]}
        after = {"type": "text", "lines": lines("c")}
        first, second = records(self.document(self.page(0, begins), self.page(1, after)))
        assert (first.text, second.text) == ("a", "b\nc")

    def table(self, html, bbox=(1, 2, 3, 4)):
        body = {"type": "table_body", "bbox": list(bbox),
                "lines": [{"spans": [{"type": "table", "html": html}]}]}  # fmt: skip
        caption = {"type": "table_caption", "lines": lines("Table 5")}
        return {"type": "table", "blocks": [caption, body]}

    def test_a_merged_table_takes_the_rows_of_its_own_page(self):
        row1, row2 = "<tr><td>1</td></tr>", "<tr><td>2</td></tr>"
        merged = self.table(f"<table>{row1}{row2}</table>")
        emptied = self.table("")
        own1, own2 = self.table(f"<table>{row1}</table>"), self.table(f"<table>{row2}</table>")
        value = self.document(
            self.page(0, merged, preproc=[own1]), self.page(1, emptied, preproc=[own2])
        )
        first, second = records(value)
        assert first.text == "Table 5\n1"
        assert second.text == "Table 5\n2"

    def test_nested_blocks_lists_and_old_discarded_blocks_are_read(self):
        listing = {"type": "list", "blocks": [{"type": "text", "lines": lines("one")},
                                              {"type": "text", "lines": lines("two")}]}  # fmt: skip
        image = {"type": "image", "blocks": [
            {"type": "image_body", "lines": [{"spans": [{"type": "image", "image_path": "x"}]}]},
            {"type": "image_caption", "lines": lines("Figure 1")}]}  # fmt: skip
        math = {
            "type": "interline_equation",
            "lines": [{"spans": [span("a=b", "interline_equation")]}],
        }
        old = {"type": "discarded", "bbox": [0, 780, 10, 790], "lines": lines("Ministry")}
        (record,) = records(self.document(self.page(0, listing, image, math, discarded=[old])))
        assert shape(record) == [
            ("list", None, "one\ntwo"),
            ("caption", None, "Figure 1"),
            ("equation", None, "a=b"),
            ("footer", None, "Ministry"),
        ]

    def test_a_format_without_pages_gives_no_page_records(self):
        value = self.document({"page_idx": 0, "para_blocks": []}, _backend="office")
        with pytest.raises(InputError, match="a format without pages"):
            records(value)


class TestVersion4:
    def document(self, *pages, kind="physical", schema=True, **more):
        value = {
            "metadata": {
                "producer": {"name": "mineru", "version": "4.0.12"},
                "document": {"page_count": len(pages), "page_count_kind": kind},
            },
            "extensions": {
                "docvortex_layout": {
                    "pages": [{"page_idx": 0, "width_pt": 595.0, "height_pt": 842.0}]
                }
            },
            "is_full_document": True,
            "pages": list(pages),
            **more,
        }
        return {**value, "schema": "docvortex.middle"} if schema else value

    BLOCKS = (
        {"type": "doc_title", "level": 1, "bbox": [0.1, 0.2, 0.3, 0.4],
         "content": [span("Report")]},
        {"type": "paragraph_title", "level": 2, "content": [span("1 "), span("Intro")]},
        {"type": "list", "content": [{"type": "text", "content": [span("- one")]},
                                     {"type": "text", "content": [span("- two")]}]},
        {"type": "table", "content": [
            {"type": "table_caption", "content": [span("Table 1")]},
            {"type": "table_body", "content": "<table><tr><td>1</td><td>2</td></tr></table>"}]},
        {"type": "footer", "content": [span("foot")]},
    )  # fmt: skip
    EXPECTED = (
        ("title", 1, "Report"),
        ("title", 2, "1 Intro"),
        ("list", None, "- one\n- two"),
        ("caption", None, "Table 1"),
        ("table", None, "1\t2"),
        ("footer", None, "foot"),
    )

    def test_middle_json(self):
        value = self.document({"page_idx": 0, "blocks": list(self.BLOCKS)}, {"page_idx": 1})
        first, second = records(value)
        assert sniff(value) == "middle_json"
        assert shape(first) == list(self.EXPECTED)
        assert first.blocks[0].bbox == (0.1, 0.2, 0.3, 0.4)
        assert (first.width, first.height, first.engine_version) == (595, 842, "mineru 4.0.12")
        assert (second.page, second.note, second.width) == (2, "empty page", None)

    def test_middle_json_of_early_versions_without_a_schema(self):
        value = self.document({"page_idx": 0, "blocks": list(self.BLOCKS)}, schema=False)
        assert sniff(value) == "middle_json"
        assert shape(records(value)[0]) == list(self.EXPECTED)

    def test_structured_content(self):
        blocks = [
            {"type": "doc_title", "level": 1, "content": "Report"},
            {"type": "paragraph_title", "level": 2, "content": "1 Intro"},
            {"type": "list", "content": "- one\n- two"},
            {"type": "table", "content": "<table><tr><td>1</td><td>2</td></tr></table>",
             "captions": [{"content": "Table 1"}], "footnotes": []},
            {"type": "footer", "content": "foot"},
        ]  # fmt: skip
        value = self.document({"page_idx": 0, "blocks": blocks}, {"page_idx": 1, "blocks": []},
                              schema=False)  # fmt: skip
        assert sniff(value) == "structured_content"
        first, second = records(value)
        assert shape(first) == list(self.EXPECTED)
        assert second.blocks == ()

    def test_a_window_keeps_the_page_numbers_of_the_document(self):
        text = {"type": "text", "content": [span("third")]}
        value = self.document({"page_idx": 2, "blocks": [text]}, is_full_document=False)
        assert parse_output(value).n_pages is None
        assert [(r.page, r.text) for r in records(value)] == [(1, ""), (2, ""), (3, "third")]

    def test_documents_without_pages_give_no_page_records(self):
        value = self.document({"page_idx": 0, "blocks": []}, kind="declared")
        with pytest.raises(InputError, match="a format without pages"):
            records(value)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ([{"layout_dets": [], "page_info": {}}], "MinerU's model.json"),
        ([[{"type": "text", "angle": 0, "bbox": [0, 0, 1, 1], "content": "x"}]], "model.json"),
        ({"pages": [], "page_index_map": {}}, "model_output.json"),
        ([{"type": "text", "text": "no page"}], "magic-pdf before 0.7"),
        ({"hello": 1}, "without pdf_info or pages; its keys: hello"),
        ([1, 2], "none of MinerU's"),
        ("text", "found a str"),
    ],
)
def test_what_is_no_result_is_told_from_what_is(value, told):
    with pytest.raises(InputError, match=told):
        parse_output(value)


def test_files_are_found_by_what_they_know(tmp_path):
    folder = tmp_path / "doc" / "auto"
    folder.mkdir(parents=True)
    assert find_output(tmp_path) is None
    for name in ("doc_content_list.json", "doc_content_list_v2.json", "doc_middle.json"):
        (folder / name).write_text("[]")
    assert find_output(tmp_path).name == "doc_middle.json"
    (folder / "doc_middle.json").unlink()
    assert find_output(tmp_path).name == "doc_content_list_v2.json"


def test_a_file_that_is_no_json_is_named(tmp_path):
    path = tmp_path / "a_middle.json"
    path.write_text("{")
    with pytest.raises(InputError, match=r"a_middle\.json: not a result of MinerU"):
        read_output(path)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<table><tr><td>a<br>b</td><td></td><td>c</td></tr></table>", "a b\t\tc"),
        ("<table><tr><td>a<td>b<tr><td>c</table>", "a\tb\nc"),
        ("<table><tr><td><table><tr><td>in</td></tr></table> out</td></tr></table>", "in out"),
        ("<TABLE><TR><TD>caps</TD></TR></TABLE>", "caps"),
        ("<table></table>", ""),
        ("$$\n\\begin{tabular}{c} 1 \\end{tabular}\n$$", "\\begin{tabular}{c} 1 \\end{tabular}"),
        (None, ""),
    ],
)
def test_table_bodies_become_rows_of_cells(html, text):
    assert table_text(html) == text


def test_marks_around_equations_and_code_go():
    assert plain_equation("$$\nx\n$$") == "x"
    assert plain_equation("$x$") == "$x$"
    assert plain_code("```\na\n```") == "a"
    assert plain_code("a\n```") == "a\n```"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["type", "text", "page_idx", "content", "blocks", "lines", "spans", "pdf_info", "pages",
             "para_blocks", "bbox", "page_size", "list_items", "table_body", "title_content"]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=25,
)  # fmt: skip


@given(JSON)
def test_no_json_value_does_anything_but_parse_or_be_refused(value):
    try:
        found = list(parse_output(value).records("d", SHA, n_pages=5))
    except InputError:
        return
    assert [record.page for record in found] == [1, 2, 3, 4, 5]
    for record in found:
        json.dumps(record.to_json(), allow_nan=False)


SAMPLES = {
    "arxiv_2410.21169v5": (3, {"table": 1, "title": 4, "equation": 1}),
    "naacl_long_107": (11, {"table": 4, "title": 24}),
    "naacl_long_109": (11, {"table": 3, "title": 17}),
    "research_paper": (11, {"table": 4, "title": 26, "equation": 5}),
    "worldbank_pad": (20, {"table": 8, "title": 32}),
    "catl_manual_vlm": (16, {"table": 4, "title": 52, "list": 19}),
    "svolt_datasheet": (10, {"title": 16}),
    "magicpdf_demo1": (4, {"title": 7, "equation": 6, "caption": 2}),
    "synthetic_report_v4flash": (4, {"title": 5, "caption": 2, "page_number": 3}),
}


@pytest.mark.shared
class TestRealSamples:
    def outputs(self, shared_dir, name):
        for path in sorted((shared_dir / "mineru" / "samples" / name).glob("*.json")):
            if not path.name.endswith(("model.json", "model_output.json")):
                yield read_output(path)

    @pytest.mark.parametrize("name", SAMPLES)
    def test_all_formats_of_a_document_agree(self, shared_dir, name):
        n_pages, counts = SAMPLES[name]
        found = list(self.outputs(shared_dir, name))
        assert len(found) >= 2
        for output in found:
            pages = list(output.records("doc", SHA, n_pages=n_pages))
            types = Counter(block.type for page in pages for block in page.blocks)
            assert {kind: types[kind] for kind in counts} == counts, output.format
            assert len(pages) == n_pages

    @pytest.mark.parametrize("name", ["naacl_long_107", "research_paper", "arxiv_2410.21169v5"])
    def test_texts_of_all_formats_have_the_same_words_on_every_page(self, shared_dir, name):
        """But for hyphens, and ends of paragraphs that V1 leaves on the page before."""
        n_pages, _ = SAMPLES[name]
        versions = [
            [set(p.text.split()) for p in output.records("doc", SHA, n_pages=n_pages)]
            for output in self.outputs(shared_dir, name)
        ]
        for first, *others in zip(*versions):
            for other in others:
                assert len(first & other) >= 0.65 * max(len(first), len(other))

    def test_an_empty_page_is_kept_and_pages_are_numbered_from_one(self, shared_dir):
        for output in self.outputs(shared_dir, "synthetic_report_v4flash"):
            pages = list(output.records("doc", SHA, n_pages=4))
            assert [page.page for page in pages if not page.has_text] == [3]
            assert [b.text for b in pages[3].blocks if b.type == "page_number"] == ["4"]

    def test_a_list_over_a_page_break_is_put_back_by_middle_json_alone(self, shared_dir):
        """A table of contents whose second half V1 leaves on the page before."""
        texts = {
            output.format: [page.text for page in output.records("doc", SHA, n_pages=20)]
            for output in self.outputs(shared_dir, "worldbank_pad")
        }
        assert texts["content_list"][6] == ""
        assert "Procurement" in texts["middle"][6]
        assert "Procurement" in texts["content_list"][5]
        assert "Procurement" not in texts["middle"][5]

    def test_levels_of_headings_are_kept(self, shared_dir):
        (output,) = (o for o in self.outputs(shared_dir, "naacl_long_107") if o.format == "middle")
        levels = Counter(
            b.level for p in output.records("d", SHA) for b in p.blocks if b.type == "title"
        )
        assert levels == {1: 1, 2: 23}

    def test_tables_over_several_pages_are_on_all_of_them(self, shared_dir):
        (middle,) = (o for o in self.outputs(shared_dir, "svolt_datasheet") if o.format == "middle")
        assert sum(b.type == "table" for p in middle.pages.values() for b in p.blocks) == 11


CLASSIC = """
import json, os, pathlib, re, sys, time, signal
VERSION = "{version}"
def option(name):
    return sys.argv[sys.argv.index(name) + 1]
def texts(path):  # of PDFs as the driver cuts them; PyMuPDF would take long to start
    data = pathlib.Path(path).read_bytes()
    found = [bytes.fromhex(t.decode()).decode() for t in re.findall(rb"<([0-9a-f]+)>\\]TJ", data)]
    count = len(re.findall(rb"/Type/Page\\b", data))
    return (found + [""] * count)[:count]
def middle(pages):
    return {{"_backend": "pipeline", "_version_name": VERSION, "pdf_info": [
        {{"page_idx": i, "page_size": [595, 842], "para_blocks": [
            {{"type": "text", "lines": [{{"spans": [{{"type": "text", "content": text}}]}}]}}]}}
        for i, text in enumerate(pages)]}}
def write(pages):
    source = pathlib.Path(option("-p"))
    folder = pathlib.Path(option("-o")) / source.stem / "auto"
    folder.mkdir(parents=True)
    (folder / f"{{source.stem}}_middle.json").write_text(json.dumps(middle(pages)))
def log(line):
    with open(os.environ["FAKE_LOG"], "a") as stream:
        stream.write(line + "\\n")
if "--version" in sys.argv:
    print(f"mineru, version {{VERSION}}")
    sys.exit(0)
pages = texts(option("-p"))
log(json.dumps([pages, sys.argv[1:], os.environ.get("MINERU_PROCESSING_WINDOW_SIZE")]))
{behaviour}
"""

KIT = """
import json, os, pathlib, re, sys, zipfile
if sys.argv[1:] == ["--version"]:
    print("MinerU version: 4.0.12\\nPython version: 3.11.0")
    sys.exit(0)
if sys.argv[1:3] == ["models", "verify"]:
    sys.exit(int(os.environ.get("FAKE_MODELS", "0")))
assert sys.argv[1] == "parse", sys.argv
def option(name):
    return sys.argv[sys.argv.index(name) + 1]
source = pathlib.Path(sys.argv[2])
found = re.findall(rb"<([0-9a-f]+)>\\]TJ", source.read_bytes())
texts = [bytes.fromhex(text.decode()).decode() for text in found]
with open(os.environ["FAKE_LOG"], "a") as stream:
    stream.write(json.dumps([texts, sys.argv[1:], os.environ["MINERU_MODEL_SOURCE"]]) + "\\n")
value = {{"schema": "docvortex.middle", "metadata": {{"producer": {{"version": "4.0.12"}}}},
  "is_full_document": True, "pages": [
    {{"page_idx": i, "blocks": [{{"type": "text", "content": [{{"type": "text", "content": t}}]}}]}}
    for i, t in enumerate(texts)]}}
{behaviour}
with zipfile.ZipFile(pathlib.Path(option("-o")) / (source.stem + ".zip"), "w") as archive:
    archive.writestr("markdown.md", "x")
    archive.writestr("middle_json.json", json.dumps(value))
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Installs a stand-in for one generation of MinerU; returns the reader of its log."""
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    log = tmp_path / "log"
    monkeypatch.setenv("FAKE_LOG", str(log))
    monkeypatch.setenv("NCLUE_MINERU", str(bin_dir))
    monkeypatch.delenv("MINERU_MODEL_SOURCE", raising=False)

    def calls():
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def run(behaviour="write(pages)", version="2.5.4"):
        kit = version.startswith("4")
        code = (KIT if kit else CLASSIC).format(version=version, behaviour=behaviour)
        path = bin_dir / ("mineru-kit" if kit else "mineru")
        path.write_text(f"#!{sys.executable}\n{code}")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return calls

    return run


@pytest.fixture
def pdf(tmp_path):
    return write(tmp_path / "a.pdf", [[(72, 100, f"page {i}", 12)] for i in range(1, 9)])


def read(pdf, pages=range(1, 9), **settings):
    settings = MinerUSettings(**{"start_timeout_s": 30, "page_timeout_s": 1, **settings})
    mineru = mineru_driver.find_mineru()
    return list(mineru_driver.read_pages(mineru, settings, pdf, list(pages)))


def told(results):
    return {r.page: r.text if isinstance(r, PageRecord) else r.state for r in results}


ALL = {page: f"page {page}" for page in range(1, 9)}


class TestDriver:
    @pytest.mark.parametrize("version", ["2.5.4", "3.4.5", "4.0.12"])
    def test_pages_have_the_numbers_of_the_document_in_every_window(self, install, pdf, version):
        calls = install(
            version=version, behaviour="" if version.startswith("4") else "write(pages)"
        )
        results = read(pdf, window_pages=3)
        assert told(results) == ALL
        assert {r.engine_version for r in results} == {f"mineru {version}"}
        assert [len(pages) for pages, *_ in calls()] == [3, 3, 2]

    def test_only_the_asked_pages_are_handed_over(self, install, pdf):
        calls = install()
        assert told(read(pdf, [2, 3, 7])) == {2: "page 2", 3: "page 3", 7: "page 7"}
        assert [pages for pages, *_ in calls()] == [["page 2", "page 3", "page 7"]]

    def test_the_classic_command_line(self):
        mineru = MinerU("/x/mineru", "2.5.4")
        line = command(mineru, MinerUSettings("fra"), Path("/w/document.pdf"), Path("/w/out"))
        assert line == ["/x/mineru", "-p", "/w/document.pdf", "-o", "/w/out", "-b", "pipeline",
                        "-m", "auto", "-l", "latin"]  # fmt: skip

    def test_the_command_line_of_version_4(self):
        mineru = MinerU("/x/mineru-kit", "4.0.12")
        settings = MinerUSettings(tier="basic")
        line = command(mineru, settings, Path("/w/document.pdf"), Path("/w/out"))
        assert line == ["/x/mineru-kit", "parse", "/w/document.pdf", "-o", "/w/out", "-f", "zip",
                        "--tier", "basic", "--ocr-mode", "auto"]  # fmt: skip
        flash = command(mineru, MinerUSettings(tier="flash"), Path("d"), Path("o"))
        assert flash[-3:] == ["flash", "--ocr-mode", "txt"]

    def test_models_are_not_looked_for_on_the_network_unless_the_user_says_so(
        self, install, pdf, monkeypatch
    ):
        calls = install("", version="4.0.12")
        read(pdf, [1])
        monkeypatch.setenv("MINERU_MODEL_SOURCE", "huggingface")
        read(pdf, [1])
        assert [source for *_, source in calls()] == ["local", "huggingface"]

    def test_exit_code_0_without_a_result_is_a_failure(self, install, pdf):
        calls = install("sys.stderr.write('KeyError: content\\n'); sys.exit(0)")
        (result,) = read(pdf, [4])
        assert result.state == outcome.ENGINE_FAILED
        assert result.reason == (
            "it ended as if all were well, but left no result: KeyError: content"
        )
        assert len(calls()) == 2  # one more try, and no third

    def test_a_result_counts_whatever_the_exit_code(self, install, pdf):
        install("write(pages); sys.exit(1)")
        assert told(read(pdf)) == ALL

    def test_one_bad_page_costs_one_page(self, install, pdf):
        calls = install("'page 6' in pages and sys.exit(1); write(pages)")
        assert told(read(pdf)) == {**ALL, 6: outcome.ENGINE_FAILED}
        assert len(calls()) < 12
        gentle = {setting for _, _, setting in calls()[1:]}
        assert gentle == {"16"}

    def test_the_number_of_calls_is_bounded(self, install, pdf, monkeypatch):
        monkeypatch.setattr(mineru_driver, "MAX_EXTRA_CALLS", 3)
        calls = install("sys.exit(1)")
        assert set(told(read(pdf)).values()) == {outcome.ENGINE_FAILED}
        assert len(calls()) == 4

    @pytest.mark.parametrize("made", ["pages[:-1]", "pages + ['more']"], ids=["fewer", "more"])
    def test_a_wrong_number_of_pages_is_a_failure_until_it_is_right(self, install, pdf, made):
        install(f"write(({made}) if len(pages) > 2 else pages)")
        assert told(read(pdf)) == ALL

    def test_a_hang_is_ended_with_all_its_processes(self, install, pdf, tmp_path):
        pids = tmp_path / "pids"
        install(
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "import subprocess\n"
            f"child = subprocess.Popen(['sleep', '300'], start_new_session=True)\n"
            f"open({str(pids)!r}, 'a').write(f'{{os.getpid()}} {{child.pid}} ')\n"
            "time.sleep(300)"
        )
        began = time.monotonic()
        (result,) = read(pdf, [1], start_timeout_s=0.8, page_timeout_s=0)
        assert result.state == outcome.TIMEOUT
        assert time.monotonic() - began < 10
        for pid in pids.read_text().split():
            status = Path(f"/proc/{pid}/status")
            assert not status.exists() or "State:\tZ" in status.read_text()

    def test_a_crash_and_the_memory_killer_have_their_states(self, install, pdf):
        install("os.kill(os.getpid(), 11 if 'page 1' in pages else 9)")
        assert told(read(pdf, [1])) == {1: outcome.CRASHED}
        assert told(read(pdf, [2])) == {2: outcome.OUT_OF_MEMORY}

    def test_a_damaged_result_is_a_failure(self, install, pdf):
        install("write(pages); next(pathlib.Path(option('-o')).rglob('*.json')).write_text('{')")
        (result,) = read(pdf, [1])
        assert result.state == outcome.ENGINE_FAILED
        assert "its result cannot be read" in result.reason

    def test_a_damaged_zip_is_a_failure(self, install, pdf):
        install("(pathlib.Path(option('-o')) / 'document.zip').write_bytes(b'PK'); sys.exit(0)",
                version="4.0.12")  # fmt: skip
        (result,) = read(pdf, [1])
        assert "the ZIP is damaged" in result.reason

    def test_a_zip_without_the_result_is_a_failure(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr("markdown.md", "x")
        with pytest.raises(InputError, match=r"no middle_json\.json, but: markdown\.md"):
            mineru_driver._kit_output(tmp_path)

    def test_missing_models_end_the_run_at_once(self, install, pdf):
        calls = install("print('Model repo X is not ready under /m; missing: y'); sys.exit(1)")
        with pytest.raises(MissingDependencyError, match="Model repo X is not ready"):
            read(pdf)
        assert len(calls()) == 1

    def test_the_error_of_a_task_of_version_3_is_found_in_its_report(self, install, pdf):
        report = '{"status": "failed", "error": "KeyError: content", "queued_ahead": 0}'
        install(f"sys.stderr.write({report!r}); sys.exit(1)", version="3.4.5")
        (result,) = read(pdf, [1])
        assert result.reason == "exit code 1: KeyError: content"

    def test_encrypted_documents_are_handed_over_decrypted(self, install, tmp_path):
        install()
        pdf = encrypted(tmp_path / "e.pdf", "")
        assert told(read(pdf, [1, 3])) == {1: "secret page 1", 3: "secret page 3"}

    def test_rotated_pages_are_handed_over_upright(self, tmp_path):
        """MinerU 4.0 garbles the text of pages with /Rotate; the display stays what it was."""
        import pymupdf

        document = pymupdf.open(write(tmp_path / "a.pdf", [[(72, 100, "word", 12)]]))
        document[0].set_rotation(90)
        run = mineru_driver._Run(
            MinerU("mineru", "4.0.12"), MinerUSettings(), document, tmp_path, all_readable=True
        )
        (page,) = pymupdf.open(run._cut([1], tmp_path / "cut.pdf"))
        assert (page.rotation, page.rect.width, page.rect.height) == (0, 842, 595)
        (word,) = page.get_text("words")
        assert word[0] > 700  # near the right edge, as displayed before
        assert word[4] == "word"

    def test_unreadable_pages_are_not_handed_over(self, install, tmp_path):
        calls = install()
        page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]>>"
        pdf = raw(
            tmp_path / "a.pdf",
            [
                b"<</Type/Catalog/Pages 2 0 R>>",
                b"<</Type/Pages/Kids[3 0 R 2 0 R]/Count 2>>",
                page,
            ],
        )
        results = read(pdf, [1, 2])
        assert told(results) == {1: "", 2: outcome.BROKEN}
        assert [len(pages) for pages, *_ in calls()] == [1]

    def test_nothing_is_left_in_the_folder_for_temporary_files(self, install, pdf, tmp_path):
        import tempfile

        before = set(Path(tempfile.gettempdir()).glob("nclue-mineru-*"))
        install("sys.exit(1)")
        read(pdf, [1])
        assert set(Path(tempfile.gettempdir()).glob("nclue-mineru-*")) == before

    def test_a_failed_window_is_read_again_by_the_next_run_only(self, install, pdf, tmp_path):
        install("'page 6' in pages and sys.exit(1); write(pages)")
        engine = MinerUEngine()
        first = ocr_document(engine, pdf, "a", SHA, tmp_path / "ocr")
        assert (first.state, first.pages_done) == ("partial", 7)
        assert first.reason.startswith("page 6: exit code 1")
        calls = install()
        before = len(calls())
        second = ocr_document(engine, pdf, "a", SHA, tmp_path / "ocr")
        assert (second.state, second.pages_done) == ("ok", 8)
        assert [pages for pages, *_ in calls()[before:]] == [["page 6"]]
        assert {r.sha256 for r in read_document(tmp_path / "ocr", "a")} == {SHA}


class TestReadiness:
    def test_not_installed(self, monkeypatch, tmp_path):
        monkeypatch.setenv("NCLUE_MINERU", str(tmp_path))
        with pytest.raises(MissingDependencyError, match=r"not installed.*pip install"):
            mineru_driver.find_mineru()

    def test_only_the_predecessor_is_installed(self, monkeypatch, tmp_path):
        (tmp_path / "magic-pdf").write_text("#!/bin/sh\n")
        (tmp_path / "magic-pdf").chmod(0o755)
        monkeypatch.setenv("NCLUE_MINERU", str(tmp_path))
        with pytest.raises(MissingDependencyError, match="only magic-pdf"):
            mineru_driver.find_mineru()

    @pytest.mark.parametrize("version", ["2.0.6", "3.4.5", "4.0.12"])
    def test_versions_are_told_apart(self, install, version):
        install(version=version)
        found = mineru_driver.find_mineru()
        assert (found.version, found.is_kit) == (version, version.startswith("4"))

    def test_models_of_version_4_are_asked_for(self, install, monkeypatch):
        install(version="4.0.12")
        MinerUEngine().check_ready()
        monkeypatch.setenv("FAKE_MODELS", "1")
        with pytest.raises(MissingDependencyError, match="mineru-kit models download --tier basic"):
            MinerUEngine().check_ready()
        MinerUEngine(tier="flash").check_ready()  # needs none
        with pytest.raises(UsageError, match="no tier 'best'"):
            MinerUEngine(tier="best").check_ready()

    def test_models_of_earlier_versions_are_looked_for(self, install, monkeypatch, tmp_path):
        install(version="3.4.5")
        for name in ("HOME", "HF_HOME", "MODELSCOPE_CACHE"):
            monkeypatch.setenv(name, str(tmp_path / "home"))
        monkeypatch.setenv("MINERU_TOOLS_CONFIG_JSON", str(tmp_path / "mineru.json"))
        with pytest.raises(MissingDependencyError, match="mineru-models-download"):
            MinerUEngine().check_ready()
        models = tmp_path / "models"
        models.mkdir()
        (models / "layout.pt").touch()
        config = {"models-dir": {"pipeline": str(models)}}
        (tmp_path / "mineru.json").write_text(json.dumps(config))
        MinerUEngine().check_ready()

    def test_models_in_the_cache_of_a_hub_are_used_without_the_network(
        self, install, monkeypatch, tmp_path, pdf
    ):
        calls = install(
            "log(json.dumps([pages, os.environ['MINERU_MODEL_SOURCE'],"
            " os.environ.get('HF_HUB_OFFLINE')])); write(pages)"
        )
        for name in ("HOME", "HF_HOME", "MODELSCOPE_CACHE"):
            monkeypatch.setenv(name, str(tmp_path / "home"))
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        models = tmp_path / "home/hub/models--opendatalab--PDF-Extract-Kit-1.0/snapshots/1"
        models.mkdir(parents=True)
        (models / "layout.pt").touch()
        MinerUEngine().check_ready()
        read(pdf, [1])
        assert calls()[-1] == [["page 1"], "huggingface", "1"]

    def test_auto_is_mineru_where_it_is_ready(self, install, monkeypatch):
        install(version="4.0.12")
        chosen, why = engines.choose_engine()
        assert chosen == MinerUEngine()
        assert why == "OCR with mineru 4.0.12: it is installed and its models are ready"
        assert os.environ["NCLUE_MINERU"]
