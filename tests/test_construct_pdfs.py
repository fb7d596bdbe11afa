"""From a folder of PDFs to a checked benchmark, as the card tells it; names and places."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil

import pytest

from construct_corpus import write_pdfs
from nclue_cli.main import main
from nclue_core.files import sha256_file
from nclue_core.jsonl import read_jsonl
from nclue_dataset.export import dataset_card
from nclue_dataset.names import own_name_reason
from nclue_dataset.prepare import prepare
from nclue_dataset.release import read_release
from tiny_release import edit_rows, tiny_collection, write_tiny

BUILD = "nclue construct --pdfs papers --name works --out bench"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with PDFs and the benchmark built from it, and what was printed."""
    folder = tmp_path_factory.mktemp("work")
    write_pdfs(folder / "papers")
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stderr(io.StringIO()) as err,
        contextlib.redirect_stdout(io.StringIO()) as out,
    ):
        patch.chdir(folder)
        assert main(BUILD.split()[1:]) == 0
    return folder, err.getvalue() + out.getvalue()


@pytest.fixture(scope="module")
def work(built):
    return built[0]


def rows(path):
    return [row.value for row in read_jsonl(path)]


def test_the_corpus_says_what_was_read(work):
    documents = rows(work / "bench" / "corpus.jsonl")
    assert len(documents) == 20
    first = documents[0]
    pdf = work / "papers" / "alpha" / "report 00.pdf"
    assert (first["doc_id"], first["source"]) == ("report_00", "alpha")
    assert (first["sha256"], first["n_bytes"]) == (sha256_file(pdf), pdf.stat().st_size)
    assert first["n_pages"] == 6
    assert not list((work / "papers").rglob(".*"))  # nothing is written beside the PDFs


def test_the_ids_and_the_release_carry_the_name(work, capsys):
    release = read_release(work / "bench" / "release")
    assert list(release.collections) == ["works"]
    queries = release.collection("works").queries
    assert queries
    assert all(query.query_id.startswith("works_") for query in queries)
    assert main(["check", str(work / "bench" / "release")]) == 0
    assert "0 errors" in capsys.readouterr().out


def test_a_second_run_reads_nothing_again(work, tmp_path, capsys):
    papers = tmp_path / "papers"
    shutil.copytree(work / "papers", papers)
    (papers / "broken.pdf").write_text("<html>not found</html>")
    shutil.copy(papers / "alpha" / "report 00.pdf", papers / "beta" / "Rapport été.PDF")
    page = work / "bench" / "ocr_text" / "report_00" / "1.json"
    before = page.stat().st_mtime_ns
    assert main(["construct", "--pdfs", str(papers), "--name", "works",
                 "--out", str(work / "bench")]) == 0  # fmt: skip
    said = capsys.readouterr().err
    assert "left out: broken.pdf: " in said
    assert "the same file as alpha/report 00.pdf" in said
    assert "mine: unchanged" in said
    assert page.stat().st_mtime_ns == before


def test_the_card_shows_what_the_commands_print(built, project_dir, capsys, monkeypatch):
    card = (project_dir / "cards" / "construct.md").read_text(encoding="utf-8")
    sessions = re.findall(r"```console\n(.*?)```", card, re.S)
    shown = [part for text in sessions for part in re.split(r"^\$ ", text, flags=re.M) if part]
    assert len(shown) == 5
    work, printed_by_build = built
    monkeypatch.chdir(work)
    for part in shown:
        command, _, expected = part.partition("\n")
        if command != BUILD:
            main(command.split()[1:])
        printed = capsys.readouterr()
        text = printed_by_build if command == BUILD else printed.err + printed.out
        assert steady(text) == steady(expected), command


def steady(text):
    """Without times and rates, blank lines and line ends."""
    text = re.sub(r"\([\d.,]+/s\), in .*", "(…)", text)
    lines = (line.rstrip() for line in text.splitlines())
    return [line for line in lines if line and not re.match(r"read: .* left$", line)]


