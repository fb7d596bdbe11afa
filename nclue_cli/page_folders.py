"""Where the page texts of a collection lie: as named, or where they were made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nclue_core.errors import UsageError

if TYPE_CHECKING:
    from nclue_dataset.release import Collection


def ocr_folder(pages: Path) -> Path:
    """The folder itself, or the one ``ocr_<engine>`` in it.

    Raises:
        UsageError: There are several.
    """
    inside = _ocr_folders(pages)
    if len(inside) > 1:
        names = ", ".join(path.name for path in inside)
        raise UsageError(f"{pages} holds {names}: name one of them with --pages")
    return inside[0] if inside else pages


def _ocr_folders(pages: Path) -> list[Path]:
    return sorted(path for path in pages.glob("ocr_*") if path.is_dir())


def pages_of(collection: Collection, pages: Path | None) -> Path:
    """The page texts of a collection.

    Args:
        collection: Its documents are looked for.
        pages: As the user named it; None looks where they were made: the folder of the last
            `nclue reconstruct` of the collection, the folder in which its release was built,
            and the folders ``corpus`` and the collection's name, here.

    Raises:
        UsageError: Not named, and not found.
    """
    if pages is not None:
        return ocr_folder(pages)
    from nclue_core.pages import page_path

    tried = list(dict.fromkeys(_usual_places(collection)))
    for folder in tried:
        for inside in _ocr_folders(folder):
            if any(page_path(inside, d.doc_id, 1).parent.is_dir() for d in collection.corpus):
                return ocr_folder(folder)
    shown = ", ".join(map(str, tried))
    raise UsageError(
        f"no page texts of {collection.name} in {shown}: name the folder with --pages, or make "
        f"them with `nclue reconstruct {collection.name} --out corpus`"
    )


def _usual_places(collection: Collection) -> Iterator[Path]:
    from nclue_dataset.paths import known_pages

    known = known_pages(collection.name)
    if known is not None:
        yield known
    if collection.path.name == "release":
        yield collection.path.parent
    yield from (Path("corpus"), Path(collection.name))
