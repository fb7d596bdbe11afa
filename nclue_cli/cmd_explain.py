"""``nclue explain``: why a document is gold, a subset or neither for a query."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nclue_cli.options import (
    collection_options,
    json_option,
    open_collection,
    pages_option,
    subcommand,
)
from nclue_cli.output import print_json
from nclue_cli.page_folders import pages_of
from nclue_core.errors import UsageError

if TYPE_CHECKING:
    from nclue_construct.explain import ConditionReport, Explanation


@subcommand(
    "explain",
    ("A judgment of mini, with the texts of `nclue reconstruct mini --out corpus`",
     "nclue explain mini_0000 DOC"),
    ("One of your own benchmark, as JSON",
     "nclue explain QUERY DOC --pages own --release bench/release --json"),
)  # fmt: skip
@click.argument("query_id", metavar="QUERY")
@click.argument("doc_id", metavar="DOC")
@pages_option()
@collection_options
@json_option
def command(
    query_id: str,
    doc_id: str,
    pages: Path | None,
    collection: str | None,
    release: str | None,
    as_json: bool,
) -> None:
    """Show per condition the pages that hold it, with the line around the match.

    The lines come from your local page texts; a release holds none. Places that do not count
    (tables of contents, reference lists, parts of longer names) are shown as such. Without
    --pages the texts are looked for where they were made.
    """
    from nclue_construct.explain import explain_judgment

    found = open_collection(collection, release)
    if all(document.doc_id != doc_id for document in found.corpus):
        raise UsageError(f"no document is called {doc_id!r} in the collection {found.name}")
    report = explain_judgment(found, query_id, doc_id, pages_of(found, pages))
    if as_json:
        print_json(report.to_json())
        return
    _print(report)


def _print(report: Explanation) -> None:
    click.echo(f"{report.query_id}  {report.doc_id}: {report.label}, grade {report.grade}")
    click.echo(report.reason)
    for condition in report.conditions:
        _print_condition(condition)


def _print_condition(condition: ConditionReport) -> None:
    pages = ", ".join(map(str, condition.pages)) or "none"
    click.echo(f"\n{condition.condition!r}: pages {pages}")
    for quote in condition.quotes:
        mark = "" if quote.counts else "  (does not count)"
        line = f"…{quote.before}[{quote.match}]{quote.after}…"
        click.echo(f"  p. {quote.page}, {quote.where}{mark}: {line}")
    if condition.unseen:
        unseen = ", ".join(map(str, condition.unseen))
        click.echo(f"  not found in your page texts: page {unseen} (another text layer or engine?)")
