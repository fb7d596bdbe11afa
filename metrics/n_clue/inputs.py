"""Checks of what is handed to ``compute``: readable errors before anything is cast.

`evaluate` writes inputs through Arrow, which would turn 2 into "2" and 1.5 into 1 without a word.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from .scoring import ScoringError, check_cutoffs, grade_problem, repeated_document

SHAPE = (
    "expected predictions=[[doc_id, …], …] (one ranked list of document IDs per query, best first) "
    "and references=[{'doc_ids': [...], 'grades': [...], 'n_conditions': n}, …]"
)
REFERENCE_KEYS = ("doc_ids", "grades", "n_conditions")
OPTIONS = (
    "k", "gain", "per_query", "query_ids", "n_resamples", "seed", "surfaced_pages", "evidence", "m",
)  # fmt: skip


def as_list(value: Any) -> list[Any]:
    """One number or several, as a list."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return list(value) if isinstance(value, (list, tuple, range)) else [value]


def check_options(options: Mapping[str, Any]) -> None:
    """Check the options of ``compute``.

    Raises:
        ScoringError: One that does not exist, or a value that makes no sense.
    """
    for name in options:
        if name not in OPTIONS:
            close = difflib.get_close_matches(name, OPTIONS, 1)
            meant = f"; did you mean {close[0]!r}?" if close else ""
            raise ScoringError(f"{name!r} is no option; expected {', '.join(OPTIONS)}{meant}")
    check_cutoffs(as_list(options.get("k", 10)), options.get("gain", "linear"))
    _check_whole("n_resamples", [options.get("n_resamples", 0)], 0)
    _check_whole("seed", [options.get("seed", 0)], 0)
    _check_whole("m", as_list(options.get("m", 3)), 1)
    if not isinstance(options.get("per_query", False), bool):
        raise ScoringError(f"per_query is {options['per_query']!r}, expected True or False")
    if (options.get("surfaced_pages") is None) != (options.get("evidence") is None):
        raise ScoringError("surfaced_pages and evidence go together: give both or neither")


def _check_whole(name: str, values: list[Any], minimum: int) -> None:
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
            raise ScoringError(
                f"{name} is {value!r}, expected a whole number of at least {minimum}"
            )


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
        raise ScoringError(f"{name} has the keys {sorted(map(str, reference))}; {SHAPE}")
    doc_ids, grades, n = (reference[key] for key in REFERENCE_KEYS)
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ScoringError(f"{name}: n_conditions is {n!r}, expected a whole number of at least 1")
    for values in (doc_ids, grades):
        if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__len__"):
            raise ScoringError(f"{name}: doc_ids and grades are lists; {SHAPE}")
    if len(doc_ids) != len(grades):
        raise ScoringError(f"{name}: {len(doc_ids)} doc_ids and {len(grades)} grades")
    if not _are_plainly_right(doc_ids, grades, n):
        _check_judgments(name, doc_ids, grades, n)


def _are_plainly_right(doc_ids: Sequence[Any], grades: Sequence[Any], n: int) -> bool:
    """Whether nothing can be wrong; what is not plain may still be right (numbers of numpy)."""
    if not set(map(type, doc_ids)) <= {str} or not set(map(type, grades)) <= {int}:
        return False
    if len(set(doc_ids)) < len(doc_ids):
        return False
    return not len(grades) or (min(grades) >= 0 and max(grades) <= n)


def _check_judgments(name: str, doc_ids: Sequence[Any], grades: Sequence[Any], n: int) -> None:
    for doc_id, grade in zip(doc_ids, grades):
        problem = grade_problem(doc_id, grade, n)
        if problem:
            raise ScoringError(f"{name}: {problem}")
    if len(set(doc_ids)) < len(doc_ids):
        raise ScoringError(repeated_document(name, list(doc_ids)))
