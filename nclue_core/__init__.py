"""Plain data shared by all parts of the kit: records, errors, files, page texts.

Nothing here imports another part, and importing it loads only the standard library.
"""

from nclue_core._version import __version__
from nclue_core.errors import (
    ExitCode,
    InputError,
    MissingDependencyError,
    NClueError,
    NetworkError,
    UsageError,
)

__all__ = [
    "ExitCode",
    "InputError",
    "MissingDependencyError",
    "NClueError",
    "NetworkError",
    "UsageError",
    "__version__",
]
