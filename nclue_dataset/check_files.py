"""Checks of a release's files as files: names, encodings, checksums."""

from __future__ import annotations

from pathlib import Path

from nclue_core.files import GZIP_MAGIC, open_maybe_gzip
from nclue_core.jsonl import BOM
from nclue_dataset.archive import listed_names, verify_sha256sums
from nclue_dataset.layout import CHECKSUMS
from nclue_dataset.scan import Listener, Problem

_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def check_folder(release: Path, listen: Listener) -> None:
    """Checksums, missing and unlisted files."""
    sums = release / CHECKSUMS
    if not sums.is_file():
        listen(Problem("no-checksums", sums, None, "there is no SHA256SUMS to check files against"))
        return
    for problem in verify_sha256sums(release):
        listen(Problem(problem.code, sums, problem.line, problem.message))
    listed = listed_names(release)
    for path in sorted(release.rglob("*")):
        name = path.relative_to(release).as_posix()
        if path.is_file() and name not in listed and not _is_outside(name):
            listen(Problem("unlisted-file", path, None, "not listed in SHA256SUMS"))


def _is_outside(name: str) -> bool:
    """The list itself, and what version control keeps."""
    return name == CHECKSUMS or name.split("/")[0] == ".git"


def check_encoding(path: Path, listen: Listener) -> None:
    """How a file is written: UTF-8 with bare newlines is right; other things are told."""
    try:
        with path.open("rb") as stream:
            is_gzip = stream.read(2) == GZIP_MAGIC
        with open_maybe_gzip(path) as stream:
            head = stream.read(1 << 16)
    except (OSError, EOFError):  # told by the scan
        return
    if is_gzip != path.name.endswith(".gz"):
        said = "compressed, but its name does not end with .gz"
        message = said if is_gzip else "not compressed, but its name ends with .gz"
        listen(Problem("gzip-name", path, None, message))
    if head.startswith(_UTF16):
        message = "begins like UTF-16; save it as UTF-8"
        listen(Problem("encoding", path, 1, message))
    if head.startswith(BOM):
        listen(Problem("bom", path, 1, "begins with a byte order mark; save it without"))
    if b"\r\n" in head:
        listen(Problem("crlf", path, None, "lines end with CR LF; expected LF"))
