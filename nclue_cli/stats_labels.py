"""Label files for ``nclue stats agreement``: read, report, print."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nclue_core.errors import InputError
from nclue_core.jsonl import read_jsonl
from nclue_stats.agreement import (
    Kappa,
    cohen_kappa,
    confusion_matrix,
    fleiss_kappa,
    label_counts,
    page_set_agreement,
    pairwise_agreement,
    unanimous_agreement,
)
from nclue_stats.tables import interval, number

NO_PAGE = "none"  # a cell of a page file: the annotator answered that no page holds it
NAN = float("nan")
MAX_ITEMS = 10_000_000


@dataclass(frozen=True)
class Labels:
    """What annotators said: a list per annotator, None where unanswered."""

    annotators: list[str]
    labels: list[list[str | None]]

    @property
    def n_items(self) -> int:
        """Number of items, answered or not."""
        return len(self.labels[0])


def read_labels(
    path: Path,
    *,
    annotators: str | None = None,
    item: str | None = None,
    count: str | None = None,
    unanswered: Sequence[str] = (),
) -> Labels:
    """Read a CSV file with a header, or JSON Lines (by the name's end: .jsonl, .ndjson).

    Raises:
        InputError: A row with too many or too few cells, a column twice, an unknown column, a
            count that is no whole number, labels that differ only in case or as numbers; fewer
            than two annotators; no item.
    """
    rows = list(_rows(path))
    if not rows:
        raise InputError("no item: expected a header and a row per item", path=path)
    names = list(dict.fromkeys(name for _, row in rows for name in row))
    chosen = annotators.split(",") if annotators else [n for n in names if n not in (item, count)]
    for name in [*chosen, *(x for x in (item, count) if x is not None)]:
        if name not in names:
            raise InputError(f"no column {name!r}; there are {', '.join(names)}", path=path)
    if len(set(chosen)) < 2 or len(set(chosen)) < len(chosen):
        raise InputError(
            f"the columns of annotators are {', '.join(chosen) or 'none'}: expected at least two "
            "different ones",
            path=path,
        )
    if item is not None:
        _check_items(path, rows, item)
    blanks = {word.strip() for word in unanswered}
    columns: list[list[str | None]] = [[] for _ in chosen]
    for line, row in rows:
        repeats = 1 if count is None else _count(path, line, row.get(count))
        for column, name in zip(columns, chosen):
            label = row.get(name)
            column.extend([None if label in blanks else label] * repeats)
        if len(columns[0]) > MAX_ITEMS:
            raise InputError(f"more than {MAX_ITEMS:,} items", path=path, line=line)
    return Labels(chosen, columns)


def label_report(table: Labels, classes: str | None = None) -> dict[str, Any]:
    """Agreement of every pair and of all; what is undefined is NaN."""
    found = sorted({label for column in table.labels for label in column if label is not None},
                   key=_order)  # fmt: skip
    if not found:
        raise InputError("no item was answered by anyone")
    _check_alike(found)
    named = [name.strip() for name in classes.split(",")] if classes else found
    pairs = list(itertools.combinations(range(len(table.labels)), 2))
    shares = pairwise_agreement(table.labels)
    report: dict[str, Any] = {
        "n_items": table.n_items,
        "annotators": {
            name: sum(label is not None for label in column)
            for name, column in zip(table.annotators, table.labels)
        },
        "classes": named,
        "pairs": [
            _pair(table, i, j, named) | {"agreement": asdict(share)}
            for (i, j), share in zip(pairs, shares)
        ],
        "unanimous": asdict(unanimous_agreement(table.labels)),
    }
    counts = label_counts(table.labels, named)
    report["fleiss"] = asdict(fleiss_kappa(counts, unequal=True))
    return report


def page_report(table: Labels) -> dict[str, Any]:
    """Agreement of the page sets of every pair."""
    sets = [[_page_set(label) for label in column] for column in table.labels]
    return {
        "n_items": table.n_items,
        "annotators": {
            name: sum(pages is not None for pages in column)
            for name, column in zip(table.annotators, sets)
        },
        "page_pairs": [
            {"first": table.annotators[i], "second": table.annotators[j],
             **asdict(page_set_agreement(sets[i], sets[j]))}
            for i, j in itertools.combinations(range(len(sets)), 2)
        ],
    }  # fmt: skip


def report_lines(report: dict[str, Any]) -> list[str]:
    """A report as text."""
    answered = ", ".join(f"{name} {n}" for name, n in report["annotators"].items())
    lines = [f"{report['n_items']} items; answered by {answered}"]
    if "page_pairs" in report:
        return lines + [
            f"{pair['first']} - {pair['second']}: same pages {_percent(pair['identical'])}, "
            f"mean overlap (Jaccard) {number(pair['jaccard'], 3)}, some page in common or both "
            f"none {_percent(pair['overlapping'])}, of {pair['n_items']} items that both answered"
            for pair in report["page_pairs"]
        ]
    lines.append(f"labels: {', '.join(report['classes'])}")
    for pair in report["pairs"]:
        lines.append(
            f"{pair['first']} - {pair['second']}: {_share(pair['agreement'])}; Cohen's kappa "
            f"{_kappa(pair['cohen'])}, linearly weighted {_kappa(pair['weighted'])}"
        )
    lines.append(f"all: same label {_share(report['unanimous'], 'all')}")
    fleiss = report["fleiss"]
    lines.append(
        f"Fleiss' kappa {_kappa(fleiss)} over {fleiss['n_items']} items with two answers or more"
    )
    return lines


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str | None]]]:
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        for line, value in read_jsonl(path):
            yield line, {name: _cell(path, line, name, cell) for name, cell in value.items()}
        return
    try:
        text = path.read_text(encoding="utf-8-sig")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        yield from _csv_rows(path, reader)
    except (OSError, UnicodeDecodeError, csv.Error) as err:
        raise InputError(f"no CSV in UTF-8: {err}", path=path) from err


def _csv_rows(path: Path, reader: Any) -> Iterator[tuple[int, dict[str, str | None]]]:
    header = [name.strip() for name in next(reader, [])]
    if len(set(header)) < len(header) or "" in header:
        raise InputError(f"columns need different names, found {header}", path=path, line=1)
    for cells in reader:
        if not any(cell.strip() for cell in cells) and len(cells) != len(header):
            continue  # a blank line
        if len(cells) != len(header):
            raise InputError(
                f"{len(cells)} cells, the header names {len(header)} columns",
                path=path, line=reader.line_num,
            )  # fmt: skip
        yield reader.line_num, {name: cell.strip() or None for name, cell in zip(header, cells)}


def _cell(path: Path, line: int, name: str, value: object) -> str | None:
    """A JSON value as the text a CSV file would have."""
    if value is None:
        return None
    if isinstance(value, list):
        return ";".join(map(str, value)) or NO_PAGE
    if isinstance(value, (str, bool, int)):
        return str(value).strip() or None
    raise InputError(f"{name} is {value!r:.60}, expected a label or null", path=path, line=line)


def _count(path: Path, line: int, text: str | None) -> int:
    if text is None or not text.isascii() or not text.isdigit() or int(text[:12]) > MAX_ITEMS:
        raise InputError(f"count {text!r}: expected a whole number", path=path, line=line)
    return int(text)


def _check_items(path: Path, rows: list[tuple[int, dict[str, str | None]]], item: str) -> None:
    seen: dict[str | None, int] = {}
    for line, row in rows:
        name = row.get(item)
        if name is None or name in seen:
            what = "has no name" if name is None else f"{name!r} stands in line {seen[name]} too"
            raise InputError(f"the item {what}", path=path, line=line)
        seen[name] = line


def _check_alike(found: list[str]) -> None:
    for one, other in itertools.combinations(found, 2):
        if one.casefold() == other.casefold() or _order(one)[:2] == _order(other)[:2] == (
            0, _order(one)[1],
        ):  # fmt: skip
            raise InputError(
                f"the labels {one!r} and {other!r} differ only in writing and would count as "
                "disagreement: write them alike"
            )


def _order(label: str) -> tuple[int, float, str]:
    """Numbers first, by value; then words."""
    try:
        value = float(label)
    except ValueError:
        return 1, 0.0, label
    return (0, value, label) if value == value else (1, 0.0, label)


def _pair(table: Labels, i: int, j: int, classes: list[str]) -> dict[str, Any]:
    matrix = confusion_matrix(table.labels[i], table.labels[j], classes)
    nothing = Kappa(NAN, NAN, NAN, 0)
    cohen, weighted = (
        cohen_kappa(matrix, weights=weights) if matrix.sum() else nothing
        for weights in (None, "linear")
    )
    return {
        "first": table.annotators[i],
        "second": table.annotators[j],
        "cohen": asdict(cohen),
        "weighted": asdict(weighted),
        "confusion": matrix.astype(int).tolist(),
    }


def _page_set(label: str | None) -> set[int] | None:
    if label is None:
        return None
    if label.lower() == NO_PAGE:
        return set()
    parts = [part.strip() for part in label.replace(",", ";").split(";")]
    if not all(part.isascii() and part.isdigit() and 0 < len(part) < 10 for part in parts):
        raise InputError(
            f"pages {label!r}: expected page numbers such as 3;17, or {NO_PAGE} (an empty cell "
            "is no answer)"
        )
    return set(map(int, parts))


def _share(share: dict[str, Any], who: str = "both") -> str:
    if not share["total"]:
        return f"undefined, no item that {who} answered"
    ends = interval(100 * share["low"], 100 * share["high"])
    return (
        f"{share['successes']} of {share['total']} that {who} answered = "
        f"{_percent(share['estimate'])} {ends}"
    )


def _percent(value: float) -> str:
    return f"{number(100 * value)} %"


def _kappa(kappa: dict[str, Any]) -> str:
    if kappa["kappa"] == kappa["kappa"]:
        return number(kappa["kappa"], 3)
    return "undefined (chance agreement is 1)" if kappa["n_items"] else "undefined (no item)"
