"""MinerU's middle.json up to 3.x (also called layout.json): one entry per page, empty ones too.

MinerU moves the end of a paragraph that runs over a page break to the page where it begins, and
merges tables in the same way. Evidence is a matter of pages, so both are put back here: spans
marked as coming from the next page return to it, and a table takes the body that it has among
the page's own blocks.
"""

from __future__ import annotations

from typing import Any

from nclue_reconstruct.read.mineru_adapter_text import (
    MAX_DEPTH,
    Fractions,
    MinerUPage,
    as_dicts,
    as_level,
    block_type,
    by_index,
    discarded_type,
    fractions,
    is_number,
    number,
    plain_equation,
    table_text,
    texts,
)

_VISUAL = ("image", "table", "chart", "code")


def read_middle(value: dict[str, Any]) -> dict[int, MinerUPage]:
    """Pages of a middle.json of magic-pdf or MinerU 2.x / 3.x by their 0-based index."""
    pages = []
    moved = ""  # text that the page before this one took from it
    for place, entry in enumerate(as_dicts(value.get("pdf_info"))):
        reader = _PageReader(entry, place, moved)
        pages.append(reader.read())
        moved = reader.from_next_page
    return by_index(pages)


class _PageReader:
    """Reads one entry of pdf_info."""

    def __init__(self, entry: dict[str, Any], place: int, moved: str) -> None:
        index = number(entry.get("page_idx"))
        self._page = MinerUPage(place if index is None else index)
        size = entry.get("page_size")
        if isinstance(size, list) and len(size) == 2 and fractions([0, 0, *size], *size):
            self._page.width, self._page.height = float(size[0]), float(size[1])
        self._entry = entry
        self._moved = moved
        self._own_tables = _own_tables(entry)
        self.from_next_page = ""

    def read(self) -> MinerUPage:
        """The page, headers and footers last as MinerU has them."""
        for block in as_dicts(self._entry.get("para_blocks")):
            self._add(block)
        if self._moved:  # no block marks the place: it was the first text of the page
            page, self._page = self._page, MinerUPage(0)
            self._page.add("text", self._moved, None)
            page.blocks[:0] = self._page.blocks
            self._page = page
        for block in as_dicts(self._entry.get("discarded_blocks")):
            self._add_discarded(block)
        return self._page

    def _add(self, block: dict[str, Any]) -> None:
        name = str(block.get("type"))
        if block.get("lines_deleted") and self._moved and name not in _VISUAL:
            self._page.add(block_type(name), self._moved, self._box(block))
            self._moved = ""
            return
        if name in _VISUAL:
            self._add_visual(name, block)
            return
        kind = block_type(name)
        text = self._text(block)
        if kind == "equation":
            text = plain_equation(text)
        level = as_level(block.get("level")) if kind == "title" else None
        self._page.add(kind, " ".join(text.split("\n")) if level else text, self._box(block), level)

    def _add_discarded(self, block: dict[str, Any]) -> None:
        text, box = self._text(block), self._box(block)
        kind = block_type(block.get("type"))
        if block.get("type") in ("discarded", None):
            kind = discarded_type(text, box)
        self._page.add(kind, text, box)

    def _add_visual(self, name: str, block: dict[str, Any]) -> None:
        for part in as_dicts(block.get("blocks")):
            part_name = str(part.get("type"))
            box = self._box(part) or self._box(block)
            if part_name == f"{name}_body":
                self._page.add(name, self._body(name, part), box)
            elif part_name.endswith("_caption"):
                self._page.add("caption", self._text(part), box)
            elif part_name.endswith("_footnote"):
                self._page.add("footnote", self._text(part), box)
            else:
                self._page.add(block_type(part_name), self._text(part), box)

    def _body(self, name: str, part: dict[str, Any]) -> str:
        if name == "code":
            return self._text(part)
        if name == "table":
            own = self._own_tables.get(_place(part))
            return own if own is not None else _tables(part)
        return "\n".join(filter(None, (texts(span.get("content")) for span in _spans(part))))

    def _text(self, block: dict[str, Any], depth: int = 0) -> str:
        """The text of a block, one line a line, without what came from the next page."""
        rows = [self._line(line) for line in as_dicts(block.get("lines"))]
        if depth < MAX_DEPTH:
            rows += [self._text(inner, depth + 1) for inner in as_dicts(block.get("blocks"))]
        return "\n".join(row for row in rows if row)

    def _line(self, line: dict[str, Any]) -> str:
        spans = as_dicts(line.get("spans"))
        here = [_span_text(span) for span in spans if not span.get("cross_page")]
        there = [_span_text(span) for span in spans if span.get("cross_page")]
        if any(there):
            joined = " ".join(filter(None, there))
            self.from_next_page = "\n".join(filter(None, [self.from_next_page, joined]))
        return " ".join(filter(None, here))

    def _box(self, block: dict[str, Any]) -> Fractions | None:
        return fractions(block.get("bbox"), self._page.width, self._page.height)


def _span_text(span: dict[str, Any]) -> str:
    if span.get("type") == "table":
        return table_text(span.get("html") or span.get("latex"))
    return texts(span).strip()


def _spans(part: dict[str, Any]) -> list[dict[str, Any]]:
    return [span for line in as_dicts(part.get("lines")) for span in as_dicts(line.get("spans"))]


def _tables(part: dict[str, Any]) -> str:
    found = (table_text(span.get("html") or span.get("latex")) for span in _spans(part))
    return "\n".join(filter(None, found))


def _own_tables(entry: dict[str, Any]) -> dict[tuple[Any, ...], str]:
    """Texts of the tables that stand on this page, by their box, before any were merged."""
    return {
        _place(part): text
        for block in as_dicts(entry.get("preproc_blocks"))
        if block.get("type") == "table"
        for part in as_dicts(block.get("blocks"))
        if part.get("type") == "table_body" and (text := _tables(part))
    }


def _place(part: dict[str, Any]) -> tuple[Any, ...]:
    bbox = part.get("bbox")
    return tuple(bbox) if isinstance(bbox, list) and all(map(is_number, bbox)) else ()
