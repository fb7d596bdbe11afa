"""The folder of a reconstruction: where things lie, who works in it, what became of documents."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from nclue_core.errors import InputError, NClueError, UsageError
from nclue_core.files import file_name, refuse_link
from nclue_core.jsonl import Row, read_jsonl, write_jsonl
from nclue_core.schema import CorpusDocument, Qrel
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
        if not self.manifest.exists():
            return
        try:
            for row in read_jsonl(self.manifest):
                self._rows[_doc_id(row, self.manifest)] = row.value
        except InputError as err:
            raise InputError(
                f"{err.message}. The manifest of a reconstruction is damaged: delete it, losing it "
                "loses no work, and run again",
                path=self.manifest,
                line=err.line,
            ) from None

    @property
    def manifest(self) -> Path:
        """One row per document."""
        return self.root / "manifest.jsonl"

    def pdf(self, doc_id: str) -> Path:
        """Final name of a PDF."""
        return refuse_link(self.root / "pdfs") / f"{file_name(doc_id)}.pdf"

    def pages(self) -> Path:
        """Folder of rendered pages."""
        return refuse_link(self.root / "pages")

    def ocr(self, engine: str) -> Path:
        """Folder of an engine's page texts."""
        return refuse_link(self.root / f"ocr_{engine}")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Only one run works in a folder at a time.

        Raises:
            UsageError: Another run does, or a folder in it is a link to somewhere else.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(refuse_link(self.root / ".lock"), timeout=0):
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
        """Remove what a killed run was about to write; nothing else writes here now.

        Links to files may stay: files are replaced whole, or their links removed, never followed.
        """
        for place, folders, files in os.walk(self.root):
            for name in folders:
                refuse_link(Path(place, name))
            for name in files:
                if name.startswith(".") and name.endswith(".tmp"):
                    Path(place, name).unlink(missing_ok=True)

    def record(self, doc_id: str, step: str, outcome: dict[str, Any]) -> None:
        """Note what became of a document in a step (saved every few seconds, and by `save`)."""
        row = self._rows.setdefault(doc_id, {"doc_id": doc_id})
        row[step] = outcome
        if time.monotonic() - self._saved > SAVE_EVERY_S:
            self.save()

    def forget(self, doc_id: str, step: str) -> None:
        """What was recorded of a step holds no more."""
        self._rows.get(doc_id, {}).pop(step, None)

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


def _doc_id(row: Row, path: Path) -> str:
    """The ID of a row of the manifest, if the row is one."""
    doc_id = row.value.get("doc_id")
    outcomes = [value for name, value in row.value.items() if name != "doc_id"]
    told = [(one.get("state"), one.get("reason", "")) for one in outcomes if isinstance(one, dict)]
    fine = len(told) == len(outcomes) and all(isinstance(text, str) for one in told for text in one)
    if not isinstance(doc_id, str) or not fine:
        message = "expected a doc_id, and for each step a state and a reason"
        raise InputError(message, path=path, line=row.line)
    return doc_id


def chosen(
    corpus: Iterable[CorpusDocument],
    doc_ids: Iterable[str] = (),
    limit: int | None = None,
    qrels: Iterable[Qrel] = (),
) -> list[CorpusDocument]:
    """The documents of a run, the ones that matter first.

    Args:
        corpus: All documents.
        doc_ids: Only these; none: all.
        limit: So many at most, from the first on.
        qrels: Documents that are gold in some query come first, then those judged in more
            queries; others, and equals, in the order of the corpus.

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
    queries, golds = defaultdict(set), set()
    for qrel in qrels:
        queries[qrel.doc_id].add(qrel.query_id)
        if qrel.label == "gold":
            golds.add(qrel.doc_id)
    documents.sort(key=lambda row: (row.doc_id not in golds, -len(queries.get(row.doc_id, ()))))
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
                failed[document.doc_id] = {
                    "state": found["state"],
                    "reason": found.get("reason", ""),
                }
        steps[step] = {
            "done": done,
            "failed": len(failed),
            "to_do": len(documents) - done - len(failed),
            "failures": failed,
        }
    return {"documents": len(documents), "out": str(workspace.root), "steps": steps}
