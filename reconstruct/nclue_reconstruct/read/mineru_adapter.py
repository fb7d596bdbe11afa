"""Read what any version of MinerU wrote, whichever of its formats it is.

    content_list.json          V1: flat list, page_idx from 0; pages without text are not in it
    content_list_v2.json       V2: one list per page
    middle.json, layout.json   up to 3.x: pdf_info, one entry per page
    middle_json.json           4.x: pages, schema docvortex.middle
    structured_content.json    4.x: pages, contents as strings

The name of a file says little (users rename them), so its content decides. Page numbers in our
records are 1-based positions in the PDF, whatever is printed on the page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nclue_core.errors import InputError
from nclue_core.pages import PageRecord
from nclue_reconstruct.read.mineru_adapter_lists import read_v1, read_v2
from nclue_reconstruct.read.mineru_adapter_middle import read_middle
from nclue_reconstruct.read.mineru_adapter_text import MinerUPage, as_dicts
from nclue_reconstruct.read.mineru_adapter_v4 import SCHEMA, page_kind, producer_version, read_v4

ENGINE = "mineru"
MAX_BYTES = 512 * 2**20
MAX_PAGES = 100_000

V1, V2, MIDDLE, MIDDLE_V4, STRUCTURED = (
    "content_list", "content_list_v2", "middle", "middle_json", "structured_content",
)  # fmt: skip

# Where a folder has several formats: those with all pages, and texts on their own page, first.
_PATTERNS = (
    "middle_json.json", "*_middle.json", "layout.json", "*_layout.json", "middle.json",
    "structured_content.json", "*content_list_v2.json", "*content_list.json",
)  # fmt: skip


@dataclass(frozen=True)
class MinerUOutput:
    """One result file of MinerU."""

    format: str  # V1, V2, MIDDLE, MIDDLE_V4 or STRUCTURED
    pages: dict[int, MinerUPage]  # by 0-based index, ascending
    n_pages: int | None  # None where the format cannot say (V1)
    version: str | None
    has_pages: bool  # False: from a format without pages (docx), the index means nothing

    def records(
        self,
        doc_id: str,
        sha256: str,
        *,
        n_pages: int | None = None,
        offset: int = 0,
        version: str | None = None,
    ) -> Iterator[PageRecord]:
        """One record per page, empty pages too.

        Args:
            doc_id: For the records.
            sha256: Of the source PDF.
            n_pages: Pages of the PDF, or of the window of it that was read; pages up to this
                one that MinerU has nothing for become empty records.
            offset: Added to MinerU's index: 0-based index of the first page of a window that
                was cut out of the PDF.
            version: Of MinerU, if it is known better than from the file.

        Raises:
            InputError: The source had no pages, or a page index lies outside of ``n_pages``.
        """
        if not self.has_pages:
            raise InputError("MinerU read this from a format without pages; convert it to PDF")
        last = n_pages if n_pages is not None else self.n_pages
        if last is None:
            last = max(self.pages, default=-1) + 1
        if last > MAX_PAGES:
            raise InputError(f"MinerU has a page {last}; more than {MAX_PAGES:,} is not believed")
        beyond = [index for index in self.pages if index >= last]
        if beyond:
            raise InputError(
                f"MinerU has a page {beyond[0] + 1}, but only {last} pages were expected"
            )
        name = f"mineru {version or self.version or 'of unknown version'}"
        for index in range(last):
            page = self.pages.get(index) or MinerUPage(index)
            yield _record(page, doc_id, sha256, index + offset + 1, name)


def _record(page: MinerUPage, doc_id: str, sha256: str, number: int, version: str) -> PageRecord:
    # No dpi: MinerU chooses it itself.
    return PageRecord.from_blocks(
        doc_id,
        number,
        page.blocks,
        width=page.width,
        height=page.height,
        engine=ENGINE,
        engine_version=version,
        sha256=sha256,
        note=None if page.blocks else "empty page",
    )


def read_output(path: Path) -> MinerUOutput:
    """Read one result file.

    Raises:
        InputError: Not JSON, or none of MinerU's formats; the message says what it looks like.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"larger than {MAX_BYTES:,} bytes", path=path)
        value = json.loads(path.read_bytes(), parse_int=_int)
    except (OSError, ValueError, RecursionError) as err:
        raise InputError(f"not a result of MinerU: {err}", path=path) from None
    try:
        return parse_output(value)
    except InputError as err:
        raise InputError(err.message, path=path) from None


