"""From what a command line names to checked runs and their scores.

`nclue score` and `nclue compare` both begin with `open_runs`: what one of them refuses, counts or
tells, the other does too.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nclue_core import __version__
from nclue_core.errors import ExitCode, InputError, UsageError
from nclue_core.run_record import RunRecord, rankings_hash, read_record
from nclue_core.schema import FORMS
from nclue_dataset.run_checks import (
    SHOWN,
    TiesAtK,
    UnknownDocuments,
    because,
    refuse_unknown,
    some,
    tie_sentences,
    ties_at,
    unknown_documents,
)
from nclue_metric import Judgments, QueryScores, ScoringError, score_rankings, summarize
from nclue_metric.measures import per_query_columns
from nclue_metric.runs import Run, parse_run, read_run
from nclue_metric.scoring import check_cutoffs
from nclue_metric.support import SupportScores, summarize_support, support_scores

if TYPE_CHECKING:
    from nclue_dataset.release import Collection

STDIN = "-"


@dataclass(frozen=True)
class Rules:
    """How runs are read and scored: the options that ``score`` and ``compare`` share."""

    form: str = "raw"
    copy: str = "final"  # of the qrels
    ks: tuple[int, ...] = (10,)
    gain: str = "linear"
    ties: str = "input"
    repeats: str = "error"
    mapping: Mapping[str, str] | None = None  # fields of run files under names of their own
    excluded: Mapping[str, Sequence[str]] | None = None  # per query, documents to leave out
    allow_unknown: bool = False
    n_conditions: tuple[int, ...] = ()  # only queries with so many conditions
    sources: tuple[str, ...] = ()  # only queries with a gold from one of these
    query_ids: tuple[str, ...] | None = None  # only these queries


@dataclass(frozen=True, eq=False)
class CheckedRun:
    """A run that fits the collection, in the order of its queries."""

    name: str  # no two runs of one call have the same
    path: str | None  # None for a ranking that the release holds
    run: Run
    rankings: list[Sequence[str]]  # per query; empty where the run has none
    missing: tuple[str, ...]  # queries without a ranking: they count as misses
    extra: tuple[str, ...]  # rankings of queries that are not in the collection: not scored
    unknown: UnknownDocuments
    ties: tuple[TiesAtK, ...]  # per cutoff
    record: RunRecord | None  # what it was made from, where that is known
    mismatches: tuple[str, ...]  # between the record and the scoring

    def notes(self, *, whole: bool = False) -> list[str]:
        """What a reader of its scores should know, a sentence each; ``whole`` lists all names."""
        shown = None if whole else SHOWN
        notes = []
        if self.missing:
            notes.append(f"{len(self.missing):,} queries have no ranking and count as misses: "
                         f"{some(self.missing, shown)}")  # fmt: skip
        if self.extra:
            notes.append(f"{len(self.extra):,} queries are not in the collection, not scored: "
                         f"{some(self.extra, shown)}")  # fmt: skip
        if self.unknown.documents:
            notes.append(self.unknown.sentence(shown))
        notes += tie_sentences(self.run.n_tied, self.run.ties, self.ties, shown)
        if self.run.n_repeats_dropped:
            notes.append(f"{self.run.n_repeats_dropped:,} repeated documents dropped")
        part = self.record.coverage() if self.record else None
        if part:
            notes.append(f"it was made over {part}: the others could not be found")
        return [*notes, *self.run.notes, *self.mismatches]

    def record_lines(self) -> list[str]:
        """A line on what it was made from, to stand beside its scores; none where unknown."""
        return [f"{self.name}: {self.record.line()}"] if self.record else []

    def to_json(self) -> dict[str, Any]:
        """What was found in the run, as data."""
        return {
            "path": self.path,
            "n_missing": len(self.missing),
            "missing_queries": list(self.missing),
            "extra_queries": list(self.extra),
            **self.unknown.to_json(),
            "tied_documents": self.run.n_tied,
            "ties_at": [at_k.to_json() for at_k in self.ties],
            "repeats_dropped": self.run.n_repeats_dropped,
            "made_from": self.record.to_json() if self.record else None,
            "notes": self.notes(),
        }


@dataclass(frozen=True, eq=False)
class CheckedRuns:
    """The runs of one call and the judgments for all of them."""

    collection: Collection
    rules: Rules
    judgments: Judgments
    runs: tuple[CheckedRun, ...]

    @property
    def conditions(self) -> dict[str, Any]:
        """The conditions under which numbers hold, to print and store beside them."""
        rules = self.rules
        filters = {
            "n": list(rules.n_conditions),
            "source": list(rules.sources),
            "query_list": len(self.judgments) if rules.query_ids is not None else 0,
            "repeats": rules.repeats if rules.repeats != "error" else None,
        }
        return {
            "nclue": __version__,
            "collection": self.collection.name,
            "judgments": self.judgments.content_hash[:12],
            "qrels": rules.copy,
            "form": rules.form,
            "k": list(rules.ks),
            "gain": rules.gain,
            "ties": rules.ties,
            "exclusions": bool(rules.excluded),
            "queries": len(self.judgments),
            **{name: value for name, value in filters.items() if value},
        }

    @cached_property
    def evidence(self) -> list[dict[str, list[tuple[int, ...]]]]:
        """Per query and judged document, the pages of each condition."""
        found: dict[str, dict[str, list[tuple[int, ...]]]] = {}
        for row in self.collection.qrels[self.rules.copy]:
            found.setdefault(row.query_id, {})[row.doc_id] = [item.pages for item in row.evidence]
        return [found.get(query_id, {}) for query_id in self.judgments.query_ids]


def open_runs(collection: Collection, names: Sequence[str], rules: Rules) -> CheckedRuns:
    """Read runs and check all of them against the collection.

    Args:
        collection: The collection.
        names: Run files, ``-`` for one from stdin, or systems whose rankings the release holds.
        rules: How to read and score them.

    Raises:
        UsageError: A form, qrel copy, source or system that there is not, stdin twice.
        InputError: A file that cannot be understood, a run without any query of the collection,
            or one with mostly unknown documents. All bad runs are named, none is scored.
    """
    check_cutoffs(rules.ks, rules.gain)
    check_form(collection, rules.form)
    if names.count(STDIN) > 1:
        raise UsageError("stdin (-) can be read once: name it once")
    every = collection_judgments(collection, rules.copy)
    if rules.excluded and not set(rules.excluded) & set(every.query_ids):
        _refuse_absent("--exclude", list(rules.excluded), set(every.query_ids))
    judgments = _filtered(collection, every, rules)
    made_for = collection_judgments(collection).content_hash
    labels = distinct_names(names)
    opened: list[CheckedRun] = []
    problems: list[tuple[str, Exception]] = []
    for label, name in zip(labels, names):
        try:
            run = _open(collection, name, rules)
            opened.append(_checked(collection, judgments, every, run, label, name, rules, made_for))
        except (ScoringError, InputError, UsageError) as err:
            problems.append((label, err))
    _refuse(problems, len(names))
    return CheckedRuns(collection, rules, judgments, tuple(opened))


def _refuse(problems: list[tuple[str, Exception]], n_runs: int) -> None:
    """Raise what is wrong with the runs: the error itself, or one that lists several."""
    if not problems:
        return
    if len(problems) == 1:
        raise problems[0][1]
    width = max(len(label) for label, _ in problems)
    lines = [f"  {label:<{width}}  {err}" for label, err in problems]
    message = f"{len(problems)} of {n_runs} runs cannot be scored, so none is:\n" + "\n".join(lines)
    unknown_names = all(isinstance(err, UsageError) for _, err in problems)
    raise UsageError(message) if unknown_names else InputError(message)


def check_form(collection: Collection, form: str) -> None:
    """Raise a UsageError for a query form that the collection does not have."""
    forms = list(dict.fromkeys([*FORMS, *collection.forms, *(r.form for r in collection.rankings)]))
    if form not in forms:
        near = [name for name in forms if name.startswith(form) or form.startswith(name)]
        hint = f"; do you mean {near[0]}?" if near else ""
        raise UsageError(f"--form {form}: {collection.name} has the forms {', '.join(forms)}{hint}")


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


def _filtered(collection: Collection, judgments: Judgments, rules: Rules) -> Judgments:
    """The judgments of the queries that are asked for.

    Raises:
        UsageError: No query is left, or a source or query that there is not.
    """
    source_of = {document.doc_id: document.source for document in collection.corpus}
    _refuse_absent("--source", rules.sources, set(source_of.values()))
    _refuse_absent("--queries", rules.query_ids or (), set(judgments.query_ids))
    listed = None if rules.query_ids is None else set(rules.query_ids)
    kept = [
        row
        for row, (query_id, n, golds) in enumerate(
            zip(judgments.query_ids, judgments.n_conditions.tolist(), judgments.gold_ids)
        )
        if (not rules.n_conditions or n in rules.n_conditions)
        and (not rules.sources or any(source_of.get(doc) in rules.sources for doc in golds))
        and (listed is None or query_id in listed)
    ]
    if len(kept) == len(judgments):
        return judgments
    if not kept:
        raise UsageError(f"no query of {collection.name} is left by --n, --source and --queries")
    return Judgments(
        tuple(judgments.query_ids[row] for row in kept),
        tuple(judgments.grades[row] for row in kept),
        judgments.n_conditions[kept],
    )


def _refuse_absent(option: str, asked: Sequence[str], known: set[str]) -> None:
    absent = [name for name in asked if name not in known]
    if absent:
        raise UsageError(
            f"{option}: {some(absent)} is not in the collection, which has {some(sorted(known))}"
            f"{because(absent, known)}"
        )


def read_exclusions(path: Path) -> dict[str, list[str]]:
    """The documents to leave out per query, from JSON ``{query_id: [doc_id, …]}``."""
    return read_run(path).rankings  # the same shape: lists of document IDs by query


def read_query_list(path: Path) -> tuple[str, ...]:
    """Query IDs from a file with one per line, or a JSON list of strings.

    Raises:
        InputError: It is neither, or holds no ID.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        found = json.loads(text) if text.lstrip().startswith("[") else text.split("\n")
    except (OSError, ValueError, RecursionError) as err:
        message = f"expected query IDs, one per line, or a JSON list: {err}"
        raise InputError(message, path=path) from None
    if not all(isinstance(item, str) for item in found):
        raise InputError("expected a JSON list of query IDs, all strings", path=path)
    ids = tuple(dict.fromkeys(item.strip() for item in found if item.strip()))
    if not ids:
        raise InputError("no query ID in it", path=path)
    return ids


