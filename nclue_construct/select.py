"""Choose a varied set of queries: conditions, golds and sources spread, no near-duplicates."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nclue_construct.compose import Candidate, chance


@dataclass(frozen=True)
class SelectLimits:
    """How many queries, and how often anything may recur."""

    queries: Mapping[int, int] = field(default_factory=lambda: {2: 160, 3: 80})  # size -> number
    per_condition: int = 5
    per_gold: int = 12  # queries for which one document is gold
    per_family: int = 3  # queries with exactly the same golds
    seed: int = 11


class _Used:
    """What the queries chosen so far have used."""

    def __init__(self, source_of: Mapping[str, str]) -> None:
        self.source_of = source_of
        self.conditions: Counter[str] = Counter()
        self.pairs: set[frozenset[str]] = set()
        self.golds: Counter[str] = Counter()
        self.families: Counter[tuple[str, ...]] = Counter()
        self.sources: Counter[str] = Counter()

    def allows(self, item: Candidate, limits: SelectLimits) -> bool:
        return (
            all(self.conditions[name] < limits.per_condition for name in item.conditions)
            and all(self.golds[doc_id] < limits.per_gold for doc_id in item.golds)
            and self.families[item.golds] < limits.per_family
            and not self.pairs & _pairs(item)
        )

    def cost(self, item: Candidate) -> float:
        """Low for what is new: conditions, gold documents, and sources."""
        total = sum(self.sources.values()) or 1
        sources = [self.sources[self.source_of[doc_id]] / total for doc_id in item.golds]
        return (
            sum(self.conditions[name] for name in item.conditions) / len(item.conditions)
            + sum(self.golds[doc_id] for doc_id in item.golds) / len(item.golds)
            + 10 * sum(sources) / len(sources)
            - 0.8 * min(len(item.golds), 3)
        )

    def add(self, item: Candidate) -> None:
        self.conditions.update(item.conditions)
        self.pairs |= _pairs(item)
        self.golds.update(item.golds)
        self.families[item.golds] += 1
        self.sources.update(self.source_of[doc_id] for doc_id in item.golds)


def _pairs(item: Candidate) -> set[frozenset[str]]:
    """Two queries that share two conditions are near-duplicates."""
    return {frozenset(pair) for pair in itertools.combinations(item.conditions, 2)}


def select(
    candidates: Sequence[Candidate], source_of: Mapping[str, str], limits: SelectLimits
) -> list[Candidate]:
    """Greedy choice: always the candidate that repeats least; large conjunctions first.

    Args:
        candidates: What there is.
        source_of: Source of each document.
        limits: Numbers and caps. Fewer queries result where the candidates don't suffice.
    """
    used = _Used(source_of)
    chosen = []
    for size in sorted(limits.queries, reverse=True):
        pool = [item for item in candidates if len(item.conditions) == size]
        pool.sort(key=lambda item: chance(limits.seed, *item.conditions))
        for _ in range(limits.queries[size]):
            pool = [item for item in pool if used.allows(item, limits)]
            if not pool:
                break
            best = min(pool, key=used.cost)
            used.add(best)
            chosen.append(best)
    return sorted(chosen, key=lambda item: chance(limits.seed, "order", *item.conditions))
