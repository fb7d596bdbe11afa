"""The embedded benchmark: what its card claims, read from the release itself."""

import re
import statistics
from collections import Counter

import pytest

from nclue_core.assignment import document_grade
from nclue_core.jsonl import read_jsonl
from nclue_core.schema import FORMS
from nclue_dataset.collections import load_collection
from nclue_dataset.paths import MINI_RELEASE
from nclue_dataset.scoring import collection_judgments
from nclue_metric import score_rankings
from nclue_systems import build_index, facts_from_qrels, run_system


@pytest.fixture(scope="module")
def mini():
    return load_collection("mini")


def test_it_has_the_promised_size(mini):
    sizes = Counter(query.n_conditions for query in mini.queries)
    labels = Counter(row.label for row in mini.qrels["final"])
    subsets = Counter(row.query_id for row in mini.qrels["final"] if row.label == "subset")
    assert len(mini.queries) >= 200
    assert sizes[3] >= 50
    assert labels["gold"] >= 400
    assert len(mini.corpus) >= 150
    assert statistics.median(subsets.values()) >= 5
    assert min(subsets[query.query_id] for query in mini.queries) >= 3
    n_bytes = sum(path.stat().st_size for path in MINI_RELEASE.rglob("*") if path.is_file())
    assert n_bytes < 2_000_000


def test_sources_are_mixed(mini):
    source_of = {document.doc_id: document.source for document in mini.corpus}
    golds = Counter(source_of[row.doc_id] for row in mini.qrels["final"] if row.label == "gold")
    assert len([source for source, count in golds.items() if count >= 10]) >= 6
    assert max(golds.values()) < 0.4 * sum(golds.values())


def test_every_grade_follows_from_its_pages(mini):
    n = {query.query_id: query.conditions for query in mini.queries}
    for row in mini.qrels["final"]:
        held = {item.condition: item.pages for item in row.evidence}
        pages = [held.get(condition, ()) for condition in n[row.query_id]]
        assert document_grade(pages) == row.grade
        assert (row.grade == len(pages)) == (row.label == "gold")


def test_one_condition_has_the_same_pages_in_every_query(mini):
    pages = {}
    for row in mini.qrels["final"]:
        for item in row.evidence:
            known = pages.setdefault((row.doc_id, item.condition), item.pages)
            assert known == item.pages


def test_queries_are_no_near_duplicates(mini):
    seen = set()
    for query in mini.queries:
        for first in query.conditions:
            for other in query.conditions:
                if first < other:
                    assert (first, other) not in seen
                    seen.add((first, other))


def test_the_fact_oracle_is_perfect_and_no_single_page_suffices(mini):
    judgments = collection_judgments(mini)
    index = build_index({document.doc_id: [] for document in mini.corpus})
    facts = facts_from_qrels(mini.qrels["final"])
    result = {}
    for name in ("surface_form_count", "single_page_surface_and"):
        rows = run_system(name, index, mini.queries, "raw", depth=10, facts=facts)
        scores = score_rankings(judgments, [row.doc_ids for row in rows], (10,))[10]
        result[name] = float(scores.score.mean())
    assert result == {"surface_form_count": 1.0, "single_page_surface_and": 0.0}


def test_every_system_has_every_form(mini):
    runs = Counter((ranking.system, ranking.form) for ranking in mini.rankings)
    systems = {system for system, _ in runs}
    assert len(systems) >= 12
    assert set(runs) == {(system, form) for system in systems for form in FORMS}
    assert set(runs.values()) == {len(mini.queries)}


def test_no_text_beyond_names_is_embedded(mini):
    conditions = {name for query in mini.queries for name in query.conditions}
    assert max(len(name) for name in conditions) <= 60
    text = (MINI_RELEASE / "qrels.jsonl").read_text(encoding="utf-8")
    strings = set(re.findall(r'"((?:[^"\\]|\\.)*)"', text))
    known = conditions | {document.doc_id for document in mini.corpus}
    known |= {query.query_id for query in mini.queries}
    assert strings - known <= {
        "query_id", "doc_id", "grade", "label", "evidence", "condition", "pages", "gold", "subset",
    }  # fmt: skip


def test_the_label_audit_is_about_this_release(mini, project_dir):
    rows = [row.value for row in read_jsonl(project_dir / "cards" / "mini_audit.jsonl")]
    held = {
        (row.query_id, row.doc_id, item.condition): item.pages
        for row in mini.qrels["final"]
        for item in row.evidence
    }
    for row in rows:
        pages = held.get((row["query_id"], row["doc_id"], row["condition"]), ())
        assert (row["page"] in pages) if row["label"] == "present" else pages == ()
    labels = Counter(row["label"] for row in rows)
    wrong = Counter(row["label"] for row in rows if row["verdict"] == "wrong")
    assert labels == {"present": 50, "absent": 50}
    assert wrong["present"] <= 0.02 * 50
    assert wrong["absent"] <= 0.05 * 50
