"""PDFs under their final names: what is there, whether it is right, and copies from a folder."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import IO

from nclue_core.files import open_own, refuse_link, sha256_file
from nclue_reconstruct.fetch.content import PDF, kind_of
from nclue_reconstruct.fetch.parts import BLOCK, edges_of
from nclue_reconstruct.fetch.states import (
    CHANGED,
    FORBIDDEN,
    GONE,
    NOT_PDF,
    OK,
    TRUNCATED,
    FetchResult,
)


def existing(
    target: Path, sha256: str | None, *, n_bytes: int | None = None, rehash: bool = False
) -> tuple[int, str] | None:
    """Size and hash of a file that is there and right; a wrong one is set aside.

    The hash recorded beside it counts while size and time are as they were recorded.

    Args:
        target: The file.
        sha256: It must have this hash; None where none is recorded.
        n_bytes: It must have this size, where no hash is recorded.
        rehash: Hash it in any case.
    """
    if not target.is_file():
        return None
    known = None if rehash else recalled(target)
    size = target.stat().st_size
    found = known or sha256_file(target)
    if found != sha256 if sha256 is not None else n_bytes not in (None, size):
        target.replace(target.with_name(target.name + ".mismatch"))
        return None
    if known is None:
        remember(target, size, found)
    return size, found


def remember(target: Path, n_bytes: int, sha256: str) -> None:
    """Note size, time and hash of a file beside it."""
    note = {"n_bytes": n_bytes, "mtime_ns": target.stat().st_mtime_ns, "sha256": sha256}
    path = _state_file(target)
    refuse_link(path.parent)
    path.parent.mkdir(exist_ok=True)
    # Neither renamed nor flushed: half a note is none, and then the PDF is hashed.
    with open_own(path, "wb") as stream:
        stream.write(json.dumps(note).encode())


def recalled(target: Path) -> str | None:
    """The noted hash, if the file is as it was noted."""
    try:
        note = json.loads(_state_file(target).read_text(encoding="utf-8"))
        stat = target.stat()
        same = (note["n_bytes"], note["mtime_ns"]) == (stat.st_size, stat.st_mtime_ns)
        return str(note["sha256"]) if same else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _state_file(target: Path) -> Path:
    return target.parent / ".state" / f"{target.name}.json"


def copy_from(
    source: Path,
    target: Path,
    sha256: str | None,
    *,
    n_bytes: int | None = None,
    rehash: bool = False,
) -> FetchResult:
    """Take a PDF from a folder (a mirror) instead; the hash is checked all the same."""
    began = time.monotonic()
    here = existing(target, sha256, n_bytes=n_bytes, rehash=rehash)
    if here is not None:
        return FetchResult(OK, "", *here)
    if not source.is_file():
        return FetchResult(GONE, f"{source}: not in the mirror")
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    try:
        original = source.open("rb")
    except OSError as err:  # of the mirror: our own folder may be fine
        return FetchResult(FORBIDDEN, f"{source}: cannot be read: {err.strerror or err}")
    with original, open_own(part, "wb") as copy:
        had, found = _copy(original, copy)
    problem = None if found == sha256 else _problem(part, sha256, n_bytes, had, found)
    if problem is not None:
        part.unlink()
        state, told = problem
        return FetchResult(state, f"{source}: {told}", had, found)
    part.replace(target)
    remember(target, had, found)
    return FetchResult(OK, "", had, found, 1, time.monotonic() - began)


def _problem(
    part: Path, sha256: str | None, recorded: int | None, n_bytes: int, found: str
) -> tuple[str, str] | None:
    """State and reason of a file that has not the recorded hash; None if none is recorded."""
    kind = kind_of(*edges_of(part))
    if kind != PDF:
        return NOT_PDF, f"expected SHA-256 {sha256 or 'of a PDF'}, found {found}: {kind}"
    if recorded is not None and n_bytes < recorded:
        return TRUNCATED, f"{n_bytes:,} of {recorded:,} recorded bytes"
    if sha256 is not None:
        return CHANGED, f"expected SHA-256 {sha256}, found {found}"
    if recorded is not None and n_bytes > recorded:
        return CHANGED, f"expected {recorded:,} bytes, found {n_bytes:,}"
    return None


def _copy(original: IO[bytes], copy: IO[bytes]) -> tuple[int, str]:
    digest = hashlib.sha256()
    n_bytes = 0
    while block := original.read(BLOCK):
        digest.update(block)
        copy.write(block)
        n_bytes += len(block)
    copy.flush()
    os.fsync(copy.fileno())
    return n_bytes, digest.hexdigest()
