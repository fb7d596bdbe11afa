"""Get a release: from a folder, an archive, a URL, or the public repository.

Archives and servers are not trusted: sizes, counts and names are checked before and while
anything is written, and a folder or file appears under its final name only when it is whole.
"""

from __future__ import annotations

import functools
import re
import stat
import tarfile
import tempfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from nclue_core._version import __version__
from nclue_core.errors import InputError, NetworkError, UsageError
from nclue_core.files import atomic_write, open_maybe_gzip, sha256_file
from nclue_core.jsonl import shorten
from nclue_dataset.layout import CHECKSUMS
from nclue_dataset.paths import PUBLIC_REPOSITORY

if TYPE_CHECKING:
    import requests

    from nclue_http.client import Client

# The published release holds annotations only (tens of megabytes, a few hundred files); these
# bounds leave room and stop archives made to fill a disk.
MAX_ARCHIVE_BYTES = 512 * 2**20  # as downloaded
MAX_TOTAL_BYTES = 2 * 2**30  # unpacked
MAX_FILES = 20_000
MAX_RATIO = 200  # unpacked to packed; text compresses 5 to 20 times
RATIO_FREE_BYTES = 32 * 2**20  # small archives may compress as well as they like
MAX_REDIRECTS = 5
MAX_SECONDS = 900.0  # a whole download
DEFAULT_REVISION = "main"
_BLOCK = 1 << 16
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")
_SUMS_LINE = re.compile(r"(?P<sha256>[0-9a-fA-F]{64}) [ *](?P<name>.+)")

SUPPLY = (
    "Three ways to supply a release: a folder (a local clone), --release FOLDER; an archive of it "
    "(zip, tar, tar.gz), --release FILE; or its address, --release URL."
)


_DAMAGE = (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError, ValueError, zlib.error)


class ChecksumProblem(NamedTuple):
    """A line of ``SHA256SUMS`` that does not hold."""

    code: str  # checksum, missing-file or checksum-format
    line: int
    message: str


@dataclass(frozen=True)
class _Member:
    """A regular file in an archive."""

    name: str
    size: int
    handle: zipfile.ZipInfo | tarfile.TarInfo


def unpack_release(archive: Path, into: Path) -> Path:
    """Unpack a zip, tar or tar.gz into a new folder.

    Only regular files are taken. The single top folder that forges put around an archive is
    removed. If anything is wrong, nothing remains.

    Args:
        archive: The archive; its type is told by its content.
        into: A folder that does not exist yet.

    Returns:
        ``into``.

    Raises:
        InputError: It is no such archive, it is damaged, it names files outside its folder,
            links, devices, or a name twice, or it is larger than the bounds of this module.
        UsageError: ``into`` exists.
    """
    if into.exists():
        raise UsageError(f"{into} exists already; name a new folder")
    into.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=into.parent) as staging:
        folder = Path(staging) / "release"
        folder.mkdir()
        try:
            with _opened(archive) as (members, open_member):
                checked = _checked_members(members, archive)
                paths = _safe_paths([member.name for member in checked], archive)
                _copy_members(checked, paths, open_member, folder)
        except _DAMAGE as err:
            raise InputError(f"damaged or not an archive: {err}", path=archive) from err
        except (RuntimeError, NotImplementedError) as err:  # encrypted, unknown compression
            raise InputError(f"cannot be unpacked: {err}", path=archive) from err
        folder.rename(into)
    return into


class _BoundedReads:
    """A binary file that refuses huge single reads.

    File contents are copied in small blocks here; only the metadata of a tar asks for more at
    once, as much as its header claims.
    """

    def __init__(self, stream: IO[bytes], limit: int = 1 << 20) -> None:
        self._stream = stream
        self._limit = limit

    def read(self, size: int = -1) -> bytes:
        """Read at most the limit."""
        if not 0 <= size <= self._limit:
            raise ValueError(f"a header claims {size:,} bytes")
        return self._stream.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        """As of the file below."""
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        """As of the file below."""
        return self._stream.tell()


_Opener = Callable[[_Member], IO[bytes]]


@contextmanager
def _opened(archive: Path) -> Iterator[tuple[Iterator[_Member], _Opener]]:
    """The members of an archive, and how to open one."""
    if not archive.is_file():
        raise InputError("no such file", path=archive)
    if archive.stat().st_size > MAX_ARCHIVE_BYTES:
        raise InputError(f"the archive is larger than {MAX_ARCHIVE_BYTES:,} bytes", path=archive)
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened_zip:
            yield _zip_members(opened_zip, archive), lambda m: opened_zip.open(m.handle)  # type: ignore[arg-type]
        return
    with open_maybe_gzip(archive) as stream:
        bounded: Any = _BoundedReads(stream)
        with tarfile.open(fileobj=bounded, mode="r:") as opened_tar:
            yield _tar_members(opened_tar, archive), lambda m: _tar_file(opened_tar, m)


