"""Any text in any field of MinerU's results costs at most its cell, never a document."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nclue_core.errors import InputError
from nclue_core.pages import write_page
from nclue_reconstruct.read.mineru_adapter import parse_output, read_output
from nclue_reconstruct.read.mineru_adapter_text import table_text

SHA = "0" * 64
ODD = [
    "<", "&lt;", "<3", "p<0.05", "<LOQ", "n<alpha", "a<b>c", "<td", "<i>", "<script>", "</script>",
    "<!--", "<![CDATA[", "<?x", "<table>", "<table", "&#" + "9" * 5000 + ";", "\ud800", "a\x00b",
    "<style>", "<textarea>", "<plaintext>", "</p>", "<a href='x", "]]>", "\\begin{", "$$",
]  # fmt: skip


def table(cell):
    return (
        f"<html><body><table><tr><td>Lead</td><td>{cell}</td><td>ug/l</td></tr>"
        "<tr><td>Zinc</td><td>0.2</td></tr></table></body></html>"
    )


def records(value):
    return list(parse_output(value).records("doc", SHA, n_pages=None))


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("<LOQ", "<LOQ"), ("n<alpha", "n<alpha"), ("&lt;LOQ", "<LOQ"), ("<3", "<3"), ("<", "<"),
        ("p<0.05", "p<0.05"), ("a<b>c", "a<b>c"), ("a<b>b</b>c", "abc"), ("x<td", "x<td"),
        ("<script>x</script>", "<script>x</script>"), ("m<sup>2</sup>", "m2"), ("<!-- x", "<!-- x"),
        ("see <table> 1", "see <table> 1"), ("<table><tr><td>in</td></tr></table>", "in"),
    ],
)  # fmt: skip
def test_what_is_no_tag_of_a_table_is_text(cell, expected):
    assert table_text(table(cell)) == f"Lead\t{expected}\tug/l\nZinc\t0.2"


@pytest.mark.parametrize("cell", ODD, ids=range(len(ODD)))
def test_the_cells_around_an_odd_one_stay(cell):
    rows = [row.split("\t") for row in table_text(table(cell)).split("\n")]
    assert (rows[0][0], rows[0][-1], rows[-1]) == ("Lead", "ug/l", ["Zinc", "0.2"])


def test_deep_nesting_takes_linear_time_and_no_other_cell():
    text = table_text(table("<table><tr><td>" * 100_000 + "deep"))
    assert text.startswith("Lead\tdeep")
    block = {"type": "text", "lines": [], "bbox": [0, 0, 1, 1]}
    for _ in range(20_000):
        block = {"type": "list", "blocks": [block]}
    page = {"page_idx": 0, "page_size": [600, 800], "para_blocks": [block]}
    assert records({"pdf_info": [page]})[0].text == ""


def test_a_number_of_thousands_of_digits_is_no_end_of_the_document(tmp_path):
    path = tmp_path / "content_list.json"
    items = [{"type": "text", "text": "kept", "page_idx": 0, "bbox": [1, 2, 3, 4]}]
    path.write_text(json.dumps(items).replace("[1,", "[" + "9" * 5000 + ","))
    assert [r.text for r in read_output(path).records("doc", SHA)] == ["kept"]


def test_a_page_number_beyond_belief_is_an_error_and_no_endless_list():
    with pytest.raises(InputError, match="not believed"):
        records([{"type": "text", "text": "x", "page_idx": 10**12}])


odd_values = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(ODD),
    st.text(max_size=10), st.lists(st.one_of(st.sampled_from(ODD), st.integers()), max_size=3),
    st.dictionaries(st.sampled_from(["content", "type", "spans"]), st.sampled_from(ODD)),
)  # fmt: skip


def v1(odd):
    item = {"type": "text", "text": "kept one", "page_idx": 0, "bbox": [0, 0, 9, 9]}
    body = {**item, "type": "table", "table_body": table("x"), "table_caption": ["T"]}
    return [item, {**body, **odd, "page_idx": 0}]


def v2(odd):
    kept = {"type": "paragraph", "content": {"paragraph_content": "kept one"}, "bbox": [0, 0, 1, 1]}
    return [[kept, {"type": "table", "content": {"html": table("x"), **odd}, **odd}]]


def middle(odd):
    def block(fields):
        span = {"type": "text", "content": "kept one", **fields}
        return {"type": "text", "bbox": [0, 0, 9, 9], "lines": [{"spans": [span]}]}

    body = {
        "type": "table_body",
        "lines": [{"spans": [{"type": "table", "html": table("x"), **odd}]}],
    }
    blocks = [block({}), block(odd), {"type": "table", "blocks": [{**body, **odd}], **odd}]
    page = {"page_size": [600, 800], **odd, "page_idx": 0, "para_blocks": blocks}
    return {"pdf_info": [{**page, "preproc_blocks": blocks}], "_version_name": odd.get("text")}


def v4(odd):
    kept = {"type": "text", "content": [{"type": "text", "content": "kept one"}]}
    visual = {"type": "table", "content": [{"type": "table_body", "content": table("x"), **odd}]}
    layout = {"pages": [{"page_idx": 0, "width_pt": 600, "height_pt": 800, **odd}]}
    return {
        "schema": "docvortex.middle",
        "extensions": {"docvortex_layout": layout},
        "pages": [{"page_idx": 0, "blocks": [kept, {**visual, **odd}, {**kept, **odd}]}],
    }


FIELDS = (
    "type", "text", "bbox", "table_body", "table_caption", "html", "content", "level", "captions",
    "text_level", "lines", "spans", "blocks", "page_size", "cross_page", "list_items", "latex",
    "width_pt", "height_pt", "lines_deleted", "img_caption", "code_body", "children",
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    make=st.sampled_from([v1, v2, middle, v4]),
    odd=st.dictionaries(st.sampled_from(FIELDS), odd_values, min_size=1, max_size=4),
)
def test_odd_values_in_any_field_leave_the_other_blocks(make, odd, tmp_path_factory):
    found = records(make(odd))
    assert "kept one" in found[0].text
    for record in found:  # it can be written, whatever is in it
        write_page(tmp_path_factory.getbasetemp() / "odd", record)
