"""Put the metric into the module cache of `evaluate`, so that ``evaluate.load("n_clue")`` works.

`evaluate` looks for a module on the Hub and then in its cache, at
``metrics/evaluate-metric--n_clue/<hash>/n_clue.py``, the newest first: the folder that it would
have made itself after a download.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from filelock import FileLock

MODULE = "n_clue"
FILES = (
    "n_clue.py", "columns.py", "conditions.py", "fields.py", "inputs.py", "intervals.py",
    "measures.py", "parquet.py", "qrels.py", "rows.py", "runs.py", "scoring.py", "support.py",
    "trec.py",
)  # fmt: skip


def install_metric() -> Path:
    """Copy the metric into the module cache; returns its folder. Older copies are removed."""
    import nclue_metric

    source = Path(nclue_metric.__file__).resolve().parent
    metrics = _module_cache() / "metrics"
    for folder in (metrics.parent, metrics, home := metrics / f"evaluate-metric--{MODULE}"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").touch()
    with FileLock(metrics / f".{MODULE}.lock"):
        final = home / _hash_of(source)
        if not _is_complete(final, source):
            _copy(source, final)
        os.utime(final / f"{MODULE}.py")
        _remove_others(home, final)
    return final


def _module_cache() -> Path:
    from evaluate.loading import init_dynamic_modules

    return Path(init_dynamic_modules())


def _hash_of(source: Path) -> str:
    digest = hashlib.sha256()
    for name in FILES:
        digest.update(name.encode() + (source / name).read_bytes())
    return digest.hexdigest()


def _is_complete(folder: Path, source: Path) -> bool:
    return all(
        (folder / name).is_file() and (folder / name).read_bytes() == (source / name).read_bytes()
        for name in FILES
    )


def _copy(source: Path, final: Path) -> None:
    if final.exists():
        shutil.rmtree(final)
    with tempfile.TemporaryDirectory(prefix=".building-", dir=final.parents[1]) as staging:
        building = Path(staging) / final.name
        building.mkdir()
        (building / "__init__.py").touch()
        for name in FILES:
            shutil.copyfile(source / name, building / name)
        building.rename(final)


def _remove_others(home: Path, keep: Path) -> None:
    for folder in home.iterdir():
        if folder.is_dir() and folder != keep:
            shutil.rmtree(folder)
