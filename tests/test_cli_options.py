"""All commands: options that mean the same, worked examples, exit codes as documented."""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner

from nclue_cli import cmd_demo, options
from nclue_cli.main import COMMANDS, cli, main
from nclue_core import ExitCode
from tiny_release import write_tiny


def walk(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from walk(child, (*path, name))


ROOT = click.Context(cli)
ALL = [item for name in COMMANDS for item in walk(cli.get_command(ROOT, name), (name,))]  # type: ignore[arg-type]
IDS = [" ".join(path) for path, _ in ALL]
every = pytest.mark.parametrize(("path", "command"), ALL, ids=IDS)


def option(command: click.Command, name: str) -> click.Option | None:
    return next((p for p in command.params if isinstance(p, click.Option) and name in p.opts), None)


@every
def test_options_mean_the_same_in_every_command(
    path: tuple[str, ...], command: click.Command
) -> None:
    assert option(command, "-q") == option(command, "--quiet") != None  # noqa: E711
    assert option(command, "-v") == option(command, "--verbose") != None  # noqa: E711
    if not isinstance(command, click.Group) or command.invoke_without_command:
        found = option(command, "--json")
        assert found is not None
        assert (found.is_flag, found.help) == (True, "Print the result as JSON.")
    release, seed, form = (option(command, name) for name in ("--release", "--seed", "--form"))
    if release:
        assert release.metavar == "PATH|URL"
        if path != ("check",):  # it is told what is wrong with all of them
            collection = option(command, "--collection")
            assert collection is not None
            assert "--config" in collection.opts  # the name of 0.1
    if option(command, "--config") and not option(command, "--collection"):
        assert option(command, "--settings") is option(command, "--config")
    if seed:
        assert seed.callback is options._checked_seed
    if form:
        assert (form.default, form.metavar) == ("raw", "FORM")
    for name in ("--pages", "--exclude", "--queries", "--facts", "--corpus", "--settings"):
        read = option(command, name)
        assert read is None or read.is_flag or isinstance(read.type, options.InputPath), name


@every
def test_help_has_two_worked_examples_that_parse(
    path: tuple[str, ...], command: click.Command
) -> None:
    done = CliRunner().invoke(cli, [*path, "--help"])
    assert done.exit_code == 0
    lines = re.findall(r"^\s+nclue (.+)$", done.output.partition("Examples:")[2], re.M)
    assert len(lines) >= 2
    for line in lines:
        words = shlex.split(line)
        found: Any = cli
        while words and isinstance(found, click.Group) and words[0] in found.list_commands(ROOT):
            found = found.get_command(ROOT, words.pop(0))
        found.make_parser(click.Context(found)).parse_args(words)  # unknown options raise


@every
def test_an_option_given_twice_is_refused_or_repeats(
    path: tuple[str, ...], command: click.Command, capsys: pytest.CaptureFixture[str]
) -> None:
    single = [
        item.opts[0] for item in command.params
        if isinstance(item, click.Option) and not (item.multiple or item.is_flag or item.is_eager)
    ]  # fmt: skip
    for name in single:
        assert main([*path, name, "1", name, "2"]) == ExitCode.USAGE
        assert f"{name} is given twice" in capsys.readouterr().err


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("options") / "release")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["score", "forward", "--release", "RELEASE"], ExitCode.OK),
        (["score", "forward", "--release", "RELEASE", "--collection", "tiny"], ExitCode.OK),
        (["score", "forward", "--release", "RELEASE", "--config", "tiny"], ExitCode.OK),
        (["score", "forward", "--release", "RELEASE", "--config", "other"], ExitCode.USAGE),
        (["score", "forward", "--release", "nowhere"], ExitCode.INPUT),
        (["score", "nowhere.trec", "--release", "RELEASE"], ExitCode.INPUT),
        (["score", ".", "--release", "RELEASE"], ExitCode.INPUT),
        (["score", "forward", "--exclude", "nowhere.json"], ExitCode.INPUT),
        (["score", "forward", "--queries", "."], ExitCode.INPUT),
        (["compare", "forward", "nowhere.trec", "--release", "RELEASE"], ExitCode.INPUT),
        (["compare", "forward"], ExitCode.USAGE),
        (["compare", "forward", "backward", "--seed", "-1"], ExitCode.USAGE),
        (["check", "nowhere"], ExitCode.INPUT),
        (["check"], ExitCode.USAGE),
        (["check", "RELEASE", "--release", "RELEASE"], ExitCode.USAGE),
        (["export", "--release", "RELEASE"], ExitCode.USAGE),
        (["export", "OUT", "--release", "nowhere"], ExitCode.INPUT),
        (["run", "bm25_or", "--pages", "nowhere"], ExitCode.INPUT),
        (["run", "bm25_or", "--pages", ".", "--form", "clean"], ExitCode.USAGE),
        (["explain", "q1", "d1", "--pages", "nowhere"], ExitCode.INPUT),
        (["audit-sample", "--pages", "nowhere"], ExitCode.INPUT),
        (["construct", "--pages", "nowhere", "--corpus", "x", "--out", "OUT"], ExitCode.INPUT),
        (["construct", "--out", "OUT"], ExitCode.USAGE),
        (["reconstruct", "--out", "OUT"], ExitCode.USAGE),
        (["reconstruct", "--out", "OUT", "--release", "nowhere"], ExitCode.INPUT),
        (["reconstruct", "status", "tiny", "--out", "OUT", "--config", "tiny"], ExitCode.USAGE),
        (["stats", "blocks", "nowhere.toml"], ExitCode.INPUT),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)  # fmt: skip
