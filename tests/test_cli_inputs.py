"""Runs on the command line: what `score` and `compare` refuse, count and tell, by the same code."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nclue_cli.main import main
from nclue_core import ExitCode
from nclue_core.run_record import RunRecord, rankings_hash, record_path, write_record
from nclue_dataset.id_mismatch import likely_cause
from nclue_dataset.scoring import distinct_names, without_excluded
from tiny_release import write_tiny

RANKED = {"q1": ["d1", "d2"], "q2": ["d3", "d2"], "q3": ["d4", "d1"]}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("inputs") / "release")


def write_run(path: Path, rankings: Any = None) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(RANKED if rankings is None else rankings))
    return str(path)


def call(command: str, release: Path, *arguments: str) -> int:
    base = ["forward"] if command == "compare" else []
    return main([command, *base, *arguments, "--release", str(release)])


both = pytest.mark.parametrize("command", ["score", "compare"])


@both
@pytest.mark.parametrize(
    ("rankings", "cause"),
    [
        ({q: [f"{d}.pdf" for d in docs] for q, docs in RANKED.items()},
         "'.pdf' stands behind the IDs of the collection"),
        ({q: [f"mine/{d}" for d in docs] for q, docs in RANKED.items()},
         "'mine/' stands before the IDs of the collection"),
        ({q: [d.upper() for d in docs] for q, docs in RANKED.items()},
         "upper and lower case differ"),
        ({q: [d.replace("d", "d00") for d in docs] for q, docs in RANKED.items()},
         "zeros before numbers differ"),
    ],
    ids=["ending", "prefix", "case", "zeros"],
)  # fmt: skip
def test_a_run_of_unknown_documents_is_refused_with_both_sides_and_the_cause(
    command: str, rankings: Any, cause: str, release: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    run = write_run(tmp_path / "run.json", rankings)
    assert call(command, release, run) == ExitCode.INPUT
    printed = capsys.readouterr()
    assert printed.out == ""
    for part in ("4 of 4 documents are not in the corpus (100%)", cause, "--allow-unknown",
                 f"such as 'd1', the run {rankings['q1'][0]!r}"):  # fmt: skip
        assert part in printed.err
    assert call(command, release, run, "--allow-unknown") == ExitCode.OK
    assert "4 of 4 documents are not in the corpus" in capsys.readouterr().err


@both
def test_half_unknown_is_told_with_examples_and_more_is_refused(
    command: str, release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    half = write_run(tmp_path / "half.json", {"q1": ["d1", "x1"]})
    assert call(command, release, half) == ExitCode.OK
    assert "1 of 2 documents are not in the corpus (50%): x1" in capsys.readouterr().err
    more = write_run(tmp_path / "more.json", {"q1": ["d1", "x1", "x2"]})
    assert call(command, release, more) == ExitCode.INPUT
    empty = write_run(tmp_path / "empty.json", {"q1": []})
    assert call(command, release, empty) == ExitCode.OK


@pytest.mark.parametrize(
    ("unknown", "known", "cause"),
    [
        (["a_p1", "a_p2", "b_p9"], {"a", "b"}, "parts of documents"),
        (["a b", "c d"], {"a_b", "c_d"}, "marks such as - and _ differ"),
        (["caf\u0065\u0301"], {"caf\u00e9"}, "Unicode NFC and NFD differ"),
        (["a%20b"], {"a b"}, "%20"),
        (["17", "23"], {"doc_17", "doc_23"}, "'doc_' stands before the IDs in the collection"),
        (["7.0", "8.0"], {"7", "8"}, "'.0' stands behind"),
        (["apple", "pear"], {"doc_17", "doc_23"}, None),
        ([], {"a"}, None),
    ],
)  # fmt: skip
def test_causes_that_can_be_seen_in_the_ids(
    unknown: list[str], known: set[str], cause: str | None
) -> None:
    found = likely_cause(unknown, known)
    assert found is None if cause is None else cause in (found or "")


@both
def test_queries_that_match_nothing_are_refused_and_extra_ones_named(
    command: str, release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = write_run(tmp_path / "wrong.json", {f"mine_{q}": docs for q, docs in RANKED.items()})
    assert call(command, release, wrong) == ExitCode.INPUT
    said = capsys.readouterr().err
    assert "names queries such as 'mine_q1', the collection 'q1'" in said
    assert "'mine_' stands before" in said
    extra = write_run(tmp_path / "extra.json", {**RANKED, "q9": ["d1"]})
    assert call(command, release, extra) == ExitCode.OK
    assert "1 queries are not in the collection, not scored: q9" in capsys.readouterr().err


@both
def test_ties_are_told_where_they_matter(
    command: str, release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # q1: gold d1 and subset d2 tied at the top. q2: d2 and d3 tied across rank 1.
    # q3: two unjudged documents tied below all that counts.
    run = write_run(tmp_path / "run.json", {
        "q1": {"d1": 2, "d2": 2, "d3": 1},
        "q2": {"d4": 3, "d2": 2, "d3": 2},
        "q3": {"d1": 9, "d3": 1, "x": 1},
    })  # fmt: skip
    assert call(command, release, run, "--k", "2", "--k", "3") == ExitCode.OK
    said = capsys.readouterr().err
    assert "6 documents have tied scores (order: input)" in said
    assert "ties cross rank 2 in 2 queries: q2, q3" in said
    assert "stand between a gold and a subset in the top 2 in 2 queries: q1, q2" in said
    assert "ties cross rank 3" not in said
    harmless = write_run(tmp_path / "harmless.json", {"q1": {"d1": 2, "x": 1, "d4": 1}})
    assert call(command, release, harmless) == ExitCode.OK
    assert "none crosses rank 10 or stands between" in capsys.readouterr().err


def test_ties_and_unknown_documents_are_in_the_result(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run.json", {"q1": {"d1": 2, "d2": 2, "x": 1}})
    assert call("score", release, run, "--k", "1", "--json") == ExitCode.OK
    (result,) = json.loads(capsys.readouterr().out)
    assert result["ties_at"] == [
        {"k": 1, "across_k": 1, "across_k_examples": ["q1"], "gold_and_subset": 1,
         "gold_and_subset_examples": ["q1"]}
    ]  # fmt: skip
    assert (result["unknown_examples"], result["unknown_share"]) == (["x"], pytest.approx(1 / 3))
    assert result["path"] == run


@both
def test_bad_runs_are_listed_together_and_nothing_is_scored(
    command: str, release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = write_run(tmp_path / "good.json")
    short = tmp_path / "short.trec"
    short.write_text("q1 d1\n")
    unknown = write_run(tmp_path / "unknown.json", {"q1": ["x"]})
    missing = str(tmp_path / "missing.trec")
    assert call(command, release, good, str(short), unknown, missing) == ExitCode.INPUT
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "3 of" in printed.err
    for part in ("short.trec:1", "1 of 1 documents", "missing.trec: no such file"):
        assert part in printed.err


@both
def test_forms_copies_and_filters_that_there_are_not_are_refused(
    command: str, release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run.json")
    ids = tmp_path / "ids.txt"
    ids.write_text("q1\nmini_q2\n")
    for options, message in (
        (("--form", "clean"), "has the forms raw, clean_v2, natural; do you mean clean_v2?"),
        (("--qrels", "initial"), "has the qrels final, not 'initial'"),
        (("--source", "nowhere"), "nowhere is not in the collection, which has tests"),
        (("--n", "7"), "no query of tiny is left"),
        (("--queries", str(ids)), "mini_q2 is not in the collection"),
    ):
        assert call(command, release, run, *options) == ExitCode.USAGE, options
        assert message in capsys.readouterr().err


@both
def test_filters_change_queries_and_conditions(
    command: str, release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = tmp_path / "ids.json"
    ids.write_text('["q3", "q1"]')
    run = write_run(tmp_path / "run.json")
    for options, n, recorded in (
        (("--n", "3"), 1, {"n": [3]}),
        (("--queries", str(ids)), 2, {"query_list": 2}),
        (("--source", "tests", "--n", "2"), 2, {"n": [2], "source": ["tests"]}),
    ):
        assert call(command, release, run, "--json", *options) == ExitCode.OK
        found = json.loads(capsys.readouterr().out)
        conditions = (found[0] if command == "score" else found)["conditions"]
        assert conditions["queries"] == n
        assert recorded.items() <= conditions.items()


@both
def test_exclusions_of_other_queries_are_refused(
    command: str, release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    excluded = write_run(tmp_path / "excluded.json", {"Q1": ["d2"]})
    run = write_run(tmp_path / "run.json")
    assert call(command, release, run, "--exclude", excluded) == ExitCode.USAGE
    assert "--exclude: Q1 is not in the collection" in capsys.readouterr().err


def test_exclusions_are_hashed_once_per_query() -> None:
    class Counted(list[str]):
        read = 0

        def __iter__(self) -> Any:
            Counted.read += 1
            return super().__iter__()

    kept = without_excluded({"q": ["a", "b", "c"], "r": ["a"]}, {"q": Counted(["a", "x"])})
    assert kept == {"q": ["b", "c"], "r": ["a"]}
    assert Counted.read == 1


def test_compare_gives_a_table_per_cutoff(
    release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # backward ranks d4, d3, d2: only at k = 3 does it find the gold of q2
    assert call("compare", release, "backward", "--k", "1", "--k", "3", "--json") == ExitCode.OK
    result = json.loads(capsys.readouterr().out)
    hits = {item["k"]: item["hit"]["variant"] for item in result["contrasts"]}
    assert hits == {1: 0, 3: pytest.approx(100 / 3)}
    assert [run["run"] for run in result["runs"]] == ["forward", "backward"]


@both
def test_a_run_comes_from_stdin_once(
    command: str, release: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"q1 Q0 d1 1 2 t\n")))
    assert call(command, release, "-") == ExitCode.OK
    assert "stdin" in capsys.readouterr().out
    assert call(command, release, "-", "-") == ExitCode.USAGE
    assert "name it once" in capsys.readouterr().err


@both
def test_fields_of_runs_may_have_names_of_their_own(
    command: str, release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run.jsonl"
    run.write_text("".join(
        json.dumps({"question": q, "papers": docs}) + "\n" for q, docs in RANKED.items()
    ))  # fmt: skip
    assert call(command, release, str(run)) == ExitCode.INPUT
    mapped = ("--map", "query_id=question", "--map", "doc_ids=papers")
    assert call(command, release, str(run), *mapped) == ExitCode.OK


def test_scores_per_query_without_json_are_refused(
    release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("score", release, "forward", "--per-query") == ExitCode.USAGE
    assert "--per-query needs --json" in capsys.readouterr().err


# N03 and relatives: names that a table could read as marks


@both
@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("bm25[k1=0.9]", "bm25[tuned]"),  # N03
        ("bm25[/]", "bm25[bold red]"),
        (":smile:", "a\\[b]"),
    ],
)
def test_names_with_brackets_are_shown_as_they_are(
    command: str, one: str, two: str, release: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    runs = [write_run(tmp_path / f"{name.replace('/', '')}.json") for name in (one, two)]
    assert call(command, release, *runs) == ExitCode.OK
    table = capsys.readouterr().out
    for name in (one, two):
        assert table.count(name.replace("/", "")) == 1


def test_a_latex_row_may_begin_with_a_bracket(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After a line break of LaTeX, [ begins an argument: the name would vanish."""
    run = write_run(tmp_path / "[tuned].json")
    assert call("compare", release, run, "--latex") == ExitCode.OK
    rows = capsys.readouterr().out.splitlines()
    assert rows[4].startswith("{[}tuned{]} - forward")
    assert not [row for row in rows if row.startswith("[")]


