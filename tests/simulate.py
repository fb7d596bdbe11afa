"""A simulated release with the published counts of n-Clue, for scale and for the facts check.

Nothing in it is real: invented conditions, documents and rankings, and says so. At full size
(the defaults) it meets the published counts of CrossPage, cells and families included; smaller
sizes keep the proportions.
"""

from __future__ import annotations

import hashlib
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from nclue_core.schema import (
    FORMS,
    RENDER_FORM,
    CorpusDocument,
    Evidence,
    Qrel,
    Query,
    Ranking,
)
from nclue_dataset.collection_writer import write_checksums, write_release
from nclue_dataset.release import Collection

DEPTH = 10
FORM_SYSTEMS = 13
# Classes of queries by the length of their gold documents: at full size the number of queries,
# of their gold sets and gold documents, and the pages of each.
CLASSES = (
    ("short", 185, 84, 53, 20),
    ("long", 299, 135, 86, 110),
    ("medium", 515, 233, 147, 40),
)


def simulated_release(
    folder: Path,
    *,
    queries: int = 1000,
    documents: int = 2021,
    qrels: int = 50995,
    systems: int = 70,
    seed: int = 0,
    collection: str = "crosspage",
) -> Path:
    """Write a release-shaped directory; the same arguments give the same bytes."""
    built = simulated_collection(queries, documents, qrels, systems, seed, collection)
    manifest = {
        "name": f"simulated {collection}",
        "version": "0.0.0",
        "note": "Simulated for tests: no document, query or judgment in it is real.",
    }
    write_release(folder, {collection: built}, manifest)
    raw = folder / "reference_runs" / "forms" / "raw"
    raw.mkdir(parents=True)
    for number in range(min(FORM_SYSTEMS, systems)):  # as released: also beside the other forms
        shutil.copy(folder / "reference_runs" / f"system_{number:02d}.jsonl", raw)
    write_checksums(folder)
    return folder


def simulated_collection(
    n_queries: int, n_documents: int, n_qrels: int, n_systems: int, seed: int, name: str
) -> Collection:
    """The collection in memory."""
    rng = random.Random(seed)
    queries = [_query(index, n_queries) for index in range(n_queries)]
    gold_pages, golds = _golds(n_queries)
    corpus = _corpus(gold_pages, n_documents, pages=round(41441 * n_documents / 2021))
    doc_ids = [document.doc_id for document in corpus]
    pages_of = {document.doc_id: document.n_pages or 1 for document in corpus}
    rows: list[Qrel] = []
    judged: dict[str, list[str]] = {}
    for query, docs, count in zip(queries, golds, _judged_counts(n_queries, n_qrels), strict=True):
        others = rng.sample(doc_ids, count + len(docs))
        subsets = [doc_id for doc_id in others if doc_id not in docs][: count - len(docs)]
        rows += [_qrel(query, doc_id, query.n_conditions, pages_of) for doc_id in docs]
        rows += [_qrel(query, doc_id, rng.randint(1, query.n_conditions - 1), pages_of)
                 for doc_id in subsets]  # fmt: skip
        judged[query.query_id] = [*docs, *subsets]
    forms = {form: {q.query_id: RENDER_FORM[form](q.conditions) for q in queries} for form in FORMS}
    rankings = list(_rankings(judged, doc_ids, n_systems, rng))
    return Collection(name, Path(), queries, forms, {"final": rows}, corpus, rankings)


def _query(index: int, n_queries: int) -> Query:
    n = 3 if index < round(0.186 * n_queries) else 2
    conditions = tuple(f"Simulated topic {index}-{part}" for part in range(n))
    return Query(f"nclue_{index:04d}", RENDER_FORM["raw"](conditions), conditions)


def _golds(n_queries: int) -> tuple[dict[str, int], list[list[str]]]:
    """Pages of each gold document, and the golds of each query.

    One query has a PMC document; the other golds are of the World Bank. Gold sets have two
    documents, some of them three.
    """
    pages = {"pmc_oa_0": 40}
    golds: list[list[str]] = []
    triples = round(88 * n_queries / 1000)
    for name, full_queries, full_families, full_docs, length in CLASSES:
        n, families, docs = (
            max(minimum, round(full * n_queries / 1000))
            for full, minimum in ((full_queries, 1), (full_families, 1), (full_docs, 8))
        )
        ids = [f"world_bank_{name}_{number}" for number in range(docs)]
        pages |= dict.fromkeys(ids, length)
        for family in range(families):
            members = range(family, n, families)
            chosen = [family, family + 1 + family // docs]
            if len(members) == 2 and triples:
                triples -= 1
                chosen.append(family + 5)
            golds += [[ids[number % docs] for number in chosen] for _ in members]
    golds = golds[: n_queries - 1]
    golds += [["pmc_oa_0", "world_bank_medium_0"]] * (n_queries - len(golds))
    return pages, golds


def _corpus(gold_pages: dict[str, int], n_documents: int, pages: int) -> list[CorpusDocument]:
    """Gold documents, and others that share the pages that are left."""
    others = n_documents - len(gold_pages)
    each, rest = divmod(pages - sum(gold_pages.values()), others)
    lengths = dict(gold_pages)
    for number in range(others):
        source = "pmc_oa" if number % 10 == 0 else "world_bank"
        lengths[f"{source}_other_{number}"] = each + (number < rest)
    return [
        CorpusDocument(
            doc_id,
            "pmc_oa" if doc_id.startswith("pmc_oa") else "world_bank",
            f"Simulated document {number}",
            f"https://example.org/{doc_id}.pdf",
            f"https://example.org/{doc_id}",
            hashlib.sha256(doc_id.encode()).hexdigest(),
            100_000 + number,
            n_pages,
            None,
            "simulated",
        )
        for number, (doc_id, n_pages) in enumerate(lengths.items())
    ]


def _judged_counts(n_queries: int, n_qrels: int) -> list[int]:
    """Judged documents per query: 20 for 14.6 %, 40 for 47 %, the rest (over 50) for the others."""
    few, middle = round(0.146 * n_queries), round(0.47 * n_queries)
    many = n_queries - few - middle
    each, rest = divmod(n_qrels - 20 * few - 40 * middle, many)
    return [20] * few + [40] * middle + [each + (index < rest) for index in range(many)]


def _qrel(query: Query, doc_id: str, grade: int, pages_of: dict[str, int]) -> Qrel:
    """A judgment whose conditions lie on pages of their own."""
    last = pages_of[doc_id]
    evidence = tuple(
        Evidence(condition, tuple(sorted({part + 1, last - part})))
        for part, condition in enumerate(query.conditions[:grade])
    )
    label = "gold" if grade == query.n_conditions else "subset"
    return Qrel(query.query_id, doc_id, grade, label, evidence)


def _rankings(
    judged: dict[str, list[str]], doc_ids: list[str], n_systems: int, rng: random.Random
) -> Iterator[Ranking]:
    for number in range(n_systems):
        forms = FORMS if number < FORM_SYSTEMS else FORMS[:1]
        for form in forms:
            scores = tuple(1 / rank for rank in range(1, DEPTH + 1)) if number % 2 else None
            for query_id, docs in judged.items():
                ranked = dict.fromkeys(rng.sample(docs, DEPTH // 2) + rng.sample(doc_ids, DEPTH))
                yield Ranking(f"system_{number:02d}", form, query_id, tuple(ranked)[:DEPTH], scores)
