"""Plain data: the page rule against brute force, files, JSON Lines, errors."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nclue_core import InputError, MissingDependencyError
from nclue_core.assignment import (
    distinct_page_assignment,
    document_grade,
    gold_failure,
    pages_holding_all,
)
from nclue_core.errors import require
from nclue_core.files import (
    atomic_write,
    file_name,
    id_of_file_name,
    sha256_file,
    unsafe_id_reason,
)
from nclue_core.jsonl import dump_json, read_jsonl, write_jsonl
from nclue_core.pages import Block, PageRecord, read_document, write_page
from nclue_core.schema import clean_v2_text, natural_text

PAGE_SETS = st.lists(st.sets(st.integers(1, 5), max_size=4), min_size=1, max_size=4)


@given(PAGE_SETS)
@settings(max_examples=300)
def test_assignment_exists_exactly_where_some_choice_of_pages_is_distinct(sets: list) -> None:
    choices = itertools.product(*sets)
    exists = any(len(set(choice)) == len(choice) for choice in choices)
    found = distinct_page_assignment(sets)
    assert (found is not None) == exists
    if found is not None:
        assert len(set(found)) == len(found)
        assert all(page in pages for page, pages in zip(found, sets))


@given(PAGE_SETS)
@settings(max_examples=200)
def test_grade_n_and_the_gold_rule_are_the_same(sets: list) -> None:
    is_gold = (
        all(sets)
        and not set.intersection(*sets)
        and any(len(set(choice)) == len(choice) for choice in itertools.product(*sets))
    )
    assert (gold_failure(sets) is None) == is_gold
    grade = document_grade(sets)
    held = sum(map(bool, sets))
    assert grade == (held if is_gold or held < len(sets) else len(sets) - 1)
    assert (grade == len(sets)) == is_gold


def test_pages_that_hold_every_condition_are_named() -> None:
    assert pages_holding_all([[1, 2], [2, 3], [2]]) == [2]
    assert "page 2 alone holds all 2" in str(gold_failure([[1, 2], [2]]))
    assert "cannot be assigned" in str(gold_failure([[3], [3], [4, 5]]))
    assert "condition 2 has no page" in str(gold_failure([[3], []]))


def test_forms_follow_the_templates_of_the_study() -> None:
    three = ("Grievance Mechanism", "Comparison", "Resettlement")
    assert clean_v2_text(three) == '"Grievance Mechanism"; "Comparison"; "Resettlement"'
    assert natural_text(("X", "Y", "Z")) == ('Find the document that discusses "X", "Y", and "Z".')
    assert natural_text(("X", "Y")) == 'Find the document that discusses "X" and "Y".'


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "a/b",
        "a\\b",
        "CON",
        "nul.txt",
        "a:b",
        "x.",
        "-x",
        "a b",
        "é",
        "x\n",
        "a" * 181,
    ],
)
def test_ids_that_cannot_be_file_names_are_refused(name: str) -> None:
    assert unsafe_id_reason(name)


@pytest.mark.parametrize("name", ["nclue_0000", "world_bank_34454344", "a.b-c", "_x", "console"])
def test_usual_ids_are_safe(name: str) -> None:
    assert unsafe_id_reason(name) is None


# By hand: percent and hexadecimal digits (RFC 3986), also for what is safe but stands badly.
FILE_NAMES = {
    "nclue_0000": "nclue_0000",
    "../p5": "%2E.%2Fp5",
    "CON": "%43ON",
    "nul.txt": "%6Eul.txt",
    "a:b?c": "a%3Ab%3Fc",
    "10.1000/x": "10.1000%2Fx",
    "50%": "50%25",
    "~a": "%7Ea",
    "x.": "x%2E",
    ".": "%2E",
    "-x": "%2Dx",
    "é": "%C3%A9",
}


@pytest.mark.parametrize("identifier", FILE_NAMES)
def test_ids_become_file_names_as_worked_out_by_hand(identifier: str) -> None:
    assert file_name(identifier) == FILE_NAMES[identifier]


@given(st.text(max_size=20), st.text(max_size=20))
def test_names_are_safe_and_give_the_id_back(one: str, other: str) -> None:
    if not one or len(quote(one, safe="")) > 170:
        return
    name = file_name(one)
    assert id_of_file_name(name) == one
    assert unsafe_id_reason(name.replace("%", "0")) is None
    assert name.partition(".")[0].lower() not in {"con", "prn", "aux", "nul", "com1", "lpt9"}
    assert one == other or not other or len(quote(other)) > 150 or name != file_name(other)


@pytest.mark.parametrize("identifier", ["", "a" * 181, "é" * 31])
def test_ids_without_a_possible_file_name_are_refused(identifier: str) -> None:
    with pytest.raises(InputError, match="cannot be a file name"):
        file_name(identifier)


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def interrupted() -> None:
        with atomic_write(path) as stream:
            stream.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_sha256_is_that_of_the_standard(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180
    assert sha256_file(tmp_path / "abc") == expected


BAD_LINES = {
    "json": (b'{"a": 1}\n{', "file:2: not a JSON value"),
    "list": (b"[1]", "file:1: expected a JSON object, found"),
    "latin-1": (b'{"a": "\xe9"}', "file:1: not UTF-8"),
    "utf-16": ('{"a": 1}'.encode("utf-16"), "not UTF-8"),
    "nan": (b'{"a": NaN}', "NaN is not a JSON number"),
    "key twice": (b'{"a": 1, "a": 2}', "the key 'a' stands twice"),
    "deep": (b'{"a":' + b"[" * 100_000, "file:1: "),
}


@pytest.mark.parametrize("name", BAD_LINES)
def test_bad_lines_are_refused_with_their_place(name: str, tmp_path: Path) -> None:
    data, message = BAD_LINES[name]
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(InputError, match=message):
        list(read_jsonl(tmp_path / "file"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False,
    allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(st.lists(st.dictionaries(st.text(), JSON, max_size=3), max_size=5))
@settings(max_examples=80, deadline=None)
def test_rows_come_back_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list
) -> None:
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    assert write_jsonl(path, rows) == len(rows)
    assert [row.value for row in read_jsonl(path)] == rows


def test_undefined_values_are_null_in_printed_json() -> None:
    assert json.loads(dump_json({"a": math.nan, "b": [math.inf, 1.5]})) == {
        "a": None,
        "b": [None, 1.5],
    }


def test_a_missing_extra_names_the_command_and_a_broken_one_keeps_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MissingDependencyError, match=r'pip install "nclue\[lexical\]"'):
        require("no_such_module_at_all", extra="lexical", purpose="BM25")
    (tmp_path / "broken_extra.py").write_text("import another_missing_module\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="another_missing_module"):
        require("broken_extra", extra="lexical", purpose="BM25")


def test_page_records_come_back_in_page_order(tmp_path: Path) -> None:
    block = Block("title", "Summary", (0.1, 0.2, 0.3, 0.4), 1)
    records = [
        PageRecord(
            "d", page, f"text {page}", (block,), 595.0, 842.0, "text", "1", None, "0" * 64, True
        )
        for page in (10, 2, 1)
    ]
    for record in records:
        write_page(tmp_path, record)
    assert read_document(tmp_path, "d") == sorted(records, key=lambda record: record.page)
    (tmp_path / "d" / "3.json").write_text('{"doc_id": "d"}')
    with pytest.raises(InputError, match=r"3\.json: page record: field"):
        read_document(tmp_path, "d")
