from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from nclue_core.errors import InputError, UsageError
from nclue_dataset.collection_writer import write_release
from nclue_dataset.release import read_release
from tiny_release import edit_rows, tiny_collection, write_tiny


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return write_tiny(tmp_path / "release")


def renamed(**names):
    return lambda row: {names.get(key, key): value for key, value in row.items()}


def with_values(**values):
    return lambda row: {**row, **values}


def read(release: Path, **mapping):
    return read_release(release, mapping).collection("tiny")


def test_what_was_written_is_read_back(release):
    found, expected = read(release), tiny_collection()
    for part in ("queries", "forms", "qrels", "corpus"):
        assert getattr(found, part) == getattr(expected, part)
    assert set(found.rankings) == set(expected.rankings)
    assert found.warnings == []


def test_two_builds_are_the_same_bytes_and_a_copy_elsewhere_has_the_same_hash(tmp_path):
    first, second = write_tiny(tmp_path / "a"), write_tiny(tmp_path / "deeper" / "b")
    for path in first.rglob("*.*"):
        assert path.read_bytes() == (second / path.relative_to(first)).read_bytes()
    one = read_release(first).content_hash("tiny")
    assert one == read_release(second).content_hash("tiny")
    edit_rows(second / "reference_runs" / "forward.jsonl", renamed(doc_ids="docs"))
    assert one != read_release(second).content_hash("tiny")


def test_the_published_folders_have_names(tmp_path):
    for place in ("v1", "v2"):
        write_release(tmp_path / "data" / place, {"x": tiny_collection()}, {})
    assert list(read_release(tmp_path).collections) == ["crosspage", "sourceshift"]


def test_a_folder_with_queries_is_a_collection_by_itself(release):
    (release / "MANIFEST.json").unlink()
    assert list(read_release(release).collections) == ["custom"]
    assert read_release(release).version is None


def test_a_manifest_cannot_point_outside(release):
    (release / "MANIFEST.json").write_text('{"collections": {"x": "../.."}}')
    with pytest.raises(InputError, match="outside the release"):
        read_release(release)


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("queries.jsonl", {"query_id": "id", "query_text_eval_full": "text",
                           "conditions": "clues"}),
        ("queries_forms.jsonl", {"form": "query_form", "query": "text"}),
        ("qrels.jsonl", {"query_id": "qid", "doc_id": "corpus-id", "grade": "clue_count",
                         "evidence": "pages"}),
        ("corpus.jsonl", {"doc_id": "_id", "n_pages": "pages", "pdf_url": "url_pdf"}),
        ("reference_runs/forward.jsonl", {"doc_ids": "results"}),
    ],
)  # fmt: skip
def test_aliases_change_nothing(release, file, names):
    edit_rows(release / file, renamed(**names))
    found, expected = read(release), tiny_collection()
    assert (found.queries, found.forms) == (expected.queries, expected.forms)
    assert (found.qrels, found.corpus) == (expected.qrels, expected.corpus)
    assert set(found.rankings) == set(expected.rankings)


def test_an_unknown_name_stops_with_place_closest_match_and_option(release):
    edit_rows(release / "qrels.jsonl", renamed(grade="graded"))
    with pytest.raises(InputError, match=r"qrels\.jsonl:1: the field grade is missing") as caught:
        read(release)
    assert "closest is 'graded'" in str(caught.value)
    assert "--map grade=graded" in str(caught.value)
    assert read(release, grade="graded").qrels == tiny_collection().qrels
    assert read(release, **{"qrels.grade": "graded"}).qrels == tiny_collection().qrels


def test_a_mapping_that_names_no_field_is_refused(release):
    with pytest.raises(UsageError, match="did you mean grade"):
        read_release(release, {"grades": "x"})


def test_one_field_under_two_names_must_agree(release):
    edit_rows(release / "qrels.jsonl", lambda row: {**row, "relevance": row["grade"]})
    assert read(release).qrels == tiny_collection().qrels
    edit_rows(release / "qrels.jsonl", with_values(relevance=7))
    with pytest.raises(InputError, match="all are names of the field grade"):
        read(release)


def test_an_unknown_optional_field_is_told(release):
    edit_rows(release / "corpus.jsonl", renamed(n_bytes="weight", license="lisence"))
    warnings = "\n".join(read(release).warnings)
    assert "corpus.jsonl: the field 'weight' is not part of the format" in warnings
    assert "if it is license, add --map license=lisence" in warnings


