"""Words and wordings follow Unicode: typesetting joins nothing, and different words stay apart."""

# ruff: noqa: RUF001 (letters of other scripts are the point)

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construct_corpus import zoned
from nclue_construct.cluster import Condition
from nclue_construct.mine import mine_page, plain
from nclue_construct.search import Searcher
from nclue_construct.surface import PhraseIndex, split_words, squeeze
from nclue_core.letters import fold
from nclue_systems.words import words


def found(phrase, text):
    hits = PhraseIndex([phrase]).find(split_words(text))
    return [text[hit.start : hit.end] for hit in hits]


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("हिन्दी भाषा", "हिन्दी भाषा है"),  # vowel signs and a virama are part of a word
        ("El Niño", "El Nin\u0303o"),
        ("می\u200cخواهم", "میخواهم"),  # a joiner is not
        ("Women's Health", "Womenʼs Health"),  # U+02BC is a letter for Unicode
        ("Hawai'i State", "Hawaiʻi State"),
        ("Qur'an Study", "Qurʾan Study"),
        ("Grievance Mechanism", "griev\u00ad\nance mecha\u00ad\r\nnism"),
        ("co-operation", "co\u2010\noperation"),
        ("non-profit sector", "non\u2011\nprofit sector"),
        ("Climate-related Risk", "climate-\nrelated risk"),  # a compound that is broken there
        ("cooperation", "co\u00ac\noperation"),
        ("Grievance Mechanism", "Grievance Mechanism\u00b9 is"),
        ("Grievance Mechanism", "Grievance Mechanism²,³"),
        ("CO2 Tax", "CO₂ tax"),
        ("Full Width", "Ｆｕｌｌ　Ｗｉｄｔｈ"),
        ("Official Finance", "oﬃcial ﬁnance"),
        ("Dışişleri", "DIŞİŞLERİ"),
        ("οδός", "ΟΔΟΣ"),
        ("Œuvre", "OEUVRE"),
        ("1/2 Cup", "½ cup"),
        ("Article 3", "Article ٣"),
        ("résumé", "resume"),  # the written rule: accents of Latin letters are dropped
        ("HIV/AIDS", "HIV / AIDS"),
        ("C++", "C++"),
        ("R&D", "R & D"),
    ],
)
def test_one_word_in_several_writings_is_found(phrase, text):
    assert len(found(phrase, text)) == 1


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("हन्द", "हिन्दी"),
        ("か", "が"),
        ("мои", "мой"),
        ("خواهم", "می\u200cخواهم"),
        ("ance", "griev\u00adance"),
        ("ance", "griev\u00ad\nance"),
        ("C", "C++ and C#"),
        ("C++", "C"),
        ("A/B Test", "AB test"),
        ("AB Test", "A/B test"),
        ("R&D", "Rd"),
        ("911 Commission", "9/11 Commission"),
        ("102", "10²"),
        ("1020", "10-20"),
        ("15", "1.5"),
        ("Climate Change", "climate（change）"),
        ("Climate Change", "climate。change"),
        ("Climate Change", "climate؛ change"),
    ],
)
def test_different_words_never_become_one(phrase, text):
    assert found(phrase, text) == []


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@given(text=st.text(max_size=30))
def test_normal_forms_of_unicode_fold_alike(form, text):
    kept = unicodedata.normalize("NFKC", text) if form[2] == "K" else text
    assert fold(unicodedata.normalize(form, kept)) == fold(kept)


@given(st.text(max_size=60))
def test_offsets_are_of_the_text(text):
    for word in split_words(text):
        assert squeeze(text[word.start : word.end]) == word.norm


def body_pages(text, *surfaces, kind="heading"):
    pages = zoned([("text", text)])
    condition = Condition(surfaces[0], kind, surfaces, (), (), ())
    (result,) = Searcher([condition]).search([pages])
    here = result.documents.get("doc")
    return (here.pages, here.doubtful) if here else (set(), set())


def test_a_wording_with_a_mark_of_its_own_is_found_with_it():
    assert body_pages("Care for HIV/AIDS went on.", "HIV/AIDS") == ({1}, set())


@pytest.mark.parametrize(
    "text",
    ["non-\nfinancial assets", "non\u2010financial assets", "the financial assets-\nization of"],
)
def test_a_hit_tied_to_another_word_by_a_hyphen_is_doubtful(text):
    assert body_pages(text, "Financial Assets") == (set(), {1})


@pytest.mark.parametrize(
    ("text", "surface"),
    [
        ("The École Polytechnique Council met.", "École Polytechnique Council"),
        ("The Rural Develop\u00adment Council met.", "Rural Development Council"),
        ("The Rural Develop-\nment Council met.", "Rural Development Council"),
        ("The Non\u2011Proliferation Treaty Council met.", "Non-Proliferation Treaty Council"),
        ("The E\u0301cole Council met.", "École Council"),
        ("The Rural Councilʼs Board met.", "Rural Council"),
    ],
)
def test_names_are_mined_as_a_person_writes_them(text, surface):
    (page,) = zoned([("text", text)])
    assert surface in {fact.surface for fact in mine_page(page)}


def test_a_hyphen_at_a_line_end_stays_before_a_capital():
    assert plain("Non-\nProliferation develop-\nment") == "Non-Proliferation development"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("griev\u00ad\nance", ["grievance"]),
        ("co\u2010\noperation", ["cooperation"]),
        ("mechanism² CO₂", ["mechanism", "2", "co2"]),
        ("Hawaiʻi women’s", ["hawai", "i", "women", "s"]),
        ("DIŞ dış мой", ["dis", "dis", "мой"]),
        ("3½ 10²", ["3", "1", "2", "10", "2"]),
    ],
)
def test_bm25_words_follow_the_same_rule(text, expected):
    assert words(text) == expected


@given(st.text(st.characters(max_codepoint=127), max_size=80))
def test_bm25_words_of_plain_ascii_are_what_they_were(text):
    joined = re.sub(r"(?<=[a-z])-\n(?=[a-z])", "", text)
    expected = "".join(c.lower() if c.isalnum() else " " for c in joined).split()
    assert words(text) == expected
