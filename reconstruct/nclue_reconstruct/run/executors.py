"""Executors: run a function on many documents one by one, in worker processes, or on Ray.

Each call runs in a process of its own group with limits of time and memory, so that a document
that hangs, crashes or eats the memory loses itself alone. The serial executor is the reference.
"""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from nclue_core.errors import MissingDependencyError, UsageError, require
from nclue_reconstruct.limits import DEFAULT_MEMORY_MB, Worker, run_limited
from nclue_reconstruct.outcome import CRASHED, ENGINE_FAILED, DocumentError, DocumentOutcome
from nclue_reconstruct.read.pdf_open import one_line
from nclue_reconstruct.run.gathering import gather
from nclue_reconstruct.run.staging import Files, carried, in_place, keep, run_apart
from nclue_reconstruct.window import WHOLE, Window

EXECUTORS = ("local", "process", "ray")
MAX_LOSSES = 3  # a task is started again so often when its machine is lost
_LOOK_EVERY_S = 2.0  # for pages that machines which share our disk have written
STORAGES = ("shared", "node")


@dataclass(frozen=True)
class Call:
    """A call for one document, or a window of it; everything in it can be pickled."""

    doc_id: str
    function: Callable[..., DocumentOutcome]
    arguments: tuple[Any, ...]  # files as InFile and OutFolder
    timeout_s: float
    window: Window = WHOLE


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster, and what of it a task gets.

    Args:
        address: None starts Ray on this machine.
        cpus: What Ray sets aside for a task; the cluster must have it.
        gpus: The same, for MinerU on machines with graphics processors.
        storage: "shared" if all machines see the same folders, "node" if files are to be sent
            with the tasks and results sent back.
    """

    address: str | None = None
    cpus: float = 1
    gpus: float = 0
    storage: str = "shared"

    def __post_init__(self) -> None:
        if self.storage not in STORAGES:
            raise UsageError(f"storage {self.storage!r}; there are {', '.join(STORAGES)}")


Ended = tuple[Call, DocumentOutcome]
OnPage = Callable[[Call, int | None], None]
Run = Callable[..., DocumentOutcome]  # Worker.run, or what does the same


def nobody(_call: Call, _page: int | None) -> None:
    """Tell nobody of pages."""


def run_calls(
    calls: Sequence[Call],
    *,
    executor: str = "process",
    jobs: int = 1,
    memory_mb: int = DEFAULT_MEMORY_MB,
    cluster: Cluster | None = None,
    on_page: OnPage = nobody,
) -> Iterator[Ended]:
    """Yield (call, outcome) as the calls end, in any order.

    Args:
        calls: What to run.
        executor: "local" runs them one by one, "process" in worker processes, or "ray".
        jobs: Worker processes on this machine (with Ray: tasks at once at most).
        memory_mb: Limit of each worker.
        cluster: For Ray.
        on_page: Called in the thread that iterates, with each page that has ended within a call;
            with None where pages may have: Ray tells of none, but the disk may show them.

    Raises:
        MissingDependencyError: Ray is not installed.
    """
    if executor not in EXECUTORS:
        raise UsageError(f"executor {executor!r}; there are {', '.join(EXECUTORS)}")
    if executor == "ray":
        return _on_ray(calls, jobs, memory_mb, cluster or Cluster(), on_page)
    if executor == "local" or jobs <= 1:
        return _serial(calls, memory_mb, on_page)
    return _in_workers(calls, jobs, memory_mb, on_page)


def _outcome(call: Call, run: Run) -> DocumentOutcome:
    try:
        return run(call.function, *in_place(call.arguments), timeout_s=call.timeout_s)
    except DocumentError as err:
        return DocumentOutcome(err.state, err.reason, 0, None, 0.0)
    except (OSError, MissingDependencyError):
        raise  # no other document would fare better
    except Exception as err:
        reason = f"{type(err).__name__}: {one_line(err)}"
        return DocumentOutcome(ENGINE_FAILED, reason, 0, None, 0.0)


def _serial(calls: Sequence[Call], memory_mb: int, on_page: OnPage) -> Iterator[Ended]:
    with Worker(memory_mb) as worker:
        for call in calls:
            yield call, _outcome(call, partial(worker.run, on_page=partial(on_page, call)))


def _in_workers(
    calls: Sequence[Call], jobs: int, memory_mb: int, on_page: OnPage
) -> Iterator[Ended]:
    waiting: queue.SimpleQueue[Call] = queue.SimpleQueue()
    for call in calls:
        waiting.put(call)
    ended: queue.SimpleQueue[Ended | _Page | BaseException | None] = queue.SimpleQueue()
    stop = threading.Event()
    workers = [Worker(memory_mb) for _ in range(min(jobs, len(calls)))]
    threads = [
        threading.Thread(target=_work, args=(waiting, ended, stop, worker), daemon=True)
        for worker in workers
    ]
    for thread in threads:
        thread.start()
    try:
        items: Iterator[Ended | _Page] = gather(ended, len(threads))
        for item in items:
            if isinstance(item, _Page):
                on_page(item.call, item.page)
            else:
                yield item
    finally:  # also where the caller stops early, or is interrupted
        stop.set()
        while any(thread.is_alive() for thread in threads):
            for worker in workers:  # what they are at is not waited for
                worker.close()
            for thread in threads:
                thread.join(0.1)


@dataclass(frozen=True)
class _Page:
    """A page that has ended within a call."""

    call: Call
    page: int


def _work(
    waiting: queue.SimpleQueue[Call],
    ended: queue.SimpleQueue[Any],
    stop: threading.Event,
    worker: Worker,
) -> None:
    try:
        with worker:
            while not stop.is_set():
                try:
                    call = waiting.get_nowait()
                except queue.Empty:
                    break
                ended.put((call, _outcome(call, partial(worker.run, on_page=_teller(ended, call)))))
    except BaseException as err:  # handed to the thread that reads
        ended.put(err)
    finally:
        ended.put(None)


def _teller(ended: queue.SimpleQueue[Any], call: Call) -> Callable[[int], None]:
    return lambda page: ended.put(_Page(call, page))


def _ray_call(
    call: Call, arguments: tuple[Any, ...], memory_mb: int, apart: bool
) -> tuple[DocumentOutcome, Files]:
    """The task: in place, or with carried files, whose results are returned."""

    def run(placed: tuple[Any, ...]) -> DocumentOutcome:
        def limited(function: Any, *values: Any, timeout_s: float) -> DocumentOutcome:
            done: DocumentOutcome = run_limited(
                function, *values, timeout_s=timeout_s, memory_mb=memory_mb
            )
            return done

        return _outcome(replace(call, arguments=placed), limited)

    return run_apart(run, arguments) if apart else (run(arguments), {})


def _on_ray(
    calls: Sequence[Call], jobs: int, memory_mb: int, cluster: Cluster, on_page: OnPage
) -> Iterator[Ended]:
    ray = require("ray", extra="ray", purpose="--executor ray")
    started = not ray.is_initialized()
    if started:
        _start_ray(ray, cluster.address)
    # Tasks lost with their machine run again elsewhere: pages that are there are not made again.
    resources = {"num_cpus": cluster.cpus, "num_gpus": cluster.gpus}
    task = ray.remote(max_retries=MAX_LOSSES, **resources)(_ray_call)
    apart = cluster.storage == "node"
    try:
        left = list(reversed(calls))
        running: dict[Any, Call] = {}
        while left or running:
            while left and len(running) < max(1, jobs):
                call = left.pop()
                # Files are read only now, so that no more than the running ones are in memory.
                arguments = carried(call.arguments) if apart else call.arguments
                bare = replace(call, arguments=())
                running[task.remote(bare, arguments, memory_mb, apart)] = call
            done, _ = ray.wait(list(running), num_returns=1, timeout=_LOOK_EVERY_S)
            for call in () if done else running.values():
                on_page(call, None)
            for reference in done:
                call = running.pop(reference)
                yield call, _ray_result(ray, reference, call)
    finally:
        if started:
            ray.shutdown()


def _start_ray(ray: Any, address: str | None) -> None:
    """Join a cluster, or start one on this machine."""
    if address is None:
        ray.init(log_to_driver=False, include_dashboard=False)
        return
    _check_listening(address)
    try:
        ray.init(address=address, log_to_driver=False)
    except (ConnectionError, ValueError) as err:
        raise UsageError(f"no Ray cluster at {address!r}: {err}") from err


def _check_listening(address: str) -> None:
    """Find out at once that nobody listens; Ray itself tries for five minutes."""
    host, _, port = address.rpartition("://")[2].partition("/")[0].rpartition(":")
    if not host or not port.isdigit():
        return  # "auto" and other names that Ray resolves itself
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as err:
        raise UsageError(f"no Ray cluster at {address!r}: {err}") from err


def _ray_result(ray: Any, reference: Any, call: Call) -> DocumentOutcome:
    """The outcome; a task whose machines died again and again loses its document alone."""
    try:
        done: tuple[DocumentOutcome, Files] = ray.get(reference)
    except ray.exceptions.RayTaskError:
        raise  # an error of ours, with its own message
    except ray.exceptions.RayError as err:
        reason = f"lost with its machine {MAX_LOSSES + 1} times ({type(err).__name__})"
        return DocumentOutcome(CRASHED, reason, 0, None, 0.0)
    outcome, files = done
    if files:
        keep(files, call.arguments)
    return outcome
