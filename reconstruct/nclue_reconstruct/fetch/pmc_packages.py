"""PDFs of PubMed Central by way of the older oa service and its packages.

The service names, for a PMCID, a package (tar.gz) and at times a PDF, on an ftp host whose files
were served by https, too. Both were retired in August 2026, so this is the last resort, for
mirrors of the service and for packages that are still about.
Source: pmc.ncbi.nlm.nih.gov/tools/oa-service.

A package comes from a stranger: nothing is unpacked. Its members are read one after the other,
their names are never paths, and only bytes with the wanted hash are kept.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import tarfile
import zlib
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from nclue_core.files import atomic_write
from nclue_reconstruct.fetch.content import EDGE, is_pdf
from nclue_reconstruct.fetch.parts import BLOCK
from nclue_reconstruct.fetch.states import CHANGED, NOT_PDF, TOO_LARGE, TRUNCATED, FetchError

OA_SERVICE = "https://www.ncbi.nlm.nih.gov/pmc/utils/oa/oa.fcgi"
MAX_ANSWER_BYTES = 1 << 20
MAX_MEMBERS = 10_000
MAX_READ = 1 << 20  # at once: more is asked for only where a header is a bomb
MAX_UNPACKED_BYTES = 8 << 30  # of all members of one package

# What tarfile and gzip raise at files that are not what they seem.
DAMAGES = (
    tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error, ValueError, OverflowError,
    RecursionError,
)  # fmt: skip

# Read by pattern, not by an XML parser: nothing in the answer can expand.
_LINK = re.compile(r"<link\s[^<>]{0,2000}>")
_ATTRIBUTE = re.compile(r"""\b([a-z]{1,20})\s{0,5}=\s{0,5}["']([^"'<>]*)["']""")


def service_url(pmcid: str, service: str = OA_SERVICE) -> str:
    """Address that lists the files of an article."""
    return f"{service}?id={pmcid}"


def links_of(answer: bytes) -> list[tuple[str, str]]:
    """(format, address) of the files in an answer of the service: PDFs first, then packages.

    Addresses by ftp become https ones: the host served the same files there.
    """
    found = []
    for tag in _LINK.findall(answer.decode("utf-8", "replace")):
        attributes = dict(_ATTRIBUTE.findall(tag))
        kind, address = attributes.get("format"), unescape(attributes.get("href", ""))
        if kind in ("pdf", "tgz") and address:
            found.append((kind, _by_https(address)))
    return sorted(found, key=lambda link: link[0] == "tgz")


def _by_https(address: str) -> str:
    return f"https{address[3:]}" if urlsplit(address).scheme == "ftp" else address


def take_pdf(package: Path, target: Path, sha256: str | None, max_bytes: int) -> tuple[int, str]:
    """Copy the PDF of a package to its final name.

    Args:
        package: A tar file, compressed with gzip.
        target: Where to; written whole or not at all.
        sha256: Of the wanted PDF. None takes the PDF if there is but one.
        max_bytes: Largest PDF that is taken.

    Returns:
        Size and SHA-256 of the PDF.

    Raises:
        FetchError: The package is damaged or too large (``truncated``, ``too_large``), holds no
            PDF (``not_pdf``), or none with this hash (``changed_at_source``).
    """
    try:
        return _take_pdf(package, target, sha256, max_bytes)
    except DAMAGES as err:
        raise FetchError(TRUNCATED, f"{package.name}: a damaged package: {err}") from err


def _take_pdf(package: Path, target: Path, sha256: str | None, max_bytes: int) -> tuple[int, str]:
    found = [digest for _, digest, _ in _pdfs(package, max_bytes)]
    wanted = sha256 if sha256 in found else None
    if sha256 is None and len(found) == 1:
        wanted = found[0]
    if not found:
        raise FetchError(NOT_PDF, f"{package.name}: no PDF in the package")
    if wanted is None:
        hashes = ", ".join(found[:5])
        expected = sha256 or "a single PDF"
        reason = f"{package.name}: expected {expected}, found {len(found)} PDFs: {hashes}"
        raise FetchError(CHANGED, reason)
    n_bytes = _copy(package, found.index(wanted), target, max_bytes)
    return n_bytes, wanted


def _copy(package: Path, index: int, target: Path, max_bytes: int) -> int:
    """A second pass, in which only the chosen PDF is kept."""
    with atomic_write(target) as out:
        for place, _, n_bytes in _pdfs(package, max_bytes, out, index):
            if place == index:
                return n_bytes
    raise AssertionError("the package changed while it was read")


def _pdfs(
    package: Path, max_bytes: int, out: IO[bytes] | None = None, chosen: int = -1
) -> Iterator[tuple[int, str, int]]:
    """Place, SHA-256 and size of each PDF; the chosen one is also written to ``out``."""
    place = 0
    for member, stream in _members(package):
        if not member.name.lower().endswith(".pdf"):
            continue
        if member.size > max_bytes:
            raise FetchError(TOO_LARGE, f"{package.name}: a PDF of {member.size:,} bytes")
        digest = hashlib.sha256()
        block = stream.read(BLOCK)
        if not is_pdf(block[:EDGE], block[-EDGE:]):
            continue
        while block:
            digest.update(block)
            if out is not None and place == chosen:
                out.write(block)
            block = stream.read(BLOCK)
        yield place, digest.hexdigest(), member.size
        place += 1


class _Packed(gzip.GzipFile):
    """A gzip file of which no large part is asked for at once: tarfile reads headers whole."""

    def read(self, size: int | None = -1) -> bytes:
        if size is None or not 0 <= size <= MAX_READ:
            raise tarfile.ReadError(f"a header of {size} bytes")
        return super().read(size)


def _members(package: Path) -> Iterator[tuple[tarfile.TarInfo, IO[bytes]]]:
    """The plain files of a package, in order: no links, devices or folders."""
    with _Packed(package) as stream, tarfile.open(fileobj=stream, mode="r:") as archive:
        for _ in range(MAX_MEMBERS):
            member = archive.next()
            if member is None:
                return
            archive.members = []  # type: ignore[attr-defined]  # else all headers stay in memory
            if member.size < 0:
                raise tarfile.ReadError("a member of negative size")
            if stream.tell() + member.size > MAX_UNPACKED_BYTES:
                break
            content = archive.extractfile(member) if member.isreg() else None
            if content is not None and not member.issparse():
                yield member, content
    raise FetchError(TOO_LARGE, f"{package.name}: too many or too large members")
