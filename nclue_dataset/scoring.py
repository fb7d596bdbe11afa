"""Score runs against a collection: what `nclue score`, `compare` and `demo` share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from nclue_core.errors import InputError, UsageError
from nclue_metric import Judgments, QueryScores, score_rankings, summarize
from nclue_metric.runs import Run, read_run
from nclue_metric.support import SupportScores, summarize_support, support_scores

if TYPE_CHECKING:
    from nclue_dataset.release import Collection


@dataclass(frozen=True)
class ScoredRun:
    """A run with its scores and the conditions under which they hold."""

    run: Run
    scores: dict[int, QueryScores]  # per cutoff
    missing: tuple[str, ...]  # queries without a ranking: they count as misses
    extra: tuple[str, ...]  # rankings of queries that are not in the collection: not scored
    unjudged_documents: int  # documents that are not in the corpus
    conditions: dict[str, Any]
    support: dict[int, SupportScores] = field(default_factory=dict)  # per m, with surfaced pages

    def to_json(self, per_query: Sequence[str] | None = None) -> dict[str, Any]:
        """The result as data; with ``per_query`` (the query IDs) also every score."""
        result: dict[str, Any] = {"run": self.run.name}
        for at_k in self.scores.values():
            result.update(summarize(at_k))
        for at_m in self.support.values():
            result.update(summarize_support(at_m))
        result["n_missing"] = len(self.missing)
        result["missing_queries"] = list(self.missing)
        result["extra_queries"] = list(self.extra)
        result["unknown_documents"] = self.unjudged_documents
        result["tied_documents"] = self.run.n_tied
        result["repeats_dropped"] = self.run.n_repeats_dropped
        result["conditions"] = self.conditions
        if per_query is not None:
            result["per_query"] = _per_query(self, per_query)
        return result


def collection_judgments(collection: Collection, copy: str = "final") -> Judgments:
    """The judgments of all queries of a collection, in its order.

    Args:
        collection: The collection.
        copy: "final", or "initial" where the release keeps an earlier qrel copy.
    """
    if copy not in collection.qrels:
        raise UsageError(
            f"{collection.name} has the qrels {', '.join(collection.qrels)}, not {copy!r}"
        )
    grades: dict[str, dict[str, int]] = {query.query_id: {} for query in collection.queries}
    for row in collection.qrels[copy]:
        if row.query_id not in grades:
            raise InputError(f"qrels name the query {row.query_id!r}, which is not in the queries")
        grades[row.query_id][row.doc_id] = row.grade
    n_conditions = {query.query_id: query.n_conditions for query in collection.queries}
    return Judgments.from_mapping(grades, n_conditions)


def embedded_run(collection: Collection, system: str, form: str) -> Run:
    """A ranking that the release itself holds."""
    rankings = {
        item.query_id: list(item.doc_ids)
        for item in collection.rankings
        if item.system == system and item.form == form
    }
    if not rankings:
        systems = sorted({item.system for item in collection.rankings if item.form == form})
        raise UsageError(
            f"{system!r} is neither a file nor a system of {collection.name} in the form {form}; "
            f"its systems are: {', '.join(systems) or 'none'}"
        )
    return Run(system, rankings, ties="input")


def open_run(
    collection: Collection, run: str, form: str, *, ties: str = "input", repeats: str = "error"
) -> Run:
    """A run file, or the name of a system whose ranking the release holds."""
    if Path(run).is_file():
        return read_run(run, ties=ties, repeats=repeats)
    return embedded_run(collection, run, form)


def score_run(
    collection: Collection,
    judgments: Judgments,
    run: Run,
    *,
    form: str,
    ks: Sequence[int] = (10,),
    gain: str = "linear",
    excluded: Mapping[str, Sequence[str]] | None = None,
    copy: str = "final",
    support_ms: Sequence[int] = (),
) -> ScoredRun:
    """Score one run against all queries of the collection.

    Args:
        collection: Names the conditions and knows the corpus.
        judgments: `collection_judgments` of it (shared by many runs).
        run: The run.
        form: Query form that the run used; recorded.
        ks: Cutoffs.
        gain: Gain of graded NDCG.
        excluded: Per query, documents to leave out before ranks are counted.
        copy: Name of the qrel copy; recorded.
        support_ms: Also score page support at these m (the run must hold surfaced pages).

    Queries that the run lacks are scored as empty rankings, and listed.
    """
    aligned = judgments.align(without_excluded(run.rankings, excluded or {}))
    if len(aligned.missing) == len(judgments):
        raise InputError(
            f"the run {run.name!r} has none of the {len(judgments)} queries of {collection.name}; "
            f"it names queries such as {next(iter(run.rankings), None)!r}, the collection "
            f"{judgments.query_ids[0]!r}"
        )
    rankings = aligned.rankings
    corpus = {document.doc_id for document in collection.corpus}
    returned = {doc_id for ranking in rankings for doc_id in ranking}
    return ScoredRun(
        run=run,
        scores=score_rankings(judgments, rankings, ks, gain, checked=True),
        missing=aligned.missing,
        extra=aligned.extra,
        unjudged_documents=len(returned - corpus) if corpus else 0,
        conditions=run_conditions(
            collection,
            judgments,
            form=form,
            ks=ks,
            gain=gain,
            copy=copy,
            ties=run.ties,
            excluded=bool(excluded),
        ),
        support=_page_support(collection, judgments, run, rankings, max(ks), support_ms, copy),
    )


def _page_support(
    collection: Collection,
    judgments: Judgments,
    run: Run,
    rankings: Sequence[Sequence[str]],
    k: int,
    ms: Sequence[int],
    copy: str,
) -> dict[int, SupportScores]:
    if not ms:
        return {}
    evidence: dict[str, dict[str, list[tuple[int, ...]]]] = {}
    for row in collection.qrels[copy]:
        pages = [item.pages for item in row.evidence]
        evidence.setdefault(row.query_id, {})[row.doc_id] = pages
    return support_scores(
        judgments,
        rankings,
        [run.pages.get(query_id, {}) for query_id in judgments.query_ids],
        [evidence.get(query_id, {}) for query_id in judgments.query_ids],
        k=k,
        ms=ms,
    )


def run_conditions(
    collection: Collection,
    judgments: Judgments,
    *,
    form: str,
    ks: Sequence[int],
    gain: str = "linear",
    copy: str = "final",
    ties: str = "input",
    excluded: bool = False,
) -> dict[str, Any]:
    """The conditions under which numbers hold, to print and store beside them."""
    from nclue_core import __version__

    return {
        "nclue": __version__,
        "collection": collection.name,
        "judgments": judgments.content_hash[:12],
        "qrels": copy,
        "form": form,
        "k": list(ks),
        "gain": gain,
        "ties": ties,
        "exclusions": excluded,
        "queries": len(judgments),
    }


def signature(conditions: Mapping[str, Any]) -> str:
    """The conditions in one line, to print under a table."""
    parts = [f"{key}:{_flat(value)}" for key, value in conditions.items() if key != "nclue"]
    return f"nclue {conditions['nclue']} | " + " | ".join(parts)


def _flat(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def without_excluded(
    rankings: Mapping[str, Sequence[str]], excluded: Mapping[str, Sequence[str]]
) -> dict[str, Sequence[str]]:
    """Rankings without the documents to leave out, so that ranks are counted among the rest.

    Only what is listed for a query is left out, never a document by its name alone.
    """
    return {
        query_id: [doc_id for doc_id in ranking if doc_id not in set(excluded[query_id])]
        if query_id in excluded
        else ranking
        for query_id, ranking in rankings.items()
    }


def _per_query(scored: ScoredRun, query_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = {query_id: {} for query_id in query_ids}
    for k, at_k in scored.scores.items():
        columns: dict[str, NDArray[Any]] = {
            f"n_clue_score@{k}": at_k.score,
            f"gold_hit@{k}": at_k.hit,
            f"gold_ndcg@{k}": at_k.gold_ndcg,
            f"graded_ndcg@{k}": at_k.graded_ndcg,
            f"outcome@{k}": at_k.outcome,
        }
        for name, values in columns.items():
            for query_id, value in zip(query_ids, values.tolist(), strict=True):
                table[query_id][name] = value
    return table
