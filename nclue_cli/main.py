"""Entry point of ``nclue``: finds the subcommand, runs it, maps errors to exit codes.

The table below is all that ``nclue --help`` needs; a command's module (and what it imports) is
loaded when it runs.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Sequence

import click

from nclue_cli import output
from nclue_core._version import __version__
from nclue_core.errors import ExitCode

# name -> (module in this package, one line of help); in the order a new user meets them
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("cmd_demo", "Load and score the embedded benchmark, and show the scorecard."),
    "doctor": ("cmd_doctor", "Say what is installed and ready, and what to do about the rest."),
    "prepare": ("cmd_prepare", "Put collections into the Hugging Face cache for load_dataset."),
    "score": ("cmd_score", "Score run files against a collection."),
    "compare": ("cmd_compare", "Compare run files with a base run: intervals and tests."),
    "stats": ("cmd_stats", "Sensitivity, strata, rank correlation, agreement, tests of blocks."),
    "check": ("cmd_check", "Validate a release directory and list everything that is wrong."),
    "export": ("cmd_export", "Write the folder that goes to the Hugging Face Hub."),
    "run": ("cmd_run", "Run retrieval systems over local page texts and write runs."),
    "reconstruct": ("cmd_reconstruct", "Fetch, verify, render and OCR the source PDFs."),
    "construct": ("cmd_construct", "Build a benchmark from one's own PDFs."),
    "audit-sample": ("cmd_audit_sample", "Draw decisions of a benchmark to be read by a person."),
    "explain": ("cmd_explain", "Show why a document is gold or subset, with quoted lines."),
}


class LazyGroup(click.Group):
    """A group whose subcommands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of one command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"nclue_cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


EPILOG = """\b
Results go to stdout, progress and messages to stderr.
Exit codes: 0 done, 1 findings or failures, 2 wrong call, 3 unreadable input,
4 something is not installed, 5 network, 130 interrupted.
"""


@click.command(
    cls=LazyGroup,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="nclue")
def cli() -> None:
    """Use, score, rebuild and extend n-Clue, a benchmark of conjunctive document retrieval."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code (and is the console script)."""
    output.set_level(output.NORMAL)
    output.degrade_streams()
    streams = sys.stdout, sys.stderr
    try:
        result = cli.main(args=args, prog_name="nclue", standalone_mode=False)
        output.flush()
    except (BrokenPipeError, SystemExit) as err:
        # `nclue … | head`: the reader has left, nothing is wrong. click makes an exit of it, and
        # wraps the streams.
        if isinstance(err, SystemExit) and sys.stdout is streams[0]:
            raise
        sys.stdout, sys.stderr = streams
        output.abandon(sys.stdout)
        return int(ExitCode.OK)
    except click.ClickException as err:
        err.show()
        return int(ExitCode.USAGE)
    except (click.Abort, KeyboardInterrupt):
        output.warn("nclue: interrupted")
        return int(ExitCode.INTERRUPTED)
    except Exception as err:
        return _failed(err)
    return result if isinstance(result, int) else int(ExitCode.OK)


def _failed(err: Exception) -> int:
    """Tell an error in one line; its exit code. A bug keeps its traceback."""
    # The kit's errors carry their exit code (also those of the metric, which stands alone).
    code = getattr(err, "exit_code", None)
    if not isinstance(code, int):
        if not isinstance(err, OSError) or err.strerror is None:
            raise err
        missing = (FileNotFoundError, IsADirectoryError, NotADirectoryError)
        code = ExitCode.INPUT if isinstance(err, missing) else ExitCode.FAILED
    if output.is_verbose():
        output.warn(traceback.format_exc())
    try:
        output.warn(f"nclue: {_told(err)}")
        output.flush()
    except OSError:  # stdout or stderr is full: the exit code is all that can be said
        output.abandon(sys.stdout)
        output.abandon(sys.stderr)
    return int(code)


def _told(err: Exception) -> str:
    if not isinstance(err, OSError):
        return str(err)
    where = err.filename or "the output"
    return f"{where}: cannot be read or written: {err.strerror}"


if __name__ == "__main__":
    sys.exit(main())
