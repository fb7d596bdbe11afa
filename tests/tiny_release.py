"""A release of three queries over four invented documents, to read, change and break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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

CONDITIONS = {
    "q1": ("Executive Summary", "COVID-19"),
    "q2": ("Sanctions", "Grievance Mechanism"),
    "q3": ("Executive Summary", "COVID-19", "Sanctions"),
}
# query, document -> pages per condition
PAGES = {
    ("q1", "d1"): ([2], [19]),
    ("q1", "d2"): ([1], []),
    ("q2", "d2"): ([3, 4], [6]),
    ("q2", "d3"): ([7], []),
    ("q3", "d1"): ([2], [19], [4, 9]),
    ("q3", "d2"): ([1], [], [3, 4]),
    ("q3", "d4"): ([], [5], []),
}


def tiny_collection(name: str = "tiny") -> Collection:
    """The collection, as it would be read from disk."""
    queries = [Query(q, " and ".join(c), c) for q, c in CONDITIONS.items()]
    qrels = [_qrel(q, d, pages) for (q, d), pages in PAGES.items()]
    corpus = [
        CorpusDocument(
            f"d{i}", "tests", f"Document {i}", f"https://example.org/d{i}.pdf", None,
            f"{i:064x}", 1000 + i, 20, "CC0-1.0", None,
        )
        for i in range(1, 5)
    ]  # fmt: skip
    rankings = [
        Ranking(system, form, q, docs, None)
        for system, docs in (("forward", ("d1", "d2", "d3")), ("backward", ("d4", "d3", "d2")))
        for form in FORMS
        for q in CONDITIONS
    ]
    forms = {form: {q: RENDER_FORM[form](c) for q, c in CONDITIONS.items()} for form in FORMS}
    return Collection(name, Path(), queries, forms, {"final": qrels}, corpus, rankings)


def _qrel(query_id: str, doc_id: str, pages: tuple[list[int], ...]) -> Qrel:
    conditions = CONDITIONS[query_id]
    evidence = tuple(
        Evidence(condition, tuple(found))
        for condition, found in zip(conditions, pages, strict=True)
        if found
    )
    grade = len(evidence)
    label = "gold" if grade == len(conditions) else "subset"
    return Qrel(query_id, doc_id, grade, label, evidence)


def write_tiny(folder: Path, name: str = "tiny", **manifest: Any) -> Path:
    """Write it as a release directory."""
    write_release(folder, {name: tiny_collection(name)}, {"version": "1.0.0", **manifest})
    return folder


def edit_rows(path: Path, change: Any) -> None:
    """Rewrite the rows of a file at the top of a release; None drops a row. Sums follow."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    changed = [change(row) for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in changed if row is not None))
    write_checksums(path.parent)
