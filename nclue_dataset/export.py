"""Write the folder that goes to the Hugging Face Hub: Parquet per configuration, and the card.

Annotations only: page texts, images and PDFs have no configuration here, so that they cannot
leave the machine this way.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from nclue_core.cards import read_card
from nclue_core.errors import InputError, NClueError
from nclue_core.schema import COLLECTIONS
from nclue_dataset.cache import no_progress_bars
from nclue_dataset.card_check import check_card
from nclue_dataset.tables import config_kind, config_names, config_splits

if TYPE_CHECKING:
    from nclue_dataset.release import Collection


@dataclass(frozen=True)
class ExportedFile:
    """A Parquet file of the export."""

    config: str
    split: str
    path: str  # relative to the folder
    rows: int


def export(
    collections: Sequence[Collection],
    folder: Path,
    *,
    default: str | None = None,
    licence: str | None = None,
) -> list[ExportedFile]:
    """Write collections as a Hub-ready folder.

    Args:
        collections: What to export; every configuration of each.
        folder: A folder that does not exist yet, or is empty.
        default: The default configuration (the first collection if not given).
        licence: Of the annotations of one's own collections, as their release states it.

    Raises:
        InputError: The folder is not empty.
        NClueError: The written card fails its own check (a bug, or an impossible name).
    """
    if folder.exists() and any(folder.iterdir()):
        raise InputError("the folder is not empty; give a new one", path=folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".exporting-", dir=folder.parent) as staging:
        building = Path(staging) / "export"
        files = [file for item in collections for file in _write_collection(item, building)]
        card = dataset_card(collections, files, default or collections[0].name, licence)
        (building / "README.md").write_text(card, encoding="utf-8")
        problems = check_card(building)
        if problems:
            raise NClueError("the export fails its card check: " + "; ".join(problems))
        if folder.exists():
            folder.rmdir()
        building.rename(folder)
    return files


def _write_collection(collection: Collection, folder: Path) -> list[ExportedFile]:
    import datasets
    import pyarrow as pa

    from nclue_dataset.builder import FEATURES

    files = []
    for config in config_names(collection):
        features = FEATURES[config_kind(config)]()
        for split, rows in config_splits(collection, config).items():
            path = folder / config / f"{split}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            table = pa.Table.from_pylist(rows, schema=features.arrow_schema)
            with no_progress_bars():
                datasets.Dataset(table).to_parquet(path)
            files.append(ExportedFile(config, split, f"{config}/{split}.parquet", len(rows)))
    return files


def dataset_card(
    collections: Sequence[Collection],
    files: Sequence[ExportedFile],
    default: str,
    licence: str | None = None,
) -> str:
    """The dataset card: YAML configurations, the text of ``cards/``, and counts of the data.

    The card of the study's collections speaks of them; one's own have another.
    """
    own = [item.name for item in collections if item.name not in COLLECTIONS]
    text = _own_text(own, default, licence) if own else read_card("dataset_card.md")
    for marker, block in (
        ("configurations", _configurations_table(files)),
        ("collections", "\n\n".join(_collection_section(item) for item in collections)),
    ):
        text = text.replace(f"<!-- {marker} -->", block)
    metadata = _metadata(files, default)
    if own:
        metadata["pretty_name"] = ", ".join(own)
        metadata["license_name"] = licence or "not-stated"
        del metadata["language"]  # not known
    return f"---\n{yaml.safe_dump(metadata, sort_keys=False)}---\n\n{text}"


def _own_text(names: Sequence[str], default: str, licence: str | None) -> str:
    stated = f"The annotations are released under: {licence}." if licence else (
        "The licence of the annotations is not stated: whoever publishes them says it here, and "
        "in `license` of the release's `MANIFEST.json`."
    )  # fmt: skip
    text = read_card("own_dataset_card.md")
    for marker, value in (("title", ", ".join(names)), ("default", default), ("license", stated)):
        text = text.replace(f"{{{marker}}}", value)
    return text


def _metadata(files: Sequence[ExportedFile], default: str) -> dict[str, Any]:
    configs: dict[str, dict[str, Any]] = {}
    for file in files:
        config = configs.setdefault(file.config, {"config_name": file.config})
        if file.config == default:
            config["default"] = True
        config.setdefault("data_files", []).append({"split": file.split, "path": file.path})
    return {
        "pretty_name": "n-Clue",
        "license": "other",
        "license_name": "annotations-only",
        "language": ["en"],
        "task_categories": ["text-retrieval"],
        "tags": ["information-retrieval", "document-retrieval", "conjunctive-queries", "pdf"],
        "size_categories": [_size_category(max((file.rows for file in files), default=0))],
        "configs": list(configs.values()),
    }


def _size_category(rows: int) -> str:
    for limit, name in ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K")):
        if rows < limit:
            return name
    return "100K<n<1M"


def _configurations_table(files: Sequence[ExportedFile]) -> str:
    lines = ["| configuration | split | rows |", "| --- | --- | ---: |"]
    lines += [f"| `{file.config}` | `{file.split}` | {file.rows:,} |" for file in files]
    return "\n".join(lines)


def _collection_section(collection: Collection) -> str:
    qrels = collection.qrels["final"]
    by_n = Counter(query.n_conditions for query in collection.queries)
    golds = sum(1 for row in qrels if row.label == "gold")
    sources = Counter(document.source for document in collection.corpus)
    licenses = Counter(document.license or "not stated" for document in collection.corpus)
    known = "" if collection.name in COLLECTIONS else " (not part of the published study)"
    lines = [
        f"### {collection.name}{known}",
        "",
        f"{len(collection.queries):,} queries ("
        + ", ".join(f"{count:,} with n = {n}" for n, count in sorted(by_n.items()))
        + f"), {len(collection.corpus):,} documents, {len(qrels):,} judged pairs: {golds:,} gold, "
        f"{len(qrels) - golds:,} subset.",
        "",
        "| source | documents |",
        "| --- | ---: |",
        *(f"| {source} | {count:,} |" for source, count in sources.most_common()),
        "",
        "| licence or terms of the source documents | documents |",
        "| --- | ---: |",
        *(f"| {_cell(name)} | {count:,} |" for name, count in licenses.most_common()),
    ]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
