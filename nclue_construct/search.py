"""Search every wording of every condition on every page of every document.

The result says for each document and condition where it stands: on which pages it counts, on
which it stands only where it does not count or may mean something else ("doubtful"), or nowhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nclue_construct.cluster import Condition
from nclue_construct.surface import Hit, PhraseIndex, Word, split_words, squeeze
from nclue_construct.vocabulary import FUNCTION_WORDS
from nclue_construct.zones import ZonedPage

# What may stand directly before a name without making it the name of something else.
_QUALIFIERS = frozenset(["un", "us", "eu", "uk", "nations", "states", "s", "joint", "new"])


@dataclass
class Presence:
    """One condition in one document."""

    pages: set[int] = field(default_factory=set)  # where it counts
    doubtful: set[int] = field(default_factory=set)  # where a reader might disagree
    strong: set[int] = field(default_factory=set)  # of the pages: in a heading or running text
    heading: set[int] = field(default_factory=set)  # of the pages: in a heading

    def to_json(self) -> dict[str, list[int]]:
        """The object as it is written."""
        return {name: sorted(getattr(self, name)) for name in self.__dataclass_fields__}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Presence:
        """An object read back."""
        return cls(**{name: set(row[name]) for name in cls.__dataclass_fields__})


@dataclass
class Searched:
    """One condition in the whole corpus."""

    condition: Condition
    documents: dict[str, Presence]
    n_hits: int = 0
    n_lower: int = 0  # hits that begin with a small letter
    n_inside: int = 0  # hits inside a longer name
    n_strong: int = 0  # hits in headings or running text


class Searcher:
    """Finds the wordings of conditions on pages.

    Args:
        conditions: What to look for.
        explained: Per acronym, its long forms found in the corpus (cluster keys); an acronym with
            one long form counts everywhere, one with several only where the document spells
            out the right one.
    """

    def __init__(self, conditions: Sequence[Condition], explained: Mapping[str, set[str]]) -> None:
        self._by_surface: defaultdict[str, list[int]] = defaultdict(list)
        self._by_acronym: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        for number, condition in enumerate(conditions):
            for key in sorted({squeeze(surface) for surface in condition.surfaces} - {""}):
                self._by_surface[key].append(number)
            for acronym in condition.acronyms:
                self._by_acronym[squeeze(acronym)].append((number, acronym))
        self._index = PhraseIndex([*self._by_surface, *self._by_acronym])
        self._conditions = conditions
        self._explained = explained

    def search(self, documents: Iterable[Sequence[ZonedPage]]) -> list[Searched]:
        """Search documents, each given as its pages."""
        found = [Searched(condition, {}) for condition in self._conditions]
        for pages in documents:
            self._search_document(pages, found)
        return found

    def _search_document(self, pages: Sequence[ZonedPage], found: list[Searched]) -> None:
        if not pages:
            return
        doc_id = pages[0].doc_id
        here: defaultdict[int, Presence] = defaultdict(Presence)
        short: list[tuple[int, int]] = []
        for page in pages:
            words = page.words()
            for hit in self._index.find(words):
                for number in self._by_surface.get(hit.phrase, ()):
                    _note(here[number], found[number], page, hit, words)
                for number, acronym in self._by_acronym.get(hit.phrase, ()):
                    if page.body[hit.start : hit.end] == acronym:
                        short.append((number, page.page))
            for hit in self._index.find(split_words(page.aside)):
                for number in self._by_surface.get(hit.phrase, ()):
                    here[number].doubtful.add(page.page)
        self._add_acronyms(here, short)
        for number, presence in here.items():
            presence.doubtful -= presence.pages
            found[number].documents[doc_id] = presence

    def _add_acronyms(
        self, here: defaultdict[int, Presence], short: Iterable[tuple[int, int]]
    ) -> None:
        spelled_out = {number for number, presence in here.items() if presence.pages}
        for number, page in short:
            condition = self._conditions[number]
            single = all(len(self._explained.get(a, ())) <= 1 for a in condition.acronyms)
            if number in spelled_out or (single and min(map(len, condition.acronyms)) >= 3):
                here[number].pages.add(page)
            else:
                here[number].doubtful.add(page)


def _note(
    presence: Presence, total: Searched, page: ZonedPage, hit: Hit, words: list[Word]
) -> None:
    total.n_hits += 1
    is_lower = page.body[hit.start].islower()
    total.n_lower += is_lower
    if total.condition.kind == "entity" and (is_lower or inside_longer_name(page.body, hit, words)):
        total.n_inside += not is_lower
        presence.doubtful.add(page.page)
        return
    presence.pages.add(page.page)
    kind = page.kind_at(hit.start)
    if kind in ("title", "text", "list"):
        total.n_strong += 1
        presence.strong.add(page.page)
    if kind == "title":
        presence.heading.add(page.page)


def inside_longer_name(text: str, hit: Hit, words: list[Word]) -> bool:
    """Whether the words beside a hit make it part of another name ("European" + "Court of …")."""
    return _continues_before(text, hit, words) or _continues_after(text, hit, words)


def _continues_before(text: str, hit: Hit, words: list[Word]) -> bool:
    if hit.first == 0 or words[hit.first].barrier:
        return False
    before = words[hit.first - 1]
    gap = text[before.end : hit.start]
    if gap.strip(" \n") or "\n" in gap:
        return gap.strip() in ("&", "and")
    if before.norm in _QUALIFIERS or before.norm in FUNCTION_WORDS:
        return before.norm == "and" and _is_capital(text, words, hit.first - 2)
    return text[before.start].isupper()


def _continues_after(text: str, hit: Hit, words: list[Word]) -> bool:
    after = hit.last + 1
    if after + 1 >= len(words) or words[after].barrier or words[after + 1].barrier:
        return False
    if text[hit.end : words[after].start] != " ":
        return False
    return words[after].norm in ("and", "for", "on") and _is_capital(text, words, after + 1)


def _is_capital(text: str, words: list[Word], number: int) -> bool:
    return 0 <= number < len(words) and text[words[number].start].isupper()


def explained_acronyms(conditions: Iterable[Condition]) -> dict[str, set[str]]:
    """Per acronym the conditions whose long form it abbreviates."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for condition in conditions:
        for acronym in condition.acronyms:
            found[acronym].add(condition.name)
    return dict(found)
