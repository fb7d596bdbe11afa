"""Run a program with a clock, and end it together with everything that it started."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple


class ProgramResult(NamedTuple):
    """How a program ended and what it wrote."""

    returncode: int  # negative: the signal that ended it
    stdout: bytes
    stderr: bytes

    @property
    def last_words(self) -> str:
        """The end of what it wrote on stderr (else stdout), on one line."""
        text = (self.stderr.strip() or self.stdout.strip()).decode("utf-8", "replace")
        line = " ".join(text.split()[-60:])
        return line if len(line) <= 300 else f"…{line[-299:]}"


def run_program(
    arguments: Sequence[str],
    *,
    timeout_s: float,
    stdin: bytes | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    unlimited_memory: bool = False,
) -> ProgramResult:
    """Run a program in a process group of its own.

    Args:
        arguments: Program and arguments; no shell is involved.
        timeout_s: Wall clock limit; then the program and all its descendants are killed.
        stdin: Bytes for it, else it reads nothing.
        env: The whole environment; ours by default.
        cwd: Where it runs.
        unlimited_memory: Lift a memory limit of this process for it (`limits.Worker`).

    Raises:
        TimeoutError: The limit was reached. Nothing of the program runs any more.
        FileNotFoundError: There is no such program.
    """
    # Files, not pipes: nobody blocks when a left-over grandchild keeps a pipe open.
    with contextlib.ExitStack() as stack:
        out, err, source = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        source.write(stdin or b"")
        source.seek(0)
        process = subprocess.Popen(
            arguments,
            stdin=source,
            stdout=out,
            stderr=err,
            env=None if env is None else dict(env),
            cwd=cwd,
            start_new_session=True,
            preexec_fn=lift_memory_limit if unlimited_memory else None,
        )
        try:
            _wait(process, timeout_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"not done within {timeout_s:.4g} s") from None
        finally:
            kill_tree(process)
        return ProgramResult(process.returncode, _content(out), _content(err))


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> None:
    """Like ``process.wait(timeout_s)``, but told of the end at once where the system can (Linux).

    Python itself looks every 50 ms, which is a hundredth of the time that a page takes.

    Raises:
        subprocess.TimeoutExpired: It runs on.
    """
    try:
        handle = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        process.wait(timeout_s)
        return
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        if not poll.poll(timeout_s * 1000):
            raise subprocess.TimeoutExpired(process.args, timeout_s)
    finally:
        os.close(handle)
    process.wait()


def _content(stream: IO[bytes]) -> bytes:
    stream.seek(0)
    return stream.read()


def kill_tree(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads a group, its group and its descendants; no zombie stays."""
    others = descendants(process.pid) if process.poll() is None else []
    _kill_group(process.pid)  # the leader may be gone, the rest of its group not
    kill_processes(others)
    process.wait()


def kill_processes(pids: Sequence[int]) -> None:
    """Kill processes by their IDs; those that are gone are fine."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def descendants(pid: int) -> list[int]:
    """IDs of the children of a process, of their children, and so on (empty if unknown)."""
    children: dict[int, list[int]] = defaultdict(list)
    for child, parent in _parents():
        children[parent].append(child)
    found: list[int] = []
    waiting = [pid]
    while waiting:
        below = children.pop(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _parents() -> list[tuple[int, int]]:
    if Path("/proc/self/stat").exists():  # Linux
        return [pair for path in Path("/proc").glob("[0-9]*/stat") for pair in _stat(path)]
    listed = subprocess.run(
        ["/bin/ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=False
    )
    pairs = (line.split() for line in listed.stdout.splitlines())
    return [(int(pid), int(parent)) for pid, parent in pairs]


def _stat(path: Path) -> list[tuple[int, int]]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:  # it ended meanwhile
        return []
    # pid (name) state ppid …; the name may hold blanks and parentheses
    return [(int(path.parent.name), int(text.rpartition(")")[2].split()[1]))]


def lift_memory_limit() -> None:
    """Give a child process the memory back that this process may not have."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def how_ended(code: int | None) -> str:
    """An exit code in words: "exit code 3", "signal SIGSEGV"."""
    if code is None:
        return "no exit code"
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"
