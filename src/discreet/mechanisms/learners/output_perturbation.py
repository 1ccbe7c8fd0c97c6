"""The minimum of a regularised sum of losses, on a grid, for noise on it: output perturbation."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, sqrt

import numpy as np

from discreet.families.exact_fields import power_of_two_above
from discreet.families.family import Integers, root_above
from discreet.mechanisms.learners.noisy_blocks import Block
from discreet.mechanisms.regression.samplers.certified_minimum import TiltedSum, minimum
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.regression_records import Records
from discreet.privacy.guarantee import Relation

FINENESS = 2**12  # cells of the grid in how far one record moves the minimum


def grid_of(model: GeneralizedLinear, strength: float, relation: Relation) -> Fraction:
    """Return the power of two at about Δ/4096, on which minima are."""
    return power_of_two_above(_reach(model, strength, relation) / FINENESS) / 2


def _reach(model: GeneralizedLinear, strength: float, relation: Relation) -> Fraction:
    """Δ = Lc/λ for one record more, 2Lc/λ for one in another's place [CMS11 Thm 6, as a sum]."""
    return Fraction(root_above(model.gradient_square(relation))) / Fraction(strength)


def minimum_block(name: str, model: GeneralizedLinear, strength: float, relation: Relation) -> Block:
    """Return the minimum in cells of the grid: it moves by Δ, and both are found to a cell and rounded.

    The strongly convex sum's minimum moves by ‖∇ℓ‖/λ at most; each is found to within one cell and then put
    on the grid, half a cell in every coordinate: Δ/g + 2(1 + √d/2).
    """
    d = model.dimension
    cells = _reach(model, strength, relation) / grid_of(model, strength, relation)
    far = cells + 2 + Fraction(root_above(Fraction(d)))
    return Block(name, d, ceil(far * Fraction(root_above(Fraction(d)))), far**2)


def minimum_cells(
    model: GeneralizedLinear, records: Records, strength: float, relation: Relation
) -> Integers:
    """Return the minimum on the grid; the proof of how near it is ends for every table."""
    grid = grid_of(model, strength, relation)
    held = records.held_to(model)
    found = minimum(TiltedSum(model, held, strength, np.zeros(model.dimension)), float(grid), grid)
    return np.array(found, dtype=np.int64)


def usual_strength(model: GeneralizedLinear, mu: float, relation: Relation) -> float:
    """λ with which the noise is a quarter of the guessed length R of the weights, and no less than d/R².

    √d·Δ/μ = R/4 with Δ = Lc/λ: λ = 4√d·Lc/(μR).
    """
    steep = sqrt(float(model.gradient_square(relation)))
    noisy = 4 * sqrt(model.dimension) * steep / (mu * float(model.radius))
    return max(float(model.strength), noisy)
