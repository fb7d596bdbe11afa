"""``nclue stats``: the statistics beyond `nclue compare`, one subcommand each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nclue_cli.options import InputPath, json_option, reading_options, seed_option, subgroup
from nclue_cli.output import print_json, say
from nclue_cli.stats_output import aligned, examples, sensitivity_rows
from nclue_core.errors import UsageError

if TYPE_CHECKING:
    from nclue_cli.stats_runs import Scored
    from nclue_dataset.scoring import Rules

BLOCKS_FILE = """A file of one block:
  [[block]]
  name = "Lexical composition"
  base = "bm25_and"
  variants = ["bm25_decompose_min", "bm25_decompose_sdr"]
  display = "bm25_decompose_sdr"

"""
MEASURES = ("score", "hit", "gold_ndcg")


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How runs are read and scored, as by `nclue score`, at one cutoff; and JSON."""
    return reading_options(one_k=True)(json_option(command))


measure_option = click.option(
    "--measure", type=click.Choice(MEASURES), default="score", show_default=True,
    help="n-Clue Score, Gold Hit or Gold-NDCG.",
)  # fmt: skip
resamples_option = click.option(
    "--resamples", type=click.IntRange(2), default=1_000, show_default=True,
    help="Replicates of each bootstrap.",
)  # fmt: skip


@subgroup(
    "stats",
    ("Does a difference hang on documents that many queries share?",
     "nclue stats shared bm25_or bm25_and"),
    ("How well annotators agree", "nclue stats agreement cards/adjudication.csv --count n"),
)  # fmt: skip
def command() -> None:
    """Sensitivity, strata, rank correlation, agreement, and tests of whole blocks.

    cards/statistics.md says what each number means.
    """


@command.command(
    name="shared",
    epilog=examples(
        "nclue stats shared bm25_or bm25_and",
        "nclue stats shared my.trec bm25_and --measure gold_ndcg --remove 5 --json",
    ),
)
@click.argument("run")
@click.argument("base")
@run_options
@measure_option
@seed_option(0)
@resamples_option
@click.option("--remove", type=click.IntRange(1), default=20, show_default=True,
              help="How many of the best-connected documents to leave out.")  # fmt: skip
def shared_command(
    run: str,
    base: str,
    collection: str | None,
    release: str | None,
    rules: Rules,
    as_json: bool,
    measure: str,
    seed: int,
    resamples: int,
    remove: int,
) -> None:
    """Does RUN minus BASE hang on documents that many queries share?

    Each line is given for two graphs: queries joined by their golds, and by all judged documents.
    """
    from nclue_cli.stats_runs import score_all
    from nclue_stats.shared_documents import sensitivity

    scored = score_all([run, base], collection, release, rules)
    differences = scored.values(0, measure) - scored.values(1, measure)
    found = {
        kind: sensitivity(
            differences, scored.judgments, kind, n_remove=remove, n_resamples=resamples, rng=seed
        )
        for kind in ("gold", "judged")
    }
    if as_json:
        conditions = scored.conditions | {"seed": seed, "resamples": resamples}
        print_json({"variant": run, "base": base, "measure": measure,
                    **{kind: asdict(item) for kind, item in found.items()},
                    "conditions": conditions})  # fmt: skip
        return
    click.echo(f"{scored.names[0]} - {scored.names[1]}, {measure} in points\n")
    columns = [sensitivity_rows(item) for item in found.values()]
    rows = [("", "golds", "all judged")]
    rows += [(label, one, other) for (label, one), (_, other) in zip(*columns)]
    click.echo(aligned(rows))


