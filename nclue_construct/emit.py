"""Write a benchmark as a release directory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nclue_construct.compose import Candidate, chance
from nclue_construct.search import Presence, Searched
from nclue_core.assignment import document_grade
from nclue_core.schema import (
    FORMS,
    RENDER_FORM,
    CorpusDocument,
    Evidence,
    Qrel,
    Query,
)

if TYPE_CHECKING:
    from nclue_core.schema import Ranking
    from nclue_dataset.release import Collection


def make_queries(chosen: Sequence[Candidate], prefix: str, seed: int) -> list[Query]:
    """Queries ``<prefix>_0000``…; the order of the conditions in a query is random."""
    queries = []
    for number, item in enumerate(chosen):
        names = tuple(sorted(item.conditions, key=lambda name: chance(seed, "position", name)))
        queries.append(Query(f"{prefix}_{number:04d}", RENDER_FORM["raw"](names), names))
    return queries


def make_qrels(queries: Sequence[Query], found: Mapping[str, Searched]) -> list[Qrel]:
    """A row for every document that holds at least one condition of a query."""
    rows = []
    for query in queries:
        presences = [found[name].documents for name in query.conditions]
        for doc_id in sorted({doc_id for documents in presences for doc_id in documents}):
            pages = [sorted(item.get(doc_id, Presence()).pages) for item in presences]
            grade = document_grade(pages)
            if grade == 0:
                continue
            evidence = tuple(
                Evidence(name, tuple(held)) for name, held in zip(query.conditions, pages) if held
            )
            label = "gold" if grade == query.n_conditions else "subset"
            rows.append(Qrel(query.query_id, doc_id, grade, label, evidence))
    return rows


def make_collection(
    name: str,
    queries: Sequence[Query],
    qrels: Sequence[Qrel],
    corpus: Sequence[CorpusDocument],
    rankings: Sequence[Ranking] = (),
) -> Collection:
    """The collection in all three forms."""
    from nclue_dataset.release import Collection

    forms: dict[str, dict[str, str]] = {
        form: {query.query_id: RENDER_FORM[form](query.conditions) for query in queries}
        for form in FORMS
    }
    return Collection(
        name=name, path=Path(), queries=list(queries), forms=forms,
        qrels={"final": list(qrels)},
        corpus=list(corpus), rankings=list(rankings),
    )  # fmt: skip
