"""From text to words: what BM25 matches, and which parts of a query are asked.

One rule for documents and queries: letters and digits of any script in the one form of
`nclue_core.letters` (compatibility forms unified, lower case, accents of Latin, Greek and
Cyrillic letters dropped, marks of other scripts kept, soft hyphens and joiners dropped). Words
are joined that a hyphen of any kind breaks at the end of a line (between lower-case letters; a
compound that is broken there is joined, too). Raised digits stand apart: "mechanism²" is
"mechanism" with a note. No stemming.
Scripts written without blanks (Chinese, Thai) give one word per run of characters, which is a
limit of these systems.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from nclue_core.letters import HYPHENS, fold, in_class

RULE = "words-3"  # part of the key of cached indexes; change it with the rule

_SMALL = r"[^\W\d_A-ZÀ-ÖØ-ÞΑ-ΫЀ-Я]"
_BROKEN = re.compile(rf"[{HYPHENS}](?<={_SMALL}.)\n(?={_SMALL})")
_WORD = re.compile(r"[^\W_]+")
_RAISED = re.compile("([\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2079\u2150-\u215e]+)")
_ASCII = bytes(ord(chr(c).lower()) if chr(c).isalnum() and c < 128 else 32 for c in range(256))
_QUOTED = re.compile(r'"([^"]*)"|“([^”]*)”')

# Closed-class words: dropped from queries, kept in documents. Short on purpose. A condition of
# nothing else ("The Who" is not one, "It" is) keeps them.
STOP_WORDS = frozenset(
    {"a", "an", "and", "are", "as", "at", "be", "been", "by", "for", "from", "has",
     "have", "in", "into", "is", "it", "its", "of", "on", "or", "over", "such", "that",
     "the", "their", "these", "this", "those", "to", "under", "was", "were", "which",
     "with"}
)  # fmt: skip


def words(text: str) -> list[str]:
    """The words of a text, in order, with repeats.

    Example:
        >>> words("Naïve COVID-19 e\ufb03ciency")
        ['naive', 'covid', '19', 'efficiency']
    """
    if "-\n" in text or not text.isascii():
        text = _BROKEN.sub("", text)
    if text.isascii():  # the same by one table: several times faster than a pattern
        return text.encode("ascii").translate(_ASCII).decode("ascii").split()
    folded = fold(_RAISED.sub(r" \1", text))
    if folded.isascii() or _mark().search(folded) is None:
        return _WORD.findall(folded)
    return _marked_word().findall(folded)


@functools.cache
def _mark() -> re.Pattern[str]:
    return re.compile(f"[{in_class('M')}]")


@functools.cache
def _marked_word() -> re.Pattern[str]:
    return re.compile(rf"[^\W_](?:[^\W_]|[{in_class('M')}])*")


def query_words(text: str) -> list[str]:
    """The words of a query or condition without stop words; all of them if only those are left."""
    found = words(text)
    return [word for word in found if word not in STOP_WORDS] or found


def quoted_parts(text: str) -> list[str]:
    """What a query text quotes, or the whole text as one part where it quotes nothing.

    ``Find the document that discusses "X" and "Y".`` asks for X and Y. Unbalanced quotes mean
    that a quote belongs to a name: then the whole text is one part.
    """
    if text.count('"') % 2 or text.count("“") != text.count("”"):
        return [text]
    parts = [straight or curly for straight, curly in _QUOTED.findall(text)]
    return [part for part in parts if part.strip()] or [text]


def part_words(parts: Iterable[str]) -> list[str]:
    """The query words of several parts, one after the other (repeats count twice in BM25)."""
    return [word for part in parts for word in query_words(part)]
