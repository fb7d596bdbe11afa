"""``nclue score``: run files against a collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from nclue_cli.output import as_text, deliver, json_text, tell
from nclue_cli.stats_output import (
    promotion_lines,
    promotion_options,
    scenarios,
    score_promotions,
    support_lines,
)
from nclue_core.errors import UsageError

if TYPE_CHECKING:
    from nclue_dataset.scoring import Rules, ScoredRun

RESAMPLES = 1_000


@subcommand(
    "score",
    ("Two embedded rankings of mini, in another query form, at two cutoffs",
     "nclue score bm25_and bm25_or --form clean_v2 --k 5 --k 10"),
    ("A run of your own, with intervals, as JSON with every query",
     "nclue score my_run.trec --collection mini --intervals --json --per-query"),
)  # fmt: skip
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@scoring_options
@click.option("--support", "support_ms", type=click.IntRange(1), multiple=True, metavar="M",
              help="Also Gold+Support@M, for runs with surfaced pages; repeatable.")  # fmt: skip
@click.option("--intervals", is_flag=True,
              help="Also 95% intervals, by the exact-family bootstrap.")  # fmt: skip
@seed_option(0)
@promotion_options
@click.option("--per-query", is_flag=True, help="With --json: also the scores of every query.")
@json_option
def command(
    runs: tuple[str, ...],
    collection: str | None,
    release: str | None,
    rules: Rules,
    strict: bool,
    out: Path | None,
    support_ms: tuple[int, ...],
    intervals: bool,
    seed: int,
    promotion_presets: tuple[str, ...],
    promotion_rates: tuple[float, ...],
    per_query: bool,
    as_json: bool,
) -> int:
    """Score runs: n-Clue Score, Gold Hit, Gold-NDCG, graded NDCG and outcomes, in percent.

    RUN is a file (TREC, JSON, JSONL or Parquet; gzip too), - for one from stdin, or the name of
    a system whose rankings the release holds. Queries without a ranking count as misses. What
    a run of `nclue run` was made from (NAME.run.json beside it) is read and told.
    """
    if per_query and not as_json:
        raise UsageError("--per-query needs --json: a table has no room for every query")
    chosen = scenarios(promotion_presets, promotion_rates)
    from nclue_dataset.scoring import exit_code, open_runs, score_run, with_intervals

    opened = open_runs(open_collection(collection, release), runs, rules)
    tell(opened.runs)
    scored = [score_run(opened, run, support_ms) for run in opened.runs]
    if intervals:
        scored = [with_intervals(opened, item, RESAMPLES, seed) for item in scored]
    promoted = score_promotions(scored, chosen, seed)
    if as_json:
        rows = [item.to_json(per_query=per_query) for item in scored]
        deliver(json_text([{**row, **more} for row, more in zip(rows, promoted)]), out)
    else:
        deliver(_as_text(scored, rules.ks, promoted), out)
    return int(exit_code(opened, strict=strict))


def _as_text(
    scored: list[ScoredRun], ks: Sequence[int], promoted: Sequence[Mapping[str, Any]]
) -> str:
    from nclue_metric.conditions import signature

    items: list[Any] = []
    for k in ks:
        items.append(_table(scored, k))
        items += [
            f"{item.run.name}: {line}"
            for item in scored
            for m in item.support
            for line in support_lines(item.values, m)
            if k == max(ks)
        ]
    items += promotion_lines(scored, promoted)
    items += [line for item in scored for line in item.run.record_lines()]
    return as_text(*items, signature(scored[0].conditions))


def _table(scored: list[ScoredRun], k: int) -> Any:
    from rich.table import Table
    from rich.text import Text

    from nclue_metric.measures import shown_measures
    from nclue_stats.tables import interval

    shown = shown_measures()
    table = Table(box=None, pad_edge=False)
    table.add_column(f"run (k = {k})", overflow="fold")
    for measure in shown:
        table.add_column(measure.title, justify="right")
    if any(item.intervals for item in scored):
        table.add_column(f"95% CI of {shown[0].title}", justify="right")
    for item in scored:
        cells = [f"{item.values[f'{measure.name}@{k}']:.1f}" for measure in shown]
        ends = item.intervals.get(f"{shown[0].name}@{k}_ci95")
        cells += [interval(ends[0], ends[1])] if ends else []
        table.add_row(*map(Text, (item.run.name, *cells)))  # texts: names may hold [brackets]
    return table
