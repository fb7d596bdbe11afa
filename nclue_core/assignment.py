"""The page rule of a gold document: every condition, on pages of its own (SPEC of the study).

A document is gold for a query when every condition has a page, no single page holds all of them,
and the conditions can be assigned to distinct pages (a system of distinct representatives).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

PageSets = Sequence[Collection[int]]


def distinct_page_assignment(page_sets: PageSets) -> list[int] | None:
    """One page per condition, all different, or None if there is no such choice.

    Args:
        page_sets: Per condition, the pages that hold it.

    Returns:
        Per condition the page chosen for it. Deterministic: low pages are tried first. With no
        condition the empty list. (Augmenting paths; equivalent to Hall's condition.)
    """
    owner: dict[int, int] = {}
    for condition in range(len(page_sets)):
        if not _augment(condition, page_sets, owner, set()):
            return None
    page_of = {condition: page for page, condition in owner.items()}
    return [page_of[condition] for condition in range(len(page_sets))]


def _augment(condition: int, page_sets: PageSets, owner: dict[int, int], tried: set[int]) -> bool:
    for page in sorted(page_sets[condition]):
        if page in tried:
            continue
        tried.add(page)
        if page not in owner or _augment(owner[page], page_sets, owner, tried):
            owner[page] = condition
            return True
    return False


def pages_holding_all(page_sets: PageSets) -> list[int]:
    """The pages that hold every condition, in order (a gold document has none)."""
    if not page_sets:
        return []
    return sorted(set(page_sets[0]).intersection(*page_sets[1:]))


def gold_failure(page_sets: PageSets) -> str | None:
    """Why these page sets don't make a gold document, or None if they do."""
    empty = [index + 1 for index, pages in enumerate(page_sets) if not pages]
    if empty:
        return f"condition {empty[0]} has no page"
    shared = pages_holding_all(page_sets)
    if shared:
        return f"page {shared[0]} alone holds all {len(page_sets)} conditions"
    if distinct_page_assignment(page_sets) is None:
        return "the conditions cannot be assigned to distinct pages"
    return None


def document_grade(page_sets: PageSets) -> int:
    """Grade of a document: the number of conditions with a page.

    A document that holds all n conditions but fails the page rule stays a subset at n - 1, so
    that gold and grade n are the same thing.
    """
    held = sum(1 for pages in page_sets if pages)
    if held == len(page_sets) and gold_failure(page_sets) is not None:
        return held - 1
    return held
