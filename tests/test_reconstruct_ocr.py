"""Tesseract, the engines, and page files on disk: with stand-ins, and with the real program."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nclue_core.errors import InputError, MissingDependencyError, UsageError
from nclue_core.pages import read_document
from nclue_reconstruct import outcome
from nclue_reconstruct.limits import Worker
from nclue_reconstruct.outcome import DocumentError, PageFailure
from nclue_reconstruct.read import engines, tesseract
from nclue_reconstruct.read.engine_tesseract import TesseractEngine
from nclue_reconstruct.read.engine_text import TextEngine
from nclue_reconstruct.read.pdf_open import open_pdf
from nclue_reconstruct.read.render import PageImage, render_page
from nclue_reconstruct.run.ocr_steps import finished_pages, ocr_document
from reconstruct_pdfs import blank, encrypted, scan, write
from toy_engines import FailingEngine, NullEngine

SHA = "ab" * 32
LINES = ["The quick brown fox jumps", "over the lazy dog and then", "it sleeps for the whole day"]
HAS_TESSERACT = shutil.which("tesseract") is not None
needs_tesseract = [
    pytest.mark.tesseract,
    pytest.mark.skipif(not HAS_TESSERACT, reason="apt-get install -y tesseract-ocr"),
]
TSV_HEAD = (
    "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"
)


def program(path: Path, body: str) -> Path:
    """A stand-in program: a Python script that is executable."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable}\nimport os, sys, time, signal\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


FAKE = """
if "--list-langs" in sys.argv:
    print('List of available languages in "/data/tess/" (2):\\neng\\nosd')
elif "--version" in sys.argv:
    print("tesseract 9.9.9\\n leptonica-1")
else:
    pixels = sys.stdin.buffer.read()
    {read}
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Puts a stand-in for Tesseract first on PATH; the argument says what it does with a page."""

    def install(read: str) -> None:
        program(tmp_path / "bin" / "tesseract", FAKE.format(read=read))
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")

    return install


def engine(**settings):
    return TesseractEngine(library=False, **settings)


def image_of(pdf, page=1, dpi=100):
    with open_pdf(pdf) as document:
        return render_page(document, page, dpi)


def row(block, par, line, word, left, top, width, height, conf, text):
    values = [5, 1, block, par, line, word, left, top, width, height, conf, text]
    return "\t".join(map(str, values))


class TestCheckBeforeWork:
    def test_a_missing_program_is_named_with_the_command(self, monkeypatch, tmp_path):
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(MissingDependencyError, match="apt-get install -y tesseract-ocr"):
            engine().check_ready()

    def test_a_missing_language_is_named_with_the_command(self, fake):
        fake("")
        message = r"no data for the language 'chi_sim' \(it has: eng, osd; folder: /data/tess/\)"
        with pytest.raises(MissingDependencyError, match=message) as info:
            engine(lang="eng+chi_sim").check_ready()
        assert "apt-get install -y tesseract-ocr-chi-sim" in str(info.value)

    def test_a_wrong_tessdata_prefix_is_named(self, monkeypatch, tmp_path):
        program(tmp_path / "bin" / "tesseract", "sys.exit(1)")
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("TESSDATA_PREFIX", "/nonexistent")
        with pytest.raises(MissingDependencyError, match="set to '/nonexistent': is it right"):
            engine().check_ready()

    def test_a_language_that_is_an_option_in_disguise_is_refused(self, fake):
        fake("")
        with pytest.raises(UsageError, match="expected names like eng"):
            engine(lang="eng --psm 0").check_ready()

    def test_a_program_that_pytesseract_was_told_of_is_used(self, fake, monkeypatch, tmp_path):
        pytesseract = pytest.importorskip("pytesseract.pytesseract")
        fake("")
        monkeypatch.setattr(pytesseract, "tesseract_cmd", str(tmp_path / "bin" / "tesseract"))
        monkeypatch.setenv("PATH", "/nonexistent" + os.pathsep + str(Path(sys.executable).parent))
        assert tesseract.find_tesseract(library=False).program == str(tmp_path / "bin/tesseract")
        monkeypatch.setattr(pytesseract, "tesseract_cmd", "no_such_program")
        with pytest.raises(MissingDependencyError, match="'no_such_program', which is not"):
            tesseract.find_tesseract(library=False)

    def test_the_version_is_that_of_the_program(self, fake):
        fake("")
        assert engine().version() == "tesseract 9.9.9"


