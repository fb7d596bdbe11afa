"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from nclue_core.errors import UsageError

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def mapping_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--map field=name``, repeatable; arrives as a dict in ``mapping``."""
    return click.option(
        "--map",
        "mapping",
        multiple=True,
        metavar="FIELD=NAME",
        callback=lambda _ctx, _param, pairs: parse_mapping(pairs),
        help="A field of the release under another name (see the release format). Repeatable.",
    )(command)


def parse_mapping(pairs: tuple[str, ...]) -> dict[str, str]:
    """``("grade=rel",)`` as a dict."""
    mapping = {}
    for pair in pairs:
        field, equals, name = pair.partition("=")
        if not (field and equals and name):
            raise UsageError(f"--map {pair}: expected FIELD=NAME, for example --map grade=rel")
        mapping[field.strip()] = name.strip()
    return mapping


def collection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--config NAME`` and ``--release PATH``."""
    command = click.option(
        "--release",
        type=click.Path(path_type=Path, exists=True, file_okay=False),
        help="Take the collection from this release directory.",
    )(command)
    return click.option(
        "--config",
        metavar="NAME",
        help="Collection: mini, crosspage, sourceshift, or a name in --release.  [default: mini]",
    )(command)


def form_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--form``, a query form."""
    return click.option(
        "--form",
        default="raw",
        show_default=True,
        metavar="FORM",
        help="Query form of the run: raw, clean_v2 or natural.",
    )(command)


json_option: Decorator = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON."
)
