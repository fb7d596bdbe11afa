"""The published counts of n-Clue, and the same counts of a release at hand.

The counts are those that the supplement of arXiv 2607.24165v2 states (``facts.json``).
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from nclue_core.assignment import pages_holding_all
from nclue_core.schema import FORMS, CorpusDocument, Qrel, Query
from nclue_dataset.scan import Scan

FACTS_FILE = Path(__file__).resolve().parent / "facts.json"
CLAIMS = ("crosspage", "sourceshift")


@dataclass(frozen=True)
class Comparison:
    """A published count and what was found."""

    collection: str
    name: str
    claimed: Any
    found: Any

    @property
    def agrees(self) -> bool:
        """Whether they are equal."""
        return bool(self.claimed == self.found)


def published_facts() -> dict[str, Any]:
    """The published counts per collection, and their citation."""
    facts: dict[str, Any] = json.loads(FACTS_FILE.read_text(encoding="utf-8"))
    return facts


def compare_facts(scan: Scan, claim: str) -> list[Comparison]:
    """Compare a collection with what is published of it.

    Args:
        scan: Its rows.
        claim: "crosspage" or "sourceshift".

    Returns:
        A comparison for every published count, in the order of ``facts.json``.
    """
    counts = Counts(scan)
    comparisons = []
    for name, claimed in published_facts()[claim].items():
        if name == "cells":
            comparisons += [
                Comparison(claim, cell, value, counts.cells[cell])
                for cell, value in claimed.items()
            ]
        else:
            comparisons.append(Comparison(claim, name, claimed, COUNTERS[name](counts)))
    return comparisons


class Counts:
    """Counts of a collection; golds and pages refer to the final qrels."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan
        self.queries: list[Query] = [item.record for item in scan.queries]
        self.corpus: dict[str, CorpusDocument] = {
            item.record.doc_id: item.record for item in scan.corpus
        }
        self.qrels: list[Qrel] = [
            item.record for item in scan.qrels.get("final", ()) if item.record.grade
        ]

    @cached_property
    def golds(self) -> list[Qrel]:
        """Rows whose grade is the number of conditions."""
        n = {query.query_id: query.n_conditions for query in self.queries}
        return [row for row in self.qrels if row.grade == n.get(row.query_id)]

    @cached_property
    def golds_of(self) -> dict[str, list[str]]:
        """Query ID -> its gold documents."""
        golds: defaultdict[str, list[str]] = defaultdict(list)
        for row in self.golds:
            golds[row.query_id].append(row.doc_id)
        return dict(golds)

    @cached_property
    def cells(self) -> dict[str, int]:
        """Queries by shortest gold document, and by number of nonzero rows."""
        shortest = [
            min(pages)
            for docs in self.golds_of.values()
            if (pages := [p for doc in docs if (p := self._n_pages(doc)) is not None])
        ]
        judged = Counter(row.query_id for row in self.qrels)
        return {
            "Lmin_le30": sum(pages <= 30 for pages in shortest),
            "Lmin_gt100": sum(pages > 100 for pages in shortest),
            "Dplus_le25": sum(judged[query.query_id] <= 25 for query in self.queries),
            "Dplus_gt50": sum(judged[query.query_id] > 50 for query in self.queries),
        }

    def _n_pages(self, doc_id: str) -> int | None:
        document = self.corpus.get(doc_id)
        return document.n_pages if document else None

    def pages(self) -> int | None:
        """Pages of all documents, or None where a page count is missing."""
        counts = [document.n_pages for document in self.corpus.values()]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def source_of(self, doc_id: str) -> str:
        """Source of a document ("" where it is not in the corpus)."""
        return self.corpus[doc_id].source if doc_id in self.corpus else ""

    def queries_by_source(self) -> dict[str, int]:
        """Queries by the source of their golds ("mixed" where these differ)."""
        sources = [{self.source_of(doc) for doc in docs} for docs in self.golds_of.values()]
        found = Counter(next(iter(s)) if len(s) == 1 else "mixed" for s in sources)
        return dict(sorted(found.items()))

    def single_page_golds(self) -> int:
        """Golds with a page that holds all conditions."""
        return sum(bool(pages_holding_all([e.pages for e in row.evidence])) for row in self.golds)

    def systems(self, form: str) -> set[str]:
        """Systems with rankings in a form."""
        return {row.record.system for row in self.scan.rankings if row.record.form == form}

    def raw_runs(self) -> int:
        """Systems of the raw form outside the form matrix (folder ``forms``)."""
        return len(
            {
                item.record.system
                for item in self.scan.rankings
                if item.record.form == "raw" and item.path.parent.name != "raw"
            }
        )

    def form_runs(self) -> int:
        """Runs of the systems that have rankings in a form besides raw."""
        forms = {form: self.systems(form) for form in FORMS}
        matrix = set().union(*(forms[form] for form in FORMS if form != "raw"))
        return sum(len(matrix & systems) for systems in forms.values())

    def forms(self) -> list[str]:
        """Forms in which every query is there, known ones first."""
        texts: defaultdict[str, set[str]] = defaultdict(set)
        for item in self.scan.forms:
            texts[item.record.form].add(item.record.query_id)
        texts["raw"] |= {query.query_id for query in self.queries if query.query_text_eval_full}
        query_ids = {query.query_id for query in self.queries}
        complete = [form for form in texts if query_ids <= texts[form]]
        return [form for form in FORMS if form in complete]


def _with_n(n: int) -> Callable[[Counts], int]:
    return lambda c: sum(query.n_conditions == n for query in c.queries)


COUNTERS: dict[str, Callable[[Counts], Any]] = {
    "queries": lambda c: len(c.queries),
    "queries_n2": _with_n(2),
    "queries_n3": _with_n(3),
    "documents": lambda c: len(c.corpus),
    "pages": Counts.pages,
    "qrels_nonzero": lambda c: len(c.qrels),
    "qrels_nonzero_after_stratified_audit": lambda c: sum(
        item.record.grade > 0 for item in c.scan.qrels.get("initial", ())
    ),
    "gold": lambda c: len(c.golds),
    "subset": lambda c: len(c.qrels) - len(c.golds),
    "zero_pairs_omitted": lambda c: len(c.queries) * len(c.corpus) - len(c.qrels),
    "distinct_gold_docs": lambda c: len({row.doc_id for row in c.golds}),
    "gold_set_families": lambda c: len({tuple(sorted(docs)) for docs in c.golds_of.values()}),
    "single_page_solvable_golds": Counts.single_page_golds,
    "pmc_golds": lambda c: sum(c.source_of(row.doc_id) == "pmc_oa" for row in c.golds),
    "sources": lambda c: sorted({d.source for d in c.corpus.values()}, reverse=True),
    "reference_runs": Counts.raw_runs,
    "run_depth_released": lambda c: max(
        (len(item.record.doc_ids) for item in c.scan.rankings), default=0
    ),
    "forms": Counts.forms,
    "form_runs": Counts.form_runs,
    "conditions": lambda c: sum(query.n_conditions for query in c.queries),
    "queries_by_source": Counts.queries_by_source,
    "evidence_pages": lambda c: any(row.evidence for row in c.qrels),
}
