"""BM25, words and units, against formulas written out and against bm25s."""

from __future__ import annotations

import math

import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nclue_systems import build_index
from nclue_systems.bm25 import bm25
from nclue_systems.corpus import CHUNK_OVERLAP, CHUNK_WORDS, REPRESENTATIONS
from nclue_systems.words import part_words, query_words, quoted_parts, words

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon"]
TEXT = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
CORPUS = st.lists(st.lists(TEXT, max_size=3), min_size=1, max_size=5)


def corpus(texts: list[list[str]]):
    return build_index({f"d{i}": list(enumerate(pages, start=1)) for i, pages in enumerate(texts)})


def lucene_by_hand(texts: list[str], query: list[str], k1: float, b: float) -> list[float]:
    """BM25 as Kamphuis et al. (2020) print it for Lucene (accurate lengths)."""
    units = [text.split() for text in texts if text.split()]
    mean = sum(map(len, units)) / len(units) if units else 0
    scores = []
    for unit in units:
        total = 0.0
        for word in query:
            df = sum(word in other for other in units)
            tf = unit.count(word)
            if tf:
                idf = math.log(1 + (len(units) - df + 0.5) / (df + 0.5))
                total += idf * tf / (tf + k1 * (1 - b + b * len(unit) / mean))
        scores.append(total)
    return scores


@settings(deadline=None)
@given(
    CORPUS, st.lists(st.sampled_from(WORDS), max_size=4), st.sampled_from([(1.5, 0.75), (0.9, 0.4)])
)
def test_page_scores_are_those_of_the_printed_formula(texts, query, parameters):
    index = corpus(texts)
    k1, b = parameters
    found = bm25(index, "page", k1=k1, b=b).scores(index.numbers(query))
    pages = [page for pages in texts for page in pages]
    assert found.tolist() == pytest.approx(lucene_by_hand(pages, query, k1, b))


@settings(deadline=None)
@given(CORPUS, st.lists(st.sampled_from(WORDS), max_size=4))
def test_document_scores_are_those_of_the_joined_pages(texts, query):
    index = corpus(texts)
    found = bm25(index, "document", k1=1.5, b=0.75).scores(index.numbers(query))
    joined = [" ".join(pages) for pages in texts]
    assert found.tolist() == pytest.approx(lucene_by_hand(joined, query, 1.5, 0.75))


def test_scores_are_those_of_bm25s():
    rng = np.random.default_rng(3)
    names = [f"w{i}" for i in range(200)]
    pages = [[names[i] for i in rng.zipf(1.4, rng.integers(1, 60)) % 200] for _ in range(150)]
    index = build_index({f"d{i:03}": [(1, " ".join(page))] for i, page in enumerate(pages)})
    peer = bm25s.BM25(k1=1.5, b=0.75, method="lucene", dtype="float64")
    peer.index(pages, show_progress=False)
    for query in (["w1"], ["w1", "w2", "w9"], ["w3", "w3", "w50"]):
        ours = bm25(index, "page", k1=1.5, b=0.75).scores(index.numbers(query))
        assert ours == pytest.approx(peer.get_scores(query), rel=1e-9)


def test_pages_without_words_do_not_change_scores():
    with_blank = corpus([["alpha beta", "", "--- !"], ["alpha"]])
    without = corpus([["alpha beta"], ["alpha"]])
    one, other = (
        bm25(i, "page", k1=1.5, b=0.75).scores(i.numbers(["alpha"])) for i in (with_blank, without)
    )
    assert one.tolist() == other.tolist()


@pytest.mark.parametrize(
    ("n_words", "spans"),
    [
        (1, [(0, 1)]),
        (3072, [(0, 3072)]),
        (3073, [(0, 3072), (2816, 3073)]),
        (5888, [(0, 3072), (2816, 5888)]),
        (5889, [(0, 3072), (2816, 5888), (5632, 5889)]),
    ],
)
def test_chunks_have_3072_words_and_overlap_by_256(n_words, spans):
    assert (CHUNK_WORDS, CHUNK_OVERLAP) == (3072, 256)
    half = n_words // 2  # a chunk runs over page breaks
    pages = [(1, "w " * half), (2, "w " * (n_words - half))]
    index = build_index({"a": [(1, "x")], "b": pages})
    units = index.units("chunk")
    found = [(s - 1, e - 1) for s, e, d in zip(units.starts, units.ends, units.documents) if d == 1]
    assert found == spans


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize(
    "texts", [[[]], [["", " "]], [["… — !"]]], ids=["no page", "blank", "marks"]
)
def test_a_corpus_without_words_has_no_units_and_no_scores(representation, texts):
    index = corpus(texts)
    assert len(bm25(index, representation, k1=1.5, b=0.75).scores([])) == 0
    assert index.document_lengths().tolist() == [0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("COVID-19's R&D", ["covid", "19", "s", "r", "d"]),
        ("ﬁnance e\ufb03ciency", ["finance", "efficiency"]),
        ("NAÏVE Café cafe\u0301", ["naive", "cafe", "cafe"]),
        ("docu\u00adment", ["document"]),
        (
            "docu-\nment COVID-\n19 non-Euro-\nZone",
            ["document", "covid", "19", "non", "euro", "zone"],
        ),
        ("naï-\nve é-\nà", ["naive", "ea"]),
        ("snake_case \uff21\uff22\uff23", ["snake", "case", "abc"]),
        ("Straße Ёлка", ["strasse", "елка"]),
        ("— … !?", []),
        ("санкции 制裁", ["санкции", "制裁"]),
    ],
)
def test_words(text, expected):
    assert words(text) == expected


@settings(deadline=None)
@given(st.text())
def test_words_are_found_again_in_themselves(text):
    found = words(text)
    assert words(" ".join(found)) == found
    assert all("\n" not in word and word for word in found)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('Find the document that discusses "A b" and "C".', ["A b", "C"]),
        ('"A"; "B"; "C"', ["A", "B", "C"]),
        ("“A” and “B”", ["A", "B"]),
        ("A and B", ["A and B"]),
        ('the 5" pipe', ['the 5" pipe']),
        ('""', ['""']),
    ],
)
def test_quoted_parts(text, parts):
    assert quoted_parts(text) == parts


def test_stop_words_go_unless_nothing_else_is_left():
    assert query_words("Protection of the Environment") == ["protection", "environment"]
    assert query_words("It") == ["it"]
    assert part_words(["It", "the sea"]) == ["it", "sea"]


@settings(deadline=None)
@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_texts_follow_the_same_rule_as_others(text):
    assert words(text) == words(f"{text} é")[:-1]
