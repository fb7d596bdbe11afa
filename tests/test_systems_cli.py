"""``nclue run``: from a release and page texts to run files that score."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nclue_cli.main import main
from nclue_core.pages import PageRecord, write_page
from nclue_systems import GROUPS, SYSTEMS
from tiny_release import CONDITIONS, PAGES, write_tiny


@pytest.fixture
def release(tmp_path, own_caches) -> Path:
    return write_tiny(tmp_path / "release")


@pytest.fixture
def pages(tmp_path) -> Path:
    """Page texts that say what the judgments say: a line per condition and page."""
    lines: dict[tuple[str, int], list[str]] = {}
    for (query_id, doc_id), per_condition in PAGES.items():
        for condition, found in zip(CONDITIONS[query_id], per_condition):
            for page in found:
                lines.setdefault((doc_id, page), []).append(condition)
    folder = tmp_path / "pages" / "ocr_text"
    for (doc_id, page), found in lines.items():
        text = "\n".join([*dict.fromkeys(found), "and other words"])
        write_page(folder, PageRecord(doc_id, page, text, (), 612.0, 792.0, "text", "1", None,
                                      "0" * 64, True))  # fmt: skip
    return tmp_path / "pages"


def run(*args: object) -> int:
    return main(["run", *map(str, args)])


def test_list_needs_nothing_and_names_every_system(capsys):
    assert run("--list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(SYSTEMS)
    assert run("--list", "--json") == 0
    assert [item["system"] for item in json.loads(capsys.readouterr().out)] == list(SYSTEMS)


def test_all_systems_in_all_forms(release, pages, tmp_path, capsys):
    out = tmp_path / "runs"
    call = ("all", "--release", release, "--pages", pages, "--form", "all", "--out", out)
    assert run(*call, "--json") == 0
    captured = capsys.readouterr()
    written = json.loads(captured.out)
    assert len(written) == 3 * len(GROUPS["all"]) == len(list(out.rglob("*.jsonl")))
    assert "reading " in captured.err
    rows = [json.loads(x) for x in (out / "clean_v2" / "bm25_and.jsonl").read_text().splitlines()]
    assert [row["query_id"] for row in rows] == list(CONDITIONS)
    before = {path: path.read_bytes() for path in out.rglob("*.jsonl")}
    assert run(*call) == 0
    captured = capsys.readouterr()
    assert "reading " not in captured.err  # the index came from the cache
    assert {path: path.read_bytes() for path in out.rglob("*.jsonl")} == before
    assert captured.out.count("3 queries") == len(before)


def test_runs_score_and_the_fact_oracle_is_perfect(release, pages, tmp_path, capsys):
    facts = tmp_path / "facts.jsonl"
    rows = [
        {"condition": condition, "doc_id": doc_id, "page": page, "surface_form": condition}
        for (query_id, doc_id), per_condition in PAGES.items()
        for condition, found in zip(CONDITIONS[query_id], per_condition)
        for page in found
        # in q2, page 4 of d2 would hold both conditions: then d2 could not be gold
        if (condition, doc_id, page) != ("Sanctions", "d2", 4)
    ]
    facts.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    out = tmp_path / "runs"
    common = ("--release", release, "--pages", pages, "--out", out)
    assert run("controls", *common, "--facts", facts) == 0
    names = ("surface_form_and", "surface_form_count", "exact_name_and", "single_page_surface_and")
    files = [str(out / "raw" / f"{name}.jsonl") for name in names]
    capsys.readouterr()
    assert main(["score", *files, "--release", str(release), "--json"]) == 0
    scores = [item["n_clue_score@10"] for item in _flat(json.loads(capsys.readouterr().out))]
    assert scores == [100.0, 100.0, 100.0, 0.0]


def test_controls_take_the_evidence_of_the_judgments(release, pages, tmp_path):
    out = tmp_path / "runs"
    common = ("--release", release, "--pages", pages, "--out", out)
    assert run("surface_form_count", *common) == 0
    rows = (out / "raw" / "surface_form_count.jsonl").read_text().splitlines()
    first = json.loads(rows[0])
    assert (first["doc_ids"], first["scores"]) == (["d1", "d2"], [2.0, 1.0])


def _flat(value: list[dict]) -> list[dict]:
    """The objects that hold the scores, wherever the report keeps them."""
    found = []
    for item in value:
        while "n_clue_score@10" not in item:
            item = next(v for v in item.values() if isinstance(v, dict))
        found.append(item)
    return found


def test_fusions_take_rankings_of_the_release_and_run_files(release, pages, tmp_path, capsys):
    out = tmp_path / "runs"
    common = ("--release", release, "--pages", pages, "--out", out)
    assert run("rrf(forward,bm25_or)", *common) == 0  # `forward` is embedded in the release
    assert (out / "raw" / "rrf_forward_bm25_or.jsonl").is_file()
    given = [{"query_id": q, "doc_ids": ["d4"]} for q in CONDITIONS]
    (out / "raw" / "text_jinav4.jsonl").write_text("\n".join(map(json.dumps, given)))
    assert run("bm25and_jinav4", *common) == 0
    row = json.loads((out / "raw" / "bm25and_jinav4.jsonl").read_text().splitlines()[0])
    assert "d4" in row["doc_ids"]
    capsys.readouterr()
    assert run("bm25and_bge_m3", *common) == 2
    assert "there is no run of text_bge_m3 in the form raw" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("bm25_or",), 2, "--pages is missing"),
        (("--pages", "."), 2, "SYSTEM is missing"),
        (("bm25_xor", "--pages", "."), 2, "no system is called 'bm25_xor'"),
        (("bm25_or", "--pages", "/nowhere/at/all"), 3, "does not exist"),
    ],
)
def test_wrong_calls_say_what_is_wrong(args, code, message, capsys):
    assert run(*args) == code
    assert message in capsys.readouterr().err


def test_documents_without_text_are_counted(release, pages, tmp_path, capsys):
    for page in (pages / "ocr_text" / "d4").iterdir():
        page.unlink()
    out = tmp_path / "runs"
    assert run("bm25_or", "--release", release, "--pages", pages, "--out", out) == 0
    assert "1 of 4 documents have no text" in capsys.readouterr().err


def test_a_run_carries_what_it_was_made_from_and_score_tells_it(release, pages, tmp_path, capsys):
    for page in (pages / "ocr_text" / "d4").iterdir():
        page.unlink()
    out = tmp_path / "runs"
    common = ("--release", release, "--pages", pages, "--out", out, "--form", "natural")
    assert run("bm25_and_tuned", "random", *common, "--depth", "3", "--seed", "5") == 0
    path = out / "natural" / "bm25_and_tuned.jsonl"
    record = json.loads((out / "natural" / "bm25_and_tuned.run.json").read_text())
    settings = record.pop("settings")
    assert (settings["k1"], settings["b"], settings["depth"]) == (0.9, 0.4, 3)
    assert record.pop("nclue")
    assert len(record.pop("rankings")) == 64
    assert len(record.pop("judgments")) == 12
    assert record == {
        "format": "nclue-run/1", "system": "bm25_and_tuned", "form": "natural",
        "collection": "tiny", "seed": 5, "documents": 4, "documents_with_text": 3,
    }  # fmt: skip
    capsys.readouterr()
    assert main(["score", str(path), "--release", str(release)]) == 0
    printed = capsys.readouterr()
    assert "it was made over 3 of 4 documents" in printed.err
    assert "made for the form natural, and is scored as raw" in printed.err
    assert "bm25_and_tuned: bm25_and_tuned, nclue " in printed.out
    assert main(["score", str(path), "--release", str(release), "--form", "natural"]) == 0
    said = capsys.readouterr().err
    assert "is scored as" not in said
    assert "rankings are not those" not in said


def test_a_form_of_the_collection_can_be_run_and_another_not(release, pages, tmp_path, capsys):
    out = tmp_path / "runs"
    common = ("--release", release, "--pages", pages, "--out", out)
    assert run("bm25_or", *common, "--form", "clean") == 2
    assert "do you mean clean_v2?" in capsys.readouterr().err
    assert not out.exists()
