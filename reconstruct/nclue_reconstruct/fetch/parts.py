"""The unfinished file of a download, and when it may be continued."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import requests

from nclue_http.client import is_coded

BLOCK = 1 << 19  # larger ones are no faster, and are lost when a run is killed


class Part:
    """``<name>.part`` beside the final name, with a note of where it came from.

    Args:
        target: The final name.
        url: What is asked for; a part of another address is not continued.
    """

    def __init__(self, target: Path, url: str) -> None:
        self.path = target.with_name(target.name + ".part")
        self._note = target.with_name(target.name + ".part.json")
        self._target = target
        self._url = url

    def conditions(self) -> dict[str, str]:
        """Headers that ask for the rest, if it can be told whether the file is still the same."""
        validator = self._validator()
        size = self._size()
        if not validator or size <= 0:
            return {}
        return {"Range": f"bytes={size}-", "If-Range": validator}

    def continues(self, response: requests.Response) -> bool:
        """Whether a 206 is exactly the rest of what we have, uncoded."""
        found = re.fullmatch(
            r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("content-range", "").strip()
        )
        return found is not None and int(found[1]) == self._size() and not is_coded(response)

    @contextlib.contextmanager
    def writer(
        self, response: requests.Response, resumed: bool
    ) -> Iterator[tuple[IO[bytes], Any, int]]:
        """The stream, the hash so far and the bytes so far; flushed to disk at the end."""
        digest = hashlib.sha256()
        had = 0
        if resumed:
            had = _hash_into(digest, self.path)
        else:
            self.discard()
            self._write_note(_validator_of(response))
        with self.path.open("ab") as stream:
            yield stream, digest, had
            stream.flush()
            os.fsync(stream.fileno())

    def is_whole(self, sha256: str | None) -> bool:
        """Whether the part is the wanted file already (a run was killed before the renaming)."""
        if sha256 is None or self._size() <= 0:
            return False
        digest = hashlib.sha256()
        with self.path.open("rb+") as stream:
            os.fsync(stream.fileno())
        _hash_into(digest, self.path)
        return digest.hexdigest() == sha256

    def finish(self) -> int:
        """Give the verified file its final name, for good; returns its size."""
        self.path.replace(self._target)
        self._note.unlink(missing_ok=True)
        _sync_folder(self._target.parent)
        return self._target.stat().st_size

    def set_aside(self) -> Path:
        """Keep what has another hash as ``<name>.mismatch``."""
        aside = self._target.with_name(self._target.name + ".mismatch")
        self.path.replace(aside)
        self._note.unlink(missing_ok=True)
        return aside

    def discard(self) -> None:
        """Start over."""
        self.path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)

    def edges(self) -> tuple[bytes, bytes]:
        """The first and last 1,024 bytes."""
        with self.path.open("rb") as stream:
            head = stream.read(1024)
            stream.seek(max(0, self._size() - 1024))
            return head, stream.read(1024)

    def _size(self) -> int:
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return -1

    def _write_note(self, validator: str | None) -> None:
        """Before the first byte, so that a part never lies beside the note of another.

        Not flushed to disk: whatever a power cut leaves here is found out by the hash.
        """
        if validator is not None:  # without one the part is not continued anyway
            note = json.dumps({"url": self._url, "validator": validator})
            self._note.write_text(note, encoding="utf-8")

    def _validator(self) -> str | None:
        try:
            note = json.loads(self._note.read_text(encoding="utf-8"))
            validator = note["validator"] if note["url"] == self._url else None
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return validator if isinstance(validator, str) else None


def _validator_of(response: requests.Response) -> str | None:
    """What lets a server say whether the file is unchanged: a strong ETag, or a date."""
    if is_coded(response):
        return None  # what we keep are the decoded bytes: ranges would not fit them
    etag = response.headers.get("etag", "")
    return etag if etag.startswith('"') else response.headers.get("last-modified")


def _hash_into(digest: Any, path: Path) -> int:
    n_bytes = 0
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            digest.update(block)
            n_bytes += len(block)
    return n_bytes


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
