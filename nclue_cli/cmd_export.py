"""``nclue export``: the folder for the Hub."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from nclue_cli.options import json_option
from nclue_cli.output import print_json


@click.command(name="export")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--config", "configs", multiple=True, metavar="NAME",
              help="Collection to export; repeatable.  [default: mini]")  # fmt: skip
@click.option("--release", type=click.Path(path_type=Path, exists=True, file_okay=False),
              help="Take the collections from this release directory.")  # fmt: skip
@json_option
def command(folder: Path, configs: tuple[str, ...], release: Path | None, as_json: bool) -> None:
    """Write the Hub-ready FOLDER: Parquet per configuration and split, and the dataset card.

    load_dataset("FOLDER", "mini") then gives the same rows as after `nclue prepare`. Only
    annotations are written, never page texts, images or PDFs.
    """
    from nclue_dataset.collections import load_collection
    from nclue_dataset.export import export
    from nclue_dataset.release import read_release

    if release is not None:
        names = configs or tuple(read_release(release).collections)
    else:
        names = configs or ("mini",)
    files = export([load_collection(name, release) for name in names], folder)
    if as_json:
        print_json([asdict(file) for file in files])
        return
    for file in files:
        click.echo(f"{folder / file.path}  {file.rows:,} rows")
    click.echo(f"{folder / 'README.md'}  dataset card")
