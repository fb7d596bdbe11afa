"""Files of a call: on a disk that worker and caller share, or carried to the worker and back."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from nclue_core.files import atomic_write
from nclue_reconstruct.outcome import DocumentOutcome


@dataclass(frozen=True)
class InFile:
    """An argument: a file that is read."""

    path: Path


@dataclass(frozen=True)
class OutFolder:
    """An argument: a folder that results are written into."""

    path: Path


Files = dict[str, bytes]  # by their path below the folder


def in_place(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with the paths themselves: the disk is shared."""
    return tuple(a.path if isinstance(a, (InFile, OutFolder)) else a for a in arguments)


def carried(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with contents instead of files, to be sent to another machine."""
    return tuple(a.path.read_bytes() if isinstance(a, InFile) else a for a in arguments)


def run_apart(
    run: Callable[[tuple[Any, ...]], DocumentOutcome], arguments: tuple[Any, ...]
) -> tuple[DocumentOutcome, Files]:
    """Run with carried arguments in a temporary folder; returns what was written there, too."""
    with tempfile.TemporaryDirectory(prefix="nclue_") as name:
        out = Path(name) / "out"
        out.mkdir()
        placed = tuple(_placed(Path(name), out, a) for a in arguments)
        outcome = run(placed)
        files = (path for path in out.rglob("*") if path.is_file() and path.suffix != ".tmp")
        return outcome, {path.relative_to(out).as_posix(): path.read_bytes() for path in files}


def _placed(folder: Path, out: Path, argument: Any) -> Any:
    if isinstance(argument, OutFolder):
        return out
    if isinstance(argument, bytes):
        path = folder / "document.pdf"
        path.write_bytes(argument)
        return path
    return argument


def keep(files: Mapping[str, bytes], arguments: tuple[Any, ...]) -> None:
    """Write what came back below the folder among the arguments, each file whole.

    Raises:
        ValueError: A path that leaves the folder.
    """
    out = next(a.path for a in arguments if isinstance(a, OutFolder))
    for name, content in files.items():
        relative = PurePosixPath(name)
        if relative.is_absolute() or ".." in relative.parts:
            raise ValueError(f"a worker returned a file outside its folder: {name!r}")
        with atomic_write(out.joinpath(*relative.parts)) as stream:
            stream.write(content)
