"""A folder of one's own PDFs: its documents as rows of a corpus, and their page texts.

The PDFs stay where they are, and nothing is written beside them.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from nclue_core.errors import InputError
from nclue_core.files import sha256_file, unsafe_id_reason
from nclue_core.schema import CorpusDocument
from nclue_reconstruct.outcome import OK, DocumentError, DocumentOutcome
from nclue_reconstruct.read.engine import Engine
from nclue_reconstruct.read.pdf_open import open_pdf
from nclue_reconstruct.run.pipeline import Parallel, ocr_documents
from nclue_reconstruct.run.progress import Tell, silent
from nclue_reconstruct.run.workspace import Workspace

MAX_STEM = 80


class OwnPdfs(Workspace):
    """A workspace whose PDFs lie elsewhere.

    Args:
        root: Where page texts and the manifest come to.
        paths: The PDF of each document.
    """

    def __init__(self, root: Path, paths: Mapping[str, Path]) -> None:
        super().__init__(root)
        self._paths = paths

    def pdf(self, doc_id: str) -> Path:
        """The user's file."""
        return self._paths[doc_id]


def find_pdfs(folder: Path, name: str) -> tuple[list[CorpusDocument], dict[str, Path], list[str]]:
    """The PDFs below a folder, in the order of their paths.

    The ID of a document is made from the name of its file, its source is the folder that it lies
    in (for files of the folder itself, ``name``). Of files with the same bytes the first counts.

    Args:
        folder: Where to look, subfolders included; hidden files and folders are passed over.
        name: Of the collection.

    Returns:
        Rows with hash, pages and bytes; the file of each; and a line per file that is left out.

    Raises:
        InputError: There is no PDF, or none that can be opened.
    """
    rows: list[CorpusDocument] = []
    paths: dict[str, Path] = {}
    by_hash: dict[str, Path] = {}
    left_out: list[str] = []
    for path in _pdf_files(folder):
        place = path.relative_to(folder)
        try:
            with open_pdf(path) as document:
                n_pages = len(document)
            sha256 = sha256_file(path)
        except (DocumentError, OSError) as err:
            left_out.append(f"{place}: {err}")
            continue
        if sha256 in by_hash:
            left_out.append(f"{place}: the same file as {by_hash[sha256]}")
            continue
        by_hash[sha256] = place
        doc_id = _doc_id(place, paths)
        paths[doc_id] = path
        source = place.parts[0] if len(place.parts) > 1 else name
        rows.append(CorpusDocument(
            doc_id=doc_id, source=source, title=path.stem, pdf_url=None, landing_url=None,
            sha256=sha256, n_bytes=path.stat().st_size, n_pages=n_pages, license=None,
            terms=None,
        ))  # fmt: skip
    if not rows:
        what = f"none of {len(left_out)} PDFs can be used: {left_out[0]}" if left_out else "no PDF"
        raise InputError(f"{what} (files whose names end in .pdf are looked for)", path=folder)
    return rows, paths, left_out


def _pdf_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix.lower() == ".pdf" and path.is_file() and not hidden:
            yield path


def _doc_id(place: Path, taken: Mapping[str, Path]) -> str:
    """A safe ID from a file name; where letters are lost or it is taken, with a hash of the path.

    Two IDs never differ in letter case alone: some file systems would not keep them apart.
    """
    plain = unicodedata.normalize("NFKD", place.stem)
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    stem = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_")[:MAX_STEM]
    is_whole = all(c.isascii() or not c.isalnum() for c in plain) and len(plain) <= MAX_STEM
    used = {doc_id.lower() for doc_id in taken}
    if stem and is_whole and stem.lower() not in used and unsafe_id_reason(stem) is None:
        return stem
    digest = hashlib.sha256(place.as_posix().encode("utf-8", "surrogateescape")).hexdigest()
    return f"{stem or 'doc'}_{digest[:8]}"


def read_texts(
    documents: Sequence[CorpusDocument],
    paths: Mapping[str, Path],
    out: Path,
    engine: Engine,
    jobs: int,
    tell: Tell = silent,
) -> list[str]:
    """Read the page texts into ``out/ocr_<engine>``; what is read already is kept.

    Returns:
        A line per document that could not be read whole.
    """
    workspace = OwnPdfs(out.absolute(), paths)
    with workspace.told_disk(), workspace.locked():
        found = ocr_documents(documents, workspace, engine, parallel=Parallel(jobs), tell=tell)
    return [_failure(doc_id, done) for doc_id, done in found.items() if done.state != OK]


def _failure(doc_id: str, done: DocumentOutcome) -> str:
    return f"{doc_id}: {done.state}: {done.reason}"
