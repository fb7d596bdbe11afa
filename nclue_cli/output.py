"""What all commands share about printing: results on stdout, the rest on stderr.

No output may fail for what it holds: what a stream cannot encode becomes ASCII, on consoles and
in pipes of every system. Files are UTF-8 always.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from nclue_core.jsonl import dump_json

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress

    from nclue_dataset.scoring import CheckedRun

QUIET, NORMAL, VERBOSE = -1, 0, 1
_level = NORMAL
# What looks like a character, where NFKD does not say it.
_ASCII = dict(zip("█▓▒░·—\u2013\u2212\u00d7≤≥“”\u2018\u2019•", "##=-.---x<>\"\"''*"))
_ASCII |= {"→": "->", "±": "+-", "…": "..."}


def set_level(level: int) -> None:
    """How much is said on stderr in this run of the command."""
    global _level
    _level = level


def is_quiet() -> bool:
    """Whether only warnings and errors are wanted."""
    return _level <= QUIET


def is_verbose() -> bool:
    """Whether details are wanted."""
    return _level >= VERBOSE


def degrade_streams() -> None:
    """Let stdout and stderr write ASCII for what their encoding does not have."""
    codecs.register_error("nclue", _in_ascii)
    codecs.register(_ascii_codec)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # click takes a stream that says "ascii" for a mistake, and writes UTF-8 into it.
            is_ascii = codecs.lookup(stream.encoding).name == "ascii"
            encoding = "nclue_ascii" if is_ascii else stream.encoding
            stream.reconfigure(encoding=encoding, errors="nclue")


def _ascii_codec(name: str) -> codecs.CodecInfo | None:
    if name != "nclue_ascii":
        return None
    found = codecs.lookup("ascii")
    return codecs.CodecInfo(
        found.encode, found.decode, found.streamreader, found.streamwriter,
        found.incrementalencoder, found.incrementaldecoder, name,
    )  # fmt: skip


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(map(_ascii_of, text)), error.end


def _ascii_of(char: str) -> str:
    """A character in ASCII: what looks like it, its letter without marks, or its number."""
    plain = unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode()
    return _ASCII.get(char) or plain or char.encode("ascii", "backslashreplace").decode()


def flush() -> None:
    """Write out what waits in the buffers, so that a full disk is noticed while it can be told."""
    sys.stdout.flush()


def abandon(stream: TextIO) -> None:
    """Nothing more can be written there: spare the interpreter from trying again at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def json_text(value: Any) -> str:
    """A result as JSON (undefined values are null); ASCII where stdout is not UTF-8."""
    encoding = codecs.lookup(getattr(sys.stdout, "encoding", None) or "utf-8").name
    return dump_json(value, ascii_only=encoding != "utf-8")


def print_json(value: Any) -> None:
    """Print a result as JSON."""
    click.echo(json_text(value))


def deliver(text: str, out: Path | None) -> None:
    """Print a result, or write it into the file of ``--out``."""
    if out is None:
        click.echo(text)
        return
    from nclue_core.files import write_text

    write_text(out, text + "\n")
    say(f"wrote {out}")


def say(message: str) -> None:
    """A message for the person at the terminal (stderr); not with ``-q``."""
    if not is_quiet():
        click.echo(message, err=True)


def warn(message: str) -> None:
    """What a reader of the results has to know (stderr)."""
    click.echo(message, err=True)


def tell(runs: Iterable[CheckedRun]) -> None:
    """Say what is odd about runs; with ``-v`` with all names."""
    for run in runs:
        for note in run.notes(whole=is_verbose()):
            warn(f"{run.name}: {note}")


def as_text(*items: RenderableType) -> str:
    """Tables of rich as plain lines, as wide as the terminal (120 characters elsewhere)."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else 120
    console = Console(file=io.StringIO(), width=width, highlight=False, emoji=False)
    with console.capture() as captured:
        for item in items:
            console.print(item, soft_wrap=isinstance(item, str), markup=False)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def progress(*, by_text: bool = False) -> Progress:
    """A progress bar on stderr; silent where stderr is no terminal, and with ``-q``.

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
        disable=not console.is_terminal or is_quiet(),
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
