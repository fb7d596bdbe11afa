"""Build the embedded benchmark ``mini`` from page texts and a manifest of documents.

    python scripts/build_mini.py --pages DIR/ocr_text --corpus corpus.jsonl --out nclue_dataset/mini
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import sys
import tempfile
from pathlib import Path

from nclue_construct.cluster import cluster_facts
from nclue_construct.compose import ComposeLimits, compose
from nclue_construct.emit import make_collection, make_qrels, make_queries
from nclue_construct.gate import GateLimits, judge_condition
from nclue_construct.mine import mine_page
from nclue_construct.search import Searcher, explained_acronyms
from nclue_construct.select import SelectLimits, select
from nclue_construct.surface import MAX_PHRASE_CHARS
from nclue_construct.zones import zone_document
from nclue_core.jsonl import read_jsonl
from nclue_core.pages import read_document
from nclue_core.schema import FORMS, CorpusDocument
from nclue_dataset.collection_writer import write_checksums, write_release
from nclue_systems import build_index, expand_names, run_system

SYSTEMS = (
    "bm25_or", "bm25_and", "bm25_decompose_min", "bm25_decompose_product", "bm25_decompose_hmean",
    "bm25_decompose_sdr", "bm25_condition_text", "bm25_page_aggregated",
    "rrf(bm25_or,bm25_decompose_min)", "rrf(bm25_and,bm25_decompose_sdr)", "frequency_prior",
    "random",
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    rows = {row.value["doc_id"]: row.value for row in read_jsonl(args.corpus)}
    documents = {}
    for folder in sorted(args.pages.iterdir()):
        if folder.name not in rows:
            continue
        pages = list(zone_document(read_document(args.pages, folder.name)))
        if pages and all(page.is_readable for page in pages):
            documents[folder.name] = pages
    facts = [f for pages in documents.values() for page in pages for f in mine_page(page)]
    conditions = [
        c for c in cluster_facts(facts)
        if len(c.mined_in) >= 2 and max(map(len, c.surfaces)) <= MAX_PHRASE_CHARS
    ]
    found = Searcher(conditions, explained_acronyms(conditions)).search(documents.values())
    kept = [item for item in found if judge_condition(item, GateLimits()).verdict == "KEEP"]
    candidates = compose(kept, ComposeLimits())
    source_of = {doc_id: rows[doc_id]["source"] for doc_id in documents}
    chosen = select(candidates, source_of, SelectLimits())
    print(len(documents), len(conditions), len(kept), len(candidates), len(chosen), file=sys.stderr)
    queries = make_queries(chosen, "mini", 11)
    qrels = make_qrels(queries, {item.condition.name: item for item in kept})
    corpus = [_document(rows[doc_id]) for doc_id in sorted(documents)]
    index = build_index({
        doc_id: [(p.page, p.text) for p in read_document(args.pages, doc_id)]
        for doc_id in sorted(documents)
    })
    rankings = []
    for form in FORMS:
        for spec in expand_names(SYSTEMS):
            for r in run_system(spec.name, index, queries, form, depth=20, seed=11):
                rankings.append(type(r)(spec.file_stem, form, r.query_id, r.doc_ids, None))
    collection = make_collection("mini", queries, qrels, corpus, rankings)
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch) / "mini"
        write_release(target, {"mini": collection}, {
            "name": "mini", "version": "0.1.0",
            "made": "nclue_construct from PDF text layers; rule-based gate; seed 11",
        })
        for path in sorted((target / "reference_runs").rglob("*.jsonl")):
            packed = gzip.compress(path.read_bytes(), mtime=0)
            path.with_name(f"{path.name}.gz").write_bytes(packed)
            path.unlink()
        write_checksums(target)
        shutil.rmtree(args.out, ignore_errors=True)
        shutil.copytree(target, args.out)
    return 0


def _document(row: dict) -> CorpusDocument:
    return CorpusDocument(
        doc_id=row["doc_id"], source=row["source"], title=row["title"], pdf_url=row["pdf_url"],
        landing_url=None, sha256=row["sha256"], n_bytes=row["bytes"], n_pages=row["pages"],
        license=row["license"], terms=None,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
