"""From a PDF to the text of its pages: open, render, text layer, Tesseract, MinerU."""
