"""Group wordings that name one thing: spelling variants, inflections, acronyms, known aliases."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nclue_construct.mine import Fact
from nclue_construct.surface import split_words, squeeze
from nclue_construct.vocabulary import GAZETTEER_NAMES, KNOWN_ALIASES, SPELLINGS

CONDITIONS_FILE = "conditions.json"  # in a release: the wordings of its conditions
_SMALL = frozenset(["of", "and", "the", "for", "on", "in", "to", "a", "an", "or", "by", "with"])


@dataclass(frozen=True)
class Condition:
    """A thing that a query can ask for, and all wordings that count as naming it."""

    name: str  # as shown in queries
    kind: str  # heading, entity or gazetteer
    surfaces: tuple[str, ...]  # searched in any letter case
    acronyms: tuple[str, ...]  # searched exactly; they count where they are explained
    hints: tuple[str, ...]  # acronyms nobody explains: they never count, but cast doubt
    mined_in: tuple[str, ...]  # documents where it was mined, sorted

    def all_wordings(self) -> tuple[str, ...]:
        """Every wording and acronym that is searched for."""
        return (*self.surfaces, *self.acronyms, *self.hints)

    def to_json(self) -> dict[str, Any]:
        """The row as it is written."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def wordings_json(self) -> dict[str, Any]:
        """What a release says of a condition besides its name: the wordings that count."""
        return {name: getattr(self, name) for name in ("kind", "surfaces", "acronyms")}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Condition:
        """A row read back."""
        lists = ("surfaces", "acronyms", "hints", "mined_in")
        tuples = {name: tuple(row.get(name, ())) for name in lists}
        return cls(name=row["name"], kind=row["kind"], **tuples)


def cluster_facts(facts: Iterable[Fact]) -> list[Condition]:
    """One condition per group of equal wordings, in the order of their names.

    Two wordings are equal when they differ only in typography, letter case, British or American
    spelling, "&" or "and", a leading article, or the plural of their last word. An acronym joins
    the condition of its long form.
    """
    groups: defaultdict[str, list[Fact]] = defaultdict(list)
    acronyms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    facts = list(facts)
    ordinary = _ordinary_words(facts)
    for fact in facts:
        if fact.expands is not None:
            acronyms[_group_of(fact.expands)][fact.surface] += 1
            fact = fact._replace(route="entity", surface=fact.expands, expands=None)
        groups[_group_of(fact.surface)].append(fact)
    known = {cluster_key(name): name for name in KNOWN_ALIASES}
    conditions = [
        _condition(members, acronyms.get(key, Counter()), known.get(key), ordinary)
        for key, members in groups.items()
        if key
    ]
    return sorted(conditions, key=lambda condition: (condition.name.lower(), condition.name))


_ALIAS_GROUPS = {
    squeeze(alias): name for name, aliases in KNOWN_ALIASES.items() for alias in aliases
}


def _group_of(surface: str) -> str:
    """The cluster key of a wording, or that of the name it is known to be another word for."""
    return cluster_key(_ALIAS_GROUPS.get(squeeze(surface), surface))


def _ordinary_words(facts: Iterable[Fact]) -> set[str]:
    """Words that are no acronyms: more often "Joint" or "joint" than "JOINT" among other words."""
    votes: Counter[str] = Counter()
    for surface in {fact.surface for fact in facts if not fact.surface.isupper()}:
        for word in surface.split():
            votes[word.lower()] += -1 if word.isupper() else 1
    return {word for word, vote in votes.items() if vote > 0}


def cluster_key(surface: str) -> str:
    """The form in which wordings of one group are equal."""
    words = [word.norm for word in split_words(surface.replace("&", " and "))]
    if words and words[0] in ("the", "a", "an"):
        words = words[1:]
    if not words:
        return ""
    return "".join([_american(word) for word in words[:-1]] + [_american(singular(words[-1]))])


def _american(word: str) -> str:
    for british, american in SPELLINGS:
        word = word.replace(british, american)
    return word


