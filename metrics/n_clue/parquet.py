"""A Parquet file of ranked lists, read in whole-column operations.

Like ``trec.py``, this reads the usual file only and leaves anything else to ``runs.py``.

Only plain parts of pyarrow are used: `Array.flatten`, `to_numpy` and the like load its compute
functions or pandas, which takes longer than reading 70 files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .scoring import ScoringError
from .trec import Positions


@dataclass(frozen=True, eq=False)
class ParquetColumns:
    """Q ranked lists with L documents in all, of which D are different."""

    query_ids: list[str]
    first: Positions  # (Q + 1,) place where each list begins, and L
    scores: NDArray[np.float64] | None  # (L,); None: the file has no scores, its order counts
    codes: Positions  # (L,) place of each document in `unique`
    unique: list[str]  # the D document IDs

    @property
    def doc_ids(self) -> list[str]:
        """The L document IDs; one that stands in many lists is one string."""
        found: list[str] = np.array(self.unique, dtype=object)[self.codes].tolist()
        return found


def open_table(data: bytes) -> Any:
    """The whole table, its document IDs dictionary-encoded where they are a list of strings.

    Raises:
        ScoringError: It is no readable Parquet file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        source = pq.ParquetFile(pa.BufferReader(data))
        names = source.schema_arrow.names
        if len(set(names)) < len(names):
            raise ScoringError(f"a column stands twice: {', '.join(names)}")
        encoded = [c.path for c in source.schema if c.path.startswith("doc_ids.list.")]
        return _read_groups(pq.ParquetFile(pa.BufferReader(data), read_dictionary=encoded))
    except (pa.ArrowException, OSError) as err:
        raise ScoringError(f"not a readable Parquet file: {err}") from None


def _read_groups(source: Any) -> Any:
    """Row group by row group: pyarrow does not join encoded lists of several at its own reading."""
    import pyarrow as pa

    groups = range(source.num_row_groups)
    if not groups:
        return source.read(use_threads=False)
    return pa.concat_tables([source.read_row_group(i, use_threads=False) for i in groups])


def columns_of(table: Any) -> ParquetColumns | None:
    """The columns of a usual table; None if anything in it is unusual.

    Usual are query_id and doc_ids, with scores (numbers) or without, no surfaced pages, nothing
    missing, and each query once.
    """
    import pyarrow as pa

    names = table.column_names
    if not {"query_id", "doc_ids"} <= set(names):
        return None
    if "pages" in names and table.column("pages").null_count < len(table):
        return None
    queries, lists = table.column("query_id"), table.column("doc_ids").combine_chunks()
    strings = (pa.string(), pa.dictionary(pa.int32(), pa.string()))
    if queries.type != pa.string() or not pa.types.is_list(lists.type):
        return None
    if lists.type.value_type not in strings or queries.null_count or lists.null_count:
        return None
    documents = _values(lists)
    if documents.type == pa.string():
        documents = documents.dictionary_encode()
    query_ids = queries.to_pylist()
    if documents.null_count or len(set(query_ids)) < len(query_ids):
        return None
    first = _first(lists)
    has_scores, scores = _scores_of(table, first)
    if has_scores and scores is None:
        return None
    codes = np.from_dlpack(documents.indices).astype(np.int64)
    return ParquetColumns(query_ids, first, scores, codes, documents.dictionary.to_pylist())


def _first(lists: Any) -> Positions:
    """Where each list begins among the values of all, and where the last ends."""
    offsets = np.from_dlpack(lists.offsets).astype(np.int64)
    begins: Positions = offsets - offsets[0]
    return begins


def _values(lists: Any) -> Any:
    """The values of all lists, without what lies around them."""
    start, stop = lists.offsets[0].as_py(), lists.offsets[-1].as_py()
    return lists.values.slice(start, stop - start)


def _scores_of(table: Any, first: Positions) -> tuple[bool, NDArray[np.float64] | None]:
    """Whether the table has scores, and them if they are numbers that fit the documents."""
    import pyarrow as pa

    if "scores" not in table.column_names:
        return False, None
    lists = table.column("scores").combine_chunks()
    if lists.null_count == len(lists):
        return False, None
    if not pa.types.is_list(lists.type) or lists.null_count:
        return True, None
    values = _values(lists)
    if not pa.types.is_floating(values.type) or values.null_count:
        return True, None
    if not np.array_equal(_first(lists), first):
        return True, None
    scores: NDArray[np.float64] = np.from_dlpack(values).astype(np.float64)
    return True, None if np.isnan(scores).any() else scores
