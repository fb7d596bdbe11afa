"""OCR of one page with Tesseract: the program, or its library through tesserocr.

A page goes to the program as raw pixels on its standard input and comes back as TSV: no PNG
compression, no named files, and a time limit that ends the program together with whatever it
started. pytesseract finds the program and its version, once, in the process that starts a run: it
would load pandas in every worker, and neither ends what the program started nor spares the files
(cards/reconstruct.md has the numbers).
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from nclue_reconstruct import outcome
from nclue_reconstruct.limits import Worker
from nclue_reconstruct.outcome import DocumentError
from nclue_reconstruct.programs import ProgramResult, how_ended, run_program
from nclue_reconstruct.read.render import PageImage, pgm
from nclue_reconstruct.read.running import is_page_number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

from nclue_core.errors import MissingDependencyError, UsageError
from nclue_core.files import sha256_file
from nclue_core.pages import Block

PAGE_TIMEOUT_S = 120.0
# By this name Linux opens our nameless file again; Tesseract reads it faster than a stream.
_SOURCE = "/dev/stdin" if sys.platform == "linux" else "stdin"
INSTALL = "apt-get install -y tesseract-ocr (Debian, Ubuntu), brew install tesseract (macOS)"
LOW_CONFIDENCE = 60.0  # mean over the words of a page; below it the page may lie sideways
MIN_WORDS = 5
MIN_TURN_CONFIDENCE = 1.0  # of Tesseract's orientation detection
_INK_PER_MEGAPIXEL = 15.0  # a lone page number at 200 dpi has about 30
_CONTRAST = 60  # of 255, to the paper
_SAMPLE_STEP = 29  # no divisor of usual widths, so that the sample is no set of columns
_PLENTY = 20
_TITLE_HEIGHT = 1.45  # times the usual height of a line

_LANG = re.compile(r"[A-Za-z0-9_/-]+(?:\+[A-Za-z0-9_/-]+)*")
_LANG_FOLDER = re.compile(r'languages in "?([^"\n]+?)"? ?\(\d+\)')


@dataclass(frozen=True)
class Tesseract:
    """A Tesseract that is installed and has the languages asked for."""

    lang: str  # "eng", "eng+fra"
    program: str
    version: str  # "tesseract 5.3.0", or "tesserocr 2.8.0 (tesseract 5.5.0)"
    tessdata: str  # folder of the language files
    library: bool  # through tesserocr
    has_osd: bool  # the data of the orientation detection are there
    languages: tuple[str, ...] = ()  # all that are there


class Word(NamedTuple):
    """A word of a page; box in pixels."""

    line: tuple[int, int, int]  # block, paragraph, line
    box: tuple[int, int, int, int]  # x0, y0, x1, y1
    confidence: float  # 0..100
    text: str


class PageText(NamedTuple):
    """What was read on a page."""

    blocks: tuple[Block, ...]
    note: str | None


def find_tesseract(lang: str = "eng", *, library: bool | None = None) -> Tesseract:
    """Find Tesseract and check its languages, before any page is rendered.

    Args:
        lang: Languages as Tesseract names them, joined by ``+``.
        library: True demands tesserocr, False the program; by default tesserocr if installed.

    Raises:
        MissingDependencyError: No program, or no data for a language; names the command.
        UsageError: ``lang`` is no list of language names.
    """
    if not _LANG.fullmatch(lang):
        raise UsageError(f"lang: expected names like eng or eng+fra, found {lang!r}")
    program = _program()
    languages, tessdata = _languages(program)
    missing = [name for name in lang.split("+") if name not in languages]
    if missing:
        raise MissingDependencyError(_missing_language(missing[0], languages, tessdata))
    version = _tesserocr_version() if library is not False else None
    if library and version is None:
        raise MissingDependencyError("tesserocr is not installed: pip install tesserocr")
    return Tesseract(
        lang=lang,
        program=program,
        version=version or _program_version(),
        tessdata=tessdata,
        library=version is not None,
        has_osd="osd" in languages,
        languages=tuple(languages),
    )


def _program() -> str:
    from pytesseract import pytesseract

    named = str(pytesseract.tesseract_cmd)  # users may have told it where the program is
    found = shutil.which(named)
    if found is None:
        raise MissingDependencyError(
            f"OCR needs the program {named!r}, which is not installed. Install it with: {INSTALL}"
        )
    return found


def _languages(program: str) -> tuple[list[str], str]:
    """All names (pytesseract leaves out script/Latin and the like) and the folder of the data."""
    result = _ask(program, "--list-langs")
    text = (result.stdout + result.stderr).decode("utf-8", "replace")
    folder = _LANG_FOLDER.search(text)
    names = [line.strip() for line in text.splitlines() if _LANG.fullmatch(line.strip())]
    return names, folder.group(1) if folder else os.environ.get("TESSDATA_PREFIX", "")


def _missing_language(name: str, languages: Sequence[str], tessdata: str) -> str:
    have = ", ".join(languages) or "none"
    hint = ""
    if os.environ.get("TESSDATA_PREFIX"):
        hint = f" TESSDATA_PREFIX is set to {os.environ['TESSDATA_PREFIX']!r}: is it right?"
    return (
        f"Tesseract has no data for the language {name!r} (it has: {have}; folder: "
        f"{tessdata or 'unknown'}).{hint} Install it with: apt-get install -y "
        f"tesseract-ocr-{name.replace('_', '-').lower()} (Debian, Ubuntu), "
        "brew install tesseract-lang (macOS)"
    )


def _program_version() -> str:
    import pytesseract

    try:
        return f"tesseract {pytesseract.get_tesseract_version()}"
    except (SystemExit, OSError, ValueError, subprocess.SubprocessError):
        return "tesseract (unknown version)"


def data_version(tesseract: Tesseract) -> str:
    """A hash over the data of the languages: there are several qualities of one name."""
    names = [*tesseract.lang.split("+"), *(["osd"] if tesseract.has_osd else [])]
    return _data_version(tesseract.tessdata, tuple(names))


@lru_cache(maxsize=8)
def _data_version(folder: str, names: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    for name in names:
        path = Path(folder) / f"{name}.traineddata"
        digest.update(f"{name} {sha256_file(path) if path.is_file() else 'unknown'}".encode())
    return digest.hexdigest()[:12]


def _ask(program: str, question: str) -> ProgramResult:
    try:
        return run_program([program, question], timeout_s=20, env=_environment())
    except (TimeoutError, OSError) as err:
        raise MissingDependencyError(
            f"{program} {question}: {err}; this Tesseract does not work. Install it with: {INSTALL}"
        ) from None


def _tesserocr_version() -> str | None:
    try:
        import tesserocr
    except ImportError:
        return None
    first = str(tesserocr.tesseract_version()).partition("\n")[0]
    return f"tesserocr {tesserocr.__version__} ({first})"


def _environment() -> dict[str, str]:
    """One OpenMP thread a worker: four make each page slower and several workers crawl."""
    return {"OMP_THREAD_LIMIT": "1", **os.environ}


def read_page(
    image: PageImage, tesseract: Tesseract, timeout_s: float = PAGE_TIMEOUT_S
) -> PageText:
    """Read one page.

    Blank pages are recognised by their pixels. Where little or nothing can be read, Tesseract's
    orientation detection is asked, and a page that lies sideways or upside down is turned and
    read again; boxes refer to the page as displayed all the same.

    Args:
        image: Gray pixels.
        tesseract: From `find_tesseract`.
        timeout_s: Wall clock limit for the page, all attempts together.

    Raises:
        DocumentError: The state is timeout (the program was ended), or engine_failed.
    """
    if is_blank(image):
        return PageText((), _join_notes(image.note, "blank page"))
    deadline = time.monotonic() + timeout_s
    words = _recognise(image, tesseract, deadline, timeout_s)
    turn = 0
    if tesseract.has_osd and not _is_good(words):
        turn = _orientation(image, tesseract, deadline, timeout_s)
    if turn:
        turned = _recognise(_turn(image, turn), tesseract, deadline, timeout_s)
        words, turn = (turned, turn) if _is_better(turned, words) else (words, 0)
    width, height = (image.height, image.width) if turn in (90, 270) else image[1:3]
    blocks = tuple(_blocks(words, width, height, turn))
    return PageText(
        blocks, _join_notes(image.note, _turn_note(turn, words), _confidence_note(words))
    )


def is_blank(image: PageImage) -> bool:
    """Whether a gray page has no ink: fewer dark pixels than a lone page number."""
    import numpy as np

    pixels = np.frombuffer(image.samples, np.uint8)
    # Most pages have so much ink that a sample shows it, in a twentieth of the time.
    sample = pixels[::_SAMPLE_STEP]
    if _ink_per_megapixel(sample) > _PLENTY * _INK_PER_MEGAPIXEL:
        return False
    return _ink_per_megapixel(pixels) < _INK_PER_MEGAPIXEL


def _ink_per_megapixel(pixels: NDArray[np.uint8]) -> float:
    """Pixels that stand out from the paper, in either direction: white on black is ink too."""
    import numpy as np

    counts = np.bincount(pixels, minlength=256)
    paper = int(np.searchsorted(np.cumsum(counts), pixels.size / 2))  # the median
    ink = counts[: max(paper - _CONTRAST, 0)].sum() + counts[paper + _CONTRAST :].sum()
    return float(ink) * 1e6 / pixels.size


def _recognise(
    image: PageImage, tesseract: Tesseract, deadline: float, limit_s: float
) -> list[Word]:
    if tesseract.library:
        return list(parse_tsv(_run_library(image, tesseract, deadline, limit_s)))
    options = ["-l", tesseract.lang, "--psm", "3", "tsv"]
    result = _run(image, tesseract, options, deadline, limit_s)
    if result.returncode != 0:
        raise DocumentError(
            outcome.ENGINE_FAILED,
            f"tesseract: {how_ended(result.returncode)}: {result.last_words}",
        )
    return list(parse_tsv(result.stdout.decode("utf-8", "replace")))


def _run(
    image: PageImage, tesseract: Tesseract, options: list[str], deadline: float, limit_s: float
) -> ProgramResult:
    arguments = [tesseract.program, _SOURCE, "stdout", "--dpi", str(image.dpi), *options]
    try:
        return run_program(
            arguments,
            stdin=pgm(image),
            timeout_s=max(deadline - time.monotonic(), 0.1),
            env=_environment(),
        )
    except TimeoutError:
        raise _timeout(limit_s) from None


def _timeout(limit_s: float) -> DocumentError:
    return DocumentError(outcome.TIMEOUT, f"not read within {limit_s:g} s")


def _run_library(image: PageImage, tesseract: Tesseract, deadline: float, limit_s: float) -> str:
    try:
        return str(
            _library_worker().run(
                tesserocr_tsv,
                image.samples,
                (image.width, image.height, image.dpi),
                tesseract.lang,
                tesseract.tessdata,
                timeout_s=max(deadline - time.monotonic(), 0.1),
            )
        )
    except DocumentError as err:
        if err.state == outcome.TIMEOUT:
            raise _timeout(limit_s) from None
        raise
    except RuntimeError as err:
        raise DocumentError(outcome.ENGINE_FAILED, f"tesserocr: {err}") from None


@lru_cache(maxsize=1)
def _library_worker() -> Worker:
    """The library runs in a process of its own: only that can be ended in mid-page."""
    limit = os.environ.get("OMP_THREAD_LIMIT", "1")
    worker = Worker(memory_mb=None, env={"OMP_THREAD_LIMIT": limit}, quiet=True)
    atexit.register(worker.close)
    return worker


def tesserocr_tsv(samples: bytes, size: tuple[int, int, int], lang: str, tessdata: str) -> str:
    """Read gray pixels with the library (runs in a worker).

    Args:
        samples: Pixels, rows from the top.
        size: Width, height (pixels) and dpi.
        lang: Languages.
        tessdata: Folder of their data.
    """
    width, height, dpi = size
    api = _library(lang, tessdata)
    api.SetImageBytes(samples, width, height, 1, width)
    api.SetSourceResolution(dpi)
    try:
        return str(api.GetTSVText(0))
    finally:
        api.Clear()


@lru_cache(maxsize=2)
def _library(lang: str, tessdata: str) -> Any:
    import tesserocr

    return tesserocr.PyTessBaseAPI(path=tessdata, lang=lang, psm=tesserocr.PSM.AUTO)


def parse_tsv(text: str) -> Iterator[Word]:
    """The words of Tesseract's TSV output (with or without its header)."""
    for row in text.splitlines():
        cells = row.split("\t", 11)
        if len(cells) < 12 or cells[0] != "5" or not cells[11].strip():
            continue
        left, top, width, height = (int(cell) for cell in cells[6:10])
        line = (int(cells[2]), int(cells[3]), int(cells[4]))
        box = (left, top, left + width, top + height)
        yield Word(line, box, float(cells[10]), cells[11].strip())