class TestOnePage:
    @pytest.fixture
    def image(self, tmp_path):
        return image_of(write(tmp_path / "a.pdf", [[(72, 100 * i, "words", 30)] for i in [1]]))

    def read(self, image, **more):
        return tesseract.read_page(image, tesseract.find_tesseract(library=False), **more)

    def test_the_program_gets_raw_pixels_one_thread_and_the_resolution(self, fake, image, tmp_path):
        fake(
            "seen = [pixels[:2].decode(), str(len(pixels)), os.environ['OMP_THREAD_LIMIT']]\n"
            "    print('5' + 7 * '\\t1' + '\\t50\\t20\\t90\\t' + '|'.join(seen + sys.argv[1:]))"
        )
        text = self.read(image).blocks[0].text
        head = len(f"P5 {image.width} {image.height} 255\n")
        size = image.width * image.height + head
        assert text == f"P5|{size}|1|{tesseract._SOURCE}|stdout|--dpi|100|-l|eng|--psm|3|tsv"

    def test_the_thread_limit_of_the_user_wins(self, fake, image, monkeypatch):
        monkeypatch.setenv("OMP_THREAD_LIMIT", "4")
        fake("print('5' + 7 * '\\t1' + '\\t5\\t2\\t90\\tn' + os.environ['OMP_THREAD_LIMIT'])")
        assert self.read(image).blocks[0].text == "n4"

    def test_a_program_that_never_returns_is_ended_in_time(self, fake, image, tmp_path):
        fake("signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)")
        began = time.monotonic()
        with pytest.raises(DocumentError, match=r"not read within 0\.5 s") as info:
            self.read(image, timeout_s=0.5)
        assert info.value.state == outcome.TIMEOUT
        assert time.monotonic() - began < 4

    def test_a_program_that_fails_is_quoted(self, fake, image):
        fake("sys.stderr.write('Error: out of ink\\n'); sys.exit(2)")
        with pytest.raises(DocumentError, match="tesseract: exit code 2: Error: out of ink"):
            self.read(image)

    def test_output_that_is_no_utf8_is_read_all_the_same(self, fake, image):
        fake("sys.stdout.buffer.write((b'5' + 7 * b'\\t1' + b'\\t5\\t2\\t90\\tn\\xff\\n') * 9)")
        assert self.read(image).blocks[0].text.startswith("n\ufffd n\ufffd")

    def test_a_blank_page_does_not_start_the_program(self, fake, tmp_path):
        fake("sys.exit(9)")
        found = self.read(image_of(blank(tmp_path / "b.pdf")))
        assert found == ((), "blank page")

    def test_no_temporary_files_are_left(self, fake, image, tmp_path, monkeypatch):
        folder = tmp_path / "tmp"
        folder.mkdir()
        monkeypatch.setenv("TMPDIR", str(folder))
        monkeypatch.setattr(tempfile, "tempdir", None)
        fake("time.sleep(600)")
        with pytest.raises(DocumentError):
            self.read(image, timeout_s=0.3)
        assert list(folder.iterdir()) == []


class TestBlank:
    def page(self, samples, width=1000, height=1000):
        return PageImage(1, width, height, 1, bytes(samples), 100, 720, 720, None)

    def test_paper_with_dust_is_blank_and_a_page_number_is_not(self):
        pixels = bytearray(b"\xfa" * 1_000_000)
        pixels[5000:5010] = b"\x00" * 10
        assert tesseract.is_blank(self.page(pixels))
        pixels[7000:7020] = b"\x00" * 20
        assert not tesseract.is_blank(self.page(pixels))

    def test_gray_paper_is_blank_and_white_on_black_is_not(self):
        assert tesseract.is_blank(self.page(b"\x80" * 1_000_000))
        assert not tesseract.is_blank(self.page(b"\x00" * 999_000 + b"\xff" * 1000))


