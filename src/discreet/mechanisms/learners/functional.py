"""Coefficients of a loss that is a polynomial of degree two in the weights: the functional mechanism's sums.

The square of (y − x·w) is one; ln(1 + e^{−yx·w}) is one to second order at w = 0. What one record moves is
bounded for rows in a ball, exactly, instead of by the sum of all coefficients' bounds [ZZXYW12 §4, §5].
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np

from discreet.families.family import Integers
from discreet.mechanisms.learners.class_moments import CHUNK, STEPS, quantised
from discreet.mechanisms.learners.noisy_blocks import Block, Floats
from discreet.mechanisms.learners.second_moments import packed, product_block, shortened
from discreet.privacy.guarantee import Relation

Ends = tuple[Floats, Floats]  # middle and half of the bounds
CONSTANT = STEPS // 2  # the intercept's column, in K-ths
OF_SIGNED = Fraction(1, 2)  # of the budget of a classifier, for Σyx; the rest is for Σxxᵀ


def rows_in_ball(x: Floats, middle: Floats, half: Floats, length: int, *, constant: bool) -> Floats:
    """Return rows in K-ths, cut to `length`, with the constant last."""
    q = shortened(quantised(x, middle, half), length)
    return np.column_stack([q, np.full((len(q), int(constant)), float(CONSTANT))])


def squared_length(length: int, *, constant: bool) -> int:
    """R² of those rows."""
    return length**2 + CONSTANT**2 * constant


# ── least squares: second moments of (x, 1, y)
def square_block(columns: int, length: int, relation: Relation, *, constant: bool) -> Block:
    """Return Σzzᵀ of z = (x, 1, y), ‖z‖² ≤ R² + K²: all coefficients of Σ(y − x·w)²."""
    most = squared_length(length, constant=constant) + STEPS**2
    return product_block(columns + constant + 1, most, relation)


def square_sums(
    x: Floats,
    y: Floats,
    scale: tuple[Floats, Floats],
    of_y: tuple[Floats, Floats],
    length: int,
    *,
    constant: bool,
) -> Integers:
    """Return the block's integers."""
    d = x.shape[1] + constant + 1
    total = np.zeros((d, d))
    for start in range(0, len(x), CHUNK):
        here = slice(start, start + CHUNK)
        rows = rows_in_ball(x[here], *scale, length, constant=constant)
        z = np.column_stack([rows, quantised(y[here, None], *of_y)])
        total += z.T @ z  # whole numbers, exact below 2^53
    return packed(total)


# ── classes: Σx by class, and Σxxᵀ of all
def class_blocks(
    classes: int, columns: int, length: int, relation: Relation, *, constant: bool
) -> tuple[Block, Block]:
    """Return Σx by class, which moves by R, twice that within a class; and Σxxᵀ, common to all classes."""
    most, d = squared_length(length, constant=constant), columns + constant
    moved = 2 if relation.replaces else 1
    far = isqrt(d * most - 1) + 1
    signed = Block("sums by class", classes * d, moved * far, moved**2 * most, OF_SIGNED)
    return signed, product_block(d, most, relation, 1 - OF_SIGNED)


def class_sums(
    x: Floats, codes: Integers, classes: int, scale: tuple[Floats, Floats], length: int, *, constant: bool
) -> tuple[Integers, Integers]:
    """Return both blocks' integers; a row of no class, code −1, counts for nothing."""
    d = x.shape[1] + constant
    sums, second = np.zeros((classes, d)), np.zeros((d, d))
    each = np.arange(classes)[:, None]
    for start in range(0, len(x), CHUNK):
        here = slice(start, start + CHUNK)
        known = codes[here] >= 0
        rows = rows_in_ball(x[here], *scale, length, constant=constant)[known]
        sums += (codes[here][known] == each).astype(np.float64) @ rows
        second += rows.T @ rows  # whole numbers, exact below 2^53
    return sums.astype(np.int64).ravel(), packed(second)