def _int(digits: str) -> int | float:
    """Python refuses whole numbers of thousands of digits; no index or box has that many."""
    return int(digits) if len(digits) < 30 else float(digits)


def parse_output(value: Any) -> MinerUOutput:
    """Read the content of a result file; its form says which format it is.

    Raises:
        InputError: None of MinerU's formats.
    """
    form = sniff(value)
    if form == V1:
        return MinerUOutput(form, read_v1(value), None, None, has_pages=True)
    if form == V2:
        return MinerUOutput(form, read_v2(value), len(value), None, has_pages=True)
    if form == MIDDLE:
        pages = read_middle(value)
        version = value.get("_version_name")
        is_office = value.get("_backend") == "office"
        version = None if version is None else str(version)
        return MinerUOutput(form, pages, _count(pages), version, has_pages=not is_office)
    pages = read_v4(value)
    whole = value.get("is_full_document", True)
    has_pages = page_kind(value) in ("physical", "slide")
    n_pages = _count(pages) if whole else None  # a window keeps the numbers of the whole PDF
    return MinerUOutput(form, pages, n_pages, producer_version(value), has_pages)


def _count(pages: dict[int, MinerUPage]) -> int:
    return max(pages, default=-1) + 1  # an excerpt keeps the numbers of its pages


def sniff(value: Any) -> str:
    """Which of MinerU's formats a JSON value is.

    Raises:
        InputError: None of them, or one that nothing should be built on (model.json).
    """
    if isinstance(value, dict):
        return _sniff_object(value)
    if not isinstance(value, list):
        raise InputError(f"expected a result of MinerU, found a {type(value).__name__}")
    if any(isinstance(item, list) for item in value):
        return _sniff_pages(value)
    items = [item for item in value if isinstance(item, dict)]
    if any("layout_dets" in item for item in items):
        raise InputError("this is MinerU's model.json; give content_list.json or middle.json")
    if not value or any("type" in item and "page_idx" in item for item in items):
        return V1
    if any("type" in item for item in items):
        raise InputError(
            "a content list without page_idx (magic-pdf before 0.7): its pages are unknown"
        )
    raise InputError("a list, but none of MinerU's: its items have no type and page_idx")


def _sniff_object(value: dict[str, Any]) -> str:
    if isinstance(value.get("pdf_info"), list):
        return MIDDLE
    if not isinstance(value.get("pages"), list):
        keys = ", ".join(list(value)[:5]) or "none"
        raise InputError(f"an object without pdf_info or pages; its keys: {keys}")
    if "page_index_map" in value:
        raise InputError("this is MinerU's model_output.json; give middle_json.json")
    if value.get("schema") == SCHEMA or _has_span_lists(value["pages"]):
        return MIDDLE_V4
    return STRUCTURED


def _has_span_lists(pages: list[Any]) -> bool:
    """Early 4.0 files lack the schema, but have lists of spans as contents."""
    return any(
        isinstance(block.get("content"), list)
        for page in as_dicts(pages)
        for block in as_dicts(page.get("blocks"))
    )


def _sniff_pages(value: list[Any]) -> str:
    items = [item for page in value if isinstance(page, list) for item in page]
    dicts = [item for item in items if isinstance(item, dict)]
    if not dicts or any(isinstance(item.get("content"), dict) for item in dicts):
        return V2
    raise InputError("this is MinerU's model.json; give content_list.json or middle.json")


def find_output(folder: Path) -> Path | None:
    """The best result file below a folder, or None: formats that know all pages come first."""
    for pattern in _PATTERNS:
        found = sorted(folder.rglob(pattern))
        if found:
            return found[0]
    return None
