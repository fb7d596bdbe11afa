"""What one compute() of the metric adds to the overhead of `evaluate` itself, for 1,000 rows.

A module that does nothing with the same features is the peer; both are called in turn.

    python benchmarks/evaluate_overhead.py
"""

from __future__ import annotations

import json
import os
import statistics
import time

os.environ["HF_HUB_OFFLINE"] = "1"

import evaluate
from scoring_speed import simulate

from nclue_metric.n_clue import NClue

REPEATS = 7


class Nothing(evaluate.Metric):
    """The same features, no computation."""

    def _info(self):
        info = NClue._info(self)
        return evaluate.MetricInfo(description="", citation="", features=info.features)

    def _compute(self, predictions, references):
        return {"n": len(predictions)}


def main() -> None:
    """Measure and print."""
    qrels, n, runs = simulate(10)
    references = [
        {"doc_ids": list(t), "grades": list(t.values()), "n_conditions": n[q]}
        for q, t in qrels.items()
    ]
    predictions = list(runs[0].values())
    taken: dict[str, list[float]] = {"evaluate alone": [], "n_clue": []}
    modules = {"evaluate alone": Nothing(), "n_clue": NClue()}
    for _ in range(REPEATS):
        for name, module in modules.items():
            start = time.perf_counter()
            module.compute(predictions=predictions, references=references)
            taken[name].append(1000 * (time.perf_counter() - start))
    medians = {name: round(statistics.median(values), 1) for name, values in taken.items()}
    added = medians["n_clue"] - medians["evaluate alone"]
    print(json.dumps({"simulated": True, "milliseconds": medians, "added": round(added, 1)}))


if __name__ == "__main__":
    main()
