"""Broken twins of objective perturbation: BROKEN ON PURPOSE, never for use."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.case import Case
from discreet.audit.cases.objective import (
    GRID,
    LINE,
    MODEL,
    Ideal,
    Pair,
    adassp_case,
    audited,
    largest,
    polynomial_case,
    regression,
)
from discreet.audit.twins.twin import EXACT_ONLY, RUNS_ONLY, Twins
from discreet.mechanisms.regression.adassp import AdaSSP
from discreet.mechanisms.regression.objective_perturbation import ObjectivePerturbation
from discreet.mechanisms.regression.polynomial_statistics import PolynomialStatistics
from discreet.models.hinge import HuberHinge
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.privacy.kinds import ApproxDP, GaussianDP

twin = Twins()

ONE = [((1.0,), 1.0)]


@twin("objective_perturbation/weak_penalty", "λ below what its profile needs")
def weak_penalty() -> Case:
    """λ = 1/20 where 0.3-GDP needs 2c²/μ² = 22: the determinant tells."""
    mechanism = ObjectivePerturbation(
        regression(1), mu_squared=0.09, strength=0.05, epsilon=1, relation=ADD_REMOVE
    )
    honest = audited(mechanism, ONE, [])
    return replace(honest, claim=GaussianDP(0.3, relation=ADD_REMOVE))


@twin("objective_perturbation/half_the_hessian_noise", "half of the Hessian's noise")
def half_the_hessian_noise() -> Case:
    """σ_H/2, as if the sensitivity were c²/8."""
    mechanism = ObjectivePerturbation(
        regression(1), mu_squared=1, strength=10, epsilon=1, hessian_share=0.9, relation=ADD_REMOVE
    )
    right = Ideal.of(mechanism, [])
    halved = Pair(
        *(replace(side, hessian_noise=side.hessian_noise / 2) for side in (Ideal.of(mechanism, ONE), right))
    )
    return replace(
        audited(mechanism, ONE, []),
        pair=(halved.left, halved.right),
        event=halved.event(1.0),
        exact_delta=halved.profile(),
    )


@twin("objective_perturbation/no_output_noise", "the minimum as computed, with nothing to hide it", RUNS_ONLY)
def no_output_noise() -> Case:
    """Release what was computed: without records that is −b/λ, and λθ̃ lies on the grid of b."""
    mechanism = ObjectivePerturbation(
        regression(1), mu_squared=1, strength=1.0, epsilon=1, relation=ADD_REMOVE
    )

    def off_the_grid(outputs: NDArray[Any]) -> NDArray[np.bool_]:
        cells = outputs[:, 0] * mechanism.strength / float(GRID)
        return np.asarray(np.abs(cells - np.rint(cells)) > 1e-4)

    honest = audited(mechanism, ONE, [])
    return replace(honest, event=off_the_grid)


@twin(
    "objective_perturbation/norm_not_squared",
    "the bend bounded by the norm and not by its square",
    EXACT_ONLY,
)
def norm_not_squared() -> Case:
    """λ = κc/(e^ε' − 1) where κc² is needed: of norm 4, a quarter of the right λ."""
    right = ObjectivePerturbation.calibrate(
        replace(regression(1, 4), loss=HuberHinge(1)), target=ApproxDP(1, 1e-2, relation=ADD_REMOVE)
    )
    left, neighbour = (
        replace(Ideal.of(right, rows), strength=right.strength / 4) for rows in ([((4.0,), 1.0)], [])
    )
    pair = Pair(left, neighbour)
    return Case(right.guarantee, Ideal.draw, (left, neighbour), pair.event(1.0), pair.profile(), 1.0)


# ── Broken twins of noisy moments: BROKEN ON PURPOSE, never for use.
CLAIM = GaussianDP(1, relation=ADD_REMOVE)


@twin("polynomial_statistics/second_block_forgotten", "only one of two moments is paid for")
def second_block_forgotten() -> Case:
    """Noise for the sensitivity of Σyx alone: Σxxᵀ is released beside it, and nobody paid."""
    right = PolynomialStatistics.calibrate(MODEL, target=CLAIM, balance=1)
    alone = Fraction(1)  # σ₁ = C = 1 would be enough for Σyx
    ratio = Fraction(right.second_scale) / Fraction(right.first_scale)
    broken = PolynomialStatistics(MODEL, first_scale=alone, second_scale=alone * ratio, relation=ADD_REMOVE)
    return polynomial_case(broken, CLAIM)


@twin("polynomial_statistics/not_clipped", "rows are not brought to the ball")
def not_clipped() -> Case:
    """Keep the length of a row of twice the norm: Σyx moves twice as far, Σxxᵀ four times."""
    right = PolynomialStatistics.calibrate(MODEL, target=CLAIM, balance=0.3)
    long = [2 * largest(), 4 * largest() ** 2]
    return polynomial_case(right, CLAIM, long)


@twin("adassp/composition_forgotten", "three releases at the price of one")
def composition_forgotten() -> Case:
    """Each of the three releases takes the whole μ."""
    third = AdaSSP.calibrate(LINE, target=CLAIM)
    whole = tuple(Fraction(scale) * Fraction(577, 1000) for scale in third.scales)  # 1/√3
    broken = AdaSSP(LINE, scales=whole, relation=ADD_REMOVE)  # type: ignore[arg-type]
    return adassp_case(broken, CLAIM)
