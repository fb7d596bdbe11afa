"""Read the cards that come with the package: what the data sets are, how they were made."""

from __future__ import annotations

from importlib.resources import files


def read_card(name: str) -> str:
    """The text of a card, for example ``"dataset_card.md"``."""
    return files("nclue_cards").joinpath(name).read_text(encoding="utf-8")
