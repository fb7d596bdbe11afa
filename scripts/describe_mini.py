"""Print the numbers of the card of ``mini``: contents, licences, label audit, controls, directions.

python scripts/describe_mini.py
"""

from __future__ import annotations

import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from nclue_core.jsonl import read_jsonl
from nclue_core.schema import FORMS
from nclue_dataset.collections import load_collection
from nclue_dataset.paths import MINI_RELEASE
from nclue_dataset.release import Collection
from nclue_dataset.scoring import Rules, collection_judgments, open_runs, score_run
from nclue_metric import score_rankings
from nclue_systems import build_index, facts_from_qrels, run_system

AUDIT = Path(__file__).resolve().parents[1] / "cards" / "mini_audit.jsonl"
CONTROLS = (
    ("surface_form_count", "fact oracle"),
    ("surface_form_and", "every condition"),
    ("single_page_surface_and", "one page with all"),
)
# (what the study reports an effect of, variant, base)
DIRECTIONS = (
    ("decomposition, distinct pages", "bm25_decompose_sdr", "bm25_or"),
    ("decomposition, product", "bm25_decompose_product", "bm25_or"),
    ("decomposition, harmonic mean", "bm25_decompose_hmean", "bm25_or"),
    ("decomposition, minimum", "bm25_decompose_min", "bm25_or"),
    ("all words first", "bm25_and", "bm25_or"),
    ("fusion, against its first run", "rrf_bm25_or_bm25_decompose_min", "bm25_or"),
    ("fusion, against its second run", "rrf_bm25_or_bm25_decompose_min", "bm25_decompose_min"),
    ("fusion, against its first run", "rrf_bm25_and_bm25_decompose_sdr", "bm25_and"),
    ("fusion, against its second run", "rrf_bm25_and_bm25_decompose_sdr", "bm25_decompose_sdr"),
)


def main() -> int:
    """Print the whole description."""
    mini = load_collection("mini")
    parts = (_contents, _sources, _licences, _audit, _controls, _directions)
    print("\n\n".join("\n".join(part(mini)) for part in parts))
    return 0


def _contents(mini: Collection) -> Iterator[str]:
    qrels = mini.qrels["final"]
    sizes = Counter(query.n_conditions for query in mini.queries)
    golds = Counter(row.query_id for row in qrels if row.label == "gold")
    subsets = Counter(row.query_id for row in qrels if row.label == "subset")
    per_gold = Counter(golds.values())
    names = {name for query in mini.queries for name in query.conditions}
    n_bytes = sum(path.stat().st_size for path in MINI_RELEASE.rglob("*") if path.is_file())
    yield f"queries            {len(mini.queries)}: " + ", ".join(
        f"{count} with {size} conditions" for size, count in sorted(sizes.items())
    )
    yield f"conditions         {len(names)}"
    yield f"documents          {len(mini.corpus)}, {sum(d.n_pages or 0 for d in mini.corpus)} pages"
    yield f"golds              {sum(golds.values())} (queries by number of golds: " + ", ".join(
        f"{number}: {count}" for number, count in sorted(per_gold.items())
    ) + ")"  # fmt: skip
    yield f"subsets            {sum(subsets.values())} (median per query {_median(subsets)})"
    yield f"size               {n_bytes / 1e6:.2f} MB"


def _median(counts: Counter[str]) -> float:
    return statistics.median(counts.values())


def _sources(mini: Collection) -> Iterator[str]:
    source_of = {document.doc_id: document.source for document in mini.corpus}
    documents = Counter(source_of.values())
    golds = Counter(source_of[r.doc_id] for r in mini.qrels["final"] if r.label == "gold")
    rows = Counter(source_of[r.doc_id] for r in mini.qrels["final"])
    yield f"{'source':<12} documents  golds  judged pairs"
    for source, count in documents.most_common():
        yield f"{source:<12} {count:>9}  {golds[source]:>5}  {rows[source]:>12}"


def _licences(mini: Collection) -> Iterator[str]:
    yield "documents  licence as far as known"
    for licence, count in Counter(d.license or "unknown" for d in mini.corpus).most_common():
        yield f"{count:>9}  {licence}"


def _audit(_: Collection) -> Iterator[str]:
    rows = [row.value for row in read_jsonl(AUDIT)]
    yield f"label audit, {len(rows)} decisions read   correct  borderline  wrong"
    for label in ("present", "absent"):
        verdicts = Counter(row["verdict"] for row in rows if row["label"] == label)
        yield (
            f"{label:<32} {verdicts['correct']:>9}  {verdicts['borderline']:>10}"
            f"  {verdicts['wrong']:>5}"
        )


def _controls(mini: Collection) -> Iterator[str]:
    judgments = collection_judgments(mini)
    index = build_index({document.doc_id: [] for document in mini.corpus})
    facts = facts_from_qrels(mini.qrels["final"])
    yield "control                                     Score@10   Hit@10"
    for name, meaning in CONTROLS:
        rows = run_system(name, index, mini.queries, "raw", depth=10, facts=facts)
        scores = score_rankings(judgments, [row.doc_ids for row in rows], (10,))[10]
        label = f"{name} ({meaning})"
        success, hit = (100 * float(v.mean()) for v in (scores.score, scores.hit))
        yield f"{label:<43} {success:>8.1f} {hit:>8.1f}"


def _directions(mini: Collection) -> Iterator[str]:
    yield f"{'Score@10, variant minus base':<78}" + "  ".join(f"{form:>8}" for form in FORMS)
    for effect, variant, base in DIRECTIONS:
        label = f"{effect}: {variant} - {base}"
        differences = [_score(mini, variant, form) - _score(mini, base, form) for form in FORMS]
        yield f"{label[:78]:<78}" + "  ".join(f"{value:>+8.1f}" for value in differences)


def _score(mini: Collection, system: str, form: str) -> float:
    opened = open_runs(mini, [system], Rules(form=form))
    return float(score_run(opened, opened.runs[0]).values["n_clue_score@10"])


if __name__ == "__main__":
    sys.exit(main())
