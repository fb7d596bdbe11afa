"""``nclue score``: run files against a collection."""

from __future__ import annotations

from collections.abc import Sequence
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
from nclue_cli.output import as_text, deliver, is_verbose, json_text, warn
from nclue_core.errors import UsageError

if TYPE_CHECKING:
    from nclue_dataset.scoring import CheckedRun, Rules, ScoredRun

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
    from nclue_dataset.scoring import exit_code, open_runs, score_run, with_intervals

    opened = open_runs(open_collection(collection, release), runs, rules)
    tell(opened.runs)
    scored = [score_run(opened, run, support_ms) for run in opened.runs]
    if intervals:
        scored = [with_intervals(opened, item, RESAMPLES, seed) for item in scored]
    if as_json:
        deliver(json_text([item.to_json(per_query=per_query) for item in scored]), out)
    else:
        deliver(_as_text(scored, rules.ks), out)
    return int(exit_code(opened, strict=strict))


def tell(runs: Sequence[CheckedRun]) -> None:
    """Say what is odd about runs (also what `compare` does)."""
    for run in runs:
        for note in run.notes(whole=is_verbose()):
            warn(f"{run.name}: {note}")


def _as_text(scored: list[ScoredRun], ks: Sequence[int]) -> str:
    from nclue_metric.conditions import signature

    items: list[Any] = []
    for k in ks:
        items.append(_table(scored, k))
        items += [
            f"{item.run.name}: {_support_line(at_m.m, item.values)}"
            for item in scored
            for at_m in item.support.values()
            if k == max(ks)
        ]
    items += [line for item in scored for line in item.run.record_lines()]
    return as_text(*items, signature(scored[0].conditions))


def _table(scored: list[ScoredRun], k: int) -> Any:
    from rich.table import Table
    from rich.text import Text

    from nclue_metric.measures import shown_measures

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
        cells += [f"[{ends[0]:.1f}, {ends[1]:.1f}]"] if ends else []
        table.add_row(*map(Text, (item.run.name, *cells)))  # texts: names may hold [brackets]
    return table


def _support_line(m: int, values: dict[str, Any]) -> str:
    return (
        f"Gold+Support@{m} {values[f'gold_support@{m}']:.1f}; among {values['n_gold_hit']} queries "
        f"with a gold hit, conditions covered {values[f'condition_page_coverage@{m}']:.1f}, all "
        f"conditions {values[f'all_condition_page_coverage@{m}']:.1f}"
    )
