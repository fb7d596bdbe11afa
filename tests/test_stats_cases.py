"""Failures that users of other tools met, as recorded in the shared case folders."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nclue_core import UsageError
from nclue_metric import Judgments
from nclue_stats.agreement import Kappa, cohen_kappa, confusion_matrix, fleiss_kappa, wilson
from nclue_stats.bootstrap import family_bootstrap
from nclue_stats.compare import compare_runs
from nclue_stats.randomization import holm, paired_randomization
from nclue_stats.tables import as_latex, as_markdown

pytestmark = pytest.mark.shared


@pytest.fixture
def cases(shared_dir: Path) -> Path:
    return shared_dir / "cases" / "dev"


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def expected(folder: Path) -> Any:
    return read(folder / "case.expected.json")["expected"]


def check_kappa(found: Kappa, wanted: dict[str, Any]) -> None:
    if wanted["kappa"] is None:
        assert math.isnan(found.kappa)
    else:
        assert found.kappa == pytest.approx(wanted["kappa"], abs=1e-6)
    assert found.observed == pytest.approx(wanted.get("observed", found.observed))


def test_cohen_is_undefined_beside_the_observed_agreement_for_one_class(cases: Path) -> None:
    wanted = expected(cases / "A01")
    for name, pair in read(cases / "A01" / "ratings.json").items():
        classes = sorted({*pair["a"], *pair["b"]})
        if wanted[name] == "error":
            with pytest.raises(UsageError):
                cohen_kappa(confusion_matrix(pair["a"], pair["b"], classes))
            continue
        check_kappa(cohen_kappa(confusion_matrix(pair["a"], pair["b"], classes)), wanted[name])


def test_fleiss_takes_items_as_rows(cases: Path) -> None:
    wanted = expected(cases / "A02")
    for name, table in read(cases / "A02" / "counts.json").items():
        check_kappa(fleiss_kappa(table), wanted[name])
    assert "(items, classes)" in str(fleiss_kappa.__doc__)


def test_wilson_never_leaves_the_unit_interval(cases: Path) -> None:
    wanted = expected(cases / "A04")
    for successes, total in read(cases / "A04" / "counts.json"):
        ends = wanted[f"{successes}/{total}"]
        if ends == "error":
            with pytest.raises(UsageError):
                wilson(successes, total)
            continue
        share = wilson(successes, total)
        if total == 0:
            assert math.isnan(share.low)
        else:
            assert [share.low, share.high] == pytest.approx(ends, abs=1e-6)
            assert 0 <= share.low <= share.high <= 1


def test_p_of_equal_differences_is_never_zero(cases: Path) -> None:
    a, b = (read(cases / "S01" / f"{name}.json") for name in "ab")
    result = paired_randomization([a[query] - b[query] for query in a])
    wanted = expected(cases / "S01")
    assert result.pvalue == wanted["exact_two_sided_p"]
    assert result.statistic == wanted["mean_difference"]


def test_constant_scores_have_an_interval_and_one_query_is_marked(cases: Path) -> None:
    result = family_bootstrap(list(read(cases / "S03" / "scores.json").values()))
    assert [result.low[0], result.high[0]] == expected(cases / "S03")["scores_ci"]
    single = family_bootstrap(list(read(cases / "S03" / "one_query.json").values()))
    assert (single.low[0], single.high[0], single.is_informative) == (0.5, 0.5, False)


def test_holm_keeps_input_order_and_missing_tests(cases: Path) -> None:
    wanted = expected(cases / "S04")
    for name, pvalues in read(cases / "S04" / "p.json").items():
        ends = [0.02, np.nan, 0.02] if name == "t5" else wanted[name]
        assert holm(pvalues) == pytest.approx(ends, nan_ok=True)


def test_ordering_without_common_support_is_undefined_and_still_shown(cases: Path) -> None:
    base, variant, qrels = (
        read(cases / "M24" / f"{name}.json") for name in ("base", "variant", "qrels")
    )
    judgments = Judgments.from_mapping(qrels, 2)
    queries = list(qrels)
    contrasts = compare_runs(
        judgments,
        ("base", [base[query] for query in queries]),
        [("variant", [variant[query] for query in queries])],
    )
    assert contrasts[0].common_n == expected(cases / "M24")["common_support_n"] == 0
    assert math.isnan(contrasts[0].delta_d)
    for table in (as_markdown(contrasts), as_latex(contrasts)):
        assert "nan" not in table.lower()
