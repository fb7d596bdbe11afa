"""Search every wording of every condition on every page of every document.

The result says for each document and condition where it stands: on which pages it counts, on
which it stands only where it does not count or may mean something else ("doubtful"), or nowhere.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from nclue_construct.cluster import Condition
from nclue_construct.surface import Hit, PhraseIndex, Word, split_words, squeeze
from nclue_construct.vocabulary import FUNCTION_WORDS, UNMISTAKABLE
from nclue_construct.zones import ZonedPage
from nclue_core.letters import HYPHENS

# What may stand directly before a name without making it the name of something else.
_QUALIFIERS = frozenset(["un", "us", "eu", "uk", "nations", "states", "s", "joint", "new"])
_LINKS = frozenset(["of", "and", "for", "on", "against", "to", "in"])
_IDENTIFIER = re.compile(r"[-\u2010-\u2014/][A-Z]{0,3}\d")
_HYPHEN = re.compile(rf"[{HYPHENS}](?:[ \t]*\r?\n[ \t]*)?")
_BREAK = re.compile(rf"[{HYPHENS}][ \t]*\r?\n[ \t]*")
_STRONG = frozenset(["title", "text", "list"])
MIN_ACRONYM = 3  # letters; shorter ones mean too many things to count outside their document
ACRONYM_SHARE = 0.6  # of the documents with an acronym that must also spell it out


@dataclass
class Presence:
    """One condition in one document: page numbers."""

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
    n_hits: int = 0  # of wordings, acronyms apart
    n_lower: int = 0  # hits that begin with a small letter
    n_inside: int = 0  # hits inside a longer name
    n_strong: int = 0  # hits in headings or running text
    before: Counter[str] = field(default_factory=Counter)  # capitalised words beside its hits
    after: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Any]:
        """The row as it is written (the most frequent neighbours only)."""
        counts = {key: getattr(self, key) for key in ("n_hits", "n_lower", "n_inside", "n_strong")}
        return {
            "condition": self.condition.to_json(),
            "documents": {key: here.to_json() for key, here in sorted(self.documents.items())},
            **counts,
            "before": dict(_most_common(self.before)),
            "after": dict(_most_common(self.after)),
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Searched:
        """A row read back."""
        return cls(
            Condition.from_json(row["condition"]),
            {doc_id: Presence.from_json(here) for doc_id, here in row["documents"].items()},
            n_hits=row["n_hits"],
            n_lower=row["n_lower"],
            n_inside=row["n_inside"],
            n_strong=row["n_strong"],
            before=Counter(row["before"]),
            after=Counter(row["after"]),
        )


def _most_common(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:1]


# body counts; acronym does where it is explained; lower (a name in small letters), inside (a
# longer name), hint (an acronym that nobody explains) and aside (not the page's content) don't.
WHERE = ("body", "acronym", "lower", "inside", "hint", "aside")


class Found(NamedTuple):
    """An occurrence of a condition on a page."""

    number: int  # of the condition
    start: int  # character span in the page's body (or aside), end exclusive
    end: int
    where: str  # one of WHERE
    hit: Hit


class Searcher:
    """Finds the wordings of conditions on pages.

    Args:
        conditions: What to look for.
    """

    def __init__(self, conditions: Sequence[Condition]) -> None:
        self.conditions = conditions
        self._by_surface: defaultdict[str, list[int]] = defaultdict(list)
        self._by_acronym: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        for number, condition in enumerate(conditions):
            for key in sorted({squeeze(surface) for surface in condition.surfaces} - {""}):
                self._by_surface[key].append(number)
            for acronym in (*condition.acronyms, *condition.hints):
                self._by_acronym[squeeze(acronym)].append((number, acronym))
        # The wordings themselves, not their keys: a mark within one is allowed in a text.
        wordings = {wording for item in conditions for wording in item.all_wordings()}
        self._index = PhraseIndex(wording for wording in sorted(wordings) if squeeze(wording))

    def on_page(self, page: ZonedPage, words: list[Word]) -> Iterator[Found]:
        """Every occurrence on a page (``words`` are its words), also those that don't count."""
        for hit in self._index.find(words):
            for number in self._by_surface.get(hit.phrase, ()):
                where = self._kind_of_hit(number, page, hit, words)
                yield Found(number, hit.start, hit.end, where, hit)
            yield from self._acronyms(page.body, hit)
        for hit in self._index.find(split_words(page.aside)):
            for number in self._by_surface.get(hit.phrase, ()):
                yield Found(number, hit.start, hit.end, "aside", hit)

    def _acronyms(self, text: str, hit: Hit) -> Iterator[Found]:
        for number, acronym in self._by_acronym.get(hit.phrase, ()):
            if text[hit.start : hit.end] == acronym:
                hinted = acronym in self.conditions[number].hints or _in_identifier(text, hit)
                where = "hint" if hinted else "acronym"
                yield Found(number, hit.start, hit.end, where, hit)

    def _kind_of_hit(self, number: int, page: ZonedPage, hit: Hit, words: list[Word]) -> str:
        if has_prefix(page.body, hit, words) or is_broken_off(page.body, hit):
            return "inside"
        if self.conditions[number].kind != "entity":
            return "body"
        if page.body[hit.start].islower():
            return "lower"
        return "inside" if inside_longer_name(page.body, hit, words) else "body"

    def search(self, documents: Iterable[Sequence[ZonedPage]]) -> list[Searched]:
        """Search documents, each given as its pages."""
        found = [Searched(condition, {}) for condition in self.conditions]
        short: defaultdict[int, defaultdict[str, dict[int, str]]] = defaultdict(
            lambda: defaultdict(dict)
        )
        for pages in documents:
            for page in pages:
                words = page.words()
                for item in self.on_page(page, words):
                    if item.where == "acronym":
                        acronym = page.body[item.start : item.end]
                        short[item.number][page.doc_id].setdefault(page.page, acronym)
                    else:
                        _note(found[item.number], page, item, words)
        for number, by_document in sorted(short.items()):
            _add_acronyms(found[number], by_document)
        for searched in found:
            for presence in searched.documents.values():
                presence.doubtful -= presence.pages
        return found