def _score(words: Sequence[Word]) -> float:
    return sum(word.confidence * len(word.text) for word in words if word.confidence > 50)


def _mean_confidence(words: Sequence[Word]) -> float:
    return sum(word.confidence for word in words) / len(words) if words else 0.0


def _is_good(words: Sequence[Word]) -> bool:
    sure = len(words) >= MIN_WORDS and _mean_confidence(words) >= LOW_CONFIDENCE
    return sure and not _is_sideways(words)


def _is_sideways(words: Sequence[Word]) -> bool:
    """Most words are taller than wide: Tesseract reads some sideways text without being told."""
    long = [word for word in words if len(word.text) >= 3]
    tall = sum(word.box[3] - word.box[1] > word.box[2] - word.box[0] for word in long)
    return 2 * tall > len(long)


def _is_better(turned: Sequence[Word], words: Sequence[Word]) -> bool:
    if _is_sideways(words) and not _is_sideways(turned):
        return _score(turned) >= 0.9 * _score(words)
    return _score(turned) > _score(words)


def _orientation(image: PageImage, tesseract: Tesseract, deadline: float, limit_s: float) -> int:
    """Degrees by which the page must be turned clockwise to stand upright."""
    result = _run(image, tesseract, ["-l", "osd", "--psm", "0"], deadline, limit_s)
    return parse_orientation(result.stdout.decode("utf-8", "replace"))


