"""n-Clue as an `evaluate` module: ``evaluate.load("n_clue").compute(...)``.

A thin adapter; the mathematics is in ``scoring.py`` beside it. One import per line: the loader
of `evaluate` reads these lines, and copies just the neighbours that this file names.
"""

from typing import Any

import datasets
import evaluate
import numpy as np

from .columns import RunFormatError
from .conditions import VERSION, signature
from .fields import Fields
from .inputs import SHAPE, as_list, check_batch, check_options
from .intervals import intervals
from .measures import per_query_columns, summarize
from .parquet import columns_of
from .qrels import parse_qrels
from .rows import are_plain_ids
from .runs import parse_run, read_run
from .scoring import Judgments, ScoringError, score_rankings
from .support import summarize_support, support_scores
from .trec import read_columns

# Named so that `evaluate` copies their files, too.
__all__ = [
    "Fields", "NClue", "RunFormatError", "are_plain_ids", "columns_of", "parse_qrels", "parse_run",
    "read_columns", "read_run",
]  # fmt: skip

_CITATION = """\
@article{cha2026nclue,
  title  = {Do Current Retrievers Cover All the Evidence? A Controlled Study of Conjunctive
            Cross-Page Retrieval},
  author = {Cha, Sungguk and Kim, DongWook and Kim, Mintae and Han, Youngsub and Jeon, Byoung-Ki
            and Lee, Sangyeob},
  year   = {2026},
  eprint = {2607.24165},
  archivePrefix = {arXiv}
}
"""

