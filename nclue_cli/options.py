"""What several commands share: their class, and options that mean the same everywhere.

`subcommand` and `subgroup` give every command ``-q`` and ``-v``, worked examples below its help,
and the refusal of an option that is given twice but takes one value.
"""

from __future__ import annotations

import functools
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nclue_cli import output
from nclue_core.errors import InputError, UsageError

if TYPE_CHECKING:
    from nclue_dataset.release import Collection
    from nclue_dataset.scoring import Rules

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
Examples = tuple[tuple[str, str], ...]  # what for, command line


class _Shared(click.Command):
    """What commands and groups of the kit have in common."""

    def __init__(self, *args: Any, examples: Examples = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples
        self.params += [
            click.Option(["-q", "--quiet"], is_flag=True, expose_value=False, callback=_quiet,
                         help="Only warnings and errors on stderr."),
            click.Option(["-v", "--verbose"], is_flag=True, expose_value=False, callback=_verbose,
                         help="Details on stderr: whole lists, and where an error arose."),
        ]  # fmt: skip

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse what the parser would drop: all but the last value of a single option."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for option in {param for param in order if order.count(param) > 1}:
            if isinstance(option, click.Option) and not (option.multiple or option.is_flag):
                raise click.UsageError(f"{option.opts[0]} is given twice; it takes one value", ctx)
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, then the epilog."""
        if self.examples:
            with formatter.section("Examples"):
                for why, line in self.examples:
                    formatter.write(f"{'':{formatter.current_indent}}{why}:\n")
                    formatter.write(f"{'':{formatter.current_indent + 2}}{line}\n")
        super().format_epilog(ctx, formatter)


class Command(_Shared):
    """A command of the kit."""


class Group(_Shared, click.Group):
    """A command with commands below it, which share the same."""

    command_class = Command


def subcommand(
    name: str, *examples: tuple[str, str], **settings: Any
) -> Callable[..., click.Command]:
    """``@click.command`` with what all commands of the kit share.

    Args:
        name: Of the command.
        examples: Two or more of (what for, command line), shown below its help.
        settings: Passed on to click.
    """
    return click.command(name=name, cls=Command, examples=examples, **settings)


def subgroup(name: str, *examples: tuple[str, str], **settings: Any) -> Callable[..., Group]:
    """``@click.group`` with what all commands of the kit share; see `subcommand`."""
    return click.group(name=name, cls=Group, examples=examples, **settings)


def _quiet(_ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        output.set_level(output.QUIET)


def _verbose(_ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        output.set_level(output.VERBOSE)


class InputPath(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.5 on
    """A path that is read: it must be there, and be a file or a directory as asked.

    ``-`` stands for stdin where a file is read.

    Args:
        directory: A directory is expected; else a file.
    """

    def __init__(self, *, directory: bool = False) -> None:
        self.name = "directory" if directory else "file"
        self._directory = directory

    def convert(
        self, value: Any, _param: click.Parameter | None, _ctx: click.Context | None
    ) -> Path:
        """The path.

        Raises:
            InputError: Nothing is there, or something else.
        """
        if value == "-" and not self._directory:
            return _stdin_file()
        path = Path(value)
        if not path.exists():
            raise InputError(f"does not exist; expected a {self.name}", path=value)
        if path.is_dir() != self._directory:
            found = "directory" if path.is_dir() else "file"
            raise InputError(f"is a {found}; expected a {self.name}", path=value)
        return path


def _stdin_file() -> Path:
    """A file with what comes from stdin, kept until the command ends."""
    ctx = click.get_current_context().find_root()  # it is left also where parsing fails
    if ctx.meta.setdefault("nclue.stdin", "unread") == "read":
        raise UsageError("stdin (-) can be read once: name it once")
    ctx.meta["nclue.stdin"] = "read"
    path = Path(ctx.with_resource(tempfile.TemporaryDirectory(prefix="nclue-"))) / "stdin"
    path.write_bytes(sys.stdin.buffer.read())
    return path


def map_option(help_text: str) -> Decorator:
    """``--map field=name``, repeatable; arrives as a dict in ``mapping``."""
    return click.option(
        "--map",
        "mapping",
        multiple=True,
        metavar="FIELD=NAME",
        callback=lambda _ctx, _param, pairs: parse_mapping(pairs),
        help=f"{help_text} Repeatable.",
    )


mapping_option = map_option("A field of the release under another name (see the release format).")


def parse_mapping(pairs: tuple[str, ...]) -> dict[str, str]:
    """``("grade=rel",)`` as a dict."""
    mapping = {}
    for pair in pairs:
        field, equals, name = pair.partition("=")
        if not (field and equals and name):
            raise UsageError(f"--map {pair}: expected FIELD=NAME, for example --map grade=rel")
        mapping[field.strip()] = name.strip()
    return mapping


def collection_option(*, multiple: bool = False) -> Decorator:
    """``--collection NAME``; arrives as ``collection`` (``collections`` if repeatable)."""
    return click.option(
        "--collection",
        "--config",
        "collections" if multiple else "collection",
        metavar="NAME",
        multiple=multiple,
        help="Collection: mini, crosspage, sourceshift, or a name in --release."
        + " Repeatable." * multiple,
    )


release_option: Decorator = click.option(
    "--release",
    metavar="PATH|URL",
    help="Take the collection from this release: a directory, an archive of one (zip, tar, "
    "tar.gz), or its URL.",
)


def collection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--collection NAME`` and ``--release PATH|URL``; see `open_collection`."""
    return collection_option()(release_option(command))


def open_collection(name: str | None, release: str | None) -> Collection:
    """The collection that the two options name; mini without any."""
    from nclue_dataset.collections import load_collection

    with release_folder(release) as folder:
        return load_collection(name or (None if folder else "mini"), folder)


@contextmanager
def release_folder(release: str | None) -> Iterator[Path | None]:
    """The directory of ``--release``; what had to be unpacked is removed afterwards."""
    if release is None or Path(release).is_dir():
        yield None if release is None else Path(release)
        return
    from nclue_dataset.archive import acquire_release

    with tempfile.TemporaryDirectory(prefix="nclue-release-") as workdir:
        yield acquire_release(release, None, Path(workdir))


form_option: Decorator = click.option(
    "--form",
    default="raw",
    show_default=True,
    metavar="FORM",
    help="Query form: raw, clean_v2, natural, or another one of the collection.",
)

json_option: Decorator = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON."
)


