"""Find the PDF of a PubMed Central article in the PMC cloud service.

The ftp service and its packages were retired in August 2026; the files of an article version lie at
``<service>/PMC<id>.<version>/`` instead, its PDF as ``PMC<id>.<version>.pdf``. The recorded SHA-256
tells which version is meant, so all versions are tried, the newest first.
Source: pmc.ncbi.nlm.nih.gov/tools/pmcaws (PMC Cloud Service).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from nclue_core.schema import CorpusDocument

CLOUD_SERVICE = "https://pmc-oa-opendata.s3.amazonaws.com"
MAX_LISTING_BYTES = 1 << 20
MAX_VERSIONS = 20

_PMCID = re.compile(r"PMC[1-9][0-9]{0,11}(?![0-9])")
# The listing is read by pattern, not by an XML parser: nothing in it can expand.
_VERSION = re.compile(rb"<Prefix>(PMC[1-9][0-9]{0,11})\.([1-9][0-9]{0,4})/</Prefix>")


def pmcid_of(document: CorpusDocument) -> str | None:
    """The PMCID in a document's ID or addresses, for example ``pmc_oa_PMC7326321``; or None."""
    for text in (document.doc_id, document.pdf_url, document.landing_url):
        found = _PMCID.search(text or "")
        if found:
            return found[0]
    return None


def listing_url(pmcid: str, service: str = CLOUD_SERVICE) -> str:
    """Address that lists the versions of an article."""
    return f"{service}/?list-type=2&delimiter=%2F&prefix={pmcid}."


def pdf_urls(
    pmcid: str, read: Callable[[str, int], bytes], service: str = CLOUD_SERVICE
) -> list[str]:
    """Addresses of the article's PDFs, the newest version first; empty if it is not there.

    Args:
        pmcid: For example "PMC7326321".
        read: Fetches a small file: address and largest size.
        service: Base address of the service.
    """
    listing = read(listing_url(pmcid, service), MAX_LISTING_BYTES)
    versions = {
        int(version) for name, version in _VERSION.findall(listing) if name.decode() == pmcid
    }
    newest = sorted(versions, reverse=True)[:MAX_VERSIONS]
    return [f"{service}/{pmcid}.{v}/{pmcid}.{v}.pdf" for v in newest]
