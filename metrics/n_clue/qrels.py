"""Judgments: TREC qrels, JSON, JSONL, Parquet, or a table with a header line (BEIR, MTEB)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .columns import RunFormatError
from .fields import QREL_FIELDS, Fields
from .parquet import open_table, rows_of
from .rows import check_ids, is_jsonl, json_rows, load_json, missing_text, shown, table_rows
from .scoring import ScoringError
from .trec import split_lines

_GRADE = re.compile(r"-?[0-9]{1,9}")

Qrels = dict[str, dict[str, int]]


def parse_qrels(data: bytes, source: str, mapping: Mapping[str, str] | None = None) -> Qrels:
    """Judgments from the unpacked bytes of a file; see `runs.read_qrels`."""
    fields = Fields(mapping, QREL_FIELDS)
    start = data.lstrip()[:1]
    if data[:4] == b"PAR1":
        return _of_rows(rows_of(open_table(data, source, fields), source), fields, source)
    if start == b"{" and not is_jsonl(data, fields):
        return _of_mapping(load_json(data, source), source)
    if start == b"{":
        return _of_rows(json_rows(data, source), fields, source)
    if start == b"[":
        raise RunFormatError("expected {query_id: {doc_id: grade}}, found a JSON list", source)
    rows = table_rows(data, source, fields)
    return _of_lines(data, source) if rows is None else _of_rows(rows, fields, source)


def _of_mapping(value: Any, source: str) -> Qrels:
    if not isinstance(value, dict):
        raise RunFormatError(f"expected a JSON object, found {type(value).__name__}", source)
    for query_id, table in value.items():
        where = f"query {query_id!r}"
        if not isinstance(table, dict):
            raise RunFormatError(
                f"{where}: expected {{doc_id: grade}}, found {type(table).__name__} "
                f"{shown(table)}; a list of documents has no grades",
                source,
            )
        for doc_id, grade in table.items():
            problem = _grade_problem(grade)
            if problem:
                raise RunFormatError(f"{where}, document {doc_id!r}: {problem}", source)
    qrels: Qrels = value
    return _not_empty(qrels, source)


def _grade_problem(grade: object) -> str | None:
    if isinstance(grade, bool) or not isinstance(grade, int):
        return f"grade {shown(grade)} is not a whole number"
    return f"grade {shown(grade)} is below 0" if grade < 0 else None


def _of_lines(data: bytes, source: str) -> Qrels:
    return _collected(_graded_lines(data, source), source)


def _graded_lines(data: bytes, source: str) -> Iterator[tuple[int, str, str, int]]:
    for line, fields in split_lines(data, source):
        if len(fields) != 4:
            raise RunFormatError(
                f"expected 4 columns (query_id 0 doc_id grade), found {len(fields)}: "
                f"{' '.join(fields)[:80]!r}. A table of other columns needs a header line that "
                "names query_id, doc_id and grade",
                source,
                line,
            )
        query_id, _, doc_id, grade = fields
        if not _GRADE.fullmatch(grade):
            raise RunFormatError(f"grade {grade[:40]!r} is not a whole number", source, line)
        if grade.startswith("-"):
            raise RunFormatError(f"grade {grade} is below 0", source, line)
        yield line, query_id, doc_id, int(grade)


def _of_rows(rows: Iterable[tuple[int, Any]], fields: Fields, source: str) -> Qrels:
    return _collected(_graded_rows(rows, fields, source), source)


def _graded_rows(
    rows: Iterable[tuple[int, Any]], fields: Fields, source: str
) -> Iterator[tuple[int, str, str, int]]:
    for line, row in rows:
        try:
            yield line, *_judgment(row, fields)
        except RunFormatError:
            raise
        except ScoringError as err:
            raise RunFormatError(str(err), source, line) from None


def _judgment(row: Mapping[str, Any], fields: Fields) -> tuple[str, str, int]:
    found = fields.find(key for key in row if isinstance(key, str))
    for name in QREL_FIELDS:
        if name not in found:
            raise ScoringError(missing_text(name, fields, row))
    query_id, doc_id, grade = (row[found[name]] for name in QREL_FIELDS)
    if not isinstance(query_id, str) or not query_id:
        raise ScoringError(f"query_id is {shown(query_id)}, expected a string")
    check_ids(query_id, [doc_id])
    problem = _grade_problem(grade)
    if problem:
        raise ScoringError(f"query {query_id!r}, document {doc_id!r}: {problem}")
    return query_id, doc_id, grade


def _collected(judgments: Iterable[tuple[int, str, str, int]], source: str) -> Qrels:
    qrels: Qrels = {}
    for line, query_id, doc_id, grade in judgments:
        table = qrels.setdefault(query_id, {})
        if doc_id in table:
            raise RunFormatError(f"the pair {query_id} {doc_id} is judged twice", source, line)
        table[doc_id] = grade
    return _not_empty(qrels, source)


def _not_empty(qrels: Qrels, source: str) -> Qrels:
    if not qrels:
        raise RunFormatError("the file holds no judgment", source)
    return qrels
