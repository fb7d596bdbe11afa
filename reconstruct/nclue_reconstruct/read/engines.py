"""The OCR engines that there are: every file ``engine_NAME.py`` of this package."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

from nclue_core.errors import MissingDependencyError, UsageError
from nclue_reconstruct import read
from nclue_reconstruct.read.engine import Engine, options_of

AUTO = "auto"


@lru_cache(maxsize=1)
def known() -> dict[str, type[Engine]]:
    """The engines by name, sorted."""
    found: dict[str, type[Engine]] = {}
    for module in pkgutil.iter_modules(read.__path__, f"{read.__name__}."):
        if module.name.startswith(f"{read.__name__}.engine_"):
            importlib.import_module(module.name)
    for engine in _kinds_of(Engine):
        if engine.__module__.startswith(f"{read.__name__}.engine_"):
            found[engine.name] = engine
    return dict(sorted(found.items()))


def _kinds_of(engine: type[Any]) -> Iterator[type[Engine]]:
    for kind in engine.__subclasses__():
        yield kind
        yield from _kinds_of(kind)


def names() -> list[str]:
    """What `get_engine` takes."""
    return [AUTO, *known()]


def fillers() -> list[str]:
    """Names of the engines that can read the pages that another one cannot."""
    return [name for name, engine in known().items() if engine.from_pixels]


def get_engine(name: str, *, ocr_missing: str | None = None, **options: Any) -> Engine:
    """The engine of a name.

    Args:
        name: As in `names`. ``auto`` is MinerU where it is installed and its models are ready, else
            Tesseract.
        ocr_missing: For an engine that reads only what is there (``text``): the engine for the
            pages without it, as in `fillers`.
        **options: Of the engine, or of the one that fills in; None means its default.

    Raises:
        UsageError: An unknown name, or options that don't fit.
    """
    if name == AUTO:
        _check_filler(name, ocr_missing)
        return choose_engine(**options)[0]
    kinds = [_kind(name)]
    if ocr_missing is not None:
        _check_filler(name, ocr_missing)
        kinds.append(_kind(ocr_missing))
    given = {option: value for option, value in options.items() if value is not None}
    _check_fit(kinds, given)
    engine, *others = (kind(**_for(kind, given)) for kind in kinds)
    return replace(engine, ocr_missing=others[0]) if others else engine  # type: ignore[call-arg]


def choose_engine(**options: Any) -> tuple[Engine, str]:
    """The engine that ``auto`` means on this machine, and why, as one sentence to print.

    Args:
        **options: As in `get_engine`; either engine takes those that it has.
    """
    given = {option: value for option, value in options.items() if value is not None}
    kinds = [_kind("mineru"), _kind("tesseract")]
    _check_fit(kinds, given)
    mineru, tesseract = (kind(**_for(kind, given)) for kind in kinds)
    try:
        mineru.check_ready()
    except MissingDependencyError as err:
        return tesseract, f"OCR with Tesseract, because MinerU is not ready: {err}"
    return mineru, f"OCR with {mineru.version()}: it is installed and its models are ready"


def _kind(name: str) -> type[Engine]:
    if name not in known():
        raise UsageError(f"no engine {name!r}; there are: {', '.join(names())}")
    return known()[name]


def _check_filler(name: str, ocr_missing: str | None) -> None:
    if ocr_missing is None:
        return
    if name == AUTO or "ocr_missing" not in _kind(name).__dataclass_fields__:
        raise UsageError("ocr_missing goes with the engine text: the others read every page")
    if ocr_missing not in fillers():
        raise UsageError(f"ocr_missing {ocr_missing!r}; there are: {', '.join(fillers())}")


def _for(kind: type[Engine], given: dict[str, Any]) -> dict[str, Any]:
    has = {one.name for one in options_of(kind)}
    return {option: value for option, value in given.items() if option in has}


def _check_fit(kinds: list[type[Engine]], given: dict[str, Any]) -> None:
    """An option that would change nothing is told, not swallowed."""
    has = [one.name for kind in kinds for one in options_of(kind)]
    for option in given:
        if option not in has:
            who = " and ".join(kind.name for kind in kinds)
            have = f"has: {', '.join(dict.fromkeys(has))}" if has else "has no options"
            raise UsageError(f"{option} is no option of the engine {who}, which {have}")
