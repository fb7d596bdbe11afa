"""Figures printed in the study, recomputed from the counts printed beside them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from nclue_stats.agreement import cohen_kappa, fleiss_kappa, pairwise_agreement, wilson
from nclue_stats.correlation import compare_rankings, spearman
from nclue_stats.promotion import FirstJudged, promotion_bound
from nclue_stats.randomization import holm


@pytest.fixture(scope="module")
def published(project_dir: Any) -> dict[str, Any]:
    return json.loads((project_dir / "tests" / "data" / "published.json").read_text())


def test_weighted_kappa_of_the_printed_confusion_is_as_printed(published: dict) -> None:
    audit = published["audit"]
    result = cohen_kappa(audit["confusion_rows_A_cols_E"], weights="linear")
    assert round(result.kappa, 3) == audit["weighted_kappa_linear"] == 0.801
    diagonal = np.trace(np.array(audit["confusion_rows_A_cols_E"]))
    assert [diagonal, result.n_items] == audit["grade_agreement"]


def test_cohen_kappa_of_conditions_follows_from_grades_and_agreement(published: dict) -> None:
    # The grades add up to each annotator's positive conditions; with the 661 agreements of 710
    # they fix the 2 x 2 table.
    grades = np.array(published["audit"]["confusion_rows_A_cols_E"])
    agreed, total = published["audit"]["condition_agreement"]
    first = int(grades.sum(axis=1) @ np.arange(4))
    second = int(grades.sum(axis=0) @ np.arange(4))
    only_first = (total - agreed + first - second) // 2
    only_second = total - agreed - only_first
    both = first - only_first
    table = [[both, only_first], [only_second, total - both - only_first - only_second]]
    assert round(cohen_kappa(table).kappa, 3) == published["audit"]["cohen_kappa"] == 0.795


@pytest.mark.parametrize(
    ("counts", "interval"),
    [
        ("grade_agreement", "grade_agreement_wilson95"),
        ("condition_agreement", "condition_wilson95"),
    ],
)  # fmt: skip
def test_wilson_intervals_are_as_printed(published: dict, counts: str, interval: str) -> None:
    share = wilson(*published["audit"][counts])
    assert [round(100 * share.low, 1), round(100 * share.high, 1)] == published["audit"][interval]


def test_fleiss_kappa_of_the_adjudication_is_as_printed(published: dict) -> None:
    # 80 of 94 unanimous, 236 positives of three annotators; 14 splits are 2-1 either way, and
    # parity leaves the split between them open without changing Fleiss' kappa.
    adjudication = published["audit"]["adjudication"]
    unanimous, total = adjudication["unanimous"]
    positives = sum(adjudication["positives"].values())
    splits = total - unanimous
    solutions = [
        (whole, twos)
        for twos in range(splits + 1)
        for whole in range(unanimous + 1)
        if 3 * whole + 2 * twos + (splits - twos) == positives
    ]
    assert solutions
    for whole, twos in solutions:
        table = ([[3, 0]] * whole + [[0, 3]] * (unanimous - whole)
                 + [[2, 1]] * twos + [[1, 2]] * (splits - twos))  # fmt: skip
        assert round(fleiss_kappa(table).kappa, 3) == adjudication["fleiss_kappa"] == 0.636
    mean = np.mean(adjudication["pairwise"])
    assert fleiss_kappa(table).observed * 100 == pytest.approx(mean, abs=0.05)


def test_adjudication_is_rebuilt_from_its_counts_alone(published: dict) -> None:
    # The pairwise agreements (A-E, A-F, E-F) say who dissented how often on the 14 splits; the
    # positives then say in which direction. One solution is left: A dissents 6 times (always
    # negative), E 7 (once positive), F once (positive), and 70 conditions are positive for all.
    adjudication = published["audit"]["adjudication"]
    columns = {
        "A": [1] * 70 + [0] * 10 + [0] * 6 + [0] + [1] * 6 + [0],
        "E": [1] * 70 + [0] * 10 + [1] * 6 + [1] + [0] * 6 + [0],
        "F": [1] * 70 + [0] * 10 + [1] * 6 + [0] + [1] * 6 + [1],
    }
    assert {name: sum(labels) for name, labels in columns.items()} == adjudication["positives"]
    shares = pairwise_agreement(list(columns.values()))
    assert [round(100 * share.estimate, 1) for share in shares] == adjudication["pairwise"]
    votes = np.sum(list(columns.values()), axis=0)
    assert [int(np.isin(votes, [0, 3]).sum()), len(votes)] == adjudication["unanimous"]
    kappa = fleiss_kappa(np.stack([votes, 3 - votes], axis=1)).kappa
    assert round(kappa, 3) == adjudication["fleiss_kappa"]


def test_outcomes_of_the_endpoints_agree_with_score_and_hit(published: dict) -> None:
    systems = {row["system"]: row for row in published["systems"]}
    checked = 0
    for row in published["common_support"]:
        base, variant = published["endpoints"][row["contrast"]]
        for name, shares in ((base, row["base_mpg"]), (variant, row["variant_mpg"])):
            if name not in systems:
                continue
            miss, subset_first, gold_first = shares
            assert 100 * gold_first == pytest.approx(systems[name]["n_clue_score"], abs=0.11)
            assert 100 * (subset_first + gold_first) == pytest.approx(
                systems[name]["gold_hit"], abs=0.11
            )
            assert miss + subset_first + gold_first == pytest.approx(1, abs=0.0021)
            checked += 1
    assert checked >= 12


def test_ordering_on_common_support_times_n_is_a_whole_number(published: dict) -> None:
    # D counts queries, so a printed difference is a whole number over n, up to its rounding.
    for row in published["common_support"]:
        times_n = row["delta_D"] * row["common_n"]
        assert abs(times_n - round(times_n)) <= 0.0005 * row["common_n"] + 1e-9


def test_printed_deltas_are_those_of_the_printed_levels(published: dict) -> None:
    systems = {row["system"]: row for row in published["systems"]}
    for row in published["contrasts"]:
        base, variant = published["endpoints"][row["contrast"]]
        if base in systems and variant in systems:
            delta = systems[variant]["n_clue_score"] - systems[base]["n_clue_score"]
            assert delta == pytest.approx(row["delta_score"], abs=0.11)


def test_promotion_bounds_do_not_depend_on_k_as_printed(published: dict) -> None:
    rng = np.random.default_rng(0)
    base, variant = (
        FirstJudged(rng.integers(-1, 5, 200), np.zeros(200, dtype=bool)) for _ in range(2)
    )
    ours = [promotion_bound(base, variant, k).bound for k in (1, 2, 3)]
    assert ours[0] == ours[1] == ours[2] < 0
    for row in published["promotion"]:
        assert row["k1"] == row["k2"] == row["k3"] <= row["observed"]


def test_printed_promotion_bounds_stay_above_making_the_base_perfect(published: dict) -> None:
    # At worst every query that the base fails becomes a success and the variant gains nothing.
    systems = {row["system"]: row["n_clue_score"] for row in published["systems"]}
    for row in published["promotion"]:
        base = systems.get(published["endpoints"][row["contrast"]][0])
        if base is not None:
            assert row["k1"] >= row["observed"] - (100 - base) - 0.15


def test_adjusted_p_values_are_consistent_with_holm(published: dict) -> None:
    printed = [row["sel_holm_p"] for row in published["contrasts"]]
    assert len(printed) == 8
    # Holm of p-values at their floor, 1 / 10,001: what eight such tests would print at least.
    floor = holm([1 / 10_001] * 8)
    assert min(printed) >= round(floor[0], 4)
    assert all(0 < p <= 1 for p in printed)


def test_rank_correlation_between_printed_columns(published: dict) -> None:
    rows = published["systems"]
    score = [row["n_clue_score"] for row in rows]
    ndcg = [row["gold_ndcg"] for row in rows]
    found = compare_rankings([row["system"] for row in rows], score, ndcg)
    from scipy.stats import spearmanr

    assert found.spearman == pytest.approx(spearmanr(score, ndcg).statistic)
    assert found.largest_move in {row["system"] for row in rows}
    assert 0.5 < spearman(score, ndcg) < 1


def test_strata_of_two_and_three_conditions_add_up_to_all(published: dict) -> None:
    strata = published["strata"]
    sizes = strata["cell_sizes"]
    checked = 0
    for row in strata["rows"]:
        cells = row["cells"]
        for measure in ("n_clue_score", "gold_hit"):
            # Counts of queries, back from printed percentages.
            two, three = (round(cells[n][measure] * sizes[n] / 100) for n in ("n2", "n3"))
            assert 100 * (two + three) / sizes["all"] == pytest.approx(
                cells["all"][measure], abs=0.051
            )
            checked += 1
    assert checked == 10


def test_form_tables_repeat_the_raw_scores_and_keep_most_of_the_order(published: dict) -> None:
    from scipy.stats import spearmanr

    systems = {row["system"]: row["n_clue_score"] for row in published["systems"]}
    rows = published["forms_crosspage"]
    for row in rows:
        if row["system"] in systems:
            assert row["raw"] == systems[row["system"]]
    columns = {form: [row[form] for row in rows] for form in ("raw", "clean_v2", "natural")}
    ours = spearman(columns["raw"], columns["clean_v2"])
    assert ours == pytest.approx(spearmanr(columns["raw"], columns["clean_v2"]).statistic)
    assert 0.5 < ours < 1
