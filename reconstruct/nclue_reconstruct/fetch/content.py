"""What a file is, told by its first and last bytes; never by what a server says of it."""

from __future__ import annotations

import codecs
import re

EDGE = 1024  # bytes at each end that are looked at; PDF readers look as far for header and end
PDF = "a PDF"
GZIP = "a gzip file"
MARKUP = "a web page"
XML = "XML"
JSON = "JSON"
OTHER = "no PDF"

_WIDE = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_JSON = re.compile(r"""\{\s*["}]|\[\s*["\[{\]0-9-]|\[\s*(?:true|false|null)\b""")
_TAG = re.compile(
    r"<(?:!doctype|html|head|body|script|title|meta|div|p|a|h[1-6]|table|iframe)\b", re.I
)
_STRUCTURE = re.compile(rb"\bobj\b|startxref|%%EOF")
_END = re.compile(rb"(?:startxref\s+(\d{1,15})\s+)?%%EOF(.*)", re.DOTALL)


def kind_of(head: bytes, tail: bytes = b"") -> str:
    """What a file is: one of the constants above.

    A PDF begins with its header, or has it after a byte order mark or other bytes within the
    first 1,024 (mail headers, blank lines); markup and JSON that mention the header are none.

    Args:
        head: The first bytes of the file.
        tail: Its last ones.
    """
    if head.startswith(b"\x1f\x8b"):
        return GZIP
    text = _text(head[:EDGE]).lstrip("\ufeff\x00 \t\r\n\f\v")
    if text.startswith("%PDF-"):
        return PDF
    if text.startswith("<?xml") and not _TAG.search(text):
        return XML
    before = text.partition("%PDF-")[0]
    if re.match(r"<[!?/a-zA-Z]", text) or _TAG.search(before):
        return MARKUP
    if _JSON.match(text):
        return JSON
    is_pdf = b"%PDF-" in head[:EDGE] and _STRUCTURE.search(head + tail)
    return PDF if is_pdf else OTHER


def is_pdf(head: bytes, tail: bytes = b"") -> bool:
    """Whether a file with these ends is a PDF."""
    return kind_of(head, tail) == PDF


def has_end(tail: bytes, n_bytes: int) -> bool:
    """Whether the last bytes of a PDF are its end, as far as they can tell.

    The end marker also stands behind the first part of a file made for the web (its ``startxref``
    is 0 there), and before each later addition.
    """
    found = list(_END.finditer(tail[tail.rfind(b"startxref") :])) if b"startxref" in tail else []
    match = found[-1] if found else _END.search(tail[max(tail.rfind(b"%%EOF"), 0) :])
    if match is None or re.search(rb"\d+ \d+ obj\b", match[2]):
        return False
    return match[1] is None or 0 < int(match[1]) < n_bytes


def _text(head: bytes) -> str:
    for mark, encoding in _WIDE:
        if head.startswith(mark):
            return head[len(mark) :].decode(encoding, "replace")
    return head.removeprefix(codecs.BOM_UTF8).decode("latin-1")
