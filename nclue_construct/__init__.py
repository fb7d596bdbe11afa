"""Build a benchmark from one's own PDFs."""
