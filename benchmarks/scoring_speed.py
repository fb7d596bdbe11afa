"""Speed of scoring 70 runs of 1,000 queries, as ratios to peers in the same run.

Simulated data of the shape of CrossPage: 1,000 queries, 2,021 documents, 50,995 judged pairs,
70 runs. Every measure is taken five times, peers in turn; medians are printed and recorded.

    python benchmarks/scoring_speed.py [--out benchmarks/results/scoring_speed.json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytrec_eval

from nclue_metric import Judgments, score_grades, score_rankings

QUERIES, DOCUMENTS, QRELS, RUNS = 1_000, 2_021, 50_995, 70
REPEATS = 5


def simulate(depth: int, seed: int = 0) -> tuple[dict, dict, list[dict[str, list[str]]]]:
    """Qrels, n per query and ranked lists, simulated."""
    rng = np.random.default_rng(seed)
    doc_ids = [f"world_bank_{34_000_000 + i}" for i in range(DOCUMENTS)]
    query_ids = [f"nclue_{i:04d}" for i in range(QUERIES)]
    n = {q: 3 if i < 186 else 2 for i, q in enumerate(query_ids)}
    sizes = rng.multinomial(QRELS - 3 * QUERIES, np.full(QUERIES, 1 / QUERIES)) + 3
    qrels = {}
    for q, size in zip(query_ids, sizes):
        docs = rng.choice(DOCUMENTS, size, replace=False)
        grades = np.r_[[n[q]] * 2, rng.integers(1, n[q], size - 2)]
        qrels[q] = {doc_ids[d]: int(g) for d, g in zip(docs, grades)}
    runs = []
    for _ in range(RUNS):
        run = {}
        for q in query_ids:
            judged = list(qrels[q])
            pool = rng.permutation(judged + [doc_ids[d] for d in rng.integers(0, DOCUMENTS, depth)])
            run[q] = list(dict.fromkeys(map(str, pool)))[:depth]
        runs.append(run)
    return qrels, n, runs


def medians(functions: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Median seconds of each function, measured in turn."""
    taken: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(REPEATS):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in taken.items()}


def numpy_codes(codes: np.ndarray, table: np.ndarray, n: np.ndarray, ideal: np.ndarray) -> None:
    """The plain pass: look up grades by integer codes, then Score, Hit and NDCG."""
    discounts = 1 / np.log2(np.arange(2, 12))
    for run in codes:
        grades = table[np.arange(len(n))[:, None], run]
        gold = grades == n[:, None]
        subset = (grades > 0) & ~gold
        g = np.where(gold.any(1), gold.argmax(1), 99)
        s = np.where(subset.any(1), subset.argmax(1), 99)
        _ = (g < s).mean(), (g < 99).mean(), ((gold @ discounts) / ideal).mean()


def from_memory(depth: int) -> dict[str, float]:
    """Ranked lists of string IDs and integer codes, in memory."""
    qrels, n, runs = simulate(depth)
    scored = [{q: {d: -float(r) for r, d in enumerate(v)} for q, v in run.items()} for run in runs]
    gold = {q: {d: int(g == n[q]) for d, g in t.items()} for q, t in qrels.items()}
    evaluator = pytrec_eval.RelevanceEvaluator(gold, {"ndcg_cut.10", "success.10"})
    judgments = Judgments.from_mapping(qrels, n)
    aligned = [judgments.align(run).rankings for run in runs]

    code_of = {
        d: i for i, d in enumerate(dict.fromkeys(d for r in runs for v in r.values() for d in v))
    }
    codes = np.array([[[code_of[d] for d in v[:10]] for v in run.values()] for run in runs])
    table = np.zeros((QUERIES, len(code_of)), dtype=np.uint8)
    for row, q in enumerate(qrels):
        for d, g in qrels[q].items():
            if d in code_of:
                table[row, code_of[d]] = g
    counts = np.minimum(judgments.gold_counts, 10)
    ideal = np.r_[0, np.cumsum(1 / np.log2(np.arange(2, 12)))][counts]
    rows = np.arange(QUERIES)[:, None]
    return medians(
        {
            "pytrec_eval nDCG + hit": lambda: [evaluator.evaluate(run) for run in scored],
            "n-Clue from string IDs": lambda: [
                score_rankings(judgments, r, checked=True) for r in aligned
            ],
            "n-Clue from string IDs, checking them": lambda: [
                score_rankings(judgments, r) for r in aligned
            ],
            "numpy pass on codes": lambda: numpy_codes(codes, table, judgments.n_conditions, ideal),
            "n-Clue from codes": lambda: [
                score_grades(table[rows, run], judgments, 10) for run in codes
            ],
        }
    )


