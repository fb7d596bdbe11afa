"""Small PDFs with known content, made by PyMuPDF or by hand, for the tests of reconstruct."""

from __future__ import annotations

from pathlib import Path

import pymupdf

A4 = (595, 842)
BODY = "The survey covers all households in the region and was repeated in the second year. "


def write(path: Path, pages: list[list[tuple]], *, size=A4, toc=None, **save) -> Path:
    """Pages of (x, y, text, font size[, font]) lines; y is the baseline."""
    document = pymupdf.open()
    for lines in pages:
        page = document.new_page(width=size[0], height=size[1])
        for x, y, text, font_size, *font in lines:
            page.insert_text((x, y), text, fontsize=font_size, fontname=font[0] if font else "helv")
    if toc:
        document.set_toc(toc)
    document.save(path, **save)
    document.close()
    return path


def body(x: float, y: float, n: int, step: float = 13, text: str = BODY) -> list[tuple]:
    """n lines of running text."""
    return [(x, y + i * step, text, 10) for i in range(n)]


def blank(path: Path, n_pages: int = 1, size=A4) -> Path:
    return write(path, [[] for _ in range(n_pages)], size=size)


def encrypted(path: Path, user_password: str) -> Path:
    return write(
        path,
        [[(72, 100, f"secret page {i}", 12)] for i in (1, 2, 3)],
        encryption=pymupdf.PDF_ENCRYPT_AES_256,
        user_pw=user_password,
        owner_pw="owner",
    )


def raw(path: Path, objects: list[bytes]) -> Path:
    """A PDF of the given objects (numbered from 1, the first is the catalog), xref and all."""
    data = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    data += b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        start,
    )
    path.write_bytes(data)
    return path


def scan(path: Path, lines: list[str], *, rotate: int = 0, dpi: int = 150, pages: int = 1) -> Path:
    """Pages that are images of text, as a scanner makes them; turned by ``rotate`` degrees."""
    source = pymupdf.open()
    page = source.new_page(width=A4[0], height=A4[1])
    for i, line in enumerate(lines):
        page.insert_text((72, 100 + 24 * i), line, fontsize=14)
    pixels = page.get_pixmap(dpi=dpi, colorspace=pymupdf.csGRAY)
    document = pymupdf.open()
    for _ in range(pages):
        size = A4 if rotate % 180 == 0 else A4[::-1]
        target = document.new_page(width=size[0], height=size[1])
        target.insert_image(target.rect, pixmap=pixels, rotate=rotate)
    document.save(path)
    return path
