"""Work on one document in a process of its own, with a time limit and a memory limit.

PDFs come from strangers: a library may hang, crash or eat all memory on one of them. The worker
is a fresh interpreter in its own process group; it serves many calls, is killed with all its
children when one exceeds its time, and is replaced. So a bad document loses itself and nothing
else.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import IO, Any

from nclue_reconstruct import outcome
from nclue_reconstruct.outcome import DocumentError
from nclue_reconstruct.programs import descendants, how_ended, kill_processes, kill_tree

MAX_CALLS = 200  # a worker is replaced after so many documents: small leaks end with it
DEFAULT_MEMORY_MB = 4096
_LENGTH = struct.Struct("!Q")
_SERVE = "from nclue_reconstruct.limits import _serve; _serve()"
_PAGE = "page"  # a message of a worker in mid-call; its answers are True or False with a value
_MEMORY_WORDS = ("malloc", "out of memory", "cannot allocate", "memory exhausted")


def document_timeout_s(pages: int | None, per_page_s: float, base_s: float = 60.0) -> float:
    """A time limit for one document: a base and so much per page (300 where unknown)."""
    return base_s + per_page_s * (300 if pages is None else pages)


class Worker:
    """A process that runs functions for us, one call at a time.

    Args:
        memory_mb: Address space it may use beyond what it has at its start, in MiB; None for no
            limit. Enforced on Linux.
        env: Environment variables for it, on top of ours.
        quiet: What it writes on stderr goes nowhere (chatty C libraries).

    Example:
        >>> with Worker() as worker:
        ...     outcome = worker.run(ocr_document, engine, pdf, doc_id, sha, out, timeout_s=600)
    """

    def __init__(
        self,
        memory_mb: int | None = DEFAULT_MEMORY_MB,
        env: dict[str, str] | None = None,
        *,
        quiet: bool = False,
    ) -> None:
        self._quiet = quiet
        self._lock = threading.Lock()  # threads may share a worker; it serves them in turn
        self._memory_mb = memory_mb
        self._env = env or {}
        self._process: subprocess.Popen[bytes] | None = None
        self._calls = 0

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """Of the running process; None before the first call and after a failure."""
        return self._process.pid if self._process else None

    def run(
        self,
        function: Callable[..., Any],
        *args: Any,
        timeout_s: float,
        on_page: Callable[[int], None] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Call a module-level function in the worker and return what it returns.

        Exceptions of the function are raised here. ``on_page`` is called, in this thread, with
        each page that the function tells of by `report_page`.

        Raises:
            DocumentError: The state is timeout, out_of_memory or crashed; the worker is gone
                then, and the next call starts another.
        """
        with self._lock:
            call = (function.__module__, function.__qualname__, args, kwargs)
            return self._call(call, timeout_s, on_page)

    def _call(
        self, call: tuple[Any, ...], timeout_s: float, on_page: Callable[[int], None] | None
    ) -> Any:
        process = self._running()
        deadline = time.monotonic() + timeout_s
        try:
            _send(process.stdin, pickle.dumps(call))
            kind, value = _receive(process.stdout, deadline)
            while kind == _PAGE:
                if on_page is not None:
                    on_page(value)
                kind, value = _receive(process.stdout, deadline)
        except TimeoutError:
            self._kill()
            raise DocumentError(outcome.TIMEOUT, f"not done within {timeout_s:g} s") from None
        except (EOFError, OSError, ValueError):  # ended, or closed by another thread
            raise self._death(process) from None
        except BaseException:  # an interrupt: the answer would be taken for that of a later call
            self._kill()
            raise
        self._calls += 1
        return self._unpack(kind, value)

    def close(self) -> None:
        """End the worker and everything that it started."""
        self._kill()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._calls >= MAX_CALLS:
            self._kill()
        if self._process is None or self._process.poll() is not None:
            self._process = _start(self._memory_mb, self._env, self._quiet)
            self._calls = 0
        return self._process

    def _unpack(self, succeeded: bool, value: Any) -> Any:
        if succeeded:
            return value
        if is_memory_error(value):
            self._kill()
            raise DocumentError(outcome.OUT_OF_MEMORY, self._memory_reason()) from value
        raise value

    def _memory_reason(self) -> str:
        limit = "" if self._memory_mb is None else f" (limit {self._memory_mb} MiB)"
        return f"more memory needed than there is{limit}"

    def _death(self, process: subprocess.Popen[bytes]) -> DocumentError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
        code = process.returncode
        self._kill()
        if code == -signal.SIGKILL:
            return DocumentError(outcome.OUT_OF_MEMORY, "killed by the system, out of memory?")
        return DocumentError(
            outcome.CRASHED, f"the process that worked on it ended: {how_ended(code)}"
        )

    def _kill(self) -> None:
        # Another thread may close the worker at the same time: each process is ended once.
        process, self._process = self._process, None
        if process is None:
            return
        kill_tree(process)
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError, ValueError):
                if stream:
                    stream.close()


