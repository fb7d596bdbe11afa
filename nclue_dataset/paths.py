"""Where the kit keeps what it was given: prepared releases, beside the Hugging Face caches."""

from __future__ import annotations

import json
import os
from pathlib import Path

from nclue_core.files import file_name, write_text

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


def remember_pages(collection: str, folder: Path) -> None:
    """Note where the page texts of a collection were made, for commands that read them."""
    note = cache_dir() / "pages" / f"{file_name(collection)}.json"
    write_text(note, json.dumps({"folder": str(folder.absolute())}) + "\n")


def known_pages(collection: str) -> Path | None:
    """Where the page texts of a collection were made last, if that is known and still there."""
    note = cache_dir() / "pages" / f"{file_name(collection)}.json"
    try:
        folder = Path(json.loads(note.read_text(encoding="utf-8"))["folder"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return folder if folder.is_dir() else None
