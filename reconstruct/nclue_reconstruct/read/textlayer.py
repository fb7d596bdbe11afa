"""Page texts from the text layer of a PDF (engine ``text``): for born-digital documents.

Blocks come in reading order with their type. Headings are recognised by the outline, their
numbering, size and weight; running headers, footers and page numbers by what repeats over the
pages, and are kept as blocks but left out of the page's text. Images are not decoded, hyphens at
line ends stay as they are printed, ligatures are expanded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from nclue_core.files import sha256_file
from nclue_core.pages import Block, PageRecord
from nclue_reconstruct.read import damage, headings, missing, running
from nclue_reconstruct.read.headings import Typography, Unit
from nclue_reconstruct.read.pdf_open import open_pdf, quiet_pymupdf
from nclue_reconstruct.read.reading_order import reading_order
from nclue_reconstruct.read.textlines import Box, Line, PageLines, read_lines

ENGINE = "text"
NOTE_NO_TEXT = "no text layer"
NOTE_CONTENTS = "table of contents"
NOTE_SIDEWAYS = "text runs sideways"
NOTE_UNREADABLE_TEXT = "text layer unreadable: its fonts have no usable Unicode map"
NOTE_UNREADABLE_PAGE = "unreadable page"

_STYLE_STEP = 1.08  # sizes that differ by less belong to one style
_LABEL_CHARS = 30
_BOLD = 0.97  # share of a line from which it is bold; less is a run-in heading or emphasis


class Layout(NamedTuple):
    """The units of one page, in reading order."""

    page: PageLines
    units: list[Unit]
    is_contents: bool


def extract_document(pdf: Path, doc_id: str, sha256: str | None = None) -> Iterator[PageRecord]:
    """Yield one record per page of a PDF, from its text layer alone.

    Args:
        pdf: The file; encrypted is fine where the user password is empty.
        doc_id: Goes into the records.
        sha256: Of the file, where it is known; else it is computed.

    Yields:
        Records in page order. A page without readable text has ``has_text`` False; ``note``
        says what else must be known (table of contents, text running sideways, unreadable).

    Raises:
        DocumentError: The file cannot be opened (password, damage, no pages, no PDF).
    """
    sha256 = sha256 or sha256_file(pdf)
    version = engine_version()
    with open_pdf(pdf) as document:
        pages = list(read_lines(document))
        typography = headings.measure(pages, _outline(document))
        is_repaired = bool(document.is_repaired)
    layouts = _lay_out(pages, typography)
    headings.assign_levels(
        [unit for layout in layouts for unit in layout.units if unit.kind == "title"]
    )
    for layout in layouts:
        if is_repaired and damage.NOTE_REPAIRED not in layout.page.notes:
            layout.page.notes.append(damage.NOTE_REPAIRED)  # found out on a later page
        yield _record(layout, doc_id, sha256, version)


def is_unreadable(record: PageRecord) -> bool:
    """Whether the page itself could not be read (as opposed to: has no text)."""
    return record.note is not None and record.note.startswith(NOTE_UNREADABLE_PAGE)


def page_error(record: PageRecord) -> str:
    """Why a page could not be read."""
    return (record.note or "").partition(": ")[2] or NOTE_UNREADABLE_PAGE


def engine_version() -> str:
    """Name and version of what reads the text layer."""
    return f"pymupdf {quiet_pymupdf().__version__}"


def _outline(document: Any) -> list[Any]:
    try:
        return list(document.get_toc(simple=True))
    except Exception:  # a damaged outline takes nothing from the pages
        return []


def _lay_out(pages: list[PageLines], typography: Typography) -> list[Layout]:
    frames = running.find_running(pages, typography.body_size)
    for page in pages:
        page.notes[:0] = missing.quality_notes(page.lines)
    for number in missing.stamped_pages(pages, frames):
        pages[number - 1].notes.insert(0, missing.NOTE_STAMP)
    layouts = []
    after_contents = False
    for page in pages:
        frame = frames[page.page]
        units = _body_units(page, frame, typography.body_size)
        rows = [row for unit in units for row in unit.rows]
        after_contents = headings.is_contents(rows, after_contents)
        headings.mark_headings(units, page.page, headings.for_page(typography, page))
        if after_contents:
            _undo_entries(units)
        layouts.append(Layout(page, _framed(_merge_headings(units), page, frame), after_contents))
    return layouts


def _body_units(page: PageLines, frame: dict[int, str], body_size: float) -> list[Unit]:
    """What is not header, footer or page number, in reading order."""
    body = [line for index, line in enumerate(page.lines) if index not in frame]
    return _ordered(list(_units(body)), page, body_size)


def _framed(units: list[Unit], page: PageLines, frame: dict[int, str]) -> list[Unit]:
    """The units of the body with the headers before and the footers after them."""
    around = [_frame_unit(page.lines[index], kind) for index, kind in sorted(frame.items())]
    headers = [unit for unit in around if unit.box[1] < page.height / 2]
    return headers + units + [unit for unit in around if unit.box[1] >= page.height / 2]


def _ordered(units: list[Unit], page: PageLines, body_size: float) -> list[Unit]:
    """Units in reading order; labels of figures stay behind what comes before them in the file.

    Labels stand anywhere, and would look like disorder and hide the gap between columns.
    """
    if page.sideways:  # boxes say little about the order; the file's order stays
        return units
    groups: list[list[Unit]] = []
    for unit in units:
        if groups and _is_label(unit, body_size):
            groups[-1].append(unit)
        else:
            groups.append([unit])
    order = reading_order([group[0].box for group in groups])
    return [unit for place in order for unit in groups[place]]


def _is_label(unit: Unit, body_size: float) -> bool:
    if len(unit.text) > _LABEL_CHARS:
        return False
    return unit.size < 0.93 * body_size or sum(c.isalpha() for c in unit.text) < 3


def _frame_unit(line: Line, kind: str) -> Unit:
    return Unit([line.text], line.box, line.size, line.bold >= _BOLD, cells=1, kind=kind)


def _units(lines: Iterable[Line]) -> Iterator[Unit]:
    """Split the blocks of a page where the style changes."""
    current: Unit | None = None
    block = -1
    for row in _rows(lines):
        number, unit = row
        if current is not None and number == block and _continues(current, unit):
            _append(current, unit)
            continue
        if current is not None:
            yield current
        current, block = unit, number
    if current is not None:
        yield current


def _rows(lines: Iterable[Line]) -> Iterator[tuple[int, Unit]]:
    """Join lines of a block that stand side by side (cells, dot leaders, tab stops)."""
    current: Unit | None = None
    last: Line | None = None
    for line in lines:
        if current is not None and last is not None and _same_row(last, line):
            _extend_row(current, line)
        else:
            if current is not None and last is not None:
                yield last.block, current
            current = Unit([line.text], line.box, line.size, line.bold >= _BOLD, cells=1)
            current.italic = line.italic >= _BOLD
            current.run_in = 0.05 < line.bold < _BOLD
            current.last_x1 = line.box[2]
        last = line
    if current is not None and last is not None:
        yield last.block, current


def _same_row(last: Line, line: Line) -> bool:
    if last.block != line.block or not (last.upright and line.upright):
        return False
    shared = min(last.box[3], line.box[3]) - max(last.box[1], line.box[1])
    lower = min(last.box[3] - last.box[1], line.box[3] - line.box[1])
    return shared > 0.6 * lower and line.box[0] >= last.box[2] - 1


def _extend_row(row: Unit, line: Line) -> None:
    share = len(row.rows[0]) / (len(row.rows[0]) + len(line.text))
    row.rows[0] = f"{row.rows[0]} {line.text}"
    row.size = share * row.size + (1 - share) * line.size
    row.bold = row.bold and line.bold >= _BOLD
    row.italic = row.italic and line.italic >= _BOLD
    row.run_in = False
    row.last_x1 = line.box[2]
    row.box = _union(row.box, line.box)
    row.cells += 1


def _continues(unit: Unit, row: Unit) -> bool:
    """Whether a row belongs to the unit above it in the same block."""
    larger, smaller = max(unit.size, row.size), max(min(unit.size, row.size), 0.1)
    if larger / smaller > _STYLE_STEP and sum(c.isalpha() for c in row.rows[0]) >= 3:
        return False
    if unit.bold:
        # Bold words that begin a line of text continue a run-in heading ("Principles. The …"),
        # unless the bold line before it is short: that was a heading of its own.
        short = row.box[2] - unit.last_x1 > 0.25 * (row.box[2] - row.box[0])
        return (row.bold or row.run_in) and not short
    if not row.bold:
        return True
    # A bold row amid a sentence is emphasis; after the end of one it may be a heading.
    return not unit.rows[-1].endswith((".", ":", "?", "!", ";", ")"))


def _append(unit: Unit, row: Unit) -> None:
    unit.rows.extend(row.rows)
    unit.last_x1 = row.last_x1
    unit.box = _union(unit.box, row.box)
    unit.cells += row.cells
    unit.bold = unit.bold and row.bold
    unit.italic = unit.italic and row.italic


def _union(a: Box, b: Box) -> Box:
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])


def _merge_headings(units: list[Unit]) -> list[Unit]:
    """Join the lines of one heading that the file stores as several blocks."""
    merged: list[Unit] = []
    for unit in units:
        if merged and _same_heading(merged[-1], unit):
            _append(merged[-1], unit)
        else:
            merged.append(unit)
    return merged


def _same_heading(first: Unit, second: Unit) -> bool:
    return (
        first.kind == second.kind == "title"
        and first.style == second.style
        and first.level is None
        and second.level is None
        and not first.beside
        and len(first.text) + len(second.text) <= headings.MAX_HEADING_CHARS
        and headings.without_number(second.rows[0]) == second.rows[0]
        and -first.size < second.box[1] - first.box[3] < 0.8 * first.size
    )


def _undo_entries(units: list[Unit]) -> None:
    """On a page of contents only what has no page number after it can be a heading."""
    for unit in units:
        if unit.kind == "title" and (unit.rows[-1][-1].isdigit() or unit is not units[0]):
            unit.kind, unit.level = "text", None


def _record(layout: Layout, doc_id: str, sha256: str, version: str) -> PageRecord:
    page = layout.page
    garbled = _is_garbled(
        "".join(unit.text for unit in layout.units), sum(line.dropped for line in page.lines)
    )
    blocks = () if garbled else tuple(_block(unit, page) for unit in layout.units)
    return PageRecord.from_blocks(
        doc_id,
        page.page,
        blocks,
        width=None if page.error else round(page.width, 2),
        height=None if page.error else round(page.height, 2),
        engine=ENGINE,
        engine_version=version,
        sha256=sha256,
        note=_note(layout, garbled),
    )


def _note(layout: Layout, garbled: bool) -> str | None:
    page = layout.page
    notes = [f"{NOTE_UNREADABLE_PAGE}: {page.error}"] if page.error else []
    if garbled:
        notes.append(NOTE_UNREADABLE_TEXT)
    if not page.error and not page.lines:
        notes.append(NOTE_NO_TEXT)
    if page.lines and page.sideways:
        notes.append(NOTE_SIDEWAYS)
    if layout.is_contents:
        notes.append(NOTE_CONTENTS)
    return "; ".join(notes + page.notes) or None


def _is_garbled(text: str, n_dropped: int = 0) -> bool:
    """A quarter of the characters is no text.

    Over 9,000 real pages the share is below .08 on good ones, above .35 on bad ones.
    """
    n_visible = len("".join(text.split())) + n_dropped
    return n_visible >= 20 and missing.unknown_share(text, n_dropped) > 0.25


def _block(unit: Unit, page: PageLines) -> Block:
    text = " ".join(unit.rows) if unit.kind == "title" else unit.text
    return Block(unit.kind, text, _fractions(unit.box, page), unit.level)


def _fractions(box: Box, page: PageLines) -> Box:
    x0, x1 = (_clip(box[i] / page.width) for i in (0, 2))
    y0, y1 = (_clip(box[i] / page.height) for i in (1, 3))
    return x0, y0, x1, y1


def _clip(value: float) -> float:
    return round(min(max(value, 0.0), 1.0), 4)
