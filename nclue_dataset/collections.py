"""Find a collection by name: embedded, prepared before, or in a release directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nclue_core.errors import InputError, UsageError
from nclue_core.schema import COLLECTIONS
from nclue_dataset.paths import MINI_RELEASE, prepared_release
from nclue_dataset.release import read_release

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nclue_dataset.release import Collection


def load_collection(
    config: str | None = None,
    release: Path | None = None,
    collection: str | None = None,
    mapping: Mapping[str, str] | None = None,
) -> Collection:
    """A collection of the kit, or of a release directory.

    Args:
        config: "mini" (embedded), or "crosspage" / "sourceshift" after ``nclue prepare``.
            With ``release``, the name of a collection in it.
        release: A release directory. Without it ``config`` is needed.
        collection: Another word for ``config`` where a release is given.
        mapping: Field names of that release, as for ``nclue check --map``.

    Raises:
        UsageError: Neither a name nor a release, or a name that there is not.
        InputError: The collection has not been prepared, or cannot be read.
    """
    name = collection or config
    if release is not None:
        return _only_or_named(release, name, mapping)
    if name is None:
        raise UsageError(f"name a collection ({', '.join(COLLECTIONS)}) or a release directory")
    if name == "mini":
        return read_release(MINI_RELEASE).collection("mini")
    folder = prepared_release(name)
    if folder.is_dir():
        return read_release(folder).collection(name)
    if name not in COLLECTIONS:
        raise UsageError(f"no collection is called {name!r}; there are {', '.join(COLLECTIONS)}")
    raise InputError(
        f"the collection {name!r} is not on this machine yet: run `nclue prepare {name}` "
        "(with --release PATH if you have a copy), or name a release directory"
    )


def _only_or_named(
    release: Path, name: str | None, mapping: Mapping[str, str] | None
) -> Collection:
    found = read_release(release, mapping)
    names = list(found.collections)
    if name is None and len(names) == 1:
        return found.collection(names[0])
    if name not in names:
        asked = "which one?" if name is None else f"there is no {name!r}"
        raise UsageError(f"{release} holds the collections {', '.join(names)}: {asked}")
    return found.collection(name)
