"""Speed of the lexical systems over 2,000 documents x 20 pages, as ratios to plain bm25s.

Simulated pages of 300 words from a Zipf-like vocabulary of 200,000; 1,000 queries of three
conditions of one word each, of middle frequency. In one process, on the same texts: bm25s
tokenizes and indexes the pages and returns the 100 best pages per query (numpy backend); ours
tokenizes, indexes and returns the 100 best documents. Then each system by itself, and what a
decomposition costs relative to one joint query.

    python benchmarks/bm25_speed.py [--out benchmarks/results/bm25_speed.json] [--documents 2000]
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path

import bm25s
import numpy as np

from nclue_core.schema import Query
from nclue_systems import build_index, run_system
from nclue_systems.bm25 import bm25

PAGES, WORDS, QUERIES, VOCABULARY = 20, 300, 1_000, 200_000
SYSTEMS = (
    "bm25_page_aggregated", "bm25_decompose_sdr", "bm25_or", "bm25_and", "bm25_decompose_min",
    "bm25_decompose_product", "bm25_decompose_hmean", "frequency_prior", "random",
)  # fmt: skip


def simulate(documents: int) -> tuple[dict[str, list[tuple[int, str]]], list[Query]]:
    """Page texts and queries."""
    rng = np.random.default_rng(11)
    names = np.array([f"w{i:x}" for i in range(VOCABULARY)])
    shares = 1 / (np.arange(VOCABULARY) + 10.0)
    cumulative = np.cumsum(shares / shares.sum())
    texts = {}
    for document in range(documents):
        drawn = names[np.searchsorted(cumulative, rng.random((PAGES, WORDS)))]
        texts[f"d{document:05}"] = [(p, " ".join(row)) for p, row in enumerate(drawn, start=1)]
    queries = []
    for number in range(QUERIES):
        conditions = tuple(map(str, names[rng.integers(100, 5_000, 3)]))
        queries.append(Query(f"q{number:04}", " ".join(conditions), conditions))
    return texts, queries


def timed(function: Callable[[], object]) -> tuple[float, object]:
    """Seconds, and what the function returned."""
    start = time.perf_counter()
    value = function()
    return time.perf_counter() - start, value


def peer_index(texts: list[str]) -> bm25s.BM25:
    """Plain use of bm25s: its tokenizer without stop words or stemming, its index."""
    peer = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
    peer.index(bm25s.tokenize(texts, stopwords=None, show_progress=False), show_progress=False)
    return peer


def own_index(texts: dict[str, list[tuple[int, str]]]) -> object:
    """Words, postings and weights of the pages: what a page query needs."""
    index = build_index(texts)
    bm25(index, "page", k1=1.5, b=0.75)
    return index


def measure(documents: int) -> dict[str, float]:
    """Seconds and ratios."""
    texts, queries = simulate(documents)
    pages = [text for of_document in texts.values() for _, text in of_document]
    asked = [list(query.conditions) for query in queries]
    own_index_s, index = timed(lambda: own_index(texts))
    peer_index_s, peer = timed(lambda: peer_index(pages))
    peer_query_s, _ = timed(lambda: peer.retrieve(asked, k=100, show_progress=False))
    result = {
        "peer_index_s": peer_index_s,
        "own_index_s": own_index_s,
        "own_index_share_of_peer": own_index_s / peer_index_s,
        "peer_1000_queries_s": peer_query_s,
    }
    for name in SYSTEMS:
        run_system(name, index, queries[:1], "raw")  # makes its postings
        result[f"{name}_s"], _ = timed(lambda name=name: run_system(name, index, queries, "raw"))
    one = result["bm25_page_aggregated_s"]
    result["queries_times_faster_than_peer"] = peer_query_s / one
    result["sdr_times_one_joint_page_query"] = result["bm25_decompose_sdr_s"] / one
    chunk = result["bm25_or_s"]
    result["product_times_one_joint_chunk_query"] = result["bm25_decompose_product_s"] / chunk
    return {name: round(value, 3) for name, value in result.items()}


def main() -> None:
    """Measure, print, record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=2_000)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/bm25_speed.json"))
    args = parser.parse_args()
    record = {
        "what": f"{args.documents} documents x {PAGES} pages x {WORDS} words, {QUERIES} queries",
        "bm25s": importlib.metadata.version("bm25s"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "measures": measure(args.documents),
    }
    text = json.dumps(record, indent=2)
    print(text)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
