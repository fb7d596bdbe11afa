"""Systems over a small corpus: orders worked out by hand, limits, controls, run files."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nclue_core.errors import InputError, UsageError
from nclue_core.schema import FORMS, Evidence, Qrel, Query
from nclue_systems import (
    CONTROLS,
    GROUPS,
    SYSTEMS,
    build_index,
    expand_names,
    facts_from_qrels,
    find_system,
    read_facts,
    run_system,
)
from nclue_systems.registry import LEXICAL
from nclue_systems.runs import write_runs
from nclue_systems.systems import SCORERS

CONDITIONS = ("grievance mechanism", "flood insurance")
QUERY = Query("q1", " and ".join(CONDITIONS), CONDITIONS)
PAGES = {
    "apart": [(1, "the grievance mechanism of the project"), (2, "flood insurance for all homes")],
    "both": [(1, "grievance mechanism flood insurance"), (2, "other matter entirely here")],
    "half": [(1, "grievance mechanism grievance mechanism grievance"), (2, "mechanism grievance")],
    "none": [(1, "nothing to see")],
    "void": [],
}
INDEX = build_index(PAGES)
FAIR = [spec.name for spec in LEXICAL]
NAMES_OF_THE_STUDY = {
    "bm25_and", "bm25_and_tuned", "bm25_or", "bm25_condition_text", "bm25_page_aggregated",
    "bm25_decompose_min", "bm25_decompose_product", "bm25_decompose_hmean", "bm25_decompose_sdr",
    "frequency_prior", "random", "surface_form_and", "surface_form_count", "exact_name_and",
    "single_page_surface_and",
}  # fmt: skip


def ranked(name: str, query: Query = QUERY, form: str = "raw", **options) -> tuple[str, ...]:
    (ranking,) = run_system(name, INDEX, [query], form, **options)
    return ranking.doc_ids


def test_every_name_of_the_study_is_there():
    assert set(SYSTEMS) >= NAMES_OF_THE_STUDY
    assert {spec.name for spec in (*GROUPS["all"], *CONTROLS)} == NAMES_OF_THE_STUDY
    assert sum(spec.kind == "fusion" for spec in SYSTEMS.values()) == 15


def test_and_puts_documents_with_every_word_first():
    index = build_index(
        {
            "loud": [(1, "flood flood flood")],
            "whole": [(1, "flood " + "x " * 300), (2, "insurance " + "y " * 300)],
        }
    )
    query = Query("q", "flood insurance", ("flood", "insurance"))
    (both,) = run_system("bm25_and", index, [query], "raw")
    assert both.doc_ids == ("whole", "loud")
    (either,) = run_system("bm25_or", index, [query], "raw")
    assert sorted(either.doc_ids) == ["loud", "whole"]
    assert both.scores == tuple(sorted(both.scores, reverse=True))
    assert both.scores[0] > 1 + both.scores[1]  # lifted by the highest plain score + 1


def test_decompositions_drop_documents_that_lack_a_condition():
    for composition in ("min", "product", "hmean"):
        assert set(ranked(f"bm25_decompose_{composition}")) == {"apart", "both"}


def test_distinct_pages_prefer_the_cross_page_document():
    assert ranked("bm25_decompose_sdr")[0] == "apart"
    assert ranked("bm25_page_aggregated")[0] == "both"


def test_template_words_matter_to_or_but_not_to_and():
    index = build_index({"a": [(1, "flood")], "b": [(1, "flood find document discusses")]})
    query = Query("q", "flood and flood", ("flood", "flood"))
    for name, same in (("bm25_and", True), ("bm25_or", False), ("bm25_condition_text", True)):
        (raw,) = run_system(name, index, [query], "raw")
        (natural,) = run_system(name, index, [query], "natural")
        assert (raw.scores == natural.scores) is same, name


def test_the_given_text_of_a_form_is_what_is_asked():
    assert ranked("bm25_or", texts={"q1": "nothing to see"}) == ("none",)


def test_prior_orders_by_words_and_leaves_out_documents_without():
    assert ranked("frequency_prior") == ("apart", "both", "half", "none")


def test_random_depends_on_seed_and_query_only():
    every = ranked("random")
    assert sorted(every) == sorted(PAGES)
    assert every == ranked("random", form="natural")
    orders = {ranked("random", seed=seed) for seed in range(40)}
    assert len(orders) > 20


@pytest.mark.parametrize("name", FAIR)
@pytest.mark.parametrize("form", FORMS)
def test_rankings_hold_their_promises(name, form):
    (ranking,) = run_system(name, INDEX, [QUERY], form, depth=2)
    assert (ranking.system, ranking.form, ranking.query_id) == (name, form, "q1")
    assert 0 < len(ranking.doc_ids) == len(set(ranking.doc_ids)) <= 2
    assert list(ranking.scores) == sorted(ranking.scores, reverse=True)
    assert all(score > 0 for score in ranking.scores)
    assert ranking.doc_ids == run_system(name, INDEX, [QUERY], form)[0].doc_ids[:2]


@pytest.mark.parametrize("name", [n for n in FAIR if n.startswith("bm25")])
@pytest.mark.parametrize(
    "conditions", [("zzz", "qqq"), ("…", "!"), ("", " ")], ids=["unknown", "marks", "blank"]
)
def test_a_query_without_a_word_of_the_corpus_has_an_empty_ranking(name, conditions):
    query = Query("q", " and ".join(conditions), conditions)
    (ranking,) = run_system(name, INDEX, [query], "raw")
    assert (ranking.doc_ids, ranking.scores) == ((), ())


@pytest.mark.parametrize("name", [n for n in FAIR if "decompose" in n or n == "bm25_and"])
def test_a_condition_of_marks_only_is_as_if_not_asked(name):
    alone = Query("q", "flood insurance", ("flood insurance",))
    marked = Query("q", "flood insurance and …", ("flood insurance", "…"))
    assert ranked(name, marked) == ranked(name, alone) != ()


@pytest.mark.parametrize("name", FAIR)
def test_a_corpus_of_one_document(name):
    index = build_index({"only": [(1, "grievance mechanism"), (2, "flood insurance")]})
    assert run_system(name, index, [QUERY], "raw")[0].doc_ids == ("only",)


def test_ties_are_in_lexicographic_order_of_documents():
    index = build_index({name: [(1, "flood")] for name in ("d2", "d10", "D3", "d1")})
    query = Query("q", "flood", ("flood",))
    assert run_system("bm25_or", index, [query], "raw")[0].doc_ids == ("D3", "d1", "d10", "d2")


@settings(deadline=None)
@given(st.permutations(sorted(PAGES)))
def test_the_order_in_which_documents_are_given_is_no_matter(order):
    index = build_index({doc_id: PAGES[doc_id] for doc_id in order})
    for name in ("bm25_and", "bm25_decompose_sdr", "random"):
        assert run_system(name, index, [QUERY], "raw") == run_system(name, INDEX, [QUERY], "raw")


@settings(deadline=None)
@given(st.lists(st.text(max_size=30), max_size=3), st.text(max_size=30))
def test_any_text_can_be_indexed_and_asked(pages, condition):
    index = build_index({"a": list(enumerate(pages, start=1)), "b": [(1, "flood")]})
    query = Query("q", condition, (condition, "flood"))
    for spec in LEXICAL:
        for form in FORMS:
            (ranking,) = run_system(spec.name, index, [query], form)
            assert np.isfinite(ranking.scores).all()


def test_fusion_is_rrf_of_its_runs():
    fused = run_system("rrf(bm25_or, bm25_decompose_sdr)", INDEX, [QUERY], "raw")[0]
    one, other = ranked("bm25_or"), ranked("bm25_decompose_sdr")
    expected = {
        doc: sum(1 / (61 + run.index(doc)) for run in (one, other) if doc in run)
        for doc in {*one, *other}
    }
    assert dict(zip(fused.doc_ids, fused.scores)) == pytest.approx(expected)
    assert fused.system == "rrf(bm25_or,bm25_decompose_sdr)"


def test_a_published_fusion_takes_the_run_that_is_given():
    runs = {"text_jinav4": {"q1": ["none"]}}
    found = ranked("bm25and_jinav4", runs=runs)
    assert "none" in found
    assert "both" in found
    with pytest.raises(UsageError, match=r"bm25and_jinav4 .* no run of text_jinav4"):
        ranked("bm25and_jinav4")
    with pytest.raises(InputError, match="no ranking for query 'q1'"):
        ranked("bm25and_jinav4", runs={"text_jinav4": {}})


@pytest.mark.parametrize("name", ["bm25", "rrf(a)", "rrf(a,b", "rrf(a,,b)", "rrf(../a,b)", "all"])
def test_unknown_systems_are_named(name):
    with pytest.raises(UsageError, match="system"):
        find_system(name)


def test_names_and_groups_expand_without_repeats():
    specs = expand_names(("bm25_or", "all", "rrf(a,b)", "rrf(a, b)"))
    assert [spec.name for spec in specs][:2] == ["bm25_or", "bm25_and"]
    assert len(specs) == len(LEXICAL) + 1
    assert specs[-1].file_stem == "rrf_a_b"


def test_an_unknown_form_is_refused():
    with pytest.raises(UsageError, match="raw, clean_v2, natural"):
        ranked("bm25_or", form="clean")


def qrel(doc_id: str, *pages: tuple[int, ...]) -> Qrel:
    evidence = tuple(Evidence(c, p) for c, p in zip(QUERY.conditions, pages) if p)
    grade = len(evidence)
    return Qrel("q1", doc_id, grade, "gold" if grade == 2 else "subset", evidence)


QRELS = [qrel("apart", (1,), (2,)), qrel("both", (1,), (1,)), qrel("half", (1, 2), ()),
         qrel("elsewhere", (1,), (2,))]  # fmt: skip


def test_controls_read_the_facts():
    facts = facts_from_qrels(QRELS)
    assert ranked("surface_form_and", facts=facts) == ("apart", "both")
    assert ranked("surface_form_count", facts=facts) == ("apart", "both", "half")
    assert ranked("single_page_surface_and", facts=facts) == ("both",)
    assert ranked("exact_name_and", facts=facts) == ("apart", "both")
    with pytest.raises(UsageError, match="construction facts"):
        ranked("surface_form_and")


def test_single_page_control_finds_no_gold():
    facts = facts_from_qrels([qrel("apart", (1,), (2,))])
    assert ranked("single_page_surface_and", facts=facts) == ()


def test_exact_name_needs_the_name_itself_on_the_page():
    index = build_index({"d": [(1, "mechanism of grievance"), (2, "flood insurance")]})
    facts = facts_from_qrels([qrel("d", (1,), (2,))])
    assert run_system("exact_name_and", index, [QUERY], "raw", facts=facts)[0].doc_ids == ()
    assert run_system("surface_form_and", index, [QUERY], "raw", facts=facts)[0].doc_ids == ("d",)


def facts_file(tmp_path, *rows):
    path = tmp_path / "facts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_facts_from_a_file_know_surface_forms(tmp_path):
    def row(condition, doc_id, page, form):
        return {"condition": condition, "doc_id": doc_id, "page": page, "surface_form": form}

    facts = read_facts(
        facts_file(
            tmp_path,
            row("Grievance Mechanism", "apart", 1, "GRM"),
            row("Grievance Mechanism", "both", 1, "grievance  mechanism"),
            row("flood insurance", "apart", 2, "Flood Insurance"),
            row("flood insurance", "both", 2, "Flood-Insurance"),
        )
    )
    assert ranked("surface_form_and", facts=facts) == ("apart", "both")
    assert ranked("exact_name_and", facts=facts) == ("both",)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("page", 0, "facts.jsonl:1: field 'page': expected a whole number from 1, found 0"),
        ("page", True, "found True"),
        ("doc_id", 7, "field 'doc_id': expected a string that is not empty, found 7"),
        ("surface_form", None, "field 'surface_form'"),
    ],
)
def test_bad_facts_name_file_line_and_field(tmp_path, field, value, message):
    row = {"condition": "a", "doc_id": "d", "page": 1, "surface_form": "a", field: value}
    with pytest.raises(InputError, match="field") as caught:
        read_facts(facts_file(tmp_path, row))
    assert message in str(caught.value)


def test_written_runs_are_the_same_bytes_in_another_process(tmp_path):
    program = f"""
