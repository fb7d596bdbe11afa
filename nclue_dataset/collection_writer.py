"""Write collections in canonical form: the same content gives the same bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nclue_core.errors import InputError
from nclue_core.files import sha256_file, unsafe_id_reason, write_text
from nclue_core.jsonl import dump_json, write_jsonl
from nclue_core.schema import QueryForm, Ranking
from nclue_dataset.layout import CHECKSUMS

if TYPE_CHECKING:
    from nclue_dataset.release import Collection

FORMAT = "nclue-release/1"


def write_collection(folder: Path, collection: Collection) -> None:
    """Write the files of one collection into a folder.

    Queries, qrels and documents keep their order; runs are one file per form and system.

    Raises:
        InputError: A system or form cannot be a file name.
    """
    write_jsonl(folder / "queries.jsonl", (query.to_json() for query in collection.queries))
    write_jsonl(
        folder / "queries_forms.jsonl",
        (
            QueryForm(query.query_id, form, texts[query.query_id]).to_json()
            for query in collection.queries
            for form, texts in collection.forms.items()
            if query.query_id in texts
        ),
    )
    for copy, rows in collection.qrels.items():
        name = "qrels.jsonl" if copy == "final" else f"qrels_{copy}.jsonl"
        write_jsonl(folder / name, (row.to_json() for row in rows))
    write_jsonl(folder / "corpus.jsonl", (document.to_json() for document in collection.corpus))
    _write_runs(folder / "reference_runs", collection.rankings)


def _write_runs(folder: Path, rankings: list[Ranking]) -> None:
    by_run: defaultdict[tuple[str, str], list[Ranking]] = defaultdict(list)
    for ranking in rankings:
        by_run[ranking.form, ranking.system].append(ranking)
    for (form, system), rows in by_run.items():
        for name in (form, system):
            reason = unsafe_id_reason(name)
            if reason:
                raise InputError(f"the run {name!r} cannot be a file name: {reason}")
        place = folder if form == "raw" else folder / "forms" / form
        write_jsonl(place / f"{system}.jsonl", (row.to_json() for row in rows))


def write_release(
    folder: Path, collections: Mapping[str, Collection], manifest: Mapping[str, Any]
) -> None:
    """Write a release directory with ``MANIFEST.json`` and ``SHA256SUMS``.

    Args:
        folder: A new folder. A single collection lies in it directly, several in ``data/NAME``.
        collections: Name -> collection.
        manifest: More fields of the manifest (name, version, how it was made).
    """
    places = {name: "." if len(collections) == 1 else f"data/{name}" for name in collections}
    for name, collection in collections.items():
        write_collection(folder / places[name], collection)
    counts = {
        name: {
            "queries": len(item.queries),
            "documents": len(item.corpus),
            **{f"qrels_{copy}": len(rows) for copy, rows in item.qrels.items()},
            "runs": len({(ranking.form, ranking.system) for ranking in item.rankings}),
        }
        for name, item in collections.items()
    }
    content = {"format": FORMAT, **manifest, "collections": places, "counts": counts}
    write_text(folder / "MANIFEST.json", dump_json(content) + "\n")
    write_checksums(folder)


def write_checksums(folder: Path) -> None:
    """Write ``SHA256SUMS`` over all files of a folder, in the format of ``sha256sum``."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != CHECKSUMS)
    lines = [f"{sha256_file(path)}  {path.relative_to(folder).as_posix()}\n" for path in files]
    write_text(folder / CHECKSUMS, "".join(lines))
