"""Fetch 300 files of 1 MiB from a server with 30 ms latency: this kit beside other clients.

All check SHA-256 and write to the same disk; only this kit also flushes each file to disk. The
clients take turns in one run, because only ratios within a run mean something.

    python benchmarks/fetch_speed.py [--rounds 5] [--files 300]
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import multiprocessing
import os
import platform
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import local

import requests
import urllib3

from nclue_core.schema import CorpusDocument
from nclue_reconstruct.fetch.transfer import Fetcher
from nclue_reconstruct.run.fetching import fetch_documents
from nclue_reconstruct.run.workspace import Workspace

LATENCY_S = 0.03
SIZE = 1 << 20
FILLER = bytes(range(256)) * (SIZE // 256)
BLOCK = 1 << 17


def content(number: int) -> bytes:
    """A file of its own for each number."""
    head = f"%PDF-1.4 {number:08d}\n".encode()
    return head + FILLER[len(head) :]


def serve(port: multiprocessing.Queue) -> None:
    """HTTP/1.1 with kept connections; each answer comes after the latency."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)
                name = request[1].rpartition(b"/")[2].removesuffix(b".pdf").removeprefix(b"d")
                await asyncio.sleep(LATENCY_S)
                head = f'HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\nETag: "1"\r\n\r\n'.encode()
                writer.write(head)
                if request[0] != b"HEAD":
                    writer.write(content(int(name)))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def with_nclue(base: str, sums: dict[str, str], out: Path) -> None:
    documents = [
        CorpusDocument(doc_id, "simulated", None, None, None, sha256, SIZE, None, None, None)
        for doc_id, sha256 in sums.items()
    ]
    results = fetch_documents(documents, Workspace(out), Fetcher(), mirror=base)
    assert all(result.state == "ok" for result in results.values())


def with_aria2(jobs: int) -> Callable[[str, dict[str, str], Path], None]:
    def run(base: str, sums: dict[str, str], out: Path) -> None:
        out.mkdir()
        lines = [f"{base}/{d}.pdf\n checksum=sha-256={s}\n out={d}.pdf\n" for d, s in sums.items()]
        (out / "list").write_text("".join(lines))
        command = ["aria2c", "-q", f"-j{jobs}", "-x1", "--file-allocation=none", "-d", str(out),
                   "-i", str(out / "list")]  # fmt: skip
        subprocess.run(command, check=True)

    return run


def in_threads(fetch_one: Callable[[str], object], n: int, sums: dict[str, str], out: Path) -> None:
    out.mkdir(exist_ok=True)

    def work(doc_id: str) -> None:
        digest = hashlib.sha256()
        with (out / f"{doc_id}.pdf").open("wb") as stream:
            for block in fetch_one(doc_id):
                digest.update(block)
                stream.write(block)
        assert digest.hexdigest() == sums[doc_id]

    with ThreadPoolExecutor(n) as pool:
        list(pool.map(work, sums))


def with_requests(threads: int) -> Callable[[str, dict[str, str], Path], None]:
    def run(base: str, sums: dict[str, str], out: Path) -> None:
        mine = local()

        def blocks(doc_id: str) -> object:
            if not hasattr(mine, "session"):
                mine.session = requests.Session()
            return mine.session.get(f"{base}/{doc_id}.pdf", stream=True).iter_content(BLOCK)

        in_threads(blocks, threads, sums, out)

    return run


def with_urllib3(threads: int) -> Callable[[str, dict[str, str], Path], None]:
    def run(base: str, sums: dict[str, str], out: Path) -> None:
        pool = urllib3.PoolManager(maxsize=threads)

        def blocks(doc_id: str) -> object:
            return pool.request("GET", f"{base}/{doc_id}.pdf", preload_content=False).stream(BLOCK)

        in_threads(blocks, threads, sums, out)

    return run


def clients() -> dict[str, Callable[[str, dict[str, str], Path], None]]:
    """All that are installed."""
    found = {
        "nclue": with_nclue,
        "requests, 8 threads": with_requests(8),
        "requests, 16 threads": with_requests(16),
        "urllib3, 16 threads": with_urllib3(16),
    }
    if shutil.which("aria2c"):
        found |= {"aria2c -j 8": with_aria2(8), "aria2c -j 16": with_aria2(16)}
    return found


def measure(base: str, sums: dict[str, str], rounds: int) -> dict[str, list[float]]:
    """Files per second of each client, round by round."""
    rates: dict[str, list[float]] = {name: [] for name in clients()}
    for _ in range(rounds):
        for name, run in clients().items():
            with tempfile.TemporaryDirectory() as folder:
                os.sync()
                start = time.perf_counter()
                run(base, sums, Path(folder) / "out")
                rates[name].append(len(sums) / (time.perf_counter() - start))
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--files", type=int, default=300)
    options = parser.parse_args()
    sums = {f"d{i}": hashlib.sha256(content(i)).hexdigest() for i in range(options.files)}
    context = multiprocessing.get_context("spawn")
    port = context.Queue()
    server = context.Process(target=serve, args=(port,), daemon=True)
    server.start()
    rates = measure(f"http://127.0.0.1:{port.get()}", sums, options.rounds)
    server.terminate()
    medians = {name: round(statistics.median(values), 1) for name, values in rates.items()}
    print(
        json.dumps(
            {
                "simulated": True,
                "files": options.files,
                "latency_s": LATENCY_S,
                "rounds": options.rounds,
                "cores": os.cpu_count(),
                "python": platform.python_version(),
                "files_per_second": medians,
                "nclue_against": {
                    name: round(medians["nclue"] / rate, 2)
                    for name, rate in medians.items()
                    if name != "nclue"
                },
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
