"""One form for the typographic variants of a word, and what Unicode counts as part of one.

The rule, for texts in any language:

- Case does not matter (full case folding: final sigma is sigma, sharp s is ss); the dotless i
  is an i, because capitals do not tell them apart.
- Compatibility characters are what they stand for: ligatures, full-width forms, superscript,
  subscript and circled digits, Roman numerals; digits of every script are those of ASCII.
- Accents of Latin, Greek and Cyrillic letters are dropped, so "résumé" is "resume" and "El Niño"
  is "EL NINO": capitals, OCR and plain typing lose them far more often than they alone tell two
  words apart. Marks that make another letter stay: й and ў, ї, Japanese voicing, and the vowel
  signs and viramas of all other scripts.
- Soft hyphens (with the line break after one), joiners, direction marks, variation selectors
  and the Arabic filling stroke are no part of a word.
- Every kind of apostrophe, also those that Unicode calls letters, ends a run of letters.
"""

from __future__ import annotations

import functools
import re
import unicodedata

# U+02B9..U+02BF and U+A78C are letters for Unicode, and apostrophes for readers.
APOSTROPHES = "'`\u00b4\u02b9\u02bb-\u02bf\u02c8\u05f3\u2018\u2019\u201b\u2032\ua78b\ua78c\uff07"
HYPHENS = "\\-\u00ac\u058a\u2010\u2011\ufe63\uff0d"
IGNORED = (
    "\u00ad\u034f\u061c\u0640\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef"
)
SOFT_BREAK = "\u00ad[ \\t]*\\r?\\n[ \\t]*"
_SOFT_BREAK = re.compile(SOFT_BREAK)
_DROPPED = re.compile(
    f"[{IGNORED}\u0300-\u0305\u0307\u0309-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)
_BREVE_OR_DOTS = re.compile("(?<![иу])\u0306|(?<!\u0456)\u0308")
_OTHER_FORM = re.compile("[\u0131æœ\u02b9\u02bb-\u02bf\u02c8\ua78b\ua78c]")
_FORMS = {"\u0131": "i", "æ": "ae", "œ": "oe"}  # the others are apostrophes


def fold(text: str) -> str:
    """The one form of a word or text; blanks and punctuation stay."""
    if text.isascii():
        return text.lower()
    if "\u00ad" in text:
        text = _SOFT_BREAK.sub("", text)
    folded = _DROPPED.sub("", unicodedata.normalize("NFKD", text).casefold())
    if "\u0306" in folded or "\u0308" in folded:
        folded = _BREVE_OR_DOTS.sub("", folded)
    if folded.isascii():
        return folded
    plain = _OTHER_FORM.sub(lambda found: _FORMS.get(found[0], "'"), folded)
    plain = unicodedata.normalize("NFC", plain)
    return _other_digit().sub(lambda found: str(unicodedata.decimal(found[0])), plain)


@functools.cache
def _other_digit() -> re.Pattern[str]:
    return re.compile(f"[{in_class('Nd')}]")


@functools.cache
def in_class(category: str) -> str:
    """Characters of a category of Unicode (``M``, ``No``, ``Nd``), for the inside of a class.

    Those of the Basic Multilingual Plane without ASCII: `re` looks only such classes up at once.
    """
    ranges: list[list[int]] = []
    for code in range(0x80, 0x10000):
        if not unicodedata.category(chr(code)).startswith(category):
            continue
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)