# N04 and relatives: names that two runs share


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["a/run.trec", "b/run.trec"], ["a/run", "b/run"]),  # N04
        (["run.trec", "run.json"], ["run.trec", "run.json"]),
        (["x/a/run.json", "y/a/run.json", "other.json"], ["x/a/run", "y/a/run", "other"]),
        (["run.json", "run.json"], ["run", "run (2)"]),
        (["forward", "forward.json"], ["forward", "forward.json"]),
        (["run.trec.gz", "deep/run.trec"], ["run.trec.gz", "deep/run"]),
    ],
)
def test_names_keep_apart(
    names: list[str], labels: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in names:
        if "." in name:
            write_run(tmp_path / name)
    assert distinct_names(names) == labels


def test_two_runs_of_one_name_keep_apart_in_table_json_and_contrasts(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    runs = [write_run(Path("a/run.json")), write_run(Path("b/run.json"), {"q1": ["d2"]})]
    assert call("score", release, *runs, "--json") == ExitCode.OK
    found = json.loads(capsys.readouterr().out)
    assert [(item["run"], item["path"]) for item in found] == [
        ("a/run", "a/run.json"), ("b/run", "b/run.json"),
    ]  # fmt: skip
    assert main(["compare", *runs, "--release", str(release)]) == ExitCode.OK
    assert "b/run - a/run" in capsys.readouterr().out


# What a run was made from


def record(**changes: Any) -> RunRecord:
    values = {"system": "bm25_or", "nclue": "9", "settings": {"depth": 100}, "form": "raw",
              "collection": "tiny", "seed": 11, "documents": 164, "documents_with_text": 5,
              "rankings": rankings_hash(RANKED)} | changes  # fmt: skip
    return RunRecord(**values)


@pytest.mark.parametrize(
    ("command", "style"),
    [("score", ()), ("score", ("--json",)), ("compare", ()), ("compare", ("--json",)),
     ("compare", ("--markdown",)), ("compare", ("--latex",))],
)  # fmt: skip
def test_a_run_over_part_of_the_documents_says_so_wherever_it_is_scored(
    command: str, style: tuple[str, ...], release: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    # written for the JSONL of `nclue run`; the run at hand was made from it, in TREC
    write_record(tmp_path / "mine.jsonl", record())
    lines = [f"{q} Q0 {d} {i} {9 - i} t" for q, ds in RANKED.items() for i, d in enumerate(ds, 1)]
    (tmp_path / "mine.trec").write_text("\n".join(lines))
    assert call(command, release, str(tmp_path / "mine.trec"), *style) == ExitCode.OK
    printed = capsys.readouterr()
    assert "made over 5 of 164 documents" in printed.out
    assert "made over 5 of 164 documents" in printed.err
    assert "is scored as" not in printed.err
    assert "rankings are not those" not in printed.err


@both
def test_a_run_that_is_scored_as_something_else_is_told(
    command: str, release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "mine.json", {"q1": ["d1"]})
    write_record(Path(run), record(form="natural", collection="mini", judgments="0123456789ab"))
    assert call(command, release, run) == ExitCode.OK
    said = capsys.readouterr().err
    assert "made for the form natural, and is scored as raw" in said
    assert "made for the collection mini, and is scored as tiny" in said
    assert "made for the judgments 0123456789ab, and is scored as " in said
    assert "its rankings are not those that its record (.run.json) was written for" in said


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"q1": ["d1"]}', "[" * 100_000, "\xff"], ids=range(6)
)
def test_other_files_called_run_json_are_no_records(
    content: str, release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "mine.json")
    record_path(Path(run)).write_text(content, encoding="latin-1")
    assert call("score", release, run, "--json") == ExitCode.OK
    assert json.loads(capsys.readouterr().out)[0]["made_from"] is None


def test_a_damaged_record_is_refused_by_field(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "mine.json")
    path = record_path(Path(run))
    path.write_text('{"format": "nclue-run/1", "system": "x", "nclue": "1", "settings": 3}')
    assert call("score", release, run) == ExitCode.INPUT
    assert "mine.run.json: settings is 3" in capsys.readouterr().err
    path.write_text('{"format": "nclue-run/1", "system": "x"}')
    assert call("score", release, run) == ExitCode.INPUT
    assert "nclue, settings, form is missing" in capsys.readouterr().err


def test_a_record_is_that_of_its_rankings_in_any_order_of_queries() -> None:
    turned = dict(reversed(RANKED.items()))
    assert rankings_hash(turned) == rankings_hash({**RANKED, "q9": []})
    assert rankings_hash({**RANKED, "q1": ["d2", "d1"]}) != rankings_hash(RANKED)
