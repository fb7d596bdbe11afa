"""Prepared collections through the unmodified libraries, in new processes, from any folder."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from http_server import Answer, Server
from nclue_cli.main import cli
from nclue_dataset.cache import prepare_configs
from nclue_dataset.collection_writer import write_checksums, write_release
from nclue_dataset.export import export
from nclue_dataset.release import read_release
from tiny_release import CONDITIONS, edit_rows, tiny_collection, write_tiny

REPORT = """
import json, sys
from datasets import load_dataset
report = {}
for name in sys.argv[1:]:
    splits = load_dataset(*json.loads(name))
    report[name] = {"rows": {n: s.to_list() for n, s in splits.items()},
                    "features": {n: str(s.features) for n, s in splits.items()}}
print(json.dumps(report))
"""


def run_python(code: str, *arguments: str, cwd: Path, check: bool = True) -> Any:
    """Run code in a new process, from a folder of its own; returns what it printed as JSON."""
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:nclue_dataset", "-c", code, *arguments],
        capture_output=True, text=True, cwd=cwd, check=False,
    )  # fmt: skip
    assert not check or done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def load_all(*names: tuple[str, str], cwd: Path) -> list[Any]:
    """Rows and features of several data sets, by plain load_dataset in one new process."""
    wanted = [json.dumps(name) for name in names]
    report = run_python(REPORT, *wanted, cwd=cwd)
    return [report[name] for name in wanted]


def load(path: str, config: str, *, cwd: Path) -> Any:
    return load_all((path, config), cwd=cwd)[0]


def nclue(*arguments: str) -> str:
    """Run the command in a new process, where the caches of the test are in force."""
    done = subprocess.run(
        [sys.executable, "-m", "nclue_cli.main", *arguments], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def test_plain_load_dataset_gives_every_configuration(
    own_caches: Path, empty: Path, tmp_path: Path
) -> None:
    nclue("prepare", "--release", str(write_tiny(tmp_path / "release")))
    configs = ("tiny", "tiny-qrels", "tiny-corpus", "tiny-rankings")
    queries, judged, documents, ranked = load_all(*(("nclue", c) for c in configs), cwd=empty)
    assert list(queries["rows"]) == ["raw", "clean_v2", "natural"]
    first = queries["rows"]["natural"][0]
    assert first["query"] == 'Find the document that discusses "Executive Summary" and "COVID-19".'
    assert first["reference"] == {"doc_ids": ["d1", "d2"], "grades": [2, 1], "n_conditions": 2}
    assert judged["rows"]["final"][2]["evidence"] == [
        {"condition": "Sanctions", "pages": [3, 4]},
        {"condition": "Grievance Mechanism", "pages": [6]},
    ]
    assert [row["doc_id"] for row in documents["rows"]["corpus"]] == ["d1", "d2", "d3", "d4"]
    assert {row["system"] for row in ranked["rows"]["clean_v2"]} == {"forward", "backward"}


def test_features_do_not_follow_the_data(own_caches: Path, empty: Path, tmp_path: Path) -> None:
    # Rows whose first values are null or empty, and IDs that look like numbers or dates.
    release = write_tiny(tmp_path / "release")
    for name in ("queries", "queries_forms", "qrels"):
        edit_rows(
            release / f"{name}.jsonl",
            lambda row: {**row, "query_id": f"2020-01-0{row['query_id'][1]}"},
        )
    edit_rows(release / "qrels.jsonl", lambda row: {**row, "evidence": None})
    edit_rows(release / "corpus.jsonl", lambda row: {**row, "license": None, "title": None})
    nclue("prepare", "--release", str(release))
    plain = tmp_path / "plain"
    names = [("nclue", config) for config in ("tiny", "tiny-qrels", "tiny-corpus")]
    before = [item["features"] for item in load_all(*names, cwd=empty)]
    nclue("prepare", "--release", str(write_tiny(plain)), "--force")
    assert [item["features"] for item in load_all(*names, cwd=empty)] == before


def test_a_changed_release_is_never_served_stale(
    own_caches: Path, empty: Path, tmp_path: Path
) -> None:
    release = write_tiny(tmp_path / "release")
    nclue("prepare", "--release", str(release))
    edit_rows(release / "qrels.jsonl", lambda row: row if row["doc_id"] != "d2" else None)
    nclue("prepare", "--release", str(release))
    changed = load("nclue", "tiny", cwd=empty)["rows"]["raw"][0]["reference"]["doc_ids"]
    write_tiny(release)  # and back, to content prepared before
    nclue("prepare", "--release", str(release))
    again = load("nclue", "tiny", cwd=empty)["rows"]["raw"][0]["reference"]["doc_ids"]
    assert (changed, again) == (["d1"], ["d1", "d2"])
    folders = list((own_caches / "huggingface" / "datasets" / "nclue" / "tiny").glob("*/*"))
    assert len(folders) == 1


def test_preparing_again_changes_nothing_and_says_so(own_caches: Path, tmp_path: Path) -> None:
    release = str(write_tiny(tmp_path / "release"))
    first = json.loads(nclue("prepare", "--json", "--release", release))
    second = json.loads(nclue("prepare", "--json", "--release", release))
    assert all(config["fresh"] for config in first[0]["configs"])
    assert not any(config["fresh"] for config in second[0]["configs"])
    assert [c["path"] for c in first[0]["configs"]] == [c["path"] for c in second[0]["configs"]]


def test_damaged_cache_folders_are_built_again(
    own_caches: Path, empty: Path, tmp_path: Path
) -> None:
    release = str(write_tiny(tmp_path / "release"))
    first = json.loads(nclue("prepare", "--json", "--release", release))
    for path in Path(first[0]["configs"][0]["path"]).glob("*.arrow"):
        path.unlink()
    nclue("prepare", "--release", release)
    assert len(load("nclue", "tiny", cwd=empty)["rows"]["raw"]) == 3


def test_processes_that_prepare_at_once_do_not_break_each_other(
    own_caches: Path, empty: Path, tmp_path: Path
) -> None:
    release = str(write_tiny(tmp_path / "release"))
    with ThreadPoolExecutor(3) as pool:
        outputs = list(pool.map(lambda _: nclue("prepare", "--release", release), range(3)))
    assert all('load_dataset("nclue", "tiny")' in text for text in outputs)
    assert len(load("nclue", "tiny", cwd=empty)["rows"]["raw"]) == 3


def test_a_prepared_collection_is_known_by_name_and_kept(own_caches: Path, tmp_path: Path) -> None:
    nclue("prepare", "--release", str(write_tiny(tmp_path / "release")))
    kept = read_release(own_caches / "nclue" / "releases" / "tiny").collection("tiny")
    assert kept.qrels == tiny_collection().qrels
    both = nclue("score", "forward", "backward", "--config", "tiny", "--json")
    forward, backward = json.loads(both)
    assert (forward["n_clue_score@10"], forward["n_queries"]) == (100, len(CONDITIONS))
    # backward is d4 d3 d2: only q2 has a gold there, behind a subset
    assert backward["n_clue_score@10"] == 0
    assert backward["subset_first@10"] == pytest.approx(100 / 3)


def test_exported_folder_gives_the_rows_and_features_of_the_prepared_collection(
    own_caches: Path, empty: Path, tmp_path: Path
) -> None:
    release = write_tiny(tmp_path / "release")
    nclue("prepare", "--release", str(release))
    nclue("export", str(tmp_path / "hub"), "--release", str(release))
    configs = ("tiny", "tiny-qrels", "tiny-corpus", "tiny-rankings")
    exported = load_all(*((str(tmp_path / "hub"), config) for config in configs), cwd=empty)
    assert exported == load_all(*(("nclue", config) for config in configs), cwd=empty)
    card = (tmp_path / "hub" / "README.md").read_text()
    assert "<!--" not in card
    assert "3 queries (2 with n = 2, 1 with n = 3)" in card
    assert not list((tmp_path / "hub").glob("*.py"))


def test_export_refuses_a_folder_with_something_in_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = CliRunner().invoke(
        cli, ["export", str(tmp_path), "--release", str(write_tiny(tmp_path / "r"))]
    )
    assert "the folder is not empty" in str(done.exception)


def test_two_exports_have_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        export([tiny_collection()], tmp_path / name)
    files = [p.relative_to(tmp_path / "one") for p in (tmp_path / "one").rglob("*") if p.is_file()]
    assert len(files) > 5
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_a_configuration_that_the_release_lost_is_not_found_any_more(
    own_caches: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import datasets

    cache = tmp_path / "datasets"
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", cache)
    collection = tiny_collection()
    prepare_configs(collection, "a" * 64, "1.0.0")
    assert (cache / "nclue" / "tiny-rankings").is_dir()
    collection.rankings.clear()
    prepare_configs(collection, "b" * 64, "1.0.0")
    assert not (cache / "nclue" / "tiny-rankings").exists()
    assert not [path for path in cache.iterdir() if path.name.startswith(".nclue-building")]


def test_evaluate_finds_the_metric_by_name(own_caches: Path, empty: Path, tmp_path: Path) -> None:
    nclue("prepare", "--release", str(write_tiny(tmp_path / "release")))
    code = """
