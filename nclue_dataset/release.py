"""Read a release directory: its collections, as typed records.

See ``cards/release_format.md`` for the files and fields. Reading is strict: the first row that
can't be understood ends it, with file, line and field (`nclue check` lists everything at once).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from nclue_core.errors import InputError
from nclue_core.files import sha256_file
from nclue_core.schema import CorpusDocument, Qrel, Query, Ranking
from nclue_dataset.aliases import check_mapping
from nclue_dataset.layout import (
    CollectionFiles,
    collection_folders,
    find_files,
    read_manifest,
)
from nclue_dataset.scan import Problem, Scan, Scanned, scan_collection

Record = TypeVar("Record")
RAW = "raw"


@dataclass(frozen=True)
class Collection:
    """A collection in memory."""

    name: str
    path: Path
    queries: list[Query]
    forms: dict[str, dict[str, str]]  # form -> query_id -> text; raw is always there
    qrels: dict[str, list[Qrel]]  # "final", and "initial" where an earlier copy is kept
    corpus: list[CorpusDocument]
    rankings: list[Ranking]
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Release:
    """A release directory."""

    path: Path
    manifest: dict[str, Any]
    collections: dict[str, CollectionFiles]
    mapping: Mapping[str, str]

    @property
    def version(self) -> str | None:
        """Version as the manifest has it."""
        version = self.manifest.get("version")
        return version if isinstance(version, str) else None

    @cached_property
    def _parsed(self) -> dict[str, Collection]:
        return {}

    def collection(self, name: str) -> Collection:
        """A collection, parsed at the first call.

        Raises:
            InputError: No such collection, a file is missing, or a row cannot be understood.
        """
        files = self._files(name)
        if name not in self._parsed:
            self._parsed[name] = read_collection(files, self.mapping)
        return self._parsed[name]

    def content_hash(self, name: str) -> str:
        """SHA-256 over the files of a collection, their names in it, the mapping and version.

        It does not depend on where the release lies. Files are read at each call.
        """
        files = self._files(name)
        digest = hashlib.sha256(json.dumps(sorted(self.mapping.items())).encode())
        digest.update(json.dumps(self.version).encode())
        for path in files.all_files():
            digest.update(json.dumps([_name_in(files.folder, path), sha256_file(path)]).encode())
        return digest.hexdigest()

    def _files(self, name: str) -> CollectionFiles:
        if name not in self.collections:
            raise InputError(
                f"no collection {name!r}; there are {', '.join(self.collections)}", path=self.path
            )
        return self.collections[name]


def read_release(path: Path, mapping: Mapping[str, str] | None = None) -> Release:
    """Find the collections of a release directory; they are parsed when they are asked for.

    Args:
        path: The directory.
        mapping: ``field=name`` (or ``kind.field``, such as ``qrels.grade``) for fields, and
            ``qrels_initial=FILE`` and the like for files with names of their own.

    Raises:
        UsageError: The mapping names a field or file that there is not.
        InputError: It is no directory, the manifest is broken, or nothing in it is a collection.
    """
    path = Path(path)
    mapping = check_mapping(mapping)
    if not path.is_dir():
        raise InputError("no such directory; expected a release directory", path=path)
    manifest = read_manifest(path)
    folders = collection_folders(path, manifest)
    found = {name: find_files(name, folder, mapping) for name, folder in folders.items()}
    return Release(path, manifest, found, mapping)


def read_collection(files: CollectionFiles, mapping: Mapping[str, str]) -> Collection:
    """Parse a collection.

    Rows of grade 0 are left out (absent pairs have grade 0) with a warning.

    Raises:
        InputError: A table is missing, a row cannot be understood (file, line, field), an ID or
            pair stands twice, or the qrels name a query that there is not.
    """
    for table in ("queries", "qrels", "corpus"):
        if table not in files.tables:
            raise InputError(missing_table(files, table), path=files.folder)
    warnings = _Warnings(files.folder)
    scan = scan_collection(files, mapping, warnings.listen)
    for path in files.left_over:
        warnings.add(path, "is not part of the format and is not read")
    _refuse_repeats(scan.queries, lambda query: query.query_id, "the query {}")
    _refuse_repeats(scan.corpus, lambda document: document.doc_id, "the document {}")
    query_ids = {item.record.query_id for item in scan.queries}
    return Collection(
        name=files.name,
        path=files.folder,
        queries=[item.record for item in scan.queries],
        forms=_forms(scan, warnings),
        qrels={copy: _qrels(rows, query_ids, warnings) for copy, rows in scan.qrels.items()},
        corpus=[item.record for item in scan.corpus],
        rankings=_rankings(scan.rankings, warnings),
        warnings=warnings.as_text(),
    )


def missing_table(files: CollectionFiles, table: str) -> str:
    """What to tell about a table that is not there."""
    present = sorted(path.name for path in files.folder.glob("*")) or ["nothing"]
    return (
        f"no {table}.jsonl here; the folder has {', '.join(present[:20])}. "
        f"If one of them is meant, say --map {table}=FILE"
    )


class _Warnings:
    """Raises what is fatal; counts the rest, so that a fault in every row is told once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._first: dict[tuple[str, Path], str] = {}
        self._count: dict[tuple[str, Path], int] = {}

    def listen(self, problem: Problem) -> None:
        """Listener of a scan."""
        if problem.fatal:
            raise InputError(problem.message, path=problem.path, line=problem.line)
        at = "" if problem.line is None else f"line {problem.line}: "
        # each unknown field is told by its name; other things once per file
        key = problem.message if problem.line is None else problem.code
        self.add(problem.path, f"{at}{problem.message}", key)

    def add(self, path: Path, message: str, key: str = "") -> None:
        """A warning about a file."""
        place = (key or message, path)
        self._first.setdefault(place, message)
        self._count[place] = self._count.get(place, 0) + 1

    def as_text(self) -> list[str]:
        """One line for each kind of warning and file."""
        lines = []
        for place, message in self._first.items():
            more = self._count[place] - 1
            name = _name_in(self._folder, place[1])
            lines.append(f"{name}: {message}" + (f" (and {more} more)" if more else ""))
        return lines