def distinct_names(names: Sequence[str]) -> list[str]:
    """A name per run, no two the same: the file's stem, with as much of its path as it takes."""
    labels = {name: _label(name, 1) for name in names}
    for depth in range(2, max((len(Path(name).parts) for name in names), default=0) + 2):
        count = Counter(labels.values())
        labels = {
            name: _label(name, depth) if count[label] > 1 else label
            for name, label in labels.items()
        }
    given: Counter[str] = Counter()  # one file may be named twice
    found = []
    for name in names:
        given[name] += 1
        found.append(labels[name] if given[name] == 1 else f"{labels[name]} ({given[name]})")
    return found


def _label(name: str, depth: int) -> str:
    """The last so many parts of a path, without suffixes; beyond its parts, the path itself."""
    if name == STDIN:
        return "stdin"
    if not Path(name).is_file():
        return name
    parts = Path(name).parts
    if depth > len(parts):
        return name
    file = parts[-1].removesuffix(".gz")
    return "/".join([*parts[-depth:-1], file.rpartition(".")[0] or file])


def _open(collection: Collection, name: str, rules: Rules) -> Run:
    """A run file, stdin, or the name of a system whose ranking the release holds."""
    how: Any = {"ties": rules.ties, "repeats": rules.repeats, "mapping": rules.mapping}
    if name == STDIN:
        data = sys.stdin.buffer.read()
        return parse_run(data, name="stdin", source="<stdin>", **how)
    if Path(name).exists() and not Path(name).is_dir():
        return read_run(name, **how)
    return embedded_run(collection, name, rules.form)


