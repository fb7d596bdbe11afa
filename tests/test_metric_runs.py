"""Run files: formats, encodings, ties, and errors with file and line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from nclue_metric.runs import RunFormatError, parse_run, read_qrels, read_run, run_from_rows
from nclue_metric.trec import read_columns

PLAIN = b"q1 Q0 a 1 2.0 t\nq1 Q0 b 2 1.0 t\n"

ENCODINGS = {
    "plain": PLAIN,
    "bom": b"\xef\xbb\xbf" + PLAIN,
    "crlf": PLAIN.replace(b"\n", b"\r\n"),
    "tabs": PLAIN.replace(b" ", b"\t"),
    "double blanks and trailing": b"q1  Q0 a 1 2.0 t \nq1 Q0  b 2 1.0 t  \n",
    "blank lines, no final newline": b"\nq1 Q0 a 1 2.0 t\n\nq1 Q0 b 2 1.0 t",
    "gzip": gzip.compress(PLAIN),
    "no tag": b"q1 Q0 a 1 2.0\nq1 Q0 b 2 1.0\n",
    "rank only": b"q1 Q0 b 2\nq1 Q0 a 1\n",
    "json lists": b'{"q1": ["a", "b"]}',
    "json scores": b'{"q1": {"b": 1.0, "a": 2}}',
    "pretty json": b'{\n  "q1": {\n    "a": 2,\n    "b": 1\n  }\n}\n',
    "jsonl rankings": b'{"query_id": "q1", "doc_ids": ["a", "b"]}\n',
    "jsonl documents": b'{"query_id":"q1","doc_id":"b","score":1}\n'
                       b'{"query_id":"q1","doc_id":"a","score":2}',
}  # fmt: skip


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_encoding_of_a_run_gives_the_same_ranking(name: str) -> None:
    assert parse_run(ENCODINGS[name], name="r").rankings == {"q1": ["a", "b"]}


def test_parquet_runs_of_both_shapes_are_read(tmp_path: Path) -> None:
    lists = pa.table({"query_id": ["q1"], "doc_ids": [["a", "b"]]})
    rows = pa.table({"query_id": ["q1", "q1"], "doc_id": ["b", "a"], "score": [1.0, 2.0]})
    for table in (lists, rows):
        pq.write_table(table, tmp_path / "run.parquet")
        run = read_run(tmp_path / "run.parquet")
        assert (run.rankings, run.name) == ({"q1": ["a", "b"]}, "run")


def test_name_of_a_run_is_the_file_name_without_endings(tmp_path: Path) -> None:
    (tmp_path / "bm25.v2.trec.gz").write_bytes(gzip.compress(PLAIN))
    assert read_run(tmp_path / "bm25.v2.trec.gz").name == "bm25.v2"


def test_lines_of_a_query_that_stand_apart_are_joined() -> None:
    data = b"q1 Q0 a 1 3 t\nq2 Q0 z 1 1 t\nq1 Q0 b 2 2 t\n"
    assert parse_run(data, name="r").rankings == {"q1": ["a", "b"], "q2": ["z"]}


def test_scores_order_a_trec_file_whose_lines_are_in_another_order() -> None:
    data = b"q1 Q0 a 1 1 t\nq1 Q0 b 2 5 t\nq1 Q0 c 3 3 t\n"
    assert parse_run(data, name="r").rankings["q1"] == ["b", "c", "a"]


def test_ties_keep_file_order_or_follow_trec_eval_and_are_counted() -> None:
    data = b"q Q0 a 1 1 t\nq Q0 z 2 1 t\nq Q0 m 3 0 t\n"
    ours = parse_run(data, name="r")
    theirs = parse_run(data, name="r", ties="trec_eval")
    assert (ours.rankings["q"], ours.n_tied) == (["a", "z", "m"], 2)
    assert (theirs.rankings["q"], theirs.n_tied) == (["z", "a", "m"], 2)


@given(
    st.lists(
        st.tuples(st.sampled_from("abcdefghij"), st.integers(0, 3)),
        unique_by=lambda x: x[0],
        min_size=1,
    )
)
@settings(max_examples=80, deadline=None)
def test_trec_eval_ties_rank_as_pytrec_eval_does(scored: list) -> None:
    data = "".join(f"q Q0 {d} 1 {s} t\n" for d, s in scored).encode()
    ranking = parse_run(data, name="r", ties="trec_eval").rankings["q"]
    for rank, doc_id in enumerate(ranking, 1):
        measure = pytrec_eval.RelevanceEvaluator({"q": {doc_id: 1}}, {"recip_rank"})
        found = measure.evaluate({"q": {d: float(s) for d, s in scored}})["q"]["recip_rank"]
        assert found == pytest.approx(1 / rank)


REFUSED = {
    "few columns": (b"q1 Q0 a\n", "run:1: expected a TREC line"),
    "mixed columns": (b"q1 Q0 a 1 2 t\nq1 Q0 b 2\n", "run:2: expected a TREC line"),
    "shifted columns": (b"q1 Q0 a 1 2 t u\nq1 Q0 b 2 3\n", "run:1: expected a TREC line"),
    "no number": (b"q1 Q0 a 1 two t\n", "run:1: score 'two' is not a number"),
    "nan": (b"q1 Q0 a 1 2 t\nq1 Q0 b 2 nan t\n", "run:2: score 'nan' is not a number"),
    "repeat": (b"q1 Q0 a 1 2 t\nq1 Q0 a 2 1 t\n", "query 'q1': document 'a' stands at ranks 1, 2"),
    "latin-1": (b"q1 Q0 caf\xe9 1 2 t\n", "run:1: not UTF-8"),
    "utf-16": ("q1 Q0 a 1 2 t\n".encode("utf-16"), "the file is UTF-16"),
    "empty": (b"", "the file holds no ranking"),
    "no queries": (b"{}", "the file holds no ranking"),
    "list": (b'[["a"]]', "a JSON list has no query IDs"),
    "int ids": (b'{"q1": [7, 42]}', "document ID 7 is int, expected a string"),
    "float ids": (b'{"q1": [7.0]}', "document ID 7.0 is float"),
    "padded ids": (b'{"q1": [" 007"]}', "' 007' is empty or has blanks at its ends"),
    "null id": (b'{"q1": [null]}', "document ID None is NoneType"),
    "text": (b'{"q1": "a"}', "expected a list of document IDs"),
    "bool score": (b'{"q1": {"a": true}}', "score True is not a number"),
    "repeated key": (b'{"q1": {"a": 1, "a": 2}}', "'a' stands twice"),
    "lengths": (b'{"query_id":"q","doc_ids":["a"],"scores":[1,2]}', "run:1: 1 doc_ids and"),
    "second row": (b'{"query_id":"q","doc_ids":[]}\n{"query_id":"q","doc_ids":[]}', "run:2: "),
    "bad line": (b'{"query_id":"q","doc_ids":[]}\n{', "run:2: not a JSON value"),
    "no documents": (b'{"query_id":"q","ranked":[]}', "run:1: expected doc_ids"),
    "some scores": (b'{"query_id":"q","doc_id":"a","score":1}\n{"query_id":"q","doc_id":"b"}',
                    "run:2: query 'q': only some rows have a score"),
    "damaged gzip": (gzip.compress(PLAIN)[:-6], "damaged gzip"),
    "not parquet": (b"PAR1 or not", "not a readable Parquet file"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_understood_is_refused_with_its_place(name: str) -> None:
    data, message = REFUSED[name]
    with pytest.raises(RunFormatError, match=message):
        parse_run(data, name="r")


def test_repeats_can_be_dropped_and_are_counted() -> None:
    run = parse_run(b'{"q1": ["g1", "g1", "g1", "s1"]}', name="r", repeats="first")
    assert (run.rankings, run.n_repeats_dropped) == ({"q1": ["g1", "s1"]}, 2)


def test_empty_rankings_are_kept_as_such() -> None:
    assert parse_run(b'{"q1": [], "q2": ["a"]}', name="r").rankings == {"q1": [], "q2": ["a"]}


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunFormatError, match=r"nothing\.trec: cannot be read: No such file"):
        read_run(tmp_path / "nothing.trec")


BAD_QRELS = {
    "fraction": ("q1 0 a 1.5\n", r"qrels:1: grade '1\.5' is not a whole number"),
    "text": ("q1 0 b 1\nq1 0 a gold\n", "qrels:2: grade 'gold' is not a whole number"),
    "columns": ("q1 a 1\n", "qrels:1: expected 4 columns"),
    "twice": ("q1 0 a 1\nq1 0 a 2\n", "qrels:2: the pair q1 a is judged twice"),
    "bool": (json.dumps({"q1": {"a": True}}), "grade True is not a whole number"),
}


@pytest.mark.parametrize("name", BAD_QRELS)
def test_bad_qrels_are_refused_with_their_line(name: str, tmp_path: Path) -> None:
    text, message = BAD_QRELS[name]
    (tmp_path / "qrels").write_text(text)
    with pytest.raises(RunFormatError, match=message):
        read_qrels(tmp_path / "qrels")


def test_qrels_of_both_formats_are_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("q1 0 a 2\nq1 0 b 1\n")
    (tmp_path / "b").write_text('{"q1": {"a": 2, "b": 1}}')
    assert read_qrels(tmp_path / "a") == read_qrels(tmp_path / "b") == {"q1": {"a": 2, "b": 1}}


def test_surfaced_pages_come_along_with_a_ranking() -> None:
    row = {"query_id": "q", "doc_ids": ["a", "b"], "pages": [[[3, 0.5], [7, 0.25]], []]}
    run = parse_run(json.dumps(row).encode(), name="r")
    assert run.pages == {"q": {"a": [(3, 0.5), (7, 0.25)], "b": []}}


@pytest.mark.parametrize("pages", [[[3]], [[[3.5, 1]], []], [[["3", 1]], []], [3, 4]])
def test_malformed_surfaced_pages_are_refused(pages: list) -> None:
    row = {"query_id": "q", "doc_ids": ["a", "b"], "pages": pages}
    with pytest.raises(RunFormatError, match=r"r:1: .*page"):
        parse_run(json.dumps(row).encode(), name="r", source="r")


NUMBERS = st.one_of(
    st.integers(-(10**6), 10**6).map(str),
    st.decimals(-(10**4), 10**4, allow_nan=False, places=6).map(lambda d: format(d, "f")),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)
LINES = st.lists(st.tuples(st.sampled_from(["q1", "q22", "q3"]), NUMBERS), min_size=1, max_size=30)


@given(LINES)
@settings(max_examples=150, deadline=None)
def test_reading_columns_gives_what_splitting_lines_gives(lines: list[tuple[str, str]]) -> None:
    rows = [(q, f"doc_{i}", text) for i, (q, text) in enumerate(lines)]
    data = "".join(f"{q} Q0 {d} 1 {text} tag\n" for q, d, text in rows).encode()
    expected: dict[str, list[str]] = {}
    for query_id in dict.fromkeys(q for q, _, _ in rows):
        mine = [(d, float(text)) for q, d, text in rows if q == query_id]
        expected[query_id] = [d for d, _ in sorted(mine, key=lambda row: -row[1])]
    assert parse_run(data, name="r").rankings == expected


@given(st.lists(NUMBERS, min_size=1, max_size=20))
@settings(max_examples=150, deadline=None)
def test_scores_are_read_as_float_reads_them(texts: list[str]) -> None:
    data = "".join(f"q Q0 d{i} 1 {text} t\n" for i, text in enumerate(texts)).encode()
    found = read_columns(data)
    assert found is not None
    assert list(map(str, found.scores)) == [str(float(text)) for text in texts]  # -0.0, too


NO_NUMBERS = ["1..2", "--1", "-", ".", "1e", "x", "nan", "1.2.3", "12345678.9."]


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number_is_left_to_the_slow_reader(text: str) -> None:
    assert read_columns(f"q Q0 d 1 {text} t\n".encode()) is None


def test_rows_of_a_dataset_are_a_run() -> None:
    import datasets

    rows = datasets.Dataset.from_list(
        [{"system": "s", "query_id": "q1", "doc_ids": ["a", "b"], "scores": None}]
    )
    assert run_from_rows(rows).rankings == {"q1": ["a", "b"]}
    with pytest.raises(RunFormatError, match="run:2: query_id is 7"):
        run_from_rows([{"query_id": "q", "doc_ids": []}, {"query_id": 7, "doc_ids": []}])


ODD_TABLES = {
    "scores": {"query_id": ["q"], "doc_ids": [["a", "b"]], "scores": [[1.0, 2.0]]},
    "null scores": {"query_id": ["q"], "doc_ids": [["b", "a"]], "scores": [None]},
    "empty list": {"query_id": ["q", "r"], "doc_ids": [["b", "a"], []]},
    "another column": {"query_id": ["q"], "doc_ids": [["b", "a"]], "system": ["s"]},
}


@pytest.mark.parametrize("name", ODD_TABLES)
def test_parquet_tables_of_every_kind_give_the_ranking(name: str, tmp_path: Path) -> None:
    pq.write_table(pa.table(ODD_TABLES[name]), tmp_path / "run.parquet")
    assert read_run(tmp_path / "run.parquet").rankings["q"] == ["b", "a"]


BAD_TABLES = {
    "null id": ({"query_id": ["q"], "doc_ids": [["a", None]]}, "document ID None"),
    "blank": ({"query_id": ["q"], "doc_ids": [["a "]]}, "has blanks at its ends"),
    "twice": ({"query_id": ["q", "q"], "doc_ids": [["a"], ["b"]]}, "second row"),
    "numbers": ({"query_id": ["q"], "doc_ids": [[7]]}, "document ID 7 is int"),
    "repeat": ({"query_id": ["q"], "doc_ids": [["a", "a"]]}, "ranks 1, 2"),
    "columns": ({"query_id": ["q"], "papers": [["a"]]}, "expected doc_ids"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_parquet_tables_are_refused(name: str, tmp_path: Path) -> None:
    table, message = BAD_TABLES[name]
    pq.write_table(pa.table(table), tmp_path / "run.parquet")
    with pytest.raises(RunFormatError, match=message):
        read_run(tmp_path / "run.parquet")
