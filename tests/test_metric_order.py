"""One rule for order in every format, columns that are checked, and names that peers write."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nclue_dataset.aliases import FIELDS
from nclue_metric import Judgments, ScoringError, fields, score_files
from nclue_metric.fields import NAMES
from nclue_metric.qrels import parse_qrels
from nclue_metric.runs import (
    Run,
    RunFormatError,
    parse_run,
    read_run,
    run_from_mapping,
    run_from_rows,
)

FORMATS = ("TREC", "JSONL", "Parquet", "table", "rows", "JSON list", "objects in lists")


def in_format(name: str, rows: list[dict[str, Any]]) -> Run:
    """Rows of doc_id with score and rank, as a run of one query in some format."""
    rows = [{"query_id": "q", **row} for row in rows]
    if name == "rows":
        return run_from_rows(rows)
    if name == "objects in lists":
        return run_from_mapping({"q": [dict(row) for row in rows]})
    return parse_run(as_bytes(name, rows), name="run")


def as_bytes(name: str, rows: list[dict[str, Any]]) -> bytes:
    if name == "TREC":
        return "\n".join(
            " ".join(["q", "Q0", row["doc_id"], str(row.get("rank", 0)),
                      *([str(row["score"])] if "score" in row else [])])
            for row in rows
        ).encode()  # fmt: skip
    if name == "Parquet":
        stream = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), stream)
        return stream.getvalue()
    if name == "table":
        lines = ["\t".join(rows[0]), *("\t".join(map(str, row.values())) for row in rows)]
        return "\n".join(lines).encode()
    if name == "JSON list":
        return json.dumps(rows).encode()
    return "\n".join(map(json.dumps, rows)).encode()


BY_RANK = [{"doc_id": "c", "rank": 3}, {"doc_id": "a", "rank": 1}, {"doc_id": "b", "rank": 2}]
BY_SCORE = [{"doc_id": "c", "score": -1.0, "rank": 3}, {"doc_id": "a", "score": 7.5, "rank": 1},
            {"doc_id": "b", "score": 0.0, "rank": 2}]  # fmt: skip
AGAINST = [{"doc_id": "a", "score": 3.0, "rank": 3}, {"doc_id": "b", "score": 2.0, "rank": 2},
           {"doc_id": "c", "score": 1.0, "rank": 1}]  # fmt: skip
EQUAL = [{"doc_id": d, "score": 1.0, "rank": r} for d, r in (("c", 3), ("a", 1), ("b", 2))]
ZERO_BASED = [{"doc_id": "b", "rank": 1}, {"doc_id": "a", "rank": 0}, {"doc_id": "c", "rank": 7}]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "rows",
    [BY_RANK, BY_SCORE, AGAINST, EQUAL, ZERO_BASED],
    ids=["rank", "score", "against", "equal scores", "zero-based"],
)
def test_score_decides_then_rank_in_every_format(name: str, rows: list[dict[str, Any]]) -> None:
    assert in_format(name, rows).rankings == {"q": ["a", "b", "c"]}


@pytest.mark.parametrize("name", FORMATS[:-1])
def test_ranks_that_contradict_scores_or_lines_are_told(name: str) -> None:
    (note,) = in_format(name, AGAINST).notes
    assert note == (
        "query 'q': score and rank contradict each other ('a' has score 3 and rank 3, 'b' has "
        "score 2 and rank 2); the scores decide"
    )
    (note,) = in_format(name, BY_RANK).notes
    assert "not in the order of their ranks; the ranks decide" in note
    (note,) = in_format(name, EQUAL).notes
    assert "equal scores stand in another order than their ranks" in note
    assert in_format(name, BY_SCORE).notes == ()


@pytest.mark.parametrize("name", FORMATS)
def test_a_rank_that_stands_twice_orders_nothing(name: str) -> None:
    with pytest.raises(RunFormatError, match="twice"):
        in_format(name, [{"doc_id": "a", "rank": 2}, {"doc_id": "b", "rank": 2},
                         {"doc_id": "c", "rank": 1}])  # fmt: skip


def test_one_number_for_all_ranks_says_nothing() -> None:
    data = b"q Q0 a 1 1 t\nq Q0 b 1 2 t\nr Q0 a 1 1 t\n"
    run = parse_run(data, name="r")
    assert (run.rankings["q"], run.notes) == (["b", "a"], ())


def test_trec_eval_orders_ties_by_document_whatever_their_ranks() -> None:
    data = b"q Q0 a 1 1 t\nq Q0 z 2 1 t\nq Q0 m 3 0 t\n"
    assert parse_run(data, name="r", ties="trec_eval").rankings == {"q": ["z", "a", "m"]}


def test_groups_of_ties_are_known_by_their_ranks() -> None:
    value = {"q": {"a": 3, "b": 2, "c": 2, "d": 1, "e": 1, "f": 1}, "r": {"a": 1, "b": 0}}
    run = run_from_mapping({**value, "s": ["x", "y"]})
    assert run.tie_groups == {"q": [(2, 3), (4, 6)]}
    assert run.n_tied == 5
    assert run_from_mapping({"q": ["a", "b"]}).tie_groups == {}


REFUSED = {
    "score at the rank": (b"q Q0 a 9.5\nq Q0 b 8.1\n", "r:1: .*rank, a whole number.*'9.5'.*score"),
    "whole scores at the rank": (b"q Q0 a 9\nq Q0 b 8\n", "query 'q': its ranks begin with 8"),
    "no Q0, rank and score": (b"q a 1 9.5\nq b 2 8.1\n", "r:1: .*second is Q0, found 'a'"),
    "no Q0, whole scores": (b"q a 1 9\nq b 2 8\n", "r:1: .*second is Q0"),
    "no Q0, with a tag": (b"q a 1 9.5 t\nq b 2 8.1 t\n", "r:1: .*rank.*found '9.5'"),
    "no Q0, numbers": (b"q a 1 9 2\nq b 2 8 1\n", "r:2: .*second column is one word.*'b'"),
    "score before rank": (b"q Q0 a 9.5 1 t\n", "r:1: .*rank.*found '9.5'"),
    "judgments": (b"q 0 a 2\nq 0 b 1\n", "r:1: .*are judgments"),
    "layouts mixed": (b"q Q0 a 1\nq Q0 b 2 7.5 t\n", "r:2: .*the same in all lines; line 1 has 4"),
    "a comment": (b"# made today\nq Q0 a 1 9 t\n", "r:1: .*comments are no part"),
    "a comment later": (b"q Q0 a 1 9 t\n# 5 words in this comment\n", "r:2: .*second column"),
    "a tag of two words": (b"q Q0 a 1 9 my tag\n", "r:1: .*a tag is one word"),
    "a fraction as rank": (b"q Q0 a 1.5 9 t\n", r"r:1: .*rank.*'1\.5'"),
    "a negative rank": (b"q Q0 a -1 9 t\n", "r:1: .*rank.*'-1'"),
    "infinite rank": (b"q Q0 a inf\n", "r:1: .*rank.*'inf'"),
    "infinite score": (b"q Q0 a 1 inf t\n", "r:1: score 'inf' is not a number"),
    "a huge score": (b"q Q0 a 1 " + b"9" * 400 + b" t\n", "r:1: score '9+[.]{3}' is not a number"),
    "a hexadecimal": (b"q Q0 a 0x1 9 t\n", "r:1: .*rank.*'0x1'"),
    "an underscore": (b"q Q0 a 1 1_0 t\n", "r:1: score '1_0'"),
    "three columns": (b"q\ta\t1\n", "r:1: expected a TREC line.*header line.*found 3 columns"),
    "an unknown header": (b"nr,paper,sim\n1,a,2\n", "r:1: expected a TREC line.*header line"),
    "a header without documents": (b"qid,paper,score\n1,a,2\n", "--map doc_id=NAME"),
    "a short row": (b"qid,docid,score\nq,a\n", "r:2: expected 3 columns"),
    "no number in a table": (b"qid\tdocid\tscore\nq\ta\thigh\n", "r:2: score 'high'"),
    "a rank in a table": (b"qid,docid,rank\nq,a,1.5\n", "r:2: .*rank 1.5 is not a whole"),
    "deep": (b"[" * 100_000, "nested too deeply"),
    "a number": (b'{"q1": 3}', "query 'q1': expected a list"),
    "a score of 400 digits": (b'{"q1": {"a": ' + b"9" * 400 + b"}}", "score 9+[.]{3} is not a num"),
    "two names": (b'{"qid": "q", "doc_id": "a", "pid": "b"}', "r:1: doc_id and pid are all names"),
    "unknown names": (b'{"topic_nr": "q", "paper": "a"}\n{"topic_nr": "q"}',
                      "r:1: there is no query_id .*has 'topic_nr', 'paper'.*--map query_id"),
    "ranks of some": (b'{"qid":"q","pid":"a","rank":1}\n{"qid":"q","pid":"b"}', "only some rows"),
    "no query": (b'{"qid": null, "pid": "a"}', "r:1: query_id is None"),
    "several runs": (b'{"default": {"dev": {"q": {"a": 1}}, "test": {"q": {"a": 1}}}}',
                     "several runs .'dev', 'test'"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_other_layouts_are_refused_with_place_and_what_was_seen(name: str) -> None:
    data, message = REFUSED[name]
    with pytest.raises(RunFormatError, match=re.compile(message, re.S)):
        parse_run(data, name="r", source="r")


READ = {
    "no tag": "q Q0 a 1 9\nq Q0 b 2 8\n",
    "tags on some": "q Q0 a 1 9 t\nq Q0 b 2 8\n",
    "an odd tag": "q Q0 a 1 9 0x#1,5\nq Q0 b 2 8 \u00e9\n",
    "another literal": "q 0 a 1 9 t\nq 0 b 2 8 t\n",
    "pyterrier": "qid,docid,docno,rank,score,query\nq,7,a,0,9.5,some words\nq,8,b,1,8,x\n",
    "ir_measures": "query_id,doc_id,score\nq,b,8\nq,a,9.5\n",
    "a header of blanks": "qid Q0 docno rank score tag\nq Q0 a 1 9 t\nq Q0 b 2 8 t\n",
    "upper case": "Query_ID\tDoc_ID\tRank\nq\tb\t2\nq\ta\t1\n",
    "quoted": '"query-id","corpus-id","score"\n"q","a","2"\n"q","b","1"\n',
    "results": """{"qid": "q", "results": [{"doc_id": "b", "score": 1},
                  {"doc_id": "a", "score": 2}]}""".replace("\n", ""),
    "results, ranked": """{"qid": "q", "results": [{"docid": "b", "rank": 2},
                          {"docid": "a", "rank": 1}]}""".replace("\n", ""),
    "pairs": '{"qid": "q", "results": [["b", 1], ["a", 2]]}',
    "a mapping in a row": '{"q_id": "q", "results": {"b": 1, "a": 2}}',
    "rank_llm": """{"query": {"qid": "q", "text": "t"}, "candidates": [{"docid": "a", "score": 2},
                   {"docid": "b", "score": 1}]}""".replace("\n", ""),
    "a query's text beside its ID": '{"query": "some words", "qid": "q", "docs": ["a", "b"]}',
    "pretty rows": """[\n {"qid": "q", "pid": "b", "score": 1},\n
                        {"qid": "q", "pid": "a", "score": 2}\n]""",
    "MTEB": """{"mteb_model_meta": {"name": "m"},
               "default": {"test": {"q": {"b": 0.1, "a": 0.2}}}}""",
    "BEIR and ranx": '{"q": {"b": 0.1, "a": 0.2}}',
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_what_peers_write_is_read(name: str) -> None:
    assert parse_run(READ[name].encode(), name="r").rankings == {"q": ["a", "b"]}


def test_ranx_frames_are_read_from_parquet(tmp_path: Path) -> None:
    rows = pa.table({"q_id": ["r", "q", "q"], "doc_id": ["b", "b", "a"], "score": [1.0, 1.0, 2.0]})
    pq.write_table(rows, tmp_path / "ranx.parquet", row_group_size=2)
    run = read_run(tmp_path / "ranx.parquet")
    assert run.rankings == {"r": ["b"], "q": ["a", "b"]}
    (scored,) = score_files(Judgments.from_mapping({"q": {"a": 1}}, 1), [run])
    assert (scored.scores[10].score.tolist(), scored.extra) == ([1.0], ("r",))


def test_other_names_can_be_said(tmp_path: Path) -> None:
    data = b'{"nr": "q", "paper": "a", "how": 1}\n{"nr": "q", "paper": "b", "how": 2}\n'
    mapping = {"query_id": "nr", "doc_id": "paper", "score": "how"}
    assert parse_run(data, name="r", mapping=mapping).rankings == {"q": ["b", "a"]}
    rows = [json.loads(line) for line in data.splitlines()]
    assert run_from_rows(rows, mapping=mapping).rankings == {"q": ["b", "a"]}
    table = tmp_path / "run.parquet"
    pq.write_table(pa.Table.from_pylist(rows), table)
    (scored,) = score_files(Judgments.from_mapping({"q": {"a": 1}}, 1), [table], mapping=mapping)
    assert scored.run.rankings == {"q": ["b", "a"]}


@pytest.mark.parametrize("rules", [{"ties": "trec-eval"}, {"repeats": "frist"},
                                   {"mapping": {"document": "x"}}], ids=str)  # fmt: skip
def test_rules_that_do_not_exist_are_refused_before_anything_is_read(
    rules: dict[str, Any],
) -> None:
    name = next(iter(rules))

    def rows() -> Any:
        raise AssertionError("a row was asked for")
        yield

    calls = [
        lambda: read_run("no such file", **rules),
        lambda: parse_run(b"", name="r", **rules),
        lambda: run_from_rows(rows(), **rules),
        lambda: score_files(Judgments.from_mapping({"q": {}}, 1), ["no such file"], **rules),
    ]
    if name != "mapping":
        calls.append(lambda: run_from_mapping({"q": 3}, **rules))
    for call in calls:
        with pytest.raises(ScoringError, match=f"^{name}"):
            call()


BAD_QRELS = {
    "golds as a list": (b'{"q": ["a"]}', "query 'q': expected {doc_id: grade}, found list"),
    "two hyphens": (b"q 0 a --1\n", "r:1: grade '--1' is not a whole number"),
    "below 0": (b"q 0 a -1\n", "r:1: grade -1 is below 0"),
    "very long": (b"q 0 a " + b"1" * 400 + b"\n", "r:1: grade '1+' is not a whole"),
    "a fraction in a table": (b"query-id\tcorpus-id\tscore\nq\ta\t1.5\n", "r:2: .*grade '1.5'"),
    "a run": (b"q Q0 a 1 9 t\n", "r:1: expected 4 columns"),
    "twice in a table": (b"qid,docid,rel\nq,a,1\nq,a,1\n", "r:3: the pair q a is judged twice"),
    "no grade": (b'{"qid": "q", "doc_id": "a"}', "r:1: there is no grade .*--map grade=NAME"),
    "nothing": (b"\n", "holds no judgment"),
    "a number": (b'{"q": {"a": ' + b"9" * 400 + b"5.5}}", "query 'q'"),
}


@pytest.mark.parametrize("name", BAD_QRELS)
def test_judgments_of_another_shape_are_refused_by_place(name: str) -> None:
    data, message = BAD_QRELS[name]
    with pytest.raises(RunFormatError, match=message):
        parse_qrels(data, "r")


@pytest.mark.parametrize("data", [
    b"query-id\tcorpus-id\tscore\nq\ta\t2\nq\tb\t1\n", b"q 0 a 2\nq 0 b 1\n",
    b'{"query_id": "q", "doc_id": "a", "grade": 2, "label": "gold"}\n{"query_id": "q", "doc_id": '
    b'"b", "grade": 1, "label": "subset"}\n', b"q_id,doc_id,rel\nq,a,2\nq,b,1\n",
], ids=["BEIR", "TREC", "JSONL of a release", "table"])  # fmt: skip
def test_judgments_that_peers_write_are_read(data: bytes) -> None:
    assert parse_qrels(data, "r") == {"q": {"a": 2, "b": 1}}


def test_releases_know_the_names_of_runs_too() -> None:
    by_name = {field.name: set(field.accepted) for field in FIELDS["reference_runs"]}
    for field in ("query_id", "doc_id", "doc_ids"):
        assert set(NAMES[field]) - {"query", "topic"} <= by_name[field], field
    assert set(fields.RUN_FIELDS) <= set(NAMES)


BLOCK = re.compile(r"```(?:text|json)\n(.*?)```", re.S)


def test_every_example_of_the_card_is_the_same_run(project_dir: Path) -> None:
    text = (project_dir / "cards" / "runs.md").read_text()
    examples = BLOCK.findall(text.partition("## Judgments")[0])
    assert len(examples) >= 12
    for example in examples:
        run = parse_run(example.encode(), name="example")
        assert run.rankings["mini_0001"] == ["report_7", "report_3"], example
        assert not [note for note in run.notes if "contradict" in note]
    for example in BLOCK.findall(text.partition("## Judgments")[2]):
        assert parse_qrels(example.encode(), "example") == {
            "mini_0001": {"report_7": 2, "report_3": 1}
        }


def test_names_in_the_card_are_those_that_are_known(project_dir: Path) -> None:
    text = (project_dir / "cards" / "runs.md").read_text()
    for field, names in NAMES.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{field}` |"))
        assert re.findall(r"`([^`]+)`", row.split("|")[2]) == list(names[1:]), field
