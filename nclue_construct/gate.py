"""Decide which conditions may be asked for: KEEP, SPLIT or REJECT, each with the rule applied.

This is the rule-based gate, used where no LLM judge is configured. Every rule is a line of
`RULES`; `nclue construct` lists what each of them rejected.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from nclue_construct.cluster import cluster_key, initialisms
from nclue_construct.search import Searched
from nclue_construct.surface import split_words, squeeze
from nclue_construct.vocabulary import (
    BOILERPLATE,
    ENTITY_TYPES,
    FUNCTION_WORDS,
    FURNITURE,
    LABELS,
    MONTHS,
    UNITS,
    VAGUE,
)


@dataclass(frozen=True)
class GateLimits:
    """Limits of the rule-based gate."""

    min_words: int = 2
    max_words: int = 6
    max_letters: int = 55
    min_documents: int = 3
    max_documents: int = 45
    max_doubtful_documents: int = 0  # where it stands only where it doesn't count, or unclearly
    max_inside_share: float = 0.25  # of the hits: inside a longer name
    max_lower_share: float = 0.1  # of a name's hits: in small letters
    max_same_neighbour: float = 0.5  # of a name's hits: beside one and the same name word
    min_sources: int = 2  # in which a heading must occur: one series of documents has templates
    min_strong_share: float = 0.5  # of the hits: in headings or running text


@dataclass(frozen=True)
class GateContext:
    """What the rules look at besides the condition itself."""

    limits: GateLimits
    source_of: Mapping[str, str]  # source of each document
    keys: frozenset[str] = frozenset()  # cluster keys of all conditions
    twins: Mapping[str, str] = field(default_factory=dict)  # name -> a more frequent variant


def gate_context(
    found: Sequence[Searched], source_of: Mapping[str, str], limits: GateLimits
) -> GateContext:
    """The context of a gate over all conditions."""
    n_sources = len(set(source_of.values()))  # where all come from one, none can tell templates
    limits = replace(limits, min_sources=max(1, min(limits.min_sources, n_sources)))
    keys = frozenset(cluster_key(item.condition.name) for item in found)
    return GateContext(limits, source_of, keys, _twins(found))


def _twins(found: Sequence[Searched]) -> dict[str, str]:
    """Names that look like variants of a more frequent name ("Oceanographic" for "Oceanic")."""
    groups: defaultdict[str, list[Searched]] = defaultdict(list)
    for item in found:
        if item.condition.kind == "entity":
            for initials in initialisms(item.condition.name):
                groups[initials].append(item)
    twins = {}
    for members in groups.values():
        best = max(members, key=lambda item: (item.n_hits, item.condition.name))
        for item in members:
            if item is not best and _nearly_same(item.condition.name, best.condition.name):
                twins[item.condition.name] = best.condition.name
    return twins


def _nearly_same(one: str, other: str) -> bool:
    a, b = set(one.lower().split()), set(other.lower().split())
    return len(a & b) >= max(2, len(a | b) - 2)


class Decision(NamedTuple):
    """What the gate decided about one condition."""

    name: str
    verdict: str  # KEEP, SPLIT or REJECT
    rule: str  # name of the rule, "" for KEEP
    detail: str

    def to_json(self) -> dict[str, Any]:
        """The row as it is written."""
        return self._asdict()


def judge_condition(found: Searched, context: GateContext) -> Decision:
    """Apply the rules in order; the first that objects decides.

    A condition that is often part of a longer name, or that stands unclearly in too many
    documents, would have to be split into what it means in each; rules can't, so SPLIT drops it.
    """
    name = found.condition.name
    for rule, verdict, objection in RULES:
        detail = objection(found, context)
        if detail is not None:
            return Decision(name, verdict, rule, detail)
    return Decision(name, "KEEP", "", "")


def _words(found: Searched) -> list[str]:
    return [word.norm for word in split_words(found.condition.name)]


def _length(found: Searched, context: GateContext) -> str | None:
    name = found.condition.name
    n_words = len(name.split())
    if found.condition.kind == "gazetteer":
        return None
    limits = context.limits
    if not limits.min_words <= n_words <= limits.max_words or len(name) > limits.max_letters:
        return f"{n_words} words, {len(name)} characters"
    return None


def _vague(found: Searched, _: GateContext) -> str | None:
    content = [word for word in _words(found) if word not in FUNCTION_WORDS]
    if all(word in VAGUE for word in content):
        return "every word is general"
    return None


def _boilerplate(found: Searched, _: GateContext) -> str | None:
    if squeeze(found.condition.name) in BOILERPLATE:
        return "stands on covers, in notices or forms"
    furniture = [word for word in _words(found) if word in FURNITURE]
    return f"page furniture: {furniture[0]}" if furniture else None


def _label(found: Searched, _: GateContext) -> str | None:
    words = _words(found)
    if words[0] in LABELS:
        return f"begins with the label {words[0]!r}"
    if found.condition.kind != "gazetteer" and any(word.isdigit() for word in words):
        return "holds a number"
    return None


def _date_or_unit(found: Searched, _: GateContext) -> str | None:
    wrong = [word for word in _words(found) if word in MONTHS or word in UNITS]
    return f"date or unit: {wrong[0]}" if wrong else None


def _fragment(found: Searched, _: GateContext) -> str | None:
    name = found.condition.name
    words = _words(found)
    if words[0] in FUNCTION_WORDS or words[0] in ("none", "other", "others", "thank", "draft"):
        return f"begins with {words[0]!r}"
    if words[-1] in FUNCTION_WORDS or words[-1] == "no" or re.search(r"['\u2019]s?$", name):
        return "its end is cut off"
    if any(len(word) == 1 for word in words) or re.search(r"[!?:;/()\[\]|=<>*_\u2026]", name):
        return "holds a loose letter or a mark that titles don't have"
    if found.condition.kind == "entity" and _joins_names(name):
        return "names joined by 'and'"
    first, _blank, rest = name.partition(" ")
    if first.isupper() and first in initialisms(rest):
        return f"{first} stands before its own long form"
    inner = {word for word in words if word in ("we", "our", "you", "your", "i", "is", "are")}
    return f"part of a sentence: {sorted(inner)[0]!r}" if inner else None


def _joins_names(name: str) -> bool:
    """``Exchange Act and Rule``, ``STAR Panel and the STAT``: a whole name before "and"."""
    words = name.lower().split()
    for number, word in enumerate(words[1:-1], 1):
        if word in ("and", "&") and (
            words[number - 1] in ENTITY_TYPES or words[number + 1] == "the"
        ):
            return True
    return False


def _frequency(found: Searched, context: GateContext) -> str | None:
    n = n_documents(found)
    if not context.limits.min_documents <= n <= context.limits.max_documents:
        return f"stands in {n} documents"
    return None


def _weak(found: Searched, context: GateContext) -> str | None:
    counted = max(1, found.n_hits - found.n_inside)
    share = found.n_strong / counted
    if share < context.limits.min_strong_share:
        return f"{share:.0%} of its hits are in headings or running text"
    return None


def _inside(found: Searched, context: GateContext) -> str | None:
    share = found.n_inside / max(1, found.n_hits)
    if share > context.limits.max_inside_share:
        return f"{share:.0%} of its hits are inside longer names"
    return None


def _part_of_name(found: Searched, context: GateContext) -> str | None:
    """A name whose hits nearly always continue the same way is a piece of the whole name."""
    for place, counts in (("before", found.before), ("after", found.after)):
        for word, count in counts.items():
            if count / max(1, found.n_hits) > context.limits.max_same_neighbour:
                return f"{word!r} stands {place} it in {count} of {found.n_hits} hits"
    return None


def _small_letters(found: Searched, context: GateContext) -> str | None:
    share = found.n_lower / max(1, found.n_hits)
    if found.condition.kind == "entity" and share > context.limits.max_lower_share:
        return f"a name, but {share:.0%} of its hits are in small letters"
    return None


def _template(found: Searched, context: GateContext) -> str | None:
    if found.condition.kind != "heading":
        return None
    sources = {context.source_of[doc_id] for doc_id, here in found.documents.items() if here.pages}
    if len(sources) < context.limits.min_sources:
        return f"a heading of documents of one source only: {sorted(sources)[0]}"
    return None


def _two_in_one(found: Searched, context: GateContext) -> str | None:
    name = found.condition.name
    twin = context.twins.get(name)
    if twin is not None:
        return f"a variant of {twin!r}: the same initials, nearly the same words"
    for office in ("Department of ", "Ministry of "):
        if cluster_key(office + name) in context.keys:
            return f"a part of {office + name!r}"
    if name.startswith("United States ") and cluster_key(name[14:]) in context.keys:
        return f"the same name without its country: {name[14:]!r}"
    for link in (" and the ", " and ", " of the ", " of "):
        left, found_link, right = name.partition(link)
        if found_link and " " in left and " " in right:
            keys = {cluster_key(left), cluster_key(right)}
            if keys <= context.keys:
                return f"two names in one: {left!r} and {right!r}"
    return None


def _doubtful(found: Searched, context: GateContext) -> str | None:
    wrong = [doc_id for doc_id, here in found.documents.items() if here.doubtful and not here.pages]
    if len(wrong) > context.limits.max_doubtful_documents:
        return f"unclear in {len(wrong)} documents, as {sorted(wrong)[0]}"
    return None


def n_documents(found: Searched) -> int:
    """Number of documents that hold a condition."""
    return sum(1 for here in found.documents.values() if here.pages)


RULES: tuple[tuple[str, str, Callable[[Searched, GateContext], str | None]], ...] = (
    ("length", "REJECT", _length),
    ("fragment", "REJECT", _fragment),
    ("label", "REJECT", _label),
    ("date_or_unit", "REJECT", _date_or_unit),
    ("boilerplate", "REJECT", _boilerplate),
    ("vague", "REJECT", _vague),
    ("frequency", "REJECT", _frequency),
    ("weak", "REJECT", _weak),
    ("template", "REJECT", _template),
    ("two_in_one", "SPLIT", _two_in_one),
    ("part_of_name", "REJECT", _part_of_name),
    ("small_letters", "SPLIT", _small_letters),
    ("inside_longer_names", "SPLIT", _inside),
    ("doubtful", "SPLIT", _doubtful),
)
