"""Checks of the reference rankings."""

from __future__ import annotations

import itertools

from nclue_core.files import unsafe_id_reason
from nclue_core.schema import Ranking
from nclue_dataset.names import split_name_reason
from nclue_dataset.scan import Listener, Problem, Scan, Scanned


def check_rankings(scan: Scan, listen: Listener) -> None:
    """Rankings name known queries and documents, each once, by falling score."""
    query_ids = {item.record.query_id for item in scan.queries}
    doc_ids = {item.record.doc_id for item in scan.corpus}
    runs: dict[tuple[str, str], set[str]] = {}
    first: dict[tuple[str, str, str], Scanned[Ranking]] = {}
    for item in scan.rankings:
        ranking = item.record
        runs.setdefault((ranking.form, ranking.system), set()).add(ranking.query_id)
        key = (ranking.system, ranking.form, ranking.query_id)
        _check_twice(item, first.setdefault(key, item), listen)
        if ranking.query_id not in query_ids:
            _tell(listen, item, "dangling-query", "query not in queries")
        _check_documents(item, doc_ids, listen)
        _check_scores(item, listen)
    _check_runs(scan, runs, query_ids, listen)


def _tell(listen: Listener, item: Scanned[Ranking], code: str, message: str) -> None:
    listen(Problem(code, item.path, item.line, f"{item.record.query_id}: {message}"))


def _check_twice(item: Scanned[Ranking], first: Scanned[Ranking], listen: Listener) -> None:
    if first is item:
        return
    where = f"{first.path.name}:{first.line}"
    if first.path == item.path:
        _tell(listen, item, "duplicate-id", f"the query has a ranking already ({where})")
    elif first.record.doc_ids != item.record.doc_ids:
        message = f"another ranking of {item.record.system} is used ({first.path})"
        _tell(listen, item, "other-ranking", message)


def _check_documents(item: Scanned[Ranking], doc_ids: set[str], listen: Listener) -> None:
    ranked = item.record.doc_ids
    if not ranked:
        _tell(listen, item, "empty-ranking", "no documents")
    unique = set(ranked)
    if len(unique) < len(ranked):
        repeated = next(doc_id for doc_id in ranked if ranked.count(doc_id) > 1)
        ranks = [str(rank) for rank, doc_id in enumerate(ranked, start=1) if doc_id == repeated]
        _tell(listen, item, "repeated-document", f"{repeated} at ranks {', '.join(ranks)}")
    if not unique <= doc_ids:
        unknown = [doc_id for doc_id in ranked if doc_id not in doc_ids]
        message = f"{len(unknown)} documents not in corpus, first {unknown[0]}"
        _tell(listen, item, "dangling-document", message)


def _check_scores(item: Scanned[Ranking], listen: Listener) -> None:
    scores = item.record.scores
    if scores is None:
        return
    for rank, (higher, lower) in enumerate(itertools.pairwise(scores), start=1):
        if lower > higher:
            message = f"scores rise from {higher} to {lower} after rank {rank}"
            _tell(listen, item, "score-order", message)
            return


def _check_runs(
    scan: Scan,
    runs: dict[tuple[str, str], set[str]],
    query_ids: set[str],
    listen: Listener,
) -> None:
    folder = scan.files.folder / "reference_runs"
    for (form, system), ranked in runs.items():
        missing = len(query_ids - ranked)
        if missing:
            message = f"{system}, {form}: no ranking for {missing} of {len(query_ids)} queries"
            listen(Problem("run-incomplete", folder, None, message))
        reason = unsafe_id_reason(system)
        if reason:
            message = f"the system {system!r} is no file name: {reason}"
            listen(Problem("unsafe-id", folder, None, message))
    for form in sorted({form for form, _ in runs}):
        reason = split_name_reason(form)
        if reason:
            message = f"the form {form!r} cannot be a split: {reason}"
            listen(Problem("name", folder, None, message))
