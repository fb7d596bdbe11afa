from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from nclue_cli.cmd_check import command
from nclue_core.errors import UsageError
from nclue_dataset.check import check_release
from nclue_dataset.collection_writer import write_checksums
from nclue_dataset.names import config_name_reason, split_name_reason
from simulate import simulated_release
from tiny_release import edit_rows, write_tiny


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """The small release, made wholly right (its second query has no gold by the page rule)."""
    folder = write_tiny(tmp_path / "release")

    def right(row):
        if (row["query_id"], row["doc_id"]) == ("q2", "d2"):
            row["evidence"][1]["pages"] = [5]
        return row

    edit_rows(folder / "qrels.jsonl", right)
    write_checksums(folder)
    return folder


def found(release: Path, **options) -> set[tuple[str, str, int | None]]:
    report = check_release(release, **options)
    return {(item.code, item.path, item.line) for item in report.findings}


def messages(release: Path, code: str) -> list[str]:
    return [item.message for item in check_release(release).findings if item.code == code]


def rows(path: Path, *values) -> None:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))


def test_a_right_release_has_no_findings(release):
    assert check_release(release).findings == []


def first_row(**values):
    state = {"first": True}

    def change(row):
        first, state["first"] = state["first"], False
        return {**row, **values} if first else row

    return change


@pytest.mark.parametrize(
    ("file", "values", "code"),
    [
        ("queries.jsonl", {"query_id": "Q2"}, "id-case"),
        ("queries.jsonl", {"query_id": "con.1"}, "unsafe-id"),
        ("queries.jsonl", {"query_id": "q2"}, "duplicate-id"),
        ("queries.jsonl", {"query_text_eval_full": " "}, "empty-text"),
        ("queries.jsonl", {"conditions": ["COVID-19", "covid-19"]}, "condition-repeated"),
        ("queries.jsonl", {"query_text_eval_full":
                           "Sanctions  and Grievance Mechanism"}, "duplicate-text"),
        ("queries_forms.jsonl", {"query": "executive summary and COVID-19"}, "form-condition"),
        ("qrels.jsonl", {"query_id": "q9"}, "dangling-query"),
        ("qrels.jsonl", {"doc_id": "d9"}, "dangling-document"),
        ("qrels.jsonl", {"doc_id": "d2"}, "duplicate-pair"),
        ("qrels.jsonl", {"grade": 3}, "grade-range"),
        ("qrels.jsonl", {"label": "subset"}, "grade-label"),
        ("qrels.jsonl", {"grade": 1, "label": "subset"}, "grade-evidence"),
        ("qrels.jsonl", {"evidence": []}, "evidence-missing"),
        ("corpus.jsonl", {"sha256": "A" * 64}, "sha256"),
        ("corpus.jsonl", {"sha256": "a" * 63}, "sha256"),
        ("corpus.jsonl", {"sha256": f"{2:064x}"}, "duplicate-pdf"),
        ("corpus.jsonl", {"pdf_url": "ftp://example.org/a.pdf"}, "url"),
        ("corpus.jsonl", {"pdf_url": "https://user:word@example.org/a.pdf"}, "url"),
        ("corpus.jsonl", {"license": None}, "license"),
        ("corpus.jsonl", {"pdf_url": None}, "no-url"),
        ("corpus.jsonl", {"colour": "red"}, "unknown-field"),
        ("reference_runs/forward.jsonl", {"doc_ids": ["d1", "d1"]}, "repeated-document"),
        ("reference_runs/forward.jsonl", {"doc_ids": ["d1", "d8"]}, "dangling-document"),
        ("reference_runs/forward.jsonl", {"scores": [1, 2, 0]}, "score-order"),
        ("reference_runs/forward.jsonl", {"scores": [1, 2]}, "score-count"),
        ("reference_runs/forward.jsonl", {"query_id": "q8"}, "dangling-query"),
        ("reference_runs/forward.jsonl", {"query_id": "q8"}, "run-incomplete"),
        ("reference_runs/forward.jsonl", {"doc_ids": []}, "empty-ranking"),
    ],
)  # fmt: skip
def test_one_fault_is_found(release, file, values, code):
    edit_rows(release / file, first_row(**values))
    assert code in {name for name, _, _ in found(release)}


def test_a_template_that_is_not_followed_is_found(release):
    def reworded(row):
        return {**row, "query": row["query"].replace("; ", ", ")}

    edit_rows(release / "queries_forms.jsonl", reworded)
    assert len(messages(release, "form-template")) == 3


def test_forms_must_cover_all_queries(release):
    edit_rows(
        release / "queries_forms.jsonl",
        lambda row: None if (row["query_id"], row["form"]) == ("q2", "natural") else row,
    )
    assert messages(release, "form-coverage") == ["natural: 1 of 3 queries have no text (q2)"]


