"""Sums and second moments of rows in a ball, as integers, and how far one record moves them."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np

from discreet.families.family import Integers
from discreet.mechanisms.learners.class_moments import CHUNK, quantised
from discreet.mechanisms.learners.noisy_blocks import Block, Floats
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Relation

DIAGONAL, BESIDE = (
    29,
    41,
)  # 41² = 1681 ≤ 2·29² = 1682: an entry off the diagonal counts for both of its places
OF_COUNT, OF_SUMS = Fraction(1, 20), Fraction(3, 20)  # of the budget; a centre needs less than a spread


def ball_blocks(columns: int, length: int, relation: Relation) -> tuple[Block, Block, Block]:
    """Return n; Σq; and 29·Σq_i², 41·Σq_iq_j for i < j: of rows of at most `length` grid steps.

    29²(Σq_i⁴ + 2Σq_i²q_j²) = 29²‖qqᵀ‖_F² ≤ 29²R⁴ bounds the square of the third, twice that of one in
    another's place, ‖qqᵀ − q'q'ᵀ‖_F² ≤ 2R⁴ [theory §9]. So the noise off the diagonal has half the variance.
    """
    moved = 2 if relation.replaces else 1
    most = length**2
    return (
        Block("count", 1, moved, moved, OF_COUNT),
        Block("sums", columns, moved * _root(columns * most), moved**2 * most, OF_SUMS),
        product_block(columns, most, relation, 1 - OF_COUNT - OF_SUMS),
    )


def product_block(columns: int, most: int, relation: Relation, share: Exact = 1) -> Block:
    """Return the third block alone, for rows with ‖q‖² ≤ most."""
    moved = 2 if relation.replaces else 1
    in_l1 = DIAGONAL * most + BESIDE * most * (columns - 1) // 2 + 1  # Σ_{i<j}|q_iq_j| ≤ (d − 1)R²/2
    pairs = columns * (columns + 1) // 2
    return Block("second moments", pairs, moved * in_l1, moved * (DIAGONAL * most) ** 2, share)


def _root(x: int) -> int:
    """⌈√x⌉"""
    return isqrt(x - 1) + 1


def ball_moments(x: Floats, middle: Floats, half: Floats, length: int) -> tuple[Integers, ...]:
    """Return the integers of the three blocks."""
    d = x.shape[1]
    sums, second = np.zeros(d), np.zeros((d, d))
    for start in range(0, len(x), CHUNK):
        q = shortened(quantised(x[start : start + CHUNK], middle, half), length)
        sums += q.sum(axis=0)
        second += q.T @ q  # whole numbers, exact below 2^53
    return np.array([len(x)]), sums.astype(np.int64), packed(second)


def packed(products: Floats) -> Integers:
    """Return the third block's integers of Σqqᵀ."""
    upper = np.triu_indices(len(products), 1)
    flat = np.concatenate([DIAGONAL * np.diag(products), BESIDE * products[upper]])
    return flat.astype(np.int64)


def shortened(q: Floats, length: int) -> Floats:
    """Scale rows longer than `length` down to it, towards 0, so that whole numbers stay within the ball."""
    square = np.square(q).sum(axis=1)
    long = np.flatnonzero(square > length**2)
    if long.size:
        ratio = (length / np.sqrt(square[long]))[:, None]
        q[long] = np.trunc(q[long] * ratio * (1 - 2.0**-40))
    return q


def matrix(flat: Floats, columns: int) -> Floats:
    """Return the symmetric matrix of what was released of the third block."""
    made = np.zeros((columns, columns))
    made[np.triu_indices(columns, 1)] = flat[columns:] / BESIDE
    made += made.T
    np.fill_diagonal(made, flat[:columns] / DIAGONAL)
    return made
