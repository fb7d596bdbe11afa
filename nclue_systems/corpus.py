"""A corpus as numbers: the words of every page, and the units that are searched.

Units are spans of one long array of word numbers: whole documents, pages, or chunks of 3,072
words with an overlap of 256. Units without a word don't exist: they are not counted in BM25's N
nor in its mean length.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nclue_systems.words import words

Representation = Literal["document", "chunk", "page"]
REPRESENTATIONS: tuple[Representation, ...] = ("document", "chunk", "page")
CHUNK_WORDS = 3_072
CHUNK_OVERLAP = 256

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Units:
    """The spans that are searched, in corpus order; U of them."""

    starts: Ints  # (U,) first word of the span
    ends: Ints  # (U,) one after its last word
    documents: Ints  # (U,) number of the document, ascending
    pages: Ints  # (U,) 1-based page for pages, 0 otherwise

    @property
    def lengths(self) -> Ints:
        """Number of words of each unit."""
        return self.ends - self.starts


@dataclass(frozen=True)
class CorpusIndex:
    """The words of a corpus; documents in lexicographic order of doc_id."""

    doc_ids: tuple[str, ...]
    vocabulary: Mapping[str, int]  # word -> number, in order of first appearance
    word_numbers: NDArray[np.int32]  # all words of all pages, one after the other
    page_ends: Ints  # (P,) where each page ends in word_numbers
    page_documents: Ints  # (P,) number of its document, ascending
    page_numbers: Ints  # (P,) 1-based page
    _made: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def units(self, representation: Representation) -> Units:
        """The units of a representation (made once)."""
        made: Units = self.once(
            ("units", representation), lambda: _make_units(self, representation)
        )
        return made

    def numbers(self, found: Iterable[str]) -> list[int]:
        """Numbers of the words that occur in the corpus; other words are left out."""
        return [self.vocabulary[word] for word in found if word in self.vocabulary]

    def document_lengths(self) -> Ints:
        """(D,) words per document; 0 for a document without text."""
        return np.bincount(
            self.page_documents, weights=_page_lengths(self), minlength=len(self.doc_ids)
        ).astype(np.int64)

    def once(self, key: object, make: Callable[[], Any]) -> Any:
        """A thing derived from this corpus, made at its first use."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


def build_index(documents: Mapping[str, Sequence[tuple[int, str]]]) -> CorpusIndex:
    """Number the words of a corpus.

    Args:
        documents: Per doc_id its pages as (1-based page number, text), in page order. A document
            without pages or text is part of the corpus; it can only be ranked by systems that
            don't read it (random).
    """
    doc_ids = sorted(documents)
    number_of: defaultdict[str, int] = defaultdict()
    number_of.default_factory = number_of.__len__
    parts, ends, owners, numbers, end = [], [], [], [], 0
    for owner, doc_id in enumerate(doc_ids):
        for page, text in documents[doc_id]:
            found = words(text)
            parts.append(np.fromiter(map(number_of.__getitem__, found), np.int32, len(found)))
            end += len(found)
            ends.append(end)
            owners.append(owner)
            numbers.append(page)
    return CorpusIndex(
        tuple(doc_ids),
        dict(number_of),
        np.concatenate(parts) if parts else np.empty(0, np.int32),
        np.array(ends, np.int64),
        np.array(owners, np.int64),
        np.array(numbers, np.int64),
    )


def _page_lengths(index: CorpusIndex) -> Ints:
    return np.diff(index.page_ends, prepend=0)


def _make_units(index: CorpusIndex, representation: Representation) -> Units:
    if representation == "page":
        starts = index.page_ends - _page_lengths(index)
        spans = Units(starts, index.page_ends, index.page_documents, index.page_numbers)
    else:
        lengths = index.document_lengths()
        ends = np.cumsum(lengths)
        owners = np.arange(len(lengths))
        spans = Units(ends - lengths, ends, owners, np.zeros_like(owners))
    if representation == "chunk":
        spans = _chunks(spans)
    full = spans.lengths > 0
    return Units(spans.starts[full], spans.ends[full], spans.documents[full], spans.pages[full])


def _chunks(documents: Units) -> Units:
    """Cut documents; the last chunk holds at least one word that no chunk before it holds."""
    step = CHUNK_WORDS - CHUNK_OVERLAP
    counts = np.maximum(1, -(-(documents.lengths - CHUNK_OVERLAP) // step))
    first = np.cumsum(counts) - counts
    within = np.arange(counts.sum()) - np.repeat(first, counts)
    starts = np.repeat(documents.starts, counts) + within * step
    ends = np.minimum(starts + CHUNK_WORDS, np.repeat(documents.ends, counts))
    return Units(starts, ends, np.repeat(documents.documents, counts), np.zeros_like(starts))
