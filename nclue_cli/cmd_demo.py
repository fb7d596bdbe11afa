"""``nclue demo``: the main job on the embedded benchmark."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nclue_cli.options import json_option, subcommand
from nclue_cli.output import print_json, say

if TYPE_CHECKING:
    from nclue_cli.scorecard import Scorecard

NEXT = (
    ("Score a run of your own (TREC, JSON, JSONL or Parquet):",
     "nclue score my_run.trec --collection mini --form clean_v2"),
    ("Fetch the first five source PDFs, verify them, and read their text:",
     "nclue reconstruct mini --out corpus --limit 5 --ocr text"),
    ("See how far two systems differ, with intervals and tests:",
     "nclue compare bm25_and bm25_decompose_sdr --collection mini"),
)  # fmt: skip


@subcommand(
    "demo",
    ("The scorecard of the embedded benchmark", "nclue demo"),
    ("The same as a page, and as data", "nclue demo --html scorecard.html --json"),
)
@click.option("--html", "html_path", type=click.Path(path_type=Path, dir_okay=False),
              help="Write the scorecard as one self-contained page, too.")  # fmt: skip
@json_option
def command(html_path: Path | None, as_json: bool) -> None:
    """Load and score the embedded benchmark `mini`, and show the scorecard.

    Prepares mini (real annotations over real public PDFs), loads it with plain load_dataset,
    scores every ranking that it holds with plain evaluate, and says what to try next.
    """
    # The embedded data need no network; this spares the wait for the Hub where there is none.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from nclue_cli.scorecard import as_html, as_text

    card = build_scorecard()
    if html_path is not None:
        from nclue_core.files import write_text

        write_text(html_path, as_html(card, next_commands()))
        say(f"wrote {html_path}")
    if as_json:
        print_json(asdict(card))
        return
    click.echo(as_text(card))
    click.echo("\nNext:")
    for why, line in next_commands():
        click.echo(f"  {why}\n    {line}")


def next_commands() -> list[tuple[str, str]]:
    """What to try next, with `nclue` as it can be called from here."""
    program = callable_name()
    return [(why, line.replace("nclue", program, 1)) for why, line in NEXT]


def callable_name() -> str:
    """``nclue`` where a shell finds this installation's, else the path of its script."""
    script = Path(sys.executable).with_name("nclue")
    found = shutil.which("nclue")
    if not script.exists() or (found and Path(found).resolve() == script.resolve()):
        return "nclue"
    inside = script.is_relative_to(Path.cwd())
    return shlex.quote(str(script.relative_to(Path.cwd()) if inside else script))


def build_scorecard() -> Scorecard:
    """Prepare and load mini, and score every embedded ranking, through the public one-liners."""
    from nclue_dataset.prepare import prepare

    say("preparing the embedded benchmark mini …")
    prepare(["mini"])
    import evaluate
    from datasets import load_dataset
    from datasets.utils.logging import set_verbosity_error

    # Both libraries remark at length that they use their caches, as is meant here.
    set_verbosity_error()
    evaluate.logging.set_verbosity_error()

    from nclue_cli.scorecard import Scorecard, row_of

    say('load_dataset("nclue", "mini"), evaluate.load("n_clue")')
    data = load_dataset("nclue", "mini")
    rankings = load_dataset("nclue", "mini-rankings")
    metric = evaluate.load("n_clue")
    rows = []
    signature = ""
    for form, ranked in rankings.items():
        references = dict(zip(data[form]["query_id"], data[form]["reference"], strict=True))
        by_system: dict[str, dict[str, list[str]]] = {}
        for row in ranked:
            by_system.setdefault(row["system"], {})[row["query_id"]] = row["doc_ids"]
        for system, run in by_system.items():
            result = metric.compute(
                predictions=[run.get(query_id, []) for query_id in references],
                references=list(references.values()),
            )
            signature = result["signature"]
            rows.append(row_of(system, form, result))
    documents = load_dataset("nclue", "mini-corpus", split="corpus")
    return Scorecard("mini", len(data["raw"]), len(documents), signature, tuple(rows))
