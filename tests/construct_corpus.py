"""Small documents as page records, and a synthetic corpus that a benchmark can be made from."""

from __future__ import annotations

from pathlib import Path

from nclue_construct.zones import ZonedPage, zone_document
from nclue_core.jsonl import write_jsonl
from nclue_core.pages import Block, PageRecord, write_page

SHA = "ab" * 32


def record(doc_id: str, page: int, *blocks: tuple[str, str], note: str | None = None) -> PageRecord:
    """A page from (type, text) pairs."""
    made = tuple(Block(kind, text, None, 1 if kind == "title" else None) for kind, text in blocks)
    body = "\n".join(text for kind, text in blocks if kind not in ("header", "footer"))
    return PageRecord(
        doc_id, page, body, made, 600.0, 800.0, "text", "1", None, SHA, bool(body.strip()), note
    )


def zoned(*pages: list[tuple[str, str]], doc_id: str = "doc") -> list[ZonedPage]:
    """A document from pages of (type, text) pairs."""
    return list(zone_document(record(doc_id, n, *blocks) for n, blocks in enumerate(pages, 1)))


TOPICS = (
    "Grievance Mechanism", "Harbour Dredging", "Coral Restoration", "Livestock Vaccination",
    "Rural Electrification", "Glacier Monitoring", "Textile Recycling", "Orchard Irrigation",
    "Museum Conservation", "Ferry Timetables", "Seed Certification", "Bridge Inspection",
)  # fmt: skip
AGENCIES = (
    "Northern Water Authority", "Lakeside Heritage Trust", "Eastern Grain Board",
    "Polar Research Institute", "Island Transport Agency", "Forest Pension Fund",
)  # fmt: skip


def write_corpus(folder: Path, n_documents: int = 36) -> tuple[Path, Path]:
    """Write page texts and a corpus list; returns the two paths.

    Document d holds topic t on page 1 + t % 4 where (d + t) % 5 < 2, as a heading and in text,
    and agency a on page 5 + a % 2 where (d * 3 + a) % 4 == 0.
    """
    pages = folder / "ocr_text"
    rows = []
    for number in range(n_documents):
        doc_id = f"doc_{number:02d}"
        for page in range(1, 7):
            write_page(pages, record(doc_id, page, *_blocks(number, page)))
        source = ("alpha", "beta", "gamma")[number % 3]
        url = f"https://example.org/{doc_id}.pdf"
        rows.append({
            "doc_id": doc_id, "source": source, "title": f"Report {number}", "pdf_url": url,
            "sha256": f"{number:064x}", "bytes": 1000 + number, "pages": 6, "license": "CC BY 4.0",
        })  # fmt: skip
    corpus = folder / "corpus.jsonl"
    write_jsonl(corpus, rows)
    return pages, corpus


def _blocks(number: int, page: int) -> list[tuple[str, str]]:
    blocks = [("header", "Yearbook of Public Works"), ("text", f"This is page {page} of a report.")]
    for t, topic in enumerate(TOPICS):
        if (number + t) % 5 < 2 and 1 + t % 4 == page:
            blocks.append(("title", f"{page}.{t} {topic}"))
            blocks.append(("text", f"The work on {topic.lower()} went on during the year."))
    for a, agency in enumerate(AGENCIES):
        if (number * 3 + a) % 4 == 0 and 5 + a % 2 == page:
            blocks.append(("text", f"It was paid for by the {agency} and its partners."))
    return blocks


def write_pdfs(folder: Path, n_documents: int = 20) -> Path:
    """The same documents as PDFs, in a subfolder per source."""
    import pymupdf

    for number in range(n_documents):
        source = ("alpha", "beta", "gamma")[number % 3]
        (folder / source).mkdir(parents=True, exist_ok=True)
        with pymupdf.open() as pdf:
            for page in range(1, 7):
                _draw(pdf.new_page(), [*_blocks(number, page), *_filling(number, page)])
            pdf.save(folder / source / f"report {number:02d}.pdf", no_new_id=True)
    return folder


def _filling(number: int, page: int) -> list[tuple[str, str]]:
    """Lines that no other page has, so that a page is more than its head."""
    things = ("barges", "quarries", "lanterns", "kilns", "weirs", "looms", "presses")
    first = things[(number * 5 + page) % 7]
    other = things[(number + 3 * page) % 7]
    return [
        ("text", f"In ward {number} the {first} were counted by {page} clerks of the {other}."),
        ("text", f"Later the {other} of ward {number} were sold, and {page} {first} were kept."),
    ]


def _draw(page, blocks: list[tuple[str, str]]) -> None:
    y = 40
    for kind, text in blocks:
        page.insert_text((60, y), text, fontsize=16 if kind == "title" else 10)
        y += 40
