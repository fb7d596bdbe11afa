"""``nclue check``: everything that is wrong with a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nclue_cli.options import (
    json_option,
    mapping_option,
    release_folder,
    release_option,
    subcommand,
)
from nclue_cli.output import as_text, print_json
from nclue_core.errors import ExitCode, UsageError, location

if TYPE_CHECKING:
    from nclue_dataset.check import CheckReport, Finding
    from nclue_dataset.facts import Comparison

SHOWN = 5  # findings of a group, unless all are asked for


@subcommand(
    "check",
    ("A release that `nclue construct` made", "nclue check bench/release"),
    ("A copy of the published collection, whose grades are called rel",
     "nclue check n_clue.zip --map grade=rel --claim crosspage"),
)  # fmt: skip
@click.argument("path", required=False, metavar="[PATH|URL]")
@release_option
@mapping_option
@click.option("--claim", type=click.Choice(["crosspage", "sourceshift"]),
              help="Compare with the published counts of this collection.")  # fmt: skip
@click.option("--all", "show_all", is_flag=True, help="Show every finding of a group.")
@json_option
def command(
    path: str | None,
    release: str | None,
    mapping: dict[str, str],
    claim: str | None,
    show_all: bool,
    as_json: bool,
) -> int:
    """Validate a release directory and list everything that is wrong, with file and line.

    PATH is the release, as for --release.
    A collection called crosspage or sourceshift is also compared with the published counts.
    Exit code 1 if there are errors; warnings alone give 0.
    """
    from nclue_dataset.check import check_release

    if (path is None) == (release is None):
        raise UsageError("name one release: nclue check PATH")
    with release_folder(path or release) as folder:
        assert folder is not None  # noqa: S101 - one of the two is given
        report = check_release(folder, mapping, claim)
    if as_json:
        print_json(report.to_json())
    else:
        _print_report(report, None if show_all else SHOWN)
    return int(ExitCode.FAILED if report.errors else ExitCode.OK)


def _print_report(report: CheckReport, limit: int | None) -> None:
    for name, counts in report.collections.items():
        rows = ", ".join(f"{table} {count:,}" for table, count in counts.items())
        click.echo(f"{name}: {rows}")
    for findings in report.grouped.values():
        _print_group(findings, limit)
    if report.facts:
        _print_facts(report.facts)
    errors = len(report.errors)
    warnings = len(report.findings) - errors
    click.echo(f"{errors:,} errors, {warnings:,} warnings")


def _print_group(findings: list[Finding], limit: int | None) -> None:
    first = findings[0]
    click.echo(f"\n{first.severity} {first.code} ({len(findings):,})")
    for finding in findings[:limit]:
        click.echo(f"  {location(finding.path, finding.line)}{finding.message}")
    if limit is not None and len(findings) > limit:
        click.echo(f"  and {len(findings) - limit:,} more (--all shows them)")


def _print_facts(facts: list[Comparison]) -> None:
    from rich.table import Table
    from rich.text import Text

    from nclue_dataset.facts import published_facts

    table = Table(box=None, pad_edge=False, title_justify="left")
    for column in ("collection", "count", "published", "found", ""):
        table.add_column(column, overflow="fold")
    for fact in facts:
        mark = "" if fact.agrees else "differs"
        cells = (fact.collection, fact.name, _shown(fact.claimed), _shown(fact.found), mark)
        table.add_row(*map(Text, cells))
    click.echo(f"\nPublished counts: {published_facts()['citation']}")
    click.echo(as_text(table))


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {count}" for key, count in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
