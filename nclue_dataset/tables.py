"""From a collection to the rows of its configurations, without `datasets`.

A collection X has the configurations

    X            splits raw, clean_v2, natural: a query per row, with the metric's reference
    X-qrels      splits final (and initial, where the release keeps an earlier copy)
    X-corpus     split corpus
    X-rankings   splits by query form: a system's ranking of one query per row
    X-initial    as X, with the references of the earlier qrel copy (only where there is one)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from nclue_core.schema import FORMS, Qrel

if TYPE_CHECKING:
    from nclue_dataset.release import Collection

Rows = list[dict[str, Any]]
KINDS = ("queries", "qrels", "corpus", "rankings")


def config_names(collection: Collection) -> list[str]:
    """The configurations of a collection, the queries first."""
    name = collection.name
    names = [name, f"{name}-qrels", f"{name}-corpus"]
    if collection.rankings:
        names.append(f"{name}-rankings")
    if "initial" in collection.qrels:
        names.append(f"{name}-initial")
    return names


def config_kind(config: str) -> str:
    """What a configuration holds: queries, qrels, corpus or rankings."""
    suffix = config.rpartition("-")[2]
    return suffix if suffix in KINDS else "queries"


def config_splits(collection: Collection, config: str) -> dict[str, Rows]:
    """The rows of every split of a configuration, in the order of the release."""
    kind = config_kind(config)
    if kind == "qrels":
        return {copy: [row.to_json() for row in rows] for copy, rows in collection.qrels.items()}
    if kind == "corpus":
        return {"corpus": [document.to_json() for document in collection.corpus]}
    if kind == "rankings":
        return _ranking_splits(collection)
    copy = "initial" if config.endswith("-initial") else "final"
    return _query_splits(collection, collection.qrels[copy])


def references(collection: Collection, copy: str = "final") -> dict[str, dict[str, Any]]:
    """Per query ID the judgments as the metric takes them (empty lists where there are none)."""
    judged = _grades(collection.qrels[copy])
    return {
        query.query_id: {
            "doc_ids": list(judged[query.query_id]),
            "grades": list(judged[query.query_id].values()),
            "n_conditions": query.n_conditions,
        }
        for query in collection.queries
    }


def _grades(qrels: Iterable[Qrel]) -> defaultdict[str, dict[str, int]]:
    judged: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for row in qrels:
        judged[row.query_id][row.doc_id] = row.grade
    return judged


def _query_splits(collection: Collection, qrels: Iterable[Qrel]) -> dict[str, Rows]:
    judged = _grades(qrels)
    splits: dict[str, Rows] = {}
    for form in (*FORMS, *sorted(set(collection.forms) - set(FORMS))):
        texts = collection.forms.get(form, {})
        splits[form] = [
            {
                "query_id": query.query_id,
                "query": texts[query.query_id],
                "conditions": list(query.conditions),
                "n_conditions": query.n_conditions,
                "reference": {
                    "doc_ids": list(judged[query.query_id]),
                    "grades": list(judged[query.query_id].values()),
                    "n_conditions": query.n_conditions,
                },
            }
            for query in collection.queries
            if query.query_id in texts
        ]
    return {form: rows for form, rows in splits.items() if rows}


def _ranking_splits(collection: Collection) -> dict[str, Rows]:
    splits: defaultdict[str, Rows] = defaultdict(list)
    for ranking in collection.rankings:
        splits[ranking.form].append(
            {
                "system": ranking.system,
                "query_id": ranking.query_id,
                "doc_ids": list(ranking.doc_ids),
                "scores": None if ranking.scores is None else list(ranking.scores),
            }
        )
    ordered = [form for form in FORMS if form in splits]
    return {form: splits[form] for form in (*ordered, *sorted(set(splits) - set(ordered)))}
