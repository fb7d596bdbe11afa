"""Contrasts as a table: plain text, Markdown, LaTeX; and how numbers are shown.

A number that rounds to 0 is shown without a minus, and what is undefined as a dash.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from nclue_stats.compare import Contrast, more_measures
from nclue_stats.promotion import ScenarioResult

COLUMNS = (
    "variant - base", "dScore", "95% CI", "p query", "p family", "p block", "p Holm in call",
    "dHit", "dNDCG", "base M/P/G", "variant M/P/G", "common n", "dD", "dD 95% CI", "bound",
    "break-even",
)  # fmt: skip
# [ after the line break of a row would begin its argument.
_LATEX = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}",
          "[": "{[}", "]": "{]}", "<": r"\textless{}", ">": r"\textgreater{}",
          "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
          "\\": r"\textbackslash{}"}  # fmt: skip


def columns(contrasts: Sequence[Contrast]) -> list[str]:
    """The titles of the table: `COLUMNS`, one per other measure and per promotion scenario."""
    more = [f"d {measure.title}" for measure in more_measures()]
    return [*COLUMNS, *more, *(f"if {result.name}" for result in contrasts[0].promotions)]


def rows(contrasts: Sequence[Contrast]) -> list[list[str]]:
    """The cells of the table, a row per contrast in the order of `columns`."""
    return [
        [
            f"{item.variant} - {item.base}",
            signed(item.score.delta),
            interval(item.score.low, item.score.high),
            p_value(item.score.p_query),
            p_value(item.score.p_family),
            p_value(item.p_block),
            p_value(item.p_holm),
            signed(item.hit.delta),
            signed(item.gold_ndcg.delta),
            "/".join(f"{share:.1f}" for share in item.base_outcomes),
            "/".join(f"{share:.1f}" for share in item.variant_outcomes),
            str(item.common_n),
            signed(item.delta_d, 3),
            interval(item.delta_d_low, item.delta_d_high, 3) + _undefined(item),
            signed(item.promotion_bounds[0]),
            item.break_even_note,
            *(signed(delta.delta) for delta in item.more.values()),
            *(scenario(result) for result in item.promotions),
        ]
        for item in contrasts
    ]


def as_markdown(contrasts: Sequence[Contrast]) -> str:
    """A Markdown table."""
    titles = columns(contrasts)
    lines = ["| " + " | ".join(titles) + " |", "| --- |" + " ---: |" * (len(titles) - 1)]
    lines += ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |"
              for row in rows(contrasts)]  # fmt: skip
    return "\n".join(lines)


def as_latex(contrasts: Sequence[Contrast]) -> str:
    """A LaTeX tabular; names are escaped."""
    body = [" & ".join(map(escape_latex, row)) + r" \\" for row in rows(contrasts)]
    titles = columns(contrasts)
    head = " & ".join(map(escape_latex, titles)) + r" \\"
    layout = "l" + "r" * (len(titles) - 1)
    return "\n".join(
        [rf"\begin{{tabular}}{{{layout}}}", r"\hline", head, r"\hline", *body, r"\hline",
         r"\end{tabular}"]
    )  # fmt: skip


def escape_latex(text: str) -> str:
    """Text with the characters escaped that LaTeX reads as commands."""
    return "".join(_LATEX.get(char, char) for char in text)


def signed(value: float, digits: int = 1) -> str:
    """A difference with its sign; what rounds to 0 is +0."""
    return "-" if math.isnan(value) else f"{_rounded(value, digits):+.{digits}f}"


def number(value: float, digits: int = 1) -> str:
    """A number; what rounds to 0 has no minus."""
    return "-" if math.isnan(value) else f"{_rounded(value, digits):.{digits}f}"


def interval(low: float, high: float, digits: int = 1) -> str:
    """An interval in brackets."""
    if math.isnan(low) or math.isnan(high):
        return "-"
    return f"[{number(low, digits)}, {number(high, digits)}]"


def p_value(value: float) -> str:
    """A p-value, which is never 0."""
    if math.isnan(value):
        return "-"
    return "<0.0001" if value < 0.00005 else f"{value:.4f}"


def share_shown(value: float) -> str:
    """A share in percent; 0 and 100 only where it is exactly that."""
    percent = 100 * value
    if 0 < percent < 0.5:
        return "<1 %"
    return ">99 %" if 99.5 <= percent < 100 else f"{percent:.0f} %"


def scenario(result: ScenarioResult) -> str:
    """A contrast in a promotion scenario: expected, interval of the draws, share above 0."""
    return (
        f"{signed(result.expected)} {interval(result.low, result.high)}, "
        f"> 0 in {share_shown(result.share_positive)}"
    )


def _rounded(value: float, digits: int) -> float:
    return round(value, digits) + 0.0


def _undefined(item: Contrast) -> str:
    return f" ({item.delta_d_undefined} draws undefined)" if item.delta_d_undefined else ""
