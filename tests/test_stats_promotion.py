"""Promotion scenarios: the audits' rates, the break-even by whole numbers, the two commands."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from nclue_cli.main import main
from nclue_cli.stats_output import PRESET_NAMES
from nclue_core import UsageError
from nclue_stats.promotion import (
    NO_CHANGE,
    NO_DIFFERENCE,
    PRESETS,
    BreakEven,
    FirstJudged,
    Scenario,
    break_even,
    plausible_promotion,
)


def first(golds: int, subsets: int, total: int, start: int) -> FirstJudged:
    """Golds first, then subsets, then queries without a judged document."""
    codes = np.full(total, -1)
    codes[: golds + subsets] = np.arange(start, start + golds + subsets)
    return FirstJudged(codes, np.arange(total) < golds)


@pytest.mark.parametrize(
    ("name", "promoted", "subsets", "low", "high"),
    [
        ("crosspage-packet", 19, 48 + 2, 25.9, 51.8),
        ("sourceshift-packet", 43, 25 + 25 + 25 + 28, None, None),
        ("sourceshift-challenge", 90, 125, None, None),
    ],
)  # fmt: skip
def test_presets_are_shares_of_the_subsets_read(
    name: str, promoted: int, subsets: int, low: float | None, high: float | None
) -> None:
    preset = PRESETS[name]
    assert (preset.promoted, preset.subsets) == (promoted, subsets)
    assert Scenario.preset(name).probability == promoted / subsets
    peer = scipy.stats.binomtest(promoted, subsets).proportion_ci(method="wilson")
    assert (preset.share.low, preset.share.high) == pytest.approx((peer.low, peer.high))
    if low is not None:
        assert (round(100 * peer.low, 1), round(100 * peer.high, 1)) == (low, high)
    assert tuple(PRESETS) == PRESET_NAMES


def test_the_packets_promote_62_subsets_together() -> None:
    # The study: 65 changes are 62 partial-to-gold, two gold-to-partial, one partial increase.
    assert PRESETS["crosspage-packet"].promoted + PRESETS["sourceshift-packet"].promoted == 62
    assert PRESETS["crosspage-packet"].subsets + PRESETS["sourceshift-packet"].subsets == 153


@given(st.tuples(*[st.integers(0, 30)] * 4))
@settings(max_examples=150, deadline=None)
def test_break_even_is_where_the_expected_contrast_changes_its_sign(counts: tuple) -> None:
    base, variant = first(counts[0], counts[1], 61, 0), first(counts[2], counts[3], 61, 1000)
    found = break_even(base, variant)
    difference, slope = counts[2] - counts[0], counts[3] - counts[1]
    ends = np.sign(difference), np.sign(difference + slope)
    assert math.isnan(found.probability) == (ends[0] * ends[1] != -1)
    if ends[0] * ends[1] == -1:
        at = plausible_promotion(base, variant, found.probability, n_draws=2)
        assert 0 < found.probability < 1
        assert at.expected == pytest.approx(0, abs=1e-12)
    else:
        assert found.note == (NO_DIFFERENCE if difference == 0 else NO_CHANGE)


def test_perfect_at_one_is_no_change_of_sign_for_any_counts() -> None:
    for golds in range(1, 60):
        found = break_even(first(golds, 60 - golds, 60, 0), first(60, 0, 60, 100))
        assert (str(found), math.isnan(found.probability)) == (
            ("no difference to lose" if golds == 60 else "no sign change up to p = 1"), True,
        )  # fmt: skip


def test_shown_break_evens_say_0_or_1_only_in_words() -> None:
    assert [str(BreakEven(p, "changes sign")) for p in (0.001, 0.25, 0.999)] == [
        "< 0.01", "0.25", "> 0.99",
    ]  # fmt: skip


def test_draws_follow_the_binomial_of_scipy() -> None:
    base, variant = first(3, 12, 40, 0), first(20, 0, 40, 100)
    found = plausible_promotion(base, variant, 0.3, n_draws=40_000)
    lost = scipy.stats.binom(12, 0.3)
    assert found.draws.mean() == pytest.approx((17 - lost.mean()) / 40, abs=0.002)
    assert (found.low, found.high) == pytest.approx(
        ((17 - lost.ppf(0.975)) / 40, (17 - lost.ppf(0.025)) / 40)
    )
    assert (found.share_positive, found.share_negative) == (1, 0)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), True, "half"])
def test_what_is_no_probability_is_refused(value: object) -> None:
    with pytest.raises(UsageError, match="probability"):
        Scenario.rate(value)


def test_both_commands_take_presets_and_rates(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--promotion-preset", "crosspage-packet", "--promotion-rate", "1", "--json"]
    assert main(["score", "bm25_and", *options]) == 0
    (result,) = json.loads(capsys.readouterr().out)
    preset, certain = result["n_clue_score@10_promotions"]
    assert (preset["promoted"], preset["subsets_read"]) == (19, 50)
    assert preset["observed"] == pytest.approx(result["n_clue_score@10"])
    assert preset["low"] < preset["expected"] < preset["high"]
    assert certain["low"] == certain["high"] == pytest.approx(certain["expected"])
    draws = ["--draws", "300", "--resamples", "50"]
    assert main(["compare", "bm25_and", "bm25_or", *options, *draws]) == 0
    result = json.loads(capsys.readouterr().out)
    names = [item["name"] for item in result["contrasts"][0]["promotions"]]
    assert names == ["crosspage-packet", "p = 1"]
    assert "variant of this call" in result["adjusted_for"]["p_holm"]
    assert main(["score", "bm25_and", "--promotion-rate", "nan"]) == 2