def seed_option(default: int | None, shown: str = "") -> Decorator:
    """``--seed``: a whole number from 0 that fixes every random choice of the command."""
    return click.option(
        "--seed",
        type=int,
        default=default,
        show_default=default is not None,
        callback=_checked_seed,
        help=f"Fixes every random choice.{shown}",
    )


def _checked_seed(_ctx: click.Context, _param: click.Parameter, value: int | None) -> int | None:
    if value is not None and value < 0:
        raise UsageError(f"seed {value}: expected a whole number of at least 0")
    return value


def pages_option(*, required: bool = False) -> Decorator:
    """``--pages DIR``, the page texts on this machine."""
    return click.option(
        "--pages",
        required=required,
        metavar="DIR",
        type=InputPath(directory=True),
        help="Page texts: OUT of `nclue reconstruct`, or an ocr_ENGINE in it.",
    )


_K_HELP: dict[str, Any] = {"type": click.IntRange(1), "show_default": True}
_ONE_K = click.option("--k", "ks", default=10, help="Cutoff.", callback=lambda _c, _p, k: (k,),
                      **_K_HELP)  # fmt: skip
_KS = click.option("--k", "ks", default=(10,), help="Cutoff; repeatable.", multiple=True,
                   **_K_HELP)  # fmt: skip
_READING = (
    click.option("--gain", type=click.Choice(["linear", "exponential"]), default="linear",
                 show_default=True, help="Gain of graded NDCG."),
    click.option("--qrels", "copy", default="final", show_default=True, metavar="COPY",
                 help="Qrel copy: final, or initial where the release keeps one."),
    click.option("--ties", type=click.Choice(["input", "trec_eval"]), default="input",
                 show_default=True, help="Order of equal scores."),
    click.option("--repeats", type=click.Choice(["error", "first"]), default="error",
                 show_default=True, help="A document twice in one ranking."),
    map_option("A field of the run files under another name (JSONL, Parquet, tables)."),
    click.option("--exclude", metavar="FILE", type=InputPath(),
                 help="JSON {query_id: [doc_id, …]}: leave these out before ranking."),
    click.option("--allow-unknown", is_flag=True,
                 help="Go on where most documents of a run are not in the corpus."),
    click.option("--n", "n_conditions", type=click.IntRange(1), multiple=True, metavar="N",
                 help="Only queries with N conditions; repeatable."),
    click.option("--source", "sources", multiple=True, metavar="NAME",
                 help="Only queries with a gold from this source; repeatable."),
    click.option("--queries", metavar="FILE", type=InputPath(),
                 help="Only the queries listed here: an ID per line, or a JSON list."),
)  # fmt: skip
_RULES = ("form", "copy", "ks", "gain", "ties", "repeats", "mapping", "exclude", "allow_unknown",
          "n_conditions", "sources", "queries")  # fmt: skip


def reading_options(*, one_k: bool = False) -> Decorator:
    """How runs are found, read and scored; arrives as collection, release and ``rules``.

    Args:
        one_k: ``--k`` can be given once.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def with_rules(**values: Any) -> Any:
            options = {name: values.pop(name) for name in _RULES}
            return function(rules=_rules(options), **values)

        found: Callable[..., Any] = with_rules
        for option in reversed((collection_options, form_option, _ONE_K if one_k else _KS,
                                *_READING)):  # fmt: skip
            found = option(found)
        return found

    return decorate


def scoring_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that `score` and `compare` share: `reading_options`, strict and out."""
    out = click.option("--out", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
                       help="Write the result here (UTF-8), not to stdout.")  # fmt: skip
    strict = click.option("--strict", is_flag=True,
                          help="Fail if a query of the collection has no ranking.")  # fmt: skip
    return reading_options()(strict(out(function)))


def _rules(options: dict[str, Any]) -> Rules:
    from nclue_dataset.scoring import Rules, read_exclusions, read_query_list

    exclude, queries = options.pop("exclude"), options.pop("queries")
    options["ks"] = tuple(dict.fromkeys(options["ks"]))
    return Rules(
        excluded=None if exclude is None else read_exclusions(exclude),
        query_ids=None if queries is None else read_query_list(queries),
        **options,
    )
