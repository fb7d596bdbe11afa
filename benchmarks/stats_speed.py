"""Time of the study's statistics on a simulation of its size, in one process on one core.

70 runs x 1,000 queries, 453 families, 2,021 documents, 50,995 memberships: family bootstrap of
all systems, eight blocks of sign flips, crossed bootstraps over gold and judged memberships,
promotion bounds, and the shared-document figures. ``--factor 10`` takes ten times the queries.

    python benchmarks/stats_speed.py [--factor 10] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np

from nclue_stats.bootstrap import family_bootstrap
from nclue_stats.inputs import Memberships
from nclue_stats.promotion import FirstJudged, plausible_promotion, promotion_bound
from nclue_stats.randomization import max_t, paired_randomization
from nclue_stats.shared_documents import (
    connected_components,
    crossed_bootstrap,
    document_macro,
    leave_one_document_out,
    one_query_per_document,
    remove_highest_degree,
)


def main() -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--factor", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    queries, families, documents = 1_000 * options.factor, 453 * options.factor, 2_021
    values = (rng.random((queries, 70)) < 0.25).astype(np.float64)
    labels = np.r_[np.arange(families), rng.integers(0, families, queries - families)]
    gold = Memberships([rng.choice(287, 2, replace=False).tolist() for _ in range(queries)])
    judged = Memberships([rng.choice(documents, 51, replace=False).tolist()
                          for _ in range(queries)])  # fmt: skip
    firsts = [FirstJudged(rng.integers(0, documents, queries), values[:, i] > 0) for i in (0, 1)]
    blocks = [values[:, 1 + 8 * b : 9 + 8 * b] - values[:, :1] for b in range(8)]
    gap = values[:, 1] - values[:, 0]
    taken: dict[str, float] = {}

    def timed(name: str, work: Callable[[], object]) -> None:
        start = time.perf_counter()
        work()
        taken[name] = round(1000 * (time.perf_counter() - start), 1)

    timed("family bootstrap, 70 systems", lambda: family_bootstrap(values, labels))
    timed("max-|T|, 8 blocks of 8", lambda: [max_t(block, labels) for block in blocks])
    timed(
        "max-|T|, 1 block of 18, families", lambda: max_t(values[:, 1:19] - values[:, :1], labels)
    )
    timed("paired tests by query and family, 8 contrasts", lambda: [
        paired_randomization(values[:, i] - values[:, 0], units)
        for i in range(1, 9) for units in (None, labels)
    ])  # fmt: skip
    timed("crossed bootstrap, gold", lambda: crossed_bootstrap(gap, gold))
    timed("crossed bootstrap, all judged", lambda: crossed_bootstrap(gap, judged))
    timed("promotion, 8 contrasts", lambda: [
        (promotion_bound(*firsts, k), plausible_promotion(*firsts, 0.2)) for k in (1, 2, 3)
        for _ in range(8)
    ])  # fmt: skip
    timed("S1i", lambda: (
        document_macro(gap, gold), leave_one_document_out(gap, gold),
        remove_highest_degree(gap, gold), one_query_per_document(gap, gold),
        connected_components(gold), connected_components(judged),
    ))  # fmt: skip
    result = {
        "simulated": True,
        "queries": queries,
        "milliseconds": taken,
        "total": round(sum(taken.values()), 1),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    print(json.dumps(result, indent=2))
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
