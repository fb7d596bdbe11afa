"""On Ray: the same bytes as one by one, and a machine that dies loses and repeats nothing.

Runs where Ray is installed (extra ``ray``); some seconds per cluster.
"""

from __future__ import annotations

import hashlib
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from nclue_core import UsageError
from nclue_core.files import write_text
from nclue_core.schema import CorpusDocument
from nclue_reconstruct.outcome import DocumentOutcome
from nclue_reconstruct.read.engines import get_engine
from nclue_reconstruct.run.executors import Call, Cluster, run_calls
from nclue_reconstruct.run.pipeline import Parallel, ocr_documents, render_documents
from nclue_reconstruct.run.workspace import Workspace
from tiny_release import tiny_collection
from toy_engines import NullEngine

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    ray = pytest.importorskip("ray", reason="Ray is not installed")

pytestmark = pytest.mark.filterwarnings("default")  # Ray's own are not ours to forbid


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head without room for tasks, to add machines to."""
    from ray.cluster_utils import Cluster as LocalCluster

    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))  # for the functions below

    made = LocalCluster(initialize_head=True, head_node_args={"num_cpus": 0})
    yield made
    ray.shutdown()
    made.shutdown()


def slow_page(doc_id: str, out: str, seconds: float) -> DocumentOutcome:
    """Leave a mark of each start, then write the result as the steps do: whole, or not at all."""
    with (Path(out) / f"{doc_id}.starts").open("a") as stream:
        stream.write("started\n")
    time.sleep(seconds)
    write_text(Path(out) / f"{doc_id}.json", f"text of {doc_id}\n")
    return DocumentOutcome("ok", "", 1, 1, 0.0)


def written(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.json")}


def test_a_machine_that_dies_in_mid_run_loses_and_repeats_nothing(
    cluster: Any, tmp_path: Path
) -> None:
    cluster.add_node(num_cpus=2)
    doomed = cluster.add_node(num_cpus=2)
    cluster.wait_for_nodes()
    serial, shared = tmp_path / "serial", tmp_path / "ray"
    for folder in (serial, shared):
        folder.mkdir()
    names = [f"d{i:02d}" for i in range(12)]
    list(run_calls([Call(n, slow_page, (n, str(serial), 0.0), 60.0) for n in names]))
    calls = [Call(n, slow_page, (n, str(shared), 2.0), 60.0) for n in names]

    def kill() -> None:
        while len(list(shared.glob("*.starts"))) < 4:  # both machines are at work
            time.sleep(0.05)
        cluster.remove_node(doomed, allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    ended = list(run_calls(calls, executor="ray", jobs=4, cluster=Cluster(cluster.address)))
    killer.join()
    assert Counter(call.doc_id for call, _ in ended) == Counter(names)
    assert {outcome.state for _, outcome in ended} == {"ok"}
    assert written(shared) == written(serial)
    starts = [len(path.read_text().splitlines()) for path in shared.glob("*.starts")]
    assert max(starts) > 1  # something was lost, and started again
    assert not list(shared.glob(".*.tmp"))


def test_a_task_waits_for_its_resources(cluster: Any, tmp_path: Path) -> None:
    cluster.add_node(num_cpus=2, num_gpus=1)
    cluster.wait_for_nodes()
    calls = [Call(n, slow_page, (n, str(tmp_path), 0.3), 60.0) for n in ("a", "b")]
    began = time.monotonic()
    ended = run_calls(calls, executor="ray", jobs=2, cluster=Cluster(cluster.address, gpus=1))
    assert {outcome.state for _, outcome in ended} == {"ok"}
    assert time.monotonic() - began > 0.6  # one after the other: there is one


def test_an_address_without_a_cluster_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"no Ray cluster at '127\.0\.0\.1:1'"):
        list(run_calls([], executor="ray", cluster=Cluster("127.0.0.1:1")))


def put_pdfs(workspace: Workspace) -> list[CorpusDocument]:
    rows = []
    for doc_id, n_pages in (("a", 7), ("b", 2)):
        pdf = pymupdf.open()
        for number in range(n_pages):
            pdf.new_page().insert_text((72, 90 + 40 * number), f"{doc_id} says {number}")
        path = workspace.pdf(doc_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pdf.tobytes(no_new_id=True))
        rows.append(replace(tiny_collection().corpus[0], doc_id=doc_id, sha256=None,
                            n_pages=n_pages))  # fmt: skip
    return rows


def contents(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


@pytest.mark.parametrize("storage", ["shared", "node"])
def test_ray_writes_the_bytes_that_one_by_one_writes(
    cluster: Any, tmp_path: Path, storage: str
) -> None:
    cluster.add_node(num_cpus=2)
    cluster.wait_for_nodes()
    serial, on_ray = Workspace(tmp_path / "serial"), Workspace(tmp_path / "ray")
    there = Parallel(3, "ray", cluster=Cluster(cluster.address, storage=storage))
    for workspace, parallel in ((serial, Parallel(1)), (on_ray, there)):
        rows = put_pdfs(workspace)
        render_documents(rows, workspace, dpi=40, parallel=parallel)
        for engine in (NullEngine(), get_engine("text")):
            found = ocr_documents(rows, workspace, engine, parallel=parallel)
            assert {doc_id: done.pages_done for doc_id, done in found.items()} == {"a": 7, "b": 2}
    for folder in ("pages", "ocr_null", "ocr_text"):
        assert contents(on_ray.root / folder) == contents(serial.root / folder)
        assert len(contents(on_ray.root / folder)) == 9


def test_pages_that_we_have_are_not_read_again_by_machines_without_our_disk(
    cluster: Any, tmp_path: Path
) -> None:
    cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    workspace = Workspace(tmp_path)
    rows = put_pdfs(workspace)
    there = Parallel(2, "ray", cluster=Cluster(cluster.address, storage="node"))
    ocr_documents(rows, workspace, NullEngine(), parallel=there)
    kept, lost = (workspace.root / "ocr_null" / "a" / name for name in ("6.json", "7.json"))
    lost.unlink()
    before = kept.stat().st_mtime_ns
    ocr_documents(rows, workspace, NullEngine(), parallel=there)
    assert lost.is_file()
    assert kept.stat().st_mtime_ns == before


def test_texts_of_two_editions_are_not_mixed_on_machines_without_our_disk(
    cluster: Any, tmp_path: Path
) -> None:
    cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    workspace = Workspace(tmp_path)
    rows = [row for row in put_pdfs(workspace) if row.doc_id == "a"]
    there = Parallel(1, "ray", cluster=Cluster(cluster.address, storage="node"))
    ocr_documents(rows, workspace, NullEngine(), parallel=there)
    shorter = pymupdf.open(workspace.pdf("a"))
    shorter.delete_pages(from_page=3, to_page=6)
    workspace.pdf("a").write_bytes(shorter.tobytes())
    found = ocr_documents(rows, workspace, NullEngine(), parallel=there)
    assert (found["a"].state, found["a"].pages_done) == ("ok", 3)
    left = contents(workspace.root / "ocr_null")
    assert sorted(left) == ["a/1.json", "a/2.json", "a/3.json"]
    sha256 = hashlib.sha256(workspace.pdf("a").read_bytes()).hexdigest()
    assert all(sha256.encode() in text for text in left.values())
