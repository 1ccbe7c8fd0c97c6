"""Σr and Σrrᵀ of r = y(q, a): the approximate statistics of a regression on signs, as exact integers.

q is a row's features in the ball, on a grid of norm/2^15 that is coarser than other mechanisms' so that sums
of products fit 64 bits; a is the constant's column, y = ±1, and 0 for a label that is not declared.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.exact_fields import power_of_two_above
from discreet.families.family import Integers
from discreet.families.records import Ball, doubles, refuse_overflow
from discreet.models.generalized_linear import GeneralizedLinear

MOMENT_BITS = 15
BLOCK = 2**14  # rows at a time, in doubles: BLAS has no products of integers


def moment_ball(model: GeneralizedLinear) -> Ball:
    """Where the features of a row lie, in steps of norm/2^15 or a little less."""
    return Ball(model.norm, power_of_two_above(model.norm) / 2**MOMENT_BITS)


def constant_steps(model: GeneralizedLinear) -> int:
    """Return a, in steps of the grid: half the norm; 0 without an intercept."""
    ball = moment_ball(model)
    return (model.norm / (2 * ball.grid)).__floor__() if model.intercept else 0


def length_square(model: GeneralizedLinear) -> int:
    """Return C², in steps: ‖r‖² ≤ C² = R² + a² for every record."""
    return moment_ball(model).largest ** 2 + constant_steps(model) ** 2


def grid(model: GeneralizedLinear) -> Fraction:
    """Return what a step is worth."""
    return moment_ball(model).grid


def signed_moments(model: GeneralizedLinear, features: ArrayLike, answers: ArrayLike) -> Integers:
    """(Σr, Σrrᵀ packed) of encoded rows in memory; what is not a number is 0."""
    width = len(model.design)
    x = doubles(features).reshape(-1, width)
    y = np.sign(np.nan_to_num(doubles(answers)))
    if y.shape != (len(x),):
        raise ValueError("give one answer for each row")
    refuse_overflow(len(x), length_square(model))
    ball, d = moment_ball(model), model.dimension
    first, second = np.zeros(d, np.int64), np.zeros((d, d), np.int64)
    for start in range(0, len(x), BLOCK):
        part = slice(start, start + BLOCK)
        r = np.full((len(x[part]), d), float(constant_steps(model)))
        r[:, :width] = ball.integers(x[part], width)
        r *= y[part, None]
        # exact in any order: |r_i r_j| ≤ C² ≤ 2^30 + 2^28, so that partial sums of a block stay below 2^45
        first += r.sum(axis=0).astype(np.int64)
        second += (r.T @ r).astype(np.int64)
    return np.concatenate([first, second[np.triu_indices(d)]])