def _name_in(folder: Path, path: Path) -> str:
    """The name of a file in a folder; of one that ``--map`` names elsewhere, its own name."""
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.name


def _refuse_repeats(
    items: Iterable[Scanned[Record]], key: Callable[[Record], Hashable], what: str
) -> None:
    lines: dict[Hashable, Scanned[Record]] = {}
    for item in items:
        first = lines.setdefault(key(item.record), item)
        if first is not item:
            named = what.format(key(item.record))
            raise InputError(
                f"{named} stands twice; the first is {first.path.name}:{first.line}",
                path=item.path,
                line=item.line,
            )


def _forms(scan: Scan, warnings: _Warnings) -> dict[str, dict[str, str]]:
    _refuse_repeats(
        scan.forms, lambda row: f"{row.form} of {row.query_id}", "the form {}"
    )  # fmt: skip
    forms: dict[str, dict[str, str]] = {RAW: {}}
    for item in scan.forms:
        forms.setdefault(item.record.form, {})[item.record.query_id] = item.record.query
    for query in scan.queries:
        text = forms[RAW].setdefault(query.record.query_id, query.record.query_text_eval_full)
        if text != query.record.query_text_eval_full:
            warnings.add(
                query.path,
                f"line {query.line}: query_text_eval_full differs from the form raw, which is used",
                "raw-differs",
            )
    return forms


def _qrels(items: list[Scanned[Qrel]], query_ids: set[str], warnings: _Warnings) -> list[Qrel]:
    _refuse_repeats(items, lambda row: (row.query_id, row.doc_id), "the pair {}")
    for item in items:
        if item.record.query_id not in query_ids:
            raise InputError(
                f"the query {item.record.query_id!r} is not in the queries",
                path=item.path,
                line=item.line,
            )
        if item.record.grade == 0:
            warnings.add(
                item.path, f"line {item.line}: grade 0 is left out (absent pairs are 0)", "zero"
            )
    return [item.record for item in items if item.record.grade]


def _rankings(items: list[Scanned[Ranking]], warnings: _Warnings) -> list[Ranking]:
    """Rankings, one per system, form and query: the first place that a run lies in counts."""
    found: dict[tuple[str, str, str], Scanned[Ranking]] = {}
    for item in items:
        ranking = item.record
        first = found.setdefault((ranking.system, ranking.form, ranking.query_id), item)
        if first is item:
            continue
        if first.path == item.path:
            raise InputError(
                f"the query {ranking.query_id} stands twice; the first is line {first.line}",
                path=item.path,
                line=item.line,
            )
        if first.record.doc_ids != ranking.doc_ids:
            warnings.add(
                item.path,
                f"line {item.line}: query {ranking.query_id}: {first.path} ranks other documents "
                f"for {ranking.system}, form {ranking.form}; that file is used",
                "other-ranking",
            )
    return [item.record for item in found.values()]
