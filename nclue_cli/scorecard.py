"""The scorecard of many rankings: as rows, as text with bars, as one HTML page."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from nclue_core.schema import FORMS

BAR_WIDTH = 40
GOLD, SUBSET, MISS = "█", "▒", "·"


@dataclass(frozen=True)
class ScorecardRow:
    """One system in one query form; percentages."""

    system: str
    form: str
    score: float
    hit: float
    gold_ndcg: float
    miss: float
    subset_first: float
    gold_first: float
    more: dict[str, float] = field(default_factory=dict)  # other measures, by their titles


@dataclass(frozen=True)
class Scorecard:
    """The scores of all rankings of a collection."""

    collection: str
    n_queries: int
    n_documents: int
    signature: str
    rows: tuple[ScorecardRow, ...]

    def of_form(self, form: str) -> list[ScorecardRow]:
        """The rows of a form, best n-Clue Score first (ties by name)."""
        rows = [row for row in self.rows if row.form == form]
        return sorted(rows, key=lambda row: (-row.score, row.system))

    def score(self, system: str, form: str) -> float | None:
        """n-Clue Score of a system in a form, None if it has no ranking there."""
        return next((r.score for r in self.rows if (r.system, r.form) == (system, form)), None)


def row_of(system: str, form: str, result: dict[str, Any], k: int = 10) -> ScorecardRow:
    """A row from what ``evaluate``'s ``compute`` returns."""
    from nclue_metric.measures import shown_measures

    names = ("n_clue_score", "gold_hit", "gold_ndcg", "miss", "subset_first", "gold_first")
    more = {
        measure.title: float(result[f"{measure.name}@{k}"])
        for measure in shown_measures()
        if measure.on_card and measure.name not in names
    }
    score, hit, gold_ndcg, *outcomes = (float(result[f"{name}@{k}"]) for name in names)
    miss, subset_first, gold_first = outcomes
    return ScorecardRow(system, form, score, hit, gold_ndcg, miss, subset_first, gold_first, more)


def bar_parts(row: ScorecardRow, width: int = BAR_WIDTH) -> tuple[int, int, int]:
    """Widths of gold-first, subset-first and miss, that add up to ``width``."""
    gold = round(row.gold_first / 100 * width)
    subset = round((row.gold_first + row.subset_first) / 100 * width) - gold
    return gold, subset, width - gold - subset


def as_text(card: Scorecard) -> str:
    """The raw form with bars, and the Score of the other forms beside it."""
    other = [form for form in FORMS if form != "raw" and card.of_form(form)]
    rows = card.of_form("raw")
    width = max((len(row.system) for row in rows), default=6)
    titles = list(rows[0].more) if rows else []
    more = "".join(f"{title}  " for title in titles)
    head = (
        f"{'system':<{width}}  Score   Hit  NDCG  {more}{'outcome of the queries':<{BAR_WIDTH}}  "
    )
    lines = [
        f"{card.collection}: {card.n_queries} queries, {card.n_documents} documents; percent "
        "at 10, raw form; right: Score in the other forms",
        "",
        (head + "  ".join(f"{form:>8}" for form in other)).rstrip(),
    ]
    for row in rows:
        gold, subset, miss = bar_parts(row)
        bar = GOLD * gold + SUBSET * subset + MISS * miss
        scores = "  ".join(_cell(card.score(row.system, form)) for form in other)
        others = "".join(f"{value:{len(title)}.1f}  " for title, value in row.more.items())
        lines.append(
            f"{row.system:<{width}}  {row.score:5.1f} {row.hit:5.1f} {row.gold_ndcg:5.1f}  "
            f"{others}{bar}  {scores}".rstrip()
        )
    legend = f"{GOLD} gold first   {SUBSET} subset first   {MISS} miss"
    return "\n".join([*lines, "", legend, card.signature])


def _cell(value: float | None) -> str:
    return " " * 8 if value is None else f"{value:8.1f}"


def as_html(card: Scorecard, next_commands: Sequence[tuple[str, str]]) -> str:
    """One self-contained page: no script, no font, nothing fetched."""
    sections = "".join(_html_form(card, form) for form in FORMS if card.of_form(form))
    commands = "".join(
        f"<li>{html.escape(why)}<pre>{html.escape(line)}</pre></li>" for why, line in next_commands
    )
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>n-Clue scorecard: {html.escape(card.collection)}</title>
<style>{_CSS}</style>
<h1>n-Clue scorecard: {html.escape(card.collection)}</h1>
<p>{card.n_queries} queries over {card.n_documents} documents, percent at rank 10. A query is
<b class="gold">gold first</b> when a document with all conditions comes before every document
with only some, <b class="subset">subset first</b> when such a document is found but comes
later, and a <b class="miss">miss</b> when none is found.</p>
{sections}
<h2>Next</h2>
<ol>{commands}</ol>
<footer>{html.escape(card.signature)}</footer>
</html>
"""


def _html_form(card: Scorecard, form: str) -> str:
    rows = "".join(_html_row(row) for row in card.of_form(form))
    more = "".join(f"<th>{html.escape(title)}" for title in card.of_form(form)[0].more)
    return (
        f"<h2>Query form {html.escape(form)}</h2>"
        '<div class="wide"><table><thead><tr><th>system<th>Score<th>Hit<th>Gold-NDCG'
        f"{more}<th>gold first / subset first / miss</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _html_row(row: ScorecardRow) -> str:
    parts = (("gold", row.gold_first), ("subset", row.subset_first), ("miss", row.miss))
    bar = "".join(
        f'<span class="{name}" style="width:{share:.2f}%" title="{share:.1f} %"></span>'
        for name, share in parts
    )
    label = ", ".join(f"{name} {share:.1f} percent" for name, share in parts)
    more = "".join(f"<td>{value:.1f}" for value in row.more.values())
    return (
        f"<tr><td><code>{html.escape(row.system)}</code><td>{row.score:.1f}<td>{row.hit:.1f}"
        f"<td>{row.gold_ndcg:.1f}{more}"
        f'<td><div class="bar" role="img" aria-label="{label}">{bar}</div>'
    )


_CSS = """
:root { color-scheme: light dark; --gold: #b8860b; --subset: #6a8caf; --miss: #8883; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem }
.wide { overflow-x: auto } table { border-collapse: collapse; width: 100% }
th, td { text-align: right; padding: .2rem .6rem; border-bottom: 1px solid #8884 }
th:first-child, td:first-child, th:last-child { text-align: left } td:last-child { width: 45% }
.bar { display: flex; height: 1rem; min-width: 14rem; background: var(--miss) }
span.gold { background: var(--gold) } span.subset { background: var(--subset) }
b.gold { border-bottom: 3px solid var(--gold) } b.subset { border-bottom: 3px solid var(--subset) }
b.miss { border-bottom: 3px solid var(--miss) }
pre { background: #8882; padding: .5rem; overflow-x: auto } footer { color: #888; font-size: .8rem }
"""
