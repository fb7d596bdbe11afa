"""Whatever a file holds, a reader gives a result or one of our errors, and nothing else."""

from __future__ import annotations

import gzip
import io
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nclue_core.errors import NClueError
from nclue_core.jsonl import read_jsonl
from nclue_core.pages import PageRecord, read_document, write_page
from nclue_dataset.check import check_release
from nclue_dataset.release import read_release
from nclue_metric import Judgments, ScoringError, score_files
from nclue_metric.columns import rank
from nclue_metric.qrels import parse_qrels
from nclue_metric.runs import load_bytes, parse_run, read_qrels, run_from_mapping, run_from_rows
from nclue_metric.trec import read_columns, read_lines
from tiny_release import write_tiny

OURS = (NClueError, ScoringError)
FAST = settings(
    max_examples=60, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip

WORDS = [
    "q1", "q2", "g1", "s1", "Q0", "0", "1", "2", "9.5", "-1", "--1", "+1", "1.0", "inf", "-inf",
    "nan", "1" * 400, "1e400", "0x1", "1_0", "#", "tag", "qid", "docid", "score", "caf\u00e9",
    "\u0661", "\x00", "\x0b", "\u3000", "\r", "PAR1", "query-id", "corpus-id", '"', "",
]  # fmt: skip
LINE = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7)
TEXT = st.builds(
    lambda lines, blank, end: end.join(blank.join(line) for line in lines).encode(),
    st.lists(LINE, max_size=6),
    st.sampled_from([" ", "\t", "  ", ",", ";"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
NAMES = st.sampled_from([
    "query_id", "qid", "q1", "query", "doc_id", "docid", "doc_ids", "results", "score", "scores",
    "rank", "pages", "grade", "conditions", "evidence", "form", "mteb_model_meta", "text",
    "blocks", "page", "n_pages", "\ud800", "",
])  # fmt: skip
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 3), st.sampled_from([1.5, 2.0, 10**400, -(10**400)]),
    st.sampled_from(["q1", "d1", " d1", "", "\ud800", "a\x00b", "gold", "1"]),
)  # fmt: skip
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)  # fmt: skip
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=5)
RUN_ROWS = st.fixed_dictionaries(
    {"query_id": st.sampled_from(["q1", "q2"])},
    optional={
        "doc_id": st.sampled_from(["a", "b", "c"]) | LEAVES,
        "doc_ids": st.lists(st.sampled_from(["a", "b"]) | LEAVES, max_size=3) | VALUES,
        "score": st.integers(0, 3) | LEAVES, "rank": st.integers(0, 3) | LEAVES,
        "scores": st.lists(LEAVES, max_size=3), "pages": VALUES,
    },
)  # fmt: skip
JSON_TEXT = VALUES.map(lambda value: json.dumps(value).encode())
JSONL = st.lists(OBJECTS | RUN_ROWS, max_size=4).map(
    lambda rows: "\n".join(map(json.dumps, rows)).encode()
)
DEEP = [b'{"q":' * 100_000, b"[" * 100_000, b'{"query_id":"q","doc_ids":' + b"[" * 900 + b"]" * 900
        + b"}", b'{"q1": 3}', b'{"q1": [' + b"1" * 5_000 + b"]}", b"\x1f\x8b", b"PAR1PAR1",
        b"\xff\xfe", b"\x00" * 64, b"q1 Q0 d 1 " + b"9" * 400 + b" t\n", b"q1 Q0 d inf\n",
        b"q1 Q0 d " + b"1" * 400 + b"\n", b"{}", b"[]", b"null", b"3", b"\xef\xbb\xbf",
        b"\n"]  # fmt: skip