def embedded_run(collection: Collection, system: str, form: str) -> Run:
    """A ranking that the release itself holds."""
    rankings = {
        item.query_id: list(item.doc_ids)
        for item in collection.rankings
        if item.system == system and item.form == form
    }
    if rankings:
        return Run(system, rankings, ties="input")
    if Path(system).is_dir():
        raise InputError("is a directory; expected a run file", path=system)
    if "/" in system or Path(system).suffix in _RUN_SUFFIXES:
        raise InputError("no such file; expected a run", path=system)
    systems = sorted({item.system for item in collection.rankings if item.form == form})
    raise UsageError(
        f"{system!r} is neither a file nor a system of {collection.name} in the form {form}; "
        f"its systems are: {', '.join(systems) or 'none'}"
    )


_RUN_SUFFIXES = frozenset(
    (".trec", ".json", ".jsonl", ".parquet", ".gz", ".txt", ".tsv", ".run", ".res")
)


def _checked(
    collection: Collection,
    judgments: Judgments,
    every: Judgments,
    run: Run,
    label: str,
    name: str,
    rules: Rules,
    made_for: str,
) -> CheckedRun:
    """A run in the order of the queries, with what is odd about it."""
    aligned = judgments.align(without_excluded(run.rankings, rules.excluded or {}))
    strangers = every.compare_queries(run.rankings)[1]
    if len(aligned.missing) == len(judgments):
        raise InputError(
            f"the run {label!r} has none of the {len(judgments)} queries of {collection.name}; "
            f"it names queries such as {next(iter(run.rankings), None)!r}, the collection "
            f"{judgments.query_ids[0]!r}{because(strangers, every.query_ids)}"
        )
    corpus = {document.doc_id: None for document in collection.corpus}  # keeps its order
    unknown = unknown_documents(aligned.rankings, corpus)
    if not rules.allow_unknown:
        refuse_unknown(unknown, corpus, label)
    path = name if name != STDIN and Path(name).is_file() else None
    record = read_record(Path(path)) if path else None
    return CheckedRun(
        name=label,
        path=path,
        run=run,
        rankings=aligned.rankings,
        missing=aligned.missing,
        extra=strangers,
        unknown=unknown,
        ties=_ties(judgments, aligned.rankings, run, rules.ks),
        record=record,
        mismatches=tuple(_mismatches(record, run, collection, made_for, rules.form)),
    )


