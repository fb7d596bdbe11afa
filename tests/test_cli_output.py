"""Output that a stream cannot take: every encoding, a reader that leaves, a full disk (N05)."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nclue_cli import cmd_demo
from nclue_cli.main import COMMANDS, main
from nclue_cli.output import degrade_streams
from nclue_cli.scorecard import Scorecard, ScorecardRow
from nclue_core import ExitCode
from nclue_core.files import write_text
from tiny_release import write_tiny

ENCODINGS = ("cp1252", "gbk", "cp932", "latin-1", "ascii", "cp437", "utf-8")
CARD = Scorecard("mini", 4, 9, "n_clue|v:1",
                 (ScorecardRow("bm25_or", "raw", 50, 75, 60, 25, 25, 50),))  # fmt: skip


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("output") / "release")


def stream_of(encoding: str, name: str, monkeypatch: pytest.MonkeyPatch) -> io.TextIOWrapper:
    """Let a stream have this encoding (in the test: pytest sets its own before each)."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)
    monkeypatch.setattr(f"sys.{name}", stream)
    return stream


in_every_encoding = pytest.mark.parametrize("encoding", ENCODINGS)


def printed(stdout: io.TextIOWrapper) -> str:
    data = stdout.buffer.getvalue()  # type: ignore[attr-defined]
    encoding = "ascii" if stdout.encoding == "nclue_ascii" else stdout.encoding
    return str(data.decode(encoding))  # strict: nothing of another encoding is in it


@in_every_encoding
def test_the_scorecard_reaches_every_stream(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stdout = stream_of(encoding, "stdout", monkeypatch)
    monkeypatch.setattr(cmd_demo, "build_scorecard", lambda: CARD)
    assert main(["demo"]) == ExitCode.OK
    text = printed(stdout)
    assert "bm25_or   50.0  75.0  60.0" in text
    row = next(line for line in text.splitlines() if line.startswith("bm25_or"))
    bar = row.split()[-1]
    assert len(bar) == 40  # every character of the bar became one
    assert len(set(bar)) == 3


@in_every_encoding
@pytest.mark.parametrize("command", ["score", "compare"])
def test_names_of_any_script_reach_every_stream(
    command: str, encoding: str, release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdout = stream_of(encoding, "stdout", monkeypatch)
    run = tmp_path / "zażółć_検索_😀.json"
    run.write_text('{"q1": ["d1"]}')
    call = [command, "forward", str(run), "--release", str(release)]
    assert main(call) == ExitCode.OK
    assert "forward" in printed(stdout)
    assert main([*call, "--json"]) == ExitCode.OK
    text = printed(stdout)
    value = json.loads(text[min(text.index(start) for start in ("[\n", "{\n") if start in text) :])
    runs = value if command == "score" else value["runs"]
    assert runs[1]["run"] == run.stem  # JSON loses nothing


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_reaches_a_stream_of_ascii(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = stream_of("ascii", "stdout", monkeypatch)
    assert main([name, "--help"]) == ExitCode.OK
    assert stream.buffer.getvalue().isascii()  # type: ignore[attr-defined]


def test_messages_reach_every_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = stream_of("ascii", "stderr", monkeypatch)
    assert main(["score", "検索.trec"]) == ExitCode.INPUT
    assert rb"\u691c\u7d22.trec: no such file" in stream.buffer.getvalue()  # type: ignore[attr-defined]


def test_what_looks_alike_stands_for_a_character(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = stream_of("ascii", "stdout", monkeypatch)
    degrade_streams()
    stream.write("█▒· …é\u2212\u00d7→\udc80")
    assert stream.buffer.getvalue() == b"#=. ...e-x->\\udc80"  # type: ignore[attr-defined]


def test_files_are_utf8_whatever_the_terminal_is(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="cp1252"))
    monkeypatch.setattr(cmd_demo, "build_scorecard", lambda: CARD)
    run, out, page = tmp_path / "検索.json", tmp_path / "out.txt", tmp_path / "card.html"
    run.write_text('{"q1": ["d1"]}')
    call = ["score", str(run), "--release", str(release), "--out", str(out)]
    assert main(call) == ExitCode.OK
    assert "検索" in out.read_text(encoding="utf-8")
    assert main(["demo", "--html", str(page)]) == ExitCode.OK
    assert '<meta charset="utf-8">' in page.read_text(encoding="utf-8")


class Full(io.RawIOBase):
    """A disk without room."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    "arguments",
    [["demo"], ["demo", "--json"], ["doctor"], ["run", "--list"], ["--help"], ["score", "--help"],
     ["score", "forward"], ["score", "forward", "--json"], ["compare", "forward", "backward"],
     ["check"]],
    ids=" ".join,
)  # fmt: skip
def test_a_full_disk_ends_with_a_message(
    arguments: list[str], release: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(cmd_demo, "build_scorecard", lambda: CARD)
    full = io.TextIOWrapper(io.BufferedWriter(Full(), 16))
    monkeypatch.setattr("sys.stdout", full)
    on_release = arguments[0] in ("score", "compare", "check") and "--help" not in arguments
    assert main([*arguments, *(["--release", str(release)] * on_release)]) == ExitCode.FAILED
    assert "No space left on device" in capsys.readouterr().err
    full.detach().detach()  # type: ignore[attr-defined]  # nothing is written at its end


def test_real_devices_and_pipes_leave_no_traceback(release: Path) -> None:
    nclue = f"{sys.executable} -m nclue_cli.main"
    for line, code in (
        (f"{nclue} score forward --release {release} --json > /dev/full", ExitCode.FAILED),
        (f"{nclue} run --list | head -c 1", ExitCode.OK),
    ):
        command = ["bash", "-o", "pipefail", "-c", line]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == code
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    import os
    import threading

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_text(pipe, "text")
    reader.join()
    assert read == [b"text"]
    assert pipe.is_fifo()
