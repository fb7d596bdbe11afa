"""BM25 over the units of a corpus, as sparse columns of precomputed weights.

The library bm25s (``method="lucene"``) computes the weights; queries are summed here, since
all-words-first and distinct-page systems need the columns. The weight of word t in unit u:

    log(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * length / mean length))

N, df, lengths and their mean are over the units that hold a word. A query's score is the sum
over its words; a word that the query repeats counts as often as it is repeated. Everything is
64-bit floating point and summed in the order of the query, so scores are reproducible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nclue_core.errors import require
from nclue_systems.corpus import CorpusIndex, Floats, Ints, Representation, Units


@dataclass(frozen=True)
class Postings:
    """Where each word occurs: for word t the entries ``first[t]:first[t + 1]``."""

    first: Ints  # (V + 1,)
    units: Ints  # unit of each entry, ascending within a word
    counts: NDArray[np.int32]  # how often the word stands there, at least 1
    n_units: int

    def units_with(self, word: int) -> Ints:
        """The units that hold a word."""
        return self.units[self.first[word] : self.first[word + 1]]


@dataclass(frozen=True)
class Bm25:
    """BM25 weights of one representation with one choice of k1 and b."""

    postings: Postings
    weights: Floats  # one per entry of the postings

    def scores(self, numbers: Sequence[int]) -> Floats:
        """(U,) scores of all units for the words of a query; 0 where none of them occurs."""
        total = np.zeros(self.postings.n_units)
        first = self.postings.first
        for number in numbers:
            entries = slice(first[number], first[number + 1])
            total[self.postings.units[entries]] += self.weights[entries]
        return total


def postings(index: CorpusIndex, representation: Representation) -> Postings:
    """The postings of a representation (made once per corpus)."""
    made: Postings = index.once(
        ("postings", representation),
        lambda: _make_postings(index, index.units(representation)),
    )
    return made


def bm25(index: CorpusIndex, representation: Representation, *, k1: float, b: float) -> Bm25:
    """BM25 weights of a representation (made once per corpus and parameters)."""
    made: Bm25 = index.once(
        ("bm25", representation, k1, b),
        lambda: Bm25(
            postings(index, representation),
            _weights(index, representation, k1, b),
        ),
    )
    return made


def _make_postings(index: CorpusIndex, units: Units) -> Postings:
    sparse = require("scipy.sparse", extra="lexical", purpose="BM25 retrieval")
    lengths = units.lengths
    owner = np.repeat(np.arange(len(lengths)), lengths)
    shift = units.starts - (np.cumsum(lengths) - lengths)  # spans may overlap, or leave gaps
    found = index.word_numbers[np.arange(len(owner)) + np.repeat(shift, lengths)]
    shape = (max(1, len(index.vocabulary)), max(1, len(lengths)))
    # A counting sort: the occurrences of a word in a unit become one entry, units ascending.
    table = sparse.csr_array((np.ones(len(found), np.int32), (found, owner)), shape=shape)
    table.sum_duplicates()
    first = table.indptr[: len(index.vocabulary) + 1].astype(np.int64)
    return Postings(first, table.indices.astype(np.int64), table.data, len(lengths))


def _weights(index: CorpusIndex, representation: Representation, k1: float, b: float) -> Floats:
    """The weights, by bm25s; it lays them out as `_make_postings` lays out the counts."""
    library = require("bm25s", extra="lexical", purpose="BM25 retrieval")
    units = index.units(representation)
    where = postings(index, representation)
    if not where.n_units or not len(where.units):
        return np.empty(0)
    words = [
        index.word_numbers[start : start + length].tolist()
        for start, length in zip(units.starts.tolist(), units.lengths.tolist())
    ]
    vocabulary = {str(number): number for number in range(len(index.vocabulary))}
    retriever = library.BM25(k1=k1, b=b, method="lucene", dtype="float64")
    tokens = library.tokenization.Tokenized(ids=words, vocab=vocabulary)
    retriever.index(tokens, show_progress=False)
    made = retriever.scores
    if not (
        np.array_equal(made["indptr"], where.first) and np.array_equal(made["indices"], where.units)
    ):
        raise RuntimeError("bm25s lays out its index otherwise than expected")  # another version
    weights: Floats = np.asarray(made["data"], dtype=np.float64)
    return weights