@command.command(
    name="strata",
    epilog=examples(
        "nclue stats strata bm25_and bm25_or",
        "nclue stats strata my.trec --form clean_v2 --measure hit --json",
    ),
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@run_options
@measure_option
@seed_option(0)
@resamples_option
@click.option("--no-lengths", is_flag=True,
              help="Leave out the cells by length, which need n_pages of every gold.")  # fmt: skip
def strata_command(
    runs: tuple[str, ...],
    collection: str | None,
    release: str | None,
    rules: Rules,
    as_json: bool,
    measure: str,
    seed: int,
    resamples: int,
    no_lengths: bool,
) -> None:
    """Score each RUN in cells of queries, with family-bootstrap intervals.

    Cells: all; by number of conditions (n2, n3); by the shortest gold's pages (Lmin_le30: at most
    30, Lmin_gt100: over 100); by judged documents (Dplus_le25: at most 25, Dplus_gt50: over 50).
    """
    from nclue_cli.stats_runs import score_all
    from nclue_stats.inputs import gold_families
    from nclue_stats.strata import judged_counts, min_gold_pages, strata, strata_masks

    scored = score_all(runs, collection, release, rules)
    judged = scored.judgments
    pages = None if no_lengths else min_gold_pages(judged, scored.n_pages)
    masks = strata_masks(judged.n_conditions, pages, judged_counts(judged))
    families = gold_families(judged.gold_ids)
    cells = [
        strata(100 * scored.values(row, measure), masks, families, n_resamples=resamples, rng=seed)
        for row in range(len(runs))
    ]
    if as_json:
        tables = [{"run": name, "cells": [asdict(cell) for cell in found]}
                  for name, found in zip(scored.names, cells)]  # fmt: skip
        conditions = scored.conditions | {"seed": seed, "resamples": resamples}
        print_json({"measure": measure, "runs": tables, "conditions": conditions})
        return
    _print_strata(scored, measure, cells)


def _print_strata(scored: Scored, measure: str, cells: list[list[Any]]) -> None:
    from nclue_stats.tables import interval, number

    rows = [(measure, "queries", "families", *scored.names)]
    for across in zip(*cells):
        shown = [
            f"{number(cell.estimate)} {interval(cell.low, cell.high)}" if cell.n_queries else "-"
            for cell in across
        ]
        first = across[0]
        rows.append((first.name, str(first.n_queries), str(first.n_families), *shown))
    click.echo(aligned(rows))


@command.command(
    name="correlation",
    epilog=examples(
        "nclue stats correlation",
        "nclue stats correlation a.trec b.trec c.trec --second graded_ndcg --json",
    ),
)
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@run_options
@click.option("--first", type=click.Choice((*MEASURES, "graded_ndcg")), default="score",
              show_default=True, help="The one metric.")  # fmt: skip
@click.option("--second", type=click.Choice((*MEASURES, "graded_ndcg")), default="gold_ndcg",
              show_default=True, help="The other metric.")  # fmt: skip
def correlation_command(
    runs: tuple[str, ...],
    collection: str | None,
    release: str | None,
    rules: Rules,
    as_json: bool,
    first: str,
    second: str,
) -> None:
    """Do two metrics rank the systems alike? Spearman's rho and the largest move in rank.

    Without RUN: all systems whose rankings the release holds in the form.
    """
    from nclue_cli.stats_runs import score_all
    from nclue_stats.correlation import average_ranks, compare_rankings

    scored = score_all(runs, collection, release, rules)
    if len(scored.names) < 2:
        raise UsageError("a rank correlation needs at least two runs")
    columns = [[scored.mean(row, name) for row in range(len(scored.names))]
               for name in (first, second)]  # fmt: skip
    found = compare_rankings(scored.names, *columns)
    ranks = [average_ranks([-value for value in column]).tolist() for column in columns]
    systems = [
        {"run": name, first: values[0], second: values[1], "rank_first": places[0],
         "rank_second": places[1]}
        for name, values, places in zip(scored.names, zip(*columns), zip(*ranks))
    ]  # fmt: skip
    if as_json:
        print_json({**asdict(found), "first": first, "second": second, "runs": systems,
                    "conditions": scored.conditions})  # fmt: skip
        return
    _print_correlation(found, first, second, systems)


def _print_correlation(found: Any, first: str, second: str, systems: list[dict[str, Any]]) -> None:
    from nclue_stats.tables import number

    rows = [("run", first, "rank", second, "rank")]
    for item in sorted(systems, key=lambda system: system["rank_first"]):
        rows.append((item["run"], number(item[first]), f"{item['rank_first']:g}",
                     number(item[second]), f"{item['rank_second']:g}"))  # fmt: skip
    click.echo(aligned(rows))
    rho = number(found.spearman, 4)
    click.echo(
        f"\nSpearman's rho {rho if rho != '-' else 'undefined (a metric is constant)'} over "
        f"{len(systems)} runs; largest move: {found.largest_move} from rank {found.rank_from:g} to "
        f"{found.rank_to:g}"
    )


@command.command(
    name="blocks",
    epilog=examples(
        "nclue stats blocks cards/blocks.toml",
        "nclue stats blocks blocks.json --form clean_v2 --measure hit --json",
        before=BLOCKS_FILE,
    ),
)
@click.argument("file", type=InputPath())
@run_options
@measure_option
@seed_option(0)
@click.option("--draws", type=click.IntRange(1), default=10_000, show_default=True,
              help="Sign patterns per block.")  # fmt: skip
def blocks_command(
    file: Path,
    collection: str | None,
    release: str | None,
    rules: Rules,
    as_json: bool,
    measure: str,
    seed: int,
    draws: int,
) -> None:
    """Test whole blocks of tried variants: max-|T| in each block, then Holm over the blocks.

    FILE (TOML, or JSON of the same shape) lists the blocks: a name, a base, every variant that
    was tried, and display, the one that is reported (without it: the largest difference).
    """
    from nclue_cli.stats_runs import read_blocks, score_blocks
    from nclue_stats.blocks import compare_blocks
    from nclue_stats.inputs import gold_families

    blocks, scored = score_blocks(read_blocks(file), measure, collection, release, rules)
    families = gold_families(scored.judgments.gold_ids)
    found = compare_blocks(blocks, families, n_draws=draws, rng=seed)
    if as_json:
        conditions = scored.conditions | {"seed": seed, "draws": draws}
        blocks_data = [asdict(item) | {"delta": 100 * item.delta} for item in found]
        print_json({"measure": measure, "blocks": blocks_data, "conditions": conditions})
        return
    _print_blocks(found)


def _print_blocks(found: list[Any]) -> None:
    from nclue_stats.tables import p_value, signed

    rows = [("block", "variant - base", "tried", "difference", "p block", "p Holm over blocks")]
    rows += [
        (item.name, f"{item.variant} - {item.base}", str(item.n_variants),
         signed(100 * item.delta), p_value(item.p_block), p_value(item.p_holm))
        for item in found
    ]  # fmt: skip
    click.echo(aligned(rows))


@command.command(
    name="agreement",
    epilog=examples(
        "nclue stats agreement cards/adjudication.csv --count n",
        "nclue stats agreement labels.jsonl --item pair_id --classes 0,1,2,3 --json",
    ),
)
@click.argument("file", type=InputPath())
@click.option("--annotators", metavar="A,B,…",
              help="Columns of the annotators.  [default: all but --count and --item]")  # fmt: skip
@click.option("--item", metavar="COLUMN", help="Column that names the item; not an annotator.")
@click.option("--count", metavar="COLUMN",
              help="Column that says how many items have this row's labels.")  # fmt: skip
@click.option("--classes", metavar="A,B,…",
              help="The labels, in their order.  [default: those found, sorted]")  # fmt: skip
@click.option("--unanswered", multiple=True, metavar="WORD",
              help="Also a label that means no answer (an empty cell always does); "
              "repeatable.")  # fmt: skip
@click.option("--pages", is_flag=True,
              help="Cells are page numbers (3;17) or none; agreement of page sets.")  # fmt: skip
@json_option
def agreement_command(
    file: Path,
    annotators: str | None,
    item: str | None,
    count: str | None,
    classes: str | None,
    unanswered: tuple[str, ...],
    pages: bool,
    as_json: bool,
) -> None:
    """How well do annotators agree? FILE has a row per item and a column per annotator.

    FILE is CSV with a header, or JSON Lines. An empty cell (null) is no answer: it counts neither
    as agreement nor as disagreement, and every figure shows its number of items. Per pair: share
    of equal labels with a Wilson interval, Cohen's kappa, and the linearly weighted kappa (which
    means something where classes have an order); over all: unanimity and Fleiss' kappa.
    """
    from nclue_cli.stats_labels import label_report, page_report, read_labels, report_lines

    table = read_labels(file, annotators=annotators, item=item, count=count, unanswered=unanswered)
    if pages:
        if classes is not None:
            raise UsageError("--pages and --classes exclude each other: pages are no classes")
        report = page_report(table)
    else:
        report = label_report(table, classes)
    if as_json:
        print_json(report)
        return
    click.echo("\n".join(report_lines(report)))


@command.command(
    name="presets",
    epilog=examples(
        "nclue stats presets",
        "nclue compare bm25_and bm25_or --promotion-preset crosspage-packet",
    ),
)
@json_option
def presets_command(as_json: bool) -> None:
    """List the promotion rates that audits found, with denominators, intervals and sources."""
    from nclue_stats.promotion import PRESETS
    from nclue_stats.tables import interval

    if as_json:
        print_json([
            asdict(preset) | {"rate": preset.share.estimate,
                              "ci95": [preset.share.low, preset.share.high]}
            for preset in PRESETS.values()
        ])  # fmt: skip
        return
    for preset in PRESETS.values():
        share = preset.share
        click.echo(
            f"{preset.name:<21}  {share.successes:>2} of {share.total:>3} subsets = "
            f"{100 * share.estimate:.1f} % {interval(100 * share.low, 100 * share.high)}"
        )
        click.echo(f"  {preset.source}")
    say("scenarios, not error rates of a collection: the audits drew their pairs for a purpose")