def run_limited(
    function: Callable[..., Any],
    *args: Any,
    timeout_s: float,
    memory_mb: int | None = DEFAULT_MEMORY_MB,
    **kwargs: Any,
) -> Any:
    """One call in a worker of its own; see `Worker.run`."""
    with Worker(memory_mb) as worker:
        return worker.run(function, *args, timeout_s=timeout_s, **kwargs)


def is_memory_error(err: BaseException) -> bool:
    """Whether an exception says that memory ran out; MuPDF and others have no type for it."""
    text = str(err).lower()
    return isinstance(err, MemoryError) or any(word in text for word in _MEMORY_WORDS)


def _start(memory_mb: int | None, env: dict[str, str], quiet: bool) -> subprocess.Popen[bytes]:
    settings = {
        **os.environ,
        **env,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "NCLUE_WORKER_MEMORY_MB": "" if memory_mb is None else str(memory_mb),
    }
    return subprocess.Popen(
        [sys.executable, "-c", _SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if quiet else None,
        env=settings,
        start_new_session=True,
    )


def _send(stream: IO[bytes] | None, message: bytes) -> None:
    assert stream is not None  # noqa: S101 - for the type checker
    stream.write(_LENGTH.pack(len(message)) + message)
    stream.flush()


def _receive(stream: IO[bytes] | None, deadline: float) -> tuple[Any, Any]:
    """The next message: its kind (_PAGE, or whether the call succeeded), and a value."""
    assert stream is not None  # noqa: S101 - for the type checker
    head = _read(stream.fileno(), _LENGTH.size, deadline)
    message = _read(stream.fileno(), _LENGTH.unpack(head)[0], deadline)
    kind, value = pickle.loads(message)  # noqa: S301 - written by our own worker
    return kind, value


def _read(fd: int, size: int, deadline: float) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        wait = deadline - time.monotonic()
        if wait <= 0 or not select.select([fd], [], [], wait)[0]:
            raise TimeoutError
        part = os.read(fd, min(size - len(parts), 1 << 20))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)


_answers: IO[bytes] | None = None  # of the process that is a worker


def report_page(page: int) -> None:
    """Tell whoever called that a page has ended; nobody listens outside of a worker."""
    if _answers is not None:
        with contextlib.suppress(OSError):  # the caller is gone, and this process soon is
            _send(_answers, pickle.dumps((_PAGE, page)))


def _serve() -> None:
    """The loop of the worker: calls come on stdin, answers go to what was stdout."""
    global _answers
    _answers = answers = os.fdopen(os.dup(1), "wb")
    calls = os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)  # what a library prints must not get into the answers
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a device
        os.dup2(nothing.fileno(), 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    _limit_memory(os.environ.pop("NCLUE_WORKER_MEMORY_MB", ""))
    while head := calls.read(_LENGTH.size):
        message = calls.read(_LENGTH.unpack(head)[0])
        _send(answers, _answer(message))


def _end_with_parent(parent: int) -> None:
    """If the parent is killed, go too, with all children: nobody would read the result."""
    while os.getppid() == parent:
        time.sleep(0.5)
    kill_processes(descendants(os.getpid()))
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _limit_memory(memory_mb: str) -> None:
    if not memory_mb or sys.platform != "linux":
        return
    import resource

    import pymupdf  # noqa: F401 - what it maps at its start is not the document's fault

    with open("/proc/self/statm", encoding="ascii") as stream:  # noqa: PTH123
        used = int(stream.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = used + int(memory_mb) * 2**20
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))  # soft: a child may lift it


def _answer(message: bytes) -> bytes:
    try:
        module, name, args, kwargs = pickle.loads(message)  # noqa: S301 - from our own parent
        function: Any = importlib.import_module(module)
        for part in name.split("."):
            function = getattr(function, part)
        return pickle.dumps((True, function(*args, **kwargs)))
    except BaseException as err:
        return _pickle_error(err)


def _pickle_error(err: BaseException) -> bytes:
    """The exception itself where it can travel, else its text."""
    try:
        message = pickle.dumps((False, err))
        pickle.loads(message)  # noqa: S301 - made in the line above
    except Exception:
        return pickle.dumps((False, RuntimeError(f"{type(err).__name__}: {err}")))
    return message