class TestTsv:
    def test_words_become_lines_and_paragraphs_with_boxes(self):
        rows = [
            TSV_HEAD,
            "4\t1\t1\t1\t1\t0\t0\t0\t9\t9\t-1\t",
            row(1, 1, 1, 1, 100, 100, 50, 20, 95, "First"),
            row(1, 1, 1, 2, 160, 100, 60, 20, 95, "line"),
            row(1, 1, 2, 1, 100, 130, 80, 20, 95, "second"),
            row(2, 1, 1, 1, 100, 500, 80, 20, 95, "Other"),
            row(2, 1, 1, 2, 100, 500, 80, 20, 95, " "),
        ]
        words = list(tesseract.parse_tsv("\n".join(rows)))
        assert [word.text for word in words] == ["First", "line", "second", "Other"]
        blocks = list(tesseract._blocks(words, 1000, 1000, 0))
        assert [(b.text, b.bbox) for b in blocks] == [
            ("First line\nsecond", (0.1, 0.1, 0.22, 0.15)),
            ("Other", (0.1, 0.5, 0.18, 0.52)),
        ]

    def test_large_letters_and_capitals_make_titles(self):
        words = [
            tesseract.Word((1, 1, 1), (100, 100, 400, 150), 95, "Chapter"),
            tesseract.Word((2, 1, 1), (100, 200, 400, 220), 95, "FINDINGS"),
            *(
                tesseract.Word((3, 1, i), (100, 300 + 30 * i, 800, 320 + 30 * i), 95, "text")
                for i in range(9)
            ),
            tesseract.Word((4, 1, 1), (490, 960, 510, 980), 95, "17"),
        ]
        kinds = [(b.type, b.level) for b in tesseract._blocks(words, 1000, 1000, 0)]
        assert kinds == [("title", 1), ("title", 3), ("text", None), ("page_number", None)]

    @pytest.mark.parametrize(
        ("text", "turn"),
        [
            ("Page number: 0\nRotate: 90\nOrientation confidence: 4.2\n", 90),
            ("Rotate: 180\nOrientation confidence: 0.3\n", 0),
            ("Rotate: 0\nOrientation confidence: 9\n", 0),
            ("Too few characters. Skipping this page\n", 0),
            ("Rotate: sideways\nOrientation confidence: x\n", 0),
        ],
    )
    def test_orientation_counts_only_when_it_is_sure(self, text, turn):
        assert tesseract.parse_orientation(text) == turn

    @given(st.sampled_from([90, 180, 270]), st.data())
    def test_boxes_of_a_turned_page_are_turned_back(self, turn, data):
        """Against pixels: mark a box on the page, turn the page as for OCR, find the box there."""
        import numpy as np

        height, width = 20, 30
        x0, y0 = data.draw(st.integers(0, width - 1)), data.draw(st.integers(0, height - 1))
        x1, y1 = data.draw(st.integers(x0 + 1, width)), data.draw(st.integers(y0 + 1, height))
        pixels = np.zeros((height, width), np.uint8)
        pixels[y0:y1, x0:x1] = 1
        page = PageImage(1, width, height, 1, pixels.tobytes(), 72, 30, 20, None)
        turned = tesseract._turn(page, turn)
        marked = np.frombuffer(turned.samples, np.uint8).reshape(turned.height, turned.width)
        ys, xs = np.nonzero(marked)
        box = (
            xs.min() / turned.width,
            ys.min() / turned.height,
            (xs.max() + 1) / turned.width,
            (ys.max() + 1) / turned.height,
        )
        expected = (x0 / width, y0 / height, x1 / width, y1 / height)
        assert tesseract.turn_back(box, turn) == pytest.approx(expected, abs=1e-4)


class TestRealTesseract:
    pytestmark = needs_tesseract

    def test_a_scan_is_read(self, tmp_path):
        pdf = scan(tmp_path / "scan.pdf", LINES)
        done = ocr_document(engine(dpi=150), pdf, "scan", SHA, tmp_path / "ocr")
        (record,) = read_document(tmp_path / "ocr", "scan")
        assert done.state == "ok"
        assert record.text.split("\n") == LINES
        assert (record.dpi, record.engine, record.sha256) == (150, "tesseract", SHA)
        assert record.blocks[0].bbox[0] == pytest.approx(72 / 595, abs=0.01)

    @pytest.mark.parametrize("rotate", [90, 180, 270])
    def test_a_page_that_lies_on_its_side_is_read_and_said(self, tmp_path, rotate):
        lines = LINES * 3
        pdf = scan(tmp_path / "scan.pdf", lines, rotate=rotate)
        (record,) = engine(dpi=150).read(pdf, "scan", SHA, [1])
        assert record.text.split() == " ".join(lines).split()
        assert "turned" in record.note
        upright = scan(tmp_path / "upright.pdf", lines)
        (straight,) = engine(dpi=150).read(upright, "scan", SHA, [1])
        boxes = {90: lambda x, y: (y, 1 - x), 180: lambda x, y: (1 - x, 1 - y),
                 270: lambda x, y: (1 - y, x)}  # fmt: skip
        where = boxes[rotate](*straight.blocks[0].bbox[:2])
        x0, y0, x1, y1 = record.blocks[0].bbox
        assert x0 - 0.02 <= where[0] <= x1 + 0.02
        assert y0 - 0.02 <= where[1] <= y1 + 0.02

    def test_the_library_reads_what_the_program_reads(self, tmp_path):
        pytest.importorskip("tesserocr")
        pdf = scan(tmp_path / "scan.pdf", LINES)
        library = TesseractEngine(library=True, dpi=150)
        (record,) = library.read(pdf, "scan", SHA, [1])
        assert record.text.split("\n") == LINES
        assert record.engine_version.startswith("tesserocr ")

    def test_the_library_is_ended_in_time(self, tmp_path):
        pytest.importorskip("tesserocr")
        pdf = scan(tmp_path / "scan.pdf", LINES * 8, dpi=300)
        library = TesseractEngine(library=True, dpi=600, page_timeout_s=0.05)
        (failure,) = library.read(pdf, "scan", SHA, [1])
        assert failure == PageFailure(1, outcome.TIMEOUT, "not read within 0.05 s")

    def test_pages_without_text_layer_can_go_to_ocr(self, tmp_path):
        import pymupdf

        mixed = pymupdf.open(write(tmp_path / "text.pdf", [[(72, 100, "born digital", 12)]]))
        mixed.insert_pdf(pymupdf.open(scan(tmp_path / "scan.pdf", LINES)))
        mixed.save(tmp_path / "mixed.pdf")
        both = TextEngine(ocr_missing=engine(dpi=150))
        first, second = both.read(tmp_path / "mixed.pdf", "mixed", SHA, [1, 2])
        assert (first.engine, first.text) == ("text", "born digital")
        assert (second.engine, second.text.split("\n")) == ("tesseract", LINES)