def _ties(
    judgments: Judgments, rankings: Sequence[Sequence[str]], run: Run, ks: Iterable[int]
) -> tuple[TiesAtK, ...]:
    tied = {
        query_id: [run.rankings[query_id][first - 1 : last] for first, last in groups]
        for query_id, groups in run.tie_groups.items()
    }
    return tuple(ties_at(judgments, rankings, tied, k) for k in ks) if tied else ()


def _mismatches(
    record: RunRecord | None, run: Run, collection: Collection, judgments: str, form: str
) -> list[str]:
    """Where a run is scored as something else than it was made as."""
    if record is None:
        return []
    found = []
    if record.rankings and record.rankings != rankings_hash(run.rankings):
        found.append("its rankings are not those that its record (.run.json) was written for")
    for what, made, scored in (
        ("form", record.form, form),
        ("collection", record.collection, collection.name),
        ("judgments", record.judgments, judgments[: len(record.judgments or "")]),
    ):
        if made is not None and made != scored:
            found.append(f"it was made for the {what} {made}, and is scored as {scored}")
    return found


def without_excluded(
    rankings: Mapping[str, Sequence[str]], excluded: Mapping[str, Sequence[str]]
) -> dict[str, Sequence[str]]:
    """Rankings without the documents to leave out, so that ranks are counted among the rest.

    Only what is listed for a query is left out, never a document by its name alone.
    """
    left_out = {query_id: frozenset(documents) for query_id, documents in excluded.items()}
    return {
        query_id: [doc_id for doc_id in ranking if doc_id not in left_out[query_id]]
        if query_id in left_out
        else ranking
        for query_id, ranking in rankings.items()
    }