def test_a_broken_line_hides_nothing_else(release):
    path = release / "qrels.jsonl"
    lines = path.read_text().splitlines()
    lines[0] = lines[0].replace('"d1"', '"d7"')
    lines[1] = '{"query_id": "q1", '
    lines[2] = lines[2].replace('"q2"', '"q7"')
    path.write_text("\n".join(lines))
    wrong = {(code, line) for code, name, line in found(release) if name == "qrels.jsonl"}
    assert wrong >= {("dangling-document", 1), ("json", 2), ("dangling-query", 3)}


def test_checksums_missing_and_unlisted_files_are_told(release):
    (release / "notes.txt").write_text("x")
    (release / "corpus.jsonl").unlink()
    with (release / "queries.jsonl").open("a") as stream:
        stream.write("\n")
    codes = {name for name, _, _ in found(release)}
    assert codes >= {"unlisted-file", "missing-file", "checksum"}


def test_encodings_are_told(release):
    path = release / "corpus.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    codes = {name for name, file, _ in found(release) if file == "corpus.jsonl"}
    assert codes == {"bom", "crlf"}
    path.write_bytes(path.read_bytes().decode("utf-8-sig").encode("utf-16"))
    codes = {name for name, file, _ in found(release) if file == "corpus.jsonl"}
    assert codes >= {"encoding", "json"}


def bare_release(folder: Path, queries, corpus, qrels) -> Path:
    folder.mkdir()
    for name, values in (("queries", queries), ("corpus", corpus), ("qrels", qrels)):
        rows(folder / f"{name}.jsonl", *values)
    return folder


def test_page_numbers_are_positions_in_the_document(tmp_path):
    def qrel(number, first, second=("B", [3])):
        evidence = [{"condition": c, "pages": p} for c, p in (first, second)]
        return {"query_id": "q1", "doc_id": f"d{number}", "grade": 2, "evidence": evidence}

    release = bare_release(
        tmp_path / "r",
        [{"query_id": "q1", "query": "A and B", "conditions": ["A", "B"]}],
        [{"doc_id": f"d{i}", "source": "s", "n_pages": 8} for i in range(1, 8)],
        [
            qrel(1, ("A", [1]), ("B", [8])),
            qrel(2, ("A", [0])),
            qrel(3, ("A", [9])),
            qrel(4, ("A", [5120])),
            qrel(5, ("A", ["7.10"])),
            qrel(6, ("A", [2, 2])),
            qrel(7, ("A", [3]), ("C", [4])),
        ],
    )
    wrong = {(c, line) for c, file, line in found(release) if file == "qrels.jsonl"}
    assert wrong == {("page-range", 2), ("page-range", 3), ("page-range", 4), ("page-type", 5),
                     ("page-repeated", 6), ("evidence-condition", 7), ("gold-rule", 7)}  # fmt: skip


def test_gold_follows_the_page_rule(tmp_path):
    def qrel(number, grade, label, *page_sets):
        evidence = {c: pages for c, pages in zip("ABC", page_sets) if pages}
        return {"query_id": "q1", "doc_id": f"d{number}", "grade": grade, "label": label,
                "evidence": evidence}  # fmt: skip

    release = bare_release(
        tmp_path / "r",
        [{"query_id": "q1", "query": "A, B, C", "conditions": ["A", "B", "C"]}],
        [{"doc_id": f"d{i}", "source": "s", "n_pages": 9} for i in range(1, 7)],
        [
            qrel(1, 3, "gold", [3], [4], [3, 4, 5]),
            qrel(2, 3, "gold", [2], [2, 3], [1, 2]),
            qrel(3, 3, "gold", [3], [3], [4, 5]),
            qrel(4, 2, "gold", [3], [4], [5]),
            qrel(5, 2, "subset", [3], [3], [4, 5]),
            qrel(6, 3, "gold", [3], [4], []),
        ],
    )
    report = check_release(release)
    wrong = {(item.code, item.line) for item in report.errors if item.path == "qrels.jsonl"}
    assert wrong == {("gold-rule", 2), ("gold-rule", 3), ("grade-label", 4),
                     ("grade-evidence", 4), ("gold-rule", 6)}  # fmt: skip
    text = " ".join(messages(release, "gold-rule"))
    assert "page 2 alone holds all 3" in text
    assert "cannot be assigned to distinct pages" in text
    assert "no pages for C" in text


def test_a_query_without_gold_is_found(tmp_path):
    folder = write_tiny(tmp_path / "r")
    edit_rows(folder / "qrels.jsonl", lambda row: None if row["query_id"] == "q2" else row)
    assert messages(folder, "no-gold") == ["q2: no gold document in qrels.jsonl"]


