"""Page texts: one schema for every OCR engine and for the PDF's own text layer.

A reconstructed corpus keeps one JSON file per page, ``ocr_<engine>/<doc_id>/<page>.json``.
These texts stay on the user's machine: no part of the kit exports or uploads them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from nclue_core.errors import InputError
from nclue_core.files import file_name, id_of_file_name, write_text

BLOCK_TYPES = (
    "title", "text", "list", "table", "image", "chart", "equation", "code",
    "caption", "footnote", "header", "footer", "page_number", "other",
)  # fmt: skip
RUNNING_TYPES = ("header", "footer", "page_number")  # kept as blocks, left out of the page's text


@dataclass(frozen=True)
class Block:
    """A part of a page, in reading order."""

    type: str  # one of BLOCK_TYPES
    text: str
    bbox: tuple[float, float, float, float] | None = None  # x0 y0 x1 y1, fractions of the page
    level: int | None = None  # heading level of a title, 1 = top


@dataclass(frozen=True)
class PageRecord:
    """The text of one page."""

    doc_id: str
    page: int  # 1-based position in the PDF, whatever number is printed on it
    text: str  # the blocks' texts joined by newlines, without running headers and footers
    blocks: tuple[Block, ...]
    width: float | None  # points, as displayed (after rotation)
    height: float | None
    engine: str  # text, tesseract or mineru
    engine_version: str
    dpi: int | None  # None where nothing was rendered
    sha256: str  # of the source PDF
    has_text: bool  # False: nothing readable was found (a blank page, or a scan without OCR)
    note: str | None = None  # what a reader must know: "rotated 90", "timeout", …

    @classmethod
    def from_blocks(
        cls, doc_id: str, page: int, blocks: Iterable[Block], **facts: Any
    ) -> PageRecord:
        """The record of a page whose ``text`` and ``has_text`` follow from its blocks.

        Args:
            doc_id: Of the document.
            page: 1-based.
            blocks: In reading order; those of RUNNING_TYPES stay out of the text.
            **facts: The other fields; width, height and dpi are None unless given.
        """
        blocks = tuple(blocks)
        text = "\n".join(block.text for block in blocks if block.type not in RUNNING_TYPES)
        has_text = any(c.isalnum() for c in text)
        unknown = {"width": None, "height": None, "dpi": None}
        return cls(doc_id, page, text, blocks, has_text=has_text, **{**unknown, **facts})

    def to_json(self) -> dict[str, Any]:
        """The record as it is written."""
        return asdict(self)


def page_from_json(value: Any, where: object = None) -> PageRecord:
    """Read a record back.

    Raises:
        InputError: A field is missing or unknown, or of another type than in the record.
    """
    if not isinstance(value, dict):
        raise InputError(
            f"page record: expected an object, found {type(value).__name__}", path=where
        )
    names = {field.name for field in fields(PageRecord)}
    wrong = sorted(names.symmetric_difference(value) - {"note"})
    if wrong:
        raise InputError(f"page record: field {wrong[0]!r} is missing or unknown", path=where)
    for name, kinds in _KINDS.items():
        if not isinstance(value.get(name), kinds):
            raise InputError(f"page record: {name} is {value.get(name)!r:.60}", path=where)
    return PageRecord(**{**value, "blocks": tuple(_block(b, where) for b in value["blocks"])})


_MAYBE_NUMBER = (int, float, type(None))
_KINDS: dict[str, Any] = {
    "doc_id": str, "page": int, "text": str, "blocks": list, "width": _MAYBE_NUMBER,
    "height": _MAYBE_NUMBER, "engine": str, "engine_version": str, "dpi": (int, type(None)),
    "sha256": str, "has_text": bool, "note": (str, type(None)),
}  # fmt: skip


def _block(value: Any, where: object) -> Block:
    try:
        bbox = value["bbox"]
        return Block(value["type"], value["text"], tuple(bbox) if bbox else None, value["level"])
    except (KeyError, TypeError):
        raise InputError(f"page record: {value!r:.60} is no block", path=where) from None


def page_path(folder: Path, doc_id: str, page: int) -> Path:
    """``<folder>/<doc_id>/<page>.json``, the ID as a `file_name`; folder is ``ocr_<engine>``."""
    return folder / file_name(doc_id) / f"{page}.json"


def page_files(folder: Path, suffix: str) -> Iterator[tuple[int, Path]]:
    """(page, file) of the files ``<page>.<suffix>`` in a document's folder, in no order."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                stem, _, found = entry.name.rpartition(".")
                if found == suffix and stem.isdecimal():
                    yield int(stem), Path(entry.path)
    except FileNotFoundError:
        return


def write_page(folder: Path, record: PageRecord) -> Path:
    """Write one page atomically."""
    path = page_path(folder, record.doc_id, record.page)
    write_text(path, json.dumps(record.to_json(), ensure_ascii=False, separators=(",", ":")))
    return path


def read_document(folder: Path, doc_id: str) -> list[PageRecord]:
    """All pages of a document under ``ocr_<engine>``, in page order (empty if there are none)."""
    files = page_path(folder, doc_id, 1).parent.glob("*.json")
    numbered = sorted((int(path.stem), path) for path in files if path.stem.isdecimal())
    return [_read_page(path) for _, path in numbered]


def read_pages(folder: Path) -> Iterator[PageRecord]:
    """All pages under ``ocr_<engine>``: documents by name, pages in order."""
    if not folder.is_dir():
        raise InputError(
            "no page texts here; `nclue reconstruct … --out DIR` makes DIR/ocr_<engine>",
            path=folder,
        )
    for document in sorted(path for path in folder.iterdir() if path.is_dir()):
        yield from read_document(folder, id_of_file_name(document.name))


def _read_page(path: Path) -> PageRecord:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError) as err:
        raise InputError(f"not a page record: {err}", path=path) from None
    return page_from_json(value, path)
