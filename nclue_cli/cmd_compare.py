"""``nclue compare``: variants against a base."""

from __future__ import annotations

from pathlib import Path

import click

from nclue_cli.options import collection_options, form_option, json_option
from nclue_cli.output import print_json, say
from nclue_cli.stats_output import (
    adjustment_notes,
    print_contrasts,
    promotion_options,
    scenarios,
)
from nclue_core.errors import UsageError


@click.command(name="compare")
@click.argument("base")
@click.argument("variants", nargs=-1, required=True, metavar="VARIANT...")
@collection_options
@form_option
@click.option("--k", type=click.IntRange(1), default=10, show_default=True, help="Cutoff.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of all draws.")
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
    config: str | None,
    release: Path | None,
    form: str,
    k: int,
    seed: int,
    resamples: int,
    draws: int,
    promotion_presets: tuple[str, ...],
    promotion_rates: tuple[float, ...],
    as_json: bool,
    markdown: bool,
    latex: bool,
) -> None:
    """Compare each VARIANT with BASE on the same queries.

    Both are run files, or names of systems whose rankings the release holds. Shown are the
    differences of Score, Hit and Gold-NDCG in points, with a family-bootstrap interval, paired
    randomization tests by query and by family, the test adjusted for having tried all variants
    given (block: max-|T|) and Holm's correction over them; outcomes miss / subset-first /
    gold-first; the ordering D where both have a gold hit, with its interval; the smallest
    difference that promoting judged subsets to gold could bring about, and the promotion
    probability at which the sign would change. cards/statistics.md explains each term; the
    study's test of whole blocks is `nclue stats blocks`.
    """
    if as_json + markdown + latex > 1:
        raise UsageError("--json, --markdown and --latex exclude each other")
    chosen = scenarios(promotion_presets, promotion_rates)
    from nclue_dataset.collections import load_collection
    from nclue_dataset.scoring import collection_judgments, open_run, run_conditions, signature
    from nclue_stats.compare import compare_runs

    collection = load_collection(config or (None if release else "mini"), release)
    judgments = collection_judgments(collection)
    aligned = []
    for name in (base, *variants):
        run = open_run(collection, name, form)
        found = judgments.align(run.rankings)
        if found.missing:
            say(f"{run.name}: {len(found.missing)} queries have no ranking and count as misses")
        aligned.append((run.name, found.rankings))
    contrasts = compare_runs(
        judgments, aligned[0], aligned[1:], k=k, n_resamples=resamples, n_draws=draws, rng=seed,
        scenarios=chosen,
    )  # fmt: skip
    if contrasts[0].n_families == 1:
        say("all queries share one set of golds: intervals of width 0 say nothing here")
    conditions = run_conditions(collection, judgments, form=form, ks=[k])
    conditions |= {"seed": seed, "resamples": resamples, "draws": draws}
    if as_json:
        print_json({
            "contrasts": [item.to_json() for item in contrasts],
            "adjusted_for": adjustment_notes(len(contrasts)),
            "conditions": conditions,
        })  # fmt: skip
        return
    print_contrasts(contrasts, markdown, latex)
    if not (markdown or latex):
        click.echo(signature(conditions))
