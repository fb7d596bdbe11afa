"""From annotations to the local page corpus: fetch, verify, render, OCR."""
