"""What all commands share about printing: results on stdout, the rest on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
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


def progress(*, by_text: bool = False) -> Progress:
    """A progress bar on stderr; silent where stderr is no terminal.

    Args:
        by_text: The description says the numbers itself.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    text = TextColumn("{task.description}", markup=False)
    counts = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(
        *((BarColumn(20), text) if by_text else (text, *counts)),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )


class Lines:
    """Plain lines on stderr, not too many: for logs of long runs.

    Args:
        quiet: Say nothing; a bar does.
        every_s: Seconds between two lines, at least.
    """

    def __init__(self, *, quiet: bool, every_s: float = 10.0) -> None:
        self._quiet = quiet
        self._every_s = every_s
        self._last = time.monotonic()

    def now_and_then(self, text: Callable[[], str]) -> None:
        """Say it, unless the last line is too fresh."""
        if not self._quiet and time.monotonic() - self._last >= self._every_s:
            self._last = time.monotonic()
            say(text())
