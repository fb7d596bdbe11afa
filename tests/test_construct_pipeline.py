import json
import sys
from dataclasses import replace

import pytest

from construct_corpus import TOPICS, record, write_corpus
from nclue_cli.main import main
from nclue_construct.compose import ComposeLimits
from nclue_construct.config import ConstructConfig, read_config
from nclue_construct.corpus_rows import read_corpus
from nclue_construct.pipeline import Construction
from nclue_construct.select import SelectLimits
from nclue_core.errors import InputError, UsageError
from nclue_core.jsonl import read_jsonl
from nclue_core.pages import write_page
from nclue_dataset.release import read_release

CONFIG = ConstructConfig(
    name="tiny",
    compose=ComposeLimits(min_subsets=3, max_golds=8),
    select=SelectLimits({2: 8, 3: 4}),
)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"))


def construct(inputs, out, config=CONFIG, **options):
    lines = []
    pages, corpus = inputs
    made = Construction(pages, read_corpus(corpus), out, config, say=lines.append, **options)
    made.run()
    return made, lines


@pytest.fixture(scope="module")
def built(inputs, tmp_path_factory):
    out = tmp_path_factory.mktemp("built")
    construct(inputs, out)
    return out


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_release_passes_the_check(built, capsys):
    assert main(["check", str(built / "release")]) == 0
    assert "0 errors, 0 warnings" in capsys.readouterr().out


def test_the_release_holds_what_the_pages_hold(built):
    release = read_release(built / "release").collection("tiny")
    assert {query.n_conditions for query in release.queries} == {2, 3}
    evidence = {
        (row.doc_id, item.condition): item.pages
        for row in release.qrels["final"]
        for item in row.evidence
    }
    asked = {(query.query_id, name) for query in release.queries for name in query.conditions}
    topics = [t for t, topic in enumerate(TOPICS) if topic in {name for _, name in asked}]
    assert len(topics) >= 3
    for t in topics:  # by the rule of the synthetic corpus
        for d in range(36):
            expected = (1 + t % 4,) if (d + t) % 5 < 2 else None
            assert evidence.get((f"doc_{d:02d}", TOPICS[t])) == expected


def test_running_headers_are_never_conditions(built):
    names = [row.value["name"] for row in read_jsonl(built / "gate.jsonl")]
    assert not any("yearbook" in name.lower() for name in names)


def test_no_page_text_is_in_the_release(built):
    everything = b"".join(files(built / "release").values())
    assert b"went on during the year" not in everything
    assert b"paid for by" not in everything


def test_the_same_inputs_give_the_same_bytes(inputs, built, tmp_path):
    construct(inputs, tmp_path)
    assert files(tmp_path) == files(built)


def test_a_second_run_does_nothing_again(inputs, tmp_path):
    construct(inputs, tmp_path)
    _, lines = construct(inputs, tmp_path)
    unchanged = [line for line in lines if line.endswith(": unchanged")]
    assert len(unchanged) == 7


def test_a_changed_setting_repeats_only_what_depends_on_it(inputs, tmp_path):
    construct(inputs, tmp_path)
    changed = replace(CONFIG, select=SelectLimits({2: 3}))
    _, lines = construct(inputs, tmp_path, changed)
    assert "compose: unchanged" in lines
    assert "select: 3 queries" in lines


def test_a_damaged_step_file_is_made_again(inputs, built, tmp_path):
    construct(inputs, tmp_path)
    (tmp_path / "compose.jsonl").write_text("")
    construct(inputs, tmp_path)
    assert files(tmp_path)["compose.jsonl"] == files(built)["compose.jsonl"]


def test_a_changed_page_is_searched_again(tmp_path):
    pages, corpus = write_corpus(tmp_path / "in")
    construct((pages, corpus), tmp_path / "out")
    write_page(pages, record("doc_02", 3, ("text", "Here is a Grievance Mechanism after all.")))
    made, _ = construct((pages, corpus), tmp_path / "out")
    found = next(i for i in made.read_kept() if i.condition.name == "Grievance Mechanism")
    assert found.documents["doc_02"].pages == {3}


def test_documents_with_unreadable_pages_are_left_out(tmp_path):
    pages, corpus = write_corpus(tmp_path / "in")
    write_page(pages, record("doc_00", 1, ("text", "")))
    made, lines = construct((pages, corpus), tmp_path / "out")
    assert "doc_00" not in made.documents
    assert lines[0].startswith("35 documents, 1 left out")


def test_a_step_without_its_inputs_says_so(inputs, tmp_path):
    pages, corpus = inputs
    made = Construction(pages, read_corpus(corpus), tmp_path, CONFIG)
    with pytest.raises(UsageError, match=r"compose needs kept.jsonl"):
        made.run(["compose"])
    with pytest.raises(UsageError, match="there is no step 'mime'"):
        made.run(["mime"])


