"""``nclue audit-sample``, also as ``nclue construct audit-sample``: decisions to be read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nclue_cli.options import (
    collection_options,
    json_option,
    open_collection,
    pages_option,
    seed_option,
    subcommand,
)
from nclue_cli.output import print_json, say, warn
from nclue_cli.page_folders import pages_of
from nclue_core.errors import ExitCode, InputError

if TYPE_CHECKING:
    from nclue_construct.audit_sample import SampledDecision
    from nclue_construct.zones import ZonedPage


@subcommand(
    "audit-sample",
    ("Ten decisions of mini, with the lines nearest to the condition",
     "nclue audit-sample -n 10 --lines"),
    ("A hundred of your own benchmark, as JSON",
     "nclue audit-sample --release bench/release --pages bench --json"),
)  # fmt: skip
@collection_options
@pages_option()
@click.option("-n", "n", type=click.IntRange(2), default=100, show_default=True,
              help="Decisions to draw.")  # fmt: skip
@seed_option(11)
@click.option("--lines", is_flag=True, help="Only the nearest lines, not the whole pages.")
@json_option
def command(
    collection: str | None,
    release: str | None,
    pages: Path | None,
    n: int,
    seed: int,
    lines: bool,
    as_json: bool,
) -> int:
    """Draw (query, document, condition) decisions to be read by a person.

    Half are absences among the subsets that runs rank highest: the pages nearest in words are
    printed. The others are positives, each with one of the pages said to hold the condition.
    Without --pages the texts are looked for where they were made. Exit code 1 if texts of some
    documents are missing: these decisions cannot be read.
    """
    from nclue_construct.audit_sample import count_kinds, sample_decisions

    found = open_collection(collection, release)
    decisions = sample_decisions(found, n, seed)
    folder = pages_of(found, pages)
    missing = _without_texts(decisions, folder)
    if as_json:
        print_json([{**d.to_json(), "has_text": d.doc_id not in missing} for d in decisions])
    else:
        for decision in decisions:
            _show(decision, folder, lines)
    kinds = count_kinds(decisions)
    say(f"{kinds['absent']} absent, {kinds['present']} present")
    if missing:
        lost = sum(decision.doc_id in missing for decision in decisions)
        warn(
            f"{lost} of {len(decisions)} decisions cannot be read: {folder} has no texts of "
            f"{len(missing)} documents, as {min(missing)} (`nclue reconstruct` makes them)"
        )
    return int(ExitCode.FAILED if missing else ExitCode.OK)


def _without_texts(decisions: Iterable[SampledDecision], folder: Path) -> set[str]:
    """The documents without page texts.

    Raises:
        InputError: There are none at all.
    """
    documents = {decision.doc_id for decision in decisions}
    missing = {doc_id for doc_id in documents if not _zoned(folder, doc_id)}
    if documents and missing == documents:
        raise InputError(
            f"no page texts of the {len(documents)} documents drawn, as {min(missing)}", path=folder
        )
    return missing


def _show(decision: SampledDecision, folder: Path, lines: bool) -> None:
    from nclue_construct.audit_sample import nearby_lines, pages_to_read

    what = f"page {decision.page}" if decision.page else "absent"
    click.echo(f"\n=== {decision.query_id}  {decision.doc_id}  {decision.condition!r}  {what}")
    zoned = _zoned(folder, decision.doc_id)
    shown = pages_to_read(decision, zoned)
    if not shown:
        nothing = "no page has a word of it" if zoned and not decision.page else "no page text"
        click.echo(f"({nothing})")
    for page in shown:
        text = "\n".join(nearby_lines(page, decision.condition)) if lines else page.body
        click.echo(f"--- page {page.page}\n{text}")


def _zoned(folder: Path, doc_id: str) -> list[ZonedPage]:
    from nclue_construct.zones import zone_document
    from nclue_core.pages import read_document

    return list(zone_document(read_document(folder, doc_id)))
