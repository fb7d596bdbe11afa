"""Runs for ``nclue stats``: scored on one collection, by the code of ``nclue score``."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nclue_cli.options import open_collection
from nclue_cli.output import tell
from nclue_core.errors import InputError, UsageError, require
from nclue_dataset.scoring import Rules, ScoredRun, open_runs, score_run
from nclue_metric import Judgments
from nclue_metric.scoring import defined_mean
from nclue_stats.blocks import Block
from nclue_stats.inputs import FloatArray

BLOCK_FIELDS = {"name", "base", "variants", "display"}


@dataclass(frozen=True)
class Scored:
    """Runs at one cutoff."""

    names: list[str]
    runs: list[ScoredRun]
    judgments: Judgments
    n_pages: dict[str, int | None]  # per document of the corpus
    k: int

    @property
    def conditions(self) -> dict[str, Any]:
        """Under which the numbers hold."""
        return dict(self.runs[0].conditions)

    def values(self, row: int, measure: str) -> FloatArray:
        """(Q,) a measure of one run per query, as a fraction; NaN where undefined."""
        found: FloatArray = getattr(self.runs[row].scores[self.k], measure)
        return found

    def mean(self, row: int, measure: str) -> float:
        """In percent, over the queries where it is defined."""
        return 100 * defined_mean(self.values(row, measure))


def score_all(
    runs: Sequence[str], collection: str | None, release: str | None, rules: Rules
) -> Scored:
    """Score runs as `nclue score` does, and say what is odd; no run: all of the release."""
    found = open_collection(collection, release)
    names = list(runs) or sorted({x.system for x in found.rankings if x.form == rules.form})
    if not names:
        raise UsageError(f"{found.name} holds no rankings in the form {rules.form}: name runs")
    opened = open_runs(found, names, rules)
    tell(opened.runs)
    scored = [score_run(opened, run) for run in opened.runs]
    n_pages = {document.doc_id: document.n_pages for document in found.corpus}
    labels = [run.name for run in opened.runs]
    return Scored(labels, scored, opened.judgments, n_pages, rules.ks[0])


def score_blocks(
    blocks: Sequence[Mapping[str, Any]],
    measure: str,
    collection: str | None,
    release: str | None,
    rules: Rules,
) -> tuple[list[Block], Scored]:
    """Score every run of the blocks once; differences per query where the measure is defined."""
    names = list(dict.fromkeys(n for block in blocks for n in (block["base"], *block["variants"])))
    scored = score_all(names, collection, release, rules)
    values = {name: scored.values(row, measure) for row, name in enumerate(names)}
    if any(np.isnan(column).any() for column in values.values()):
        raise InputError(
            f"{measure} is undefined for queries without golds: blocks need a measure that every "
            "query has (score or hit)"
        )
    return [
        Block(
            block["name"],
            block["base"],
            tuple(block["variants"]),
            np.stack([values[name] - values[block["base"]] for name in block["variants"]], axis=1),
            block.get("display"),
        )
        for block in blocks
    ], scored


def read_blocks(path: Path) -> list[dict[str, Any]]:
    """The blocks of a TOML or JSON file: ``block``, a list of tables."""
    listed = _read(path).get("block")
    if not isinstance(listed, list) or not listed:
        raise InputError("expected a list called block ([[block]] in TOML)", path=path)
    for place, block in enumerate(listed, 1):
        problem = _block_problem(block)
        if problem:
            raise InputError(f"block {place}: {problem}", path=path)
    return listed


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".json":
            value = json.loads(text)
        else:
            value = _toml().loads(text)
    except (OSError, ValueError, RecursionError) as err:  # TOMLDecodeError is a ValueError
        raise InputError(f"neither TOML nor (as .json) JSON: {err}", path=path) from err
    if not isinstance(value, dict):
        raise InputError(f"expected an object, found {type(value).__name__}", path=path)
    return value


def _toml() -> Any:
    name = "tomllib" if sys.version_info >= (3, 11) else "tomli"
    return require(name, extra="construct", purpose="Reading a TOML file")


def _block_problem(block: object) -> str | None:
    if not isinstance(block, dict):
        return f"expected a table, found {block!r:.60}"
    unknown = set(block) - BLOCK_FIELDS
    if unknown:
        return f"unknown field {sorted(unknown)[0]!r}; there are {', '.join(sorted(BLOCK_FIELDS))}"
    for field in ("name", "base"):
        if not isinstance(block.get(field), str):
            return f"{field} is {block.get(field)!r}, expected a text"
    variants = block.get("variants")
    if not isinstance(variants, list) or not variants:
        return f"variants is {variants!r}, expected a list of runs"
    if not all(isinstance(name, str) for name in variants):
        return f"variants is {variants!r}, expected texts"
    if not isinstance(block.get("display", ""), str):
        return f"display is {block['display']!r}, expected one of the variants"
    return None
