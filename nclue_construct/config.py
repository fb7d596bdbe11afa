"""Settings of a construction, and how they are read from a TOML file."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from nclue_construct.compose import ComposeLimits
from nclue_construct.gate import GateLimits
from nclue_construct.select import SelectLimits
from nclue_core.errors import InputError, require

Settings = TypeVar("Settings")


@dataclass(frozen=True)
class ConstructConfig:
    """Everything that decides what is built, besides the documents and the judge."""

    name: str = ""  # of the collection, and the prefix of its query IDs; needed
    version: str = "0.1.0"
    license: str = ""  # of the annotations, as it stands in the release and its card
    seed: int = 11
    max_unreadable_pages: int = 2  # a document with more pages without text is left out
    max_unreadable_share: float = 0.05
    gate: GateLimits = field(default_factory=GateLimits)
    compose: ComposeLimits = field(default_factory=ComposeLimits)
    select: SelectLimits = field(default_factory=SelectLimits)


def read_config(path: Path | None) -> ConstructConfig:
    """Settings from a TOML file with the field names above; the defaults without a file.

    Raises:
        InputError: The file is no TOML, or a name or type is wrong; names the setting.
    """
    if path is None:
        return ConstructConfig()
    name = "tomllib" if sys.version_info >= (3, 11) else "tomli"
    tomllib = require(name, extra="construct", purpose="Reading a TOML file")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as err:
        raise InputError(f"not a readable TOML file: {err}", path=path) from None
    return _apply(ConstructConfig(), values, path, "")


def _apply(settings: Settings, values: Mapping[str, Any], path: Path, place: str) -> Settings:
    known = {item.name for item in fields(settings)}  # type: ignore[arg-type]
    changes = {}
    for name, value in values.items():
        where = f"{place}{name}"
        if name not in known:
            raise InputError(
                f"there is no setting {where!r}; expected one of {', '.join(sorted(known))}",
                path=path,
            )
        changes[name] = _convert(getattr(settings, name), value, path, where)
    return replace(settings, **changes)  # type: ignore[type-var]


def _convert(default: Any, value: Any, path: Path, where: str) -> Any:
    if is_dataclass(default) and isinstance(value, Mapping):
        return _apply(default, value, path, f"{where}.")
    if isinstance(default, tuple) and _whole_numbers(value):
        return tuple(value)
    if isinstance(default, Mapping) and isinstance(value, Mapping):
        if all(str(key).isdecimal() for key in value) and _whole_numbers(list(value.values())):
            return {int(key): number for key, number in value.items()}
    elif isinstance(default, float) and type(value) in (int, float):
        return float(value)
    elif type(value) is type(default):
        return value
    raise InputError(
        f"{where} is {value!r}, expected a value like {default!r}", path=path
    )  # fmt: skip


def _whole_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int for item in value)
