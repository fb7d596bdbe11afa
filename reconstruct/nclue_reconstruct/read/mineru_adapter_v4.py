"""MinerU 4: middle_json.json (spans in blocks) and structured_content.json (plain strings)."""

from __future__ import annotations

from typing import Any

from nclue_reconstruct.read.mineru_adapter_text import (
    Fractions,
    MinerUPage,
    as_dicts,
    as_level,
    block_type,
    by_index,
    fractions,
    lines,
    number,
    plain_code,
    plain_equation,
    table_text,
    texts,
)

SCHEMA = "docvortex.middle"
_VISUAL = ("image", "table", "chart", "code")


def read_v4(value: dict[str, Any]) -> dict[int, MinerUPage]:
    """Pages of either file by their 0-based index; an empty page has no blocks."""
    sizes = _page_sizes(value)
    pages = []
    for place, entry in enumerate(as_dicts(value.get("pages"))):
        index = number(entry.get("page_idx"))
        page = MinerUPage(place if index is None else index)
        page.width, page.height = sizes.get(page.index, (None, None))
        for block in as_dicts(entry.get("blocks")):
            _add(page, block)
        pages.append(page)
    return by_index(pages)


def _page_sizes(value: dict[str, Any]) -> dict[int, tuple[float, float]]:
    layout = _dict(_dict(value.get("extensions")).get("docvortex_layout"))
    sizes = {}
    for entry in as_dicts(layout.get("pages")):
        index = number(entry.get("page_idx"))
        width, height = entry.get("width_pt"), entry.get("height_pt")
        if index is not None and fractions([0, 0, 1, 1], width, height):
            sizes[index] = float(width or 0), float(height or 0)
    return sizes


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _add(page: MinerUPage, block: dict[str, Any]) -> None:
    name = str(block.get("type"))
    box = fractions(block.get("bbox"), 1.0, 1.0)
    kind = block_type(name)
    content = block.get("content")
    if name in _VISUAL and isinstance(content, list):
        _add_parts(page, name, as_dicts(content), box)
    elif name in _VISUAL:
        page.add("caption", lines(block.get("captions") or []), box)
        page.add(kind, _body(name, content), box)
        page.add("footnote", lines(block.get("footnotes") or []), box)
    elif kind == "list":
        page.add("list", lines(content) if name in ("list", "index") else texts(content), box)
    else:
        text = plain_equation(texts(content)) if kind == "equation" else texts(content)
        page.add(kind, text, box, as_level(block.get("level")) if kind == "title" else None)


def _add_parts(
    page: MinerUPage, name: str, parts: list[dict[str, Any]], box: Fractions | None
) -> None:
    for part in parts:
        part_name = str(part.get("type"))
        part_box = fractions(part.get("bbox"), 1.0, 1.0) or box
        content = part.get("content")
        if part_name.endswith("_caption"):
            page.add("caption", texts(content), part_box)
        elif part_name.endswith("_footnote"):
            page.add("footnote", texts(content), part_box)
        else:
            page.add(block_type(name), _body(name, content), part_box)


def _body(name: str, content: Any) -> str:
    if name == "table":
        return table_text(content)
    text = texts(content)
    if name == "code":
        return plain_code(text)
    return table_text(text) if text.lstrip().startswith("<table") else text


def page_kind(value: dict[str, Any]) -> str:
    """What the pages are: physical (PDF), declared (docx), sheet, slide, and so on."""
    document = _dict(_dict(value.get("metadata")).get("document"))
    return str(document.get("page_count_kind") or "physical")


def producer_version(value: dict[str, Any]) -> str | None:
    """The version of MinerU that wrote it."""
    producer = _dict(_dict(value.get("metadata")).get("producer"))
    return str(producer["version"]) if "version" in producer else None