def packed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def parquet(**columns: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


GOOD = [
    parquet(query_id=["q1"], doc_ids=[["a", "b"]], scores=[[2.0, 1.0]]),
    parquet(q_id=["q1", "q1"], doc_id=["a", "b"], score=[1, 2], rank=[1, 2]),
    packed(b"q1 Q0 a 1 2 t\n" * 9), b"q1 Q0 a 1 2 t\nq1 Q0 b 2 1 t\n",
    b'{"query_id": "q1", "doc_ids": ["a"], "scores": [1.0]}\n',
]  # fmt: skip
DAMAGED = st.builds(
    lambda data, cut, at, byte: (
        data[: max(0, at % len(data))] + bytes([byte]) + data[at % len(data) + 1 :]
    )[: len(data) - cut % len(data)],
    st.sampled_from(GOOD), st.integers(0, 40) | st.just(0), st.integers(0, 10_000),
    st.integers(0, 255),
)  # fmt: skip
BYTES = st.one_of(
    st.binary(max_size=60), TEXT, JSON_TEXT, JSONL, DAMAGED, st.sampled_from(DEEP),
    st.builds(packed, TEXT | JSONL),
)  # fmt: skip


def ours_or_nothing(call: Callable[[], Any]) -> Any:
    """What a call gives; None for one of our errors. Any other error is the test's."""
    try:
        return call()
    except OURS:
        return None


@given(BYTES, st.sampled_from(["input", "trec_eval"]), st.sampled_from(["error", "first"]))
@settings(FAST, max_examples=200)
def test_runs(data: bytes, ties: str, repeats: str) -> None:
    run = ours_or_nothing(lambda: parse_run(data, name="r", ties=ties, repeats=repeats))
    if run is not None:
        for ranking in run.rankings.values():
            assert len(set(ranking)) == len(ranking)
        assert run.documents == {d for ranking in run.rankings.values() for d in ranking}
        judgments = Judgments.from_mapping({"q1": {"a": 2, "g1": 1}}, 2)
        lists = judgments.grade_matrix(judgments.align(run.rankings).rankings, 10)
        (scored,) = score_files(judgments, [run])
        assert scored.scores[10].hit[0] == float((lists == 2).any())


@given(TEXT | DAMAGED)
@settings(FAST, max_examples=200)
def test_both_readers_of_trec_lines_agree(data: bytes) -> None:
    fast = read_columns(data)
    if fast is None:
        return
    slow = read_lines(data, "run")
    assert fast.query_ids == slow.query_ids
    assert fast.doc_ids == slow.doc_ids
    for name in ("first", "scores", "ranks"):
        np.testing.assert_array_equal(getattr(fast, name), getattr(slow, name))


@given(BYTES)
@FAST
def test_qrels(data: bytes) -> None:
    qrels = ours_or_nothing(lambda: parse_qrels(data, "qrels"))
    for table in (qrels or {}).values():
        assert all(type(grade) is int and grade >= 0 for grade in table.values())


@given(st.lists(RUN_ROWS | VALUES, max_size=4))
@FAST
def test_rows_and_mappings_given_in_python_stay_as_they_are(rows: list[Any]) -> None:
    before = repr(rows)
    ours_or_nothing(lambda: run_from_rows(rows))
    ours_or_nothing(lambda: run_from_mapping({str(i): row for i, row in enumerate(rows)}))
    assert repr(rows) == before


@given(st.permutations(["doc_ids", "doc_id a", "doc_id b", "other"]))
@FAST
def test_mixed_forms_of_rows_are_the_same_in_any_order(order: list[str]) -> None:
    rows = {
        "doc_ids": {"query_id": "q", "doc_ids": ["x"]},
        "doc_id a": {"query_id": "q", "doc_id": "a"},
        "doc_id b": {"query_id": "q", "doc_id": "b"},
        "other": {"query_id": "other", "doc_ids": ["x"]},
    }
    with pytest.raises(ScoringError, match="query 'q' has a second row"):
        run_from_rows([rows[name] for name in order])
    whole = run_from_rows([rows[name] for name in order if name != "doc_ids"])
    assert set(whole.rankings) == {"q", "other"}
    assert sorted(whole.rankings["q"]) == ["a", "b"]


TABLES = ("queries.jsonl", "queries_forms.jsonl", "qrels.jsonl", "corpus.jsonl", "MANIFEST.json",
          "reference_runs/forward.jsonl")  # fmt: skip


@pytest.fixture(scope="module")
def release() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield write_tiny(Path(folder) / "release")


@given(BYTES, st.sampled_from(TABLES), st.data())
@settings(FAST, max_examples=100)
def test_files_of_a_release(release: Path, data: bytes, name: str, extra: st.DataObject) -> None:
    path = release / name
    good = path.read_bytes()
    if name.endswith("jsonl") and extra.draw(st.booleans()):  # a good row with one odd value
        row = json.loads(good.splitlines()[0])
        row[extra.draw(st.sampled_from(sorted(row)))] = extra.draw(VALUES)
        data = json.dumps(row).encode() + b"\n" + good
    try:
        path.write_bytes(data)
        ours_or_nothing(lambda: read_release(release).collection("tiny"))
        ours_or_nothing(lambda: check_release(release))
        ours_or_nothing(lambda: list(read_jsonl(path)))
    finally:
        path.write_bytes(good)


RECORD = PageRecord("d", 1, "t", (), 1.0, 1.0, "text", "1", None, "0" * 64, True)


@given(BYTES, st.sampled_from([*RECORD.to_json()]), VALUES)
@FAST
def test_page_records(data: bytes, name: str, value: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_page(Path(folder), RECORD)
        assert read_document(Path(folder), "d") == [RECORD]
        path.write_bytes(data)
        ours_or_nothing(lambda: read_document(Path(folder), "d"))
        path.write_text(json.dumps({**RECORD.to_json(), name: value}))
        for page in ours_or_nothing(lambda: read_document(Path(folder), "d")) or ():
            assert isinstance(page.text, str)


@pytest.mark.parametrize("place", ["missing", "", "a\0b", "x" * 5_000])
def test_places_that_hold_no_file(tmp_path: Path, place: str) -> None:
    path = f"{tmp_path}/{place}"
    for read in (load_bytes, read_qrels, lambda p: list(read_jsonl(Path(p)))):
        with pytest.raises(OURS):
            read(path)


def test_ranked_lists_of_nothing_are_in_order() -> None:
    lists = run_from_mapping({"q": []})
    assert lists.ranked is not None
    again = rank(lists.ranked.columns, ties="input", repeats="error", source="r")
    assert (again.lists, again.notes, again.tie_groups) == ({"q": []}, (), {})