import sys; sys.path.insert(0, {str(sys.path[0])!r})
from pathlib import Path
from nclue_core.schema import FORMS, Query
from nclue_systems import build_index, expand_names
from nclue_systems.runs import write_runs
from nclue_systems.systems import SCORERS
write_runs(expand_names(("all", "rrf(bm25_or,random)")), build_index({PAGES!r}), [{QUERY!r}],
           {{form: {{}} for form in FORMS}}, Path(sys.argv[1]))
"""
    for name, hash_seed in (("one", "1"), ("two", "2")):
        subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / name)],
            check=True,
            env={"PYTHONHASHSEED": hash_seed},
        )
    files = sorted(p.relative_to(tmp_path / "one") for p in (tmp_path / "one").rglob("*.jsonl"))
    assert len(files) == 3 * (len(LEXICAL) + 1)
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_a_fusion_without_its_run_writes_nothing(tmp_path):
    specs = expand_names(("bm25_or", "bm25and_jinav4"))
    with pytest.raises(UsageError, match=r"put one at OUT/raw/text_jinav4\.jsonl"):
        write_runs(specs, INDEX, [QUERY], {"raw": {}}, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_run_files_hold_ids_and_scores(tmp_path):
    texts = {"raw": {}, "natural": {}}
    written = write_runs(expand_names(("bm25_or",)), INDEX, [QUERY], texts, tmp_path)
    assert [run.path for run in written] == [
        tmp_path / form / "bm25_or.jsonl" for form in ("raw", "natural")
    ]
    row = json.loads(written[0].path.read_text(encoding="utf-8"))
    assert list(row) == ["query_id", "doc_ids", "scores"]
    assert row["doc_ids"] == list(ranked("bm25_or"))


def test_a_system_with_a_scorer_of_its_own_is_a_row_and_a_function(monkeypatch):
    """A stand-in for a dense model: scores a page by how many of the part's letters it holds."""
    asked = []

    def letters(spec, index, parts):
        asked.append(parts)
        texts = [text for doc in sorted(PAGES) for _, text in PAGES[doc]]
        return np.array([float(len(set(" ".join(parts)) & set(text))) for text in texts])

    spec = replace(SYSTEMS["bm25_decompose_sdr"], name="letters_dec_min", scorer="letters",
                   composition="min", aggregation="mean_top2")  # fmt: skip
    monkeypatch.setitem(SCORERS, "letters", letters)
    monkeypatch.setitem(SYSTEMS, spec.name, spec)
    best = ranked("letters_dec_min")
    assert asked == [("grievance mechanism",), ("flood insurance",)]
    expected = {}
    for doc, pages in PAGES.items():
        per_condition = []
        for condition in CONDITIONS:
            held = sorted((len(set(condition) & set(text)) for _, text in pages), reverse=True)[:2]
            per_condition.append(sum(held) / len(held) if held else 0)
        expected[doc] = min(per_condition)
    by_hand = sorted((d for d in expected if expected[d]), key=lambda d: (-expected[d], d))
    assert list(best) == by_hand
    assert "letters_dec_min" in ranked_name("rrf(letters_dec_min,bm25_or)")


def ranked_name(name: str) -> str:
    (ranking,) = run_system(name, INDEX, [QUERY], "raw")
    assert ranking.doc_ids
    return ranking.system