@pytest.mark.parametrize(
    ("file", "values", "message"),
    [
        ("queries.jsonl", {"query_id": 7}, 'write it as a string: "7"'),
        ("queries.jsonl", {"n_conditions": 5}, "n_conditions is 5, but there are 2"),
        ("queries.jsonl", {"conditions": "A; B"}, "expected a list of strings"),
        ("qrels.jsonl", {"grade": 2.0}, "counts are written without a point: 2"),
        ("qrels.jsonl", {"grade": True}, "expected an integer, found the boolean True"),
        ("qrels.jsonl", {"grade": "2"}, "expected an integer, found the string '2'"),
        ("qrels.jsonl", {"grade": 4}, "the query has 2 conditions"),
        ("qrels.jsonl", {"label": "relevant"}, "expected gold or subset"),
        ("qrels.jsonl", {"evidence": [1, 4]}, "so that each page belongs to a condition"),
        ("qrels.jsonl", {"evidence": {"COVID-19": [1.0]}}, "a page is an integer"),
        ("qrels.jsonl", {"evidence": {"COVID-19": [0]}}, "pages count from 1"),
        ("corpus.jsonl", {"n_pages": "20"}, "n_pages: expected an integer"),
        ("corpus.jsonl", {"source": None, "doc_id": "x"}, "the field source is missing"),
        ("reference_runs/forward.jsonl", {"doc_ids": ["d1", 2]}, "expected strings, found the int"),
        ("reference_runs/forward.jsonl", {"scores": [1, 2]}, "2 scores for 3 documents"),
    ],
)  # fmt: skip
def test_types_are_strict_and_the_place_is_named(release, file, values, message):
    edit_rows(release / file, with_values(**values))
    with pytest.raises(InputError, match=message) as caught:
        read(release)
    assert (caught.value.path, caught.value.line) == (release / file, 1)


def test_evidence_is_read_as_object_or_list_and_conditions_without_pages_are_left_out(release):
    def keyed(row):
        row["evidence"] = {item["condition"]: item["pages"] for item in row["evidence"]}
        return {**row, "evidence": {**row["evidence"], "Delta: part 2": []}}

    edit_rows(release / "qrels.jsonl", keyed)
    assert read(release).qrels == tiny_collection().qrels


def test_null_and_absent_evidence_in_any_shard_are_no_evidence(release):
    rows = (release / "qrels.jsonl").read_text().splitlines()
    bare = [{**json.loads(row), "evidence": None} for row in rows[:3]]
    (release / "qrels.jsonl").unlink()
    (release / "qrels-00000.jsonl").write_text("".join(json.dumps(r) + "\n" for r in bare))
    (release / "qrels-00001.jsonl").write_text("\n".join(rows[3:]))
    found = read(release).qrels["final"]
    assert [bool(row.evidence) for row in found] == [False] * 3 + [True] * 4


def test_label_follows_from_grade_and_zero_rows_are_left_out_with_a_warning(release):
    def change(row):
        del row["label"]
        return {**row, "grade": 0} if row["doc_id"] == "d4" else row

    edit_rows(release / "qrels.jsonl", change)
    found = read(release)
    expected = [row for row in tiny_collection().qrels["final"] if row.doc_id != "d4"]
    assert found.qrels["final"] == expected
    assert any("grade 0 is left out" in warning for warning in found.warnings)


