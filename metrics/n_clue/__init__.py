"""n-Clue scores: the mathematics, run files, and (in `n_clue`) the `evaluate` module.

Importing this package loads numpy only; `nclue_metric.n_clue` also loads `evaluate`.
"""

from .files import FileScores, score_files
from .measures import MEASURES, Measure, summarize
from .scoring import (
    GOLD_FIRST,
    MISS,
    OUTCOMES,
    SUBSET_FIRST,
    Alignment,
    Judgments,
    QueryScores,
    ScoringError,
    common_support,
    keep_first,
    score_grades,
    score_rankings,
)

__all__ = [
    "GOLD_FIRST",
    "MEASURES",
    "MISS",
    "OUTCOMES",
    "SUBSET_FIRST",
    "Alignment",
    "FileScores",
    "Judgments",
    "Measure",
    "QueryScores",
    "ScoringError",
    "common_support",
    "keep_first",
    "score_files",
    "score_grades",
    "score_rankings",
    "summarize",
]
