"""The table of measures: what is computed, shown and compared, each once.

A measure is a row here: `summarize`, the ``evaluate`` module, ``nclue score``, the intervals, the
scorecard and the cards read the table, so that another measure touches this file alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .scoring import OUTCOMES, QueryScores, defined_mean

PERCENT = "percent"  # of the queries, or of the ideal ranking; other units have no mean
_STUDY = "arXiv 2607.24165v2, supplement"


@dataclass(frozen=True)
class Measure:
    """One measure of a ranking at a cutoff."""

    name: str  # in results, as NAME@k
    title: str  # column of tables
    of_query: Callable[[QueryScores], NDArray[Any]]  # (Q,) values; NaN where undefined
    definition: str
    source: str  # where it is defined
    unit: str = PERCENT
    direction: str = "higher"  # is better; "lower", or "" where neither is
    per_query: bool = True  # given per query (the shares of one outcome are not)
    on_card: bool = True  # shown on the scorecard
    interval: bool = True  # has an interval


def _outcome(code: int) -> Callable[[QueryScores], NDArray[Any]]:
    return lambda scores: (scores.outcome == code).astype(np.float64)


def _share(code: int, title: str, definition: str, direction: str) -> Measure:
    return Measure(
        OUTCOMES[code], title, _outcome(code), definition, f"{_STUDY}, outcomes",
        direction=direction, per_query=False, interval=False,
    )  # fmt: skip


MEASURES: tuple[Measure, ...] = (
    Measure("n_clue_score", "Score", lambda s: s.score,
            "queries whose first gold is among the first k and before every subset",
            f"{_STUDY}, n-Clue Score"),
    Measure("gold_hit", "Hit", lambda s: s.hit,
            "queries with a gold among the first k", f"{_STUDY}, Gold Hit"),
    Measure("gold_ndcg", "Gold-NDCG", lambda s: s.gold_ndcg,
            "NDCG with gain 1 for golds; over queries that have a gold", f"{_STUDY}, Gold-NDCG"),
    Measure("graded_ndcg", "graded NDCG", lambda s: s.graded_ndcg,
            "NDCG with the grade as gain; over queries that have a judged document",
            "Järvelin and Kekäläinen 2002; linear gain as trec_eval",
            on_card=False, interval=False),
    _share(0, "miss", "no gold among the first k", "lower"),
    _share(1, "subset-first", "a gold among the first k, after a subset", "lower"),
    _share(2, "gold-first", "a gold among the first k, before every subset", "higher"),
    Measure("outcome", "outcome", lambda s: s.outcome,
            "0 miss, 1 subset first, 2 gold first", f"{_STUDY}, outcomes",
            unit="code", direction="", on_card=False, interval=False),
    Measure("gold_rank", "gold rank", lambda s: s.gold_rank,
            "rank of the first gold among the first k, else infinite", _STUDY,
            unit="rank", direction="lower", on_card=False, interval=False),
    Measure("subset_rank", "subset rank", lambda s: s.subset_rank,
            "rank of the first subset among the first k, else infinite", _STUDY,
            unit="rank", direction="higher", on_card=False, interval=False),
)  # fmt: skip


def shown_measures() -> list[Measure]:
    """The measures that have a mean, in the order of tables."""
    return [measure for measure in MEASURES if measure.unit == PERCENT]


def interval_measures() -> list[Measure]:
    """The measures that have an interval."""
    return [measure for measure in shown_measures() if measure.interval]


def summarize(scores: QueryScores) -> dict[str, Any]:
    """Percentages over all queries, as the study prints them, with the counts behind them.

    NDCG means are over the queries where it is defined; ``undefined_…`` counts the others. With
    no query at all every share is NaN.
    """
    columns = {measure.name: measure.of_query(scores) for measure in shown_measures()}
    result: dict[str, Any] = {
        f"{name}@{scores.k}": defined_mean(values) * 100 for name, values in columns.items()
    }
    result["n_queries"] = len(scores.score)
    for name in ("gold_ndcg", "graded_ndcg"):
        result[f"undefined_{name}"] = int(np.isnan(columns[name]).sum())
    return result


def per_query_columns(scores: QueryScores) -> dict[str, list[Any]]:
    """Every value of every query, as NAME@k."""
    return {
        f"{measure.name}@{scores.k}": measure.of_query(scores).tolist()
        for measure in MEASURES
        if measure.per_query
    }
