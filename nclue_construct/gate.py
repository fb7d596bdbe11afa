"""Decide which conditions may be asked for: KEEP, SPLIT or REJECT, each with the rule applied.

This is the rule-based gate, used where no LLM judge is configured. Every rule is a line of
`RULES`; `nclue construct` lists what each of them rejected.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from nclue_construct.search import Searched
from nclue_construct.surface import split_words, squeeze
from nclue_construct.vocabulary import (
    BOILERPLATE,
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
    min_strong_share: float = 0.5  # of the hits: in headings or running text


class Decision(NamedTuple):
    """What the gate decided about one condition."""

    name: str
    verdict: str  # KEEP, SPLIT or REJECT
    rule: str  # name of the rule, "" for KEEP
    detail: str

    def to_json(self) -> dict[str, Any]:
        """The row as it is written."""
        return self._asdict()


def judge_condition(found: Searched, limits: GateLimits) -> Decision:
    """Apply the rules in order; the first that objects decides.

    A condition that is often part of a longer name, or that stands unclearly in too many
    documents, would have to be split into what it means in each; rules can't, so SPLIT drops it.
    """
    name = found.condition.name
    for rule, verdict, objection in RULES:
        detail = objection(found, limits)
        if detail is not None:
            return Decision(name, verdict, rule, detail)
    return Decision(name, "KEEP", "", "")


def _words(found: Searched) -> list[str]:
    return [word.norm for word in split_words(found.condition.name)]


def _length(found: Searched, limits: GateLimits) -> str | None:
    name = found.condition.name
    n_words = len(name.split())
    if found.condition.kind == "gazetteer":
        return None
    if not limits.min_words <= n_words <= limits.max_words or len(name) > limits.max_letters:
        return f"{n_words} words, {len(name)} characters"
    return None


def _vague(found: Searched, _: GateLimits) -> str | None:
    content = [word for word in _words(found) if word not in FUNCTION_WORDS]
    if all(word in VAGUE for word in content):
        return "every word is general"
    return None


def _boilerplate(found: Searched, _: GateLimits) -> str | None:
    if squeeze(found.condition.name) in BOILERPLATE:
        return "stands on covers, in notices or forms"
    furniture = [word for word in _words(found) if word in FURNITURE]
    return f"page furniture: {furniture[0]}" if furniture else None


def _label(found: Searched, _: GateLimits) -> str | None:
    words = _words(found)
    if words[0] in LABELS:
        return f"begins with the label {words[0]!r}"
    if found.condition.kind != "gazetteer" and any(word.isdigit() for word in words):
        return "holds a number"
    return None


def _date_or_unit(found: Searched, _: GateLimits) -> str | None:
    wrong = [word for word in _words(found) if word in MONTHS or word in UNITS]
    return f"date or unit: {wrong[0]}" if wrong else None


def _fragment(found: Searched, _: GateLimits) -> str | None:
    name = found.condition.name
    words = _words(found)
    if words[0] in FUNCTION_WORDS or words[0] in ("none", "other", "others", "thank", "draft"):
        return f"begins with {words[0]!r}"
    if words[-1] in FUNCTION_WORDS or words[-1] == "no" or re.search(r"['’]s?$", name):
        return "its end is cut off"
    if any(len(word) == 1 for word in words) or re.search(r"[!?:;/()\[\]|=<>*_…]", name):
        return "holds a loose letter or a mark that titles don't have"
    inner = {word for word in words if word in ("we", "our", "you", "your", "i", "is", "are")}
    return f"part of a sentence: {sorted(inner)[0]!r}" if inner else None


def _frequency(found: Searched, limits: GateLimits) -> str | None:
    n = n_documents(found)
    if not limits.min_documents <= n <= limits.max_documents:
        return f"stands in {n} documents"
    return None


def _weak(found: Searched, limits: GateLimits) -> str | None:
    counted = max(1, found.n_hits - found.n_inside)
    share = found.n_strong / counted
    if share < limits.min_strong_share:
        return f"{share:.0%} of its hits are in headings or running text"
    return None


def _inside(found: Searched, limits: GateLimits) -> str | None:
    share = found.n_inside / max(1, found.n_hits)
    if share > limits.max_inside_share:
        return f"{share:.0%} of its hits are inside longer names"
    return None


def _doubtful(found: Searched, limits: GateLimits) -> str | None:
    wrong = [
        doc_id for doc_id, here in found.documents.items() if here.doubtful and not here.pages
    ]
    if len(wrong) > limits.max_doubtful_documents:
        return f"unclear in {len(wrong)} documents, as {sorted(wrong)[0]}"
    return None


def n_documents(found: Searched) -> int:
    """Number of documents that hold a condition."""
    return sum(1 for here in found.documents.values() if here.pages)


RULES: tuple[tuple[str, str, Callable[[Searched, GateLimits], str | None]], ...] = (
    ("length", "REJECT", _length),
    ("fragment", "REJECT", _fragment),
    ("label", "REJECT", _label),
    ("date_or_unit", "REJECT", _date_or_unit),
    ("boilerplate", "REJECT", _boilerplate),
    ("vague", "REJECT", _vague),
    ("frequency", "REJECT", _frequency),
    ("weak", "REJECT", _weak),
    ("inside_longer_names", "SPLIT", _inside),
    ("doubtful", "SPLIT", _doubtful),
)
