"""The `datasets` builder of a collection: declared features, rows from a release."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import datasets
import pyarrow as pa

from nclue_core.schema import (
    corpus_features,
    qrels_features,
    query_features,
    rankings_features,
)
from nclue_dataset.tables import Rows, config_kind, config_splits

if TYPE_CHECKING:
    from nclue_dataset.release import Collection

FEATURES = {
    "queries": query_features,
    "qrels": qrels_features,
    "corpus": corpus_features,
    "rankings": rankings_features,
}
DATASET_NAME = "nclue"
HOMEPAGE = "https://arxiv.org/abs/2607.24165"


class NClueBuilder(datasets.ArrowBasedBuilder):
    """Builds one configuration of one collection into a cache folder.

    Args:
        collection: The parsed collection.
        config_name: One of `nclue_dataset.tables.config_names`.
        version: Version of the release; what is no ``x.y.z`` becomes 0.0.0.
        **kwargs: As for `datasets.ArrowBasedBuilder` (cache_dir, hash).
    """

    def __init__(
        self, *, collection: Collection, config_name: str, version: str | None, **kwargs: Any
    ) -> None:
        self.collection = collection
        self.VERSION = datasets.Version(_version(version))
        super().__init__(config_name=config_name, dataset_name=DATASET_NAME, **kwargs)

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(
            description=f"n-Clue, {self.config.name}",
            features=FEATURES[config_kind(self.config.name)](),
            homepage=HOMEPAGE,
        )

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        splits = config_splits(self.collection, self.config.name)
        return [
            datasets.SplitGenerator(name=split, gen_kwargs={"rows": _Rows(rows)})
            for split, rows in splits.items()
        ]

    def _generate_tables(self, rows: _Rows) -> Iterator[tuple[int, pa.Table]]:
        yield 0, pa.Table.from_pylist(rows.rows, schema=self.info.features.arrow_schema)


class TablesBuilder(datasets.ArrowBasedBuilder):
    """Builds a configuration of one split from tables that come one by one.

    Args:
        config_name: Name of the configuration.
        split: Name of the split.
        tables: Called once, gives the tables.
        features: Declared types of their columns.
        **kwargs: As for `datasets.ArrowBasedBuilder` (cache_dir, hash).
    """

    def __init__(
        self,
        *,
        config_name: str,
        split: str,
        tables: Callable[[], Iterator[pa.Table]],
        features: datasets.Features,
        **kwargs: Any,
    ) -> None:
        self.split = split
        self.tables = tables
        self.declared = features
        super().__init__(config_name=config_name, dataset_name=DATASET_NAME, **kwargs)

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(features=self.declared, homepage=HOMEPAGE)

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        return [datasets.SplitGenerator(name=self.split, gen_kwargs={})]

    def _generate_tables(self) -> Iterator[tuple[int, pa.Table]]:
        yield from enumerate(self.tables())


class _Rows:
    """Rows of a split; no list, since the library would share a list out among processes."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows


def _version(text: str | None) -> str:
    return text if text and re.fullmatch(r"\d+\.\d+\.\d+", text) else "0.0.0"
