"""`nclue stats`: each command against other code, its errors, and what the study prints."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nclue_cli.cmd_stats import command
from nclue_cli.main import main
from nclue_core import InputError, UsageError
from nclue_metric import Judgments, score_rankings
from nclue_stats.agreement import (
    confusion_matrix,
    fleiss_kappa,
    label_counts,
    page_set_agreement,
    pairwise_agreement,
    unanimous_agreement,
    wilson,
)
from nclue_stats.blocks import Block, compare_blocks
from nclue_stats.bootstrap import family_bootstrap
from nclue_stats.compare import common_ordering_interval
from nclue_stats.correlation import compare_rankings
from nclue_stats.inputs import Memberships, gold_families
from nclue_stats.randomization import holm, max_t
from nclue_stats.strata import judged_counts, min_gold_pages, strata
from nclue_stats.tables import interval, number, p_value, share_shown, signed


def stats(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["stats", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def audit(project_dir: Path) -> dict[str, Any]:
    return json.loads((project_dir / "tests" / "data" / "published.json").read_text())["audit"]


def test_adjudication_file_gives_what_the_study_prints(
    capsys: pytest.CaptureFixture[str], project_dir: Path, audit: dict
) -> None:
    file = str(project_dir / "cards" / "adjudication.csv")
    found, printed = stats(capsys, "agreement", file, "--count", "n"), audit["adjudication"]
    shares = [pair["agreement"] for pair in found["pairs"]]
    assert [round(100 * share["estimate"], 1) for share in shares] == printed["pairwise"]
    assert round(found["fleiss"]["kappa"], 3) == printed["fleiss_kappa"]
    assert [found["unanimous"][x] for x in ("successes", "total")] == printed["unanimous"]


def test_grades_file_gives_what_the_study_prints(
    capsys: pytest.CaptureFixture[str], project_dir: Path, audit: dict
) -> None:
    found = stats(capsys, "agreement", str(project_dir / "cards" / "grades.csv"), "--count", "n")
    (pair,) = found["pairs"]
    assert pair["confusion"] == audit["confusion_rows_A_cols_E"]
    assert round(pair["weighted"]["kappa"], 3) == audit["weighted_kappa_linear"]
    ends = [round(100 * pair["agreement"][end], 1) for end in ("low", "high")]
    assert ends == audit["grade_agreement_wilson95"]


@pytest.mark.parametrize("blank", [None, float("nan"), "", "  "])
def test_an_unanswered_item_neither_agrees_nor_disagrees(blank: object) -> None:
    one, other = ["y", "n", blank, blank], ["y", blank, blank, "n"]
    (share,) = pairwise_agreement([one, other])
    assert (share.successes, share.total, share.estimate) == (1, 1, 1)
    assert confusion_matrix(one, other, ["y", "n"]).tolist() == [[1, 0], [0, 0]]
    assert unanimous_agreement([one, other]).total == 1
    assert label_counts([one, other], ["y", "n"]).tolist() == [[2, 0], [0, 1], [0, 0], [0, 1]]
    (nothing,) = pairwise_agreement([[blank], [blank]])
    assert nothing.total == 0
    assert math.isnan(nothing.estimate)


def test_fleiss_with_unequal_numbers_of_answers_by_hand() -> None:
    # Items of 3, 2 and 1 answers. Observed: (1 + 0) / 2. Shares of class 1: (1 + .5 + 0) / 3 = .5,
    # so chance is .5 and kappa 0. An item of one answer has no pair.
    found = fleiss_kappa([[3, 0], [1, 1], [0, 1]], unequal=True)
    assert (found.observed, found.expected, found.kappa, found.n_items) == (0.5, 0.5, 0, 2)
    equal = [[3, 1], [0, 4], [2, 2]]
    assert fleiss_kappa(equal, unequal=True) == fleiss_kappa(equal)
    assert math.isnan(fleiss_kappa([[1, 0]], unequal=True).kappa)


def test_page_sets_without_an_answer_are_left_out_and_pages_checked() -> None:
    found = page_set_agreement([{1}, None, set()], [{1}, {2}, set()])
    assert (found.identical, found.n_items) == (1, 2)
    for pages in ("12", [0], [1.5], [True]):
        with pytest.raises(UsageError, match="pages"):
            page_set_agreement([pages], [{1}])


BAD_LABELS = {
    "case": ("A,B\nYes,yes\n", "differ only in writing"),
    "number": ("A,B\n1,1.0\n", "differ only in writing"),
    "cells": ("A,B\na\n", "2: 1 cells"),
    "nobody": ("A,B\n,\n", "not answered|no item was answered"),
    "one column": ("A\na\n", "at least two"),
    "empty": ("", "no item"),
    "twice": ("A,A\na,b\n", "different names"),
}


@pytest.mark.parametrize("name", BAD_LABELS)
def test_label_files_that_cannot_be_counted_are_refused(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text, message = BAD_LABELS[name]
    (tmp_path / "labels.csv").write_text(text)
    assert main(["stats", "agreement", str(tmp_path / "labels.csv")]) == 3
    import re

    assert re.search(message, capsys.readouterr().err)


def test_page_files_are_read(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rows = [{"A": [3, 4], "B": [4, 3]}, {"A": [], "B": None}, {"A": [], "B": []}]
    (tmp_path / "pages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = stats(capsys, "agreement", str(tmp_path / "pages.jsonl"), "--pages")
    assert found["annotators"] == {"A": 3, "B": 2}
    assert (found["page_pairs"][0]["identical"], found["page_pairs"][0]["n_items"]) == (1, 2)


@pytest.mark.parametrize(("counts", "kind"), [((2.5, 4), "float"), ((True, 1), "bool")])
def test_a_share_needs_whole_numbers(counts: tuple, kind: str) -> None:
    with pytest.raises(UsageError, match="whole numbers"):
        wilson(*counts)


def test_blocks_are_max_t_then_holm(capsys: pytest.CaptureFixture[str], project_dir: Path) -> None:
    rng = np.random.default_rng(0)
    families = np.arange(90) // 2
    blocks = [Block(name, "base", ("a", "b"), rng.integers(-1, 2, (90, 2)) + shift, display)
              for name, shift, display in (("x", 0.0, "b"), ("y", 0.4, None))]  # fmt: skip
    found = compare_blocks(blocks, families, n_draws=500, rng=3)
    alone = [max_t(block.differences, families, n_draws=500, rng=3) for block in blocks]
    assert found[0].p_block == alone[0].pvalues[1]
    assert found[1].p_block == alone[1].pvalue
    assert [test.p_holm for test in found] == holm([test.p_block for test in found])
    with pytest.raises(UsageError, match="not among"):
        compare_blocks([Block("x", "base", ("a",), np.ones((9, 1)), "c")])
    result = stats(capsys, "blocks", str(project_dir / "cards" / "blocks.toml"), "--draws", "200")
    assert [block["n_variants"] for block in result["blocks"]] == [4, 2]


def test_printed_labels_of_the_blocks_are_holm_of_p_values_on_the_grid(project_dir: Path) -> None:
    published = json.loads((project_dir / "tests" / "data" / "published.json").read_text())
    printed = [row["sel_holm_p"] for row in published["contrasts"]]
    # One set of p-values of 10,000 draws that gives all eight; the two of .005 stand at factors
    # 7 and 6, which the running maximum makes equal.
    pvalues = [5000, 4000, 4500, 7, 2, 7, 420, 16]
    found = holm([count / 10_001 for count in pvalues])
    assert [round(p, 3) for p in found] == printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("block = 3", "a list called block"),
        ('[[block]]\nname = "x"', "base is None"),
        ('[[block]]\nname = "x"\nbase = "b"\nvariants = []', "variants is"),
        ('[[block]]\nname = "x"\nbase = "b"\nvariant = ["a"]', "unknown field 'variant'"),
        ("[[block", "neither TOML"),
    ],
)
def test_block_files_that_cannot_be_read_are_refused(
    text: str, message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "blocks.toml").write_text(text)
    assert main(["stats", "blocks", str(tmp_path / "blocks.toml")]) == 3
    assert message in capsys.readouterr().err


def test_shared_documents_of_golds_and_of_all_judged(capsys: pytest.CaptureFixture[str]) -> None:
    found = stats(capsys, "shared", "bm25_or", "bm25_and", "--resamples", "50")
    contrast = {name: json.loads(json.dumps(found[name])) for name in ("gold", "judged")}
    assert main(["score", "bm25_or", "bm25_and", "--json"]) == 0
    variant, base = (x["n_clue_score@10"] for x in json.loads(capsys.readouterr().out))
    for item in contrast.values():
        assert item["mean"] == pytest.approx(variant - base)
        low, high = item["leave_one_document_out"]
        assert low <= item["mean"] <= high
        assert len(item["removed"]) == item["n_removed"] == 20
    assert contrast["judged"]["n_documents"] > contrast["gold"]["n_documents"]
    assert contrast["judged"]["n_queries_left"] < contrast["gold"]["n_queries_left"]


JUDGED = Judgments.from_mapping(
    {"q1": {"g": 2, "s": 1, "zero": 0}, "q2": {"h": 2}, "q3": {"s": 1}}, 2
)


def test_memberships_leave_grade_zero_and_queries_without_documents_out() -> None:
    gold, rows = Memberships.of_judgments(JUDGED, "gold")
    assert (gold.ids, rows.tolist()) == (("g", "h"), [0, 1])
    judged, rows = Memberships.of_judgments(JUDGED, "judged")
    assert (set(judged.ids), rows.tolist()) == ({"g", "s", "h"}, [0, 1, 2])
    with pytest.raises(UsageError, match="no query"):
        Memberships.of_ids([])


def test_lengths_need_the_pages_of_every_gold() -> None:
    pages = min_gold_pages(JUDGED, {"g": 12, "h": 300})
    assert pages[:2].tolist() == [12, 300]
    assert math.isnan(pages[2])
    assert judged_counts(JUDGED).tolist() == [2, 1, 1]
    with pytest.raises(InputError, match=r"1 of 2 gold documents, such as 'h'"):
        min_gold_pages(JUDGED, {"g": 12, "h": None})


def test_cells_count_defined_values_only_and_one_family_has_no_interval() -> None:
    masks = {"all": np.ones(3, dtype=bool), "one": np.array([True, False, False])}
    cells = {cell.name: cell for cell in strata([1.0, np.nan, 0.0], masks)}
    assert (cells["all"].n_queries, cells["all"].n_undefined, cells["all"].estimate) == (2, 1, 0.5)
    assert math.isnan(cells["one"].low)
    for mask in ([0, 1, 2], np.ones(2, dtype=bool)):
        with pytest.raises(UsageError, match="booleans"):
            strata([1.0, 0.0, 1.0], {"bad": mask})


def test_interval_of_the_ordering_counts_draws_without_a_common_query() -> None:
    qrels = {f"q{i}": {f"g{i}": 2, "s": 1} for i in range(6)}
    judged = Judgments.from_mapping(qrels, 2)
    base = score_rankings(judged, [["s", f"g{i}"] if i < 2 else [] for i in range(6)])[10]
    variant = score_rankings(judged, [[f"g{i}"] for i in range(6)])[10]
    families = gold_families(judged.gold_ids)
    found = common_ordering_interval(base, variant, families, n_resamples=2_000)
    assert (found.low, found.high, found.n_families) == (1, 1, 2)
    assert found.n_undefined / 2_000 == pytest.approx((4 / 6) ** 6, abs=0.02)
    one = score_rankings(judged, [["g0"], *[[]] * 5])[10]
    assert math.isnan(common_ordering_interval(one, variant, families).low)


@pytest.mark.parametrize("n", [0, 1, True, 2.0])
def test_one_replicate_is_no_interval(n: object) -> None:
    with pytest.raises(UsageError, match="n_resamples"):
        family_bootstrap([0.0, 1.0], n_resamples=n)


@pytest.mark.parametrize("values", [["a"], [[1.0], [1.0, 2.0]], [None, "x"]])
def test_what_is_no_number_is_refused(values: list) -> None:
    with pytest.raises(UsageError, match="expected numbers"):
        family_bootstrap(values)


def test_rank_correlation_refuses_undefined_values_and_joins_rounded_ties() -> None:
    with pytest.raises(UsageError, match="undefined"):
        compare_rankings(["a", "b"], [1.0, float("nan")], [1.0, 2.0])
    found = compare_rankings(["a", "b", "c"], [0.1 + 0.2, 0.3, 0.1], [0.3, 0.3, 0.1])
    assert found.spearman == 1


def test_zero_has_no_minus_and_small_values_are_not_zero() -> None:
    assert [signed(-0.04), number(-0.0), interval(-0.04, 0.001)] == ["+0.0", "0.0", "[0.0, 0.0]"]
    assert [signed(float("nan")), p_value(0.00001), p_value(0.00005)] == ["-", "<0.0001", "0.0001"]
    assert [share_shown(x) for x in (0, 0.001, 0.999, 1)] == ["0 %", "<1 %", ">99 %", "100 %"]


def test_every_command_shows_two_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for name in command.commands:
        assert main(["stats", name, "--help"]) == 0
        shown = capsys.readouterr().out
        assert shown.split("Examples:")[1].count("nclue ") == 2, name


def test_strata_and_correlation_of_the_embedded_runs(capsys: pytest.CaptureFixture[str]) -> None:
    found = stats(capsys, "strata", "bm25_and", "--resamples", "20")
    cells = {cell["name"]: cell for cell in found["runs"][0]["cells"]}
    sizes = cells["n2"]["n_queries"], cells["n3"]["n_queries"]
    whole = sum(cells[n]["estimate"] * size for n, size in zip(("n2", "n3"), sizes)) / sum(sizes)
    assert cells["all"]["estimate"] == pytest.approx(whole)
    from scipy.stats import spearmanr

    found = stats(capsys, "correlation")
    pairs = [(run["score"], run["gold_ndcg"]) for run in found["runs"]]
    assert found["spearman"] == pytest.approx(spearmanr(*zip(*pairs)).statistic)
    assert main(["stats", "correlation", "bm25_and"]) == 2
