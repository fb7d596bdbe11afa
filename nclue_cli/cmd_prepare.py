"""``nclue prepare``: collections into the Hugging Face caches."""

from __future__ import annotations

from dataclasses import asdict

import click

from nclue_cli.options import (
    collection_option,
    json_option,
    mapping_option,
    release_option,
    subcommand,
)
from nclue_cli.output import print_json, warn


@subcommand(
    "prepare",
    ("The embedded benchmark, for load_dataset and evaluate.load", "nclue prepare"),
    ("A collection of the study, from a copy of its repository",
     "nclue prepare crosspage --release n_clue.zip"),
)  # fmt: skip
@click.argument("configs", nargs=-1, metavar="[COLLECTION]...")
@collection_option(multiple=True)
@release_option
@click.option("--revision", metavar="SHA", help="Revision of the public repository.")
@mapping_option
@click.option(
    "--force",
    is_flag=True,
    help="Build again, and let a release take the place of another one of its name.",
)
@json_option
def command(
    configs: tuple[str, ...],
    collections: tuple[str, ...],
    release: str | None,
    revision: str | None,
    mapping: dict[str, str],
    force: bool,
    as_json: bool,
) -> None:
    """Put collections into the Hugging Face cache, and the metric beside them.

    Afterwards load_dataset("nclue", COLLECTION) and evaluate.load("n_clue") work from any
    folder, with and without network. Without a name: mini, which is embedded; with --release:
    everything that it holds. The others come from the public repository of the study, or from
    a copy that you name with --release.
    """
    from nclue_dataset.prepare import prepare

    prepared = prepare(
        (*configs, *collections), release=release, revision=revision, mapping=mapping, force=force
    )
    for item in prepared:
        for warning in item.warnings:
            warn(f"warning: {warning}")
    if as_json:
        print_json([asdict(item) for item in prepared])
        return
    for item in prepared:
        for config in item.configs:
            rows = ", ".join(f"{split} {count:,}" for split, count in config.rows.items())
            state = "prepared" if config.fresh else "up to date"
            click.echo(f'load_dataset("nclue", "{config.config}")  {state}: {rows}')
    click.echo('evaluate.load("n_clue")  ready')
