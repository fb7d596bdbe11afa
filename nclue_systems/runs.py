"""Run systems over a collection and write one run file per form and system."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from nclue_core import __version__
from nclue_core.errors import UsageError
from nclue_core.jsonl import write_jsonl
from nclue_core.run_record import RunRecord, rankings_hash, write_record
from nclue_core.schema import Query, Ranking
from nclue_systems.corpus import CorpusIndex
from nclue_systems.facts import Facts
from nclue_systems.registry import SystemSpec
from nclue_systems.systems import SEED, missing_runs, run_system

ReadRun = Callable[[str, str], Mapping[str, Sequence[str]] | None]


@dataclass(frozen=True)
class WrittenRun:
    """A run file that was written."""

    system: str
    form: str
    path: Path
    n_queries: int
    n_empty: int  # queries for which the system found nothing

    def to_json(self) -> dict[str, Any]:
        """The record for ``--json``."""
        return {**self.__dict__, "path": str(self.path)}


def run_path(out: Path, form: str, spec: SystemSpec) -> Path:
    """``<out>/<form>/<system>.jsonl``."""
    return out / form / f"{spec.file_stem}.jsonl"


def write_runs(
    specs: Sequence[SystemSpec],
    index: CorpusIndex,
    queries: Sequence[Query],
    texts: Mapping[str, Mapping[str, str]],
    out: Path,
    *,
    depth: int = 100,
    seed: int = SEED,
    facts: Facts | None = None,
    read_run: ReadRun | None = None,
    collection: str | None = None,
    judgments: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[WrittenRun]:
    """Run every system in every form, and write ``<out>/<form>/<system>.jsonl``.

    Beside each run its `RunRecord` says what it was made from.

    Args:
        specs: What to run.
        index: The corpus.
        queries: In the order of the rows.
        texts: Per form to run, the text of each query.
        out: Folder of the runs. A file is written whole or not at all; files that exist are
            replaced.
        depth: Documents per query, at most.
        seed: Of the system ``random``.
        facts: For the controls.
        read_run: Finds the rankings of (system, form) that fusions need and that are not run
            here; None where there are none.
        collection: Name of the collection; recorded.
        judgments: First digits of the hash of its judgments; recorded.
        progress: Called with a line per run.

    Raises:
        UsageError: A fusion needs a run that there is not. Found before anything is written.
    """
    n_read = int((index.document_lengths() > 0).sum())
    given = {form: _given_runs(specs, form, read_run) for form in texts}
    written = []
    for form, of_form in texts.items():
        for spec in specs:
            if progress:
                progress(f"{form}: {spec.name}")
            rankings = run_system(
                spec.name, index, queries, form,
                depth=depth, seed=seed, texts=of_form, facts=facts, runs=given[form],
            )  # fmt: skip
            record = RunRecord(
                system=spec.name,
                nclue=__version__,
                settings=_settings(spec, depth),
                form=form,
                collection=collection,
                judgments=judgments,
                seed=seed,
                documents=len(index.doc_ids),
                documents_with_text=n_read,
                rankings=rankings_hash({r.query_id: r.doc_ids for r in rankings}),
            )
            written.append(_write(run_path(out, form, spec), spec, form, rankings, record))
    return written


def _given_runs(
    specs: Iterable[SystemSpec], form: str, read_run: ReadRun | None
) -> dict[str, Mapping[str, Sequence[str]]]:
    """The runs that fusions take from elsewhere."""
    runs = {}
    for spec in specs:
        for name in missing_runs(spec):
            found = read_run(name, form) if read_run else None
            if found is None:
                raise UsageError(
                    f"{spec.name} fuses {', '.join(spec.fused)}: there is no run of {name} in the "
                    f"form {form}; put one at OUT/{form}/{name}.jsonl"
                )
            runs[name] = found
    return runs


def _settings(spec: SystemSpec, depth: int) -> dict[str, Any]:
    """What shapes a run besides its name: the fields of the system that are not as usual."""
    usual = SystemSpec("", "")
    changed = {
        field.name: value
        for field in fields(spec)
        if (value := getattr(spec, field.name)) != getattr(usual, field.name)
        and field.name not in ("name", "definition", "inferred")
    }
    changed |= {"k1": spec.k1, "b": spec.b} if spec.kind == "retrieval" else {}
    return {**changed, "depth": depth}


def _write(
    path: Path, spec: SystemSpec, form: str, rankings: Sequence[Ranking], record: RunRecord
) -> WrittenRun:
    write_jsonl(path, (ranking.to_json() for ranking in rankings))
    write_record(path, record)
    n_empty = sum(1 for ranking in rankings if not ranking.doc_ids)
    return WrittenRun(spec.name, form, path, len(rankings), n_empty)