def _tar_file(opened: tarfile.TarFile, member: _Member) -> IO[bytes]:
    stream = opened.extractfile(member.handle)  # type: ignore[arg-type]
    if stream is None:
        raise tarfile.TarError(f"{member.name} has no content")
    return stream


def _zip_members(opened: zipfile.ZipFile, archive: Path) -> Iterator[_Member]:
    for info in opened.infolist():
        if info.orig_filename.endswith("/"):
            continue
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG):
            raise InputError(f"{info.filename!r} is a link or device; refused", path=archive)
        yield _Member(info.orig_filename, info.file_size, info)


def _tar_members(opened: tarfile.TarFile, archive: Path) -> Iterator[_Member]:
    for info in opened:
        if info.isdir():
            continue
        if not info.isreg() or info.issparse():
            raise InputError(f"{info.name!r} is a link or device; refused", path=archive)
        yield _Member(info.name, info.size, info)


def _checked_members(members: Iterable[_Member], archive: Path) -> list[_Member]:
    """All members, if they keep the bounds; stops at the first that does not."""
    total = 0
    checked: list[_Member] = []
    allowed = max(RATIO_FREE_BYTES, MAX_RATIO * archive.stat().st_size)
    for member in members:
        total += member.size
        checked.append(member)
        if len(checked) > MAX_FILES:
            raise InputError(f"more than {MAX_FILES:,} files", path=archive)
        if total > min(MAX_TOTAL_BYTES, allowed):
            raise InputError(
                f"unpacked it would be more than {min(MAX_TOTAL_BYTES, allowed):,} bytes "
                f"({archive.stat().st_size:,} packed)",
                path=archive,
            )
    if not checked:
        raise InputError("the archive holds no files", path=archive)
    return checked


def _safe_paths(names: list[str], archive: Path) -> list[PurePosixPath]:
    """Relative paths of the members without the forge's top folder, no two of them alike."""
    paths = [_safe_path(name, archive) for name in names]
    tops = {path.parts[0] for path in paths}
    if len(tops) == 1 and tops != {"data"} and all(len(path.parts) > 1 for path in paths):
        paths = [PurePosixPath(*path.parts[1:]) for path in paths]
    taken = {_folded(path) for path in paths}
    seen: set[str] = set()
    for path in paths:
        if _folded(path) in seen:
            raise InputError(
                f"{str(path)!r} is there twice (letter case does not count)", path=archive
            )
        if any(_folded(parent) in taken for parent in path.parents):
            raise InputError(f"{str(path)!r} lies in a file", path=archive)
        seen.add(_folded(path))
    return paths


def _folded(path: PurePosixPath) -> str:
    return unicodedata.normalize("NFC", str(path)).casefold()


def _safe_path(name: str, archive: Path) -> PurePosixPath:
    path = PurePosixPath(name)
    hostile = (
        path.is_absolute()
        or ".." in path.parts
        or not path.parts
        or re.match(r"[A-Za-z]:", name) is not None
        or any(char == "\\" or ord(char) < 32 for char in name)
    )
    if hostile:
        raise InputError(f"unsafe name in the archive: {name!r}", path=archive)
    return path


def _copy_members(
    members: list[_Member], paths: list[PurePosixPath], open_member: _Opener, folder: Path
) -> None:
    for member, path in zip(members, paths):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        written = 0
        with open_member(member) as source, target.open("xb") as copy:
            while block := source.read(_BLOCK):
                written += len(block)
                if written > member.size:
                    break
                copy.write(block)
        if written != member.size:
            raise ValueError(f"{member.name} has {written:,} bytes instead of {member.size:,}")


