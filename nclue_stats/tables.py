"""Contrasts as a table: plain text, Markdown, LaTeX."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nclue_stats.compare import Contrast, Delta

COLUMNS = (
    "variant - base", "dScore", "95% CI", "p query", "p family", "p block", "p Holm",
    "dHit", "dNDCG", "base M/P/G", "variant M/P/G", "common n", "dD", "bound", "break-even",
)  # fmt: skip
_LATEX = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}",
          "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
          "\\": r"\textbackslash{}"}  # fmt: skip


def rows(contrasts: Sequence[Contrast]) -> list[list[str]]:
    """The cells of the table, a row per contrast; what is undefined is shown as a dash."""
    return [
        [
            f"{item.variant} - {item.base}",
            _signed(item.score.delta),
            _interval(item.score),
            _p(item.score.p_query),
            _p(item.score.p_family),
            _p(item.p_block),
            _p(item.p_holm),
            _signed(item.hit.delta),
            _signed(item.gold_ndcg.delta),
            "/".join(f"{share:.1f}" for share in item.base_outcomes),
            "/".join(f"{share:.1f}" for share in item.variant_outcomes),
            str(item.common_n),
            _signed(item.delta_d, 3),
            _signed(item.promotion_bounds[0]),
            "-" if math.isnan(item.break_even) else f"{item.break_even:.2f}",
        ]
        for item in contrasts
    ]


def as_markdown(contrasts: Sequence[Contrast]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "| --- |" + " ---: |" * (len(COLUMNS) - 1)]
    lines += ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |"
              for row in rows(contrasts)]  # fmt: skip
    return "\n".join(lines)


def as_latex(contrasts: Sequence[Contrast]) -> str:
    """A LaTeX tabular; names are escaped."""
    body = [" & ".join(map(escape_latex, row)) + r" \\" for row in rows(contrasts)]
    head = " & ".join(map(escape_latex, COLUMNS)) + r" \\"
    columns = "l" + "r" * (len(COLUMNS) - 1)
    return "\n".join(
        [rf"\begin{{tabular}}{{{columns}}}", r"\hline", head, r"\hline", *body, r"\hline",
         r"\end{tabular}"]
    )  # fmt: skip


def escape_latex(text: str) -> str:
    """Text with the characters escaped that LaTeX reads as commands."""
    return "".join(_LATEX.get(char, char) for char in text)


def _signed(value: float, digits: int = 1) -> str:
    if math.isnan(value):
        return "-"
    return f"{value + 0.0:+.{digits}f}"


def _interval(delta: Delta) -> str:
    return "-" if math.isnan(delta.low) else f"[{delta.low:.1f}, {delta.high:.1f}]"


def _p(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"
