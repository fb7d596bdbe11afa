"""Read page texts into a corpus index, and keep the index on disk under the hash of its content.

A cached index is found by the SHA-256 of every page file's name and bytes, of the list of
documents, and of the versions of the rules, so it can't be stale. It is a NumPy archive without
pickled objects, written whole or not at all; a damaged one is made again.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from nclue_core.errors import InputError, UsageError
from nclue_core.files import atomic_write
from nclue_core.pages import page_path
from nclue_systems.corpus import CorpusIndex, build_index
from nclue_systems.words import RULE

FORMAT = "nclue-index-1"
_ARRAYS = ("word_numbers", "page_ends", "page_documents", "page_numbers")

Files = dict[str, list[tuple[int, Path]]]
Progress = Callable[[str], None]


def load_index(
    pages: Path,
    doc_ids: Iterable[str],
    *,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> CorpusIndex:
    """The index of a corpus, from the cache if it holds the same content.

    Args:
        pages: A folder ``ocr_<engine>`` of page records, or one that holds a single such folder.
        doc_ids: The corpus. Documents without page texts are part of it, without words; other
            folders are not read.
        cache: Folder of the cached indexes; None reads the pages anew.
        progress: Called with lines that say what is going on.

    Raises:
        InputError: There are no page texts of any document, or a page record cannot be read.
        UsageError: The folder holds the texts of several engines.
    """
    report = progress or (lambda _line: None)
    files = _page_files(engine_folder(pages), doc_ids)
    if not any(files.values()):
        raise InputError(
            f"no page texts of any of the {len(files)} documents of the collection; expected "
            "<doc_id>/<page>.json, as `nclue reconstruct` writes them",
            path=pages,
        )
    path = None if cache is None else cache / f"{content_key(files)}.npz"
    found = None if path is None else _read_cached(path)
    if found is not None:
        return found
    n_pages = sum(map(len, files.values()))
    report(f"reading {n_pages:,} pages of {len(files):,} documents …")
    index = build_index({doc_id: _read_texts(of_doc) for doc_id, of_doc in files.items()})
    if path is not None:
        _write_cached(path, index)
    return index


def engine_folder(pages: Path) -> Path:
    """The folder of page texts that a path means: itself, or the only ``ocr_*`` below it."""
    if not pages.is_dir():
        raise InputError("no such folder of page texts", path=pages)
    below = sorted(path for path in pages.glob("ocr_*") if path.is_dir())
    if len(below) > 1:
        names = ", ".join(path.name for path in below)
        raise UsageError(f"{pages} holds the page texts of several engines: name one of {names}")
    return below[0] if below else pages


def content_key(files: Files) -> str:
    """SHA-256 over the rules, the documents, and every page file's number and bytes."""
    digest = hashlib.sha256(f"{FORMAT}\0{RULE}\0".encode())
    for doc_id in sorted(files):
        digest.update(f"{doc_id}\0{len(files[doc_id])}\0".encode())
        for page, path in files[doc_id]:
            content = path.read_bytes()
            digest.update(f"{page}\0{len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()


def _page_files(folder: Path, doc_ids: Iterable[str]) -> Files:
    return {doc_id: _numbered(page_path(folder, doc_id, 1).parent) for doc_id in doc_ids}


def _numbered(folder: Path) -> list[tuple[int, Path]]:
    """The files ``<page>.json`` of a document, in page order."""
    names = (path for path in folder.glob("*.json") if path.stem.isascii())
    return sorted((int(path.stem), path) for path in names if path.stem.isdecimal())


def _read_texts(files: list[tuple[int, Path]]) -> list[tuple[int, str]]:
    return [(page, _read_text(path)) for page, path in files]


def _read_text(path: Path) -> str:
    """The text of a page record; its blocks are not looked at, only the text is indexed."""
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as err:
        raise InputError(f"not a page record: {err}", path=path) from None
    text = value.get("text") if isinstance(value, dict) else None
    if not isinstance(text, str):
        raise InputError(
            "not a page record: the field 'text' is missing or no string; write the pages again "
            "with `nclue reconstruct`",
            path=path,
        )
    return text


def _write_cached(path: Path, index: CorpusIndex) -> None:
    with atomic_write(path) as stream:
        np.savez(
            stream,
            doc_ids=_packed(index.doc_ids),
            vocabulary=_packed(index.vocabulary),
            **{name: getattr(index, name) for name in _ARRAYS},
        )


def _read_cached(path: Path) -> CorpusIndex | None:
    """A cached index, or None if there is none that can be read."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
            doc_ids, found = _unpacked(arrays["doc_ids"]), _unpacked(arrays["vocabulary"])
            vocabulary = {word: number for number, word in enumerate(found)}
            index = CorpusIndex(tuple(doc_ids), vocabulary, *(arrays[n] for n in _ARRAYS))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return index if _is_consistent(index) else None


def _is_consistent(index: CorpusIndex) -> bool:
    """Whether every number of an index points into what it numbers."""
    n_words = len(index.word_numbers)
    return (
        len(index.page_ends) == len(index.page_documents) == len(index.page_numbers)
        and (index.page_ends[-1] if len(index.page_ends) else 0) == n_words
        and _within(index.word_numbers, len(index.vocabulary))
        and _within(index.page_documents, len(index.doc_ids))
        and bool(np.all(np.diff(index.page_ends, prepend=0) >= 0))
        and bool(np.all(np.diff(index.page_documents) >= 0))
    )


def _within(numbers: Any, size: int) -> bool:
    return not len(numbers) or (int(numbers.min()) >= 0 and int(numbers.max()) < size)


def _packed(texts: Iterable[str]) -> Any:
    """Strings without line ends as an array of UTF-8 bytes."""
    return np.frombuffer("\n".join(texts).encode("utf-8"), np.uint8)


def _unpacked(packed: Any) -> list[str]:
    text = packed.tobytes().decode("utf-8")
    return text.split("\n") if text else []
