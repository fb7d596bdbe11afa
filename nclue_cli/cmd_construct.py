"""``nclue construct``: a benchmark from one's own documents; ``audit-sample`` to check one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nclue_cli.options import (
    InputPath,
    collection_options,
    json_option,
    open_collection,
    pages_option,
    seed_option,
    subcommand,
    subgroup,
)
from nclue_cli.output import print_json, say
from nclue_core.errors import UsageError

if TYPE_CHECKING:
    from nclue_construct.audit_sample import SampledDecision
    from nclue_construct.config import ConstructConfig
    from nclue_construct.llm_judge import LlmJudge
    from nclue_construct.zones import ZonedPage


@subgroup(
    "construct",
    ("A benchmark from page texts, judged by rules alone",
     "nclue construct --pages own --corpus corpus.jsonl --out bench"),
    ("What the gate rejected, and why", "nclue construct --out bench --rejects"),
    invoke_without_command=True,
)  # fmt: skip
@pages_option()
@click.option("--corpus", metavar="FILE", type=InputPath(),
              help="The documents: one JSON object a line with doc_id and source.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path, file_okay=False),
              help="Folder of the steps' files; the benchmark comes to OUT/release.")  # fmt: skip
@click.option("--settings", "--config", "config_path", metavar="FILE", type=InputPath(),
              help="Settings (TOML).")  # fmt: skip
@seed_option(None, "  [default: 11]")
@click.option("--steps", help="Only these, separated by commas.  [default: all]")
@click.option("--judge-url", metavar="URL",
              help="Language model that judges conditions and items: …/chat/completions or "
              "…/messages. Its key is read from $NCLUE_JUDGE_KEY.")  # fmt: skip
@click.option("--judge-model", metavar="NAME", help="Name of the model.")
@click.option("--judge-protocol", type=click.Choice(["openai", "anthropic"]),
              help="If the address does not tell.")  # fmt: skip
@click.option("--judge-frozen", is_flag=True, help="Only use replies cached in OUT/judge_cache.")
@click.option("--rejects", is_flag=True, help="List what the gate rejected, and stop.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    pages: Path | None,
    corpus: Path | None,
    out: Path | None,
    config_path: Path | None,
    seed: int | None,
    steps: str | None,
    judge_url: str | None,
    judge_model: str | None,
    judge_protocol: str | None,
    judge_frozen: bool,
    rejects: bool,
    as_json: bool,
) -> None:
    """Build a benchmark from page texts: --pages DIR --corpus FILE --out DIR.

    Steps: mine, cluster, search, gate, compose, verify, select, emit. A step whose inputs and
    settings have not changed is skipped, so that the command can be stopped and run again.
    Without a judge the gate is the rules alone; the release says which gate was used.
    """
    if ctx.invoked_subcommand is not None:
        return
    if out is None:
        raise UsageError("--out is missing: nclue construct --pages DIR --corpus FILE --out DIR")
    if rejects:
        _list_rejects(out, as_json)
        return
    if pages is None or corpus is None:
        lacking = "--pages" if pages is None else "--corpus"
        raise UsageError(
            f"{lacking} is missing: nclue construct --pages DIR --corpus FILE --out DIR"
        )
    from nclue_construct.corpus_rows import read_corpus
    from nclue_construct.pipeline import STEPS, Construction

    config = _settings(config_path, seed)
    judge = _judge(judge_url, judge_model, judge_protocol, judge_frozen, out)
    made = Construction(_ocr_folder(pages), read_corpus(corpus), out, config, judge, say)
    made.run(steps.split(",") if steps else STEPS)
    files = sorted(path.name for path in out.glob("*.jsonl"))
    release = out / "release"
    if as_json:
        print_json({"out": str(out), "files": files, "release": str(release)})
    else:
        click.echo(f"{release}\nnext: nclue check {release}")


@subcommand(
    "audit-sample",
    ("Ten decisions of mini, with the lines nearest to the condition",
     "nclue audit-sample --pages corpus -n 10 --lines"),
    ("A hundred of your own benchmark, as JSON",
     "nclue audit-sample --release bench/release --pages own --json"),
)  # fmt: skip
@collection_options
@pages_option(required=True)
@click.option("-n", "n", type=click.IntRange(2), default=100, show_default=True,
              help="Decisions to draw.")  # fmt: skip
@seed_option(11)
@click.option("--lines", is_flag=True, help="Only the nearest lines, not the whole pages.")
@json_option
def audit_sample(
    collection: str | None,
    release: str | None,
    pages: Path,
    n: int,
    seed: int,
    lines: bool,
    as_json: bool,
) -> None:
    """Draw (query, document, condition) decisions to be read by a person.

    Half are absences among the subsets that runs rank highest: the pages nearest in words are
    printed. The others are positives, each with one of the pages said to hold the condition.
    """
    from nclue_construct.audit_sample import count_kinds, sample_decisions

    found = open_collection(collection, release)
    decisions = sample_decisions(found, n, seed)
    if as_json:
        print_json([decision.to_json() for decision in decisions])
        return
    for decision in decisions:
        _show(decision, _ocr_folder(pages), lines)
    kinds = count_kinds(decisions)
    say(f"{kinds['absent']} absent, {kinds['present']} present")


command.add_command(audit_sample)


def _show(decision: SampledDecision, folder: Path, lines: bool) -> None:
    from nclue_construct.audit_sample import nearby_lines, pages_to_read

    what = f"page {decision.page}" if decision.page else "absent"
    click.echo(f"\n=== {decision.query_id}  {decision.doc_id}  {decision.condition!r}  {what}")
    for page in pages_to_read(decision, _pages_of(folder, decision.doc_id)):
        text = "\n".join(nearby_lines(page, decision.condition)) if lines else page.body
        click.echo(f"--- page {page.page}\n{text}")


def _pages_of(folder: Path, doc_id: str) -> list[ZonedPage]:
    from nclue_construct.zones import zone_document
    from nclue_core.pages import read_document

    return list(zone_document(read_document(folder, doc_id)))


def _ocr_folder(pages: Path) -> Path:
    """The folder itself, or the one ``ocr_<engine>`` in it."""
    inside = sorted(path for path in pages.glob("ocr_*") if path.is_dir())
    if len(inside) > 1:
        names = ", ".join(path.name for path in inside)
        raise UsageError(f"{pages} holds {names}: name one of them with --pages")
    return inside[0] if inside else pages


def _settings(path: Path | None, seed: int | None) -> ConstructConfig:
    from dataclasses import replace

    from nclue_construct.config import read_config

    config = read_config(path)
    if seed is None:
        return config
    compose, select = replace(config.compose, seed=seed), replace(config.select, seed=seed)
    return replace(config, seed=seed, compose=compose, select=select)


def _judge(
    url: str | None, model: str | None, protocol: str | None, frozen: bool, out: Path
) -> LlmJudge | None:
    if url is None:
        if model or protocol or frozen:
            raise UsageError("--judge-model, --judge-protocol and --judge-frozen need --judge-url")
        return None
    from nclue_construct.judge_client import JudgeClient, make_endpoint
    from nclue_construct.llm_judge import LlmJudge

    endpoint = make_endpoint(url, model or "", protocol)
    return LlmJudge(JudgeClient(endpoint, out / "judge_cache", frozen))


def _list_rejects(out: Path, as_json: bool) -> None:
    from nclue_construct.pipeline import rejected
    from nclue_core.jsonl import read_jsonl

    rows = rejected(row.value for row in read_jsonl(out / "gate.jsonl"))
    if as_json:
        print_json(rows)
        return
    for row in rows:
        click.echo(f"{row['verdict']}\t{row['rule']}\t{row['name']}\t{row['detail']}")
    counts = Counter(row["rule"] for row in rows)
    say(", ".join(f"{rule} {count}" for rule, count in counts.most_common()))
