"""`nclue score` and `nclue demo`: what they print, count and refuse."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from nclue_cli.main import main
from nclue_core import ExitCode
from tiny_release import write_tiny


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return write_tiny(tmp_path / "release")


def score(
    capsys: pytest.CaptureFixture[str], run: Path, release: Path, *options: str
) -> tuple[int, Any, str]:
    """Exit code, parsed result and what was said on stderr."""
    code = main(["score", str(run), "--release", str(release), "--json", *options])
    printed = capsys.readouterr()
    return code, json.loads(printed.out) if printed.out else None, printed.err


def test_missing_and_extra_queries_are_counted_and_named(
    capsys: pytest.CaptureFixture[str], release: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run.trec.gz"
    run.write_bytes(gzip.compress(b"q1 Q0 d1 1 2 t\nq9 Q0 d1 1 2 t\nq2 Q0 dx 1 1 t\n"))
    code, (result,), said = score(capsys, run, release)
    assert code == ExitCode.OK
    assert result["n_clue_score@10"] == pytest.approx(100 / 3)
    assert (result["missing_queries"], result["extra_queries"]) == (["q3"], ["q9"])
    assert (result["n_queries"], result["unknown_documents"]) == (3, 1)
    assert "1 queries have no ranking and count as misses: q3" in said
    assert score(capsys, run, release, "--strict")[0] == ExitCode.FAILED


def test_result_carries_its_conditions(
    capsys: pytest.CaptureFixture[str], release: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run.json"
    run.write_text('{"q1": ["d1"], "q2": {"d2": 0.5, "d3": 0.5}}')
    _, (result,), said = score(capsys, run, release, "--form", "natural", "--k", "1", "--k", "5")
    conditions = result["conditions"]
    assert conditions.pop("nclue")
    assert re.fullmatch("[0-9a-f]{12}", conditions.pop("judgments"))
    assert conditions == {
        "collection": "tiny", "qrels": "final", "form": "natural", "k": [1, 5], "gain": "linear",
        "ties": "input", "exclusions": False, "queries": 3,
    }  # fmt: skip
    assert result["tied_documents"] == 2
    assert "2 documents have tied scores (order: input)" in said


def test_exclusions_are_applied_before_ranks_are_counted(
    capsys: pytest.CaptureFixture[str], release: Path, tmp_path: Path
) -> None:
    run, excluded = tmp_path / "run.json", tmp_path / "excluded.json"
    run.write_text('{"q1": ["d2", "d1"]}')
    excluded.write_text('{"q1": ["d2"]}')
    before = score(capsys, run, release)[1][0]["n_clue_score@10"]
    after = score(capsys, run, release, "--exclude", str(excluded))[1][0]["n_clue_score@10"]
    assert (before, after) == (0, pytest.approx(100 / 3))


def test_page_support_uses_the_evidence_of_the_release(
    capsys: pytest.CaptureFixture[str], release: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run.jsonl"
    rows = [
        {"query_id": "q1", "doc_ids": ["d1"], "pages": [[[2, 0.9], [19, 0.8]]]},
        {"query_id": "q2", "doc_ids": ["d2"], "pages": [[[6, 0.9]]]},
    ]
    run.write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, (result,), _ = score(capsys, run, release, "--support", "3")
    assert result["gold_support@3"] == pytest.approx(100 / 3)
    assert result["condition_page_coverage@3"] == 75
    assert score(capsys, tmp_path / "run.jsonl", release, "--support", "1")[1][0][
        "gold_support@1"
    ] == pytest.approx(0)


def test_scores_per_query_come_with_their_ids(
    capsys: pytest.CaptureFixture[str], release: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run.json"
    run.write_text('{"q1": ["d1"]}')
    result = score(capsys, run, release, "--per-query")[1][0]["per_query"]
    assert [result[q]["n_clue_score@10"] for q in ("q1", "q2", "q3")] == [1, 0, 0]


def test_a_run_of_other_queries_is_refused_with_examples_of_both(
    capsys: pytest.CaptureFixture[str], release: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run.json"
    run.write_text('{"other_1": ["d1"]}')
    code, result, said = score(capsys, run, release)
    assert (code, result) == (ExitCode.INPUT, None)
    assert "names queries such as 'other_1', the collection 'q1'" in said


def test_an_unknown_system_is_refused_with_the_known_ones(
    capsys: pytest.CaptureFixture[str], release: Path
) -> None:
    code, _, said = score(capsys, Path("sideways"), release)
    assert code == ExitCode.USAGE
    assert "its systems are: backward, forward" in said


def test_collections_that_are_not_there_are_refused_with_what_to_do(
    capsys: pytest.CaptureFixture[str], own_caches: Path
) -> None:
    assert main(["score", "x", "--config", "crosspage"]) == ExitCode.INPUT
    assert "run `nclue prepare crosspage`" in capsys.readouterr().err
    assert main(["score", "x", "--config", "nothing"]) == ExitCode.USAGE
    assert "there are mini, crosspage, sourceshift" in capsys.readouterr().err


def test_the_table_shows_every_run_and_the_signature(
    capsys: pytest.CaptureFixture[str], release: Path
) -> None:
    assert main(["score", "forward", "backward", "--release", str(release)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["forward", "100.0", "100.0", *lines[1].split()[3:]]
    assert lines[2].split()[:2] == ["backward", "0.0"]
    assert "form:raw" in lines[-1]


class Page(HTMLParser):
    """Counts rows, remembers addresses and open tags."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = 0
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.rows += tag == "tr"
        self.addresses += [v or "" for k, v in attrs if k in ("src", "href", "action")]


def test_demo_scores_every_embedded_ranking_and_writes_a_self_contained_page(
    own_caches: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "nclue_cli.main", "demo", "--html", "card.html", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    card = json.loads(done.stdout)
    systems = {row["system"] for row in card["rows"]}
    assert {"bm25_and", "bm25_or", "random", "bm25_decompose_sdr"} <= systems
    assert {row["form"] for row in card["rows"]} == {"raw", "clean_v2", "natural"}
    for row in card["rows"]:
        assert row["miss"] + row["subset_first"] + row["gold_first"] == pytest.approx(100)
        assert row["score"] == row["gold_first"] <= row["hit"]
    page = Page()
    text = (tmp_path / "card.html").read_text()
    page.feed(text)
    assert page.rows == len(card["rows"]) + 3
    assert page.addresses == []
    assert "http" not in text


def test_scorecard_escapes_names_and_bars_fill_their_width() -> None:
    from nclue_cli.scorecard import BAR_WIDTH, Scorecard, ScorecardRow, as_html, bar_parts

    row = ScorecardRow("<script>x</script>", "raw", 33.3, 50, 40, 50, 16.7, 33.3)
    page = as_html(Scorecard("a & b", 3, 4, "sig", (row,)), [("try", "nclue <x>")])
    assert "<script>" not in page
    assert "a &amp; b" in page
    assert sum(bar_parts(row)) == BAR_WIDTH
    assert bar_parts(row)[0] == 13


def test_intervals_are_printed_and_given_with_their_conditions(
    capsys: pytest.CaptureFixture[str], release: Path
) -> None:
    _, (result,), _ = score(capsys, Path("backward"), release, "--intervals", "--seed", "4")
    low, high = result["gold_hit@10_ci95"]
    assert low <= result["gold_hit@10"] <= high
    assert (result["conditions"]["resamples"], result["conditions"]["seed"]) == (1000, 4)
    assert main(["score", "backward", "--release", str(release), "--intervals"]) == 0
    assert "[0.0, 0.0]" in capsys.readouterr().out  # no query of backward is gold-first
