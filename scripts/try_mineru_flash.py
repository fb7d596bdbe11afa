"""Run the MinerU that is installed on a few PDFs and say what it gives, as JSON lines.

    NCLUE_MINERU=/path/to/venv/bin python scripts/try_mineru_flash.py a.pdf b.pdf

The tier `flash` of MinerU 4 needs no models, but reads only PDFs with a text layer; other tiers
and earlier versions need theirs. The words of each page are compared with those of the PDF's own
text layer (share of the distinct words that both have: Jaccard index, mean over pages with text).
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import mean
from typing import Any

from nclue_core.files import sha256_file
from nclue_core.pages import PageRecord, read_document
from nclue_reconstruct.outcome import DocumentOutcome
from nclue_reconstruct.read.engines import get_engine
from nclue_reconstruct.read.textlayer import extract_document
from nclue_reconstruct.run.ocr_steps import ocr_document


def main() -> None:
    """Parse the command line and print one line per PDF."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pdfs", nargs="+", type=Path)
    parser.add_argument("--tier", default="flash")
    options = parser.parse_args()
    engine = get_engine("mineru", tier=options.tier)
    engine.check_ready()
    for pdf in options.pdfs:
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            done = ocr_document(engine, pdf, "document", sha256_file(pdf), Path(folder))
            seconds = time.monotonic() - began
            pages = read_document(Path(folder), "document")
        print(json.dumps(describe(pdf, done, pages, seconds), ensure_ascii=False), flush=True)


def describe(
    pdf: Path, done: DocumentOutcome, pages: list[PageRecord], seconds: float
) -> dict[str, Any]:
    """What came out of one PDF, in figures."""
    return {
        "pdf": pdf.name,
        "engine": pages[0].engine_version if pages else None,
        "state": done.state,
        "reason": done.reason,
        "pages": f"{done.pages_done} of {done.pages_total}",
        "pages_with_text": sum(page.has_text for page in pages),
        "seconds": round(seconds, 1),
        "blocks": dict(Counter(block.type for page in pages for block in page.blocks)),
        "words_shared_with_text_layer": _agreement(pdf, pages),
    }


def _agreement(pdf: Path, pages: list[PageRecord]) -> float | None:
    own = {page.page: _words(page.text) for page in extract_document(pdf, "document")}
    pairs = [(_words(page.text), own[page.page]) for page in pages]
    shares = [len(a & b) / len(a | b) for a, b in pairs if a and b]
    return round(mean(shares), 3) if shares else None


def _words(text: str) -> set[str]:
    joined = text.replace("-\n", "")  # MinerU joins what a line end divides
    return {word for word in joined.casefold().split() if word.isalpha()}


if __name__ == "__main__":
    main()
