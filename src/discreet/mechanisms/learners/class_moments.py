"""Counts, first and second moments by class, as integers, and how far one record moves them."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np

from discreet.families.family import Integers
from discreet.mechanisms.learners.noisy_blocks import Block, Floats
from discreet.privacy.guarantee import Relation

STEPS = 2**12  # K: a column in [−1, 1] is counted in K-ths
CHUNK = 2**13  # rows at once: they stay in the processor's cache, and sums of doubles below 2^53 are exact
SWAPPED = Fraction(103, 20)  # max over t of t²(1 + 4(2 − t)²) on [0, 2] is (71 + 8√2)/16 = 5.1446


def moment_blocks(classes: int, columns: int, relation: Relation) -> tuple[Block, Block]:
    """Return counts by class; and for each class and column K·q and u = 2q² − K², q = ⌊Kx + ½⌋.

    Both are within ±K²; u is the square without its middle, which halves what a record can move. One record
    more moves the moments of its class by q²K² + u² ≤ 2K⁴ for each column, squared. A record in another's
    place: in two classes twice that; in one, with t = |q − q'|/K and s = |q + q'|/K ≤ 2 − t, by
    K⁴t²(1 + 4s²) ≤ 5.15K⁴ [theory §10].
    The shares make the noise of counts and of moments together least: 1/s + 2d/(1 − s).
    """
    share = Fraction(1 / (1 + sqrt(2 * columns)))
    moved = 2 if relation.replaces else 1
    square = SWAPPED if relation.replaces else 2
    return (
        Block("counts", classes, moved, moved, share),
        Block(
            "moments",
            2 * classes * columns,
            2 * moved * columns * STEPS**2,
            square * columns * STEPS**4,
            1 - share,
        ),
    )


def class_moments(
    x: Floats, codes: Integers, classes: int, middle: Floats, half: Floats
) -> tuple[Integers, Integers]:
    """Return both blocks' integers; a row of no class, code −1, counts for nothing."""
    counts = np.bincount(codes + 1, minlength=classes + 1)[1:].astype(np.int64)
    total = np.zeros((2, classes, x.shape[1]), np.int64)
    each = np.arange(classes)[:, None]
    for start in range(0, len(x), CHUNK):
        here = slice(start, start + CHUNK)
        member = (codes[here] == each).astype(np.float64)
        q = quantised(x[here], middle, half)
        total[0] += (member @ q).astype(np.int64)
        np.multiply(q, q, out=q)
        total[1] += (member @ q).astype(np.int64)
    total[0] *= STEPS
    total[1] = 2 * total[1] - counts[:, None] * STEPS**2
    return counts, total.ravel()


def moments_of_all(q: Floats) -> tuple[Integers, Integers]:
    """Return the integers of the same blocks for one class of all rows, already in K-ths."""
    n = len(q)
    sums = q.sum(axis=0).astype(np.int64) * STEPS
    squares = 2 * np.einsum("ij,ij->j", q, q).astype(np.int64) - n * STEPS**2
    return np.array([n]), np.concatenate([sums, squares])


def quantised(x: Floats, middle: Floats, half: Floats) -> Floats:
    """⌊K(x − middle)/half + ½⌋, clipped to ±K; 0 for what is missing. Whole numbers as doubles."""
    with np.errstate(all="ignore"):  # a warning would tell that some record lies far out
        q = np.subtract(x, middle)
        np.multiply(q, STEPS / half, out=q)
        np.floor(np.add(q, 0.5, out=q), out=q)
        np.clip(q, -STEPS, STEPS, out=q)
        if np.isnan(q.sum()):
            q[np.isnan(q)] = 0.0
    return q