class TestDocuments:
    @pytest.fixture
    def pdf(self, tmp_path):
        return write(tmp_path / "a.pdf", [[(72, 100, f"page {i}", 12)] for i in (1, 2, 3, 4)])

    def pages_of(self, folder):
        return {int(path.stem): path.read_bytes() for path in folder.glob("*.json")}

    def test_pages_on_disk_are_not_read_again(self, pdf, tmp_path):
        out = tmp_path / "ocr"
        failing = FailingEngine(how="error", fail_pages=(2, 3))
        first = ocr_document(failing, pdf, "a", SHA, out)
        assert (first.state, first.pages_done, first.pages_total) == ("partial", 2, 4)
        assert first.reason == "pages 2-3: failed on purpose"
        before = self.pages_of(out / "a")
        assert sorted(before) == [1, 4]
        asked = []

        class Recording(NullEngine):
            def read(self, pdf, doc_id, sha256, pages):
                asked.extend(pages)
                return super().read(pdf, doc_id, sha256, pages)

        second = ocr_document(Recording(), pdf, "a", SHA, out)
        assert asked == [2, 3]
        assert (second.state, second.pages_done) == ("ok", 4)
        after = self.pages_of(out / "a")
        assert {page: after[page] for page in before} == before

    def test_pages_of_another_version_of_the_file_are_removed(self, pdf, tmp_path):
        out = tmp_path / "ocr"
        ocr_document(NullEngine(), pdf, "a", SHA, out)
        other = "cd" * 32
        done = ocr_document(NullEngine(), pdf, "a", other, out)
        assert done.pages_done == 4
        assert {record.sha256 for record in read_document(out, "a")} == {other}

    def test_pages_beyond_the_end_of_the_document_are_removed(self, pdf, tmp_path):
        out = tmp_path / "ocr"
        ocr_document(NullEngine(), pdf, "a", SHA, out)
        assert finished_pages(out / "a", 3, SHA) == set()
        assert not list((out / "a").glob("*.json"))

    def test_without_resume_all_pages_are_read_again(self, pdf, tmp_path):
        out = tmp_path / "ocr"
        ocr_document(NullEngine(), pdf, "a", SHA, out)
        failing = FailingEngine(how="error", fail_pages=(1, 2, 3, 4))
        done = ocr_document(failing, pdf, "a", SHA, out, resume=False)
        assert (done.state, done.pages_done) == (outcome.ENGINE_FAILED, 0)
        assert self.pages_of(out / "a") == {}

    @pytest.mark.parametrize(
        ("how", "state"), [("hang", outcome.TIMEOUT), ("crash", outcome.CRASHED),
                           ("memory", outcome.OUT_OF_MEMORY)]
    )  # fmt: skip
    def test_what_was_read_before_a_failure_stays(self, pdf, tmp_path, how, state):
        out = tmp_path / "ocr"
        failing = FailingEngine(how=how, fail_pages=(3,))
        with Worker() as worker:  # it has begun before the clock does: the machine may be busy
            worker.run(ocr_document, NullEngine(), pdf, "a", SHA, tmp_path / "x", timeout_s=120)
            limit_s = 2.5 if how == "hang" else 120
            with pytest.raises(DocumentError) as info:
                worker.run(ocr_document, failing, pdf, "a", SHA, out, timeout_s=limit_s)
        assert info.value.state == state
        assert sorted(self.pages_of(out / "a")) == [1, 2]
        done = ocr_document(NullEngine(), pdf, "a", SHA, out)
        assert done.state == "ok"

    def test_a_timeout_of_one_page_is_retried_alone(self, pdf, tmp_path, fake):
        fake("time.sleep(600)")
        out = tmp_path / "ocr"
        slow = engine(page_timeout_s=0.3, dpi=50)
        done = ocr_document(slow, pdf, "a", SHA, out)
        assert (done.state, done.pages_done) == (outcome.TIMEOUT, 0)
        assert done.reason == "pages 1-4: not read within 0.3 s"
        assert not (out / "a").exists()

    def test_a_locked_document_has_its_state_and_no_pages(self, tmp_path):
        pdf = encrypted(tmp_path / "locked.pdf", "secret")
        done = ocr_document(NullEngine(), pdf, "locked", SHA, tmp_path / "ocr")
        assert (done.state, done.pages_total) == (outcome.PASSWORD_REQUIRED, None)
        assert not (tmp_path / "ocr").exists()

    def test_an_engine_that_forgets_pages_is_noticed(self, pdf, tmp_path):
        class Forgetful(NullEngine):
            def read(self, pdf, doc_id, sha256, pages):
                return super().read(pdf, doc_id, sha256, pages[:-1])

        done = ocr_document(Forgetful(), pdf, "a", SHA, tmp_path / "ocr")
        assert (done.state, done.reason) == ("partial", "page 4: the engine gave no result")

    def test_a_document_id_never_leaves_its_folder(self, pdf, tmp_path):
        ocr_document(NullEngine(), pdf, "../b", SHA, tmp_path / "ocr")
        assert [path.name for path in (tmp_path / "ocr").iterdir()] == ["%2E.%2Fb"]
        with pytest.raises(InputError, match="cannot be a file name"):
            ocr_document(NullEngine(), pdf, "b" * 200, SHA, tmp_path / "ocr")

    def test_two_runs_give_the_same_bytes(self, pdf, tmp_path):
        for name in ("one", "two"):
            ocr_document(TextEngine(), pdf, "a", SHA, tmp_path / name)
        assert self.pages_of(tmp_path / "one" / "a") == self.pages_of(tmp_path / "two" / "a")


