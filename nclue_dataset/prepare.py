"""Prepare collections: from a release to plain ``load_dataset`` and ``evaluate.load``."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nclue_core.errors import UsageError
from nclue_core.schema import COLLECTIONS
from nclue_dataset.cache import PreparedConfig, prepare_configs
from nclue_dataset.collection_writer import write_release
from nclue_dataset.metric_cache import install_metric
from nclue_dataset.paths import MINI_RELEASE, prepared_release
from nclue_dataset.release import Collection, Release, read_release


@dataclass(frozen=True)
class PreparedCollection:
    """What ``nclue prepare`` did for one collection."""

    collection: str
    source: str  # where its release came from
    version: str | None
    content_hash: str
    configs: tuple[PreparedConfig, ...]
    warnings: tuple[str, ...]


def prepare(
    names: Sequence[str] = (),
    *,
    release: str | None = None,
    revision: str | None = None,
    mapping: Mapping[str, str] | None = None,
    force: bool = False,
) -> list[PreparedCollection]:
    """Put collections and the metric into the Hugging Face caches.

    Args:
        names: Collections; none means mini, or with ``release`` everything that it holds.
        release: A release directory, an archive (zip, tar, tar.gz), or its URL. Without it the
            collections besides mini come from the copy kept by an earlier call, or else from
            the public repository.
        revision: Revision of the public repository; asks it even if there is a kept copy.
        mapping: Field names, for releases whose fields have names of their own.
        force: Build again even if the cache holds the same content, and let a release take the
            place of another one of the same name.

    Returns:
        A record per collection.

    Raises:
        UsageError: A name that the release does not hold, or that another release has here.
        InputError: The release cannot be understood.
        NetworkError: It cannot be fetched; the message says how else to supply it.
    """
    install_metric()
    wanted = list(dict.fromkeys(names)) or ([] if release else ["mini"])
    done: list[PreparedCollection] = []
    if release is None and "mini" in wanted:
        done.append(_prepare_one(read_release(MINI_RELEASE), "mini", "embedded", force))
        wanted.remove("mini")
    kept = [name for name in wanted if _is_kept(name, release, revision)]
    for name in kept:
        folder = prepared_release(name)
        done.append(_prepare_one(read_release(folder), name, f"kept copy {folder}", force))
    missing = [name for name in wanted if name not in kept]
    if missing or (release and not wanted):
        done += _prepare_from_source(missing, release, revision, mapping, force)
    return done


def _is_kept(name: str, release: str | None, revision: str | None) -> bool:
    return release is None and revision is None and prepared_release(name).is_dir()


def _prepare_from_source(
    names: list[str],
    source: str | None,
    revision: str | None,
    mapping: Mapping[str, str] | None,
    force: bool,
) -> list[PreparedCollection]:
    unknown = [name for name in names if name not in COLLECTIONS]
    if source is None and unknown:
        raise UsageError(
            f"no collection is called {unknown[0]!r}; there are {', '.join(COLLECTIONS)} "
            "(for one of your own, give --release PATH)"
        )
    from nclue_dataset.archive import acquire_release

    with tempfile.TemporaryDirectory(prefix="nclue-release-") as workdir:
        folder = acquire_release(source, revision, Path(workdir))
        found = read_release(folder, mapping)
        absent = [name for name in names if name not in found.collections]
        if absent:
            raise UsageError(f"the release holds {', '.join(found.collections)}, not {absent[0]!r}")
        origin = source or f"public repository, revision {revision or 'main'}"
        return [
            _prepare_kept(found, name, origin, force) for name in names or list(found.collections)
        ]


def _prepare_kept(found: Release, name: str, origin: str, force: bool) -> PreparedCollection:
    kept, replaced = _keep_copy(found, name, origin, force)
    done = _prepare_one(kept, name, origin, force)
    told = (f"{name}: this takes the place of {replaced}",) if replaced else ()
    return replace(done, warnings=(*done.warnings, *told))


def _prepare_one(release: Release, name: str, source: str, force: bool) -> PreparedCollection:
    collection = release.collection(name)
    content_hash = release.content_hash(name)
    configs = prepare_configs(collection, content_hash, release.version, force=force)
    return PreparedCollection(
        name, source, release.version, content_hash, tuple(configs), tuple(collection.warnings)
    )


def _keep_copy(release: Release, name: str, origin: str, force: bool) -> tuple[Release, str]:
    """Keep the collection in canonical form, for scoring and reconstruction later.

    Returns:
        The copy, and what it took the place of (empty where nothing was, or the same).

    Raises:
        UsageError: Another release of the name is kept, or the name is that of mini.
    """
    collection: Collection = release.collection(name)
    target = prepared_release(name)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".keeping-", dir=target.parent) as staging:
        building = Path(staging) / "release"
        place = _place(origin)
        kept = {key: release.manifest[key] for key in ("license",) if key in release.manifest}
        extra = {"version": release.version, "prepared_from": place, **kept}
        write_release(building, {name: collection}, extra)
        replaced = _replaced(read_release(building), name, place, force)
        if target.exists():
            target.rename(Path(staging) / "old")
        building.rename(target)
        shutil.rmtree(Path(staging) / "old", ignore_errors=True)
    return read_release(target), replaced


def _place(origin: str) -> str:
    """Where a release is, wherever the command is called."""
    path = Path(origin)
    return str(path.resolve()) if path.exists() else origin


def _replaced(new: Release, name: str, place: str, force: bool) -> str:
    """What a release takes the place of, if it may: its earlier self, or any by force."""
    if name == "mini":
        if rows_hash(new, name) != rows_hash(read_release(MINI_RELEASE), name):
            raise UsageError(
                f"{place}: this is not the mini of the kit; give your collection a name of its own"
            )
        return ""
    target = prepared_release(name)
    if not target.is_dir():
        return ""
    old = read_release(target)
    if old.content_hash(name) == new.content_hash(name):
        return ""
    shown = described(old, name)
    if not force and old.manifest.get("prepared_from") != place:
        raise UsageError(
            f"another release is prepared as {name!r}: {shown}. {place} would take its place: "
            "say --force, or give your collection a name of its own"
        )
    return shown


def described(release: Release, name: str) -> str:
    """A release in a line: version, judgments, number of queries, where it came from."""
    from nclue_dataset.scoring import collection_judgments

    collection = release.collection(name)
    judgments = collection_judgments(collection).content_hash
    origin = release.manifest.get("prepared_from") or "embedded"
    return (
        f"version {release.version or 'unknown'}, judgments {judgments[:12]}, "
        f"{len(collection.queries):,} queries, from {origin}"
    )


def rows_hash(release: Release, name: str) -> str:
    """Hash of the judgments of a collection, whatever files they came from."""
    from nclue_dataset.scoring import collection_judgments

    return collection_judgments(release.collection(name)).content_hash
