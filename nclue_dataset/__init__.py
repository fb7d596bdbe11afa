"""Releases of the benchmark: read, check, prepare, load, export."""