def parse_orientation(text: str) -> int:
    """The turn that Tesseract's orientation detection asks for: 0, 90, 180 or 270 (clockwise).

    0 too where it is unsure, or the page has too few characters for it.
    """
    values = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    try:
        turn = int(values["Rotate"]) % 360
        confidence = float(values["Orientation confidence"])
    except (KeyError, ValueError):
        return 0
    return turn if confidence >= MIN_TURN_CONFIDENCE and turn in (90, 180, 270) else 0


def _turn(image: PageImage, degrees: int) -> PageImage:
    import numpy as np

    pixels = np.frombuffer(image.samples, np.uint8).reshape(image.height, image.width)
    turned = np.rot90(pixels, k=-degrees // 90)
    height, width = turned.shape
    samples = np.ascontiguousarray(turned).tobytes()
    return image._replace(width=width, height=height, samples=samples)


def turn_back(
    box: tuple[float, float, float, float], degrees: int
) -> tuple[float, float, float, float]:
    """A box on the turned page (fractions), as it stands on the page as displayed."""
    x0, y0, x1, y1 = box
    if degrees == 90:
        x0, y0, x1, y1 = y0, 1 - x1, y1, 1 - x0
    elif degrees == 180:
        x0, y0, x1, y1 = 1 - x1, 1 - y1, 1 - x0, 1 - y0
    elif degrees == 270:
        x0, y0, x1, y1 = 1 - y1, x0, 1 - y0, x1
    return round(x0, 4), round(y0, 4), round(x1, 4), round(y1, 4)


def _blocks(words: Sequence[Word], width: int, height: int, turn: int) -> Iterator[Block]:
    """One block a paragraph, in Tesseract's order."""
    paragraphs: dict[tuple[int, int], dict[int, list[Word]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for word in words:
        block, paragraph, line = word.line
        paragraphs[block, paragraph][line].append(word)
    heights = [_line_height(line) for lines in paragraphs.values() for line in lines.values()]
    usual = median(heights) if heights else 1.0
    for lines in paragraphs.values():
        text = "\n".join(" ".join(word.text for word in line) for line in lines.values())
        box = _box([word for line in lines.values() for word in line], width, height)
        tall = median(_line_height(line) for line in lines.values()) / usual
        kind, level = _kind(text, len(lines), tall, box)
        yield Block(kind, text, turn_back(box, turn), level)


def _line_height(words: Sequence[Word]) -> float:
    return median(word.box[3] - word.box[1] for word in words)


def _box(words: Sequence[Word], width: int, height: int) -> tuple[float, float, float, float]:
    return (
        min(word.box[0] for word in words) / width,
        min(word.box[1] for word in words) / height,
        max(word.box[2] for word in words) / width,
        max(word.box[3] for word in words) / height,
    )


def _kind(
    text: str, n_lines: int, tall: float, box: tuple[float, float, float, float]
) -> tuple[str, int | None]:
    """Type and level of a paragraph: pixels tell large letters and capitals, but not weight."""
    at_edge = box[3] <= 0.1 or box[1] >= 0.9
    if at_edge and n_lines == 1 and is_page_number(text):
        return "page_number", None
    letters = sum(c.isalpha() for c in text)
    short = n_lines <= 3 and letters >= 4 and 2 * letters >= len(text) and len(text) <= 200
    if short and tall >= _TITLE_HEIGHT:
        return "title", 1 if tall >= 2 else 2
    if short and n_lines <= 2 and text.isupper() and letters >= 6 and tall >= 0.8:
        return "title", 3
    return "text", None


def _turn_note(turn: int, words: Sequence[Word]) -> str | None:
    if turn:
        return f"content lies on its side: turned {turn} degrees clockwise for OCR"
    return "content lies on its side" if _is_sideways(words) else None


def _confidence_note(words: Sequence[Word]) -> str | None:
    mean = _mean_confidence(words)
    return f"low OCR confidence ({mean:.0f} of 100)" if words and mean < LOW_CONFIDENCE else None


def _join_notes(*notes: str | None) -> str | None:
    return "; ".join(note for note in notes if note) or None
