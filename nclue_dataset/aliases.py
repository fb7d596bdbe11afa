"""The fields of a release and the other names under which they are accepted.

One table for each kind of file. A name that is not in it can be given with ``--map field=name``
(or ``--map qrels.field=name`` for one file only); ``--map field=-`` leaves a field out.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from nclue_core.errors import UsageError
from nclue_core.jsonl import shorten

LEFT_OUT = "-"


class Field(NamedTuple):
    """A canonical field."""

    name: str
    aliases: tuple[str, ...]  # accepted besides the name itself
    meaning: str
    required: bool = True

    @property
    def accepted(self) -> tuple[str, ...]:
        """All names, the canonical one first."""
        return (self.name, *self.aliases)


_QUERY_ID = Field(
    "query_id", ("qid", "query-id", "topic_id", "q_id", "queryid"), "string; the query"
)
_DOC_ID = Field(
    "doc_id",
    ("document_id", "docid", "doc-id", "corpus-id", "corpus_id", "docno", "pid", "passage_id",
     "did"),
    "string; the document",
)  # fmt: skip

FIELDS: dict[str, tuple[Field, ...]] = {
    "queries": (
        _QUERY_ID._replace(aliases=(*_QUERY_ID.aliases, "id", "_id")),
        Field(
            "query_text_eval_full",
            ("query", "query_text", "text"),
            "string; the raw form (may stand in queries_forms.jsonl alone)",
            False,
        ),
        Field(
            "conditions",
            ("concepts", "clues", "constraints"),
            "list of strings (or of objects with one of the condition names) in query order",
        ),
        Field("n_conditions", ("n", "n_clues", "num_conditions"), "int; their number", False),
    ),
    "queries_forms": (
        _QUERY_ID._replace(aliases=(*_QUERY_ID.aliases, "id", "_id")),
        Field("form", ("query_form", "variant"), "string; raw, clean_v2 or natural", False),
        Field("query", ("query_text", "text"), "string; the query in this form", False),
        Field("raw", (), "string; in files with a column per form", False),
        Field("clean_v2", (), "string; in files with a column per form", False),
        Field("natural", (), "string; in files with a column per form", False),
    ),
    "qrels": (
        _QUERY_ID,
        _DOC_ID,
        Field("grade", ("relevance", "clue_count", "rel", "score"), "int; 1..n"),
        Field("label", ("judgment", "judgement"), "string; gold (grade = n) or subset", False),
        Field(
            "evidence",
            ("pages", "condition_pages", "evidence_pages"),
            "list of {condition, pages}, or object {condition: pages}; pages are 1-based",
            False,
        ),
    ),
    "corpus": (
        _DOC_ID._replace(aliases=(*_DOC_ID.aliases, "id", "_id")),
        Field(
            "source",
            ("source_name", "source_id", "origin"),
            "string; where it is from (may be left out where the ID begins with a known source)",
            False,
        ),
        Field("title", ("document_title", "name"), "string", False),
        Field("pdf_url", ("url_pdf", "pdf", "direct_pdf_url", "pdf_link"), "http(s) URL", False),
        Field(
            "landing_url",
            ("url", "source_url", "landing_page", "landing_page_url"),
            "http(s) URL of the page about it",
            False,
        ),
        Field("sha256", ("pdf_sha256", "sha_256", "sha256_pdf"), "64 hex digits of the PDF", False),
        Field("n_bytes", ("size", "bytes", "size_bytes", "file_size"), "int; of the PDF", False),
        Field("n_pages", ("pages", "page_count", "num_pages"), "int; of the PDF", False),
        Field("license", ("licence", "license_id", "licence_id"), "string", False),
        Field("terms", ("terms_of_use", "license_terms", "rights"), "string", False),
    ),
    "reference_runs": (
        _QUERY_ID,
        Field(
            "doc_ids",
            ("ranking", "docs", "results", "ranked_doc_ids", "candidates", "hits", "docids"),
            "list of document IDs or of {doc_id, score}, best first",
            False,
        ),
        Field("scores", (), "list of numbers beside doc_ids", False),
        _DOC_ID._replace(meaning="string; in runs with a row per document", required=False),
        Field("rank", (), "int from 1; in runs with a row per document", False),
        Field("score", (), "number; in runs with a row per document", False),
        Field("form", ("query_form", "variant"), "string; else the folder tells it", False),
        Field("system", ("run", "run_id", "run_name"), "string; else the file name", False),
    ),
}  # fmt: skip

# Names inside nested objects, the canonical one first.
CONDITION_NAMES = ("condition", "name", "text", "concept", "clue")
PAGES_NAMES = ("pages", "page_numbers", "page_ids")
RANKED_DOC_NAMES = ("doc_id", *_DOC_ID.aliases, "id")

# Files of a collection: canonical stem -> other accepted stems.
FILES: dict[str, tuple[str, ...]] = {
    "queries": (),
    "queries_forms": ("query_forms",),
    "qrels": ("qrels_final",),
    "qrels_initial": ("qrels_s0", "qrels_S0", "initial_qrels"),
    "corpus": ("documents",),
    "reference_runs": (),
}

Report = Callable[..., None]  # (code, message, fatal=True)


class _Shape(NamedTuple):
    """What a set of keys means; worked out once for all rows that have the same keys."""

    found: tuple[tuple[str, str], ...]  # (field, key)
    repeated: tuple[tuple[str, tuple[str, ...]], ...]  # a field under several of its names
    missing: tuple[Field, ...]


class FieldMap:
    """Finds the canonical fields of the rows of one kind of file.

    Args:
        kind: A key of `FIELDS`.
        mapping: Names given by the user: ``field`` or ``kind.field`` to the name in the file.
    """

    def __init__(self, kind: str, mapping: Mapping[str, str] | None = None) -> None:
        self.kind = kind
        self._fields = FIELDS[kind]
        given = mapping or {}
        self.condition_names = _nested_names(CONDITION_NAMES, given.get("condition"))
        self.pages_names = _nested_names(PAGES_NAMES, given.get("pages"))
        self._names = {
            field.name: _names(field, given.get(f"{kind}.{field.name}", given.get(field.name)))
            for field in self._fields
        }
        self._shapes: dict[tuple[str, ...], _Shape] = {}
        self.unknown: dict[str, None] = {}  # keys that mean nothing here, in the order met

    def resolve(self, row: Mapping[str, Any], report: Report) -> dict[str, Any]:
        """The row under canonical names; what is null or absent is left out.

        Reports required fields that are missing, and a field that stands under two of its names
        with different values.
        """
        keys = tuple(row)
        shape = self._shapes.get(keys)
        if shape is None:
            shape = self._shapes[keys] = self._read_shape(keys)
        for field, names in shape.repeated:
            if any(row[name] != row[names[0]] for name in names[1:]):
                report("ambiguous-field", _ambiguous(field, self._option(field), names, row))
        for missing in shape.missing:
            report("missing-field", self.missing_text(missing.name, keys))
        return {field: row[key] for field, key in shape.found if row[key] is not None}

    def hint(self, key: str) -> str:
        """For an unknown key: the field it may be, with the option to say so, or nothing."""
        close = difflib.get_close_matches(key, [field.name for field in self._fields], 1, 0.55)
        return f"; if it is {close[0]}, add --map {self._option(close[0])}={key}" if close else ""

    def _option(self, field: str) -> str:
        """The field as ``--map`` takes it: with its kind where other files have it too."""
        shared = sum(field in (other.name for other in fields) for fields in FIELDS.values()) > 1
        return f"{self.kind}.{field}" if shared else field

    def _read_shape(self, keys: tuple[str, ...]) -> _Shape:
        present = {
            field: tuple(name for name in names if name in keys)
            for field, names in self._names.items()
        }
        understood = {name for names in present.values() for name in names}
        self.unknown.update(dict.fromkeys(key for key in keys if key not in understood))
        return _Shape(
            tuple((field, names[0]) for field, names in present.items() if names),
            tuple((field, names) for field, names in present.items() if len(names) > 1),
            tuple(f for f in self._fields if f.required and not present[f.name]),
        )

    def missing_text(self, field: str, keys: Iterable[str]) -> str:
        """What to tell about a row that lacks a field: what it has, and the closest match."""
        keys = tuple(keys)
        names = self._names[field]
        free = [key for key in keys if key in self.unknown]
        close = difflib.get_close_matches(field, free, 1, 0.5) or [
            key for name in names for key in difflib.get_close_matches(name, free, 1, 0.7)
        ]
        example = close[0] if close else "NAME"
        closest = f"; the closest is {close[0]!r}" if close else ""
        return (
            f"the field {field} is missing (accepted names: {', '.join(names) or 'none'}); "
            f"the row has {', '.join(map(repr, keys)) or 'no keys'}{closest}. "
            f"If one of them is {field}, say so: --map {self._option(field)}={example}"
        )


def _nested_names(accepted: tuple[str, ...], given: str | None) -> tuple[str, ...]:
    return accepted if given is None else (given,)


def _names(field: Field, given: str | None) -> tuple[str, ...]:
    if given == LEFT_OUT:
        return ()
    return field.accepted if given is None else (given,)


def _ambiguous(field: str, option: str, names: tuple[str, ...], row: Mapping[str, Any]) -> str:
    values = ", ".join(f"{name} = {shorten(repr(row[name]), 40)}" for name in names)
    return (
        f"{values}: all are names of the field {field}, with different values; "
        f"say which one it is: --map {option}={names[0]}"
    )


def check_mapping(mapping: Mapping[str, str] | None) -> dict[str, str]:
    """The mapping, if every key is a field, ``kind.field``, or a file of a collection.

    Raises:
        UsageError: A key is none of them; names the closest.
    """
    known = set(FILES) | {"condition", "pages"}
    for kind, fields in FIELDS.items():
        known |= {field.name for field in fields} | {f"{kind}.{field.name}" for field in fields}
    for key in mapping or {}:
        if key not in known:
            close = difflib.get_close_matches(key, sorted(known), 1)
            meant = f"; did you mean {close[0]}?" if close else ""
            raise UsageError(
                f"--map {key}={(mapping or {})[key]}: {key!r} is not a field or file of a "
                f"release{meant} (the fields are listed in the release format)"
            )
    return dict(mapping or {})


def first_present(row: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The only one of the names that the object has, or None if there is none or several."""
    present = [name for name in names if name in row]
    return present[0] if len(present) == 1 else None