@pytest.mark.parametrize("name", ["mini", "MINI", "crosspage", "sourceshift", "mini_v1", "a b",
                                  "own-pages", "own-qrels", "../x", ""])  # fmt: skip
def test_names_of_others_are_refused(name, tmp_path, work, capsys):
    assert own_name_reason(name)
    call = ["construct", "--pdfs", str(work / "papers"), "--out", str(tmp_path / "out")]
    assert main([*call, "--name", name]) == 2
    assert "--name" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_one_folder_holds_one_benchmark(work, capsys):
    call = ["construct", "--pdfs", str(work / "papers"), "--out", str(work / "bench")]
    assert main([*call, "--name", "others"]) == 2
    assert "holds the benchmark 'works'" in capsys.readouterr().err


def test_pdfs_and_pages_together_are_refused(work, capsys):
    call = ["construct", "--pdfs", str(work / "papers"), "--name", "x", "--out", "y"]
    assert main([*call, "--pages", str(work / "bench")]) == 2
    assert "leave out --pages" in capsys.readouterr().err


def test_a_folder_without_pdfs_is_named(tmp_path, capsys):
    call = ["construct", "--pdfs", str(tmp_path), "--name", "x", "--out", str(tmp_path / "out")]
    assert main(call) == 3
    assert "no PDF" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["Report 2020 (final).pdf"], ["Report_2020_final"]),
        (["a.pdf", "sub/A.pdf"], ["a", r"A_[0-9a-f]{8}"]),
        (["報告.pdf", "con.pdf"], [r"con_[0-9a-f]{8}", r"doc_[0-9a-f]{8}"]),
        (["été.pdf", "x" * 120 + ".PDF"], [r"x{80}_[0-9a-f]{8}", "ete"]),
    ],
)
def test_ids_are_safe_and_different(tmp_path, names, expected):
    from nclue_reconstruct.run.own_pdfs import find_pdfs
    from reconstruct_pdfs import body, write

    for number, name in enumerate(names):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path / name, [body(72, 100, 3 + number)])
    documents, paths, left_out = find_pdfs(tmp_path, "own")
    assert left_out == []
    for document, pattern in zip(documents, expected, strict=True):
        assert re.fullmatch(pattern, document.doc_id)
        assert paths[document.doc_id].is_file()


class TestPrepared:
    def test_another_release_of_a_name_needs_force(self, own_caches, tmp_path):
        first, other = write_tiny(tmp_path / "first"), write_tiny(tmp_path / "other")
        edit_rows(other / "qrels.jsonl", lambda row: row if row["doc_id"] != "d2" else None)
        prepare(release=str(first))
        prepare(release=str(other.parent / "first"))  # the same: nothing to ask
        with pytest.raises(Exception, match=r"'tiny': version .* from .*first.*--force"):
            prepare(release=str(other))
        (done,) = prepare(release=str(other), force=True)
        assert any("takes the place of version" in warning for warning in done.warnings)

    def test_mini_is_that_of_the_kit(self, own_caches, tmp_path):
        release = write_tiny(tmp_path / "release", name="mini")
        with pytest.raises(Exception, match="not the mini of the kit"):
            prepare(release=str(release), force=True)

    def test_a_name_that_begins_like_another_survives(self, own_caches, tmp_path):
        from nclue_dataset.cache import datasets_cache

        prepare(release=str(write_tiny(tmp_path / "long", name="tiny-own")))
        prepare(release=str(write_tiny(tmp_path / "short")))
        assert (datasets_cache() / "nclue" / "tiny-own").is_dir()

    def test_doctor_tells_which_release_is_prepared(self, own_caches, tmp_path, capsys):
        prepare(release=str(write_tiny(tmp_path / "release")))
        main(["doctor", "--json"])
        found = {item["part"]: item for item in json.loads(capsys.readouterr().out)}
        line = found["collection tiny"]["found"]
        judgments = read_release(tmp_path / "release").collection("tiny")
        from nclue_dataset.scoring import collection_judgments

        digest = collection_judgments(judgments).content_hash[:12]
        for part in ("version 1.0.0", f"judgments {digest}", str(tmp_path / "release")):
            assert part in line


