"""Prepare collections: from a release to plain ``load_dataset`` and ``evaluate.load``."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
        force: Build again even if the cache holds the same content.

    Returns:
        A record per collection.

    Raises:
        UsageError: A name that the release does not hold.
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
            _prepare_one(_keep_copy(found, name, origin), name, origin, force)
            for name in names or list(found.collections)
        ]


def _prepare_one(release: Release, name: str, source: str, force: bool) -> PreparedCollection:
    collection = release.collection(name)
    content_hash = release.content_hash(name)
    configs = prepare_configs(collection, content_hash, release.version, force=force)
    return PreparedCollection(
        name, source, release.version, content_hash, tuple(configs), tuple(collection.warnings)
    )


def _keep_copy(release: Release, name: str, origin: str) -> Release:
    """Keep the collection in canonical form, for scoring and reconstruction later."""
    collection: Collection = release.collection(name)
    target = prepared_release(name)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".keeping-", dir=target.parent) as staging:
        building = Path(staging) / "release"
        extra = {"version": release.version, "prepared_from": origin}
        write_release(building, {name: collection}, extra)
        if target.exists():
            target.rename(Path(staging) / "old")
        building.rename(target)
        shutil.rmtree(Path(staging) / "old", ignore_errors=True)
    return read_release(target)