def test_equal_texts_under_two_ids_are_told_with_the_query_that_judges_one(tmp_path):
    release = bare_release(
        tmp_path / "r",
        [{"query_id": "q1", "query": "A and B", "conditions": ["A", "B"]}],
        [{"doc_id": "d1", "source": "s", "text": "Report. Table 3."},
         {"doc_id": "d2", "source": "s", "text": "Report.  Table 3."},
         {"doc_id": "d3", "source": "s", "text": ""}],
        [{"query_id": "q1", "doc_id": "d1", "grade": 2}],
    )  # fmt: skip
    assert messages(release, "duplicate-text") == [
        "d2 repeats the text of d1 up to spacing; only one is judged for q1"
    ]
    assert messages(release, "empty-document") == ["d3 is empty"]


@pytest.mark.parametrize("name", ["crosspage", "raw", "clean_v2", "sourceshift.raw"])
def test_names_that_every_library_takes(name):
    assert split_name_reason(name) is None
    assert config_name_reason(name) is None


@pytest.mark.parametrize("name", ["clean-v2", "a b", "train\n", "", "a/b", "all", "con"])
def test_names_unfit_for_a_split(name):
    assert split_name_reason(name)


@pytest.mark.parametrize("name", ["a:b", "a/b", "a b?", "con", "x*", "x\n", ""])
def test_names_unfit_for_a_configuration(name):
    assert config_name_reason(name)


def test_the_command_groups_findings_caps_groups_and_fails(release):
    edit_rows(release / "corpus.jsonl", lambda row: {**row, "pdf_url": "ftp://x", "license": None})
    for _ in range(2):
        with (release / "corpus.jsonl").open("a") as stream:
            stream.write("{\n")
    shown = CliRunner().invoke(command, [str(release)], standalone_mode=False)
    assert shown.return_value == 1
    assert "error url (4)\n  corpus.jsonl:1: d1: pdf_url is not an http(s) address" in shown.output
    assert "error json (2)" in shown.output
    report = CliRunner().invoke(command, [str(release), "--json"], standalone_mode=False)
    assert json.loads(report.output)["ok"] is False


def test_warnings_alone_do_not_fail(release):
    (release / "SHA256SUMS").unlink()
    result = CliRunner().invoke(command, [str(release)], standalone_mode=False)
    assert "warning no-checksums (1)" in result.output
    assert result.return_value == 0


def test_a_claim_about_another_collection_is_compared(release):
    report = check_release(release, claim="crosspage")
    differing = {fact.name for fact in report.facts if not fact.agrees}
    assert "queries" in differing
    assert "single_page_solvable_golds" not in differing
    with pytest.raises(UsageError, match="nothing is published"):
        check_release(release, claim="mini")


def test_a_small_simulated_release_is_right_but_for_the_published_counts(tmp_path):
    simulated_release(tmp_path / "r", queries=100, documents=300, qrels=5100, systems=3)
    report = check_release(tmp_path / "r")
    assert {finding.code for finding in report.findings} == {"facts"}


def test_a_release_with_the_published_counts_agrees_with_all_of_them(tmp_path):
    simulated_release(tmp_path / "r")
    report = check_release(tmp_path / "r")
    assert [fact for fact in report.facts if not fact.agrees] == []
    assert len(report.facts) == 22
    assert report.findings == []
    shutil.rmtree(tmp_path / "r")


@pytest.mark.shared
@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("B01", {("dangling-document", 2), ("dangling-query", 3)}),
        ("B03", {("duplicate-text", 2), ("empty-document", 3)}),
        ("B04", {("page-range", 2), ("page-range", 3), ("page-range", 4), ("page-type", 5),
                 ("page-repeated", 6), ("evidence-condition", 7), ("gold-rule", 7)}),
        ("B09", {("gold-rule", 2), ("gold-rule", 3), ("grade-label", 5),
                 ("grade-evidence", 5), ("gold-rule", 7)}),
        ("H01", {("type", 1)}),
        ("H15/v2", {("dangling-document", 1)}),
    ],
)  # fmt: skip
def test_recorded_faults_of_other_benchmarks_are_found(shared_dir, case, expected):
    folder = shared_dir / "cases" / "dev" / case
    assert expected <= {(code, line) for code, _, line in found(folder)}


@pytest.mark.shared
def test_recorded_names_are_judged_as_expected(shared_dir):
    names = json.loads((shared_dir / "cases" / "dev" / "H06" / "names.json").read_text())
    assert [name for name in names["ok"] if split_name_reason(name)] == []
    assert all(split_name_reason(name) for name in names["bad_split"])
    assert all(config_name_reason(name) for name in names["bad_config"])