OURS = """
import sys, json
from nclue_metric import Judgments, score_files
qrels, n = json.load(open(sys.argv[1]))
for _ in score_files(Judgments.from_mapping(qrels, n), sys.argv[2:]):
    pass
"""
START = """
import sys, json
import numpy, pyarrow.parquet
qrels, n = json.load(open(sys.argv[1]))
"""
PYTREC = """
import sys, json, pytrec_eval
qrels, n = json.load(open(sys.argv[1]))
gold = {q: {d: int(g == n[q]) for d, g in t.items()} for q, t in qrels.items()}
evaluator = pytrec_eval.RelevanceEvaluator(gold, {"ndcg_cut.10", "success.10"})
for path in sys.argv[2:]:
    with open(path) as stream:
        evaluator.evaluate(pytrec_eval.parse_run(stream))
"""
PLAIN = """
import sys, json, math
qrels, n = json.load(open(sys.argv[1]))
for path in sys.argv[2:]:
    run = {}
    for line in open(path):
        q, _, d, _, s, _ = line.split()
        run.setdefault(q, []).append((float(s), d))
    for q, table in qrels.items():
        ranked = sorted(run.get(q, []), key=lambda x: -x[0])[:10]
        dcg = sum(1 / math.log2(r + 2) for r, (_, d) in enumerate(ranked) if table.get(d) == n[q])
        hit = any(table.get(d) == n[q] for _, d in ranked)
"""


def from_disk(depth: int) -> dict[str, float]:
    """Whole processes: 70 files on disk. Start-up alone is measured beside them."""
    qrels, n, runs = simulate(depth)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "qrels.json").write_text(json.dumps([qrels, n]))
        trec, parquet = [], []
        for i, run in enumerate(runs):
            trec.append(folder / f"run{i}.trec")
            lines = [
                f"{q} Q0 {d} {r} {depth - r}.5 t\n" for q, v in run.items() for r, d in enumerate(v)
            ]
            trec[-1].write_text("".join(lines))
            parquet.append(folder / f"run{i}.parquet")
            pq.write_table(
                pa.table({"query_id": list(run), "doc_ids": list(run.values())}), parquet[-1]
            )

        def process(code: str, files: list[Path]) -> Callable[[], object]:
            command = [sys.executable, "-c", code, str(folder / "qrels.json"), *map(str, files)]
            return lambda: subprocess.run(command, check=True)

        return medians(
            {
                "pytrec_eval, TREC": process(PYTREC, trec),
                "plain Python, TREC": process(PLAIN, trec),
                "n-Clue, TREC": process(OURS, trec),
                "n-Clue, Parquet": process(OURS, parquet),
                "Python, numpy, pyarrow and qrels, no run": process(START, []),
            }
        )


def main() -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    results = {
        "simulated": True,
        "memory, depth 10": from_memory(10),
        "memory, depth 100": from_memory(100),
        "disk, depth 10": from_disk(10),
        "disk, depth 100": from_disk(100),
    }
    print(json.dumps(results, indent=2))
    for depth in (10, 100):
        seconds = results[f"memory, depth {depth}"]
        ratio = seconds["pytrec_eval nDCG + hit"] / seconds["n-Clue from string IDs"]
        codes = seconds["n-Clue from codes"] / seconds["numpy pass on codes"]
        print(
            f"depth {depth}: {ratio:.1f} times as fast as pytrec_eval; codes {codes:.2f} of numpy"
        )
    for depth in (10, 100):
        disk = results[f"disk, depth {depth}"]
        for peer in ("pytrec_eval, TREC", "plain Python, TREC"):
            for ours in ("n-Clue, TREC", "n-Clue, Parquet"):
                ratio = disk[peer] / disk[ours]
                print(f"depth {depth}, {ours}: {ratio:.1f} times as fast as {peer}")
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