def _in_identifier(text: str, hit: Hit) -> bool:
    """Whether an acronym begins an identifier, such as the docket number FWS-R4-ES-2020."""
    return _IDENTIFIER.match(text, hit.end) is not None


def _note(total: Searched, page: ZonedPage, item: Found, words: list[Word]) -> None:
    presence = total.documents.setdefault(page.doc_id, Presence())
    if item.where in ("aside", "hint"):
        presence.doubtful.add(page.page)
        return
    total.n_hits += 1
    total.n_lower += page.body[item.start].islower()
    total.before.update(_name_before(page.body, item.hit, words))
    total.after.update(_name_after(page.body, item.hit, words))
    if item.where != "body":
        total.n_inside += item.where == "inside"
        presence.doubtful.add(page.page)
        return
    presence.pages.add(page.page)
    kind = page.kind_at(item.start)
    if kind in _STRONG:
        total.n_strong += 1
        presence.strong.add(page.page)
    if kind == "title":
        presence.heading.add(page.page)


def _add_acronyms(total: Searched, by_document: Mapping[str, Mapping[int, str]]) -> None:
    """Acronyms count where the document spells them out; elsewhere only if nearly all do."""
    spelled_out = {doc_id for doc_id, here in total.documents.items() if here.pages}
    share = len(spelled_out & set(by_document)) / len(by_document)
    shortest = min(map(len, total.condition.acronyms))
    is_clear = shortest >= MIN_ACRONYM and len(spelled_out) >= 3 and share >= ACRONYM_SHARE
    for doc_id, pages in by_document.items():
        presence = total.documents.setdefault(doc_id, Presence())
        for page, acronym in pages.items():
            counts = doc_id in spelled_out or is_clear or acronym in UNMISTAKABLE
            (presence.pages if counts else presence.doubtful).add(page)


def has_prefix(text: str, hit: Hit, words: list[Word]) -> bool:
    """Whether a prefix is hyphenated to the hit ("non-" + "financial assets"), or a line break."""
    if hit.first == 0:
        return False
    return _HYPHEN.fullmatch(text, words[hit.first - 1].end, hit.start) is not None


def is_broken_off(text: str, hit: Hit) -> bool:
    """Whether the line breaks in the last word of a hit ("Federal Court-" + "ship")."""
    found = _BREAK.match(text, hit.end)
    return found is not None and text[found.end() : found.end() + 1].islower()


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


def _name_before(text: str, hit: Hit, words: list[Word]) -> list[str]:
    """The capitalised word that leads into a hit, over "of", "and" or a comma."""
    number = hit.first - 1
    if number >= 0 and words[number].norm in _LINKS:
        number -= 1
    return _neighbour(text, words, number, text[words[max(number, 0)].end : hit.start])


def _name_after(text: str, hit: Hit, words: list[Word]) -> list[str]:
    number = hit.last + 1
    if number < len(words) and words[number].norm in _LINKS:
        number += 1
    if number < len(words) and words[number].norm == "the":
        return []
    here = min(number, len(words) - 1)
    return _neighbour(text, words, number, text[hit.end : words[here].start])


def _neighbour(text: str, words: list[Word], number: int, gap: str) -> list[str]:
    if any(mark in gap for mark in ".;:!?()[]") or "\n\n" in gap:
        return []
    if not _is_capital(text, words, number) or words[number].norm in FUNCTION_WORDS:
        return []
    return [words[number].norm]
