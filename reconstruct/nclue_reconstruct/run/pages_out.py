"""The page texts of a reconstruction as one table (``pages.parquet``), and as Markdown.

One row per page with the fields of `nclue_core.pages.PageRecord`, documents by name, pages in
order; the same page files give the same bytes. The table feeds ``load_dataset`` on this machine
(configurations ``mini-pages``, ``crosspage-pages``, ``sourceshift-pages``). Page texts belong to
the publishers of the documents: no part of the kit exports or uploads this file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nclue_core.errors import InputError
from nclue_core.files import atomic_write, id_of_file_name, write_text
from nclue_core.pages import RUNNING_TYPES, Block, PageRecord, read_document

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

PAGES_FILE = "pages.parquet"
ROWS_PER_GROUP = 500


def page_features() -> datasets.Features:
    """Features of ``X-pages``."""
    import datasets as ds

    block = {
        "type": ds.Value("string"),
        "text": ds.Value("string"),
        "bbox": ds.List(ds.Value("float64")),
        "level": ds.Value("int32"),
    }
    return ds.Features(
        {
            "doc_id": ds.Value("string"),
            "page": ds.Value("int32"),
            "text": ds.Value("string"),
            "blocks": ds.List(block),
            "width": ds.Value("float64"),
            "height": ds.Value("float64"),
            "engine": ds.Value("string"),
            "engine_version": ds.Value("string"),
            "dpi": ds.Value("int32"),
            "sha256": ds.Value("string"),
            "has_text": ds.Value("bool"),
            "note": ds.Value("string"),
        }
    )


def page_schema() -> pa.Schema:
    """The same as an Arrow schema, without importing `datasets`."""
    import pyarrow as pa

    block = pa.struct(
        [
            ("type", pa.string()),
            ("text", pa.string()),
            ("bbox", pa.list_(pa.float64())),
            ("level", pa.int32()),
        ]
    )
    return pa.schema(
        [
            ("doc_id", pa.string()),
            ("page", pa.int32()),
            ("text", pa.string()),
            ("blocks", pa.list_(block)),
            ("width", pa.float64()),
            ("height", pa.float64()),
            ("engine", pa.string()),
            ("engine_version", pa.string()),
            ("dpi", pa.int32()),
            ("sha256", pa.string()),
            ("has_text", pa.bool_()),
            ("note", pa.string()),
        ]
    )


def write_pages_parquet(folder: Path, path: Path, doc_ids: Sequence[str] | None = None) -> int:
    """Write the page files of a reconstruction as one Parquet file, atomically.

    Args:
        folder: ``ocr_<engine>``.
        path: The file to write; one that holds these page files already is left alone.
        doc_ids: Only these documents, in any order; by default all.

    Returns:
        The number of pages in the file.

    Raises:
        InputError: No page texts are there, or a file is no page record.
    """
    import pyarrow.parquet as pq

    files = _page_files(folder, doc_ids)
    if is_current(path, folder, files):
        return len(files)
    schema = page_schema()
    documents = list(dict.fromkeys(doc_id for doc_id, *_ in files))
    count = 0
    with atomic_write(path) as stream, pq.ParquetWriter(stream, schema, compression="zstd") as out:
        for rows in _batches(folder, documents):
            out.write_table(_table(rows, schema))
            count += len(rows)
    write_text(_note_path(path), _note(path, folder, files))
    return count


PageFile = tuple[str, int, int, int]  # document, page, size, time of change


def is_current(path: Path, folder: Path, files: Sequence[PageFile] | None = None) -> bool:
    """Whether a table was made from these very page files, and is as it was then.

    Args:
        path: Of the table.
        folder: ``ocr_<engine>``.
        files: Those in it, if they are known.
    """
    try:
        known = _note_path(path).read_text(encoding="utf-8")
        return known == _note(path, folder, _page_files(folder, None) if files is None else files)
    except (OSError, ValueError, InputError):
        return False


def _note_path(path: Path) -> Path:
    """A small file beside the table: so the table holds no times, and is reproducible."""
    return path.with_name(f".{path.name}.made_from")


def _note(path: Path, folder: Path, files: Sequence[PageFile]) -> str:
    table = path.stat()
    facts = repr((folder.name, list(files), table.st_size, table.st_mtime_ns))
    return hashlib.sha256(facts.encode()).hexdigest()


def _page_files(folder: Path, doc_ids: Sequence[str] | None) -> list[PageFile]:
    """Every page file, in order."""
    wanted = None if doc_ids is None else set(doc_ids)
    if not folder.is_dir():
        raise InputError("no page texts here; run `nclue reconstruct` first", path=folder)
    found = []
    with os.scandir(folder) as documents:
        for document in documents:
            doc_id = id_of_file_name(document.name)
            if document.is_dir() and (wanted is None or doc_id in wanted):
                found += [(doc_id, *file) for file in _files_of(document.path)]
    if not found:
        raise InputError("no page texts here; run `nclue reconstruct` first", path=folder)
    return sorted(found)


def _files_of(folder: str) -> Iterator[tuple[int, int, int]]:
    with os.scandir(folder) as files:
        for file in files:
            stem, _, suffix = file.name.rpartition(".")
            if suffix == "json" and stem.isdecimal():
                found = file.stat()
                yield int(stem), found.st_size, found.st_mtime_ns


def _batches(folder: Path, documents: Sequence[str]) -> Iterator[list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    for doc_id in documents:
        for record in read_document(folder, doc_id):
            rows.append(record.to_json())
            if len(rows) == ROWS_PER_GROUP:
                yield rows
                rows = []
    if rows:
        yield rows


def _table(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pylist(rows, schema=schema)


def read_page_tables(path: Path) -> Iterator[pa.Table]:
    """The row groups of ``pages.parquet``, as a `datasets` builder wants them.

    Raises:
        InputError: The file is missing, no Parquet, or of another schema.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except FileNotFoundError:
        raise InputError(
            "no page texts yet; `nclue reconstruct` makes this file", path=path
        ) from None
    except pa.ArrowInvalid as err:
        raise InputError(f"not a Parquet file: {err}", path=path) from None
    with file:
        schema = page_schema()
        if not file.schema_arrow.equals(schema, check_metadata=False):
            raise InputError("not a table of page records (its columns differ)", path=path)
        for group in range(file.num_row_groups):
            yield file.read_row_group(group).replace_schema_metadata(None)


def to_markdown(pages: Sequence[PageRecord]) -> str:
    """A document as Markdown: headings by level, one comment per page with its number."""
    parts = []
    for record in pages:
        parts.append(f"<!-- page {record.page} -->")
        parts += [_block_markdown(b) for b in record.blocks if b.type not in RUNNING_TYPES]
    return "\n\n".join(parts) + "\n"


def _block_markdown(block: Block) -> str:
    if block.type == "title":
        return f"{'#' * min(block.level or 1, 6)} {' '.join(block.text.split())}"
    if block.type == "code":
        fence = "`" * max(3, _longest_fence(block.text) + 1)
        return f"{fence}\n{block.text}\n{fence}"
    if block.type == "equation":
        return f"$$\n{block.text}\n$$"
    return block.text


def _longest_fence(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest


def write_markdown(folder: Path, doc_id: str, path: Path) -> None:
    """Write the pages of one document (under ``ocr_<engine>``) as a Markdown file, atomically."""
    write_text(path, to_markdown(read_document(folder, doc_id)))
