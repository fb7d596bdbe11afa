"""Look at what the parts of the kit need: packages, programs, models, caches, disk."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from nclue_core import __version__

CORE = ("datasets", "evaluate", "huggingface_hub", "pyarrow", "numpy", "pymupdf", "requests")
EXTRAS = {
    "lexical": ("bm25s", "BM25 systems (`nclue run`)"),
    "ray": ("ray", "reconstruction on a cluster (`--engine ray`)"),
    "neural": ("sentence_transformers", "dense text systems"),
    "visual": ("colpali_engine", "page-image systems"),
    "space": ("gradio", "the metric's web page"),
}
LOW_DISK_BYTES = 5 * 2**30
INSTALL_TESSERACT = "apt-get install tesseract-ocr   (macOS: brew install tesseract)"


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
        _tesseract(),
        _mineru(),
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


def _output(command: list[str]) -> str | None:
    """What a program prints within 20 seconds, None if it is missing or fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=20, check=True, errors="replace",
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return (done.stdout or done.stderr).strip()


def _tesseract() -> Finding:
    printed = _output(["tesseract", "--version"])
    if printed is None:
        return Finding("Tesseract", False, "not found, for OCR of scans", INSTALL_TESSERACT)
    version = printed.splitlines()[0].removeprefix("tesseract ")
    languages = (_output(["tesseract", "--list-langs"]) or "").splitlines()[1:]
    names = ", ".join(languages) or "none"
    if "eng" not in languages:
        remedy = "apt-get install tesseract-ocr-eng, or set TESSDATA_PREFIX to its folder"
        return Finding("Tesseract", False, f"{version}, languages: {names}", remedy)
    return Finding("Tesseract", True, f"{version}, languages: {names}")


def _mineru() -> Finding:
    printed = _output(["mineru-kit", "--version"]) or _output(["mineru", "--version"])
    if printed is None:
        return Finding(
            "MinerU", False, "not found, the study's OCR engine",
            'pip install "nclue[mineru]", then mineru-kit models download --tier basic',
        )  # fmt: skip
    version = printed.splitlines()[0]
    if shutil.which("mineru-kit") is None:
        models = os.environ.get("MINERU_MODEL_SOURCE", "fetched at first use")
        return Finding("MinerU", True, f"{version}, models: {models}")
    if _output(["mineru-kit", "models", "verify", "--tier", "basic"]) is None:
        return Finding("MinerU", False, f"{version}, its models are missing",
                       "mineru-kit models download --tier basic")  # fmt: skip
    return Finding("MinerU", True, f"{version}, models ready")


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
