"""Run MinerU as a program and believe nothing but its output.

MinerU 2.x and 3.x are driven as ``mineru -p … -o … -b pipeline``, 4.x as ``mineru-kit parse … -f
zip --tier …`` (there ``mineru`` is another program). What users met in long runs decides how:

* one window of pages a call, cut out of the document beforehand under a short ASCII name: folder
  runs end at the first bad file, long books end in the memory killer, long names and equal stems
  overwrite each other, and a wrong page count in the file misleads its reader;
* a fresh, empty folder for every call, and a process group and a clock of our own;
* success means that a result exists, can be read and has as many pages as the window, whatever
  the exit code (2.x ends with 0 after failures);
* a window that fails is tried again in halves, with gentler settings, down to single pages, so
  that one bad page costs one page; the number of calls is bounded;
* models are checked before work and not looked for on the network while working.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import time
import zipfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

from nclue_core.errors import InputError, MissingDependencyError, UsageError
from nclue_core.pages import PageRecord
from nclue_reconstruct import outcome
from nclue_reconstruct.outcome import DocumentError, PageFailure
from nclue_reconstruct.programs import ProgramResult, how_ended, run_program
from nclue_reconstruct.read.mineru_adapter import (
    MinerUOutput,
    find_output,
    parse_output,
    read_output,
)
from nclue_reconstruct.read.pdf_open import load_page, one_line, open_pdf, quiet_pymupdf

WINDOW_PAGES = 100
START_TIMEOUT_S = 300.0  # for its start and its models
PAGE_TIMEOUT_S = 60.0
DEFAULT_TIER = "basic"  # layout, OCR and tables; "standard" adds a language model of 1.2B
TIERS = ("flash", "basic", "standard", "advanced")
MAX_EXTRA_CALLS = 24  # beyond one per window: enough to isolate three bad pages out of 100
MAX_RESULT_BYTES = 512 * 2**20
PROGRAMS_VARIABLE = "NCLUE_MINERU"  # the folder of MinerU's programs, if they are not on PATH
INSTALL = (
    'pip install "nclue[mineru]" (about 2 GB), or set NCLUE_MINERU to the folder of its programs'
)

_VERSION = re.compile(r"version:?\s+v?(\d+(?:\.\d+)+\w*)", re.IGNORECASE)
_TASK_ERROR = re.compile(r'"error": ?"([^"]{1,300})"')  # 3.x reports the state of its task
_STEM = "document"
# What no other page, and no other try, can change.
_HOPELESS = (
    "model repo", "is not ready", "no module named", "connection failed", "no such option",
    "name or service not known", "max retries exceeded",
)  # fmt: skip
_GENTLE = {
    "MINERU_PDF_RENDER_THREADS": "1",
    "MINERU_API_MAX_CONCURRENT_REQUESTS": "1",
    "MINERU_PROCESSING_WINDOW_SIZE": "16",
}
_LANGUAGES = {
    "eng": "en", "chi_sim": "ch", "chi_tra": "chinese_cht", "jpn": "japan", "kor": "korean",
    "tam": "ta", "tel": "te", "kan": "ka", "tha": "th", "ell": "el", "ara": "arabic",
    "fra": "latin", "deu": "latin", "spa": "latin", "por": "latin", "ita": "latin",
    "rus": "east_slavic", "ukr": "east_slavic", "bel": "east_slavic", "bul": "cyrillic",
    "hin": "devanagari",
}  # fmt: skip


@dataclass(frozen=True)
class MinerU:
    """A MinerU that is installed."""

    program: str  # mineru (2.x, 3.x) or mineru-kit (4.x)
    version: str

    @property
    def is_kit(self) -> bool:
        """Version 4 or later, driven through ``mineru-kit``."""
        return int(self.version.partition(".")[0]) >= 4

    @property
    def name(self) -> str:
        """As it stands in records."""
        return f"mineru {self.version}"


@dataclass(frozen=True)
class MinerUSettings:
    """How it shall work."""

    lang: str = "eng"
    tier: str = DEFAULT_TIER  # of 4.x
    page_timeout_s: float = PAGE_TIMEOUT_S
    start_timeout_s: float = START_TIMEOUT_S
    window_pages: int = WINDOW_PAGES


class _CallError(Exception):
    """One call gave no usable result."""

    def __init__(self, state: str, reason: str) -> None:
        self.state = state
        self.reason = reason
        super().__init__(reason)

    @property
    def is_hopeless(self) -> bool:
        return any(word in self.reason.lower() for word in _HOPELESS)


def find_mineru() -> MinerU:
    """Find MinerU and its version.

    Raises:
        MissingDependencyError: It is not installed, does not start, or is older than 2.0.
    """
    return _find_mineru(os.environ.get("PATH", ""), os.environ.get(PROGRAMS_VARIABLE, ""))


@lru_cache(maxsize=4)
def _find_mineru(path: str, own_folder: str) -> MinerU:
    """Asked once a process: each answer takes MinerU seconds."""
    kit = _which("mineru-kit", path, own_folder)
    if kit:
        return MinerU(kit, _ask_version(kit))
    program = _which("mineru", path, own_folder)
    if program is None:
        old = _which("magic-pdf", path, own_folder)
        found = "only magic-pdf, its predecessor, is installed" if old else "it is not installed"
        raise MissingDependencyError(f"MinerU: {found}. Install it with: {INSTALL}")
    mineru = MinerU(program, _ask_version(program))
    if mineru.is_kit:
        raise MissingDependencyError(
            f"MinerU {mineru.version} is installed without mineru-kit. Install it with: {INSTALL}"
        )
    return mineru


def _which(name: str, path: str, own_folder: str) -> str | None:
    if own_folder:
        return shutil.which(name, path=own_folder)
    beside = str(Path(sys.executable).parent)  # of a virtual environment that is not activated
    return shutil.which(name, path=os.pathsep.join([path, beside]))


def _ask_version(program: str) -> str:
    try:
        result = run_program(
            [program, "--version"], timeout_s=120, env=_environment({}), unlimited_memory=True
        )
    except (TimeoutError, OSError) as err:
        raise MissingDependencyError(f"MinerU: {program} --version: {err}") from None
    found = _VERSION.search((result.stdout + result.stderr).decode("utf-8", "replace"))
    if not found:
        raise MissingDependencyError(
            f"MinerU: {program} --version says no version: {result.last_words!r}"
        )
    return found.group(1)


def check_models(mineru: MinerU, settings: MinerUSettings) -> None:
    """Check that the models are on this machine, without any download.

    Raises:
        MissingDependencyError: They are not; names the command that fetches them.
        UsageError: An unknown tier.
    """
    if settings.tier not in TIERS:
        raise UsageError(f"no tier {settings.tier!r}; MinerU 4 has: {', '.join(TIERS)}")
    if not mineru.is_kit:
        _check_classic_models(mineru)
    elif settings.tier != "flash":  # flash reads text layers and needs none
        _check_kit_models(mineru, settings.tier)


def _check_kit_models(mineru: MinerU, tier: str) -> None:
    known = "basic" if tier == "basic" else "standard"
    command = [mineru.program, "models", "verify", "--tier", known]
    try:
        result = run_program(command, timeout_s=120, env=_environment({}), unlimited_memory=True)
    except TimeoutError as err:
        raise MissingDependencyError(f"MinerU: {' '.join(command)}: {err}") from None
    if result.returncode != 0:
        raise MissingDependencyError(
            f"{mineru.name}: the models of tier {tier} are not on this machine. "
            f"Download them with: mineru-kit models download --tier {known}"
        )


def _check_classic_models(mineru: MinerU) -> None:
    if not _classic_source():
        raise MissingDependencyError(
            f"{mineru.name}: the models of its pipeline are not on this machine. "
            "Download them with: mineru-models-download -s huggingface -m pipeline"
        )


def _classic_source() -> dict[str, str]:
    """Where MinerU 2.x or 3.x has its models, as its settings; empty if nowhere.

    Its source "local" knows only the folder named in its configuration. Models in the cache of a
    hub need the name of that hub.
    """
    home = Path.home()
    config = Path(os.environ.get("MINERU_TOOLS_CONFIG_JSON") or home / "mineru.json")
    try:
        folder = json.loads(config.read_text(encoding="utf-8"))["models-dir"]["pipeline"]
        if folder and _has_files(Path(folder)):
            return {"MINERU_MODEL_SOURCE": "local"}
    except (OSError, ValueError, KeyError, TypeError):
        pass  # there is no such setting
    hub = Path(os.environ.get("HF_HOME") or home / ".cache" / "huggingface") / "hub"
    if _has_files(hub / "models--opendatalab--PDF-Extract-Kit-1.0" / "snapshots"):
        return {"MINERU_MODEL_SOURCE": "huggingface", "HF_HUB_OFFLINE": "1"}
    scope = Path(os.environ.get("MODELSCOPE_CACHE") or home / ".cache" / "modelscope" / "hub")
    if any(_has_files(folder) for folder in scope.glob("**/OpenDataLab/PDF-Extract-Kit-1*")):
        return {"MINERU_MODEL_SOURCE": "modelscope"}
    return {}


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(path.is_file() for path in folder.rglob("*"))


def read_pages(
    mineru: MinerU, settings: MinerUSettings, pdf: Path, pages: Sequence[int]
) -> Iterator[PageRecord | PageFailure]:
    """Read pages of a PDF.

    Args:
        mineru: From `find_mineru`.
        settings: Tier, language, limits.
        pdf: The file; it is opened here first, so that MinerU never sees a broken one.
        pages: 1-based, in the order in which they are to be read.

    Yields:
        A record (without ``doc_id`` and ``sha256``) or a failure for each page.

    Raises:
        DocumentError: The file cannot be opened.
        MissingDependencyError: MinerU lacks something that every page needs.
    """
    with tempfile.TemporaryDirectory(prefix="nclue-mineru-") as work, open_pdf(pdf) as document:
        readable, failures = _readable(document, pages)
        yield from failures
        size = settings.window_pages
        windows = [readable[i : i + size] for i in range(0, len(readable), size)]
        run = _Run(mineru, settings, document, Path(work), all_readable=not failures)
        yield from run.read(windows)


def _readable(document: Any, pages: Sequence[int]) -> tuple[list[int], list[PageFailure]]:
    readable, failures = [], []
    for page in pages:
        try:
            load_page(document, page)
        except DocumentError as err:
            failures.append(PageFailure(page, err.state, err.reason))
        else:
            readable.append(page)
    return readable, failures


class _Task(NamedTuple):
    """A window of pages to read, and what became of it so far."""

    pages: Sequence[int]
    tries: int = 0
    failure: PageFailure | None = None  # of the try before, for its state and reason


class _Run:
    """The calls for one document: windows that fail are halved, within a budget of calls."""

    def __init__(
        self,
        mineru: MinerU,
        settings: MinerUSettings,
        document: Any,
        work: Path,
        *,
        all_readable: bool,
    ) -> None:
        self._all_readable = all_readable
        self._source = {} if mineru.is_kit else _classic_source()
        self._mineru = mineru
        self._settings = settings
        self._document = document
        self._work = work
        self._calls = 0

    def read(self, windows: Sequence[Sequence[int]]) -> Iterator[PageRecord | PageFailure]:
        waiting = deque(_Task(window) for window in windows if window)
        budget = MAX_EXTRA_CALLS
        while waiting:
            task = waiting.popleft()
            if task.failure and budget == 0:
                yield from (task.failure._replace(page=page) for page in task.pages)
                continue
            budget -= task.failure is not None
            try:
                yield from self._call(task.pages, gentle=task.tries > 0)
            except _CallError as err:
                if err.is_hopeless:
                    raise MissingDependencyError(f"{self._mineru.name}: {err.reason}") from None
                failure = PageFailure(0, err.state, err.reason)
                parts = _retries(task, err.state)
                if not parts:
                    yield from (failure._replace(page=page) for page in task.pages)
                tasks = [_Task(part, task.tries + 1, failure) for part in parts]
                waiting.extendleft(reversed(tasks))

    def _call(self, window: Sequence[int], *, gentle: bool) -> list[PageRecord]:
        self._calls += 1
        folder = self._work / str(self._calls)
        (folder / "out").mkdir(parents=True)
        try:
            source = self._cut(window, folder / f"{_STEM}.pdf")
            result = self._run_program(source, folder / "out", len(window), gentle)
            output = _judge(self._mineru, result, folder / "out")
            records = _records(output, self._mineru, window)
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # a long book would fill the disk
        return records

    def _run_program(self, source: Path, out: Path, n_pages: int, gentle: bool) -> ProgramResult:
        limit = self._settings.start_timeout_s + n_pages * self._settings.page_timeout_s
        limits = {"MINERU_TASK_RESULT_TIMEOUT_SECONDS": str(int(limit) + 60)}
        began = time.monotonic()
        try:
            return run_program(
                command(self._mineru, self._settings, source, out),
                timeout_s=limit,
                env=_environment({**limits, **(_GENTLE if gentle else {})}, self._source),
                cwd=source.parent,
                unlimited_memory=True,
            )
        except TimeoutError:
            took = time.monotonic() - began
            raise _CallError(
                outcome.TIMEOUT, f"MinerU was stopped after {took:.0f} s without a result"
            ) from None

    def _cut(self, window: Sequence[int], path: Path) -> Path:
        """Write the pages of a window as a PDF: decrypted, repaired, numbered from 1."""
        part = quiet_pymupdf().open()
        options: dict[str, Any] = {"links": False}
        if not self._all_readable and "widgets" in signature(part.insert_pdf).parameters:
            options["widgets"] = False  # for form fields PyMuPDF looks at every page there is
        try:
            for first, last in _runs(window):
                part.insert_pdf(self._document, from_page=first - 1, to_page=last - 1, **options)
            for page in part:
                if page.rotation:
                    page.remove_rotation()  # MinerU 4.0 garbles the text of pages with /Rotate
            part.save(path, garbage=1)
        except Exception as err:  # MuPDF's errors have no common base in all versions
            reason = f"the pages cannot be cut out of the document: {one_line(err)}"
            raise _CallError(outcome.BROKEN, reason) from None
        finally:
            part.close()
        return path


def _retries(task: _Task, state: str) -> list[Sequence[int]]:
    """What to try after a failure: halves; for what hung, once; a single page once more."""
    if state == outcome.TIMEOUT and task.tries >= 1:
        return []
    if len(task.pages) > 1:
        middle = len(task.pages) // 2
        return [task.pages[:middle], task.pages[middle:]]
    return [task.pages] if task.tries == 0 else []


def command(mineru: MinerU, settings: MinerUSettings, source: Path, out: Path) -> list[str]:
    """The command line that reads one PDF into an empty folder."""
    if not mineru.is_kit:
        line = [mineru.program, "-p", str(source), "-o", str(out), "-b", "pipeline", "-m", "auto"]
        language = _LANGUAGES.get(settings.lang.partition("+")[0])
        return [*line, "-l", language] if language else line
    # Without models, flash can only read text layers; "auto" would want models on a scan.
    mode = "txt" if settings.tier == "flash" else "auto"
    return [
        mineru.program, "parse", str(source), "-o", str(out), "-f", "zip",
        "--tier", settings.tier, "--ocr-mode", mode,
    ]  # fmt: skip


def _environment(
    extra: Mapping[str, str], source: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Messages in English on long lines; models from this machine unless the user says else."""
    settings = {"MINERU_MODEL_SOURCE": "local", **(source or {})}
    if "MINERU_MODEL_SOURCE" in os.environ:
        settings = {}
    return {**settings, **os.environ, "MINERU_LANG": "en", "COLUMNS": "400", **extra}