def test_exit_codes_are_those_of_the_help(
    arguments: list[str], code: ExitCode, release: Path, tmp_path: Path, own_caches: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    names = {"RELEASE": str(release), "OUT": str(tmp_path / "out")}
    assert main([names.get(word, word) for word in arguments]) == code
    said = capsys.readouterr().err
    assert (code == ExitCode.OK) or said.strip()
    assert "Traceback" not in said


def test_a_release_may_be_an_archive_everywhere(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import shutil

    archive = shutil.make_archive(str(tmp_path / "tiny"), "zip", release.parent, release.name)
    for arguments in (
        ["score", "forward", "--release", archive],
        ["compare", "forward", "backward", "--release", archive],
        ["check", archive],
        ["export", "--out", str(tmp_path / "hub"), "--release", archive],
        ["reconstruct", "status", "--out", str(tmp_path / "mine"), "--release", archive],
    ):
        assert main(arguments) == ExitCode.OK, capsys.readouterr().err
    assert (tmp_path / "hub" / "README.md").is_file()


def test_files_are_read_from_stdin_once(
    release: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"q1\nq2\n")))
    assert main(["score", "forward", "--release", str(release), "--queries", "-"]) == 0
    assert "|queries:2|" in capsys.readouterr().out
    twice = ["score", "forward", "--release", str(release), "--queries", "-", "--exclude", "-"]
    assert main(twice) == ExitCode.USAGE
    assert "name it once" in capsys.readouterr().err


def test_quiet_keeps_warnings_and_verbose_lists_all(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run.json"
    run.write_text('{"q1": ["d1", "d2", "d3", "d4", "x1", "x2", "x3", "x4", "x5", "x6"]}')
    call = ["score", str(run), "--release", str(release), "--allow-unknown"]
    target = tmp_path / "out.txt"
    assert main([*call, "-q", "--out", str(target)]) == 0
    quiet = capsys.readouterr()
    assert "n_clue|v:" in target.read_text(encoding="utf-8")
    assert quiet.out == ""
    assert "wrote" not in quiet.err
    assert "x5, … (1 more)" in quiet.err
    assert main([*call, "-v"]) == 0
    assert "x5, x6" in capsys.readouterr().err
    assert main(["score", "nowhere.trec", "-v"]) == ExitCode.INPUT
    assert "Traceback" in capsys.readouterr().err  # where it arose, because it was asked for


def test_next_lines_can_be_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "with blank" / ".venv" / "bin" / "nclue"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(script.with_name("python")))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path / "with blank")
    assert cmd_demo.callable_name() == ".venv/bin/nclue"
    assert cmd_demo.next_commands()[0][1].startswith(".venv/bin/nclue score my_run.trec")
    monkeypatch.chdir(tmp_path)
    assert cmd_demo.callable_name() == "'with blank/.venv/bin/nclue'"
    monkeypatch.setenv("PATH", str(script.parent))
    assert cmd_demo.callable_name() == "nclue"