def test_a_corpus_without_page_texts_is_an_error(inputs, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no document of the corpus has page texts"):
        Construction(tmp_path / "empty", read_corpus(inputs[1]), tmp_path, CONFIG).run()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"doc_id": "a"}, "no source"),
        ({"doc_id": "a", "source": "s", "pages": "6"}, "n_pages is str"),
        ({"doc_id": 7, "source": "s"}, "doc_id is int"),
    ],
)
def test_a_bad_corpus_row_names_file_and_line(tmp_path, row, message):
    path = tmp_path / "corpus.jsonl"
    path.write_text(json.dumps({"doc_id": "ok", "source": "s"}) + "\n" + json.dumps(row) + "\n")
    with pytest.raises(InputError, match=rf"corpus.jsonl:2: {message}"):
        read_corpus(path)


def test_a_document_twice_in_the_corpus_is_an_error(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"doc_id":"a","source":"s"}\n' * 2)
    with pytest.raises(InputError, match="stands twice"):
        read_corpus(path)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib came with Python 3.11")
class TestSettings:
    def test_settings_are_read_from_toml(self, tmp_path):
        path = tmp_path / "c.toml"
        path.write_text(
            'name = "own"\n[compose]\nsizes = [2, 4]\n[gate]\nmin_strong_share = 1\n'
            "[select.queries]\n2 = 10\n4 = 5\n"
        )
        config = read_config(path)
        assert (config.name, config.compose.sizes) == ("own", (2, 4))
        assert config.select.queries == {2: 10, 4: 5}
        assert config.gate.min_strong_share == 1.0

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("nmae = 'x'", "no setting 'nmae'"),
            ("[gate]\nmax_worlds = 3", r"no setting 'gate.max_worlds'"),
            ("seed = 'x'", "seed is 'x'"),
            ("[compose]\nsizes = ['two']", r"compose.sizes is \['two'\]"),
            ("[select.queries]\ntwo = 10", "select.queries"),
            ("seed = ", "not a readable TOML file"),
        ],
    )
    def test_wrong_settings_are_named(self, tmp_path, text, message):
        path = tmp_path / "c.toml"
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            read_config(path)


def test_conjunctions_of_four_can_be_asked_for(inputs, tmp_path):
    config = replace(
        CONFIG,
        compose=ComposeLimits(sizes=(4,), min_subsets=3, max_golds=8),
        select=SelectLimits({4: 3}),
    )
    construct(inputs, tmp_path, config)
    release = read_release(tmp_path / "release").collection("tiny")
    assert {query.n_conditions for query in release.queries} == {4}


class TestCommand:
    def test_it_builds_and_names_the_next_command(self, inputs, tmp_path, capsys):
        pages, corpus = inputs
        call = ["construct", "--pages", str(pages.parent), "--corpus", str(corpus), "--name", "own"]
        assert main([*call, "--out", str(tmp_path / "out")]) == 0
        assert "nclue check" in capsys.readouterr().out

    def test_it_lists_what_the_gate_rejected(self, built, capsys):
        assert main(["construct", "--out", str(built), "--rejects", "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)
        assert rows
        assert all(row["verdict"] in ("SPLIT", "REJECT") and row["rule"] for row in rows)

    def test_a_missing_option_is_named(self, inputs, capsys):
        assert main(["construct", "--name", "own", "--out", "x"]) == 2
        assert "--pages is missing" in capsys.readouterr().err

    def test_explain_quotes_the_line_of_every_condition(self, inputs, built, capsys):
        release = read_release(built / "release").collection("tiny")
        gold = next(row for row in release.qrels["final"] if row.label == "gold")
        call = ["explain", gold.query_id, gold.doc_id, "--release", str(built / "release")]
        assert main([*call, "--pages", str(inputs[0])]) == 0
        out = capsys.readouterr().out
        assert "on distinct pages, none alone: gold" in out
        for item in gold.evidence:
            assert f"{item.condition!r}: pages {', '.join(map(str, item.pages))}" in out
        assert "[" in out

    def test_explain_names_an_unknown_query_or_document(self, inputs, built, capsys):
        call = ["--release", str(built / "release"), "--pages", str(inputs[0])]
        assert main(["explain", "nope", "doc_00", *call]) == 2
        assert "no query is called 'nope'" in capsys.readouterr().err
        assert main(["explain", "tiny_0000", "nope", *call]) == 2
        assert "no document is called 'nope'" in capsys.readouterr().err

    def test_the_audit_sample_is_half_absences(self, inputs, built, capsys):
        call = ["construct", "audit-sample", "--release", str(built / "release")]
        call += ["--pages", str(inputs[0]), "-n", "20"]
        assert main([*call, "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)
        assert sum(row["page"] is None for row in rows) == 10
        assert main([*call, "--lines"]) == 0
        assert capsys.readouterr().out.count("===") == 20
