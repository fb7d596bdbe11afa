"""The statistics against scipy, scikit-learn, brute force and hand arithmetic."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from nclue_core import UsageError
from nclue_stats.agreement import (
    cohen_kappa,
    confusion_matrix,
    fleiss_kappa,
    page_set_agreement,
    pairwise_agreement,
    wilson,
)
from nclue_stats.bootstrap import family_bootstrap
from nclue_stats.correlation import compare_rankings, spearman
from nclue_stats.inputs import Memberships, gold_families
from nclue_stats.promotion import (
    FirstJudged,
    first_judged,
    plausible_promotion,
    promotion_bound,
)
from nclue_stats.randomization import holm, max_t, paired_randomization
from nclue_stats.shared_documents import (
    connected_components,
    crossed_bootstrap,
    document_macro,
    leave_one_document_out,
    one_query_per_document,
    remove_highest_degree,
)
from nclue_stats.strata import strata, strata_masks


class TestBootstrap:
    def test_families_are_equal_gold_sets_and_queries_without_gold_stand_alone(self) -> None:
        golds = [{"a", "b"}, {"a"}, {"b", "a"}, set(), set()]
        assert gold_families(golds).tolist() == [0, 1, 0, 2, 3]

    def test_interval_of_queries_agrees_with_scipy(self) -> None:
        values = np.random.default_rng(1).random(200)
        ours = family_bootstrap(values, n_resamples=4000, rng=2)
        theirs = scipy.stats.bootstrap(
            (values,), np.mean, n_resamples=4000, method="percentile", rng=3
        ).confidence_interval
        spread = theirs.high - theirs.low
        assert ours.estimate[0] == pytest.approx(values.mean())
        assert ours.low[0] == pytest.approx(theirs.low, abs=0.06 * spread)
        assert ours.high[0] == pytest.approx(theirs.high, abs=0.06 * spread)

    def test_families_widen_the_interval_of_values_that_agree_within_them(self) -> None:
        values = np.repeat([0.0, 1.0], 50)
        families = np.repeat(np.arange(10), 10)
        whole = family_bootstrap(values, families)
        single = family_bootstrap(values)
        assert whole.high[0] - whole.low[0] > 2 * (single.high[0] - single.low[0])
        assert whole.n_units == 10

    def test_replicates_are_ratios_of_sums_over_drawn_families(self) -> None:
        # Families of 1 and 3 queries: a replicate is 0 (twice A), 1 (twice B), or 3/4 (both).
        result = family_bootstrap([0.0, 1, 1, 1], [0, 1, 1, 1], n_resamples=500)
        assert set(np.unique(result.replicates)) == {0.0, 0.75, 1.0}
        shares = [(result.replicates == value).mean() for value in (0.0, 0.75, 1.0)]
        assert shares == pytest.approx([0.25, 0.5, 0.25], abs=0.07)

    def test_constant_values_give_a_width_of_zero_without_a_warning(self) -> None:
        result = family_bootstrap(np.ones(10))
        assert (result.low[0], result.high[0]) == (1, 1)

    def test_undefined_values_are_left_out_and_all_undefined_is_nan(self) -> None:
        values = np.array([[1.0, np.nan], [np.nan, np.nan], [0.0, np.nan]])
        result = family_bootstrap(values)
        assert result.estimate[0] == 0.5
        assert math.isnan(result.estimate[1])
        assert math.isnan(result.low[1])

    def test_columns_share_the_drawn_families(self) -> None:
        values = np.random.default_rng(0).random(50)
        result = family_bootstrap(np.stack([values, values + 1], axis=1))
        assert result.replicates[:, 1] - result.replicates[:, 0] == pytest.approx(1)

    def test_a_single_unit_is_marked_as_not_informative(self) -> None:
        result = family_bootstrap([0.5])
        assert (result.low[0], result.high[0], result.is_informative) == (0.5, 0.5, False)
        assert not family_bootstrap([0.0, 1.0], [4, 4]).is_informative
        assert family_bootstrap([0.0, 1.0]).is_informative

    def test_batches_change_no_result(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import nclue_stats.bootstrap as module

        values, families = np.random.default_rng(0).random(40), np.arange(40) // 3
        whole = family_bootstrap(values, families, n_resamples=60, rng=3).replicates
        monkeypatch.setattr(module, "BATCH_CELLS", 100)
        batched = family_bootstrap(values, families, n_resamples=60, rng=3).replicates
        assert batched == pytest.approx(whole)

    @pytest.mark.parametrize("seed", [-1, 1.5, None, True])
    def test_a_seed_that_is_none_is_refused(self, seed: object) -> None:
        with pytest.raises(UsageError, match="seed"):
            family_bootstrap([0.0, 1.0], rng=seed)

    @pytest.mark.parametrize("confidence", [0, 1, 95, float("nan")])
    def test_a_confidence_outside_0_to_1_is_refused_everywhere(self, confidence: float) -> None:
        first = FirstJudged(np.arange(4), np.zeros(4, dtype=bool))
        for work in (
            lambda: family_bootstrap(VALUES, confidence=confidence),
            lambda: crossed_bootstrap(VALUES, MEMBERS, confidence=confidence),
            lambda: one_query_per_document(VALUES, MEMBERS, confidence=confidence),
            lambda: plausible_promotion(first, first, 0.5, confidence=confidence),
            lambda: wilson(1, 2, confidence),
        ):
            with pytest.raises(UsageError, match="confidence"):
                work()

    @pytest.mark.parametrize("values", [[], [[[1.0]]], [np.inf]])
    def test_unusable_values_are_refused(self, values: list) -> None:
        with pytest.raises(UsageError, match="values"):
            family_bootstrap(values)


class TestRandomization:
    def test_five_equal_differences_give_two_of_thirty_two_patterns(self) -> None:
        result = paired_randomization([1, 1, 1, 1, 1])
        assert (result.pvalue, result.exact, result.n_units) == (2 / 32, True, 5)

    def test_exact_test_agrees_with_scipy(self) -> None:
        differences = np.array([0.3, -0.1, 0.4, 0.2, -0.2, 0.5, 0.1, 0.3])
        theirs = scipy.stats.permutation_test(
            (differences,), np.mean, permutation_type="samples", n_resamples=np.inf
        )
        assert paired_randomization(differences).pvalue == pytest.approx(theirs.pvalue)

    def test_random_test_agrees_with_scipy(self) -> None:
        rng = np.random.default_rng(5)
        differences = rng.integers(-1, 2, 120) + (rng.random(120) < 0.12)
        theirs = scipy.stats.permutation_test(
            (differences,), np.mean, permutation_type="samples", n_resamples=20_000, rng=1
        )
        ours = paired_randomization(differences, n_draws=20_000)
        assert ours.pvalue == pytest.approx(theirs.pvalue, abs=0.012)

    def test_p_is_never_zero_and_one_where_nothing_differs(self) -> None:
        assert paired_randomization(np.ones(300), n_draws=500).pvalue == 1 / 501
        assert paired_randomization(np.zeros(30)).pvalue == 1

    def test_families_flip_as_wholes(self) -> None:
        differences, families = [1.0, 1, 1, 1, -1, 1], [0, 0, 1, 1, 2, 2]
        # Sums 2, 2 and 0: four patterns of two units that differ, two as extreme.
        result = paired_randomization(differences, families)
        assert (result.pvalue, result.n_units) == (0.5, 2)

    @given(st.lists(st.integers(-3, 3), min_size=1, max_size=9))
    @settings(max_examples=60, deadline=None)
    def test_exact_p_is_the_share_of_patterns_counted_one_by_one(self, values: list) -> None:
        patterns = list(itertools.product([1, -1], repeat=len(values)))
        observed = abs(sum(values))
        count = sum(abs(sum(s * v for s, v in zip(p, values))) >= observed for p in patterns)
        assert paired_randomization(values).pvalue == pytest.approx(count / len(patterns))

    @given(st.lists(st.tuples(*[st.integers(-2, 2)] * 3), min_size=1, max_size=7))
    @settings(max_examples=60, deadline=None)
    def test_max_t_counts_patterns_of_the_largest_endpoint(self, rows: list) -> None:
        values = np.array(rows, dtype=float)
        signs = np.array(list(itertools.product([1, -1], repeat=len(values))))
        largest = np.abs(signs @ values).max(axis=1)
        observed = np.abs(values.sum(axis=0))
        result = max_t(values)
        expected = [(largest >= value - 1e-9).mean() for value in observed]
        assert result.pvalues == pytest.approx(expected)
        assert result.pvalue == pytest.approx(min(expected))

    def test_a_block_of_one_is_the_paired_test(self) -> None:
        differences = np.random.default_rng(3).integers(-1, 2, 80)
        families = np.arange(80) // 2
        one = max_t(differences[:, None], families, rng=4)
        assert one.pvalue == paired_randomization(differences, families, rng=4).pvalue

    def test_scaling_weighs_endpoints_of_unlike_spread_alike(self) -> None:
        wide, narrow = np.tile([3.0, -3, 3, -3, 2], 8), np.tile([0.0, 0, 0, 0, 0.2], 8)
        values = np.stack([wide, narrow], axis=1)
        assert max_t(values).selected == 0
        assert max_t(values, scaled=True).selected == 1

    def test_ties_that_differ_by_rounding_count_as_ties(self) -> None:
        # 0.1 + 0.2 - 0.3 is not 0 in floating point; the share of patterns is that of 1, 2, 3.
        whole = paired_randomization([1.0, 2.0, 3.0, -1.0, -2.0, -3.0])
        tenths = paired_randomization([0.1, 0.2, 0.3, -0.1, -0.2, -0.3])
        assert tenths.pvalue == whole.pvalue == 1
        family = paired_randomization([0.1, 0.2, -0.3, 1.0], [0, 0, 0, 1])
        assert (family.n_units, family.pvalue) == (1, 1)

    @given(st.floats(-9, 9))
    def test_p_does_not_depend_on_the_unit_of_measurement(self, exponent: float) -> None:
        values = np.array([3.0, -1, 4, 1, -5, 9, 2, 6])
        scale = 10.0 ** (2 * exponent)
        assert paired_randomization(scale * values).pvalue == paired_randomization(values).pvalue
        endpoints = np.stack([scale * values, scale * values[::-1]], axis=1)
        for scaled in (False, True):
            expected = max_t(endpoints / scale, scaled=scaled).pvalues
            assert max_t(endpoints, scaled=scaled).pvalues == pytest.approx(expected)

    def test_nan_differences_are_refused(self) -> None:
        with pytest.raises(UsageError, match="NaN"):
            paired_randomization([1.0, np.nan])


class TestHolm:
    def test_running_maximum_in_input_order(self) -> None:
        assert holm([0.02, 0.03, 0.012, 0.6]) == pytest.approx([0.06, 0.06, 0.048, 0.6])

    def test_a_missing_test_stays_missing_and_does_not_count(self) -> None:
        adjusted = holm([0.02, float("nan"), 0.03])
        assert math.isnan(adjusted[1])
        assert [adjusted[0], adjusted[2]] == pytest.approx([0.04, 0.04])

    def test_all_or_none_significant_and_none_at_all(self) -> None:
        assert holm([1.0, 1.0]) == [1.0, 1.0]
        assert holm([]) == []

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
    def test_adjusted_values_keep_the_order_and_never_shrink(self, values: list) -> None:
        adjusted = holm(values)
        for (p, a), (q, b) in itertools.combinations(zip(values, adjusted), 2):
            assert (a <= b) if p < q else (a >= b) if p > q else a == b
        assert all(p <= a <= 1 for p, a in zip(values, adjusted))

    def test_values_outside_the_unit_interval_are_refused(self) -> None:
        with pytest.raises(UsageError, match="from 0 to 1"):
            holm([0.1, 1.2])


# Queries 0-3 over documents 0-3: 0 {0}, 1 {0, 1}, 2 {1}, 3 {2, 3}
MEMBERS = Memberships([[0], [0, 1], [1], [2, 3]])
VALUES = np.array([1.0, 0.0, 0.5, 1.0])


class TestSharedDocuments:
    def test_document_macro_is_the_mean_of_document_means(self) -> None:
        assert document_macro(VALUES, MEMBERS) == pytest.approx(np.mean([0.5, 0.25, 1, 1]))

    def test_leaving_out_one_document_leaves_out_its_queries(self) -> None:
        result = leave_one_document_out(VALUES, MEMBERS)
        means = [np.mean([0.5, 1]), np.mean([1, 1]), np.mean([1, 0, 0.5])]
        assert (result.low, result.high) == pytest.approx((min(means), max(means)))

    def test_removing_the_best_connected_documents_removes_their_queries(self) -> None:
        result = remove_highest_degree(VALUES, MEMBERS, 1)
        assert (result.removed, result.n_queries, result.estimate) == ((0,), 2, 0.75)
        assert math.isnan(remove_highest_degree(VALUES, MEMBERS, 4).estimate)

    def test_components_are_found(self) -> None:
        assert connected_components(MEMBERS).sizes == (3, 1)

    @given(st.lists(st.sets(st.integers(0, 8), min_size=1, max_size=3), min_size=1, max_size=10))
    @settings(max_examples=60, deadline=None)
    def test_components_agree_with_scipy(self, documents: list) -> None:
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import connected_components as peer

        members = Memberships([sorted(docs) for docs in documents])
        size = len(documents) + members.n_documents
        entries = (np.ones(len(members.query)),
                   (members.query, members.document + len(documents)))  # fmt: skip
        labels = peer(coo_matrix(entries, shape=(size, size)), directed=False)[1]
        counts = np.unique(labels[: len(documents)], return_counts=True)[1]
        assert connected_components(members).sizes == tuple(sorted(counts.tolist(), reverse=True))

    def test_crossed_bootstrap_agrees_with_a_loop_over_replicates(self) -> None:
        rng = np.random.default_rng(2)
        degrees = rng.choice([1, 12], 80)
        members = Memberships([sorted(rng.choice(30, d, replace=False)) for d in degrees])
        values = 0.9 * (degrees > 1) + 0.1 * rng.random(80)  # so that a degree must not count
        ours = crossed_bootstrap(values, members, n_resamples=3000, rng=1)
        means = []
        for _ in range(3000):
            queries = np.bincount(rng.integers(0, 80, 80), minlength=80)
            documents = np.bincount(rng.integers(0, 30, 30), minlength=30)
            shares = [documents[members.document[members.query == q]].mean() for q in range(80)]
            weights = queries * shares
            means.append(weights @ values / weights.sum())
        low, high = np.percentile(means, [2.5, 97.5])
        assert ours.low == pytest.approx(low, abs=0.1 * (high - low))
        assert ours.high == pytest.approx(high, abs=0.1 * (high - low))

    def test_batches_change_no_result(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import nclue_stats.shared_documents as module

        members = Memberships([[q % 7, 7 + q % 3] for q in range(40)])
        values = np.random.default_rng(0).random(40)
        works = [crossed_bootstrap, one_query_per_document]
        whole = [work(values, members, n_resamples=50, rng=1) for work in works]
        monkeypatch.setattr(module, "BATCH_CELLS", 250)
        batched = [work(values, members, n_resamples=50, rng=1) for work in works]
        for one, other in zip(whole, batched):
            assert (one.low, one.high) == pytest.approx((other.low, other.high))

    def test_codes_without_a_query_change_nothing(self) -> None:
        sparse = Memberships([[5], [5, 900], [900], [1000, 7]])
        values = np.array([1.0, 0.0, 0.5, 1.0])
        assert sparse.n_documents == 4
        assert document_macro(values, sparse) == document_macro(values, MEMBERS)
        ours = leave_one_document_out(values, sparse)
        theirs = leave_one_document_out(values, MEMBERS)
        assert (ours.low, ours.high) == (theirs.low, theirs.high)
        assert remove_highest_degree(values, sparse, 1).removed == (5,)

    def test_a_document_given_twice_is_refused(self) -> None:
        with pytest.raises(UsageError, match=r"query 1 .* twice"):
            Memberships([[0], [1, 1]])
        assert len(Memberships.of_ids([["a", "a"]]).query) == 1

    def test_one_query_per_document_varies_only_by_the_choice(self) -> None:
        result = one_query_per_document(VALUES, MEMBERS, n_resamples=500)
        # Document 0: 1 or 0; document 1: 0 or 0.5; documents 2 and 3 always 1.
        assert (result.low, result.high) == pytest.approx((2 / 4, 3.5 / 4))

    def test_queries_without_documents_and_nan_values_are_refused(self) -> None:
        with pytest.raises(UsageError, match="query 1"):
            Memberships([[0], []])
        with pytest.raises(UsageError, match="NaN"):
            document_macro([1.0, np.nan, 0, 0], MEMBERS)


@st.composite
def rankings_with_grades(draw: st.DrawFn) -> tuple[list, list, dict]:
    """Two rankings of a query over few documents, and the grades (2 = gold)."""
    grades = draw(st.dictionaries(st.integers(0, 6), st.integers(0, 2), min_size=7, max_size=7))
    base, variant = (draw(st.permutations(range(7)))[: draw(st.integers(1, 5))] for _ in range(2))
    return base, variant, grades


def success(ranking: list, grades: dict) -> bool:
    return next((grades[d] for d in ranking if grades[d] > 0), 0) == 2


def first_of(ranking: list, grades: dict) -> FirstJudged:
    return first_judged([[grades[d] for d in ranking]], [ranking], [2])


class TestPromotion:
    @given(rankings_with_grades(), st.integers(0, 3))
    @settings(max_examples=200, deadline=None)
    def test_bound_is_the_minimum_over_all_sets_of_promotions(self, case: tuple, k: int) -> None:
        base, variant, grades = case
        subsets = [d for d in {*base, *variant} if grades[d] == 1]
        differences = []
        for size in range(k + 1):
            for chosen in itertools.combinations(subsets, size):
                promoted = {**grades, **dict.fromkeys(chosen, 2)}
                differences.append(int(success(variant, promoted)) - int(success(base, promoted)))
        found = promotion_bound(first_of(base, grades), first_of(variant, grades), k)
        assert found.bound == min(differences)
        assert found.observed == int(success(variant, grades)) - int(success(base, grades))

    def test_expected_contrast_is_linear_and_break_even_is_exact(self) -> None:
        # Base: 2 golds, 6 subsets first; variant: 4 golds, 2 subsets; of 10 queries.
        base = FirstJudged(np.r_[np.arange(8), -1, -1], np.r_[[True] * 2, [False] * 8])
        variant = FirstJudged(np.r_[np.arange(20, 26), [-1] * 4], np.r_[[True] * 4, [False] * 6])
        result = plausible_promotion(base, variant, 0.25, n_draws=20_000)
        assert result.observed == pytest.approx(0.2)
        assert result.expected == pytest.approx(0.2 + 0.25 * (0.2 - 0.6))
        assert result.draws.mean() == pytest.approx(result.expected, abs=0.005)
        assert result.break_even == pytest.approx(0.5)

    def test_subsets_that_both_put_first_cancel(self) -> None:
        same = FirstJudged(np.arange(5), np.zeros(5, dtype=bool))
        result = plausible_promotion(same, same, 0.7, n_draws=50)
        assert (result.low, result.high, result.share_positive) == (0, 0, 0)
        assert math.isnan(result.break_even)
        assert promotion_bound(same, same, 3).bound == 0


class TestStrata:
    def test_cells_follow_their_thresholds(self) -> None:
        masks = strata_masks([2, 2, 3], [30, 101, np.nan], [25, 50, 51])
        assert {name: mask.tolist() for name, mask in masks.items()} == {
            "all": [True, True, True], "n2": [True, True, False], "n3": [False, False, True],
            "Lmin_le30": [True, False, False], "Lmin_gt100": [False, True, False],
            "Dplus_le25": [True, False, False], "Dplus_gt50": [False, False, True],
        }  # fmt: skip

    def test_empty_cells_are_undefined_and_means_are_right(self) -> None:
        masks = strata_masks([2, 2], [50, 50], [30, 60])
        cells = {cell.name: cell for cell in strata([1.0, 0.0], masks)}
        assert cells["Lmin_le30"].n_queries == 0
        assert math.isnan(cells["Lmin_le30"].estimate)
        assert (cells["all"].estimate, cells["Dplus_gt50"].estimate) == (0.5, 0.0)


class TestCorrelation:
    @given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=20))
    @settings(max_examples=80, deadline=None)
    def test_spearman_agrees_with_scipy(self, pairs: list) -> None:
        first, second = zip(*pairs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", scipy.stats.ConstantInputWarning)
            expected = scipy.stats.spearmanr(first, second).statistic
        assert spearman(first, second) == pytest.approx(expected, nan_ok=True)

    def test_largest_move_names_the_system_and_its_ranks(self) -> None:
        found = compare_rankings(["a", "b", "c"], [3, 2, 1], [1, 3, 2])
        assert (found.largest_move, found.rank_from, found.rank_to) == ("a", 1, 3)


class TestAgreement:
    @pytest.mark.parametrize(
        ("successes", "total", "low", "high"),
        [(0, 12, 0, 0.242494), (12, 12, 0.757506, 1), (46, 46, 0.922926, 1)],
    )
    def test_wilson_stays_within_the_unit_interval(
        self, successes: int, total: int, low: float, high: float
    ) -> None:
        share = wilson(successes, total)
        assert (share.low, share.high) == pytest.approx((low, high), abs=1e-6)
        peer = scipy.stats.binomtest(successes, total).proportion_ci(method="wilson")
        assert (share.low, share.high) == pytest.approx((peer.low, peer.high))

    def test_wilson_of_nothing_is_undefined_and_nonsense_is_refused(self) -> None:
        assert math.isnan(wilson(0, 0).low)
        with pytest.raises(UsageError, match="5 of 4"):
            wilson(5, 4)

    @given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=4, max_size=40))
    @settings(max_examples=80, deadline=None)
    def test_kappas_agree_with_scikit_learn(self, pairs: list) -> None:
        first, second = zip(*pairs)
        table = confusion_matrix(first, second, [0, 1, 2, 3])
        for weights in (None, "linear"):
            ours = cohen_kappa(table, weights=weights)
            if math.isnan(ours.kappa):
                assert ours.expected == pytest.approx(1)
                continue
            peer = cohen_kappa_score(first, second, labels=[0, 1, 2, 3], weights=weights)
            assert ours.kappa == pytest.approx(peer)

    def test_one_class_leaves_kappa_undefined_beside_the_observed_agreement(self) -> None:
        result = cohen_kappa(confusion_matrix(["yes"] * 6, ["yes"] * 6, ["yes", "no"]))
        assert math.isnan(result.kappa)
        assert result.observed == 1
        assert math.isnan(fleiss_kappa([[4, 0], [4, 0], [4, 0]]).kappa)

    def test_fleiss_gives_the_worked_example_of_the_literature(self) -> None:
        # Fleiss' example as printed in textbooks: 10 subjects, 14 raters, 5 categories, .210.
        table = [[0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0],
                 [2, 2, 8, 1, 1], [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2],
                 [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]]  # fmt: skip
        assert fleiss_kappa(table).kappa == pytest.approx(0.210, abs=0.0005)

    def test_a_transposed_table_is_refused(self) -> None:
        with pytest.raises(UsageError, match="rows are items"):
            fleiss_kappa([[3, 2, 1], [0, 1, 2]])

    def test_labels_outside_the_declared_classes_are_refused(self) -> None:
        with pytest.raises(UsageError, match="label 'maybe'"):
            confusion_matrix(["yes"], ["maybe"], ["yes", "no"])

    def test_pairwise_and_page_set_agreement(self) -> None:
        shares = pairwise_agreement([[1, 1, 0], [1, 0, 0], [1, 1, 1]])
        assert [share.successes for share in shares] == [2, 2, 1]
        pages = page_set_agreement([{1, 2}, set(), {3}], [{2, 3}, set(), {4}])
        assert pages.jaccard == pytest.approx((1 / 3 + 1 + 0) / 3)
        assert (pages.identical, pages.overlapping) == pytest.approx((1 / 3, 2 / 3))
