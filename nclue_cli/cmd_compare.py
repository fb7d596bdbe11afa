"""``nclue compare``: variants against a base."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nclue_cli.options import (
    json_option,
    open_collection,
    scoring_options,
    seed_option,
    subcommand,
)
from nclue_cli.output import deliver, json_text, tell, warn
from nclue_cli.stats_output import (
    adjustment_notes,
    contrasts_text,
    promotion_options,
    scenarios,
)
from nclue_core.errors import UsageError

if TYPE_CHECKING:
    from nclue_dataset.scoring import CheckedRuns, Rules
    from nclue_stats.compare import Contrast


@subcommand(
    "compare",
    ("Two embedded rankings of mini against a third",
     "nclue compare bm25_and bm25_or bm25_decompose_sdr --collection mini"),
    ("Two runs of your own, over the queries with three conditions, for a paper",
     "nclue compare base.trec mine.trec --n 3 --seed 7 --latex"),
)  # fmt: skip
@click.argument("base")
@click.argument("variants", nargs=-1, required=True, metavar="VARIANT...")
@scoring_options
@seed_option(0)
@click.option("--resamples", type=click.IntRange(2), default=1_000, show_default=True,
              help="Replicates of the family bootstrap.")  # fmt: skip
@click.option("--draws", type=click.IntRange(1), default=10_000, show_default=True,
              help="Sign patterns of the tests, and draws of promotions.")  # fmt: skip
@promotion_options
@json_option
@click.option("--markdown", is_flag=True, help="Print a Markdown table.")
@click.option("--latex", is_flag=True, help="Print a LaTeX table.")
def command(
    base: str,
    variants: tuple[str, ...],
    collection: str | None,
    release: str | None,
    rules: Rules,
    strict: bool,
    out: Path | None,
    seed: int,
    resamples: int,
    draws: int,
    promotion_presets: tuple[str, ...],
    promotion_rates: tuple[float, ...],
    as_json: bool,
    markdown: bool,
    latex: bool,
) -> int:
    """Compare each VARIANT with BASE on the same queries.

    Both are run files, or names of systems whose rankings the release holds; they are read and
    checked as by `nclue score`. Shown are the differences of Score, Hit and Gold-NDCG in points,
    with a family-bootstrap interval, paired randomization tests by query and by family, the test
    adjusted for having tried all variants given (block: max-|T|) and Holm's correction over them;
    outcomes miss / subset-first / gold-first; the ordering D where both have a gold hit, with its
    interval; the smallest difference that promoting judged subsets to gold could bring about, and
    the promotion probability at which the sign would change. cards/statistics.md explains each
    term; the study's test of whole blocks is `nclue stats blocks`. Each cutoff has its own table
    and its own adjustments.
    """
    if as_json + markdown + latex > 1:
        raise UsageError("--json, --markdown and --latex exclude each other")
    chosen = scenarios(promotion_presets, promotion_rates)
    from nclue_dataset.scoring import exit_code, open_runs
    from nclue_stats.compare import compare_runs

    opened = open_runs(open_collection(collection, release), (base, *variants), rules)
    tell(opened.runs)
    rankings = [(run.name, run.rankings) for run in opened.runs]
    at_ks = {
        k: compare_runs(
            opened.judgments, rankings[0], rankings[1:],
            k=k, n_resamples=resamples, n_draws=draws, rng=seed,
            scenarios=chosen,
        )
        for k in rules.ks
    }  # fmt: skip
    if at_ks[rules.ks[0]][0].n_families == 1:
        warn("all queries share one set of golds: intervals of width 0 say nothing here")
    conditions = opened.conditions | {"seed": seed, "resamples": resamples, "draws": draws}
    if as_json:
        deliver(json_text(_as_data(at_ks, opened, conditions)), out)
    else:
        style = "markdown" if markdown else "latex" if latex else "text"
        deliver(_as_text(at_ks, opened, conditions, style), out)
    return int(exit_code(opened, strict=strict))


def _as_data(
    at_ks: dict[int, list[Contrast]], opened: CheckedRuns, conditions: dict[str, Any]
) -> dict[str, Any]:
    contrasts = [{**item.to_json(), "k": k} for k, found in at_ks.items() for item in found]
    runs = [{"run": run.name, **run.to_json()} for run in opened.runs]
    return {
        "contrasts": contrasts,
        "adjusted_for": adjustment_notes(len(opened.runs) - 1),
        "runs": runs,
        "conditions": conditions,
    }


def _as_text(
    at_ks: dict[int, list[Contrast]], opened: CheckedRuns, conditions: dict[str, Any], style: str
) -> str:
    """The tables, and below them what they depend on."""
    from nclue_metric.conditions import signature
    from nclue_stats import tables

    parts = []
    for k, contrasts in at_ks.items():
        title = {"markdown": f"k = {k}\n\n", "latex": f"% k = {k}\n", "text": f"k = {k}\n"}[style]
        parts.append(title * (len(at_ks) > 1) + contrasts_text(contrasts, style))
    below = [line for run in opened.runs for line in run.record_lines()]
    below.append(signature(conditions))
    if style == "latex":
        # Blanks let LaTeX break the long line.
        below = [tables.escape_latex(line.replace("|", " | ")) for line in below]
        below = [rf"\par{{\footnotesize\texttt{{{line}}}}}" for line in below]
    elif style == "markdown":
        below = [f"`{line}`  " for line in below]
    return "\n\n".join([*parts, "\n".join(below)])
