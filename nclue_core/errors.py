"""The kit's errors. A message says what was expected, what was found, where, and what to do.

    NClueError                 1   a job ended with findings or failures
    +-- UsageError             2   the call itself is wrong
    +-- InputError             3   a file or value cannot be understood (file, line, field)
    +-- MissingDependencyError 4   an extra or a program is not installed (names the command)
    +-- NetworkError           5   something could not be fetched

The numbers are the exit codes of the command ``nclue``; an interrupt gives 130.
"""

from __future__ import annotations

import enum
import importlib
from typing import Any


class ExitCode(enum.IntEnum):
    """Exit codes of the command ``nclue``."""

    OK = 0
    FAILED = 1
    USAGE = 2
    INPUT = 3
    MISSING = 4
    NETWORK = 5
    INTERRUPTED = 130


class NClueError(Exception):
    """Root of every error that the kit raises on purpose."""

    exit_code: ExitCode = ExitCode.FAILED


class UsageError(NClueError):
    """The call is wrong: an unknown name, options that exclude each other."""

    exit_code = ExitCode.USAGE


class InputError(NClueError):
    """A file or a value cannot be understood.

    Args:
        message: What was expected and what was found.
        path: The file, if there is one.
        line: Its 1-based line, if known.
    """

    exit_code = ExitCode.INPUT

    def __init__(self, message: str, *, path: object = None, line: int | None = None) -> None:
        self.message = message
        self.path = path
        self.line = line
        super().__init__(f"{location(path, line)}{message}")


class MissingDependencyError(NClueError):
    """An optional package or a program is not installed; the message names the command."""

    exit_code = ExitCode.MISSING


class NetworkError(NClueError):
    """Something could not be fetched."""

    exit_code = ExitCode.NETWORK


def location(path: object, line: int | None) -> str:
    """``"file:line: "``, ``"file: "`` or nothing, to stand before a message."""
    if path is None:
        return ""
    return f"{path}: " if line is None else f"{path}:{line}: "


def require(module: str, *, extra: str, purpose: str) -> Any:
    """Import an optional module, or say which command installs it.

    Args:
        module: Dotted name to import.
        extra: The extra of the distribution that brings it.
        purpose: What needs it, as the subject of a sentence ("BM25 retrieval").

    Raises:
        MissingDependencyError: The module is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as err:
        if err.name is None or err.name.partition(".")[0] != module.partition(".")[0]:
            raise  # installed, but one of its own imports is broken: not ours to explain away
        raise MissingDependencyError(
            f"{purpose} needs the package {module.partition('.')[0]!r}, which is not installed. "
            f'Install it with: pip install "nclue[{extra}]"'
        ) from err
