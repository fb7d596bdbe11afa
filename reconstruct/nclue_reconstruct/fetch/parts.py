"""The unfinished file of a download, and when it may be continued."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import requests

from nclue_core.files import open_own
from nclue_http.client import is_coded
from nclue_reconstruct.fetch.content import EDGE

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
        if self.path.is_symlink():  # neither read nor written through
            self.discard()

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
        with open_own(self.path, "ab") as stream:
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
        """The first and last bytes."""
        return edges_of(self.path)

    def unpack(self, max_bytes: int) -> tuple[int, str] | None:
        """Put what is packed here (gzip) in its place; its size and hash, or None if damaged."""
        digest, n_bytes = hashlib.sha256(), 0
        plain = self.path.with_name(f".{self.path.name}.tmp")  # swept after a killed run
        try:
            with gzip.open(self.path) as packed, open_own(plain, "wb") as stream:
                while block := packed.read(BLOCK):
                    n_bytes += len(block)
                    if n_bytes > max_bytes:
                        return None
                    digest.update(block)
                    stream.write(block)
            plain.replace(self.path)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            return None
        finally:
            plain.unlink(missing_ok=True)
        return n_bytes, digest.hexdigest()

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
            with open_own(self._note, "wb") as stream:
                stream.write(note.encode())

    def _validator(self) -> str | None:
        try:
            note = json.loads(self._note.read_text(encoding="utf-8"))
            return _usable(note["validator"]) if note["url"] == self._url else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None


def _validator_of(response: requests.Response) -> str | None:
    """What lets a server say whether the file is unchanged: a strong ETag, or a date."""
    if is_coded(response):
        return None  # what we keep are the decoded bytes: ranges would not fit them
    etag = _usable(response.headers.get("etag", ""))
    return etag if etag and etag[0] == '"' else _usable(response.headers.get("last-modified", ""))


def _usable(validator: str) -> str | None:
    """A validator that can be sent back: no line breaks, nothing beyond Latin-1."""
    fine = re.fullmatch(r"[\x20-\x7e\xa0-\xff]{1,500}", validator.strip())
    return validator.strip() if fine else None


def edges_of(path: Path) -> tuple[bytes, bytes]:
    """The first and last bytes of a file, as many as tell what it is."""
    with path.open("rb") as stream:
        head = stream.read(EDGE)
        stream.seek(max(0, path.stat().st_size - EDGE))
        return head, stream.read(EDGE)


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
