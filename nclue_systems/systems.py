"""Run a system: a ranking of documents for every query."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from nclue_core.errors import InputError, UsageError
from nclue_core.schema import RENDER_FORM, Query, Ranking
from nclue_systems import compose
from nclue_systems.bm25 import bm25, postings
from nclue_systems.corpus import CorpusIndex, Floats
from nclue_systems.facts import Facts, control_scores
from nclue_systems.fusion import reciprocal_rank_fusion
from nclue_systems.registry import SYSTEMS, SystemSpec, find_system
from nclue_systems.words import part_words, quoted_parts, words

FUSION_DEPTH = 100
SEED = 11

# Scores that differ by less than 1 part in 10^12 are one score: the last bits of a logarithm
# differ between processors, and must not decide an order.
_SCORE_BITS = 40

# Scores (U,) of the units of the system's representation, for parts of a query taken together.
UnitScorer = Callable[[SystemSpec, CorpusIndex, Sequence[str]], Floats]


@dataclass(frozen=True)
class Inputs:
    """What systems may read besides query and corpus."""

    texts: Mapping[str, str] = field(default_factory=dict)  # query_id -> text of the form
    seed: int = SEED  # of the system `random`
    facts: Facts | None = None  # for the construction-fact controls
    runs: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)  # for fusions


def run_system(
    name: str,
    corpus_index: CorpusIndex,
    queries: Sequence[Query],
    form: str,
    *,
    depth: int = 100,
    seed: int = SEED,
    texts: Mapping[str, str] | None = None,
    facts: Facts | None = None,
    runs: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
) -> list[Ranking]:
    """Rank the documents of a corpus for every query.

    Args:
        name: A system of the registry, or ``rrf(a,b)``.
        corpus_index: `build_index` or `load_index`.
        queries: In the order of the result.
        form: raw, clean_v2 or natural; recorded, and the wording unless ``texts`` has it.
        depth: Documents per query, at most.
        seed: Of the system ``random``.
        texts: The form's text by query_id. For other queries raw is the field of the query and
            the other forms are rendered from its conditions.
        facts: Construction facts, for the four controls.
        runs: Rankings of systems that are not run here, by system and query_id, for fusions. They
            come before systems of the same name.

    Returns:
        One ranking per query, best first, documents with a score above 0 only: a query without
        a word of the corpus has an empty ranking. Equal scores are in lexicographic order of
        doc_id. The same inputs give the same rankings, in any process.

    Raises:
        UsageError: No such system or form, or it needs facts or a run that is not given.
        InputError: A query is not in a given run.
    """
    if form not in RENDER_FORM:
        raise UsageError(f"no query form is called {form!r}; there are {', '.join(RENDER_FORM)}")
    inputs = Inputs(_form_texts(queries, form, texts or {}), seed, facts, runs or {})
    spec = find_system(name)
    _check_inputs(spec, inputs)
    return [
        Ranking(
            spec.name,
            form,
            query.query_id,
            *_columns(_rank(spec, corpus_index, query, inputs, depth)),
        )
        for query in queries
    ]


def missing_runs(spec: SystemSpec, runs: Iterable[str] = ()) -> list[str]:
    """The systems that a fusion needs and that neither the registry can run nor ``runs`` holds."""
    runnable = {s.name for s in SYSTEMS.values() if s.kind != "fusion"} | set(runs)
    return [name for name in spec.fused if name not in runnable]


def _check_inputs(spec: SystemSpec, inputs: Inputs) -> None:
    absent = missing_runs(spec, inputs.runs)
    if absent:
        raise UsageError(
            f"{spec.name} fuses {', '.join(spec.fused)}: there is no run of {', '.join(absent)}"
        )
    asked = [spec, *(SYSTEMS[name] for name in spec.fused if name not in inputs.runs)]
    if inputs.facts is None and any(each.kind == "control" for each in asked):
        raise UsageError(f"{spec.name} reads construction facts: give them")


def _form_texts(queries: Sequence[Query], form: str, texts: Mapping[str, str]) -> dict[str, str]:
    made = {q.query_id: texts.get(q.query_id) for q in queries}
    return {
        query.query_id: made[query.query_id]
        or (query.query_text_eval_full if form == "raw" else RENDER_FORM[form](query.conditions))
        for query in queries
    }


def _columns(ranked: list[tuple[str, float]]) -> tuple[tuple[str, ...], tuple[float, ...]]:
    return tuple(doc_id for doc_id, _ in ranked), tuple(score for _, score in ranked)


def _rank(
    spec: SystemSpec, index: CorpusIndex, query: Query, inputs: Inputs, depth: int
) -> list[tuple[str, float]]:
    if spec.kind == "fusion":
        return _fuse(spec, index, query, inputs)[:depth]
    return _best(index, DOCUMENT_SCORES[spec.kind](spec, index, query, inputs), depth)


def _best(index: CorpusIndex, scores: Floats, depth: int) -> list[tuple[str, float]]:
    """The best documents above 0. The stable sort keeps ties in the order of the corpus."""
    mantissa, exponent = np.frexp(scores)
    rounded = np.ldexp(np.rint(np.ldexp(mantissa, _SCORE_BITS)), exponent - _SCORE_BITS)
    found = np.flatnonzero(rounded > 0)
    order = found[np.argsort(-rounded[found], kind="stable")][:depth]
    return [(index.doc_ids[number], float(rounded[number])) for number in order]


def _fuse(
    spec: SystemSpec, index: CorpusIndex, query: Query, inputs: Inputs
) -> list[tuple[str, float]]:
    rankings = [
        _given(name, query, inputs)
        if name in inputs.runs
        else _columns(_rank(SYSTEMS[name], index, query, inputs, FUSION_DEPTH))[0]
        for name in spec.fused
    ]
    return reciprocal_rank_fusion(rankings, depth=FUSION_DEPTH)


def _given(name: str, query: Query, inputs: Inputs) -> Sequence[str]:
    try:
        return inputs.runs[name][query.query_id]
    except KeyError:
        raise InputError(f"the run of {name} has no ranking for query {query.query_id!r}") from None


def _retrieval_scores(spec: SystemSpec, index: CorpusIndex, query: Query, inputs: Inputs) -> Floats:
    n_documents = len(index.doc_ids)
    asked = asked_parts(spec, query, inputs.texts[query.query_id])
    if not asked:
        return np.zeros(n_documents)
    units = index.units(spec.representation)
    unit_scores = [SCORERS[spec.scorer](spec, index, parts) for parts in asked]
    if spec.composition == "sdr":
        return compose.distinct_pages(unit_scores, units, n_documents)
    aggregate = AGGREGATIONS[spec.aggregation]
    scores = np.stack([aggregate(each, units, n_documents) for each in unit_scores])
    composed = COMPOSITIONS[spec.composition](scores)
    return _all_terms_first(index, asked[0], composed) if spec.all_terms_first else composed


def asked_parts(spec: SystemSpec, query: Query, text: str) -> list[tuple[str, ...]]:
    """What is scored by itself: each condition, or all parts of the query together.

    A part without words (punctuation only) can't be searched: it is left out, as if the query
    did not have it. Without any words the list is empty.
    """
    if spec.asked == "text":
        parts = [text]
    elif spec.asked == "parts":
        parts = quoted_parts(text)
    else:
        parts = list(query.conditions)
    searched = tuple(part for part in parts if words(part))
    if spec.composition == "joint":
        return [searched] if searched else []
    return [(part,) for part in searched]


def _all_terms_first(index: CorpusIndex, parts: Sequence[str], scores: Floats) -> Floats:
    """Lift the documents that hold every word above the others (by the highest score + 1)."""
    distinct = list(dict.fromkeys(part_words(parts)))
    numbers = index.numbers(distinct)
    if len(numbers) < len(distinct):
        return scores  # a word that no document holds
    where = postings(index, "document")
    documents = index.units("document").documents
    held = np.zeros(where.n_units, np.int64)
    for number in numbers:
        held[where.units_with(number)] += 1
    lifted: Floats = scores.copy()
    lifted[documents[held == len(numbers)]] += 1 + scores.max(initial=0)
    return lifted


def _bm25_units(spec: SystemSpec, index: CorpusIndex, parts: Sequence[str]) -> Floats:
    weights = bm25(index, spec.representation, k1=spec.k1, b=spec.b)
    return weights.scores(index.numbers(part_words(parts)))


def _length_scores(_s: SystemSpec, index: CorpusIndex, _q: Query, _i: Inputs) -> Floats:
    lengths: Floats = index.document_lengths().astype(np.float64)
    return lengths


def _random_scores(_s: SystemSpec, index: CorpusIndex, query: Query, inputs: Inputs) -> Floats:
    """Uniform numbers above 0 from a hash, so that no generator's version changes them."""
    prefix = f"{inputs.seed}\0{query.query_id}\0"
    digests = (
        hashlib.blake2b(f"{prefix}{doc_id}".encode(), digest_size=8).digest()
        for doc_id in index.doc_ids
    )
    return np.array([(int.from_bytes(digest, "big") + 1) / 2**64 for digest in digests])


def _control_scores(spec: SystemSpec, index: CorpusIndex, query: Query, inputs: Inputs) -> Floats:
    found = control_scores(spec.name, index, query, inputs.facts or Facts({}, {}))
    return np.array([found.get(doc_id, 0.0) for doc_id in index.doc_ids])


SCORERS: dict[str, UnitScorer] = {"bm25": _bm25_units}
AGGREGATIONS = {
    "max": compose.best_unit,
    "mean_top2": compose.mean_of_best(2),
    "mean_top3": compose.mean_of_best(3),
}
COMPOSITIONS: dict[str, Callable[[Floats], Floats]] = {
    "joint": lambda scores: scores[0],
    "min": compose.minimum,
    "product": compose.product,
    "hmean": compose.harmonic_mean,
}
DOCUMENT_SCORES: dict[str, Callable[[SystemSpec, CorpusIndex, Query, Inputs], Floats]] = {
    "retrieval": _retrieval_scores,
    "prior": _length_scores,
    "random": _random_scores,
    "control": _control_scores,
}
