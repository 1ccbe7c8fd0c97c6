"""What trees and boosted models count of the records, and how far one record moves it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.learners.noisy_blocks import Block
from discreet.privacy.guarantee import Relation

Floats = NDArray[np.float64]

UNIT = 1 << 10  # steps in which a residual is counted
TOTALS, COUNTS = 0.05, 0.1  # the shares of μ², or of ε, that buy them; the rest buys residuals


def leaf_counts(trees: int, leaves: int, classes: int, relation: Relation) -> Block:
    """Count in all leaves: a record is in one leaf of each tree, a replaced one leaves it for another."""
    moved = trees * (2 if relation.replaces else 1)
    return Block("leaf counts", trees * leaves * classes, moved, moved, 1 - TOTALS)


def histograms(
    totals: Block, sizes: Sequence[int], outputs: int, rounds: int, relation: Relation
) -> tuple[Block, ...]:
    """Totals, counts of every column's bins, then sums of residuals in them, in steps of 1/UNIT.

    A record is in one bin of each column. Its residual lies in [−1, 1] where there is one output; of several
    classes they are an indicator minus probabilities: ‖r‖₁ ≤ 2 and ‖r‖₂² ≤ 2. A record replaced by another in
    the same bin may turn r into −r, whose square is 4 times as large.
    """
    twice, fourfold = (2, 4) if relation.replaces else (1, 1)
    most, moved = (1 if outputs == 1 else 2), len(sizes) * twice
    share = (1 - TOTALS - COUNTS) / (rounds * len(sizes))
    sums = [
        Block(
            f"round {turn + 1}, column {j + 1}",
            size * outputs,
            UNIT * most * twice,
            UNIT**2 * most * fourfold,
            share,
        )
        for turn in range(rounds)
        for j, size in enumerate(sizes)
    ]
    return (totals, Block("counts", sum(sizes), moved, moved, COUNTS), *sums)


def class_totals(classes: int, relation: Relation) -> Block:
    """How many records each class has."""
    moved = 2 if relation.replaces else 1
    return Block("totals", classes, moved, moved, TOTALS)


def answer_totals(relation: Relation) -> Block:
    """How many records there are, and the sum of answers in [−1, 1], both in steps of 1/UNIT.

    A record more or less moves both by at most 1; a record replaced moves the sum alone, by at most 2.
    """
    return Block("totals", 2, 2 * UNIT, (4 if relation.replaces else 2) * UNIT**2, TOTALS)


def whole_steps(residuals: Floats, most: float) -> NDArray[np.int64]:
    """Count residuals in steps, towards zero, so that no bound grows; what is no number counts as 0.

    `most` is the bound on ‖r‖₁ and on ‖r‖₂² for which the sums are priced; rows beyond it, which rounding of
    probabilities could make, are cut down to it.
    """
    kept = np.clip(np.nan_to_num(residuals), -1.0, 1.0)
    length = np.maximum(np.abs(kept).sum(axis=1), (kept**2).sum(axis=1))
    kept *= np.minimum(1.0, most / np.maximum(length, most) * (1 - 2.0**-40))[:, None] if most > 1 else 1.0
    return np.trunc(kept * UNIT).astype(np.int64)
