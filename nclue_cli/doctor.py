"""Look at what the parts of the kit need: packages, programs, models, caches, disk."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

from nclue_core import __version__
from nclue_core.errors import MissingDependencyError
from nclue_reconstruct.read.engine import Engine
from nclue_reconstruct.read.engines import known

CORE = ("datasets", "evaluate", "huggingface_hub", "pyarrow", "numpy", "pymupdf", "requests")
EXTRAS = {
    "lexical": ("bm25s", "BM25 systems (`nclue run`)"),
    "ray": ("ray", "reconstruction on a cluster (`--executor ray`)"),
    "neural": ("sentence_transformers", "dense text systems"),
    "visual": ("colpali_engine", "page-image systems"),
    "space": ("gradio", "the metric's web page"),
}
LOW_DISK_BYTES = 5 * 2**30


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    part: str
    ready: bool
    found: str
    remedy: str | None = None


def examine() -> list[Finding]:
    """Look at everything; never raises for something that is missing."""
    return [
        Finding("nclue", True, f"{__version__}, Python {platform.python_version()}"),
        *(_package(name) for name in CORE),
        *(_extra(extra, module, use) for extra, (module, use) in EXTRAS.items()),
        *(_engine(engine()) for engine in known().values()),
        *_collections(),
        _hub_cache(),
        _disk(),
    ]


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _package(name: str) -> Finding:
    version = _version(name)
    remedy = None if version else "pip install --upgrade nclue"
    return Finding(name, version is not None, version or "not installed", remedy)


def _extra(extra: str, module: str, use: str) -> Finding:
    installed = importlib.util.find_spec(module) is not None
    found = f"{_version(module.replace('_', '-')) or 'installed'}, for {use}"
    if installed:
        return Finding(f"extra {extra}", True, found)
    return Finding(
        f"extra {extra}", False, f"not installed, for {use}", f'pip install "nclue[{extra}]"'
    )


def _engine(engine: Engine) -> Finding:
    """An OCR engine with its defaults, as it says of itself."""
    try:
        engine.check_ready()
        return Finding(engine.title, True, f"{engine.version()}, {engine.details()}")
    except MissingDependencyError as err:
        problem, _, remedy = str(err).partition("nstall it with: ")
        return Finding(
            engine.title, False, f"{problem.removesuffix(' I')} ({engine.needs})", remedy or None
        )


def _collections() -> list[Finding]:
    from nclue_core.schema import COLLECTIONS
    from nclue_dataset.paths import prepared_release

    kept = prepared_release("x").parent
    own = sorted(path.name for path in kept.glob("[!.]*") if path.is_dir())
    return [_collection(name) for name in dict.fromkeys([*COLLECTIONS, *own])]


def _collection(name: str) -> Finding:
    """Which release of a collection is prepared: version, judgments, where it came from."""
    from nclue_dataset.paths import MINI_RELEASE, prepared_release

    folder = _datasets_cache() / "nclue" / name
    release = MINI_RELEASE if name == "mini" else prepared_release(name)
    if folder.is_dir():
        found = f"prepared in {folder}: {_release(name, release)}"
        return Finding(f"collection {name}", True, found)
    kept = f", a release is kept: {_release(name, release)}" if release.is_dir() else ""
    return Finding(f"collection {name}", False, f"not prepared{kept}", f"nclue prepare {name}")


def _release(name: str, folder: Path) -> str:
    from nclue_core.errors import NClueError
    from nclue_dataset.prepare import described
    from nclue_dataset.release import read_release

    try:
        return f"{described(read_release(folder), name)}, kept in {folder}"
    except NClueError as err:
        return f"its release cannot be read: {err}"


def _datasets_cache() -> Path:
    # As `datasets` resolves it; importing the library for this would take seconds.
    home = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "huggingface"
    home = Path(os.environ.get("HF_HOME") or home)
    return Path(os.environ.get("HF_DATASETS_CACHE") or home / "datasets").expanduser()


def _hub_cache() -> Finding:
    offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")
    remedy = None if offline else "without network set HF_HUB_OFFLINE=1: no waiting for the Hub"
    state = "offline" if offline else "online"
    return Finding("Hugging Face", True, f"cache {_datasets_cache()}, {state}", remedy)


def _disk() -> Finding:
    folder = _datasets_cache()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    remedy = None
    if free < LOW_DISK_BYTES:
        remedy = "the PDFs of CrossPage and their page texts need several GB"
    return Finding("free disk", remedy is None, f"{free / 2**30:.1f} GB at {folder}", remedy)
