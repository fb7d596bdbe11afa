"""From addresses to verified PDFs: hosts, connections, transfers, PubMed Central."""
