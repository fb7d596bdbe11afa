"""Which files of a release directory belong to which collection.

A release is a folder with ``MANIFEST.json`` (``collections``: name -> folder), or the published
layout (``data/v1``, ``data/v2``), or one collection by itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nclue_core.errors import InputError
from nclue_core.schema import FORMS
from nclue_dataset.aliases import FILES

MANIFEST = "MANIFEST.json"
CHECKSUMS = "SHA256SUMS"
PUBLISHED_FOLDERS = {"data/v1": "crosspage", "data/v2": "sourceshift"}
TABLES = tuple(table for table in FILES if table != "reference_runs")
_ENDINGS = (".jsonl", ".jsonl.gz")
_SHARD = re.compile(r"(?P<stem>.+)-\d+(-of-\d+)?")


@dataclass(frozen=True)
class CollectionFiles:
    """The files that a collection is read from; shards in the order of their names."""

    name: str
    folder: Path
    tables: dict[str, list[Path]]  # queries, queries_forms, qrels, … -> files
    runs: list[tuple[Path, str | None]]  # file, and the query form that its folder says
    left_over: list[Path]  # data files beside them that nothing reads

    def all_files(self) -> list[Path]:
        """Every file that is read, in a fixed order."""
        tables = [path for paths in self.tables.values() for path in paths]
        return sorted([*tables, *(path for path, _ in self.runs)])


def read_manifest(release: Path) -> dict[str, Any]:
    """``MANIFEST.json`` of a release, or an empty dict if there is none.

    Raises:
        InputError: It is not a JSON object.
    """
    path = release / MANIFEST
    if not path.is_file():
        return {}
    try:
        manifest = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError, OSError) as err:
        raise InputError(f"not a JSON value: {err}", path=path) from None
    if not isinstance(manifest, dict):
        raise InputError(f"expected an object, found {type(manifest).__name__}", path=path)
    return manifest


def collection_folders(release: Path, manifest: Mapping[str, Any]) -> dict[str, Path]:
    """Name and folder of each collection of a release.

    Raises:
        InputError: Nothing in it is a collection, or the manifest names a folder outside it.
    """
    declared = manifest.get("collections")
    if isinstance(declared, dict) and all(isinstance(v, str) for v in declared.values()):
        for name, relative in declared.items():
            _refuse_outside(release, name, relative)
        if declared:
            return {name: release / relative for name, relative in declared.items()}
    published = {
        name: release / place
        for place, name in PUBLISHED_FOLDERS.items()
        if (release / place).is_dir()
    }
    if published:
        return published
    if any(table_candidates(release, table) for table in ("queries", "qrels", "corpus")):
        name = manifest.get("name")
        return {name if isinstance(name, str) and name else "custom": release}
    raise InputError(
        "no collection found: expected MANIFEST.json with `collections` (name: folder), "
        "data/v1 or data/v2, or a queries.jsonl",
        path=release,
    )


def _refuse_outside(release: Path, name: str, relative: str) -> None:
    root = release.resolve()
    if not (root / relative).resolve().is_relative_to(root):
        raise InputError(
            f"collection {name!r} is said to be in {relative!r}, outside the release",
            path=release / MANIFEST,
        )


def find_files(name: str, folder: Path, mapping: Mapping[str, str]) -> CollectionFiles:
    """The files of a collection that are there.

    Raises:
        InputError: A table is there twice, under two of its names, or a mapped file is missing.
    """
    tables = {table: _table_files(folder, table, mapping) for table in TABLES}
    runs_folder = folder / mapping.get("reference_runs", "reference_runs")
    runs = _run_files(runs_folder)
    used = {path for paths in tables.values() for path in paths}
    left_over = [path for path in _data_files(folder) if path not in used]
    read_runs = {path for path, _ in runs}
    if runs_folder.is_dir():
        every = (path for path in runs_folder.rglob("*") if path.is_file())
        left_over += sorted(path for path in every if path not in read_runs)
    return CollectionFiles(name, folder, {t: p for t, p in tables.items() if p}, runs, left_over)


def stem_of(path: Path) -> str:
    """A file's name without ``.jsonl`` and ``.gz``."""
    return path.name.removesuffix(".gz").removesuffix(".jsonl")


def table_candidates(folder: Path, table: str) -> dict[str, list[Path]]:
    """Per accepted name of a table, its file or its shards (only names that are there)."""
    found: dict[str, list[Path]] = {}
    for path in _data_files(folder):
        stem = stem_of(path)
        shard = _SHARD.fullmatch(stem)
        if stem in (table, *FILES[table]):
            found.setdefault(path.name, []).append(path)
        elif shard and shard["stem"] in (table, *FILES[table]):
            found.setdefault(f"{shard['stem']}-*", []).append(path)
    return found


def _table_files(folder: Path, table: str, mapping: Mapping[str, str]) -> list[Path]:
    if table in mapping:
        path = folder / mapping[table]
        if not path.is_file():
            raise InputError(f"no such file (--map {table}={mapping[table]})", path=path)
        return [path]
    found = table_candidates(folder, table)
    if len(found) > 1:
        raise InputError(
            f"{' and '.join(found)} are all names of the table {table}; say which one is meant: "
            f"--map {table}=FILE",
            path=folder,
        )
    return next(iter(found.values()), [])


def _run_files(folder: Path) -> list[tuple[Path, str | None]]:
    """Runs of the raw form lie in the folder itself, others in ``forms/<form>``."""
    runs: list[tuple[Path, str | None]] = [(path, "raw") for path in _data_files(folder)]
    forms = folder / "forms"
    runs += [(path, None) for path in _data_files(forms)]
    by_form = [path for path in (forms.iterdir() if forms.is_dir() else ()) if path.is_dir()]
    by_form += [folder / form for form in FORMS]
    return runs + [(path, place.name) for place in sorted(by_form) for path in _data_files(place)]


def _data_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(p for p in folder.iterdir() if p.name.endswith(_ENDINGS) and p.is_file())
