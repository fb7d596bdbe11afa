"""Parquet files, in whole columns where they are usual; ``rows.py`` reads what is not.

Only plain parts of pyarrow are used: `Array.flatten`, `to_numpy` and the like load its compute
functions or pandas, which takes longer than reading 70 files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .columns import Columns, Numbers, Positions, RunFormatError, Texts
from .fields import Fields

_BLANKS = (b" ", b"\t", b"\n", b"\r")


def open_table(data: bytes, source: str, fields: Fields) -> Any:
    """The whole table, its IDs dictionary-encoded.

    Raises:
        RunFormatError: It is no readable Parquet file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        opened = pq.ParquetFile(pa.BufferReader(data))
        names = opened.schema_arrow.names
        if len(set(names)) < len(names):
            raise RunFormatError(f"a column stands twice: {', '.join(names)}", source)
        encoded = _id_columns(opened.schema, fields)
        again = pa.BufferReader(data)
        table = _read_groups(
            pq.ParquetFile(again, metadata=opened.metadata, read_dictionary=encoded)
        )
        table.validate(full=True)  # a damaged file may point anywhere
        return table
    except (pa.ArrowException, OSError, ValueError, OverflowError) as err:
        if isinstance(err, RunFormatError):
            raise
        if "UTF8" in str(err):
            raise RunFormatError("an ID is not UTF-8", source) from None
        raise RunFormatError(f"not a readable Parquet file: {err}", source) from None


def _id_columns(schema: Any, fields: Fields) -> list[str]:
    """Paths of the columns of strings that hold IDs."""
    names = {name for field in ("query_id", "doc_id", "doc_ids") for name in fields.names(field)}
    return [
        column.path
        for column in schema
        if column.physical_type == "BYTE_ARRAY" and column.path.partition(".")[0] in names
    ]


def _read_groups(opened: Any) -> Any:
    """Row group by row group: pyarrow does not join encoded lists of several at its own reading."""
    import pyarrow as pa

    groups = range(opened.num_row_groups)
    if not groups:
        return opened.read(use_threads=False)
    return pa.concat_tables([opened.read_row_group(i, use_threads=False) for i in groups])


def columns_of(table: Any, fields: Fields | None = None) -> Columns | None:
    """The columns of a usual table; None if anything in it is unusual.

    Usual are query_id and doc_ids, with scores or without, or a row per document with score or
    rank or both; numbers of the plain types, nothing missing, and no surfaced pages.
    """
    found = (fields or Fields()).find(table.column_names)
    if "query_id" not in found or "pages" in found:
        return None
    if "doc_ids" in found:
        return _of_lists(table, found)
    return _of_rows(table, found) if "doc_id" in found else None


def rows_of(table: Any, source: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The rows as Python values, numbered from 1.

    Raises:
        RunFormatError: A value has no Python form, or a text is not UTF-8.
    """
    import pyarrow as pa

    try:
        columns = {name: table.column(name).to_pylist() for name in table.column_names}
    except UnicodeDecodeError:
        raise RunFormatError("an ID is not UTF-8", source) from None
    except (pa.ArrowException, ValueError, OverflowError) as err:
        raise RunFormatError(f"not a readable Parquet file: {err}", source) from None
    for index, values in enumerate(zip(*columns.values()), 1):
        yield index, dict(zip(columns, values))


def _of_lists(table: Any, found: Mapping[str, str]) -> Columns | None:
    import pyarrow as pa

    queries, lists = _words(table, found["query_id"]), _joined(table, found["doc_ids"])
    if queries is None or not pa.types.is_list(lists.type) or lists.null_count:
        return None
    documents = _encoded(_values(lists))
    texts, places = queries
    if documents is None or not np.array_equal(places, np.arange(len(texts))):
        return None  # a query has two rows
    first = _first(lists)
    scores = None
    if "scores" in found:
        values = _joined(table, found["scores"])
        if values.null_count < len(values):
            scores = _scores_of_lists(values, first)
            if scores is None:
                return None
    return Columns(texts, first, *documents, scores)


def _of_rows(table: Any, found: Mapping[str, str]) -> Columns | None:
    queries, documents = _words(table, found["query_id"]), _words(table, found["doc_id"])
    scores = _numbers(table, found["score"]) if "score" in found else None
    ranks = _whole(table, found["rank"]) if "rank" in found else None
    if queries is None or documents is None or not len(table):
        return None
    if ("score" in found and scores is None) or ("rank" in found and ranks is None):
        return None
    return Columns.of_lines(*queries, *documents, scores, ranks)


def _joined(table: Any, name: str) -> Any:
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _words(table: Any, name: str) -> tuple[Texts, Any] | None:
    return _encoded(_joined(table, name))


def _encoded(array: Any) -> tuple[Texts, Any] | None:
    """Different strings and the place of each; None unless all are IDs without blanks in them."""
    import pyarrow as pa

    if array.null_count:
        return None
    if array.type == pa.string():
        array = array.dictionary_encode()
    if array.type != pa.dictionary(pa.int32(), pa.string()) or array.dictionary.null_count:
        return None
    if not _are_plain(array.dictionary):
        return None
    return Texts(array=array.dictionary), np.from_dlpack(array.indices)


def _are_plain(words: Any) -> bool:
    _, offsets, text = words.buffers()
    if not len(words) or text is None:
        return not len(words)
    bounds = np.frombuffer(offsets, dtype=np.int32)[words.offset : words.offset + len(words) + 1]
    if (np.diff(bounds) == 0).any():
        return False
    used = text[int(bounds[0]) : int(bounds[-1])].to_pybytes()
    return not any(blank in used for blank in _BLANKS)


def _first(lists: Any) -> Positions:
    """Where each list begins among the values of all, and where the last ends."""
    offsets = np.from_dlpack(lists.offsets).astype(np.int64)
    begins: Positions = offsets - offsets[0]
    return begins


def _values(lists: Any) -> Any:
    """The values of all lists, without what lies around them."""
    start, stop = lists.offsets[0].as_py(), lists.offsets[-1].as_py()
    return lists.values.slice(start, stop - start)


def _scores_of_lists(lists: Any, first: Positions) -> Numbers | None:
    import pyarrow as pa

    if not pa.types.is_list(lists.type) or lists.null_count:
        return None
    return _floats(_values(lists)) if np.array_equal(_first(lists), first) else None


def _numbers(table: Any, name: str) -> Numbers | None:
    return _floats(_joined(table, name))


def _floats(values: Any) -> Numbers | None:
    import pyarrow as pa

    if values.type not in (pa.float64(), pa.float32(), pa.int64()) or values.null_count:
        return None
    numbers = np.from_dlpack(values).astype(np.float64)
    return numbers if np.isfinite(numbers).all() else None


def _whole(table: Any, name: str) -> Positions | None:
    import pyarrow as pa

    values = _joined(table, name)
    if values.type not in (pa.int64(), pa.int32()) or values.null_count or not len(values):
        return None
    numbers = np.from_dlpack(values).astype(np.int64)
    return numbers if numbers.min() >= 0 else None