import json, evaluate
from datasets import load_dataset
rows = load_dataset("nclue", "tiny", split="clean_v2")
print(json.dumps(evaluate.load("n_clue").compute(
    predictions=[[r["reference"]["doc_ids"][0]] for r in rows], references=rows["reference"])))
"""
    result = run_python(code, cwd=empty)
    assert (result["n_clue_score@10"], result["n_queries"]) == (100, 3)
    assert list(empty.iterdir()) == []


def test_local_page_texts_are_loaded_by_name_and_never_exported(
    own_caches: Path, empty: Path, tmp_path: Path
) -> None:
    from nclue_core.pages import Block, PageRecord, write_page
    from nclue_reconstruct.run.pages_out import write_pages_parquet

    folder = tmp_path / "ocr_text"
    for page in (1, 2):
        block = Block("text", f"page {page}", (0.1, 0.1, 0.9, 0.2))
        write_page(folder, PageRecord("d1", page, f"page {page}", (block,), 612.0, 792.0, "text",
                                      "1", None, "0" * 64, True))  # fmt: skip
    write_pages_parquet(folder, tmp_path / "pages.parquet")
    release = write_tiny(tmp_path / "release")
    nclue("prepare", "--release", str(release))
    code = """
import json, sys
from pathlib import Path
from nclue_core.files import sha256_file
from nclue_dataset.cache import prepare_tables
from nclue_reconstruct.run.pages_out import page_features, read_page_tables
path = Path(sys.argv[1])
prepared = prepare_tables("tiny-pages", "pages", lambda: read_page_tables(path), page_features(),
                          sha256_file(path))
