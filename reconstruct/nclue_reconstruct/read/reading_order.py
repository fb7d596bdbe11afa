"""Reading order: the order of the file where it is plausible, else cuts through white space."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

from nclue_reconstruct.read.textlines import Box

MAX_CUT_BOXES = 600  # more boxes than this are no page of text; they are sorted by row
MAX_STRETCHES = 20
MIN_COLUMN_GAP = 6.0  # points


def reading_order(boxes: Sequence[Box]) -> list[int]:
    """Indices of the boxes in reading order.

    A file mostly stores its text in reading order, whatever the layout; this is kept unless it
    goes back up within a column, or from a column to the one at its left. If the stretches
    between such jumps stand apart on the page (a title or footer that was stored last or first),
    only they are put in order; else all boxes are, by cutting the page recursively along white
    space, into bands and the columns inside them.
    """
    order = list(range(len(boxes)))
    jumps = [i + 1 for i in order[:-1] if _is_backwards(boxes[i], boxes[i + 1])]
    if not jumps:
        return order
    stretches = [order[i:j] for i, j in pairwise([0, *jumps, len(boxes)])]
    hulls = [_hull([boxes[i] for i in stretch]) for stretch in stretches]
    if len(hulls) <= MAX_STRETCHES and _are_apart(hulls):
        placed = _cut(hulls, list(range(len(hulls))), 0)
        return [i for place in placed for i in stretches[place]]
    if len(boxes) > MAX_CUT_BOXES:
        return sorted(order, key=lambda i: (round(boxes[i][1]), boxes[i][0]))
    return _cut(boxes, order, 0)


def _hull(boxes: Sequence[Box]) -> Box:
    x0s, y0s, x1s, y1s = zip(*boxes)
    return min(x0s), min(y0s), max(x1s), max(y1s)


def _are_apart(boxes: Sequence[Box]) -> bool:
    return not any(_touch(a, b) for a, b in combinations(boxes, 2))


def _touch(a: Box, b: Box) -> bool:
    return _overlap(a, b) > 0 and min(a[3], b[3]) > max(a[1], b[1])


def _is_backwards(before: Box, after: Box) -> bool:
    if _overlap(before, after) > 0:
        return after[3] <= before[1] + 1
    return after[2] <= before[0] and after[1] < (before[1] + before[3]) / 2


def _overlap(a: Box, b: Box) -> float:
    return min(a[2], b[2]) - max(a[0], b[0])


def _cut(boxes: Sequence[Box], indices: list[int], depth: int) -> list[int]:
    if len(indices) < 2 or depth > 40:
        return _by_row(boxes, indices)
    parts = _split(boxes, indices, axis=0, gap=MIN_COLUMN_GAP)
    if len(parts) < 2:
        parts = _join_bands(boxes, _split(boxes, indices, axis=1, gap=0.0))
    if len(parts) < 2:
        return _by_row(boxes, indices)
    return [i for part in parts for i in _cut(boxes, part, depth + 1)]


def _join_bands(boxes: Sequence[Box], bands: list[list[int]]) -> list[list[int]]:
    """Join neighbouring bands that have columns in common: columns are read to their end."""
    joined = [list(bands[0])]
    columns = _columns([boxes[i][::2] for i in bands[0]])
    for band in bands[1:]:
        own = _columns([boxes[i][::2] for i in band])
        both = _columns(columns + own)
        if len(both) > 1:
            joined[-1] += band
            columns = both
        else:
            joined.append(list(band))
            columns = own
    return joined


def _columns(spans: Sequence[tuple[float, ...]]) -> list[tuple[float, ...]]:
    """Horizontal spans united where less than a column gap is between them."""
    united: list[tuple[float, ...]] = []
    for x0, x1 in sorted(spans):
        if united and x0 <= united[-1][1] + MIN_COLUMN_GAP:
            united[-1] = united[-1][0], max(united[-1][1], x1)
        else:
            united.append((x0, x1))
    return united


def _split(boxes: Sequence[Box], indices: list[int], axis: int, gap: float) -> list[list[int]]:
    """Groups of boxes with white space of more than ``gap`` between them along an axis."""
    ordered = sorted(indices, key=lambda i: boxes[i][axis])
    groups = [[ordered[0]]]
    end = boxes[ordered[0]][axis + 2]
    for index in ordered[1:]:
        if boxes[index][axis] > end + gap:
            groups.append([])
        groups[-1].append(index)
        end = max(end, boxes[index][axis + 2])
    return groups


def _by_row(boxes: Sequence[Box], indices: list[int]) -> list[int]:
    return sorted(indices, key=lambda i: (boxes[i][1], boxes[i][0]))
