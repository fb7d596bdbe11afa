"""Opening and rendering: a state of its own for each kind of trouble, and limits that hold."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nclue_core.errors import InputError
from nclue_reconstruct import outcome, programs
from nclue_reconstruct.limits import Worker, document_timeout_s, run_limited
from nclue_reconstruct.outcome import DocumentError, DocumentOutcome, PageFailure
from nclue_reconstruct.read.pdf_open import open_pdf
from nclue_reconstruct.read.render import (
    MAX_PIXELS,
    MAX_SIDE,
    pgm,
    plan_page,
    render_document,
    render_page,
)
from nclue_reconstruct.read.textlayer import extract_document
from reconstruct_pdfs import blank, encrypted, raw, write

CATALOG = b"<</Type/Catalog/Pages 2 0 R>>"


def render(pdf, tmp_path, dpi=72, **more):
    return render_document(pdf, tmp_path / "pages", dpi, **more)


def png_size(path):
    return struct.unpack(">II", path.read_bytes()[16:24])


@pytest.fixture
def three_pages(tmp_path):
    return write(tmp_path / "three.pdf", [[(72, 100, f"page {i}", 20)] for i in (1, 2, 3)])


def test_every_page_becomes_a_png_of_the_asked_resolution(three_pages, tmp_path):
    done = render(three_pages, tmp_path, dpi=144)
    assert (done.state, done.pages_done, done.pages_total) == ("ok", 3, 3)
    sizes = [png_size(tmp_path / "pages" / "three" / f"{i}.png") for i in (1, 2, 3)]
    assert sizes == [(1190, 1684)] * 3


def test_pages_on_disk_are_not_rendered_again_unless_the_resolution_differs(three_pages, tmp_path):
    folder = tmp_path / "pages" / "three"
    render(three_pages, tmp_path)
    (folder / "2.png").unlink()
    before = {path.name: path.stat().st_ino for path in folder.iterdir()}
    render(three_pages, tmp_path)
    after = {path.name: path.stat().st_ino for path in folder.iterdir()}
    assert {name: after[name] for name in before} == before
    assert set(after) == {"1.png", "2.png", "3.png"}
    render(three_pages, tmp_path, dpi=100)
    assert png_size(folder / "1.png")[0] == 827


def test_an_encrypted_file_with_an_empty_password_is_fine(tmp_path):
    done = render(encrypted(tmp_path / "a.pdf", ""), tmp_path)
    assert (done.state, done.pages_done) == ("ok", 3)


def broken(path):
    path.write_bytes(b"%PDF-1.7\n" + bytes(range(256)) * 20)
    return path


def html(path):
    path.write_bytes(b"<!DOCTYPE html><html><body>Please accept cookies</body></html>")
    return path


def empty(path):
    path.touch()
    return path


def no_pages(path):
    return raw(path, [CATALOG, b"<</Type/Pages/Kids[]/Count 0>>"])


def cycle(path):
    return raw(path, [CATALOG, b"<</Type/Pages/Kids[2 0 R]/Count 1>>"])


def absurd_count(path):
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 100 100]>>"
    return raw(path, [CATALOG, b"<</Type/Pages/Kids[3 0 R]/Count 2000000000>>", page])


@pytest.mark.parametrize(
    ("make", "state", "told"),
    [
        (lambda p: encrypted(p, "secret"), outcome.PASSWORD_REQUIRED, "password is required"),
        (broken, outcome.BROKEN, "cannot be opened"),
        (html, outcome.NOT_PDF, "an HTML page"),
        (empty, outcome.NOT_PDF, "the file is empty"),
        (no_pages, outcome.NO_PAGES, "no pages"),
        (cycle, outcome.BROKEN, "cannot be read"),
        (absurd_count, outcome.BROKEN, ""),
        (lambda p: p, outcome.MISSING, "no such file"),
    ],
    ids=["password", "broken", "html", "empty", "no-pages", "cycle", "absurd-count", "missing"],
)
def test_each_kind_of_bad_file_has_its_own_state(make, state, told, tmp_path):
    pdf = make(tmp_path / "bad.pdf")
    began = time.monotonic()
    done = render(pdf, tmp_path)
    assert (done.state, done.pages_done) == (state, 0)
    assert told in done.reason
    assert str(tmp_path) not in done.reason
    assert time.monotonic() - began < 5
    assert not list(tmp_path.rglob("*.png"))


def test_a_page_lost_with_the_end_of_the_file_is_not_a_blank_page(tmp_path):
    """MuPDF repairs a file cut short, and shows the lost page as an empty one."""
    content = b"BT /F1 24 Tf 72 700 Td (page) Tj ET"
    page = (
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 3 0 R/Resources<</Font<</F1"
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>"
    )
    objects = [
        CATALOG,
        b"<</Type/Pages/Kids[4 0 R 5 0 R]/Count 2>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
        page,
        page,
    ]
    pdf = raw(tmp_path / "cut.pdf", objects)
    data = pdf.read_bytes()
    pdf.write_bytes(data[: data.index(b"5 0 obj")])
    done = render(pdf, tmp_path)
    assert (done.state, done.pages_done, done.pages_total) == ("partial", 1, 2)
    assert done.reason.startswith("page 2: cannot be read")
    records = list(extract_document(pdf, "cut", "0" * 64))
    assert [record.has_text for record in records] == [True, False]
    assert records[1].note.startswith("unreadable page: ")


def test_a_huge_page_is_rendered_within_the_cap_and_says_so(tmp_path):
    pdf = blank(tmp_path / "huge.pdf", size=(14400, 14400))
    with open_pdf(pdf) as document:
        image = render_page(document, 1, 300)
    assert image.width * image.height <= MAX_PIXELS
    assert image.width * image.height > 0.98 * MAX_PIXELS
    assert image.dpi == 35
    assert "35 dpi instead of 300" in image.note


@given(st.floats(0, 1e7), st.floats(0, 1e7), st.integers(10, 1200))
def test_no_page_box_exceeds_the_limits(width, height, dpi):
    plan = plan_page(width, height, dpi)
    assert plan.width * plan.height <= MAX_PIXELS + plan.width + plan.height
    assert max(plan.width, plan.height) <= MAX_SIDE
    assert min(plan.width, plan.height) >= 1
    assert plan.reduced == (plan.dpi < dpi) or plan.zoom >= 0.99 * dpi / 72


def test_rotated_pages_are_rendered_as_displayed(tmp_path):
    import pymupdf

    pdf = blank(tmp_path / "a.pdf", size=(200, 400))
    document = pymupdf.open(pdf)
    document[0].set_rotation(90)
    document.saveIncr()
    render(pdf, tmp_path)
    assert png_size(tmp_path / "pages" / "a" / "1.png") == (400, 200)


def test_raw_pixels_are_handed_over_without_compression(three_pages):
    with open_pdf(three_pages) as document:
        image = render_page(document, 1, 72)
    assert len(image.samples) == image.width * image.height
    assert pgm(image) == b"P5 595 842 255\n" + image.samples


def test_a_resolution_nobody_means_is_refused(three_pages, tmp_path):
    with pytest.raises(InputError, match="between 10 and 1200, found 20000"):
        render(three_pages, tmp_path, dpi=20000)


def test_a_document_id_never_leaves_its_folder(three_pages, tmp_path):
    render(three_pages, tmp_path, doc_id="../elsewhere")
    assert (tmp_path / "pages" / "%2E.%2Felsewhere" / "1.png").is_file()
    with pytest.raises(InputError, match="cannot be a file name"):
        render(three_pages, tmp_path, doc_id="a" * 200)


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        ([3], "page 3"),
        ([1, 2, 3, 7], "pages 1-3, 7"),
        ([5, 4], "pages 4-5"),
        ([1, 3], "pages 1, 3"),
    ],
)
def test_pages_are_named_as_people_write_them(pages, expected):
    assert outcome.name_pages(pages) == expected


def test_the_state_of_a_document_follows_from_its_pages():
    slow = [PageFailure(page, outcome.TIMEOUT, "too slow") for page in (2, 3)]
    assert outcome.summarise(5, []) == ("ok", "")
    assert outcome.summarise(5, slow) == ("partial", "pages 2-3: too slow")
    assert outcome.summarise(0, slow) == ("timeout", "pages 2-3: too slow")
    mixed = [*slow, PageFailure(4, outcome.CRASHED, "gone")]
    assert outcome.summarise(0, mixed)[0] == "engine_failed"


def add(a, b):
    print("a library that prints must not disturb the answer")
    return a + b


def hang_with_a_child():
    subprocess.run(["sleep", "300"], check=False)


def die():
    os.kill(os.getpid(), 11)


def eat(megabytes):
    return len(bytearray(megabytes << 20))


def fail_in_words():
    raise RuntimeError("code=1: malloc (12345 bytes) failed")


def refuse():
    raise InputError("expected x, found y", path="file", line=3)


def own_pid():
    return os.getpid()


def child_that_leads_its_own_group(seconds):
    process = subprocess.Popen(["sleep", str(seconds)], start_new_session=True)
    print(process.pid, file=sys.stderr, flush=True)
    process.wait()


@pytest.fixture(scope="module")
def worker():
    with Worker(memory_mb=1024, quiet=True) as one:
        yield one


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/status")
    return not (status.exists() and "State:\tZ" in status.read_text())


def gone(pid, within_s=5.0):
    end = time.monotonic() + within_s
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not alive(pid)


def test_a_worker_serves_many_calls_from_one_process(worker):
    assert worker.run(add, 1, b=2, timeout_s=20) == 3
    first = worker.run(own_pid, timeout_s=20)
    assert worker.run(own_pid, timeout_s=20) == first != os.getpid()


def test_threads_that_share_a_worker_get_their_own_answers(worker):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda n: worker.run(add, n, n, timeout_s=20), range(40)))
    assert found == [2 * n for n in range(40)]


def test_errors_of_the_function_are_raised_here_as_they_are(worker):
    with pytest.raises(InputError, match="file:3: expected x, found y") as info:
        worker.run(refuse, timeout_s=20)
    assert info.value.line == 3


def test_a_call_that_hangs_is_ended_with_its_children(worker):
    pid = worker.run(own_pid, timeout_s=20)
    began = time.monotonic()
    with pytest.raises(DocumentError, match=r"not done within 0\.5 s") as info:
        worker.run(hang_with_a_child, timeout_s=0.5)
    assert info.value.state == outcome.TIMEOUT
    assert time.monotonic() - began < 5
    assert gone(pid)
    assert worker.run(add, 2, 2, timeout_s=20) == 4  # another worker took over


def test_a_call_that_crashes_loses_itself_only(worker):
    with pytest.raises(DocumentError, match="SIGSEGV") as info:
        worker.run(die, timeout_s=20)
    assert info.value.state == outcome.CRASHED
    assert worker.run(add, 1, 1, timeout_s=20) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="other systems don't enforce the limit")
def test_a_call_that_needs_too_much_memory_is_told_so(worker):
    with pytest.raises(DocumentError, match="limit 1024 MiB") as info:
        worker.run(eat, 4096, timeout_s=20)
    assert info.value.state == outcome.OUT_OF_MEMORY
    assert worker.run(eat, 10, timeout_s=20) == 10 << 20


def test_memory_errors_without_a_type_are_recognised_by_their_words(worker):
    with pytest.raises(DocumentError) as info:
        worker.run(fail_in_words, timeout_s=20)
    assert info.value.state == outcome.OUT_OF_MEMORY


def test_one_call_can_have_a_worker_of_its_own(three_pages, tmp_path):
    done = run_limited(render_document, three_pages, tmp_path / "pages", 72, timeout_s=60)
    assert isinstance(done, DocumentOutcome)
    assert done.state == "ok"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
def test_a_worker_whose_parent_is_killed_ends_with_all_that_it_started(tmp_path):
    script = (
        "import test_reconstruct_render as t\n"
        "from nclue_reconstruct.limits import Worker\n"
        "worker = Worker(memory_mb=None)\n"
        "print(worker.run(t.own_pid, timeout_s=30), flush=True)\n"
        "worker.run(t.child_that_leads_its_own_group, 300, timeout_s=300)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=Path(__file__).parent,
    )
    try:
        worker_pid = int(parent.stdout.readline())
        child_pid = int(parent.stderr.readline())
        assert alive(worker_pid)
        assert alive(child_pid)
    finally:
        parent.kill()
        parent.communicate()
    assert gone(worker_pid)
    assert gone(child_pid)


def test_the_time_limit_grows_with_the_pages():
    assert document_timeout_s(10, 2.0, base_s=30) == 50
    assert document_timeout_s(None, 1.0, base_s=0) == 300


class TestPrograms:
    def test_output_and_exit_code_come_back(self):
        result = programs.run_program(["sh", "-c", "cat; echo no >&2; exit 3"], timeout_s=20,
                                      stdin=b"in")  # fmt: skip
        assert result == (3, b"in", b"no\n")
        assert result.last_words == "no"

    def test_a_program_that_ignores_sigterm_is_ended_with_its_children(self, tmp_path):
        pids = tmp_path / "pids"
        script = f"trap '' TERM; sleep 300 & echo $$ $! > {pids}; wait"
        began = time.monotonic()
        with pytest.raises(TimeoutError, match=r"not done within 0\.5 s"):
            programs.run_program(["sh", "-c", script], timeout_s=0.5)
        assert time.monotonic() - began < 5
        assert all(gone(int(pid)) for pid in pids.read_text().split())

    def test_what_a_program_leaves_behind_is_ended_too(self, tmp_path):
        pids = tmp_path / "pids"
        script = f"sleep 300 & echo $! > {pids}; exit 0"
        assert programs.run_program(["sh", "-c", script], timeout_s=20).returncode == 0
        assert gone(int(pids.read_text()))

    @pytest.mark.parametrize("told", [True, False])
    def test_the_clock_works_however_the_end_is_learned(self, monkeypatch, told):
        if not told:  # a system without such handles
            monkeypatch.delattr(os, "pidfd_open", raising=False)
        assert programs.run_program(["true"], timeout_s=20).returncode == 0
        began = time.monotonic()
        with pytest.raises(TimeoutError, match=r"within 0\.2 s"):
            programs.run_program(["sleep", "60"], timeout_s=0.2)
        assert 0.2 <= time.monotonic() - began < 10

    def test_a_signal_is_named(self):
        result = programs.run_program(["sh", "-c", "kill -SEGV $$"], timeout_s=20)
        assert programs.how_ended(result.returncode) == "signal SIGSEGV"


ODD_STATES = {
    "format_corpus_corruptiononebytemissing.pdf": outcome.REPAIRED,
    "format_corpus_t03_001_no_cross_reference_table.pdf": outcome.REPAIRED,
    "format_corpus_t04_002_eof_missing.pdf": outcome.REPAIRED,
    "pdf20examples_pdf20_utf8_test.pdf": outcome.REPAIRED,
    "format_corpus_t02_01_001_document_catalog_no_document_catalog.pdf": outcome.NO_PAGES,
    "format_corpus_t02_02_002_page_tree_kids_links_recursive.pdf": outcome.BROKEN,
    "format_corpus_t02_02_005_page_tree_no_kids.pdf": outcome.BROKEN,
    "pdf_js_pages_tree_refs.pdf": outcome.PARTIAL,
    "pdf_js_poppler_67295_0.pdf": outcome.BROKEN,
    "pdf_js_poppler_742_0_fuzzed.pdf": outcome.BROKEN,
    "pdfminer_six_rc4_40.pdf": outcome.PASSWORD_REQUIRED,
    "pypdf_r6_user_password.pdf": outcome.PASSWORD_REQUIRED,
    "qpdf_append_xref_loop.pdf": outcome.NO_PAGES,
    "qpdf_bad1.pdf": outcome.NOT_PDF,
}


@pytest.mark.shared
def test_every_odd_file_ends_in_its_state(shared_dir, tmp_path):
    files = sorted((shared_dir / "corpus" / "odd").glob("*.pdf"))
    assert len(files) == 28
    found = {}
    with Worker() as one:
        for pdf in files:
            found[pdf.name] = one.run(render_document, pdf, tmp_path, 50, timeout_s=60).state
    assert found == {pdf.name: ODD_STATES.get(pdf.name, outcome.OK) for pdf in files}


@pytest.mark.shared
@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("R01", (outcome.OK, 3)),
        ("R01.user", (outcome.PASSWORD_REQUIRED, 0)),
        ("R02", (outcome.OK, 1)),
    ],
)
def test_rendering_cases(shared_dir, tmp_path, case, expected):
    folder = shared_dir / "cases" / "dev" / case
    pdf = folder / json.loads((folder / "case.json").read_text())["pdf"]
    done = render(pdf, tmp_path, dpi=300)
    assert (done.state, done.pages_done) == expected
    for path in tmp_path.rglob("*.png"):
        width, height = png_size(path)
        assert width * height <= MAX_PIXELS
