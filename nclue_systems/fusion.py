"""Equal-weight reciprocal rank fusion."""

from __future__ import annotations

from collections.abc import Sequence

RRF_K = 60


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[str]], *, k: int = RRF_K, depth: int = 100
) -> list[tuple[str, float]]:
    """Fuse rankings of one query: a document scores the sum of 1 / (k + rank), ranks from 1.

    Args:
        rankings: Document IDs, best first, without repeats; what stands after ``depth`` is not
            read.
        k: The constant of the method (Cormack et al., 2009).
        depth: Documents read from each ranking, and returned.

    Returns:
        (doc_id, score), best first; equal scores in lexicographic order of doc_id, so that the
        order of the fused runs is no matter.
    """
    total: dict[str, list[float]] = {}
    for ranking in rankings:
        for rank, doc_id in enumerate(ranking[:depth], start=1):
            total.setdefault(doc_id, []).append(1 / (k + rank))
    summed = {doc_id: sum(sorted(shares)) for doc_id, shares in total.items()}
    return sorted(summed.items(), key=lambda item: (-item[1], item[0]))[:depth]
