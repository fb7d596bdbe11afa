"""``nclue run``: retrieval systems over local page texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nclue_cli.options import (
    InputPath,
    collection_options,
    form_option,
    json_option,
    open_collection,
    pages_option,
    seed_option,
    subcommand,
)
from nclue_cli.output import print_json, say, warn
from nclue_core.errors import UsageError
from nclue_core.schema import FORMS

if TYPE_CHECKING:
    from nclue_dataset.release import Collection
    from nclue_systems import CorpusIndex, Facts, SystemSpec


@subcommand(
    "run",
    ("Every lexical system over the texts of `nclue reconstruct mini --out corpus`",
     "nclue run all --collection mini --pages corpus --form all --out runs"),
    ("What systems there are", "nclue run --list"),
)  # fmt: skip
@click.argument("systems", nargs=-1, metavar="SYSTEM...")
@collection_options
@pages_option()
@form_option
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"),
              show_default=True, help="Folder of the runs.")  # fmt: skip
@click.option("--depth", type=click.IntRange(1), default=100, show_default=True,
              help="Documents per query, at most.")  # fmt: skip
@seed_option(11)
@click.option("--facts", "facts_path", metavar="FILE", type=InputPath(),
              help="Facts of the controls.  [default: the qrels' evidence]")  # fmt: skip
@click.option("--list", "list_them", is_flag=True, help="List the systems and what they are.")
@json_option
def command(
    systems: tuple[str, ...],
    collection: str | None,
    release: str | None,
    pages: Path | None,
    form: str,
    out: Path,
    depth: int,
    seed: int,
    facts_path: Path | None,
    list_them: bool,
    as_json: bool,
) -> None:
    """Run retrieval systems over local page texts and write OUT/FORM/SYSTEM.jsonl.

    Beside each run SYSTEM.run.json says what it was made from: system, settings, seed, collection,
    judgments, and how many of the documents had a text. `nclue score` reads it.

    SYSTEM is a name (see --list), rrf(a,b) for the reciprocal rank fusion of any two, `all` for
    the lexical systems, or `controls`. A fusion takes the runs of systems that are not built in
    from OUT/FORM/NAME.jsonl, or from the rankings that the collection holds. --form all runs
    all three forms.
    """
    from nclue_systems import SYSTEMS, expand_names

    if list_them:
        _list(list(SYSTEMS.values()), as_json)
        return
    specs = expand_names(systems)
    if not specs or pages is None:
        lacking = "SYSTEM" if not specs else "--pages"
        raise UsageError(f"{lacking} is missing: nclue run SYSTEM… --pages DIR (or --list)")
    from nclue_dataset.scoring import collection_judgments
    from nclue_systems.runs import write_runs

    found = open_collection(collection, release)
    texts = _texts(found, form)
    written = write_runs(
        specs,
        _index(found, pages),
        found.queries,
        texts,
        out,
        depth=depth,
        seed=seed,
        facts=_facts(found, specs, facts_path),
        read_run=lambda name, of_form: _read_run(found, out, name, of_form),
        collection=found.name,
        judgments=collection_judgments(found).content_hash[:12],
        progress=say,
    )
    if as_json:
        print_json([run.to_json() for run in written])
        return
    for run in written:
        empty = f", {run.n_empty} without any document" if run.n_empty else ""
        click.echo(f"{run.path}  {run.n_queries} queries{empty}")


def _list(specs: list[SystemSpec], as_json: bool) -> None:
    if as_json:
        print_json([{"system": s.name, "kind": s.kind, "definition": s.definition} for s in specs])
        return
    width = max(len(spec.name) for spec in specs)
    for spec in specs:
        click.echo(f"{spec.name:<{width}}  {spec.definition}{' (inferred)' * spec.inferred}")


def _index(collection: Collection, pages: Path) -> CorpusIndex:
    from nclue_dataset.paths import cache_dir
    from nclue_systems import load_index

    index = load_index(
        pages,
        [document.doc_id for document in collection.corpus],
        cache=cache_dir() / "indexes",
        progress=say,
    )
    n_silent = int((index.document_lengths() == 0).sum())
    if n_silent:
        warn(f"warning: {n_silent} of {len(index.doc_ids)} documents have no text in {pages}")
    return index


def _texts(collection: Collection, form: str) -> dict[str, dict[str, str]]:
    """The texts of the forms to run: what the collection holds, else the rendered form."""
    from nclue_dataset.scoring import check_form

    forms = FORMS if form == "all" else (form,)
    for each in forms:
        check_form(collection, each)
    return {each: collection.forms.get(each, {}) for each in forms}


def _facts(collection: Collection, specs: Sequence[SystemSpec], path: Path | None) -> Facts | None:
    from nclue_systems import CONTROLS, facts_from_qrels, read_facts

    controls = {spec.name for spec in CONTROLS}
    asked = {name for spec in specs for name in (spec.name, *spec.fused)}
    if not asked & controls:
        return None
    if path is not None:
        return read_facts(path)
    qrels = collection.qrels["final"]
    if not any(qrel.evidence for qrel in qrels):
        raise UsageError(
            f"the judgments of {collection.name} hold no evidence pages: the controls need --facts"
        )
    return facts_from_qrels(qrels)


def _read_run(
    collection: Collection, out: Path, name: str, form: str
) -> Mapping[str, Sequence[str]] | None:
    path = out / form / f"{name}.jsonl"
    if path.is_file():
        from nclue_metric.runs import read_run

        return read_run(path).rankings
    embedded = {
        item.query_id: item.doc_ids
        for item in collection.rankings
        if item.system == name and item.form == form
    }
    return embedded or None
