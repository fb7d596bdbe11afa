"""From text to words: what BM25 matches, and which parts of a query are asked.

One rule for documents and queries: letters and digits of any script, compatibility forms
unified (ligatures, full width), lower case, accents of Latin, Greek and Cyrillic letters
dropped, soft hyphens dropped, words joined that a hyphen breaks at the end of a line (between
lower-case letters; a compound that is broken there is joined, too). No stemming.
Scripts written without blanks (Chinese, Thai) give one word per run of characters, which is a
limit of these systems.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

RULE = "words-2"  # part of the key of cached indexes; change it with the rule

_BROKEN = re.compile(r"(?<=[a-zà-öø-ÿ])-\n(?=[a-zà-öø-ÿ])")
_WORD = re.compile(r"[^\W_]+")
_ASCII = bytes(ord(chr(c).lower()) if chr(c).isalnum() and c < 128 else 32 for c in range(256))
_DROPPED = re.compile("[\u00ad\u0300-\u036f]")  # soft hyphen, combining accents
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
    if "-\n" in text:
        text = _BROKEN.sub("", text)
    if text.isascii():  # the same by one table: several times faster than a pattern
        return text.encode("ascii").translate(_ASCII).decode("ascii").split()
    folded = unicodedata.normalize("NFKD", text).casefold()
    return _WORD.findall(unicodedata.normalize("NFKC", _DROPPED.sub("", folded)))


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
