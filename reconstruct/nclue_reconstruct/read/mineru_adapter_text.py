"""What all formats of MinerU share: pages of blocks, and texts out of HTML tables and spans."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from nclue_core.pages import Block
from nclue_reconstruct.read.running import is_page_number

MAX_DEPTH = 20  # of spans within spans; deeper is damage
MAX_NUMBER = 1e12  # of boxes and sizes

# Lone surrogates cannot be written as UTF-8; controls are damage.
_CLEAN: dict[int, str | None] = dict.fromkeys((*range(9), *range(0x0B, 0x20), 0x7F))
_CLEAN |= dict.fromkeys(range(0xD800, 0xE000), "\ufffd")

Fractions = tuple[float, float, float, float]

# MinerU's names of block types, over all versions, and ours.
BLOCK_TYPES = {
    "text": "text", "paragraph": "text", "abstract": "text", "phonetic": "text",
    "title": "title", "doc_title": "title", "paragraph_title": "title",
    "list": "list", "ref_text": "list", "index": "list",
    "table": "table", "image": "image", "chart": "chart",
    "equation": "equation", "interline_equation": "equation", "equation_interline": "equation",
    "code": "code", "algorithm": "code",
    "header": "header", "page_header": "header",
    "footer": "footer", "page_footer": "footer",
    "page_number": "page_number", "page_footnote": "footnote",
    "aside_text": "other", "page_aside_text": "other",
}  # fmt: skip


@dataclass
class MinerUPage:
    """One page of a MinerU result."""

    index: int  # 0-based, as MinerU counts
    blocks: list[Block] = field(default_factory=list)
    width: float | None = None  # points
    height: float | None = None

    def add(self, kind: str, text: str, box: Fractions | None, level: int | None = None) -> None:
        """Append a block, unless there is nothing in it."""
        text = text.translate(_CLEAN).strip()
        if text:
            self.blocks.append(Block(kind, text, box, level))


def block_type(name: object) -> str:
    """Our type for one of MinerU's; ``other`` for names that are new to us."""
    return BLOCK_TYPES.get(str(name), "other")


def discarded_type(text: str, box: Fractions | None) -> str:
    """What a block was that MinerU only calls discarded: page number, header or footer."""
    if is_page_number(text):
        return "page_number"
    return "footer" if box is not None and box[1] > 0.5 else "header"


def fractions(box: Any, width: Any, height: Any) -> Fractions | None:
    """A box as fractions of the page, or None where either is missing or not numbers.

    Args:
        box: x0, y0, x1, y1 from the top left, in the unit of width and height.
        width: Of the page.
        height: Of the page.
    """
    if not isinstance(box, (list, tuple)) or len(box) != 4:
        return None
    if not all(map(is_number, (*box, width, height))) or not width or not height:
        return None
    if width < 0 or height < 0:
        return None
    x0, y0, x1, y1 = (
        round(min(max(value / size, 0.0), 1.0), 4)
        for value, size in zip(box, (width, height, width, height))
    )
    return x0, y0, x1, y1


def is_number(value: Any) -> bool:
    """Whether a value is a number that a box can have (no text, no infinity, not 400 digits)."""
    is_real = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_real and -MAX_NUMBER < value < MAX_NUMBER


def texts(value: Any, depth: int = 0) -> str:
    """The text of a string, a span, or a list of them, in order."""
    if isinstance(value, str):
        return value
    if depth > MAX_DEPTH:
        return ""
    if isinstance(value, dict):
        inner = value.get("content")
        return texts(value.get("children") if inner is None else inner, depth + 1)
    if isinstance(value, (list, tuple)):
        return "".join(texts(item, depth + 1) for item in value)
    return ""


def lines(value: Any) -> str:
    """Like `texts`, one item of the list a line."""
    items = value if isinstance(value, (list, tuple)) else [value]
    return "\n".join(text for text in (texts(item).strip() for item in items) if text)


def plain_equation(text: str) -> str:
    """LaTeX without the dollar signs around it."""
    text = text.strip()
    if len(text) >= 4 and text.startswith("$$") and text.endswith("$$"):
        return text[2:-2].strip()
    return text