def singular(word: str) -> str:
    """A plain English singular; words that only look like plurals stay."""
    if len(word) <= 3 or word.endswith(("ss", "us", "is", "ics", "ews")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") else word


def plural(word: str) -> str:
    """A plain English plural."""
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    if word.endswith(("s", "x", "ch", "sh")):
        return word + "es"
    return word + "s"


def _condition(
    members: list[Fact], acronyms: Counter[str], known: str | None, ordinary: Collection[str]
) -> Condition:
    kinds = {fact.route for fact in members}
    kind = next(kind for kind in ("gazetteer", "entity", "heading") if kind in kinds)
    name = (
        known
        or _gazetteer_name(members)
        or display_name((fact.surface for fact in members), ordinary)
    )
    surfaces = wordings(name, {fact.surface for fact in members})
    extra = KNOWN_ALIASES.get(name, ())
    short = {alias for alias in extra if alias.isupper() or alias[:-1].isupper()}
    explained = {*acronyms, *short}
    return Condition(
        name=name,
        kind=kind,
        surfaces=tuple(sorted({*surfaces, *(alias for alias in extra if alias not in short)})),
        acronyms=tuple(sorted(explained)),
        hints=tuple(sorted(initialisms(name) - explained)) if kind == "entity" else (),
        mined_in=tuple(sorted({fact.doc_id for fact in members})),
    )


def condition_of(name: str) -> Condition:
    """A condition of which only the name is known: its regular variants, no acronyms."""
    surfaces = {name, *KNOWN_ALIASES.get(name, ())}
    return Condition(name, "heading", tuple(sorted(wordings(name, surfaces))), (), (), ())


def initialisms(name: str) -> set[str]:
    """Acronyms that a name of three or more words could have."""
    words = [word for word in re.split(r"[\s-]+", name) if word[:1].isalpha()]
    full = "".join(word[0].upper() for word in words)
    short = "".join(word[0].upper() for word in words if word.lower() not in _SMALL)
    return {acronym for acronym in (full, short) if len(acronym) >= 3}


def _gazetteer_name(members: list[Fact]) -> str | None:
    keys = {squeeze(fact.surface) for fact in members}
    return next((name for name in GAZETTEER_NAMES if squeeze(name) in keys), None)


def display_name(surfaces: Iterable[str], ordinary: Collection[str] = ()) -> str:
    """The wording that is shown: the most frequent one, as a title, without a leading article."""
    counts = Counter(surfaces)
    best = max(counts, key=lambda surface: (-_shouted(surface), counts[surface], surface))
    words = best.split()
    if words[0].lower() in ("the", "a", "an") and len(words) > 1:
        words = words[1:]
    return " ".join(_titled(word, number == 0, ordinary) for number, word in enumerate(words))


def _shouted(surface: str) -> int:
    """Number of words in capitals that are too long for acronyms."""
    return sum(1 for word in surface.split() if word.isupper() and len(word) > 3)


def _titled(word: str, is_first: bool, ordinary: Collection[str]) -> str:
    lower = word.lower()
    if lower in _SMALL and not is_first:
        return lower
    shouted = word.isupper() and (len(word) > 6 or lower in ordinary)
    if any(letter.isupper() for letter in word[1:]) and not shouted:
        return word  # an acronym or a name like McKinsey
    return "-".join(part[:1].upper() + part[1:] for part in lower.split("-"))


def wordings(name: str, seen: Iterable[str]) -> set[str]:
    """All wordings that are searched: those seen, and their regular variants."""
    found: set[str] = set()
    for surface in {name, *seen}:
        plain = " ".join(surface.split())
        for variant in _ampersands(plain):
            found.update(_spellings(variant))
    inflected = {form for surface in found for form in _numbers(surface)}
    by_key = {squeeze(form): form for form in sorted(inflected | found)}
    return set(by_key.values())


def _ampersands(surface: str) -> set[str]:
    forms = {surface, surface.replace(" & ", " and "), surface.replace(" and ", " & ")}
    for long, short in (("United States ", "U.S. "), ("United Nations ", "UN ")):
        forms |= {form.replace(long, short) for form in forms if form.startswith(long)}
        forms |= {form.replace(short, long) for form in forms if form.startswith(short)}
    return forms


def _numbers(surface: str) -> set[str]:
    head, _, last = surface.rpartition(" ")
    if not last.isalpha() or last.isupper():
        return {surface}
    return {f"{head} {form}".strip() for form in (last, singular(last), plural(singular(last)))}


def _spellings(surface: str) -> set[str]:
    options = []
    for word in surface.split(" "):
        forms = {word}
        for british, american in SPELLINGS:
            lower = word.lower()
            if british in lower:
                forms.add(lower.replace(british, american))
            elif american in lower:
                forms.add(lower.replace(american, british))
        options.append(sorted(forms)[:2] if len(forms) > 1 else [word])
    return {" ".join(choice) for choice in itertools.islice(itertools.product(*options), 8)}
