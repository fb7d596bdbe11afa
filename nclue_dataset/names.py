"""Names of configurations and splits that work on the Hub and on every file system."""

from __future__ import annotations

import re

from nclue_core.files import unsafe_id_reason

_SPLIT = re.compile(r"\w+(\.\w+)*", re.ASCII)
PUBLISHED = ("mini", "mini_v1", "crosspage", "sourceshift")
_DERIVED = ("-qrels", "-corpus", "-rankings", "-initial", "-pages")  # configurations of one
_CONFIG = re.compile(r"[^<>:\"/\\|?*\s\x00-\x1f]+")


def split_name_reason(name: str) -> str | None:
    """Why `datasets` can't use a name for a split, or None if it can.

    Splits are letters, digits and _, in parts joined by dots; "all" means every split.
    """
    if not _SPLIT.fullmatch(name):
        return "a split is letters, digits and _, with dots between such parts"
    if name == "all":
        return "'all' stands for all splits together"
    return unsafe_id_reason(name)


def config_name_reason(name: str) -> str | None:
    """Why a name can't be a configuration (a folder on every system), or None if it can."""
    if not _CONFIG.fullmatch(name):
        return 'it is empty or has one of < > : " / \\ | ? *, a blank or a control character'
    return unsafe_id_reason(name)


def derived_configs(name: str) -> set[str]:
    """The configurations that a collection of this name can have, local pages apart."""
    return {name, *(f"{name}{end}" for end in _DERIVED if end != "-pages")}


def own_name_reason(name: str) -> str | None:
    """Why a collection of one's own can't have a name, or None if it can.

    Its query IDs begin with it, so it is a safe file name; it is none of the published names,
    and no name of a configuration that another collection could have.
    """
    reason = unsafe_id_reason(name)
    if reason:
        return reason
    if name.lower() in PUBLISHED:
        return f"published collections are called {', '.join(PUBLISHED)}"
    end = next((end for end in _DERIVED if name.lower().endswith(end)), None)
    return f"names that end in {end} are tables of a collection" if end else None
