"""Intervals of scores, by the statistics of the kit (which this folder does not hold)."""

from __future__ import annotations

from .scoring import Judgments, QueryScores, ScoringError


def intervals(
    judgments: Judgments, scores: QueryScores, n_resamples: int, seed: int
) -> dict[str, list[float]]:
    """95% intervals in percent; families are queries with the same complete set of golds."""
    try:
        from nclue_stats.compare import family_intervals
    except ModuleNotFoundError as err:
        raise ScoringError(
            'intervals need the package of the kit, not this module alone: pip install "nclue"'
        ) from err
    found = family_intervals(judgments, scores, n_resamples=n_resamples, rng=seed)
    names = {"score": "n_clue_score", "hit": "gold_hit", "gold_ndcg": "gold_ndcg"}
    return {f"{names[name]}@{scores.k}_ci95": list(ends) for name, ends in found.items()}
