"""Retrieval systems of the study, by name."""

from nclue_systems.corpus import CorpusIndex, build_index
from nclue_systems.facts import Facts, facts_from_qrels, read_facts
from nclue_systems.fusion import reciprocal_rank_fusion
from nclue_systems.index_cache import load_index
from nclue_systems.registry import (
    CONTROLS,
    GROUPS,
    SYSTEMS,
    SystemSpec,
    expand_names,
    find_system,
)
from nclue_systems.systems import run_system

__all__ = [
    "CONTROLS",
    "GROUPS",
    "SYSTEMS",
    "CorpusIndex",
    "Facts",
    "SystemSpec",
    "build_index",
    "expand_names",
    "facts_from_qrels",
    "find_system",
    "load_index",
    "read_facts",
    "reciprocal_rank_fusion",
    "run_system",
]
