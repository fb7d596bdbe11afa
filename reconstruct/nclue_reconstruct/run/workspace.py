"""The folder of a reconstruction: where things lie, who works in it, what became of documents."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from nclue_core.errors import NClueError, UsageError
from nclue_core.files import file_name
from nclue_core.jsonl import read_jsonl, write_jsonl
from nclue_core.schema import CorpusDocument
from nclue_reconstruct.outcome import DONE_STATES

SAVE_EVERY_S = 5.0
_DISK_ERRORS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota of the disk is used up",
    errno.EROFS: "the disk can only be read",
    errno.EACCES: "not allowed to write",
    errno.EIO: "the disk fails",
}


class Workspace:
    """``pdfs/``, ``pages/``, ``ocr_<engine>/`` and ``manifest.jsonl`` in one folder.

    The files are the state: a PDF under its final name is verified, a page file is done. The
    manifest says what became of each document and why; losing it loses no work.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._rows: dict[str, dict[str, Any]] = {}
        self._saved = 0.0
        self._load()

    def _load(self) -> None:
        if self.manifest.exists():
            for row in read_jsonl(self.manifest):
                self._rows[str(row.value.get("doc_id"))] = row.value

    @property
    def manifest(self) -> Path:
        """One row per document."""
        return self.root / "manifest.jsonl"

    def pdf(self, doc_id: str) -> Path:
        """Final name of a PDF."""
        return self.root / "pdfs" / f"{file_name(doc_id)}.pdf"

    def pages(self) -> Path:
        """Folder of rendered pages."""
        return self.root / "pages"

    def ocr(self, engine: str) -> Path:
        """Folder of an engine's page texts."""
        return self.root / f"ocr_{engine}"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Only one run works in a folder at a time.

        Raises:
            UsageError: Another run does.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self.root / ".lock", timeout=0):
                self._sweep()
                self._load()  # a run that has just ended may have written more
                yield
        except Timeout:
            raise UsageError(
                f"another run works in {self.root}; wait for it, or choose another --out"
            ) from None

    @contextlib.contextmanager
    def told_disk(self) -> Iterator[None]:
        """Say what to do where the disk is full or cannot be written; what is there stays.

        Raises:
            NClueError: Instead of such an OSError.
        """
        try:
            yield
        except OSError as err:
            what = _DISK_ERRORS.get(err.errno or 0)
            if what is None:
                raise
            raise NClueError(
                f"{self.root}: {what} ({err}); what is done is kept: make room or choose another "
                "--out, then run the same command again"
            ) from err

    def _sweep(self) -> None:
        """Remove what a killed run was about to write; nothing else writes here now."""
        for path in self.root.rglob(".*.tmp"):
            path.unlink(missing_ok=True)

    def record(self, doc_id: str, step: str, outcome: dict[str, Any]) -> None:
        """Note what became of a document in a step (saved every few seconds, and by `save`)."""
        row = self._rows.setdefault(doc_id, {"doc_id": doc_id})
        row[step] = outcome
        if time.monotonic() - self._saved > SAVE_EVERY_S:
            self.save()

    def save(self) -> None:
        """Write the manifest, whole."""
        write_jsonl(self.manifest, (self._rows[doc_id] for doc_id in sorted(self._rows)))
        self._saved = time.monotonic()

    def rows(self) -> list[dict[str, Any]]:
        """The rows of the manifest."""
        return list(self._rows.values())

    def outcome(self, doc_id: str, step: str) -> dict[str, Any] | None:
        """What was recorded of a step, if anything."""
        found = self._rows.get(doc_id, {}).get(step)
        return found if isinstance(found, dict) else None


def page_files(folder: Path, suffix: str) -> Iterator[tuple[int, Path]]:
    """(page, file) of the files ``<page>.<suffix>`` in a document's folder, in no order."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                stem, _, found = entry.name.rpartition(".")
                if found == suffix and stem.isdecimal():
                    yield int(stem), Path(entry.path)
    except FileNotFoundError:
        return


def chosen(
    corpus: Iterable[CorpusDocument], doc_ids: Iterable[str] = (), limit: int | None = None
) -> list[CorpusDocument]:
    """The documents of a run, in the order of the corpus.

    Raises:
        UsageError: A document that there is not.
    """
    documents = list(corpus)
    wanted = set(doc_ids)
    unknown = sorted(wanted - {document.doc_id for document in documents})
    if unknown:
        raise UsageError(f"no document is called {unknown[0]!r} in this collection")
    if wanted:
        documents = [document for document in documents if document.doc_id in wanted]
    return documents[:limit]


def summary(workspace: Workspace, documents: Iterable[CorpusDocument]) -> dict[str, Any]:
    """Per step: done, failed with reasons, to do."""
    steps: dict[str, dict[str, Any]] = {}
    documents = list(documents)
    recorded = {step for row in workspace.rows() for step in row} - {"doc_id", "fetch"}
    names = ["fetch", *sorted(recorded)]
    for step in names:
        done, failed = 0, {}
        for document in documents:
            found = workspace.outcome(document.doc_id, step)
            if found is None:
                continue
            if found["state"] in DONE_STATES:
                done += 1
            else:
                failed[document.doc_id] = {"state": found["state"], "reason": found["reason"]}
        steps[step] = {
            "done": done,
            "failed": len(failed),
            "to_do": len(documents) - done - len(failed),
            "failures": failed,
        }
    return {"documents": len(documents), "out": str(workspace.root), "steps": steps}