class TestCardOfOwn:
    def test_it_says_nothing_of_mini_or_the_study(self):
        text = dataset_card([tiny_collection()], [], "tiny", "CC0-1.0").replace("mining", "")
        for word in ("mini", "CrossPage", "SourceShift", "CC BY 4.0", "2607.24165", "{"):
            assert word not in text.replace("path/of/this", ""), word
        assert "released under: CC0-1.0" in text
        assert "license_name: CC0-1.0" in text
        assert "pretty_name: tiny" in text

    def test_a_licence_that_nobody_states_is_said_to_be_none(self):
        text = dataset_card([tiny_collection()], [], "tiny")
        assert "is not stated" in text
        assert "license_name: not-stated" in text

    def test_the_licence_comes_from_the_settings(self, work, tmp_path, capsys):
        settings = tmp_path / "s.toml"
        settings.write_text('license = "CC0-1.0"\n')
        call = ["construct", "--pages", str(work / "bench"), "--name", "works"]
        call += ["--corpus", str(work / "bench" / "corpus.jsonl"), "--out", str(tmp_path / "out")]
        assert main([*call, "--settings", str(settings)]) == 0
        assert (
            main(["export", str(tmp_path / "hub"), "--release", str(tmp_path / "out/release")]) == 0
        )
        assert "license_name: CC0-1.0" in (tmp_path / "hub" / "README.md").read_text()
        capsys.readouterr()


class TestTexts:
    def test_explain_and_audit_sample_find_texts_where_they_were_built(self, work, capsys):
        release = work / "bench" / "release"
        gold = next(r for r in rows(release / "qrels.jsonl") if r["label"] == "gold")
        assert main(["explain", gold["query_id"], gold["doc_id"], "--release", str(release)]) == 0
        assert "gold, grade" in capsys.readouterr().out
        assert main(["audit-sample", "--release", str(release), "-n", "4", "--lines"]) == 0
        assert capsys.readouterr().out.count("===") == 4

    def test_explain_finds_what_reconstruct_remembered(self, work, own_caches, capsys):
        from nclue_dataset.paths import remember_pages

        remember_pages("works", work / "bench")
        shutil.copytree(work / "bench" / "release", own_caches / "elsewhere")
        call = ["explain", "works_0000", "report_00", "--release", str(own_caches / "elsewhere")]
        assert main(call) == 0
        assert "report_00" in capsys.readouterr().out

    def test_texts_that_are_nowhere_are_asked_for(self, own_caches, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        release = write_tiny(tmp_path / "tiny_release")
        assert main(["explain", "q1", "d1", "--release", str(release)]) == 2
        assert "name the folder with --pages" in capsys.readouterr().err

    def test_audit_sample_says_what_cannot_be_read(self, work, tmp_path, capsys):
        release = work / "bench" / "release"
        part = tmp_path / "ocr_text"
        shutil.copytree(work / "bench" / "ocr_text", part)
        shutil.rmtree(part / "report_01")
        call = ["audit-sample", "--release", str(release), "-n", "40", "--pages"]
        assert main([*call, str(part)]) == 1
        assert "no texts of 1 documents, as report_01" in capsys.readouterr().err
        (tmp_path / "none").mkdir()
        assert main([*call, str(tmp_path / "none")]) == 3
        assert "no page texts of the" in capsys.readouterr().err


def test_an_empty_release_is_no_release(tmp_path, capsys):
    release = write_tiny(tmp_path / "release")
    for name in ("queries", "queries_forms", "qrels"):
        (release / f"{name}.jsonl").write_text("")
    assert main(["check", str(release)]) == 1
    assert "no query" in capsys.readouterr().out
