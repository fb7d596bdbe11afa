"""The cards: what the data sets are, how they were made, and the formats of all files."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def read_card(name: str) -> str:
    """The text of a card, for example ``"dataset_card.md"``."""
    return (FOLDER / name).read_text(encoding="utf-8")