def download(
    url: str,
    target: Path,
    *,
    max_bytes: int = MAX_ARCHIVE_BYTES,
    timeout_s: float = 30.0,
    max_seconds: float = MAX_SECONDS,
) -> None:
    """Fetch a file; it appears under its name only when it is whole.

    Args:
        url: http or https.
        target: Where to put it.
        max_bytes: More is refused, whether announced or sent.
        timeout_s: Seconds without an answer or a byte.
        max_seconds: Seconds for the whole download.

    Raises:
        UsageError: The address is not http(s).
        NetworkError: No answer, an error status, too many redirects or one to another kind of
            address, a body that is too long, too slow or cut off.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise UsageError(f"{url}: expected an http or https address")
    from nclue_http.client import Client, HttpSettings
    from nclue_http.errors import HttpError

    settings = HttpSettings(
        {
            "User-Agent": f"nclue/{__version__} ({PUBLIC_REPOSITORY})",
            "Accept-Encoding": "identity",
        },
        connect_timeout_s=timeout_s,
        read_timeout_s=timeout_s,
        total_timeout_s=max_seconds,
        max_redirects=MAX_REDIRECTS,
        allow_downgrade=False,
    )
    try:
        with Client(settings) as client:
            # The user named this address; what it redirects to may not be inside their network.
            read = functools.partial(_save, client, target, max_bytes)
            client.exchange(url, read, trusted=True)
    except HttpError as err:
        told = err.what if err.url == url else str(err)
        raise NetworkError(f"{url} could not be fetched: {told}. {SUPPLY}") from err


def _save(client: Client, target: Path, max_bytes: int, response: requests.Response) -> None:
    from nclue_http.client import body_length
    from nclue_http.errors import TOO_LARGE, TRUNCATED, HttpError

    if response.status_code != 200:
        raise client.refuse_status(response)
    announced = body_length(response)
    if announced is not None and announced > max_bytes:
        told = f"{announced:,} bytes announced, at most {max_bytes:,} are taken"
        raise HttpError(TOO_LARGE, told, response.url)
    received = 0
    with atomic_write(target) as stream:
        while block := response.raw.read(_BLOCK, decode_content=False):
            received += len(block)
            if received > max_bytes:
                raise HttpError(TOO_LARGE, f"more than {max_bytes:,} bytes were sent", response.url)
            stream.write(block)
        if announced is not None and received != announced:
            told = f"{received:,} of {announced:,} bytes arrived"
            raise HttpError(TRUNCATED, told, response.url)


def verify_sha256sums(folder: Path) -> list[ChecksumProblem]:
    """Compare the files of a folder with its ``SHA256SUMS``.

    Returns:
        What is wrong, in the order of the list; empty if all agree or if there is no list.
    """
    sums = folder / CHECKSUMS
    if not sums.is_file():
        return []
    text = sums.read_bytes().decode("utf-8-sig", errors="replace")
    return [
        ChecksumProblem(code, line, message)
        for line, row in enumerate(text.splitlines(), start=1)
        if row.strip()
        for code, message in _check_sum(folder, row)
    ]


def listed_names(folder: Path) -> set[str]:
    """Names in ``SHA256SUMS``, without a leading ``./``."""
    sums = folder / CHECKSUMS
    if not sums.is_file():
        return set()
    text = sums.read_bytes().decode("utf-8-sig", errors="replace")
    found = (_SUMS_LINE.fullmatch(row) for row in text.splitlines())
    return {match["name"].removeprefix("./") for match in found if match}


def _check_sum(folder: Path, row: str) -> Iterator[tuple[str, str]]:
    match = _SUMS_LINE.fullmatch(row)
    if match is None:
        yield "checksum-format", f"expected `SHA256  NAME`, found {shorten(repr(row))}"
        return
    name = match["name"]
    if not (folder / name).resolve().is_relative_to(folder.resolve()):
        yield "checksum-format", f"{name!r} lies outside the release"
    elif not (folder / name).is_file():
        yield "missing-file", f"{name} is listed, but is not there"
    elif (found := sha256_file(folder / name)) != match["sha256"].lower():
        yield "checksum", f"{name}: expected {match['sha256'].lower()}, found {found}"


def acquire_release(source: str | None, revision: str | None, workdir: Path) -> Path:
    """A release directory from wherever it is, checked against its ``SHA256SUMS``.

    Args:
        source: A folder, an archive (zip, tar, tar.gz), or the http(s) address of one. Without
            it the archive of the public repository is fetched.
        revision: Branch, tag or commit of the public repository (default: main).
        workdir: Folder for what is downloaded and unpacked.

    Returns:
        The folder; a local one is used where it is.

    Raises:
        UsageError: A revision beside a source, or a revision that is none.
        InputError: No such file, a bad archive, or files that differ from ``SHA256SUMS``.
        NetworkError: It cannot be fetched.
    """
    if source is not None and revision is not None:
        raise UsageError("--revision is of the public repository; leave it out beside --release")
    url = public_archive_url(revision or DEFAULT_REVISION) if source is None else source
    folder = _local_folder(url, workdir)
    problems = verify_sha256sums(folder)
    if problems:
        shown = "; ".join(problem.message for problem in problems[:5])
        more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
        raise InputError(
            f"{len(problems)} files differ from the checksums of the release: {shown}{more}. "
            "Get the release again, or see `nclue check`",
            path=folder / CHECKSUMS,
        )
    return folder


def public_archive_url(revision: str) -> str:
    """Address of the public repository's archive at a revision."""
    if not _REVISION.fullmatch(revision) or ".." in revision:
        raise UsageError(f"{revision!r} is not a branch, tag or commit")
    return f"{PUBLIC_REPOSITORY}/archive/{revision}.tar.gz"


def _local_folder(source: str, workdir: Path) -> Path:
    if urlsplit(source).scheme in ("http", "https"):
        archive = workdir / "download"
        download(source, archive)
        return unpack_release(archive, workdir / "release")
    path = Path(source).expanduser()
    if path.is_dir():
        return path
    if not path.exists():
        raise InputError(f"no such file or folder. {SUPPLY}", path=source)
    return unpack_release(path, workdir / "release")
