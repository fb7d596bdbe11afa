"""Which text of a page counts as evidence.

A page holds a condition when one of the condition's wordings stands in its content: running
text, headings, lists, tables, captions or notes. What only points elsewhere or repeats does not
count: running headers and footers, page numbers, tables of contents, and lists of references.
Excluded text is kept apart, so that "absent" can be told from "present only where it does not
count".
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from nclue_construct.surface import Word, split_words
from nclue_core.pages import Block, PageRecord

RUNNING = frozenset({"header", "footer", "page_number"})
_CONTENTS_NOTE = "table of contents"
_LEADER = re.compile(r"(?:[.·_…\u2010\-] ?){5,}|…{2}")
_REFERENCES = re.compile(
    r"\W*(?:[\dIVXivx]{1,4}[.)]?\s+)?"
    r"(?:list of )?(?:references|bibliography|works cited|literature cited|reference list)\W*",
    re.IGNORECASE,
)
_CONTENTS = re.compile(r"\W*(?:preamble |brief )?(?:table of contents|contents)\W*", re.IGNORECASE)
_SECTION_LINE = re.compile(r"^\d{2,4}\.\d{1,4} +[A-Z]", re.MULTILINE)
_WORDY = re.compile(r"[^\W\d_]{3}")
_ENDS_IN_NUMBER = re.compile(r"[^\W\d_]{2}\W{1,4}(\d{1,3})$")
_AFTER_REFERENCES = re.compile(
    r"(?:appendi|annex|acknowledg|supplement|author contrib|list of (?:tables|figures))"
    r"|chapter\b|(?:[A-Z]|\d{1,2})(?:\.\d+)*\.?\s+[A-Z]",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:19|20)\d\d[a-z]?\b")
_CITING = re.compile(
    r"\b[A-Z]\.,|\bet al\b|https?:|\bdoi\b|\bpp\.|\bpages \d|\bVol\.|\d:\d+[-\u2013]\d"
)
_JOINABLE = frozenset({"text", "title", "list"})


@dataclass(frozen=True)
class Segment:
    """A stretch of a page's content."""

    start: int  # offset in the text
    kind: str  # type of its block


@dataclass(frozen=True)
class Heading:
    """A heading of a page."""

    text: str
    level: int | None


@dataclass(frozen=True)
class ZonedPage:
    """A page with what counts (body) apart from what does not (aside)."""

    doc_id: str
    page: int  # 1-based
    body: str
    aside: str
    segments: tuple[Segment, ...]  # of the body, ascending
    headings: tuple[Heading, ...]
    is_readable: bool

    def words(self) -> list[Word]:
        """Words of the body."""
        return split_words(self.body)

    def kind_at(self, offset: int) -> str:
        """Type of the block at an offset of the body."""
        kind = "other"
        for segment in self.segments:
            if segment.start > offset:
                break
            kind = segment.kind
        return kind


def zone_document(records: Iterable[PageRecord]) -> Iterator[ZonedPage]:
    """Divide the pages of one document, in order."""
    in_references = False
    for record in records:
        in_references = in_references and _looks_bibliographic(record.text)
        kept, aside, in_references = _divide(record, in_references)
        yield _assemble(record, kept, aside)


def _divide(record: PageRecord, in_references: bool) -> tuple[list[Block], list[str], bool]:
    """The blocks that count, the texts that don't, and whether a reference list goes on."""
    whole_page = _CONTENTS_NOTE in (record.note or "") or _lists_page_numbers(record.blocks)
    in_contents = False
    kept: list[Block] = []
    aside: list[str] = []
    for block in record.blocks:
        in_references = _still_references(block, in_references)
        in_contents = _still_contents(block, in_contents)
        if block.type in RUNNING or whole_page or in_references or in_contents:
            aside.append(block.text)
            continue
        text, pointing = _split_contents_lines(block.text)
        aside.extend(pointing)
        if text:
            kept.append(replace(block, text=text))
    return kept, aside, in_references


def _still_contents(block: Block, in_contents: bool) -> bool:
    """A list of contents within a page goes on to the next heading."""
    if _CONTENTS.fullmatch(block.text.strip()):
        return True
    if len(_SECTION_LINE.findall(block.text)) >= 3:  # the sections of a regulation
        return True
    return in_contents and block.type != "title"


def _lists_page_numbers(blocks: Sequence[Block]) -> bool:
    """Whether most entries of a page end in a page number, and these ascend: lists of tables."""
    if _alternates_with_numbers(blocks):
        return True
    content = [block.text for block in blocks if block.type not in RUNNING]
    lines = [line for text in content for line in text.split("\n") if _WORDY.search(line)]
    numbers = [int(found.group(1)) for found in map(_ENDS_IN_NUMBER.search, lines) if found]
    if len(numbers) < 6 or 4 * len(numbers) < len(lines):
        return False
    steps = [other - one for one, other in itertools.pairwise(numbers)]
    if sum(step == 1 for step in steps) > len(steps) / 2:  # the numbered lines of a manuscript
        return False
    ascending = sum(step >= 0 for step in steps)
    return ascending >= 0.85 * len(steps) and numbers[0] < numbers[-1]


def _assemble(record: PageRecord, kept: Sequence[Block], aside: Sequence[str]) -> ZonedPage:
    body: list[str] = []
    segments: list[Segment] = []
    length = 0
    previous: Block | None = None
    for block in kept:
        separator = _separator(previous, block)
        segments.append(Segment(length + len(separator), block.type))
        body.append(separator + block.text)
        length += len(separator) + len(block.text)
        previous = block
    return ZonedPage(
        doc_id=record.doc_id,
        page=record.page,
        body="".join(body),
        aside="\n\n".join(aside),
        segments=tuple(segments),
        headings=tuple(Heading(block.text, block.level) for block in kept if block.type == "title"),
        is_readable=record.has_text,
    )


def _alternates_with_numbers(blocks: Sequence[Block]) -> bool:
    """Whether half of the texts of a page are page numbers, each after an entry."""
    texts = [block.text.strip() for block in blocks if block.type == "text"]
    alone = sum(
        1
        for entry, number in itertools.pairwise(texts)
        if _WORDY.search(entry) and number.isdecimal() and len(number) <= 3
    )
    return alone >= 6 and alone >= 0.4 * len(texts)


def _looks_bibliographic(text: str) -> bool:
    """Whether a page after "References" can go on with the list: years and citing marks."""
    return len(_YEAR.findall(text)) >= 3 and _CITING.search(text) is not None


def _still_references(block: Block, in_references: bool) -> bool:
    if block.type in RUNNING:
        return in_references
    first_line = block.text.strip().partition("\n")[0]  # the heading may run into the list
    if _REFERENCES.fullmatch(first_line):
        return True
    ends = block.type == "title" and _AFTER_REFERENCES.match(block.text.strip())
    return in_references and not ends


def _split_contents_lines(text: str) -> tuple[str, list[str]]:
    """Lines with leaders ("Summary ..... 7") point elsewhere; the others are content."""
    lines = text.split("\n")
    pointing = [line for line in lines if _LEADER.search(line)]
    if not pointing:
        return text, []
    return "\n".join(line for line in lines if not _LEADER.search(line)), pointing


def _separator(previous: Block | None, block: Block) -> str:
    """A line break where a sentence or heading may run on, an empty line where it can't."""
    if previous is None:
        return ""
    goes_on = previous.type == block.type and block.type in _JOINABLE
    return "\n" if goes_on else "\n\n"
