"""Reading page texts, and the index on disk: found, renewed, repaired, shared."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from nclue_core.errors import InputError, UsageError
from nclue_core.pages import PageRecord, write_page
from nclue_systems import build_index, load_index
from nclue_systems.index_cache import content_key

TEXTS = {("a", 1): "flood insurance", ("a", 2): "grievance", ("a", 10): "last", ("b", 1): ""}


def record(doc_id: str, page: int, text: str) -> PageRecord:
    return PageRecord(doc_id, page, text, (), 612.0, 792.0, "text", "1", None, "0" * 64, bool(text))


@pytest.fixture
def pages(tmp_path):
    folder = tmp_path / "corpus" / "ocr_text"
    for (doc_id, page), text in TEXTS.items():
        write_page(folder, record(doc_id, page, text))
    return folder


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def same(one, other) -> bool:
    arrays = ("word_numbers", "page_ends", "page_documents", "page_numbers")
    return (
        one.doc_ids == other.doc_ids
        and dict(one.vocabulary) == dict(other.vocabulary)
        and all(np.array_equal(getattr(one, n), getattr(other, n)) for n in arrays)
    )


def test_pages_are_read_in_numeric_order(pages):
    index = load_index(pages, ["b", "a", "missing"])
    expected = {"a": [(1, "flood insurance"), (2, "grievance"), (10, "last")], "b": [(1, "")],
                "missing": []}  # fmt: skip
    assert same(index, build_index(expected))
    assert index.page_numbers.tolist() == [1, 2, 10, 1]


def test_the_second_reading_comes_from_the_cache_and_is_the_same(pages, cache):
    said = []
    first = load_index(pages, ["a", "b"], cache=cache, progress=said.append)
    second = load_index(pages, ["a", "b"], cache=cache, progress=said.append)
    assert same(first, second)
    assert said == ["reading 4 pages of 2 documents …"]


@pytest.mark.parametrize("change", ["text", "page added", "page removed", "corpus"])
def test_a_change_of_the_content_makes_a_new_index(pages, cache, change):
    doc_ids = ["a", "b"]
    load_index(pages, doc_ids, cache=cache)
    if change == "text":
        path = pages / "a" / "2.json"
        before = path.stat()
        content = path.read_bytes().replace(b"grievance", b"grievancf")  # same size, same time
        path.write_bytes(content)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    elif change == "page added":
        write_page(pages, record("b", 2, "new"))
    elif change == "page removed":
        (pages / "a" / "2.json").unlink()
    else:
        doc_ids = ["a"]
    renewed = load_index(pages, doc_ids, cache=cache)
    assert same(renewed, load_index(pages, doc_ids))
    assert len(list(cache.glob("*.npz"))) == 2


def test_moving_pages_between_documents_changes_the_key(tmp_path):
    one, two = tmp_path / "1.json", tmp_path / "2.json"
    one.write_text("x")
    two.write_text("y")
    keys = {
        content_key({"a": [(1, one), (2, two)], "b": []}),
        content_key({"a": [(1, one)], "b": [(2, two)]}),
        content_key({"a": [(1, two), (2, one)], "b": []}),
        content_key({"a": [], "b": [(1, one), (2, two)]}),
    }
    assert len(keys) == 4


@pytest.mark.parametrize("damage", ["empty", "cut", "text", "pickle", "numbers"])
def test_a_damaged_cache_is_made_again(pages, cache, damage):
    good = load_index(pages, ["a", "b"], cache=cache)
    (path,) = cache.glob("*.npz")
    content = path.read_bytes()
    if damage == "pickle":
        with path.open("wb") as stream:
            np.savez(stream, doc_ids=np.array([{"a": 1}], dtype=object))
    elif damage == "numbers":
        arrays = dict(np.load(path))
        arrays["word_numbers"] = arrays["word_numbers"] + 1_000
        with path.open("wb") as stream:
            np.savez(stream, **arrays)
    else:
        path.write_bytes({"empty": b"", "cut": content[: len(content) // 2], "text": b"no"}[damage])
    assert same(load_index(pages, ["a", "b"], cache=cache), good)
    assert path.read_bytes() == content  # repaired, with the same bytes


def test_concurrent_runs_share_a_cache(pages, cache):
    program = (
        "import sys; from pathlib import Path; from nclue_systems import load_index;"
        "print(len(load_index(Path(sys.argv[1]), ['a', 'b'], cache=Path(sys.argv[2])).vocabulary))"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(pages), str(cache)], stdout=subprocess.PIPE
        )
        for _ in range(4)
    ]
    assert {process.communicate()[0].strip() for process in started} == {b"4"}
    assert len(list(cache.iterdir())) == 1  # and no temporary file is left


def test_the_folder_above_a_single_engine_will_do(pages):
    assert same(load_index(pages.parent, ["a"]), load_index(pages, ["a"]))
    write_page(pages.parent / "ocr_tesseract", record("a", 1, "x"))
    with pytest.raises(UsageError, match="ocr_tesseract, ocr_text"):
        load_index(pages.parent, ["a"])


def test_a_folder_without_any_page_of_the_corpus_is_an_error(pages):
    with pytest.raises(InputError, match="no page texts of any of the 1 documents"):
        load_index(pages, ["zzz"])
    with pytest.raises(InputError, match="no such folder"):
        load_index(pages / "nowhere", ["a"])
    # An ID never leads out of the folder, where pages of a document "a" may lie.
    write_page(pages.parent, record("a", 1, "x"))
    with pytest.raises(InputError, match="no page texts of any of the 1 documents"):
        load_index(pages, ["../a"])
    with pytest.raises(InputError, match="cannot be a file name"):
        load_index(pages, ["a" * 200])


@pytest.mark.parametrize("content", ["", "[]", "{", '{"text": 3}', "[" * 100_000, "\udc80"])
def test_a_file_that_is_no_page_record_is_named(pages, content):
    (pages / "a" / "2.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=r"2\.json: not a page record"):
        load_index(pages, ["a"])


def test_lone_surrogates_in_a_page_do_not_reach_the_cache(pages, cache):
    path = pages / "a" / "2.json"
    value = json.loads(path.read_bytes())
    path.write_text(json.dumps({**value, "text": "flood\ud800 \udfffrisk"}), encoding="ascii")
    first = load_index(pages, ["a"], cache=cache)
    assert same(first, load_index(pages, ["a"], cache=cache))
    assert {"flood", "risk"} <= set(first.vocabulary)