class TestChoice:
    def test_unknown_engines_are_named_with_the_known_ones(self):
        with pytest.raises(UsageError, match="there are: auto, mineru, tesseract, text"):
            engines.get_engine("abbyy")

    def test_ocr_missing_goes_with_text_only(self):
        filled = engines.get_engine("text", ocr_missing="tesseract", lang="deu", dpi=300)
        assert filled == TextEngine(TesseractEngine("deu", 300))
        with pytest.raises(UsageError, match="there are: mineru, tesseract"):
            engines.get_engine("text", ocr_missing="text")
        with pytest.raises(UsageError, match="goes with the engine text"):
            engines.get_engine("tesseract", ocr_missing="tesseract")

    def test_auto_is_tesseract_where_mineru_is_not_ready_and_says_why(self, monkeypatch):
        monkeypatch.setenv("NCLUE_MINERU", "/nonexistent")
        chosen, why = engines.choose_engine(lang="deu", dpi=150)
        assert chosen == TesseractEngine("deu", 150)
        assert why.startswith("OCR with Tesseract, because MinerU is not ready: MinerU: it is not")
        assert engines.get_engine("auto", lang="deu", dpi=150) == chosen


@pytest.mark.shared
def test_a_batch_with_bad_documents_goes_on(shared_dir, tmp_path):
    """Case R12: killed after the first document, then run again."""
    folder = shared_dir / "cases" / "dev" / "R12"
    batch = json.loads((folder / "batch.json").read_text())
    pdfs = [folder / name for name in batch["documents"]]

    def run(paths):
        return [ocr_document(TextEngine(), path, path.stem, SHA, tmp_path).state for path in paths]

    run(pdfs[: batch["kill_after_document"]])
    first = {path: path.stat().st_ino for path in (tmp_path / pdfs[0].stem).iterdir()}
    assert run(pdfs) == ["ok", "partial", "not_pdf", "password_required", "ok"]
    assert {path: path.stat().st_ino for path in (tmp_path / pdfs[0].stem).iterdir()} == first
    assert [p.has_text for p in read_document(tmp_path, pdfs[4].stem)] == [True, False, True]
