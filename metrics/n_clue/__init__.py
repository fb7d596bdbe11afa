"""n-Clue scores: the mathematics, run files, and (in `n_clue`) the `evaluate` module.

Importing this package loads numpy only; `nclue_metric.n_clue` also loads `evaluate`.
"""

from .scoring import GOLD_FIRST
from .scoring import MISS
from .scoring import OUTCOMES
from .scoring import SUBSET_FIRST
from .scoring import Alignment
from .scoring import Judgments
from .scoring import QueryScores
from .scoring import ScoringError
from .scoring import common_support
from .scoring import keep_first
from .scoring import score_grades
from .scoring import score_rankings
from .scoring import summarize

__all__ = [
    "GOLD_FIRST",
    "MISS",
    "OUTCOMES",
    "SUBSET_FIRST",
    "Alignment",
    "Judgments",
    "QueryScores",
    "ScoringError",
    "common_support",
    "keep_first",
    "score_grades",
    "score_rankings",
    "summarize",
]
