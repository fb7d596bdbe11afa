"""Retrieval systems of the study, by name."""
