"""What the hosts of the collections ask of programs: their pace, and the addresses to use."""

from __future__ import annotations

import re

from nclue_http.hosts import HostLimit

# arXiv asks for three seconds between requests, NCBI for three requests a second.
LIMITS = {
    "export.arxiv.org": HostLimit(1, 3.0),
    "documents.worldbank.org": HostLimit(2, 0.5),
    "documents1.worldbank.org": HostLimit(2, 0.5),
    "openknowledge.worldbank.org": HostLimit(2, 0.5),
    "www.ncbi.nlm.nih.gov": HostLimit(2, 0.4),
    "pmc.ncbi.nlm.nih.gov": HostLimit(2, 0.4),
    "www.govinfo.gov": HostLimit(2, 0.5),
    "files.eric.ed.gov": HostLimit(2, 0.5),
}

_ARXIV = re.compile(r"https?://(?:www\.)?arxiv\.org(?=/)", re.IGNORECASE)


def polite_address(url: str) -> str:
    """The address that programs are asked to use; arXiv has a host of its own for them."""
    return _ARXIV.sub("https://export.arxiv.org", url, count=1) if _ARXIV.match(url) else url
