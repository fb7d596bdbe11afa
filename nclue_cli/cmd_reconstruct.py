"""``nclue reconstruct``: PDFs, pages and page texts on the user's own disk."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import Field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nclue_cli.options import (
    collection_options,
    json_option,
    open_collection,
    subcommand,
)
from nclue_cli.output import Lines, is_quiet, print_json, progress, say
from nclue_core.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from nclue_core.schema import CorpusDocument
    from nclue_dataset.release import Collection
    from nclue_reconstruct.read.engine import Engine
    from nclue_reconstruct.run.fetching import PmcServices
    from nclue_reconstruct.run.progress import Tell
    from nclue_reconstruct.run.workspace import Workspace

STEPS = ("run", "fetch", "verify", "render", "ocr", "pages", "status")
DEFAULT_DPI = 200


def _engine_options(command: click.Command) -> click.Command:
    """Options of all OCR engines, as these state them: --ocr, --lang, --tier and so on."""
    from nclue_reconstruct.read import engines
    from nclue_reconstruct.read.engine import options_of

    found: dict[str, dict[str, Field[Any]]] = {}
    for name, engine in engines.known().items():
        for one in options_of(engine):
            found.setdefault(one.name, {})[name] = one
    kinds = "; ".join(f"{name}: {engine.needs}" for name, engine in engines.known().items())
    command.params[5:5] = [
        click.Option(["--ocr", "ocr_engine"], type=click.Choice(engines.names()), default="auto",
                     show_default=True, help="auto: MinerU where ready, else Tesseract. Needs: "
                     f"{kinds}."),
        click.Option(["--ocr-missing"], type=click.Choice(engines.fillers()),
                     help="With --ocr text: engine for pages without a text layer."),
        *(_engine_option(by_engine) for by_engine in found.values()),
    ]  # fmt: skip
    return command


def _engine_option(by_engine: dict[str, Field[Any]]) -> click.Option:
    one = next(iter(by_engine.values()))
    flag = "--" + one.name.removesuffix("_s").replace("_", "-")
    choices, kind = one.metadata["choices"], type(one.default)
    kinds: dict[type, Any] = {float: click.FloatRange(0, min_open=True)}
    allowed = click.Choice(choices) if choices else kinds.get(kind, kind)
    if one.name == "dpi":  # of rendering, too
        allowed = click.IntRange(30, 1200)
    defaults = ", ".join(f"{name}: {field.default}" for name, field in by_engine.items())
    explained = f"{one.metadata['explained']}.  [defaults: {defaults}]"
    return click.Option([flag, one.name], type=allowed, help=explained)


@_engine_options
@subcommand(
    "reconstruct",
    ("The first five source PDFs of mini, and the text of their pages",
     "nclue reconstruct mini --out corpus --limit 5 --ocr text"),
    ("What is there and what failed", "nclue reconstruct status mini --out corpus"),
)  # fmt: skip
@click.argument("words", nargs=-1, metavar="[STEP] [COLLECTION]")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True,
              help="Folder of the reconstruction; an earlier one is continued.")  # fmt: skip
@collection_options
@click.option("--docs", metavar="ID,…", help="Only these documents.")
@click.option("--limit", type=click.IntRange(1),
              help="Only so many: golds first, then those that most queries judge.")  # fmt: skip
@click.option("--images", is_flag=True, help="run: also keep rendered pages as PNG.")
@click.option("--write-md", is_flag=True, help="pages: also one Markdown file per document.")
@click.option("--mirror", metavar="DIR|URL",
              help="Take <doc_id>.pdf from here; hashes are checked all the same.")  # fmt: skip
@click.option("--resolve-pmc-oa", is_flag=True,
              help="Look for PMC articles in the services of PMC, too.")  # fmt: skip
@click.option("--pmc-service", metavar="URL", help="Another base address of that service.")
@click.option("--pmc-oa-service", metavar="URL",
              help="The same of the older oa service (retired in 2026), asked last.")  # fmt: skip
@click.option("--contact", metavar="ADDRESS", help="Who you are, for the servers' owners.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(1), default=1800, show_default=True,
              help="Seconds for fetching one document, all tries and waits together.")  # fmt: skip
@click.option("--jobs", type=click.IntRange(1), help="Processes at once.  [default: cores]")
@click.option("--executor", type=click.Choice(["local", "process", "ray"]), default="process",
              show_default=True, help="What runs rendering and OCR: one by one, in --jobs "
              "processes, or on a Ray cluster.")  # fmt: skip
@click.option("--engine", "old_executor", type=click.Choice(["local", "ray"]), hidden=True)
@click.option("--ray-address", metavar="ADDRESS", help="Of a running Ray cluster.")
@click.option("--ray-cpus", type=click.FloatRange(0.01), default=1, show_default=True,
              help="What Ray sets aside for a document.")  # fmt: skip
@click.option("--ray-gpus", type=click.FloatRange(0), default=0, show_default=True,
              help="The same, for MinerU.")  # fmt: skip
@click.option("--ray-storage", type=click.Choice(["shared", "node"]), default="shared",
              show_default=True,
              help="node: machines don't share --out, files travel with the tasks.")  # fmt: skip
@click.option("--rehash", is_flag=True, help="Hash PDFs that are there again.")
@click.option("--allow-private", is_flag=True, help="Also fetch from private addresses.")
@click.option("--dry-run", is_flag=True, help="Say what would be done.")
@json_option
def command(words: tuple[str, ...], out: Path, as_json: bool, **options: Any) -> int:
    """Fetch the source PDFs of a collection, verify them, and read their pages.

    STEP is run (the default: fetch, ocr, pages), or one of fetch, verify, render, ocr, pages,
    status alone. COLLECTION is mini, crosspage or sourceshift, or a name in --release.

    Everything can be interrupted and continued: what is there and right is not made again. A
    document that fails does not stop the others; status says why. Exit code 1 if any failed.
    Page texts stay on this machine: no command exports them.
    """
    from nclue_reconstruct.run.workspace import Workspace, chosen, summary

    step, name = _step_and_name(words)
    collection = _collection(name, options["collection"], options["release"])
    ids = _ids(options["docs"] or "", collection.corpus)
    documents = chosen(collection.corpus, ids, options["limit"], collection.qrels["final"])
    _say_limit(documents, collection, options["limit"])
    if options["dry_run"]:
        _say_plan(documents, out, step, options)
        return int(ExitCode.OK)
    workspace = Workspace(out.absolute())  # workers on other machines have other folders
    if step != "status":
        with workspace.told_disk(), workspace.locked():
            _run_step(step, collection, documents, workspace, options)
    result = summary(workspace, documents)
    if as_json:
        print_json(result)
    else:
        _print_summary(result, told=step in ("run", "fetch"))
    if step in ("run", "fetch") and _nothing_reached(documents, workspace):
        return int(ExitCode.NETWORK)
    failed = any(counts["failed"] for counts in result["steps"].values())
    return int(ExitCode.FAILED if failed else ExitCode.OK)


def _step_and_name(words: tuple[str, ...]) -> tuple[str, str | None]:
    step = words[0] if words and words[0] in STEPS else None
    names = words[1:] if step else words
    if len(names) > 1:
        raise UsageError(f"expected [STEP] COLLECTION, found {' '.join(words)}")
    return step or "run", names[0] if names else None


def _ids(text: str, corpus: Iterable[CorpusDocument]) -> list[str]:
    """IDs between commas; a document whose ID has commas stands alone."""
    if any(document.doc_id == text for document in corpus):
        return [text]
    return [doc_id for doc_id in text.split(",") if doc_id]


def _collection(word: str | None, option: str | None, release: str | None) -> Collection:
    if word and option:
        raise UsageError(f"the collection is named twice: {word}, and --collection {option}")
    if not (word or option or release):
        raise UsageError("name a collection, for example: nclue reconstruct mini --out corpus")
    return open_collection(word or option, release)


def _run_step(
    step: str,
    collection: Collection,
    documents: list[CorpusDocument],
    workspace: Workspace,
    options: dict[str, Any],
) -> None:
    from nclue_reconstruct.run import pipeline
    from nclue_reconstruct.run.executors import Cluster

    jobs = options["jobs"] or os.cpu_count() or 1
    parallel = pipeline.Parallel(
        jobs,
        _executor(options),
        cluster=Cluster(
            options["ray_address"],
            options["ray_cpus"],
            options["ray_gpus"],
            options["ray_storage"],
        ),
    )
    # Missing programs are found before anything is fetched.
    engine = _engine(options) if step in ("run", "ocr") else None
    if step in ("run", "fetch"):
        with _told("fetch", documents) as tell, _fetcher(options) as fetcher:
            pipeline.fetch_documents(
                documents,
                workspace,
                fetcher,
                mirror=options["mirror"],
                pmc_services=_pmc_services(options),
                tell=tell,
            )
    if step == "verify":
        with _told("verify", documents) as tell:
            pipeline.verify_documents(documents, workspace, tell=tell)
    if step == "render" or (step == "run" and options["images"]):
        dpi = options["dpi"] or DEFAULT_DPI
        ready = _ready(step, documents, workspace)
        with _told("render", ready) as tell:
            pipeline.render_documents(
                ready, workspace, dpi=dpi, parallel=parallel, tell=tell, say=say
            )
    if engine is not None:
        ready = _ready(step, documents, workspace)
        with _told("ocr", ready) as tell:
            pipeline.ocr_documents(ready, workspace, engine, parallel=parallel, tell=tell, say=say)
    if step in ("run", "pages"):
        folder = workspace.ocr(engine.name) if engine else _page_texts(workspace, options)
        _write_pages(collection, workspace, folder, options["write_md"])
    elif engine is not None:
        _say_if_stale(workspace, workspace.ocr(engine.name))


def _executor(options: dict[str, Any]) -> str:
    """As named; by the old name of the option, "local" was what "process" is."""
    old: str | None = options["old_executor"]
    if old is None:
        return str(options["executor"])
    new = "ray" if old == "ray" else "process"
    say(f"--engine is now --executor (--engine {old}: --executor {new}); the old name will go")
    return new


def _ready(
    step: str, documents: list[CorpusDocument], workspace: Workspace
) -> list[CorpusDocument]:
    """The documents that a step can work on: a count of others would promise what cannot come."""
    from nclue_reconstruct.run import pipeline

    ready = [document for document, _, _ in pipeline.fetched(documents, workspace)]
    left_out = len(documents) - len(ready)
    if left_out and step != "run":  # a run has just told of each
        say(f"{left_out:,} of {len(documents):,} documents have no verified PDF: left out")
    return ready


def _page_texts(workspace: Workspace, options: dict[str, Any]) -> Path:
    """The folder that `pages` reads: of the engine that is named, else the only one."""
    if options["ocr_engine"] != "auto":
        return workspace.ocr(options["ocr_engine"])
    found = sorted(path for path in workspace.root.glob("ocr_*") if path.is_dir())
    if len(found) > 1:
        names = ", ".join(path.name.removeprefix("ocr_") for path in found)
        raise UsageError(f"there are page texts of several engines: name one with --ocr ({names})")
    return found[0] if found else workspace.ocr("auto")


def _pmc_services(options: dict[str, Any]) -> PmcServices | None:
    from nclue_reconstruct.fetch.pmc import CLOUD_SERVICE
    from nclue_reconstruct.fetch.pmc_packages import OA_SERVICE
    from nclue_reconstruct.run.fetching import PmcServices

    cloud, oa = options["pmc_service"], options["pmc_oa_service"]
    if options["resolve_pmc_oa"]:
        return PmcServices(cloud or CLOUD_SERVICE, oa or OA_SERVICE)
    return PmcServices(cloud or CLOUD_SERVICE, oa) if cloud or oa else None


def _fetcher(options: dict[str, Any]) -> Any:
    from nclue_reconstruct.fetch.transfer import Fetcher, FetchSettings

    return Fetcher(
        FetchSettings(
            contact=options["contact"],
            rehash=options["rehash"],
            allow_private=options["allow_private"],
            total_timeout_s=options["timeout_s"],
        )
    )


def _nothing_reached(documents: list[CorpusDocument], workspace: Workspace) -> bool:
    """Whether no host could be reached; says what to do then."""
    from nclue_reconstruct.run.fetching import nothing_reached

    found = nothing_reached(documents, workspace)
    if found:
        say("nothing could be reached: see whether there is a network (or set the proxy), or take "
            "the PDFs from a folder or another address with --mirror DIR|URL")  # fmt: skip
    return found


def _say_limit(documents: list[CorpusDocument], collection: Collection, limit: int | None) -> None:
    if limit is not None and len(documents) < len(collection.corpus):
        ids = ", ".join(document.doc_id for document in documents[:5])
        more = ", …" if len(documents) > 5 else ""
        say(f"{len(documents)} of {len(collection.corpus)} documents: golds first, then those that "
            f"most queries judge ({ids}{more})")  # fmt: skip


def _engine(options: dict[str, Any]) -> Engine:
    from nclue_reconstruct.read import engines
    from nclue_reconstruct.read.engine import options_of

    name, filler = options["ocr_engine"], options["ocr_missing"]
    taken = [one.name for engine in engines.known().values() for one in options_of(engine)]
    given = {option: options[option] for option in dict.fromkeys(taken)}
    kinds = [engine for key, engine in engines.known().items() if key in (name, filler)]
    if options["images"] and not any(one.name == "dpi" for e in kinds for one in options_of(e)):
        given.pop("dpi", None)  # of the pictures alone
    if name == engines.AUTO and filler is None:
        engine, why = engines.choose_engine(**given)
        say(why)
    else:
        engine = engines.get_engine(name, ocr_missing=filler, **given)
    engine.check_ready()
    return engine


@contextlib.contextmanager
def _told(step: str, documents: list[CorpusDocument]) -> Iterator[Tell]:
    """A bar on a terminal, else a line now and then; and a line for each document that failed."""
    from nclue_reconstruct.run.progress import Event, Pace

    known = [document.n_pages for document in documents if document.n_pages is not None]
    reads_pages = step in ("ocr", "render") and len(known) == len(documents)
    pace = Pace(step, len(documents), sum(known) if reads_pages else None)
    with progress(by_text=True) as bar:
        task = bar.add_task(pace.text(), total=pace.n_pages or pace.n_documents or None)
        lines = Lines(quiet=bar.console.is_terminal or is_quiet())
        told: set[str] = set()  # what holds for a whole host is said once

        def tell(event: Event) -> None:
            pace.add(event)
            done = pace.pages if pace.n_pages else pace.documents
            bar.update(task, description=pace.text(), completed=done)
            is_told = step == "fetch" and event.reason in told
            if event.state not in (None, "ok") and not is_told:
                told.add(event.reason)
                message = f"{step}: {event.doc_id}: {event.state}: {event.reason}"
                bar.console.print(message, markup=False, soft_wrap=True)
            lines.now_and_then(pace.text)

        yield tell
    pace.end()
    say(pace.text())


def _say_if_stale(workspace: Workspace, folder: Path) -> None:
    """After `ocr` alone: the table, and what was prepared from it, are of earlier page texts."""
    from nclue_reconstruct.run.pages_out import PAGES_FILE, is_current

    table = workspace.root / PAGES_FILE
    if table.exists() and not is_current(table, folder):
        say(f"{table} is not of these page texts: `nclue reconstruct pages` makes it anew")


def _write_pages(
    collection: Collection, workspace: Workspace, folder: Path, write_md: bool
) -> None:
    from nclue_core.files import id_of_file_name, sha256_file
    from nclue_dataset.cache import prepare_tables
    from nclue_dataset.paths import remember_pages
    from nclue_reconstruct.run import pages_out
    from nclue_reconstruct.run.page_sets import mixed_settings

    if not folder.is_dir():
        say("no page texts yet, so no pages.parquet")
        return
    for line in mixed_settings(workspace.root, folder):
        say(line)
    path = workspace.root / pages_out.PAGES_FILE
    count = pages_out.write_pages_parquet(folder, path)
    if write_md:
        for name in sorted(item.name for item in folder.iterdir() if item.is_dir()):
            target = workspace.root / "markdown" / f"{name}.md"
            pages_out.write_markdown(folder, id_of_file_name(name), target)
    config = f"{collection.name}-pages"
    prepare_tables(
        config,
        "pages",
        lambda: pages_out.read_page_tables(path),
        pages_out.page_features(),
        sha256_file(path),
    )
    remember_pages(collection.name, workspace.root)
    say(f'{path}: {count:,} pages; load_dataset("nclue", "{config}") loads them on this machine')


def _say_plan(
    documents: list[CorpusDocument], out: Path, step: str, options: dict[str, Any]
) -> None:
    from nclue_reconstruct.run.fetching import judge, retired_place

    known = [document.n_bytes for document in documents if document.n_bytes is not None]
    pages = sum(document.n_pages or 0 for document in documents)
    click.echo(
        f"{step}: {len(documents)} documents into {out}; {sum(known) / 2**20:,.0f} MB known of "
        f"{len(known)}, {pages:,} pages known"
    )
    if step not in ("run", "fetch"):
        return
    for document in documents:
        verdict = judge(document, mirror=options["mirror"], allow_private=options["allow_private"])
        hint = retired_place(document)
        if verdict is not None:
            click.echo(f"  {document.doc_id}: {verdict.state}: {verdict.reason}")
        elif hint is not None and options["mirror"] is None:
            click.echo(f"  {document.doc_id}: {hint}")


def _print_summary(result: dict[str, Any], told: bool) -> None:
    """Counts per step; the reasons where they were not told before, each once."""
    click.echo(f"{result['out']}: {result['documents']} documents")
    for step, counts in result["steps"].items():
        click.echo(
            f"  {step:<14} done {counts['done']:>6}  failed {counts['failed']:>6}  "
            f"to do {counts['to_do']:>6}"
        )
        alike: dict[tuple[str, str], list[str]] = {}
        for doc_id, failure in counts["failures"].items():
            reason = "" if told and step == "fetch" else f": {failure['reason']}"
            alike.setdefault((failure["state"], reason), []).append(doc_id)
        for (state, reason), doc_ids in list(alike.items())[:20]:
            click.echo(f"    {', '.join(doc_ids[:5])}{_and_more(doc_ids[5:])}: {state}{reason}")
        if len(alike) > 20:
            click.echo(f"    and {len(alike) - 20} more reasons (--json lists all)")


def _and_more(doc_ids: list[str]) -> str:
    return f" and {len(doc_ids)} more" if doc_ids else ""
