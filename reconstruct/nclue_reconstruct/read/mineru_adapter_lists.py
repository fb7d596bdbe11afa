"""MinerU's content lists: V1 (flat, all versions from magic-pdf 0.7) and V2 (a list per page)."""

from __future__ import annotations

from typing import Any

from nclue_reconstruct.read.mineru_adapter_text import (
    Fractions,
    MinerUPage,
    as_dicts,
    as_level,
    block_type,
    by_index,
    discarded_type,
    fractions,
    lines,
    number,
    plain_code,
    plain_equation,
    table_text,
    texts,
)

GRID = 1000.0  # boxes of content lists are thousandths of the page


def read_v1(items: list[Any]) -> dict[int, MinerUPage]:
    """Pages of a V1 list by their 0-based index. A page without any item is not in it."""
    pages = []
    for item in as_dicts(items):
        index = number(item.get("page_idx"))
        if index is not None and "type" in item:
            page = MinerUPage(index)
            _add_v1(page, item)
            pages.append(page)
    return by_index(pages)


def _add_v1(page: MinerUPage, item: dict[str, Any]) -> None:
    name = str(item["type"])
    box = fractions(item.get("bbox"), GRID, GRID)
    text = texts(item.get("text"))
    if name in ("image", "table", "chart", "code"):
        _add_visual_v1(page, name, item, box)
    elif name in ("list", "index"):
        page.add("list", lines(item.get("list_items")) or text, box)
    elif name == "equation":
        page.add("equation", plain_equation(text), box)
    elif name == "discarded":
        page.add(discarded_type(text, box), text, box)
    elif name in ("text", "title") and (item.get("text_level") or name == "title"):
        page.add("title", text, box, as_level(item.get("text_level")))
    else:
        page.add(block_type(name), text, box)


def _add_visual_v1(
    page: MinerUPage, name: str, item: dict[str, Any], box: Fractions | None
) -> None:
    """Caption, body and footnote; a table without a body went on from the page before it."""
    short = "img" if name == "image" else name
    captions = lines(item.get(f"{name}_caption") or item.get(f"{short}_caption"))
    footnotes = lines(item.get(f"{name}_footnote") or item.get(f"{short}_footnote"))
    page.add("caption", captions, box)
    if name == "table":
        page.add("table", table_text(item.get("table_body")), box)
    elif name == "code":
        page.add("code", plain_code(texts(item.get("code_body"))), box)
    else:
        page.add(name, texts(item.get("content")), box)
    page.add("footnote", footnotes, box)


def read_v2(value: list[Any]) -> dict[int, MinerUPage]:
    """Pages of a V2 list by their 0-based index, which is their place in it."""
    pages = []
    for index, items in enumerate(value):
        page = MinerUPage(index)
        for item in as_dicts(items):
            content = item.get("content")
            if isinstance(content, dict):
                _add_v2(page, str(item.get("type")), content, item.get("bbox"))
        pages.append(page)
    return by_index(pages)


def _add_v2(page: MinerUPage, name: str, content: dict[str, Any], bbox: Any) -> None:
    box = fractions(bbox, GRID, GRID)
    kind = block_type(name)
    if kind in ("image", "table", "chart", "code"):
        _add_visual_v2(page, name, kind, content, box)
    elif name in ("list", "index"):
        items = as_dicts(content.get("list_items"))
        page.add("list", lines([item.get("item_content") for item in items]), box)
    elif kind == "equation":
        page.add("equation", plain_equation(texts(content.get("math_content"))), box)
    else:
        text = texts(content.get(f"{name}_content"))
        page.add(kind, text, box, as_level(content.get("level")) if kind == "title" else None)


def _add_visual_v2(
    page: MinerUPage, name: str, kind: str, content: dict[str, Any], box: Fractions | None
) -> None:
    page.add("caption", texts(content.get(f"{name}_caption")), box)
    if kind == "table":
        page.add("table", table_text(content.get("html")), box)
    elif kind == "code":
        page.add("code", plain_code(texts(content.get(f"{name}_content"))), box)
    else:
        page.add(kind, texts(content.get("content")), box)
    page.add("footnote", texts(content.get(f"{name}_footnote")), box)
