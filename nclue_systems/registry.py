"""The systems, as data: representation x what is asked x composition x aggregation x fusion.

A new system is a row here. A new kind of scorer (a dense model, page images) is one function
in `nclue_systems.systems.SCORERS`, and rows that name it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from nclue_core.errors import UsageError
from nclue_systems.corpus import Representation

Asked = Literal["text", "parts", "conditions"]
Composition = Literal["joint", "min", "product", "hmean", "sdr"]
Aggregation = Literal["max", "mean_top2", "mean_top3"]
Kind = Literal["retrieval", "prior", "random", "control", "fusion"]


@dataclass(frozen=True)
class SystemSpec:
    """What a system is."""

    name: str
    definition: str  # one line, as `nclue run --list` prints it
    kind: Kind = "retrieval"
    scorer: str = "bm25"  # key of systems.SCORERS; scores units for parts of a query
    representation: Representation = "chunk"
    asked: Asked = "text"  # the form's text; what it quotes (else all); the conditions as stored
    composition: Composition = "joint"  # one score for all that is asked, or one per condition
    aggregation: Aggregation = "max"  # of a document's units
    all_terms_first: bool = False  # documents with every query word before all others
    k1: float = 1.5
    b: float = 0.75
    fused: tuple[str, ...] = ()  # names of the systems whose runs are fused
    inferred: bool = False  # which systems a published name fuses is our reading

    @property
    def file_stem(self) -> str:
        """Name of its run file: the name, with ``rrf(a,b)`` as ``rrf_a_b``."""
        return self.name.replace("(", "_").replace(",", "_").replace(")", "")


_DECOMPOSE = SystemSpec("", "", asked="conditions")

LEXICAL = (
    SystemSpec("bm25_and", "BM25, documents that hold every query word first",
               asked="parts", all_terms_first=True),
    SystemSpec("bm25_and_tuned", "bm25_and with k1 = 0.9, b = 0.4",
               asked="parts", all_terms_first=True, k1=0.9, b=0.4),
    SystemSpec("bm25_or", "BM25 of the query text, best chunk"),
    SystemSpec("bm25_condition_text", "BM25 of the conditions' text, best chunk",
               asked="conditions"),
    SystemSpec("bm25_page_aggregated", "BM25 of the query text over pages, best page",
               representation="page"),
    replace(_DECOMPOSE, name="bm25_decompose_min", composition="min",
            definition="BM25 per condition, best chunk each; the lowest of the scores"),
    replace(_DECOMPOSE, name="bm25_decompose_product", composition="product",
            definition="BM25 per condition, best chunk each; the product of the scores"),
    replace(_DECOMPOSE, name="bm25_decompose_hmean", composition="hmean",
            definition="BM25 per condition, best chunk each; the harmonic mean of the scores"),
    replace(_DECOMPOSE, name="bm25_decompose_sdr", composition="sdr", representation="page",
            definition="BM25 per condition over pages; the best sum over distinct pages"),
    SystemSpec("frequency_prior", "Words of the document, whatever the query", kind="prior"),
    SystemSpec("random", "A random order per query, from the seed", kind="random"),
)  # fmt: skip

CONTROLS = (
    SystemSpec("surface_form_and", "Construction facts: every condition in any surface form",
               kind="control"),
    SystemSpec("surface_form_count", "Construction facts: the grade itself", kind="control"),
    SystemSpec("exact_name_and", "Construction facts: every condition by its own name",
               kind="control"),
    SystemSpec("single_page_surface_and", "Construction facts: one page with all conditions",
               kind="control"),
)  # fmt: skip


def _fusion(name: str, *fused: str, inferred: bool = False) -> SystemSpec:
    definition = f"RRF of {', '.join(fused)}"
    return SystemSpec(name, definition, kind="fusion", fused=fused, inferred=inferred)


FUSIONS = (
    _fusion("bm25and_colqwen2.5ptop3", "bm25_and", "colqwen2.5_ptop3"),
    _fusion("bm25and_qwen3vl2b", "bm25_and", "qwen3vl2b"),
    _fusion("bm25and_qwen3emb", "bm25_and", "text_qwen3emb8b", inferred=True),
    _fusion("bm25and_jinav4", "bm25_and", "text_jinav4"),
    _fusion("bm25and_bge_m3", "bm25_and", "text_bge_m3"),
    _fusion("bm25and_e5_large", "bm25_and", "text_e5_large"),
    _fusion("bm25and_gte_large", "bm25_and", "text_gte_large"),
    _fusion("bm25decompose_sdr_colqwen2.5ptop3", "bm25_decompose_sdr", "colqwen2.5_ptop3"),
    _fusion("bm25decompose_sdr_jinav4", "bm25_decompose_sdr", "text_jinav4"),
    _fusion("bm25dec_jinav4_colqwenptop3", "bm25_decompose_sdr", "text_jinav4",
            "colqwen2.5_ptop3", inferred=True),
    _fusion("bm25or_jinav4", "bm25_or", "text_jinav4"),
    _fusion("jinav4_colqwen2.5", "text_jinav4", "colqwen2.5"),
    _fusion("jinav4_colqwen2.5ptop3", "text_jinav4", "colqwen2.5_ptop3"),
    _fusion("jinav4_qwen3vl8b", "text_jinav4", "qwen3vl8b"),
    _fusion("jinav4_qwen3vl2b", "text_jinav4", "qwen3vl2b"),
)  # fmt: skip

SYSTEMS: dict[str, SystemSpec] = {spec.name: spec for spec in (*LEXICAL, *CONTROLS, *FUSIONS)}
GROUPS: dict[str, tuple[SystemSpec, ...]] = {"all": LEXICAL, "controls": CONTROLS}


def find_system(name: str) -> SystemSpec:
    """A system by name, or the fusion that ``rrf(a,b)`` spells (two or more names).

    Raises:
        UsageError: There is no such system, or the fusion is misspelt. The names inside of
            ``rrf(…)`` are not looked up: a run of that name may be given.
    """
    spelt = name.replace(" ", "")
    if spelt in SYSTEMS:
        return SYSTEMS[spelt]
    if not spelt.startswith("rrf("):
        raise UsageError(
            f"no system is called {name!r}; there are {', '.join(SYSTEMS)}, and rrf(a,b) of any two"
        )
    fused = tuple(spelt.removeprefix("rrf(").removesuffix(")").split(","))
    if (
        not spelt.endswith(")")
        or len(fused) < 2
        or not all(fused)
        or set("()/") & set("".join(fused))
    ):
        raise UsageError(f"{name}: expected rrf(a,b) with two or more names of systems")
    return _fusion(spelt, *fused)


def expand_names(names: tuple[str, ...]) -> list[SystemSpec]:
    """The systems of a call, without repeats: names, fusions, groups (``all``, ``controls``)."""
    specs: dict[str, SystemSpec] = {}
    for name in names:
        for spec in GROUPS.get(name) or (find_system(name),):
            specs[spec.name] = spec
    return list(specs.values())