def test_gzip_byte_order_mark_and_crlf_change_nothing(release):
    path = release / "qrels.jsonl"
    lines = path.read_bytes().replace(b"\n", b"\r\n")
    (release / "qrels.jsonl.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + lines))
    path.unlink()
    assert read(release).qrels == tiny_collection().qrels


def test_two_files_of_one_table_are_ambiguous_until_one_is_named(release):
    shutil.copy(release / "qrels.jsonl", release / "qrels_final.jsonl")
    with pytest.raises(InputError, match=r"qrels\.jsonl and qrels_final\.jsonl are all names"):
        read(release)
    assert read(release, qrels="qrels_final.jsonl").qrels == tiny_collection().qrels


def test_an_earlier_qrel_copy_is_read_and_may_have_any_name(release):
    (release / "qrels_old.jsonl").write_text((release / "qrels.jsonl").read_text()[:0])
    shutil.copy(release / "qrels.jsonl", release / "qrels_old.jsonl")
    assert list(read(release).qrels) == ["final"]
    assert any("qrels_old.jsonl" in warning for warning in read(release).warnings)
    assert list(read(release, qrels_initial="qrels_old.jsonl").qrels) == ["final", "initial"]


def test_forms_may_be_columns_and_the_raw_text_may_stand_there_alone(release):
    rows = [
        {"query_id": query.query_id,
         **{form: texts[query.query_id] for form, texts in tiny_collection().forms.items()}}
        for query in tiny_collection().queries
    ]  # fmt: skip
    (release / "queries_forms.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    edit_rows(
        release / "queries.jsonl",
        lambda row: {k: v for k, v in row.items() if k != "query_text_eval_full"},
    )
    found = read(release)
    assert (found.forms, found.queries) == (tiny_collection().forms, tiny_collection().queries)


def run_rows(release: Path, *rows) -> list:
    path = release / "reference_runs" / "forward.jsonl"
    path.write_text("".join(json.dumps({"query_id": "q1", **row}) + "\n" for row in rows))
    rankings = read(release).rankings
    return [r for r in rankings if (r.system, r.form) == ("forward", "raw")]


def test_rows_of_single_documents_are_joined_by_rank(release):
    (found,) = run_rows(release, {"doc_id": "d2", "rank": 2}, {"doc_id": "d1", "rank": 1})
    assert found.doc_ids == ("d1", "d2")
    with pytest.raises(InputError, match="a rank is missing or stands twice"):
        run_rows(release, {"doc_id": "d2", "rank": 1}, {"doc_id": "d1", "rank": 1})


def test_rows_of_single_documents_are_joined_by_score_and_a_contradiction_is_told(release):
    rows = [{"doc_id": "d2", "score": 1.0, "rank": 1}, {"doc_id": "d1", "score": 2.0, "rank": 2}]
    (found,) = run_rows(release, *rows)
    assert found.doc_ids == ("d1", "d2")
    (warning,) = read(release).warnings
    assert "score and rank contradict each other; the scores decide" in warning
    (found,) = run_rows(release, *({"doc_id": d, "score": s} for d, s in (("d2", 1), ("d1", 2))))
    assert (found.doc_ids, read(release).warnings) == (("d1", "d2"), [])
    with pytest.raises(InputError, match="a score is missing"):
        run_rows(release, {"doc_id": "d2", "score": 1}, {"doc_id": "d1"})


def test_a_mapped_file_may_lie_elsewhere(release, tmp_path):
    elsewhere = (tmp_path / "judged.jsonl").resolve()
    (release / "qrels.jsonl").rename(elsewhere)
    zero = json.loads(elsewhere.read_text().splitlines()[0])
    zero.update(doc_id="d4", grade=0)  # told as a warning, by the name of the file
    elsewhere.write_text(elsewhere.read_text() + json.dumps(zero) + "\n")
    found = read_release(release, {"qrels": str(elsewhere)})
    assert len(found.collection("tiny").qrels["final"]) == len(tiny_collection().qrels["final"])
    assert found.collection("tiny").warnings[-1].startswith("judged.jsonl: line ")
    first = found.content_hash("tiny")
    elsewhere.write_text(elsewhere.read_text().replace('"grade":1', '"grade":2', 1))
    assert read_release(release, {"qrels": str(elsewhere)}).content_hash("tiny") != first


def test_rankings_may_be_objects_with_scores(release):
    (found,) = run_rows(release, {"docs": [{"id": "d3", "score": 2}, {"id": "d1", "score": 0.5}]})
    assert (found.doc_ids, found.scores) == (("d3", "d1"), (2.0, 0.5))


def test_a_run_that_lies_in_two_places_counts_once_and_a_difference_is_told(release):
    place = release / "reference_runs" / "forms" / "raw"
    place.mkdir(parents=True)
    shutil.copy(release / "reference_runs" / "forward.jsonl", place)
    assert set(read(release).rankings) == set(tiny_collection().rankings)
    assert read(release).warnings == []
    edit_rows(place / "forward.jsonl", with_values(doc_ids=["d4"]))
    found = read(release)
    assert set(found.rankings) == set(tiny_collection().rankings)
    assert any("forms/raw/forward.jsonl" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("file", "message"),
    [("queries.jsonl", "the query q1 stands twice"), ("corpus.jsonl", "the document d1 stands"),
     ("qrels.jsonl", "the pair .* stands twice")],
)  # fmt: skip
def test_ids_that_stand_twice_stop_the_reader(release, file, message):
    path = release / file
    first = path.read_text().splitlines()[0]
    path.write_text(path.read_text() + first + "\n")
    with pytest.raises(InputError, match=message):
        read(release)


def test_a_missing_table_is_named_with_what_is_there(release):
    (release / "corpus.jsonl").unlink()
    with pytest.raises(InputError, match=r"no corpus\.jsonl here; the folder has MANIFEST\.json"):
        read(release)
