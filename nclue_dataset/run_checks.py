"""What is odd about a run that is going to be scored: unknown documents, ties that matter."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from nclue_core.errors import InputError
from nclue_dataset.id_mismatch import likely_cause
from nclue_metric import Judgments

SHOWN = 5


def some(names: Sequence[str], shown: int | None = SHOWN) -> str:
    """The first few names, and how many more there are; all of them with None."""
    shown = len(names) if shown is None else shown
    listed = ", ".join(names[:shown])
    return listed if len(names) <= shown else f"{listed}, … ({len(names) - shown:,} more)"


@dataclass(frozen=True)
class UnknownDocuments:
    """The documents of a run that are not in the corpus."""

    documents: tuple[str, ...]  # in the order of the run
    n_returned: int  # different documents in the run

    @property
    def share(self) -> float:
        """Of the run's documents; 0 for a run without any."""
        return len(self.documents) / self.n_returned if self.n_returned else 0.0

    def sentence(self, shown: int | None = SHOWN) -> str:
        """Count, share and examples."""
        return (
            f"{len(self.documents):,} of {self.n_returned:,} documents are not in the corpus "
            f"({self.share:.0%}): {some(self.documents, shown)}"
        )

    def to_json(self) -> dict[str, Any]:
        """Counts and examples."""
        return {
            "unknown_documents": len(self.documents),
            "unknown_share": self.share,
            "unknown_examples": list(self.documents[:SHOWN]),
        }


def unknown_documents(
    rankings: Sequence[Sequence[str]], corpus: Collection[str]
) -> UnknownDocuments:
    """Which documents of the rankings the corpus does not have (an empty corpus knows all)."""
    returned = dict.fromkeys(chain.from_iterable(rankings))
    unknown = [doc_id for doc_id in returned if doc_id not in corpus] if corpus else []
    return UnknownDocuments(tuple(unknown), len(returned))


def refuse_unknown(unknown: UnknownDocuments, corpus: Collection[str], run: str) -> None:
    """Raise where less than half of a run's documents are known.

    Raises:
        InputError: With an example of both sides and, where it is evident, the cause.
    """
    if 2 * len(unknown.documents) <= unknown.n_returned:
        return
    raise InputError(
        f"{unknown.sentence()}. The corpus has documents such as {next(iter(corpus))!r}, the run "
        f"{unknown.documents[0]!r}{because(unknown.documents, corpus)}. To score it all the same: "
        "--allow-unknown",
        path=run,
    )


def because(unknown: Sequence[str], known: Collection[str]) -> str:
    """The likely cause, to stand behind a sentence; empty where it is not evident."""
    cause = likely_cause(unknown, known)
    return f"; {cause}" if cause else ""


@dataclass(frozen=True)
class TiesAtK:
    """Where equal scores decide at one cutoff."""

    k: int
    across_k: tuple[str, ...]  # queries with a tie between rank k and rank k + 1
    gold_and_subset: tuple[str, ...]  # queries with a gold and a subset tied among the first k

    def to_json(self) -> dict[str, Any]:
        """Numbers of queries, and examples."""
        return {
            "k": self.k,
            "across_k": len(self.across_k),
            "across_k_examples": list(self.across_k[:SHOWN]),
            "gold_and_subset": len(self.gold_and_subset),
            "gold_and_subset_examples": list(self.gold_and_subset[:SHOWN]),
        }


def ties_at(
    judgments: Judgments,
    rankings: Sequence[Sequence[str]],
    tied: Mapping[str, Sequence[Sequence[str]]],
    k: int,
) -> TiesAtK:
    """Which queries a tie can decide.

    Args:
        judgments: Judgments of Q queries.
        rankings: Q rankings as they are scored.
        tied: Per query, its groups of documents with equal scores.
        k: Cutoff.
    """
    across, mixed = [], []
    rows = zip(judgments.query_ids, rankings, judgments.grades, judgments.n_conditions.tolist())
    for query_id, ranking, grades, n in rows:
        members, top = set(ranking), set(ranking[:k])
        # A group that begins in the top k can be in any order there, all of it.
        groups = [members.intersection(group) for group in tied.get(query_id, ())]
        groups = [group for group in groups if group & top]
        if any(group - top for group in groups):
            across.append(query_id)
        found = [{grades.get(doc_id, 0) for doc_id in group} for group in groups]
        if any(n in each and any(0 < grade < n for grade in each) for each in found):
            mixed.append(query_id)
    return TiesAtK(k, tuple(across), tuple(mixed))


def tie_sentences(
    n_tied: int, rule: str, ties: Sequence[TiesAtK], shown: int | None = SHOWN
) -> list[str]:
    """What to tell about ties: how many, and the queries in which they matter."""
    if not n_tied:
        return []
    lines = []
    for at_k in ties:
        for queries, where in (
            (at_k.across_k, f"cross rank {at_k.k}"),
            (at_k.gold_and_subset, f"stand between a gold and a subset in the top {at_k.k}"),
        ):
            if queries:
                lines.append(f"ties {where} in {len(queries):,} queries: {some(queries, shown)}")
    at = ", ".join(str(at_k.k) for at_k in ties)
    none = "" if lines else f"; none crosses rank {at} or stands between a gold and a subset there"
    return [f"{n_tied:,} documents have tied scores (order: {rule}){none}", *lines]
