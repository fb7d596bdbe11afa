"""Files: safe names, hashes, and writes that are either whole or absent."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO
from urllib.parse import quote, unquote

from nclue_core.errors import InputError, UsageError

GZIP_MAGIC = b"\x1f\x8b"
SHA256_PATTERN = re.compile(r"[0-9a-f]{64}")

# IDs become file names (`pdfs/<doc_id>.pdf`): what is allowed is what every file system keeps
# apart, and what can't leave its folder. Windows reserves the device names in any letter case.
_SAFE_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,179}")
MAX_NAME = 180
_RESERVED = frozenset(
    ["con", "prn", "aux", "nul"] + [f"{d}{i}" for d in ("com", "lpt") for i in range(1, 10)]
)


def unsafe_id_reason(identifier: str) -> str | None:
    """Why an ID can't be used as a file name, or None if it can.

    Safe IDs are 1 to 180 of the characters ``A-Z a-z 0-9 . _ -``, don't begin with a dot or a
    hyphen, don't end with a dot, and are not a device name of Windows (``con``, ``nul.txt``).
    """
    if not identifier:
        return "it is empty"
    if len(identifier) > MAX_NAME:
        return f"it has {len(identifier)} characters (at most {MAX_NAME})"
    if not _SAFE_ID.fullmatch(identifier):
        return "only A-Z a-z 0-9 . _ - are safe, and the first must be a letter, digit or _"
    if identifier.endswith("."):
        return "a final dot is lost on some file systems"
    if identifier.partition(".")[0].lower() in _RESERVED:
        return "it is a reserved device name on Windows"
    return None


def file_name(identifier: str) -> str:
    """A file name for an ID: the ID itself where it is safe, else its characters as ``%3A``.

    Names of different IDs differ, stay in their folder, and `id_of_file_name` gives the ID back.

    Raises:
        InputError: The ID is empty, or its name would have more than 180 characters.
    """
    if unsafe_id_reason(identifier) is None:
        return identifier
    # quote() leaves letters, digits and "_.-~" as they are; a safe name has no tilde.
    name = quote(identifier, safe="", errors="surrogatepass").replace("~", "%7E")
    if name[:1] in ("", ".", "-") or name.partition(".")[0].lower() in _RESERVED:
        name = "".join(f"%{byte:02X}" for byte in name[:1].encode()) + name[1:]
    if name.endswith("."):
        name = f"{name[:-1]}%2E"
    if not 0 < len(name) <= MAX_NAME:
        reason = unsafe_id_reason(identifier)
        raise InputError(f"the ID {identifier!r:.100} cannot be a file name: {reason}")
    return name


def id_of_file_name(name: str) -> str:
    """The ID of a name that `file_name` gave."""
    return unquote(name, errors="surrogatepass")


def sha256_file(path: Path) -> str:
    """SHA-256 of a file as 64 lower-case hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def open_maybe_gzip(path: Path) -> BinaryIO:
    """Open a file for reading; gzip is recognised by its content, not by its name."""
    stream = path.open("rb")
    is_gzip = stream.peek(2)[:2] == GZIP_MAGIC
    if not is_gzip:
        return stream
    stream.close()
    return gzip.open(path, "rb")  # type: ignore[return-value]


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Write a file so that its final name always means a whole file.

    The bytes go to a temporary name in the same folder, are flushed to disk and renamed at the
    end; if the block raises, the old file (if any) stays as it was and the temporary is removed.
    A device or pipe (``/dev/stdout``) is written to, not replaced.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        with path.open("wb") as stream:
            yield stream
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name[:100]}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def open_own(path: Path, mode: str) -> IO[bytes]:
    """Open a file of ours for writing where it lies, never what a link in its place leads to.

    Args:
        path: A link of this name is removed; what it leads to stays as it is.
        mode: "wb", or "ab" to append.
    """
    if path.is_symlink():
        path.unlink()
    how = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    how |= os.O_APPEND if mode == "ab" else os.O_TRUNC
    return os.fdopen(os.open(path, how, 0o666), mode)


def refuse_link(path: Path) -> Path:
    """The path, unless it is a link: nothing of ours is written where one leads.

    Raises:
        UsageError: It is one.
    """
    if path.is_symlink():
        raise UsageError(
            f"{path} is a symbolic link, and nothing is written through links inside an output "
            "folder: put a folder or file in its place, or name another output folder"
        )
    return path


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically, as UTF-8, line ends as they are."""
    with atomic_write(path) as stream:
        stream.write(text.encode("utf-8"))
