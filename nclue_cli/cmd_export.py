"""``nclue export``: the folder for the Hub."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from nclue_cli.options import (
    collection_option,
    json_option,
    release_folder,
    release_option,
    subcommand,
)
from nclue_cli.output import print_json
from nclue_core.errors import UsageError


@subcommand(
    "export",
    ("The embedded benchmark", "nclue export hub"),
    ("A benchmark of your own", "nclue export --out hub --release bench/release"),
)
@click.argument("folder", required=False, type=click.Path(path_type=Path, file_okay=False))
@click.option("--out", type=click.Path(path_type=Path, file_okay=False),
              help="The same as FOLDER.")  # fmt: skip
@collection_option(multiple=True)
@release_option
@json_option
def command(
    folder: Path | None,
    out: Path | None,
    collections: tuple[str, ...],
    release: str | None,
    as_json: bool,
) -> None:
    """Write the Hub-ready FOLDER: Parquet per configuration and split, and the dataset card.

    load_dataset("FOLDER", "mini") then gives the same rows as after `nclue prepare`. Only
    annotations are written, never page texts, images or PDFs.
    """
    target = folder or out
    if target is None or (folder and out):
        raise UsageError("name one folder to write: nclue export FOLDER")
    from nclue_dataset.collections import load_collection
    from nclue_dataset.export import export
    from nclue_dataset.release import read_release

    with release_folder(release) as source:
        held = tuple(read_release(source).collections) if source else ("mini",)
        found = [load_collection(name, source) for name in collections or held]
        files = export(found, target, licence=_license(source, collections or held))
    if as_json:
        print_json([asdict(file) for file in files])
        return
    for file in files:
        click.echo(f"{target / file.path}  {file.rows:,} rows")
    click.echo(f"{target / 'README.md'}  dataset card")


def _license(source: Path | None, names: tuple[str, ...]) -> str | None:
    """The licence of the annotations, as the release states it."""
    from nclue_dataset.layout import read_manifest
    from nclue_dataset.paths import prepared_release

    folder = source or prepared_release(names[0])
    stated = read_manifest(folder).get("license") if folder.is_dir() else None
    return stated if isinstance(stated, str) else None
