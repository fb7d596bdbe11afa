"""Page boxes that no page can have: empty, outside of the page, of absurd size, no numbers.

Viewers differ here: Poppler shows such a page, MuPDF an empty one. The faulty entries are put
right in the open document (never in the file), so that texts and images see the same page: an
impossible CropBox is left out, an impossible MediaBox becomes the CropBox or US Letter.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

MIN_SIDE = 3.0  # points: the smallest page that PDF readers had to support
MAX_SIDE = 144_000.0  # points, ten times the largest; more is damage
MAX_PARENTS = 60  # of a page, in the tree of pages
LETTER = (0.0, 0.0, 612.0, 792.0)

_REFERENCE = re.compile(r"(\d+) \d+ R")
_ARRAY = re.compile(r"\[\s*([^\[\]]*?)\s*\]")

Rect = tuple[float, float, float, float]


class Entries(NamedTuple):
    """What a page says of its own size, own or inherited; None where it says nothing."""

    media: str | None
    crop: str | None
    rotate: str | None
    unit: str | None


class Mending(NamedTuple):
    """Entries to set in a page, and what a reader must know of it."""

    entries: dict[str, str]
    notes: list[str]


def mend_boxes(document: Any, page: Any) -> bool:
    """Put impossible boxes of a loaded page right; whether any were (then it must be reloaded)."""
    mending = plan_boxes(read_entries(document, page.xref))
    if not mending.notes:
        return False
    for key, value in mending.entries.items():
        document.xref_set_key(page.xref, key, value)
    _notes(document)[page.xref] = "; ".join(mending.notes)
    return True


def box_note(document: Any, page: int) -> str | None:
    """What `mend_boxes` found on a page (1-based)."""
    notes = _notes(document)
    return notes.get(document.page_xref(page - 1)) if notes else None


def _notes(document: Any) -> dict[int, str]:
    """Kept with the document: a page that was mended looks sound when it is loaded again."""
    notes: dict[int, str] = vars(document).setdefault("nclue_box_notes", {})
    return notes


def read_entries(document: Any, xref: int) -> Entries:
    """The entries of a page object, inherited ones too."""
    media, crop, rotate = (_inherited(document, xref, k) for k in ("MediaBox", "CropBox", "Rotate"))
    return Entries(media, crop, rotate, _value(document, xref, "UserUnit"))


def _inherited(document: Any, xref: int, key: str) -> str | None:
    for _ in range(MAX_PARENTS):
        value = _value(document, xref, key)
        if value is not None:
            return value
        kind, parent = document.xref_get_key(xref, "Parent")
        if kind != "xref":
            return None
        xref = int(parent.split()[0])
    return None


def _value(document: Any, xref: int, key: str) -> str | None:
    kind, value = document.xref_get_key(xref, key)
    if kind == "null":
        return None
    if "R" not in value:
        return str(value)
    return _REFERENCE.sub(lambda found: _object(document, int(found[1])), value)


def _object(document: Any, xref: int) -> str:
    if 0 < xref < document.xref_length():
        return str(document.xref_object(xref, compressed=True))
    return "null"


def plan_boxes(entries: Entries) -> Mending:
    """Decide what has to be put right, from the entries as they are written."""
    fixed: dict[str, str] = {}
    notes: list[str] = []
    media = _possible(entries.media)
    crop = _possible(entries.crop)
    if media is None:
        media = crop or LETTER
        fixed["MediaBox"] = _written(media)
        size = "the CropBox" if crop else "US Letter"
        notes.append(f"{_told('MediaBox', entries.media)}: {size} is taken for the page")
    if entries.crop is not None and (crop is None or _possible(_shared(media, crop)) is None):
        fixed["CropBox"] = _written(media)
        notes.append(f"{_told('CropBox', entries.crop)}: the whole page is read")
    if entries.unit is not None and not _is_possible_unit(entries.unit, media):
        fixed["UserUnit"] = "1"
        notes.append(f"{_told('UserUnit', entries.unit)}: 1 is taken")
    if entries.rotate is not None and not _is_right_angle(entries.rotate):
        fixed["Rotate"] = "0"
        notes.append(f"{_told('Rotate', entries.rotate)}: the page is not turned")
    return Mending(fixed, notes)


def _told(key: str, value: str | None) -> str:
    if value is None:
        return f"no {key}"
    return f"impossible {key} {value if len(value) <= 60 else value[:59] + '…'}"


def _possible(box: str | Rect | None) -> Rect | None:
    """A box with its corners in order, or None where no page can have it."""
    numbers = _numbers(box) if isinstance(box, str) else box
    if numbers is None or max(map(abs, numbers)) > 2 * MAX_SIDE:
        return None
    a, b, c, d = numbers
    x0, x1, y0, y1 = min(a, c), max(a, c), min(b, d), max(b, d)
    sides = x1 - x0, y1 - y0
    return (x0, y0, x1, y1) if min(sides) >= MIN_SIDE and max(sides) <= MAX_SIDE else None


def _numbers(text: str) -> Rect | None:
    match = _ARRAY.fullmatch(text.strip())
    numbers = [_number(word) for word in match[1].split()] if match else []
    if len(numbers) != 4 or not all(math.isfinite(number) for number in numbers):
        return None
    return numbers[0], numbers[1], numbers[2], numbers[3]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _shared(media: Rect, crop: Rect) -> Rect:
    """The part of the page that a crop box shows; of no size where there is none."""
    x0, y0 = max(media[0], crop[0]), max(media[1], crop[1])
    return x0, y0, max(x0, min(media[2], crop[2])), max(y0, min(media[3], crop[3]))


def _written(box: Rect) -> str:
    return f"[{' '.join(f'{number:f}' for number in box)}]"


def _is_possible_unit(text: str, media: Rect) -> bool:
    unit = _number(text)
    scaled = (0.0, 0.0, unit * (media[2] - media[0]), unit * (media[3] - media[1]))
    return unit > 0 and _possible(scaled) is not None


def _is_right_angle(text: str) -> bool:
    angle = _number(text)
    return math.isfinite(angle) and angle % 90 == 0