def plain_code(text: str) -> str:
    """Code without the fence of Markdown around it."""
    rows = text.strip().split("\n")
    if len(rows) >= 2 and rows[0].startswith("```") and rows[-1].strip() == "```":
        return "\n".join(rows[1:-1])
    return text


def table_text(body: Any) -> str:
    """The text of a table: cells separated by tabs, one row a line; LaTeX stays as it is."""
    body = texts(body)
    if "<t" not in body.lower():
        return plain_equation(body)
    parser = _TableParser()
    parser.feed(_only_tags(body))
    parser.close()
    return parser.text()


_TAG = re.compile(r"<(?:(/?)([A-Za-z]+)(?:[\s/][^<>]*)?>)?")
_TABLE_TAGS = frozenset(
    ["table", "caption", "colgroup", "col", "thead", "tbody", "tfoot", "tr", "td", "th",
     "br", "img"]
)  # fmt: skip
_OTHER_TAGS = frozenset(
    ["html", "body", "p", "ul", "ol", "li", "div", "span", "b", "i", "u", "s", "em", "strong",
     "small", "sup", "sub", "a", "font", "center"]
)  # fmt: skip
_INSIDE_TABLE = re.compile(r"\s*<(?:caption|colgroup|thead|tbody|tr)\b", re.IGNORECASE)
_LONG_REFERENCE = re.compile(r"&(?=#x?[0-9a-f]{9})", re.IGNORECASE)


def _only_tags(body: str) -> str:
    """A table in which each "<" that begins no tag of a table is text ("<LOQ", "p<a>b", scripts).

    MinerU does not escape what it reads. Tags of styles count only where they are also closed.
    """
    closed = {name.lower() for name in re.findall(r"</([A-Za-z]+)", body)}

    body = _LONG_REFERENCE.sub("&amp;", body)
    first = body.lower().find("<table")

    def decide(match: re.Match[str]) -> str:
        name = (match[2] or "").lower()
        if name == "table" and not match[1] and match.start() != first:
            is_tag = _INSIDE_TABLE.match(body, match.end()) is not None
        else:
            is_tag = name in _TABLE_TAGS or (name in _OTHER_TAGS and name in closed)
        return match[0] if is_tag else f"&lt;{match[0][1:]}"

    return _TAG.sub(decide, body)


class _TableParser(HTMLParser):
    """Collects the cells of a table, with or without closing tags.

    A table inside of a cell becomes part of that cell's text.
    """

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._rows: list[list[list[str]]] = []
        self._depth = 0  # of tables
        self._in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._depth += tag == "table"
        if self._depth > 1:
            self._put(" ")
        elif tag == "tr":
            self._rows.append([])
            self._in_cell = False
        elif tag in ("td", "th"):
            if not self._rows:
                self._rows.append([])
            self._rows[-1].append([])
            self._in_cell = True
        elif tag in ("br", "p", "li", "div"):
            self._put(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "tr") and self._depth <= 1:
            self._in_cell = False
        self._depth = max(self._depth - (tag == "table"), 0)
        if tag in ("p", "li", "div", "td", "th", "tr"):
            self._put(" ")

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self._put(data)
        elif data.strip():
            self._rows.append([[data]])  # a caption, or text that no cell holds

    def _put(self, text: str) -> None:
        if self._in_cell:
            self._rows[-1][-1].append(text)

    def text(self) -> str:
        """All rows; those without any text are left out."""
        rows = ([" ".join("".join(cell).split()) for cell in row] for row in self._rows)
        return "\n".join("\t".join(row) for row in rows if any(row))


def as_dicts(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; anything else in it, or instead of it, is nothing."""
    if not isinstance(value, list):
        return []
    return [item for item in value if isinstance(item, dict)]


def as_level(value: Any) -> int:
    """A heading level; 1 where there is none."""
    return value if isinstance(value, int) and 1 <= value <= 9 else 1


def number(value: Any) -> int | None:
    """A page index, or None where it is none."""
    is_index = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_index else None


def by_index(pages: Iterable[MinerUPage]) -> dict[int, MinerUPage]:
    """Pages by index, ascending; pages with the same index are joined."""
    found: dict[int, MinerUPage] = {}
    for page in pages:
        if page.index in found:
            found[page.index].blocks += page.blocks
        else:
            found[page.index] = page
    return dict(sorted(found.items()))
