"""A function for workers, in a module that loads nothing."""

from __future__ import annotations

import sys


def list_modules() -> list[str]:
    """What this process has loaded."""
    return sorted(sys.modules)
