"""Why IDs of a run are not those of the collection: the causes that can be seen in them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from urllib.parse import unquote

SAMPLE = 50  # IDs that are looked at
EVIDENT = 0.6  # share of them that one cause must explain
MAX_LENGTH = 300  # longer ones are no IDs of documents


def likely_cause(unknown: Sequence[str], known: Collection[str]) -> str | None:
    """What was done to IDs so that they are not known, or None where it is not evident.

    Args:
        unknown: IDs of the run that the collection does not have.
        known: IDs of the collection.

    Returns:
        A clause such as ``"'.pdf' stands behind the IDs"``.
    """
    sample = [item for item in unknown[:SAMPLE] if len(item) <= MAX_LENGTH]
    if not sample or not known:
        return None
    names = frozenset(known)
    for find in (*_SPELLINGS, _added, _lost, _parts):
        cause = find(sample, names)
        if cause:
            return cause
    return None


def _is_evident(n: int, sample: Sequence[str]) -> bool:
    return n >= max(1, EVIDENT * len(sample))


def _added(sample: Sequence[str], known: frozenset[str]) -> str | None:
    """The same text before or behind every ID."""
    found = Counter(pair for pair in (_around(item, known) for item in sample) if pair)
    if not found:
        return None
    (before, behind), count = found.most_common(1)[0]
    if not _is_evident(count, sample):
        return None
    return f"{_sides(before, behind)} the IDs of the collection"


def _around(item: str, known: frozenset[str]) -> tuple[str, str] | None:
    """What stands before and behind the longest known ID inside an unknown one."""
    for length in range(len(item) - 1, 0, -1):
        for start in range(len(item) - length + 1):
            if item[start : start + length] in known:
                return item[:start], item[start + length :]
    return None


def _sides(before: str, behind: str) -> str:
    shown = [f"{before!r} stands before"] * bool(before)
    shown += [f"{behind!r} stands behind"] * bool(behind)
    return " and ".join(shown)


def _lost(sample: Sequence[str], known: frozenset[str]) -> str | None:
    """The same text is missing before or behind every ID."""
    example = sample[0]
    candidates = [item for item in known if example and example in item]
    for whole in sorted(candidates, key=len)[:SAMPLE]:
        before, _, behind = whole.partition(example)
        if _is_evident(sum(f"{before}{item}{behind}" in known for item in sample), sample):
            return f"{_sides(before, behind)} the IDs in the collection, not in the run"
    return None


def _parts(sample: Sequence[str], known: frozenset[str]) -> str | None:
    """Different texts behind the IDs: chunks or pages of documents."""
    begun = [item for item in sample if _first_part(item, known)]
    if not _is_evident(len(begun), sample):
        return None
    whole = _first_part(begun[0], known)
    return (
        f"the IDs look like parts of documents, {begun[0]!r} of {whole!r}: give each document "
        "once, at the rank of its best part"
    )


def _first_part(item: str, known: frozenset[str]) -> str | None:
    ends = (end for end in range(len(item) - 1, 0, -1) if not item[end].isalnum())
    return next((item[:end] for end in ends if item[:end] in known), None)


def _respelled(spell: Callable[[str], str], cause: str) -> Callable[..., str | None]:
    def find(sample: Sequence[str], known: frozenset[str]) -> str | None:
        spelled = {spell(item) for item in known}
        return cause if _is_evident(sum(spell(i) in spelled for i in sample), sample) else None

    return find


def _without_padding(text: str) -> str:
    return re.sub(r"0*(\d+)", r"\1", text, flags=re.ASCII)


def _without_marks(text: str) -> str:
    return "".join(char for char in unquote(text).casefold() if char.isalnum())


_SPELLINGS = (
    _respelled(str.casefold, "upper and lower case differ"),
    _respelled(_without_padding, "zeros before numbers differ ('7' is not '007')"),
    _respelled(str.strip, "blanks stand at the ends of the IDs"),
    _respelled(lambda text: unicodedata.normalize("NFKC", text),
               "accents are encoded in another way (Unicode NFC and NFD differ)"),
    _respelled(unquote, "characters are escaped as in addresses (%20)"),
    _respelled(_without_marks, "marks such as - and _ differ"),
)  # fmt: skip
