"""Ranked lists as columns, and the one rule that orders them, whatever file they come from.

Order: by falling score where there are scores, equal scores by rank where there are ranks, and
what is still equal as it stands. Without scores by rank; without either as it stands. With
``ties="trec_eval"`` equal scores are ordered by falling document ID, as trec_eval does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .scoring import ScoringError, repeated_document

Positions = NDArray[np.int64]
Codes = NDArray[Any]  # whole numbers of any width
Numbers = NDArray[np.float64]
Mask = NDArray[np.bool_]

TIES = ("input", "trec_eval")
REPEATS = ("error", "first")


class RunFormatError(ScoringError):
    """A file that cannot be understood; the message names file, line and value."""

    def __init__(self, message: str, source: str, line: int | None = None) -> None:
        where = source if line is None else f"{source}:{line}"
        super().__init__(f"{where}: {message}")


def check_rules(ties: str, repeats: str) -> None:
    """Raise a ScoringError for rules that do not exist."""
    if ties not in TIES:
        raise ScoringError(f"ties is {ties!r}, expected one of {', '.join(TIES)}")
    if repeats not in REPEATS:
        raise ScoringError(f"repeats is {repeats!r}, expected one of {', '.join(REPEATS)}")


class Texts:
    """Different strings: a list, or an Arrow array that becomes one where it must."""

    def __init__(self, items: list[str] | None = None, array: Any = None) -> None:
        self.array = array
        if items is not None:
            self.__dict__["items"] = items

    @cached_property
    def items(self) -> list[str]:
        """The strings."""
        items: list[str] = self.array.to_pylist()
        return items

    def __len__(self) -> int:
        """How many there are."""
        return len(self.items if self.array is None else self.array)


class Index:
    """Finds the places of strings among known ones."""

    def __init__(self, items: Sequence[str]) -> None:
        self._items = items
        self.size = len(items)

    @cached_property
    def _place_of(self) -> dict[str, int]:
        return {item: place for place, item in enumerate(self._items)}

    @cached_property
    def _coded(self) -> Any:
        """The known strings as an Arrow dictionary; None for strings that UTF-8 has not."""
        import pyarrow as pa

        try:
            texts = [item.encode() for item in self._items]
        except UnicodeEncodeError:
            return None
        offsets = np.zeros(len(texts) + 1, dtype=np.int64)
        np.cumsum(list(map(len, texts)), out=offsets[1:])
        if offsets[-1] >= 2**31:
            return None
        # Not `pa.array`: it imports pandas, which takes longer than reading 70 files.
        buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(b"".join(texts))]
        return _dictionary(pa.Array.from_buffers(pa.string(), len(texts), buffers))

    def find(self, texts: Texts) -> Positions:
        """(L,) the place of each text among the known ones; `size` or more for any other."""
        if texts.array is None or self._coded is None or not self.size:
            return np.array([self._place_of.get(t, self.size) for t in texts.items], np.int64)
        import pyarrow as pa

        # Both dictionaries become one that begins with the known strings: no string is made.
        both = pa.chunked_array([self._coded, _dictionary(texts.array)]).unify_dictionaries()
        places: Positions = np.from_dlpack(both.chunk(1).indices).astype(np.int64)
        return places


def _dictionary(array: Any) -> Any:
    import pyarrow as pa

    places = pa.py_buffer(np.arange(len(array), dtype=np.int32))
    indices = pa.Array.from_buffers(pa.int32(), len(array), [None, places])
    return pa.DictionaryArray.from_arrays(indices, array)


@dataclass(frozen=True, eq=False)
class Columns:
    """L documents in Q lists, in file order; what a query has stands together."""

    queries: Texts  # Q, all different
    first: Positions  # (Q + 1,) where each list begins, and L
    documents: Texts  # D, all different
    codes: Codes  # (L,) place of each document in `documents`
    scores: Numbers | None = None  # (L,) finite
    ranks: Positions | None = None  # (L,)

    @classmethod
    def of_lines(
        cls, queries: Texts, places: Codes, documents: Texts, codes: Codes,
        scores: Numbers | None, ranks: Positions | None,
    ) -> Columns:  # fmt: skip
        """From lines of a document each; queries are numbered as they are first met."""
        if (places[1:] < places[:-1]).any():  # a query's lines are apart: join them
            order = np.argsort(places, kind="stable")
            places, codes = places[order], codes[order]
            scores = None if scores is None else scores[order]
            ranks = None if ranks is None else ranks[order]
        first = np.searchsorted(places, np.arange(len(queries) + 1))
        return cls(queries, first.astype(np.int64), documents, codes, scores, ranks)

    @property
    def query_ids(self) -> list[str]:
        """The Q query IDs."""
        return self.queries.items

    @property
    def doc_ids(self) -> list[str]:
        """The L document IDs; one that stands in many lists is one string."""
        found: list[str] = np.array(self.documents.items, dtype=object)[self.codes].tolist()
        return found


@dataclass(frozen=True, eq=False)
class Ranked:
    """Columns in the order of their rankings, no document twice in a list."""

    columns: Columns
    n_tied: int  # documents whose score equals that of a neighbour
    n_repeats_dropped: int
    notes: tuple[str, ...]

    @cached_property
    def lists(self) -> dict[str, list[str]]:
        """The document IDs of each query, best first."""
        doc_ids = self.columns.doc_ids
        bounds = pairwise(self.columns.first.tolist())
        return {
            query_id: doc_ids[start:end]
            for query_id, (start, end) in zip(self.columns.query_ids, bounds)
        }

    @cached_property
    def tie_groups(self) -> dict[str, list[tuple[int, int]]]:
        """Per query with ties, the first and last rank (1-based) of each group of equal scores."""
        columns = self.columns
        if columns.scores is None:
            return {}
        groups: dict[str, list[tuple[int, int]]] = {}
        equal = (columns.scores[1:] == columns.scores[:-1]) & _inside(columns)
        steps = np.diff(np.concatenate([[0], equal.astype(np.int8), [0]]))
        for start, end in zip(np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)):
            row = int(np.searchsorted(columns.first, start, side="right")) - 1
            offset = int(columns.first[row])
            ranks = (int(start) - offset + 1, int(end) - offset + 1)
            groups.setdefault(columns.query_ids[row], []).append(ranks)
        return groups


def rank(columns: Columns, *, ties: str, repeats: str, source: str) -> Ranked:
    """Put columns into the order of their rankings.

    Args:
        columns: What a file holds.
        ties: "input" or "trec_eval"; see the module.
        repeats: A document twice in one list: "error", or "first" to keep its best place.
        source: Named in errors.

    Raises:
        RunFormatError: A document stands twice in a list, or ranks that must order it do.
    """
    inside = _inside(columns)
    if columns.scores is None and columns.ranks is not None:
        _refuse_equal_ranks(columns, columns.ranks, inside, source)
    order = None if _in_order(columns, inside) else _order(columns, ties)
    notes = _notes(columns, inside, order, ties)
    if order is not None:
        columns = _taken(columns, order, columns.first)
    n_tied = _count_tied(columns.scores, inside)
    columns, dropped = _without_repeats(columns, repeats, source)
    return Ranked(columns, n_tied, dropped, notes)


def _inside(columns: Columns) -> Mask:
    """(L - 1,) whether a document is in the list of the one before."""
    inside = np.ones(len(columns.codes) + 1, dtype=np.bool_)
    inside[columns.first] = False
    return inside[1:-1]


def _list_of(columns: Columns) -> Positions:
    """(L,) the list of each document."""
    return np.repeat(np.arange(len(columns.first) - 1), np.diff(columns.first))


def _in_order(columns: Columns, inside: Mask) -> bool:
    """Whether scores fall and ranks do not, so that nothing needs to be sorted or told."""
    scores, ranks = columns.scores, columns.ranks
    if scores is not None and ((scores[1:] >= scores[:-1]) & inside).any():
        return False
    return ranks is None or not ((ranks[1:] < ranks[:-1]) & inside).any()


def _order(columns: Columns, ties: str) -> Positions:
    keys: list[Any] = [_list_of(columns)]
    if columns.scores is not None:
        keys.append(-columns.scores)
    if columns.scores is not None and ties == "trec_eval":
        items = columns.documents.items
        places = np.empty(len(items), dtype=np.int64)
        places[sorted(range(len(items)), key=items.__getitem__)] = np.arange(len(items))
        keys.append(-places[columns.codes])
    elif columns.ranks is not None:
        keys.append(columns.ranks)
    order: Positions = np.lexsort(keys[::-1])  # stable: what is equal stays as it stands
    return order


def _taken(columns: Columns, order: Positions, first: Positions) -> Columns:
    scores, ranks = columns.scores, columns.ranks
    return Columns(
        columns.queries,
        first,
        columns.documents,
        columns.codes[order],
        None if scores is None else scores[order],
        None if ranks is None else ranks[order],
    )


def _count_tied(scores: Numbers | None, inside: Mask) -> int:
    if scores is None:
        return 0
    equal = np.zeros(len(scores) + 1, dtype=np.bool_)
    equal[1:-1] = (scores[1:] == scores[:-1]) & inside
    return int((equal[1:] | equal[:-1]).sum())


def _refuse_equal_ranks(columns: Columns, ranks: Positions, inside: Mask, source: str) -> None:
    equal = (ranks[1:] <= ranks[:-1]) & inside
    if not equal.any():
        return
    order = np.lexsort((ranks, _list_of(columns)))
    ranks = ranks[order]
    equal = (ranks[1:] == ranks[:-1]) & inside
    if equal.any():
        place = int(np.argmax(equal))
        row = int(np.searchsorted(columns.first, place, side="right")) - 1
        doc_ids = [columns.documents.items[columns.codes[order[i]]] for i in (place, place + 1)]
        raise RunFormatError(
            f"query {columns.query_ids[row]!r}: rank {ranks[place]} stands twice (documents "
            f"{doc_ids[0]!r} and {doc_ids[1]!r}); without scores each document needs its own rank",
            source,
        )


def _notes(columns: Columns, inside: Mask, order: Positions | None, ties: str) -> tuple[str, ...]:
    """What a user should know of the order; nothing where scores fall and ranks rise."""
    ranks, scores = columns.ranks, columns.scores
    if order is None or ranks is None or not len(ranks) or ranks.min() == ranks.max():
        return ()  # no ranks, or one number for all: it says nothing
    if scores is None:
        moved = _queries_where(columns, inside & (ranks[1:] < ranks[:-1]))
        text = "the lines are not in the order of their ranks; the ranks decide"
        return (f"{moved}: {text}",) if moved else ()
    by_rank = order if ties == "input" else _order(columns, "input")
    ordered = _taken(columns, by_rank, columns.first)
    notes = _contradictions(ordered, scores[by_rank], ranks[by_rank], inside)
    equal = inside & (scores[by_rank][1:] == scores[by_rank][:-1])
    moved = _queries_where(columns, equal & (by_rank[1:] < by_rank[:-1]))
    if moved and ties == "input":
        notes.append(
            f"{moved}: equal scores stand in another order than their ranks; the ranks decide "
            "between them"
        )
    return tuple(notes)


def _contradictions(ordered: Columns, scores: Numbers, ranks: Positions, inside: Mask) -> list[str]:
    """Documents of a higher score and a worse rank than another of the list."""
    # Scores fall and equal ones are in the order of their ranks: a neighbour shows any such pair.
    wrong = inside & (scores[1:] < scores[:-1]) & (ranks[1:] < ranks[:-1])
    if not wrong.any():
        return []
    place = int(np.argmax(wrong))
    one, two = (
        f"{ordered.documents.items[ordered.codes[i]]!r} has score {scores[i]:g} and rank {ranks[i]}"
        for i in (place, place + 1)
    )
    return [
        f"{_queries_where(ordered, wrong)}: score and rank contradict each other ({one}, {two}); "
        "the scores decide"
    ]


def _queries_where(columns: Columns, found: Mask) -> str:
    """``3 queries, such as 'q1'`` for the lists in which something was found; empty for none."""
    if not found.any():
        return ""
    rows = np.unique(np.searchsorted(columns.first, np.flatnonzero(found), side="right")) - 1
    named = repr(columns.query_ids[int(rows[0])])
    return f"query {named}" if len(rows) == 1 else f"{len(rows)} queries, such as {named}"


def _without_repeats(columns: Columns, repeats: str, source: str) -> tuple[Columns, int]:
    if not _any_repeated(columns.codes, columns.first):
        return columns, 0
    lists = _list_of(columns)
    keys = lists * len(columns.documents) + columns.codes
    kept = np.sort(np.unique(keys, return_index=True)[1])
    if repeats == "error":
        row = int(lists[np.setdiff1d(np.arange(len(keys)), kept)[0]])
        start, end = columns.first[row], columns.first[row + 1]
        ranking = [columns.documents.items[code] for code in columns.codes[start:end]]
        raise RunFormatError(repeated_document(columns.query_ids[row], ranking), source)
    first = np.searchsorted(kept, columns.first).astype(np.int64)
    return _taken(columns, kept, first), len(keys) - len(kept)


def _any_repeated(codes: Codes, first: Positions) -> bool:
    lengths = np.diff(first)
    width = int(lengths.max(initial=0))
    if width * len(lengths) > 4 * len(codes) + 1_000:  # a few long lists among short ones
        lists = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
        keys = np.sort(lists * (int(codes.max(initial=0)) + 1) + codes)
        return bool((keys[1:] == keys[:-1]).any())
    if width * len(lengths) == len(codes):
        rows = codes.reshape(len(lengths), width)
    else:  # Sorting each list alone is much faster; short ones are filled with what differs.
        rows = np.tile(np.arange(-1, -width - 1, -1, dtype=np.int64), (len(lengths), 1))
        rows[np.arange(width) < lengths[:, None]] = codes
    rows = np.sort(rows, axis=1)
    return bool((rows[:, 1:] == rows[:, :-1]).any())
