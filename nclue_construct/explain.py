"""Why a document is gold or a subset: the lines around each match, from local page texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nclue_construct.cluster import CONDITIONS_FILE, Condition, condition_of
from nclue_construct.compose import explain_grade
from nclue_construct.search import Found, Searcher
from nclue_construct.zones import ZonedPage, zone_document
from nclue_core.errors import InputError, UsageError
from nclue_core.pages import read_document

if TYPE_CHECKING:
    from nclue_dataset.release import Collection

CONTEXT_CHARS = 90


@dataclass(frozen=True)
class Quote:
    """A place where a condition stands."""

    page: int
    before: str
    match: str
    after: str
    where: str  # heading, text, … for what counts; aside, lower, inside, hint for what doesn't
    counts: bool

    def to_json(self) -> dict[str, Any]:
        """The record for ``--json``."""
        return dict(self.__dict__)


@dataclass(frozen=True)
class ConditionReport:
    """One condition in one document."""

    condition: str
    pages: tuple[int, ...]  # by the judgments
    quotes: tuple[Quote, ...]  # the first on each page
    unseen: tuple[int, ...]  # pages by the judgments on which nothing was found again

    def to_json(self) -> dict[str, Any]:
        """The record for ``--json``."""
        return {**self.__dict__, "quotes": [quote.to_json() for quote in self.quotes]}


@dataclass(frozen=True)
class Explanation:
    """One query in one document."""

    query_id: str
    doc_id: str
    grade: int
    label: str  # gold, subset or unjudged
    reason: str
    conditions: tuple[ConditionReport, ...]

    def to_json(self) -> dict[str, Any]:
        """The record for ``--json``."""
        return {**self.__dict__, "conditions": [item.to_json() for item in self.conditions]}


def quotes(
    searcher: Searcher, pages: Sequence[ZonedPage], context: int = CONTEXT_CHARS
) -> dict[int, list[Quote]]:
    """Per condition (its number in the searcher) the first place on each page, by page."""
    found: dict[int, dict[tuple[int, bool], Quote]] = {}
    for page in pages:
        for item in searcher.on_page(page, page.words()):
            quote = _quote(page, item, context)
            found.setdefault(item.number, {}).setdefault((page.page, quote.counts), quote)
    return {number: _first_of_page(by_page.values()) for number, by_page in found.items()}


def _first_of_page(found: Any) -> list[Quote]:
    """One quote per page, one that counts if there is any."""
    best: dict[int, Quote] = {}
    for quote in sorted(found, key=lambda quote: (quote.page, not quote.counts)):
        best.setdefault(quote.page, quote)
    return list(best.values())


def _quote(page: ZonedPage, item: Found, context: int) -> Quote:
    text = page.aside if item.where == "aside" else page.body
    counts = item.where in ("body", "acronym")
    kind = page.kind_at(item.start) if counts else item.where
    return Quote(
        page=page.page,
        before=_line(text[max(0, item.start - context) : item.start]),
        match=" ".join(text[item.start : item.end].split()),
        after=_line(text[item.end : item.end + context]),
        where="heading" if kind == "title" else kind,
        counts=counts,
    )


def _line(text: str) -> str:
    squeezed = " ".join(text.split())
    lead = " " if text[:1].isspace() else ""
    trail = " " if text[-1:].isspace() else ""
    return f"{lead}{squeezed}{trail}" if squeezed else ""


def explain(
    query_id: str,
    doc_id: str,
    conditions: Sequence[Condition],
    judged_pages: Sequence[Sequence[int]],
    pages: Sequence[ZonedPage],
    grade: int,
    label: str,
) -> Explanation:
    """Explain a judgment from the pages.

    Args:
        query_id: The query.
        doc_id: The document.
        conditions: The query's conditions with their wordings, in order.
        judged_pages: Per condition the pages by the judgments.
        pages: The document's pages.
        grade: By the judgments.
        label: By the judgments; "unjudged" where there is no row.
    """
    found = quotes(Searcher(conditions), pages)
    reports = tuple(_reports(conditions, judged_pages, found))
    return Explanation(query_id, doc_id, grade, label, explain_grade(judged_pages), reports)


def _reports(
    conditions: Sequence[Condition],
    judged_pages: Sequence[Sequence[int]],
    found: dict[int, list[Quote]],
) -> Iterator[ConditionReport]:
    for number, (condition, judged) in enumerate(zip(conditions, judged_pages, strict=True)):
        here = found.get(number, [])
        seen = {quote.page for quote in here if quote.counts}
        unseen = tuple(page for page in judged if page not in seen)
        yield ConditionReport(condition.name, tuple(judged), tuple(here), unseen)


def explain_judgment(
    collection: Collection, query_id: str, doc_id: str, pages_folder: Path
) -> Explanation:
    """Explain a judgment of a collection from local page texts.

    The wordings are those of ``conditions.json`` in the release; for a release without it, the
    regular variants of each condition's name.

    Raises:
        UsageError: There is no such query.
        InputError: There are no page texts of the document.
    """
    query = next((item for item in collection.queries if item.query_id == query_id), None)
    if query is None:
        raise UsageError(f"no query is called {query_id!r} in the collection {collection.name}")
    pages = list(zone_document(read_document(pages_folder, doc_id)))
    if not pages:
        raise InputError(f"no page texts of {doc_id} here", path=pages_folder)
    row = next(
        (
            row
            for row in collection.qrels["final"]
            if (row.query_id, row.doc_id) == (query_id, doc_id)
        ),
        None,
    )
    held = {item.condition: item.pages for item in row.evidence} if row else {}
    known = _known_conditions(collection.path)
    conditions = [known.get(name) or condition_of(name) for name in query.conditions]
    judged = [held.get(name, ()) for name in query.conditions]
    grade, label = (row.grade, row.label) if row else (0, "unjudged")
    return explain(query_id, doc_id, conditions, judged, pages, grade, label)


def _known_conditions(folder: Path) -> dict[str, Condition]:
    path = folder / CONDITIONS_FILE
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        return {name: Condition.from_json({"name": name, **row}) for name, row in value.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as err:
        raise InputError(f"not a list of wordings: {err!r}", path=path) from None
