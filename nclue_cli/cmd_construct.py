"""``nclue construct``: a benchmark from one's own documents; ``audit-sample`` to check one."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nclue_cli.cmd_audit_sample import command as audit_sample
from nclue_cli.options import InputPath, json_option, pages_option, seed_option, subgroup
from nclue_cli.output import Lines, print_json, say, warn
from nclue_cli.page_folders import ocr_folder
from nclue_core.errors import UsageError

if TYPE_CHECKING:
    from nclue_construct.config import ConstructConfig
    from nclue_construct.llm_judge import LlmJudge
    from nclue_core.schema import CorpusDocument

_USAGE = "nclue construct --pdfs DIR --name NAME --out BENCH"
_OCR_ENGINES = ("text", "auto", "tesseract", "mineru")


@subgroup(
    "construct",
    ("A benchmark from a folder of PDFs, judged by rules alone", _USAGE),
    ("From page texts that are there",
     "nclue construct --pages own --corpus corpus.jsonl --name own --out bench"),
    ("What the gate rejected, and why", "nclue construct --out bench --rejects"),
    invoke_without_command=True,
)  # fmt: skip
@click.option("--pdfs", metavar="DIR", type=InputPath(directory=True),
              help="Your PDFs; a subfolder is a source of documents.")  # fmt: skip
@click.option("--name", metavar="NAME",
              help="Of the benchmark; its query IDs begin with it.")  # fmt: skip
@pages_option()
@click.option("--corpus", metavar="FILE", type=InputPath(),
              help="The documents: one JSON object a line with doc_id and source.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path, file_okay=False),
              help="Folder of the steps' files; the benchmark comes to OUT/release.")  # fmt: skip
@click.option("--ocr", "ocr_engine", type=click.Choice(_OCR_ENGINES), default="text",
              show_default=True, help="How --pdfs are read; text: their text layer.")  # fmt: skip
@click.option("--lang", default="eng", show_default=True, help="Languages, as Tesseract's.")
@click.option("--jobs", type=click.IntRange(1), help="Processes that read.  [default: cores]")
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
@click.option("--judge-max-tokens", type=click.IntRange(16), help="Of a reply.  [default: 1000]")
@click.option("--judge-token-field",
              type=click.Choice(["max_tokens", "max_completion_tokens", "none"]),
              help="Name of that limit; refused names are changed anyway.  "
              "[default: max_tokens]")  # fmt: skip
@click.option("--judge-temperature", metavar="T|none", help="[default: 0; left out if refused]")
@click.option("--judge-json", is_flag=True, help="Ask the server for JSON (response_format).")
@click.option("--judge-price", metavar="IN,OUT",
              help="Dollars per million tokens sent and received, for the cost.")  # fmt: skip
@click.option("--judge-frozen", is_flag=True, help="Only use replies cached in OUT/judge_cache.")
@click.option("--rejects", is_flag=True, help="List what the gate rejected, and stop.")
@json_option
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Build a benchmark from a folder of PDFs: --pdfs DIR --name NAME --out BENCH.

    The PDFs stay where they are. They are read once, into OUT/ocr_text; OUT/corpus.jsonl lists
    them with SHA-256, pages and bytes. Instead of --pdfs, --pages and --corpus name texts and
    documents that are there.

    Steps: mine, cluster, search, gate, compose, verify, select, emit. A step whose inputs and
    settings have not changed is skipped, so that the command can be stopped and run again.
    Without a judge the gate is the rules alone; the release says which gate was used. Exit code
    1 if no query comes out.
    """
    if ctx.invoked_subcommand is not None:
        return
    out = options["out"]
    if out is None:
        raise UsageError(f"--out is missing: {_USAGE}")
    if options["rejects"]:
        _list_rejects(out, options["as_json"])
        return
    _build(out, options)


command.add_command(audit_sample)


def _build(out: Path, options: dict[str, Any]) -> None:
    from nclue_construct.pipeline import STEPS, Construction

    _check_inputs(options)
    config = _settings(options)
    _check_place(out, config.name)
    judge = _judge(out, options)
    pages, corpus = _own_pdfs(out, config.name, options) if options["pdfs"] else _given(options)
    made = Construction(pages, corpus, out, config, judge, say)
    made.run(options["steps"].split(",") if options["steps"] else STEPS)
    files = sorted(path.name for path in out.glob("*.jsonl"))
    release = out / "release"
    if options["as_json"]:
        print_json({"out": str(out), "files": files, "release": str(release)})
    else:
        click.echo(f"{release}\nnext: nclue check {release}")


def _check_inputs(options: dict[str, Any]) -> None:
    if options["pdfs"]:
        if options["pages"] or options["corpus"]:
            raise UsageError("--pdfs makes the pages and the corpus: leave out --pages, --corpus")
        return
    for name in ("pages", "corpus"):
        if options[name] is None:
            raise UsageError(f"--{name} is missing (or --pdfs alone): {_USAGE}")


