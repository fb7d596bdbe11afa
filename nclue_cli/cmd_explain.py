"""``nclue explain``: why a document is gold, a subset or neither for a query."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nclue_cli.options import collection_options, json_option
from nclue_cli.output import print_json
from nclue_cli.page_folders import pages_of, pages_option
from nclue_core.errors import UsageError

if TYPE_CHECKING:
    from nclue_construct.explain import ConditionReport, Explanation


@click.command(name="explain")
@click.argument("query_id", metavar="QUERY")
@click.argument("doc_id", metavar="DOC")
@pages_option
@collection_options
@json_option
def command(
    query_id: str,
    doc_id: str,
    pages: Path | None,
    config: str | None,
    release: Path | None,
    as_json: bool,
) -> None:
    """Show per condition the pages that hold it, with the line around the match.

    The lines come from your local page texts; a release holds none. Places that do not count
    (tables of contents, reference lists, parts of longer names) are shown as such.
    """
    from nclue_construct.explain import explain_judgment
    from nclue_dataset.collections import load_collection

    collection = load_collection(config or (None if release else "mini"), release)
    if all(document.doc_id != doc_id for document in collection.corpus):
        raise UsageError(f"no document is called {doc_id!r} in the collection {collection.name}")
    report = explain_judgment(collection, query_id, doc_id, pages_of(collection, pages))
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