_DESCRIPTION = """\
n-Clue measures whether a retriever puts a document that satisfies all n conditions of a query
(gold) before those that satisfy only some of them (subsets).
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: one list of document IDs per query, best first; an empty list is a miss.
    references: one {"doc_ids": [...], "grades": [...], "n_conditions": n} per query; grades are
        the numbers of satisfied conditions, n is gold. Documents that are not named have grade 0.
    k: the cutoff, or a list of cutoffs (default 10).
    gain: "linear" (default, as trec_eval) or "exponential", for graded NDCG.
    per_query: also return every score per query (default False).
    query_ids: names of the queries, for messages and the result (default their positions).
    n_resamples: replicates of the exact-family bootstrap; with 1000 each of Score, Hit and
        Gold-NDCG also has its 95% interval as NAME@k_ci95 (default 0: none). Needs the package
        nclue, not only this module.
    seed: of the bootstrap (default 0).
    surfaced_pages: for Gold+Support, per query {doc_id: [(page, score), ...]} as the system found.
    evidence: with surfaced_pages, per query {doc_id: [pages of each condition, ...]} of the golds.
    m: with surfaced_pages, how many pages count per document, or a list of numbers (default 3).
Returns:
    A dict of percentages: n_clue_score@k, gold_hit@k, gold_ndcg@k, graded_ndcg@k, the outcome
    shares miss@k, subset_first@k and gold_first@k; n_queries, the denominator; how many queries
    have an undefined NDCG; with surfaced_pages gold_support@m and the page coverages among queries
    with a gold hit; n_empty, the queries without results (they count as misses); and
    signature, the conditions of the result.
Examples:
    >>> import evaluate
    >>> n_clue = evaluate.load("n_clue")
    >>> reference = {"doc_ids": ["gold", "subset"], "grades": [2, 1], "n_conditions": 2}
    >>> result = n_clue.compute(predictions=[["other", "gold", "subset"], ["subset", "gold"]],
    ...                         references=[reference, reference])
    >>> result["n_clue_score@10"], result["gold_hit@10"]
    (50.0, 100.0)
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class NClue(evaluate.Metric):
    """The n-Clue metrics."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {
                    "predictions": datasets.List(datasets.Value("string")),
                    "references": {
                        "doc_ids": datasets.List(datasets.Value("string")),
                        "grades": datasets.List(datasets.Value("int32")),
                        "n_conditions": datasets.Value("int32"),
                    },
                }
            ),
            reference_urls=["https://arxiv.org/abs/2607.24165"],
        )

    # What was added in this process. `evaluate` would write it to files through Arrow, and leave
    # them, with their locks, wherever something fails; it needs them for several processes only.
    _added: tuple[list[Any], list[Any]] | None = None

    def add_batch(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> None:
        """Add rankings and references, checked before Arrow could cast them."""
        if kwargs:
            raise ScoringError(f"{next(iter(kwargs))!r} is no input: {SHAPE}")
        check_batch(predictions, references)
        if self.num_process > 1:
            super().add_batch(predictions=predictions, references=references)
            return
        added = self._added = self._added or ([], [])
        added[0].extend(map(list, predictions))  # copies: the caller may go on with its lists
        added[1].extend({key: _copied(value) for key, value in r.items()} for r in references)

    def add(self, *, prediction: Any = None, reference: Any = None, **kwargs: Any) -> None:
        """Add one ranking and its reference."""
        self.add_batch(predictions=[prediction], references=[reference], **kwargs)

    def compute(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> Any:
        """Scores of what is given and what was added; see the inputs of the module.

        Raises:
            ScoringError: An option that does not exist or makes no sense, before anything is
                read; or what is wrong with a ranking or reference. No file is left behind.
        """
        check_options(kwargs)
        if self.num_process > 1:
            return super().compute(predictions=predictions, references=references, **kwargs)
        if self._added is not None:
            if predictions is not None or references is not None:
                self.add_batch(predictions=predictions, references=references)
            (predictions, references), self._added = self._added, None
        else:
            check_batch(predictions, references)
            predictions = [_copied(ranking) for ranking in predictions]
        return self._compute(predictions, list(references), **kwargs)

    def _compute(
        self,
        predictions: Any,
        references: Any,
        k: Any = 10,
        gain: str = "linear",
        per_query: bool = False,
        query_ids: Any = None,
        n_resamples: int = 0,
        seed: int = 0,
        surfaced_pages: Any = None,
        evidence: Any = None,
        m: Any = 3,
    ) -> dict[str, Any]:
        judgments = judgments_of(references, query_ids)
        ks = as_list(k)
        scores = score_rankings(judgments, predictions, ks, gain, checked=True)
        result: dict[str, Any] = {}
        for at_k in scores.values():
            result.update(summarize(at_k))
            if n_resamples:
                result.update(intervals(judgments, at_k, n_resamples, seed))
        if surfaced_pages is not None:
            support = support_scores(
                judgments, predictions, surfaced_pages, evidence, k=max(ks), ms=as_list(m)
            )
            for at_m in support.values():
                result.update(summarize_support(at_m))
        result["n_empty"] = sum(1 for ranking in predictions if not ranking)
        drawn = {"resamples": n_resamples, "seed": seed} if n_resamples else {}
        result["signature"] = signature(conditions(judgments, ks, gain) | drawn)
        if per_query:
            result["query_ids"] = list(judgments.query_ids)
            result["per_query"] = {
                name: values
                for at_k in scores.values()
                for name, values in per_query_columns(at_k).items()
            }
        return result


def _copied(value: Any) -> Any:
    """A list of a sequence that is none (an array, a tuple); anything else as it is."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return list(value) if isinstance(value, (list, tuple)) else value


def judgments_of(references: Any, query_ids: Any = None) -> Judgments:
    """Judgments from the references of a batch (queries are named by position by default)."""
    if len(references) == 0:
        raise ScoringError("no queries: predictions and references are empty")
    if query_ids is None:
        query_ids = [str(index) for index in range(len(references))]
    return Judgments(
        tuple(query_ids),
        tuple(dict(zip(ref["doc_ids"], ref["grades"])) for ref in references),
        np.array([ref["n_conditions"] for ref in references], dtype=np.int64),
    )


def conditions(judgments: Judgments, ks: list[int], gain: str) -> dict[str, Any]:
    """What a result depends on, for its signature."""
    return {
        "nclue": VERSION,
        "k": ks,
        "gain": gain,
        "ties": "input",
        "queries": len(judgments),
        "judgments": judgments.content_hash[:12],
    }
