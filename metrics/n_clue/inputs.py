"""Checks of what is handed to ``compute``: readable errors before anything is cast.

`evaluate` writes inputs through Arrow, which would turn 2 into "2" and 1.5 into 1 without a word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .scoring import ScoringError, grade_problem, repeated_document

SHAPE = (
    "expected predictions=[[doc_id, …], …] (one ranked list of document IDs per query, best first) "
    "and references=[{'doc_ids': [...], 'grades': [...], 'n_conditions': n}, …]"
)
REFERENCE_KEYS = ("doc_ids", "grades", "n_conditions")


def check_batch(predictions: Any, references: Any) -> None:
    """Check a batch of rankings and references.

    Raises:
        ScoringError: What is wrong, with the position (0-based) of the query in the batch.
    """
    for name, column in (("predictions", predictions), ("references", references)):
        if column is None or isinstance(column, (str, bytes, Mapping)):
            raise ScoringError(f"{name} is {type(column).__name__}; {SHAPE}")
    if len(predictions) != len(references):
        raise ScoringError(
            f"{len(predictions)} predictions and {len(references)} references; {SHAPE}"
        )
    for index, (ranking, reference) in enumerate(zip(predictions, references)):
        check_ranking(f"predictions[{index}]", ranking)
        check_reference(f"references[{index}]", reference)


def check_ranking(name: str, ranking: Any) -> None:
    """A ranking is a list of different strings."""
    if hasattr(ranking, "tolist"):  # a numpy array is a sequence in all but name
        ranking = ranking.tolist()
    if isinstance(ranking, (str, bytes)) or not isinstance(ranking, Sequence):
        raise ScoringError(f"{name} is {type(ranking).__name__} {ranking!r:.60}; {SHAPE}")
    try:
        "".join(ranking)
    except TypeError:
        rank, doc_id = next((r, d) for r, d in enumerate(ranking, 1) if not isinstance(d, str))
        raise ScoringError(
            f"{name}, rank {rank}: document ID {doc_id!r} is {type(doc_id).__name__}, expected str"
        ) from None
    if len(set(ranking)) < len(ranking):
        raise ScoringError(repeated_document(name, list(ranking)))


def check_reference(name: str, reference: Any) -> None:
    """A reference names each judged document once, with a grade from 0 to n."""
    if not isinstance(reference, Mapping):
        raise ScoringError(f"{name} is {type(reference).__name__} {reference!r:.60}; {SHAPE}")
    if set(reference) != set(REFERENCE_KEYS):
        raise ScoringError(f"{name} has the keys {sorted(reference)}; {SHAPE}")
    doc_ids, grades, n = (reference[key] for key in REFERENCE_KEYS)
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ScoringError(f"{name}: n_conditions is {n!r}, expected a whole number of at least 1")
    if len(doc_ids) != len(grades):
        raise ScoringError(f"{name}: {len(doc_ids)} doc_ids and {len(grades)} grades")
    if len(set(doc_ids)) < len(doc_ids):
        raise ScoringError(repeated_document(name, list(doc_ids)))
    for doc_id, grade in zip(doc_ids, grades):
        problem = grade_problem(doc_id, grade, n)
        if problem:
            raise ScoringError(f"{name}: {problem}")
