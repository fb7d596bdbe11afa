"""Under which conditions numbers hold: the version, and the signature to print beside them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

try:
    # Stated there alone. This folder also works by itself, for example as a Space.
    from nclue_core._version import __version__

    VERSION = __version__
except ModuleNotFoundError:  # then the files themselves say which version they are
    _FILES = (Path(__file__).with_name(name) for name in ("measures.py", "scoring.py"))
    VERSION = f"files-{hashlib.sha256(b''.join(p.read_bytes() for p in _FILES)).hexdigest()[:8]}"

_FIRST = ("k", "gain", "ties", "queries", "judgments", "collection", "qrels", "form", "exclusions")


def signature(conditions: Mapping[str, Any]) -> str:
    """The conditions in one line: the same signature, comparable numbers.

    Args:
        conditions: By name; ``nclue`` is the version. Known names come in a fixed order, others
            behind them as they are given.
    """
    names = [name for name in _FIRST if name in conditions]
    names += [name for name in conditions if name not in (*_FIRST, "nclue")]
    parts = [f"{name}:{_flat(conditions[name])}" for name in names]
    return "|".join(["n_clue", f"v:{conditions.get('nclue', VERSION)}", *parts])


def _flat(value: Any) -> str:
    text = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    return text.replace("|", "/").replace("\n", " ")
