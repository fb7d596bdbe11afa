"""What all commands share about printing: results on stdout, the rest on stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from nclue_core.jsonl import dump_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


def print_json(value: Any) -> None:
    """Print a result as JSON (undefined values are null)."""
    click.echo(dump_json(value))


def say(message: str) -> None:
    """A message for the person at the terminal (stderr)."""
    click.echo(message, err=True)


def out_console(width: int | None = None) -> Console:
    """A rich console on stdout that neither wraps nor colours what goes into a file or pipe."""
    from rich.console import Console

    if width is None and not sys.stdout.isatty():
        width = 120
    return Console(width=width, highlight=False, soft_wrap=not sys.stdout.isatty())


def progress() -> Progress:
    """A progress bar on stderr; silent where stderr is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
