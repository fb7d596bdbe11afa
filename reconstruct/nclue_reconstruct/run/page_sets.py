"""By what settings the pages of a document were made: pages of other settings are set aside.

For each document and step a small file names the settings that shape its pages. Where they differ
from those of a run, what is there is moved to ``earlier/`` before anything is made, and pages of
these settings that lie in there are taken back. So no document has pages of two settings, nothing
is lost by a slip of an option, and going back costs nothing.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nclue_core.files import file_name, id_of_file_name, write_text
from nclue_core.pages import page_files, page_path
from nclue_reconstruct.run.workspace import Workspace

UNKNOWN = "unknown"
Settings = dict[str, Any]  # JSON


def fingerprint(settings: Settings | None) -> str:
    """A short name for settings; UNKNOWN where they are not recorded."""
    if settings is None:
        return UNKNOWN
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


class PageSets:
    """The pages of one step (``ocr_text``, ``render`` …).

    Args:
        workspace: Where they lie.
        step: Its name.
        folder: The folder of its results, with one below it for each document.
        suffix: Of its page files.
        settings: All that shapes the pages, apart from the PDF.
    """

    def __init__(
        self, workspace: Workspace, step: str, folder: Path, suffix: str, settings: Settings
    ) -> None:
        self._root = workspace.root
        self._step = step
        self._folder = folder
        self._suffix = suffix
        self._settings = settings
        self._changes: Counter[str] = Counter()

    def pages(self, doc_id: str) -> set[int]:
        """The pages of a document that are there."""
        return {page for page, _ in page_files(self._of(doc_id), self._suffix)}

    def claim(self, doc_id: str, sha256: str) -> str:
        """See to it that what is there of a document is of these settings and this PDF.

        Returns:
            The fingerprint of settings and PDF.
        """
        wanted = {**self._settings, "sha256": sha256}
        found = recorded(self._root, self._step, doc_id)
        if found != wanted:
            record = _record_path(self._root, self._step, doc_id)
            record.unlink(missing_ok=True)  # whenever we are killed, it does not name wrong pages
            told = self._set_aside(doc_id, found, wanted)
            if not self._take_back(doc_id, wanted) and told:
                self._changes[told] += 1
            write_text(record, json.dumps(wanted, sort_keys=True, ensure_ascii=False))
        return fingerprint(wanted)

    def changes(self) -> Iterator[str]:
        """One line for each way in which settings differed where pages are made again."""
        for change, count in self._changes.most_common():
            documents = "1 document" if count == 1 else f"{count:,} documents"
            yield f"{documents} read again: {change} (pages until now: earlier/{self._step})"

    def _of(self, doc_id: str) -> Path:
        return page_path(self._folder, doc_id, 1).parent

    def _earlier(self, doc_id: str, settings: Settings | None) -> Path:
        base = self._root / "earlier" / self._step
        return base / fingerprint(settings) / file_name(doc_id)

    def _set_aside(self, doc_id: str, found: Settings | None, wanted: Settings) -> str | None:
        here = self._of(doc_id)
        if not self.pages(doc_id):
            return None
        target = named = self._earlier(doc_id, found)
        number = 1
        while target.exists():  # pages of unknown settings for the second time
            number += 1
            target = named.parent.with_name(f"{named.parent.name}-{number}") / named.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(here, target)
        return difference(found, wanted)

    def _take_back(self, doc_id: str, wanted: Settings) -> bool:
        source, here = self._earlier(doc_id, wanted), self._of(doc_id)
        if not source.is_dir():
            return False
        if here.is_dir():
            shutil.rmtree(here)  # it holds no page
        here.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(source, here)
        return True


def recorded(root: Path, step: str, doc_id: str) -> Settings | None:
    """The settings of a document's pages; None if they are unknown (pages of version 0.1.0)."""
    try:
        value = json.loads(_record_path(root, step, doc_id).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def mixed_settings(root: Path, folder: Path) -> Iterator[str]:
    """A warning where the documents of a folder ``ocr_<engine>`` were not all read alike."""
    kinds: Counter[str] = Counter()
    for name in sorted(path.name for path in folder.iterdir() if path.is_dir()):
        settings = dict(recorded(root, folder.name, id_of_file_name(name)) or {})
        settings.pop("sha256", None)
        kinds[", ".join(f"{n} {v}" for n, v in _flat(settings)) or UNKNOWN] += 1
    if len(kinds) > 1:
        told = "; ".join(f"{count} with {kind}" for kind, count in kinds.most_common(4))
        yield f"{folder}: documents were read under {len(kinds)} different settings: {told}"


def _record_path(root: Path, step: str, doc_id: str) -> Path:
    return root / ".state" / step / f"{file_name(doc_id)}.json"


def difference(found: Settings | None, wanted: Settings) -> str:
    """How settings changed: "settings changed from dpi 60 to dpi 300"."""
    if found is None:
        return "settings of the pages that were there are unknown"
    before, after = dict(_flat(found)), dict(_flat(wanted))
    if before.pop("sha256", None) != after.pop("sha256", None) and before == after:
        return "the PDF is another"
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    old, new = (", ".join(f"{n} {of[n]}" for n in names if n in of) for of in (before, after))
    return f"settings changed from {old or 'none'} to {new or 'none'}"


def _flat(settings: Settings, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", value if value is not None else "none"