def _runs(pages: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for page in pages:
        if runs and page == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], page)
        else:
            runs.append((page, page))
    return runs


def _judge(mineru: MinerU, result: ProgramResult, out: Path) -> MinerUOutput:
    """The result of a call, if there is one; else why not."""
    try:
        output = _kit_output(out) if mineru.is_kit else _classic_output(out)
    except InputError as err:
        raise _CallError(
            outcome.ENGINE_FAILED, f"its result cannot be read: {err.message}"
        ) from None
    if output is None:
        raise _CallError(_failed_state(result.returncode), _why(result))
    return output


def _failed_state(code: int) -> str:
    if code in (-9, 137):
        return outcome.OUT_OF_MEMORY
    return outcome.CRASHED if code < 0 or code > 128 else outcome.ENGINE_FAILED


def _why(result: ProgramResult) -> str:
    task = _TASK_ERROR.search(result.stderr.decode("utf-8", "replace"))
    said = task.group(1) if task else result.last_words
    said = said.replace(tempfile.gettempdir(), "").strip()
    told = f": {said}" if said else ""
    if result.returncode == 0:
        return f"it ended as if all were well, but left no result{told}"
    return f"{how_ended(result.returncode)}{told}"


def _classic_output(out: Path) -> MinerUOutput | None:
    path = find_output(out)
    return None if path is None else read_output(path)