@dataclass(frozen=True)
class ScoredRun:
    """A run with its scores and the conditions under which they hold."""

    run: CheckedRun
    query_ids: tuple[str, ...]
    scores: dict[int, QueryScores]  # per cutoff
    conditions: dict[str, Any]
    support: dict[int, SupportScores] = field(default_factory=dict)  # per m, with surfaced pages
    intervals: dict[str, list[float]] = field(default_factory=dict)  # NAME@k_ci95, in percent

    @cached_property
    def values(self) -> dict[str, Any]:
        """The summary: percentages and counts by name."""
        result: dict[str, Any] = {}
        for at_k in self.scores.values():
            result.update(summarize(at_k))
        for at_m in self.support.values():
            result.update(summarize_support(at_m))
        return result

    def to_json(self, *, per_query: bool = False) -> dict[str, Any]:
        """The result as data; with ``per_query`` also every score of every query."""
        result = {"run": self.run.name, **self.values, **self.run.to_json(), **self.intervals}
        result["conditions"] = self.conditions
        if per_query:
            result["per_query"] = self.per_query()
        return result

    def per_query(self) -> dict[str, dict[str, Any]]:
        """Every score, by query and name."""
        table: dict[str, dict[str, Any]] = {query_id: {} for query_id in self.query_ids}
        for at_k in self.scores.values():
            for name, values in per_query_columns(at_k).items():
                for query_id, value in zip(self.query_ids, values, strict=True):
                    table[query_id][name] = value
        return table


def score_run(opened: CheckedRuns, run: CheckedRun, support_ms: Sequence[int] = ()) -> ScoredRun:
    """Score one of the runs against all queries.

    Args:
        opened: The runs, the judgments and the rules.
        run: One of the runs.
        support_ms: Also score page support at these m (the run must hold surfaced pages).
    """
    rules, judgments = opened.rules, opened.judgments
    support: dict[int, SupportScores] = {}
    if support_ms:
        surfaced = [run.run.pages.get(query_id, {}) for query_id in judgments.query_ids]
        support = support_scores(
            judgments, run.rankings, surfaced, opened.evidence, k=max(rules.ks), ms=support_ms
        )
    return ScoredRun(
        run=run,
        query_ids=judgments.query_ids,
        scores=score_rankings(judgments, run.rankings, rules.ks, rules.gain, checked=True),
        conditions=opened.conditions,
        support=support,
    )


def with_intervals(opened: CheckedRuns, scored: ScoredRun, resamples: int, seed: int) -> ScoredRun:
    """The run with 95% intervals of its measures, by the exact-family bootstrap."""
    from nclue_metric.intervals import intervals

    found: dict[str, list[float]] = {}
    for at_k in scored.scores.values():
        found.update(intervals(opened.judgments, at_k, resamples, seed))
    drawn = {"resamples": resamples, "seed": seed}
    return replace(scored, conditions={**scored.conditions, **drawn}, intervals=found)


def exit_code(opened: CheckedRuns, *, strict: bool) -> ExitCode:
    """FAILED where a query has no ranking and ``strict`` asks for all of them."""
    incomplete = strict and any(run.missing for run in opened.runs)
    return ExitCode.FAILED if incomplete else ExitCode.OK
