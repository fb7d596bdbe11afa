"""``nclue score``: run files against a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from nclue_cli.options import collection_options, form_option, json_option
from nclue_cli.output import out_console, print_json, say
from nclue_cli.stats_output import (
    print_score_promotions,
    promotion_options,
    scenarios,
    score_promotions,
    support_lines,
)
from nclue_core.errors import ExitCode


@click.command(name="score")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@collection_options
@form_option
@click.option("--k", "ks", type=click.IntRange(1), multiple=True, default=(10,), show_default=True,
              help="Cutoff; repeatable.")  # fmt: skip
@click.option("--gain", type=click.Choice(["linear", "exponential"]), default="linear",
              show_default=True, help="Gain of graded NDCG.")  # fmt: skip
@click.option("--qrels", "copy", default="final", show_default=True,
              help="Qrel copy: final, or initial where the release keeps one.")  # fmt: skip
@click.option("--ties", type=click.Choice(["input", "trec_eval"]), default="input",
              show_default=True, help="Order of equal scores.")  # fmt: skip
@click.option("--repeats", type=click.Choice(["error", "first"]), default="error",
              show_default=True, help="A document twice in one ranking.")  # fmt: skip
@click.option("--exclude", type=click.Path(path_type=Path, exists=True, dir_okay=False),
              help="JSON {query_id: [doc_id, …]}: leave these out before ranking.")  # fmt: skip
@click.option("--support", "support_ms", type=click.IntRange(1), multiple=True, metavar="M",
              help="Also Gold+Support@M, for runs with surfaced pages; repeatable.")  # fmt: skip
@click.option("--intervals", is_flag=True,
              help="Also 95% intervals, by the exact-family bootstrap.")  # fmt: skip
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed of intervals, promotions."
)
@promotion_options
@click.option("--strict", is_flag=True, help="Fail if a query of the collection has no ranking.")
@click.option("--per-query", is_flag=True, help="With --json: also the scores of every query.")
@json_option
def command(
    runs: tuple[str, ...],
    config: str | None,
    release: Path | None,
    form: str,
    ks: tuple[int, ...],
    gain: str,
    copy: str,
    ties: str,
    repeats: str,
    exclude: Path | None,
    support_ms: tuple[int, ...],
    intervals: bool,
    seed: int,
    promotion_presets: tuple[str, ...],
    promotion_rates: tuple[float, ...],
    strict: bool,
    per_query: bool,
    as_json: bool,
) -> int:
    """Score runs: n-Clue Score, Gold Hit, Gold-NDCG, graded NDCG and outcomes, in percent.

    RUN is a file (TREC, JSON, JSONL or Parquet; gzip too) or the name of a system whose
    rankings the release holds. Queries without a ranking count as misses.
    """
    chosen = scenarios(promotion_presets, promotion_rates)
    from nclue_dataset.collections import load_collection
    from nclue_dataset.scoring import collection_judgments, open_run, score_run

    collection = load_collection(config or (None if release else "mini"), release)
    judgments = collection_judgments(collection, copy)
    excluded = _read_exclusions(exclude)
    scored = [
        score_run(
            collection,
            judgments,
            open_run(collection, run, form, ties=ties, repeats=repeats),
            form=form,
            ks=ks,
            gain=gain,
            excluded=excluded,
            copy=copy,
            support_ms=support_ms,
        )
        for run in runs
    ]
    _say_what_is_odd(scored)
    ends = [_intervals(judgments, item, seed) if intervals else {} for item in scored]
    promoted = score_promotions(scored, chosen, seed)
    if as_json:
        ids = judgments.query_ids if per_query else None
        print_json([
            {**item.to_json(ids), **ci, **more} for item, ci, more in zip(scored, ends, promoted)
        ])  # fmt: skip
    else:
        _print_table(scored, ks, ends)
        print_score_promotions(scored, promoted)
    incomplete = strict and any(item.missing for item in scored)
    return int(ExitCode.FAILED if incomplete else ExitCode.OK)


def _intervals(judgments: Any, item: Any, seed: int) -> dict[str, list[float]]:
    from nclue_metric.intervals import intervals

    item.conditions.update(resamples=1_000, seed=seed)
    found: dict[str, list[float]] = {}
    for at_k in item.scores.values():
        found.update(intervals(judgments, at_k, 1_000, seed))
    return found


def _read_exclusions(path: Path | None) -> dict[str, list[str]] | None:
    if path is None:
        return None
    from nclue_metric.runs import read_run

    return read_run(path).rankings  # the same shape: lists of document IDs by query


def _say_what_is_odd(scored: list[Any]) -> None:
    for item in scored:
        name = item.run.name
        if item.missing:
            say(f"{name}: {len(item.missing)} queries have no ranking and count as misses: "
                f"{_some(item.missing)}")  # fmt: skip
        if item.extra:
            say(f"{name}: {len(item.extra)} queries are not in the collection, not scored: "
                f"{_some(item.extra)}")  # fmt: skip
        if item.unjudged_documents:
            say(f"{name}: {item.unjudged_documents} documents are not in the corpus")
        if item.run.n_tied:
            say(f"{name}: {item.run.n_tied} documents have tied scores (order: {item.run.ties})")
        if item.run.n_repeats_dropped:
            say(f"{name}: {item.run.n_repeats_dropped} repeated documents dropped")


def _some(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown}, … ({len(names) - 5} more)"


def _print_table(
    scored: list[Any], ks: tuple[int, ...], ends: list[dict[str, list[float]]]
) -> None:
    from rich.markup import escape
    from rich.table import Table

    from nclue_dataset.scoring import signature
    from nclue_metric import summarize
    from nclue_metric.support import summarize_support
    from nclue_stats.tables import interval

    console = out_console()
    for k in ks:
        table = Table(box=None, pad_edge=False)
        table.add_column(f"run (k = {k})", overflow="fold")
        for title in ("Score", "Hit", "Gold-NDCG", "graded NDCG", "miss", "subset-first",
                      "gold-first"):  # fmt: skip
            table.add_column(title, justify="right")
        if any(ends):
            table.add_column("95% CI of Score", justify="right")
        for item, ci in zip(scored, ends):
            values = summarize(item.scores[k])
            low_high = ci.get(f"n_clue_score@{k}_ci95")
            more = [interval(low_high[0], low_high[1])] if low_high else []
            names = ("n_clue_score", "gold_hit", "gold_ndcg", "graded_ndcg", "miss",
                     "subset_first", "gold_first")  # fmt: skip
            cells = [f"{values[f'{name}@{k}']:.1f}" for name in names]
            table.add_row(item.run.name, *cells, *map(escape, more))
        console.print(table)
        for item in scored:
            for at_m in item.support.values() if k == max(ks) else ():
                for line in support_lines(summarize_support(at_m), at_m.m):
                    console.print(f"{item.run.name}: {line}", markup=False)
    console.print(signature(scored[0].conditions))
