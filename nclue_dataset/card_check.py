"""Check the card of a Hub-ready folder: faults that upload fine and break ``load_dataset``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from nclue_dataset.names import config_name_reason, split_name_reason


def check_card(folder: Path) -> list[str]:
    """Everything wrong with ``README.md`` of a Hub-ready folder and the files it names.

    Returns:
        Messages; empty if the folder can be uploaded.
    """
    problems = [
        f"{path.name}: a loader script; `datasets` runs none" for path in folder.glob("*.py")
    ]
    try:
        metadata = _front_matter((folder / "README.md").read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as err:
        return [*problems, f"README.md: {err}"]
    configs = metadata.get("configs") or []
    if not isinstance(configs, list) or not all(isinstance(item, dict) for item in configs):
        return [*problems, "README.md: configs is no list of mappings"]
    if not configs:
        problems.append("README.md: no configs, so the library would guess them from file names")
    names = [str(item.get("config_name")) for item in configs]
    problems += [
        f"config {name!r} is declared twice" for name, n in Counter(names).items() if n > 1
    ]
    defaults = [name for name, item in zip(names, configs, strict=True) if item.get("default")]
    if len(defaults) > 1:
        problems.append(f"two configs are the default: {', '.join(defaults)}")
    for name, item in zip(names, configs, strict=True):
        problems += _config_problems(folder, name, item)
    return problems


def _front_matter(text: str) -> dict[str, Any]:
    if not text.startswith("---\n") or "\n---" not in text[4:]:
        raise ValueError("no YAML block between two lines of ---")
    metadata = yaml.safe_load(text[4 : text.index("\n---", 4)])
    if not isinstance(metadata, dict):
        raise ValueError("the YAML block is no mapping")
    return metadata


def _config_problems(folder: Path, name: str, config: dict[str, Any]) -> list[str]:
    reason = config_name_reason(name)
    problems = [f"config name {name!r}: {reason}"] if reason else []
    entries = config.get("data_files") or []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return [*problems, f"{name}: data_files is no list of split and path"]
    splits = Counter(str(entry.get("split")) for entry in entries)
    problems += [
        f"{name}: split {split!r} is declared twice" for split, n in splits.items() if n > 1
    ]
    problems += [
        f"{name}: split name {split!r}: {reason}"
        for split in splits
        if (reason := split_name_reason(split))
    ]
    patterns = [path for entry in entries for path in _as_list(entry.get("path"))]
    for pattern in patterns:
        if pattern.startswith(("/", "..")) or not any(folder.glob(pattern)):
            problems.append(f"{name}: no file in the folder matches {pattern!r}")
    endings = sorted({Path(pattern).suffix for pattern in patterns})
    if len(endings) > 1:
        problems.append(f"{name}: files of several formats ({', '.join(endings)})")
    return problems


def _repeated(names: list[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _as_list(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]
