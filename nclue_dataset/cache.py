"""Put configurations into the cache of `datasets`, so that plain ``load_dataset`` finds them.

``load_dataset("nclue", X)`` finds no such repository on the Hub and falls back to
``<cache>/nclue/<config>/<version>/<hash>``, newest first. So every configuration has exactly one
folder there, its hash follows the content, and a folder appears whole or not at all: it is
built under another name in the same file system and renamed, under a lock.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from nclue_core._version import __version__
from nclue_dataset.names import derived_configs
from nclue_dataset.tables import config_names

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

    from nclue_dataset.release import Collection

# Part of every hash: change it when rows or features change for the same release.
LAYOUT_VERSION = "1"


@dataclass(frozen=True)
class PreparedConfig:
    """A configuration in the cache."""

    config: str
    path: str
    rows: dict[str, int]  # per split
    fresh: bool  # False: it was there already, with the same content


def datasets_cache() -> Path:
    """The cache folder of `datasets` (``$HF_DATASETS_CACHE``, below ``$HF_HOME``)."""
    import datasets

    return Path(datasets.config.HF_DATASETS_CACHE).expanduser()


def prepare_configs(
    collection: Collection, content_hash: str, version: str | None, *, force: bool = False
) -> list[PreparedConfig]:
    """Build all configurations of a collection into the cache; stale ones are removed.

    Safe beside other processes that prepare or load: one prepares at a time, readers see the
    old folder or the new one.

    Args:
        collection: The parsed collection.
        content_hash: Hash of the release files that it was read from.
        version: Version of the release.
        force: Build again even if the same content is there.
    """
    from nclue_dataset.builder import NClueBuilder

    with _locked_root() as root:
        prepared = []
        for config in config_names(collection):
            builder = functools.partial(
                NClueBuilder, collection=collection, config_name=config, version=version
            )
            prepared.append(_prepare_config(root, config, content_hash, builder, force=force))
        _remove_configs(root, collection.name, {item.config for item in prepared})
    return prepared


def prepare_tables(
    config: str,
    split: str,
    tables: Callable[[], Iterator[pa.Table]],
    features: datasets.Features,
    content_hash: str,
) -> PreparedConfig:
    """Put tables that are no part of a release into the cache, for example local page texts.

    Args:
        config: Name of the configuration, such as "mini-pages".
        split: Name of its only split.
        tables: Gives the tables, with the columns of the features.
        features: Declared types.
        content_hash: Changes with the content.
    """
    from nclue_dataset.builder import TablesBuilder

    def builder(**place: Any) -> datasets.DatasetBuilder:
        return TablesBuilder(
            config_name=config, split=split, tables=tables, features=features, **place
        )

    with _locked_root() as root:
        return _prepare_config(root, config, content_hash, builder, force=False)


@contextlib.contextmanager
def _locked_root() -> Iterator[Path]:
    root = datasets_cache() / "nclue"
    root.mkdir(parents=True, exist_ok=True)
    with FileLock(root.parent / ".nclue.lock"):
        yield root


def _prepare_config(
    root: Path,
    config: str,
    content_hash: str,
    builder: Callable[..., datasets.DatasetBuilder],
    *,
    force: bool,
) -> PreparedConfig:
    folder_hash = hashlib.sha256(
        f"{content_hash} {LAYOUT_VERSION} {__version__} {config}".encode()
    ).hexdigest()[:32]
    present = [path for path in (root / config).glob("*/*") if path.name == folder_hash]
    if present and not force and _split_rows(present[0]) is not None:
        _keep_only(root / config, present[0])
        return PreparedConfig(config, str(present[0]), _split_rows(present[0]) or {}, fresh=False)
    final = _build(root, folder_hash, builder)
    _keep_only(root / config, final)
    return PreparedConfig(config, str(final), _split_rows(final) or {}, fresh=True)


def _build(root: Path, folder_hash: str, builder: Callable[..., datasets.DatasetBuilder]) -> Path:
    # Not below `root`: whatever is there counts as prepared for load_dataset.
    with tempfile.TemporaryDirectory(prefix=".nclue-building-", dir=root.parent) as staging:
        building = builder(cache_dir=staging, hash=folder_hash)
        with no_progress_bars():
            building.download_and_prepare()
        built = Path(building.cache_dir)
        final = root / built.relative_to(Path(staging) / "nclue")
        final.parent.mkdir(parents=True, exist_ok=True)
        if final.exists():
            shutil.rmtree(final)
        built.rename(final)
    os.utime(final)
    return final


@contextlib.contextmanager
def no_progress_bars() -> Iterator[None]:
    """Silence the bars of `datasets`: the work takes seconds, and each step has its own."""
    from datasets import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    were_disabled = are_progress_bars_disabled()
    disable_progress_bars()
    try:
        yield
    finally:
        if not were_disabled:
            enable_progress_bars()


def _split_rows(folder: Path) -> dict[str, int] | None:
    """Rows per split as recorded in a cache folder, None if the folder is not complete."""
    try:
        info = json.loads((folder / "dataset_info.json").read_text(encoding="utf-8"))
        splits = {name: int(split["num_examples"]) for name, split in info["splits"].items()}
    except (OSError, ValueError, KeyError, TypeError):
        return None
    files = {path.name for path in folder.glob("*.arrow")}
    complete = all(any(f.startswith(f"nclue-{name}") for f in files) for name in splits)
    return splits if complete else None


def _keep_only(config_folder: Path, keep: Path) -> None:
    for version in config_folder.iterdir():
        for folder in version.iterdir() if version.is_dir() else ():
            if folder != keep:
                shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
        if version.is_dir() and not any(version.iterdir()):
            version.rmdir()


def _remove_configs(root: Path, collection: str, keep: set[str]) -> None:
    # A configuration that the new release no longer has must not be found any more.
    for name in derived_configs(collection) - keep:
        shutil.rmtree(root / name, ignore_errors=True)
