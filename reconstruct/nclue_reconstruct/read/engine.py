"""What an OCR engine is: one file ``engine_NAME.py`` beside this one, and nothing elsewhere.

An engine is a small frozen record whose fields are its options (it travels to worker processes);
its class says what else must be known: name, time limits, windows, what it needs. The command
line, its help, `nclue doctor` and the time limits come from there (`engines.known`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

from nclue_core.errors import UsageError
from nclue_core.pages import PageRecord
from nclue_reconstruct.limits import document_timeout_s
from nclue_reconstruct.outcome import PageFailure

PageResult = PageRecord | PageFailure


def option(default: Any, explained: str, choices: Sequence[str] = ()) -> Any:
    """A field of an engine that users may set.

    Args:
        default: Also says the type: str, int or float (which must be above 0).
        explained: For the help.
        choices: If only these are allowed.
    """
    return field(default=default, metadata={"explained": explained, "choices": tuple(choices)})


@dataclass(frozen=True)
class Engine(ABC):
    """Reads page texts from PDFs."""

    name: ClassVar[str]
    title: ClassVar[str]  # as people write it
    needs: ClassVar[str]  # what must be installed, in a few words
    reading: ClassVar[str] = "1"  # of our own code: raise it when the same pages give other texts
    window_pages: ClassVar[int | None] = None  # pages per call at most; None: documents as a whole
    least_window_pages: ClassVar[int] = 1  # below it, beginning a call costs more than it gives
    seconds_per_page: ClassVar[float]  # that a page may take, on average of a call
    start_s: ClassVar[float] = 300.0  # beyond that, for a call
    from_pixels: ClassVar[bool] = True  # reads scans too, so that it can fill in for others

    def __post_init__(self) -> None:
        """Refuse options that nobody means.

        Raises:
            UsageError: A value that is not among the choices, or no positive number of seconds.
        """
        for one in options_of(type(self)):
            value, choices = getattr(self, one.name), one.metadata["choices"]
            if choices and value not in choices:
                known = ", ".join(choices)
                raise UsageError(f"no {one.name} {value!r}; {self.title} has: {known}")
            if isinstance(one.default, float) and not 0 < value < float("inf"):
                raise UsageError(f"{one.name} must be a number above 0, found {value!r}")

    @abstractmethod
    def version(self) -> str:
        """What stands in the records: program or library, and its version."""

    @abstractmethod
    def check_ready(self) -> None:
        """Check programs, languages and models before any work.

        Raises:
            MissingDependencyError: Something is missing; the message names the command.
        """

    @abstractmethod
    def read(
        self, pdf: Path, doc_id: str, sha256: str, pages: Sequence[int]
    ) -> Iterator[PageResult]:
        """Read the given 1-based pages of one document.

        Raises:
            DocumentError: The document as a whole cannot be read.
        """

    def details(self) -> str:
        """What `nclue doctor` tells of an engine that is ready."""
        return self.needs

    def prepared(self) -> Engine:
        """The engine for workers, with what was found out here: they need not look again."""
        return self

    def settings(self) -> dict[str, Any]:
        """All that shapes the texts, as JSON: pages made under other settings are not these."""
        return {"engine": self.name, "version": self.version(), "reading": self.reading}

    def limit_s(self, pages: int | None) -> float:
        """The time limit of a call for so many pages (None: unknown)."""
        per_page = max(self.seconds_per_page, getattr(self, "page_timeout_s", 0.0))
        return document_timeout_s(pages, per_page, base_s=self.start_s)


def options_of(engine: type[Engine]) -> list[Field[Any]]:
    """The fields of an engine that users may set (those made by `option`)."""
    found = [one for one in fields(engine) if "explained" in one.metadata]
    assert all(one.default is not MISSING for one in found)  # noqa: S101 - `option` sees to it
    return found
