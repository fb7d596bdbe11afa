"""Intervals of scores, by the statistics of the kit (which this folder does not hold)."""

from __future__ import annotations

import numpy as np

from .measures import interval_measures
from .scoring import Judgments, QueryScores, ScoringError


def intervals(
    judgments: Judgments, scores: QueryScores, n_resamples: int, seed: int
) -> dict[str, list[float]]:
    """95% intervals in percent; families are queries with the same complete set of golds."""
    try:
        from nclue_stats.bootstrap import family_bootstrap
        from nclue_stats.inputs import gold_families
    except ModuleNotFoundError as err:
        raise ScoringError(
            'intervals need the package of the kit, not this module alone: pip install "nclue"'
        ) from err
    measures = interval_measures()
    columns = np.stack([measure.of_query(scores) for measure in measures], axis=1)
    families = gold_families(judgments.gold_ids)
    found = family_bootstrap(columns, families, n_resamples=n_resamples, rng=seed)
    return {
        f"{measure.name}@{scores.k}_ci95": [100 * float(low), 100 * float(high)]
        for measure, low, high in zip(measures, found.low, found.high)
    }
