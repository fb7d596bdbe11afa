import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nclue_construct.surface import PhraseIndex, split_words, squeeze


def found(phrase, text):
    hits = PhraseIndex([phrase]).find(split_words(text))
    return [text[hit.start : hit.end] for hit in hits]


@pytest.mark.parametrize(
    "text",
    [
        "the Grievance Mechanism of",
        "GRIEVANCE MECHANISM",
        "grievance\nmechanism",
        "griev-\nance mecha-\nnism",
        "Griev\u00adance Mechanism",
        "grievance-mechanism",
        "Grievance\u2011Mechanism",
        "Grievance\u00a0\u00a0Mechanism",
        "G rievance Mechan ism",
        "Grievance Mechanism5",
        "Grievance Mechanism\u2019s",
        "\u201cGrievance Mechanism\u201d",
    ],
)
def test_a_phrase_is_found_in_spite_of_typesetting(text):
    assert len(found("Grievance Mechanism", text)) == 1


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("Official Finance", "o\ufb03cial \ufb01nance"),
        ("El Niño", "El Nin\u0303o"),
        ("El Niño", "EL NINO"),
        ("COVID-19", "Covid19"),
        ("COVID-19", "COVID 19"),
        ("HIV/AIDS", "HIV / AIDS"),
        ("U.S. Department", "US Department"),
        ("Straße", "STRASSE"),
    ],
)
def test_ligatures_accents_and_dashes_do_not_matter(phrase, text):
    assert found(phrase, text)


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("art work", "part work"),
        ("art work", "art works"),
        ("Climate Change", "the climate. Change is due"),
        ("Climate Change", "climate: change"),
        ("Climate Change", "climate (change)"),
        ("Climate Change", "climate, change"),
        ("Climate Change", "climate / change"),
        ("Climate Change", "climate - change"),
        ("Climate Change", "climate\n\nchange"),
        ("Climate Change", "change climate"),
    ],
)
def test_parts_of_words_and_runs_over_marks_are_not_found(phrase, text):
    assert found(phrase, text) == []


def test_a_comma_before_and_is_free():
    assert found("Forestry and Fishery", "forestry, and fishery")


def test_initials_are_not_the_end_of_a_sentence():
    assert found("U S Department", "U.S. Department") == ["U.S. Department"]


def test_overlapping_phrases_are_all_found():
    index = PhraseIndex(["Clean Water", "Clean Water Act", "Water Act"])
    hits = [hit.phrase for hit in index.find(split_words("the Clean Water Act"))]
    assert sorted(hits) == ["cleanwater", "cleanwateract", "wateract"]


def test_short_phrases_are_found_at_the_end_of_a_text():
    assert found("UN", "by the UN") == ["UN"]


def test_a_phrase_without_letters_is_refused():
    with pytest.raises(ValueError, match="1 to 120 letters"):
        PhraseIndex(["--"])


@given(st.lists(st.text("abcé", min_size=1, max_size=5), min_size=1, max_size=4), st.text("ab. ,-"))
def test_a_phrase_is_always_found_between_full_stops(words, around):
    phrase = " ".join(words)
    assert phrase in found(phrase, f"{around}. {phrase}. {around}")


@given(st.text("ab ", max_size=30), st.text("ab", min_size=1, max_size=4))
def test_matches_are_those_of_whole_word_sequences(text, phrase):
    words = text.split()
    expected = sum(
        1
        for first in range(len(words))
        for last in range(first, len(words))
        if "".join(words[first : last + 1]) == phrase
    )
    assert len(found(phrase, text)) == expected


@given(st.text(max_size=40))
def test_squeezing_is_stable_under_case_and_blanks(text):
    assert squeeze(text) == squeeze(f"  {text}  ")


@pytest.mark.parametrize("unit", ["a", "a ", "ab-", "\u0301", "Climate ", "("])
def test_time_is_linear_on_hostile_text(unit):
    index = PhraseIndex(["a" * n for n in range(1, 60)] + ["Climate Change"])

    def seconds(n):
        text = unit * n
        start = time.perf_counter()
        for _ in index.find(split_words(text)):
            pass
        return time.perf_counter() - start

    small, large = seconds(500), seconds(4_000)
    assert large < max(40 * small, 0.5)