def _kit_output(out: Path) -> MinerUOutput | None:
    """Read the result inside of its ZIP file; nothing is unpacked to disk."""
    archives = sorted(out.rglob("*.zip"))
    if not archives:
        return None
    try:
        with zipfile.ZipFile(archives[0]) as archive:
            names = archive.namelist()
            wanted = ("middle_json.json", "structured_content.json")
            member = next((name for name in wanted if name in names), None)
            if member is None:
                raise InputError(f"the ZIP has no middle_json.json, but: {', '.join(names[:5])}")
            if archive.getinfo(member).file_size > MAX_RESULT_BYTES:
                raise InputError(f"{member} is larger than {MAX_RESULT_BYTES:,} bytes")
            return parse_output(json.loads(archive.read(member)))
    except (zipfile.BadZipFile, ValueError, RecursionError) as err:
        raise InputError(f"the ZIP is damaged: {err}") from None


def _records(output: MinerUOutput, mineru: MinerU, window: Sequence[int]) -> list[PageRecord]:
    """Records with the page numbers of the document; a page lost or made up fails the call."""
    if output.n_pages is not None and output.n_pages != len(window):
        raise _CallError(
            outcome.ENGINE_FAILED,
            f"it returned {output.n_pages} pages of {len(window)}: their numbers are unreliable",
        )
    try:
        records = list(output.records("", "", n_pages=len(window), version=mineru.version))
    except InputError as err:
        raise _CallError(outcome.ENGINE_FAILED, err.message) from None
    return [replace(record, page=page) for record, page in zip(records, window)]
