"""Where the kit keeps what it was given: prepared releases, beside the Hugging Face caches."""

from __future__ import annotations

import os
from pathlib import Path

MINI_RELEASE = Path(__file__).resolve().parent / "mini"
PUBLIC_REPOSITORY = "https://github.com/sunggukcha/n_clue"


def cache_dir() -> Path:
    """``$NCLUE_CACHE``, or ``nclue`` in the user's cache folder (``$XDG_CACHE_HOME``)."""
    own = os.environ.get("NCLUE_CACHE")
    if own:
        return Path(own).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "nclue"


def prepared_release(collection: str) -> Path:
    """Folder of the canonical copy that ``nclue prepare`` keeps of a collection."""
    return cache_dir() / "releases" / collection