def _check_place(out: Path, name: str) -> None:
    """A folder holds one benchmark; another one does not silently take its place."""
    from nclue_dataset.layout import MANIFEST, read_manifest

    if (out / "release" / MANIFEST).is_file():
        there = read_manifest(out / "release").get("name")
        if there != name:
            raise UsageError(f"{out} holds the benchmark {there!r}: choose another --out")


def _given(options: dict[str, Any]) -> tuple[Path, list[CorpusDocument]]:
    from nclue_construct.corpus_rows import read_corpus

    return ocr_folder(options["pages"]), read_corpus(options["corpus"])


def _own_pdfs(out: Path, name: str, options: dict[str, Any]) -> tuple[Path, list[CorpusDocument]]:
    """Read the PDFs of a folder; the page texts and the rows of their documents."""
    from nclue_core.jsonl import write_jsonl
    from nclue_reconstruct.read.engines import get_engine
    from nclue_reconstruct.run.own_pdfs import find_pdfs, read_texts
    from nclue_reconstruct.run.progress import Event, Pace

    is_text = options["ocr_engine"] == "text"  # which knows no languages
    engine = get_engine(options["ocr_engine"], lang=None if is_text else options["lang"])
    engine.check_ready()
    documents, paths, left_out = find_pdfs(options["pdfs"], name)
    for line in left_out:
        warn(f"left out: {line}")
    n_pages = sum(document.n_pages or 0 for document in documents)
    say(f"{len(documents):,} PDFs with {n_pages:,} pages in {options['pdfs']}")
    pace, lines = Pace("read", len(documents), n_pages), Lines(quiet=False)

    def tell(event: Event) -> None:
        pace.add(event)
        lines.now_and_then(pace.text)

    jobs = options["jobs"] or os.cpu_count() or 1
    for line in read_texts(documents, paths, out, engine, jobs, tell):
        warn(f"not read whole: {line}")
    say(pace.text())
    write_jsonl(out / "corpus.jsonl", (document.to_json() for document in documents))
    return out / f"ocr_{engine.name}", documents


def _settings(options: dict[str, Any]) -> ConstructConfig:
    from dataclasses import replace

    from nclue_construct.config import read_config
    from nclue_dataset.names import own_name_reason

    config = read_config(options["config_path"])
    config = replace(config, name=options["name"] or config.name)
    if not config.name:
        raise UsageError(f"--name is missing: how the benchmark is called. {_USAGE}")
    reason = own_name_reason(config.name)
    if reason:
        raise UsageError(f"--name {config.name}: {reason}")
    seed = options["seed"]
    if seed is None:
        return config
    compose, select = replace(config.compose, seed=seed), replace(config.select, seed=seed)
    return replace(config, seed=seed, compose=compose, select=select)


def _judge(out: Path, options: dict[str, Any]) -> LlmJudge | None:
    if options["judge_url"] is None:
        given = [name for name, value in options.items() if name.startswith("judge_") and value]
        if given:
            raise UsageError(f"--{given[0].replace('_', '-')} needs --judge-url")
        return None
    from nclue_construct.judge_client import JudgeClient, make_endpoint
    from nclue_construct.judge_progress import JudgePace
    from nclue_construct.llm_judge import LlmJudge

    endpoint = make_endpoint(
        options["judge_url"], options["judge_model"] or "", options["judge_protocol"],
        **_request_options(options),
    )  # fmt: skip
    client = JudgeClient(endpoint, out / "judge_cache", options["judge_frozen"])
    lines = Lines(quiet=False)
    pace = JudgePace(client.usage, _prices(options["judge_price"]), lines.now_and_then)
    return LlmJudge(client, pace)


def _request_options(options: dict[str, Any]) -> dict[str, Any]:
    chosen: dict[str, Any] = {"json_mode": options["judge_json"]}
    if options["judge_max_tokens"]:
        chosen["max_tokens"] = options["judge_max_tokens"]
    if options["judge_token_field"]:
        field = options["judge_token_field"]
        chosen["token_field"] = None if field == "none" else field
    if options["judge_temperature"]:
        chosen["temperature"] = _temperature(options["judge_temperature"])
    return chosen


def _temperature(text: str) -> float | None:
    if text.lower() == "none":
        return None
    return _number(text, "--judge-temperature", "a number from 0 to 2, or none", most=2)


def _prices(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    numbers = [
        _number(part, "--judge-price", "two prices as 0.25,1.25") for part in text.split(",")
    ]
    if len(numbers) != 2:
        raise UsageError(f"--judge-price {text}: expected two prices as 0.25,1.25")
    return numbers[0], numbers[1]


def _number(text: str, option: str, expected: str, most: float = 1e6) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= most:
        raise UsageError(f"{option} {text}: expected {expected}")
    return value


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
