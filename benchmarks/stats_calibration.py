"""Do 95% intervals cover, and are p-values uniform where nothing differs? On simulated families.

1,000 simulated sets of 453 families with 1,000 queries whose successes agree within families;
the true mean is known. Printed: the share of family-bootstrap intervals that hold it (expected
93 to 97%), beside the share for intervals that resample queries as if they were independent; and
the Kolmogorov-Smirnov test of the p-values of paired tests by family between exchangeable
systems, beside the test by query. The tests are made on graded gains, as NDCG is: differences of
0/1 successes often add up to 0, and p-values with such ties are conservative, not uniform.

    python benchmarks/stats_calibration.py [--sets 1000] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import scipy.stats

from nclue_stats.bootstrap import family_bootstrap
from nclue_stats.randomization import paired_randomization

QUERIES, FAMILIES, MEAN = 1_000, 453, 0.25


def simulate(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Families, and two exchangeable systems whose successes agree within families."""
    labels = np.r_[np.arange(FAMILIES), rng.integers(0, FAMILIES, QUERIES - FAMILIES)]
    easy = rng.beta(0.5, 1.5, FAMILIES)  # mean 0.25
    systems = []
    for _ in range(2):
        own = np.clip(rng.beta(0.5, 1.5, FAMILIES) * 0.5 + easy * 0.5, 0, 1)
        systems.append((rng.random(QUERIES) < own[labels]).astype(np.float64))
    return labels, systems[0], systems[1]


def main() -> None:
    """Simulate, print and record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", type=int, default=1_000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rng = np.random.default_rng(20)
    covered = {"by family": 0, "by query": 0}
    pvalues: dict[str, list[float]] = {"by family": [], "by query": []}
    for _ in range(options.sets):
        labels, base, variant = simulate(rng)
        gains = variant * rng.random(QUERIES) - base * rng.random(QUERIES)
        for unit, units in (("by family", labels), ("by query", None)):
            result = family_bootstrap(base, units, n_resamples=1_000, rng=rng)
            covered[unit] += bool(result.low[0] <= MEAN <= result.high[0])
            test = paired_randomization(gains, units, n_draws=1_000, rng=rng)
            pvalues[unit].append(test.pvalue)
    result = {
        "simulated": True,
        "sets": options.sets,
        "coverage of the 95% interval": {u: n / options.sets for u, n in covered.items()},
        "Kolmogorov-Smirnov p of uniform p-values": {
            unit: float(scipy.stats.kstest(values, "uniform").pvalue)
            for unit, values in pvalues.items()
        },
        "share of p <= .05": {u: float(np.mean(np.array(v) <= 0.05)) for u, v in pvalues.items()},
    }
    print(json.dumps(result, indent=2))
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