print(json.dumps(prepared.rows))
"""
    rows = run_python(code, str(tmp_path / "pages.parquet"), cwd=empty)
    assert rows == {"pages": 2}
    nclue("prepare", "--release", str(release), "--force")  # leaves the local pages alone
    pages = load("nclue", "tiny-pages", cwd=empty)["rows"]["pages"]
    assert [(row["page"], row["blocks"][0]["text"]) for row in pages] == [
        (1, "page 1"),
        (2, "page 2"),
    ]
    nclue("export", str(tmp_path / "hub"), "--release", str(release))
    assert not [path for path in (tmp_path / "hub").rglob("*") if "pages" in path.name]


def test_a_column_that_only_one_shard_has_is_null_elsewhere(
    own_caches: Path, empty: Path, tmp_path: Path
) -> None:
    release = write_tiny(tmp_path / "release")
    rows = [json.loads(line) for line in (release / "corpus.jsonl").read_text().splitlines()]
    (release / "corpus.jsonl").unlink()
    for number, row in enumerate(rows):
        if number != 2:
            del row["license"]
        (release / f"corpus-0000{number}.jsonl").write_text(json.dumps(row) + "\n")
    write_checksums(release)
    nclue("prepare", "--release", str(release))
    documents = load("nclue", "tiny-corpus", cwd=empty)["rows"]["corpus"]
    assert [row["license"] for row in documents] == [None, None, "CC0-1.0", None]


def test_importing_and_preparing_the_embedded_data_opens_no_connection(
    own_caches: Path, empty: Path
) -> None:
    code = """
import json, socket
def refuse(*arguments, **options):
    raise AssertionError(f"a connection to {arguments}")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
from nclue_dataset.prepare import prepare
import nclue_metric.n_clue, nclue_stats.compare
print(json.dumps([item.collection for item in prepare()]))
"""
    assert run_python(code, cwd=empty) == ["mini"]


def test_the_earlier_qrel_copy_has_a_split_and_references_of_its_own(tmp_path: Path) -> None:
    from dataclasses import replace

    from nclue_dataset.tables import config_names, config_splits

    final = tiny_collection().qrels["final"]
    earlier = [replace(row, grade=1, label="subset") if row.doc_id == "d1" else row
               for row in final]  # fmt: skip
    both = replace(tiny_collection(), qrels={"final": final, "initial": earlier})
    write_release(tmp_path / "release", {"tiny": both}, {"version": "1.0.0"})
    collection = read_release(tmp_path / "release").collection("tiny")
    assert "tiny-initial" in config_names(collection)
    assert list(config_splits(collection, "tiny-qrels")) == ["final", "initial"]
    grades = [
        config_splits(collection, config)["raw"][0]["reference"]["grades"]
        for config in ("tiny", "tiny-initial")
    ]
    assert grades == [[2, 1], [1, 1]]


def test_a_release_is_prepared_from_an_address_and_from_its_archive(
    own_caches: Path, empty: Path, tmp_path: Path
) -> None:
    archive = shutil.make_archive(str(tmp_path / "archive"), "gztar", write_tiny(tmp_path / "r"))
    with Server().running() as server:
        server.answers["/release.tar.gz"] = [Answer(200, Path(archive).read_bytes())]
        fetched = nclue("prepare", "tiny", "--release", f"{server.base}/release.tar.gz")
    again = nclue("prepare", "tiny", "--release", archive)
    assert "prepared: raw 3" in fetched
    assert "up to date: raw 3" in again
    assert len(load("nclue", "tiny", cwd=empty)["rows"]["raw"]) == 3
    # Afterwards the kept copy serves: no address, no archive.
    assert "up to date" in nclue("prepare", "tiny")


def test_fields_with_names_of_their_own_are_mapped_or_told(
    own_caches: Path, empty: Path, tmp_path: Path
) -> None:
    release = write_tiny(tmp_path / "release")
    edit_rows(
        release / "qrels.jsonl",
        lambda row: {("points" if k == "grade" else k): v for k, v in row.items()},
    )
    command = [sys.executable, "-m", "nclue_cli.main", "prepare", "--release", str(release)]
    refused = subprocess.run(command, capture_output=True, text=True)
    assert refused.returncode == 3
    assert "qrels.jsonl:1:" in refused.stderr
    assert "--map" in refused.stderr
    nclue("prepare", "--release", str(release), "--map", "grade=points")
    rows = load("nclue", "tiny", cwd=empty)["rows"]["raw"]
    assert rows[0]["reference"]["grades"] == [2, 1]
