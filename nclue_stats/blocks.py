"""Tests of blocks of tried variants as the study makes them (Table S1e, "Sel.+Holm p").

A block is one claim: a base and every variant that was tried for it, one of which is displayed.
Within a block the largest of the mean differences over all tried variants is the statistic
(unscaled max-|T|, whole families flipped), so that the p-value of the displayed variant allows
for its having been chosen. Holm's correction then runs over the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from nclue_core.errors import UsageError
from nclue_stats.inputs import FloatArray
from nclue_stats.randomization import holm, max_t


@dataclass(frozen=True, eq=False)
class Block:
    """A base and the variants that were tried against it."""

    name: str
    base: str
    variants: tuple[str, ...]
    differences: FloatArray  # (Q, E) variant minus base per query
    display: str | None = None  # the variant that is reported; None: the largest |difference|


@dataclass(frozen=True)
class BlockTest:
    """The displayed variant of a block."""

    name: str
    base: str
    variant: str
    n_variants: int  # tried in the block
    delta: float  # mean difference, as a fraction
    p_block: float  # max-|T| within the block
    p_holm: float  # Holm over the p_block of all blocks


def compare_blocks(
    blocks: Sequence[Block],
    families: ArrayLike | None = None,
    *,
    n_draws: int = 10_000,
    rng: int = 0,
) -> list[BlockTest]:
    """max-|T| per block, then Holm over the blocks.

    Args:
        blocks: The blocks, of the same Q queries, under different names.
        families: (Q,) labels; None flips queries.
        n_draws: Random sign patterns per block.
        rng: Seed; every block starts from it, so that it does not depend on its neighbours.

    Returns:
        One test per block, in the order given.

    Raises:
        UsageError: No block, a name or variant twice, a displayed variant that was not tried,
            or blocks of different numbers of queries.
    """
    _check(blocks)
    found = [max_t(block.differences, families, n_draws=n_draws, rng=rng) for block in blocks]
    shown = [
        result.selected if block.display is None else block.variants.index(block.display)
        for block, result in zip(blocks, found)
    ]
    pvalues = [float(result.pvalues[place]) for result, place in zip(found, shown)]
    return [
        BlockTest(
            name=block.name,
            base=block.base,
            variant=block.variants[place],
            n_variants=len(block.variants),
            delta=float(result.statistics[place]),
            p_block=p_block,
            p_holm=p_holm,
        )
        for block, result, place, p_block, p_holm in zip(
            blocks, found, shown, pvalues, holm(pvalues)
        )
    ]


def _check(blocks: Sequence[Block]) -> None:
    if not blocks:
        raise UsageError("no block to test")
    names = [block.name for block in blocks]
    if len(set(names)) < len(names):
        raise UsageError(f"blocks need different names, found {names}")
    for block in blocks:
        shape = np.shape(block.differences)
        if shape != (np.shape(blocks[0].differences)[0], len(block.variants)):
            raise UsageError(
                f"block {block.name!r}: differences of shape {shape} for "
                f"{len(block.variants)} variants, expected (queries, variants)"
            )
        if len(set(block.variants)) < len(block.variants) or not block.variants:
            raise UsageError(
                f"block {block.name!r}: expected at least one variant, each once, found "
                f"{list(block.variants)}"
            )
        if block.display is not None and block.display not in block.variants:
            raise UsageError(
                f"block {block.name!r}: the displayed variant {block.display!r} is not among "
                f"the tried ones: {', '.join(block.variants)}"
            )
