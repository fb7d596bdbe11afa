"""What a run was made from: a record that lies beside the run file, whatever its format.

``DIR/NAME.run.json`` belongs to ``DIR/NAME.jsonl``, and to ``DIR/NAME.trec`` or
``DIR/NAME.parquet`` made from it: it names the rankings by their content, not by their bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from nclue_core.errors import InputError
from nclue_core.files import write_text
from nclue_core.jsonl import dump_json

FORMAT = "nclue-run/1"
MAX_BYTES = 2**20


@dataclass(frozen=True)
class RunRecord:
    """What a run was made from. None where it is not known."""

    system: str
    nclue: str  # version of the kit
    settings: dict[str, Any]  # of the system
    form: str
    collection: str | None = None
    judgments: str | None = None  # first digits of the judgments' hash, as in signatures
    seed: int | None = None
    documents: int | None = None  # in the corpus
    documents_with_text: int | None = None  # of them, what the system could read
    rankings: str | None = None  # `rankings_hash` of the run

    def coverage(self) -> str | None:
        """``"5 of 164 documents"`` for a run over a part of the corpus, else None."""
        if self.documents is None or self.documents_with_text in (None, self.documents):
            return None
        return f"{self.documents_with_text:,} of {self.documents:,} documents"

    def line(self) -> str:
        """The record in one line, to print beside results."""
        parts = [self.system, f"nclue {self.nclue}", f"form {self.form}"]
        parts += [f"{name} {value}" for name, value in self.settings.items()]
        parts += [f"seed {self.seed}"] * (self.seed is not None)
        parts += [f"made over {part}" for part in [self.coverage()] if part]
        return ", ".join(parts)

    def to_json(self) -> dict[str, Any]:
        """The record as data."""
        return asdict(self)


def record_path(run: Path) -> Path:
    """``NAME.run.json`` beside the run file; NAME is its name without ``.gz`` and suffix."""
    name = run.name.removesuffix(".gz")
    return run.with_name(f"{name.rpartition('.')[0] or name}.run.json")


def rankings_hash(rankings: Mapping[str, Sequence[str]]) -> str:
    """SHA-256 over the ranked document IDs of all queries that have any, in any format."""
    digest = hashlib.sha256()
    for query_id in sorted(rankings):
        if rankings[query_id]:
            digest.update(json.dumps([query_id, list(rankings[query_id])]).encode())
    return digest.hexdigest()


def write_record(run: Path, record: RunRecord) -> None:
    """Write the record beside the run file, replacing an older one."""
    write_text(record_path(run), dump_json({"format": FORMAT, **record.to_json()}) + "\n")


def read_record(run: Path) -> RunRecord | None:
    """The record beside a run file; None if there is none, or another thing of that name.

    Raises:
        InputError: It says to be a record, and a field of it is not as it must be.
    """
    path = record_path(run)
    try:
        if path == run or path.stat().st_size > MAX_BYTES:
            return None
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or value.pop("format", None) != FORMAT:
        return None
    return _record(value, path)


def _record(value: dict[str, Any], path: Path) -> RunRecord:
    known = {field.name: field.type for field in fields(RunRecord)}
    taken = {name: value[name] for name in known if name in value}
    for name, item in taken.items():
        if not _fits(item, str(known[name])):
            raise InputError(f"{name} is {item!r:.60}, expected {known[name]}", path=path)
    lacking = [name for name in ("system", "nclue", "settings", "form") if name not in taken]
    if lacking:
        raise InputError(f"{', '.join(lacking)} is missing from the record of the run", path=path)
    return RunRecord(**taken)


def _fits(item: object, kind: str) -> bool:
    if item is None:
        return "None" in kind
    expected = {"str": str, "int": int, "dict": dict}[kind.partition("[")[0].partition(" ")[0]]
    return isinstance(item, expected) and not isinstance(item, bool)
