"""``nclue doctor``: what is installed and ready, and what to do about what is not."""

from __future__ import annotations

from dataclasses import asdict

import click

from nclue_cli.options import json_option, subcommand
from nclue_cli.output import print_json


@subcommand(
    "doctor",
    ("What is ready on this machine", "nclue doctor"),
    ("The same for a script", "nclue doctor --json"),
)
@json_option
def command(as_json: bool) -> None:
    """Say what is installed and ready, and what to do about the rest.

    Nothing is installed, downloaded or changed. Parts that are missing are no failure: the
    kit needs them only for what stands beside them.
    """
    from nclue_cli.doctor import examine

    findings = examine()
    if as_json:
        print_json([asdict(finding) for finding in findings])
        return
    width = max(len(finding.part) for finding in findings)
    for finding in findings:
        mark = "ok " if finding.ready else "-- "
        click.echo(f"{mark}{finding.part:<{width}}  {finding.found}")
        if finding.remedy:
            click.echo(f"   {'':<{width}}  -> {finding.remedy}")
