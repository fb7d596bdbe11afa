"""Read items again, by other means than the search that proposed them.

The search works on words; this check works on the bare letters and digits of whole documents,
without word boundaries, page borders and zones. What the search calls present must be found again
on its page; what it calls absent must be absent here too. A document where the bare letters do
appear (across a page break, inside a longer word, over a full stop), or where all words of a
wording stand close together in another order or with words between ("composition of the
household"; for a long heading also its last two words, "comment period") or with other endings
("engaging with youth"), is doubtful, and the items that need it are dropped.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from nclue_construct.cluster import Condition, singular
from nclue_construct.compose import Candidate, judge
from nclue_construct.search import Searched
from nclue_construct.surface import split_words, squeeze
from nclue_construct.vocabulary import FUNCTION_WORDS
from nclue_construct.zones import ZonedPage

MIN_SHORTENED = 5  # content words of a name that may be shortened
STEM_CHARS = 5
MAX_BETWEEN = 2  # words between those of a wording that make an absence doubtful


class Verification(NamedTuple):
    """What reading an item again gave."""

    conditions: tuple[str, ...]
    passed: bool
    reason: str  # "" where it passed

    def to_json(self) -> dict[str, Any]:
        """The row as it is written."""
        return {"conditions": list(self.conditions), "passed": self.passed, "reason": self.reason}


@dataclass(frozen=True)
class BareDocument:
    """A document as letters and digits only."""

    doc_id: str
    pages: Mapping[int, str]  # page -> all its text, zones that don't count included
    whole: str  # the contents of the pages, one after the other
    places: Mapping[str, Sequence[int]]  # word in the singular -> where it stands, ascending
    stems: Mapping[str, Sequence[int]]  # beginning of a word -> where such words stand


def bare_document(pages: Sequence[ZonedPage]) -> BareDocument:
    """The letters and digits of a document."""
    bodies = [squeeze(page.body) for page in pages]
    asides = [squeeze(page.aside) for page in pages]
    by_page = {page.page: body for page, body in zip(pages, bodies)}
    whole = "".join(bodies) + "\n" + "\n".join(asides)
    places = _places(pages)
    return BareDocument(pages[0].doc_id, by_page, whole, places, _stems(places))


def _places(pages: Sequence[ZonedPage]) -> dict[str, list[int]]:
    places: defaultdict[str, list[int]] = defaultdict(list)
    position = 0
    for page in pages:
        for word in page.words():
            position += 1 + 2 * word.barrier  # a full stop keeps words apart
            places[singular(word.norm)].append(position)
    return dict(places)


def _stems(places: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
    stems: defaultdict[str, list[int]] = defaultdict(list)
    for word, positions in places.items():
        stems[_stem(word)] += positions
    return {stem: sorted(positions) for stem, positions in stems.items()}


def _stem(word: str) -> str:
    """A word without most endings: "efficient" and "efficiency" begin alike."""
    return word[:STEM_CHARS]


def doubtful_absences(found: Searched, documents: Iterable[BareDocument]) -> Iterator[str]:
    """Documents without a page for a condition that may express it all the same."""
    surfaces = (*found.condition.surfaces, *_without_owner(found.condition.name))
    keys = sorted({squeeze(surface) for surface in surfaces} - {""})
    for document in documents:
        here = found.documents.get(document.doc_id)
        if here is not None and (here.pages or here.doubtful):
            continue
        if any(key in document.whole for key in keys) or _may_mean(found.condition, document):
            yield document.doc_id


def _without_owner(name: str) -> list[str]:
    """The rest of a name after the organisation it belongs to, if that says enough alone."""
    for owner in ("United Nations ", "UN ", "United States ", "U.S. ", "World Bank "):
        rest = name.removeprefix(owner)
        if rest != name and " " in rest:
            return [rest]
    return []


def _may_mean(condition: Condition, document: BareDocument) -> bool:
    """Whether the words of a name stand close together, or a long heading without its first."""
    words = [singular(word.norm) for word in split_words(condition.name)]
    content = list(dict.fromkeys(word for word in words if word not in FUNCTION_WORDS))
    if len(content) < 2:
        return any(_stem(word) in document.stems for word in content if len(word) > STEM_CHARS)
    if _stand_close(content, len(words) + MAX_BETWEEN - 1, document.places):
        return True
    if _stand_close([_stem(word) for word in content], len(words), document.stems):
        return True
    if condition.kind == "entity" and len(content) >= MIN_SHORTENED:
        return _may_be_shortened(content, document)
    is_long_heading = condition.kind == "heading" and len(content) > 2
    return is_long_heading and _stand_close(content[-2:], 1, document.places)


def _may_be_shortened(content: Sequence[str], document: BareDocument) -> bool:
    """Whether the last two words of a long name follow on another one of it: "Refuge … Act"."""
    *others, before_last, last = content
    ends = {place - 1 for place in document.places.get(last, ())}
    pairs = ends.intersection(document.places.get(before_last, ()))
    return any(place + 1 in pairs for word in others for place in document.places.get(word, ()))


def _stand_close(content: Sequence[str], reach: int, places: Mapping[str, Sequence[int]]) -> bool:
    """Whether all the words stand somewhere with at most ``reach`` from the first to the last."""
    if any(word not in places for word in content):
        return False
    rare, *others = sorted(set(content), key=lambda word: (len(places[word]), word))
    return any(_within(place, [places[word] for word in others], reach) for place in places[rare])


def _within(place: int, others: Sequence[Sequence[int]], reach: int) -> bool:
    near = [place]
    for places in others:
        number = bisect_left(places, place)
        around = [places[i] for i in (number - 1, number) if 0 <= i < len(places)]
        near.append(min(around, key=lambda other: abs(other - place)))
    return max(near) - min(near) <= reach


def missing_pages(found: Searched, document: BareDocument) -> list[int]:
    """Pages said to hold a condition on which none of its wordings can be read again."""
    condition = found.condition
    keys = {squeeze(text) for text in (*condition.surfaces, *condition.acronyms)} - {""}
    pages = found.documents[document.doc_id].pages
    return [page for page in sorted(pages) if not any(k in document.pages[page] for k in keys)]


def verify_candidates(
    candidates: Sequence[Candidate],
    found: Mapping[str, Searched],
    documents: Mapping[str, BareDocument],
) -> list[Verification]:
    """Check every item; the result has one row per candidate, in order."""
    doubts: dict[str, set[str]] = {}
    for name in sorted({name for item in candidates for name in item.conditions}):
        doubts[name] = set(doubtful_absences(found[name], documents.values()))
    return [_verify(item, found, documents, doubts) for item in candidates]


def _verify(
    item: Candidate,
    found: Mapping[str, Searched],
    documents: Mapping[str, BareDocument],
    doubts: Mapping[str, set[str]],
) -> Verification:
    for name in item.conditions:
        for doc_id in item.golds:
            lost = missing_pages(found[name], documents[doc_id])
            if lost:
                reason = f"{name!r} cannot be read again on page {lost[0]} of {doc_id}"
                return Verification(item.conditions, False, reason)
    for name in item.conditions:
        for doc_id in sorted(doubts[name]):
            return Verification(item.conditions, False, f"{name!r} may stand in {doc_id}")
    again = judge(item.conditions, [found[name].documents for name in item.conditions])
    if again != item:
        return Verification(item.conditions, False, "grading it again gives other documents")
    return Verification(item.conditions, True, "")
