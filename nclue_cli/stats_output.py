"""What the statistics add to commands: promotion options, and contrasts as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from nclue_dataset.scoring import ScoredRun
    from nclue_stats.compare import Contrast
    from nclue_stats.promotion import Scenario, ScenarioResult
    from nclue_stats.shared_documents import Sensitivity

PROMOTION_DRAWS = 10_000  # of `nclue score`
# Their rates are in nclue_stats.promotion, which is not loaded for --help (a test compares).
PRESET_NAMES = ("crosspage-packet", "sourceshift-packet", "sourceshift-challenge")


def promotion_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--promotion-preset NAME`` and ``--promotion-rate P``, both repeatable."""
    command = click.option(
        "--promotion-rate", "promotion_rates", type=float, multiple=True, metavar="P",
        help="Also with every judged subset in the top k turned gold with probability P, many "
        "times; repeatable.",
    )(command)  # fmt: skip
    return click.option(
        "--promotion-preset", "promotion_presets", type=click.Choice(PRESET_NAMES), multiple=True,
        help="The same at the rate that an audit of the study found; repeatable. See `nclue stats "
        "presets`.",
    )(command)  # fmt: skip


def examples(*lines: str, before: str = "") -> str:
    """An epilog for ``--help`` that keeps its lines."""
    paragraphs = [before.rstrip(), "Examples:\n" + "\n".join(f"  {line}" for line in lines)]
    return "\n\n".join(f"\b\n{text}" for text in paragraphs if text)


def scenarios(presets: Sequence[str], rates: Sequence[float]) -> list[Scenario]:
    """The scenarios of the two options, presets first; a repeated one counts once."""
    from nclue_stats.promotion import Scenario

    found = [*map(Scenario.preset, presets), *map(Scenario.rate, rates)]
    return list({item.name: item for item in found}.values())


def score_promotions(
    scored: Sequence[ScoredRun], chosen: Sequence[Scenario], seed: int
) -> list[dict[str, Any]]:
    """Per run, ``n_clue_score@k_promotions``: its Score in each scenario; recorded as conditions.

    The contrast is with a base that returns nothing, so that it is the Score itself.
    """
    if not chosen:
        return [{} for _ in scored]
    from nclue_stats.promotion import FirstJudged

    found = []
    for item in scored:
        item.conditions.update(seed=seed, draws=PROMOTION_DRAWS)
        at_k = {}
        for k, scores in item.scores.items():
            pair = FirstJudged.nothing(len(scores.score)), FirstJudged.of_scores(scores)
            at_k[f"n_clue_score@{k}_promotions"] = [
                asdict(scenario.apply(*pair, n_draws=PROMOTION_DRAWS, rng=seed))
                for scenario in chosen
            ]
        found.append(at_k)
    return found


def promotion_lines(
    scored: Sequence[ScoredRun], promoted: Sequence[Mapping[str, Any]]
) -> list[str]:
    """One line per run, cutoff and scenario."""
    from nclue_stats.tables import interval, number

    return [
        f"{item.run.name}, k = {k}, {result['name']}: Score {number(result['observed'])}, with "
        f"promotions {number(result['expected'])} expected, 95% of draws in "
        f"{interval(result['low'], result['high'])}"
        for item, at_k in zip(scored, promoted)
        for k in item.scores
        for result in at_k.get(f"n_clue_score@{k}_promotions", ())
    ]


def support_lines(values: dict[str, Any], m: int) -> list[str]:
    """Gold+Support, and the readings of page coverage, of one run at one m."""
    from nclue_stats.tables import number

    def pair(suffix: str) -> str:
        ends = (f"{kind}_page_coverage{suffix}" for kind in ("condition", "all_condition"))
        return " / ".join(number(values[name]) for name in ends)

    return [
        f"Gold+Support@{m} {number(values[f'gold_support@{m}'])}; among {values['n_gold_hit']} "
        f"queries with a gold hit, conditions / all conditions covered: best gold {pair(f'@{m}')}",
        f"other readings (conditions / all): first gold {pair(f'_first_gold@{m}')}, golds pooled "
        f"{pair(f'_pooled@{m}')}, per gold ({values['n_retrieved_golds']}) "
        f"{pair(f'_per_gold@{m}')}, all surfaced pages {pair('_surfaced')}",
    ]


def adjustment_notes(n_variants: int) -> dict[str, str]:
    """What the adjusted p-values of one call are adjusted for."""
    tried = f"the {n_variants} variant{'s' if n_variants > 1 else ''} of this call"
    return {
        "p_block": f"unscaled max-|T| of the Score over {tried}, whole families flipped",
        "p_holm": f"Holm over the p_family of the Score of {tried}; Holm over blocks, as the study "
        "prints it, is `nclue stats blocks`",
    }


def contrasts_text(contrasts: list[Contrast], style: str) -> str:
    """The contrasts as a table for a paper ("markdown", "latex"), or as "text"."""
    from nclue_stats import tables

    if style != "text":
        return {"markdown": tables.as_markdown, "latex": tables.as_latex}[style](contrasts)
    titles = tables.columns(contrasts)
    width = max(map(len, tables.COLUMNS))
    blocks = []
    for row in tables.rows(contrasts):
        lines = [f"  {title:<{width}}  {cell}" for title, cell in zip(titles[1:], row[1:])]
        blocks.append("\n".join([row[0], *lines]))
    sources = [preset_line(result) for result in contrasts[0].promotions if result.source]
    return "\n\n".join([*blocks, *(["\n".join(sources)] if sources else [])])


def preset_line(result: ScenarioResult) -> str:
    """Where an audit's rate comes from."""
    from nclue_stats.tables import interval

    low, high = (100 * end for end in result.probability_ci95)
    return (
        f"{result.name}: {result.promoted} of {result.subsets_read} subsets = "
        f"{100 * result.probability:.1f} % {interval(low, high)} ({result.source})"
    )


def sensitivity_rows(found: Sensitivity) -> list[tuple[str, str]]:
    """Label and text of each line of `nclue stats shared`, for one graph."""
    from nclue_stats.tables import interval, signed

    return [
        ("queries", str(found.n_queries)),
        ("documents", str(found.n_documents)),
        ("components (largest: queries)", f"{found.n_components} ({found.largest_component})"),
        ("mean over queries", signed(found.mean, 2)),
        ("document macro", signed(found.document_macro, 2)),
        ("crossed bootstrap 95%", interval(*found.crossed_ci95, 2)),
        ("leave one document out, range", interval(*found.leave_one_document_out, 2)),
        ("one query per document 95%", interval(*found.one_query_per_document_ci95, 2)),
        ("top documents removed", f"{found.n_removed} ({found.n_tied} more tie)"),
        ("mean without them", signed(found.without_top_documents, 2)),
        ("queries left", str(found.n_queries_left)),
    ]


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as text: the first column to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [f"{row[0]:<{widths[0]}}"]
        cells += [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:])]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
