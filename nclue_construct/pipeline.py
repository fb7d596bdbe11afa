"""All steps from page texts to a release, each with its file; what is there is not done again.

    mine     pages        -> mine.jsonl       phrases with page, character span and route
    cluster  mine         -> cluster.jsonl    conditions with all their wordings
    search   pages        -> search.jsonl     where every condition stands, on all pages
    gate     search       -> gate.jsonl       KEEP, SPLIT or REJECT, with the rule or the judge
                             kept.jsonl       the conditions that may be asked for
    compose  kept         -> compose.jsonl    conjunctions with golds and subsets
    verify   compose      -> verify.jsonl     each item read again on its pages
    select   verify       -> select.jsonl     the queries
    emit     select       -> release/

The files hold words of the documents and stay on the user's machine; only ``release/`` is meant
to be passed on.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nclue_construct.cluster import CONDITIONS_FILE, Condition, cluster_facts
from nclue_construct.compose import Candidate, compose
from nclue_construct.config import ConstructConfig
from nclue_construct.emit import make_collection, make_qrels, make_queries
from nclue_construct.gate import Decision, GateContext, gate_context, judge_condition
from nclue_construct.mine import Fact, mine_page
from nclue_construct.search import Searched, Searcher
from nclue_construct.select import select
from nclue_construct.surface import MAX_PHRASE_CHARS, squeeze
from nclue_construct.verify import (
    BareDocument,
    bare_document,
    doubtful_absences,
    verify_candidates,
)
from nclue_construct.zones import ZonedPage, zone_document
from nclue_core.errors import InputError, NClueError, UsageError
from nclue_core.files import sha256_file, write_text
from nclue_core.jsonl import Row, dump_json, dump_line, read_jsonl, write_jsonl
from nclue_core.pages import read_document

if TYPE_CHECKING:
    from nclue_construct.llm_judge import LlmJudge
    from nclue_core.schema import CorpusDocument
    from nclue_dataset.release import Collection

STEPS = ("mine", "cluster", "search", "gate", "compose", "verify", "select", "emit")
_VERSION = 7  # of the steps' files: a change of the results invalidates them
Say = Callable[[str], None]


@dataclass(frozen=True)
class Step:
    """What a step reads and writes."""

    name: str
    inputs: tuple[str, ...]  # files of earlier steps
    outputs: tuple[str, ...]
    settings: str = ""  # the part of the configuration that it looks at


_PLAN = (
    Step("mine", (), ("mine.jsonl",)),
    Step("cluster", ("mine.jsonl",), ("cluster.jsonl",)),
    Step("search", ("cluster.jsonl",), ("search.jsonl",)),
    Step("gate", ("search.jsonl",), ("gate.jsonl", "kept.jsonl"), "gate"),
    Step("compose", ("kept.jsonl",), ("compose.jsonl",), "compose"),
    Step("verify", ("compose.jsonl", "kept.jsonl"), ("verify.jsonl",)),
    Step("select", ("compose.jsonl", "verify.jsonl"), ("select.jsonl",), "select"),
)


class Construction:
    """A benchmark under construction.

    Args:
        pages: A folder ``ocr_<engine>`` of page records.
        corpus: The documents to use, in any order. Documents without page texts, or with too
            many unreadable pages, are left out.
        out: Folder of the steps' files.
        config: Settings.
        judge: An LLM judge; None for the rules alone.
        say: Receives a line of progress per step.
    """

    def __init__(
        self,
        pages: Path,
        corpus: Sequence[CorpusDocument],
        out: Path,
        config: ConstructConfig,
        judge: LlmJudge | None = None,
        say: Say = lambda line: None,
    ) -> None:
        self.pages_folder = pages
        self.corpus = {document.doc_id: document for document in corpus}
        self.out = out
        self.config = config
        self.judge = judge
        self.say = say

    @cached_property
    def documents(self) -> dict[str, list[ZonedPage]]:
        """Pages of the documents used, by doc_id, in order."""
        chosen, left = {}, []
        for doc_id in sorted(self.corpus):
            pages = list(zone_document(read_document(self.pages_folder, doc_id)))
            if pages and self._is_readable(pages):
                chosen[doc_id] = pages
            else:
                silent = sum(1 for page in pages if not page.is_readable)
                left.append(f"{doc_id} ({silent} of {len(pages)})" if pages else doc_id)
        if not chosen:
            why = "no document of the corpus has page texts here"
            if any("(" in item for item in left):
                why = f"every document has too many pages without text, as {left[0]}; OCR helps"
            raise InputError(why, path=self.pages_folder)
        self.say(f"{len(chosen)} documents, {len(left)} left out (no text, or unreadable pages)")
        if left:
            more = f" and {len(left) - 5} more" if len(left) > 5 else ""
            self.say(
                f"left out, unreadable pages in brackets: {', '.join(left[:5])}{more}; OCR helps"
            )
        return chosen

    def _is_readable(self, pages: Sequence[ZonedPage]) -> bool:
        silent = sum(1 for page in pages if not page.is_readable)
        limit = min(self.config.max_unreadable_pages, self.config.max_unreadable_share * len(pages))
        return silent <= limit

    @cached_property
    def source_of(self) -> dict[str, str]:
        """Source of each document used."""
        return {doc_id: self.corpus[doc_id].source for doc_id in self.documents}

    def run(self, steps: Sequence[str] = STEPS) -> None:
        """Do the steps named, in their order; those whose inputs haven't changed are skipped.

        Raises:
            UsageError: An unknown step, or one whose inputs are not there yet.
        """
        unknown = [step for step in steps if step not in STEPS]
        if unknown:
            raise UsageError(f"there is no step {unknown[0]!r}; there are {', '.join(STEPS)}")
        for step in _PLAN:
            if step.name in steps:
                self._run_step(step)
        if "emit" in steps:
            self.emit()

    def _run_step(self, step: Step) -> None:
        for name in step.inputs:
            if not (self.out / name).is_file():
                raise UsageError(f"the step {step.name} needs {name}: run the earlier steps first")
        key = self._key(step)
        if self._is_done(step, key):
            self.say(f"{step.name}: unchanged")
            return
        getattr(self, f"_{step.name}")()
        self._mark(step, key)

    def _key(self, step: Step) -> str:
        """Fingerprint of all that a step depends on."""
        settings = asdict(getattr(self.config, step.settings)) if step.settings else {}
        known: dict[str, Any] = {
            "version": _VERSION,
            "step": step.name,
            "settings": settings,
            "inputs": [sha256_file(self.out / name) for name in step.inputs],
        }
        if step.name in ("mine", "search", "gate", "verify"):
            known["pages"] = self._pages_fingerprint
        if step.name in ("gate", "select"):
            known["sources"] = self.source_of
        if step.name in ("gate", "verify") and self.judge is not None:
            known["judge"] = self.judge.identity
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()

    @cached_property
    def _pages_fingerprint(self) -> str:
        digest = hashlib.sha256()
        for doc_id, pages in self.documents.items():
            for page in pages:
                digest.update(f"{doc_id}\0{page.page}\0{page.body}\0{page.aside}\0".encode())
        return digest.hexdigest()

    def _state(self) -> dict[str, Any]:
        path = self.out / "steps.json"
        if not path.is_file():
            return {}
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as err:
            raise InputError(f"not JSON: {err}; delete it to start again", path=path) from None
        return value if isinstance(value, dict) else {}

    def _is_done(self, step: Step, key: str) -> bool:
        state = self._state().get(step.name, {})
        files = state.get("files", {})
        return state.get("key") == key and all(
            (self.out / name).is_file() and files.get(name) == sha256_file(self.out / name)
            for name in step.outputs
        )

    def _mark(self, step: Step, key: str) -> None:
        files = {name: sha256_file(self.out / name) for name in step.outputs}
        state = {**self._state(), step.name: {"key": key, "files": files}}
        write_text(self.out / "steps.json", dump_json(state) + "\n")

    def _mine(self) -> None:
        facts = (
            fact._asdict()
            for pages in self.documents.values()
            for page in pages
            for fact in mine_page(page)
        )
        count = write_jsonl(self.out / "mine.jsonl", facts)
        self.say(f"mine: {count:,} phrases")

    def _cluster(self) -> None:
        facts = [Fact(**row.value) for row in read_jsonl(self.out / "mine.jsonl")]
        conditions = [
            condition
            for condition in cluster_facts(facts)
            if max(len(squeeze(surface)) for surface in condition.surfaces) <= MAX_PHRASE_CHARS
        ]
        write_jsonl(self.out / "cluster.jsonl", (item.to_json() for item in conditions))
        self.say(f"cluster: {len(conditions):,} conditions")

    def _search(self) -> None:
        rows = read_jsonl(self.out / "cluster.jsonl")
        searcher = Searcher([Condition.from_json(row.value) for row in rows])
        found = searcher.search(self.documents.values())
        write_jsonl(self.out / "search.jsonl", (item.to_json() for item in found))
        self.say(f"search: {sum(len(item.documents) for item in found):,} occurrences in documents")

    def _gate(self) -> None:
        found = self._read_searched("search.jsonl")
        context = gate_context(found, self.source_of, self.config.gate)
        decisions: list[Decision] = []
        kept: list[Searched] = []
        by_rules = [self._without_near_miss(judge_condition(item, context), item) for item in found]
        if self.judge is not None:
            self.judge.pace.begin("gate", sum(item.verdict == "KEEP" for item in by_rules))
        for item, decision in zip(found, by_rules, strict=True):
            if decision.verdict == "KEEP" and self.judge is not None:
                decision, parts = self.judge.judge_condition(item, self.documents)
                if decision.verdict == "SPLIT":
                    kept += self._search_parts(parts, context)
            if decision.verdict == "KEEP":
                kept.append(item)
            decisions.append(decision)
        write_jsonl(self.out / "gate.jsonl", (decision.to_json() for decision in decisions))
        write_jsonl(self.out / "kept.jsonl", (item.to_json() for item in kept))
        self._say_pace()
        self.say(f"gate: {len(kept):,} of {len(found):,} conditions kept")

    def _say_pace(self) -> None:
        if self.judge is not None:
            self.say(self.judge.pace.text())

    def _without_near_miss(self, decision: Decision, item: Searched) -> Decision:
        if decision.verdict != "KEEP":
            return decision
        close = next(doubtful_absences(item, self._bare.values()), None)
        if close is None:
            return decision
        return Decision(decision.name, "SPLIT", "near_miss", f"may stand in {close} in other words")

    @cached_property
    def _bare(self) -> dict[str, BareDocument]:
        return {doc_id: bare_document(pages) for doc_id, pages in self.documents.items()}

    def _search_parts(self, parts: Sequence[Condition], context: GateContext) -> Iterator[Searched]:
        """The conditions into which a judge split one; they must pass the rules themselves."""
        for item in Searcher(parts).search(self.documents.values()) if parts else ():
            decision = self._without_near_miss(judge_condition(item, context), item)
            if decision.verdict == "KEEP":
                yield item

    def _compose(self) -> None:
        candidates = compose(self.read_kept(), self.config.compose)
        write_jsonl(self.out / "compose.jsonl", (item.to_json() for item in candidates))
        self.say(f"compose: {len(candidates):,} conjunctions")

    def _verify(self) -> None:
        candidates = self._read_candidates("compose.jsonl")
        found = {item.condition.name: item for item in self.read_kept()}
        results = verify_candidates(candidates, found, self._bare)
        if self.judge is not None:
            results = self.judge.verify(candidates, results, found, self.documents)
            self._say_pace()
        write_jsonl(self.out / "verify.jsonl", (item.to_json() for item in results))
        self.say(f"verify: {sum(item.passed for item in results):,} of {len(results):,} passed")

    def _select(self) -> None:
        candidates = self._read_candidates("compose.jsonl")
        passed = [row.value["passed"] for row in read_jsonl(self.out / "verify.jsonl")]
        good = [item for item, is_good in zip(candidates, passed, strict=True) if is_good]
        chosen = select(good, self.source_of, self.config.select)
        write_jsonl(self.out / "select.jsonl", (item.to_json() for item in chosen))
        self.say(f"select: {len(chosen):,} queries")

    def collection(self) -> Collection:
        """The benchmark in memory, without rankings.

        Raises:
            NClueError: There is no query.
        """
        chosen = self._read_candidates("select.jsonl")
        if not chosen:
            raise NClueError(self._why_empty())
        found = {item.condition.name: item for item in self.read_kept()}
        queries = make_queries(chosen, self.config.name, self.config.seed)
        corpus = [self.corpus[doc_id] for doc_id in sorted(self.documents)]
        return make_collection(self.config.name, queries, make_qrels(queries, found), corpus)

    def _why_empty(self) -> str:
        """Where the queries were lost: counts of the steps, and the commonest reasons."""
        kept = sum(1 for _ in read_jsonl(self.out / "kept.jsonl"))
        rules = Counter(row["rule"] for row in rejected(r.value for r in self._rows("gate.jsonl")))
        reasons = Counter(row.value["reason"] for row in self._rows("verify.jsonl"))
        n_items, n_passed = sum(reasons.values()), reasons.pop("", 0)
        common = ", ".join(f"{rule} {count:,}" for rule, count in rules.most_common(4))
        text = f"no query came out, so no release is written: {len(self.documents):,} documents, "
        text += f"{kept:,} conditions kept (rejected: {common or 'none'}), "
        text += f"{n_passed:,} of {n_items:,} conjunctions verified"
        if reasons and not n_passed:
            text += f" (for example: {reasons.most_common(1)[0][0]})"
        if (self.out / "release").is_dir():
            text += f". {self.out / 'release'} is of an earlier run"
        return text + ". More documents help most; --rejects lists what the gate dropped"

    def _rows(self, name: str) -> list[Row]:
        return list(read_jsonl(self.out / name))

    def emit(self) -> Path:
        """Write ``release/``."""
        from nclue_dataset.collection_writer import write_checksums, write_release

        release = self.out / "release"
        collection = self.collection()
        write_release(release, {self.config.name: collection}, self.manifest())
        self.write_conditions(release)
        write_checksums(release)
        self.say(f"emit: {release}")
        return release

    def write_conditions(self, release: Path) -> None:
        """Add ``conditions.json``: the wordings that count, for each condition asked for."""
        asked = {name for item in self._read_candidates("select.jsonl") for name in item.conditions}
        rows = (item.condition for item in self.read_kept() if item.condition.name in asked)
        lines = [dump_line({row.name: row.wordings_json()})[1:-1] for row in rows]
        write_text(release / CONDITIONS_FILE, "{\n" + ",\n".join(lines) + "\n}\n")

    def manifest(self) -> dict[str, Any]:
        """What the release says about itself."""
        gate = "rules" if self.judge is None else f"rules, then {self.judge.identity}"
        return {
            "name": self.config.name,
            "version": self.config.version,
            "made_with": "nclue construct",
            "gate": gate,
            "seed": self.config.seed,
            **({"license": self.config.license} if self.config.license else {}),
        }

    def read_kept(self) -> list[Searched]:
        """The conditions that may be asked for, and where they stand."""
        return self._read_searched("kept.jsonl")

    def _read_searched(self, name: str) -> list[Searched]:
        return [Searched.from_json(row.value) for row in read_jsonl(self.out / name)]

    def _read_candidates(self, name: str) -> list[Candidate]:
        return [Candidate.from_json(row.value) for row in read_jsonl(self.out / name)]


def rejected(rows: Iterable[Mapping[str, Any]], rule: str | None = None) -> list[dict[str, Any]]:
    """The gate's rejects (all, or of one rule), for listing."""
    return [
        dict(row) for row in rows if row["verdict"] != "KEEP" and rule in (None, row["rule"])
    ]  # fmt: skip
