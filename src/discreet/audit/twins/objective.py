"""Broken twins of objective perturbation: BROKEN ON PURPOSE, never for use."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.case import Case
from discreet.audit.cases.objective import GRID, Ideal, Pair, audited, regression
from discreet.audit.twins.twin import RUNS_ONLY, Twins
from discreet.mechanisms.regression.objective_perturbation import ObjectivePerturbation
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.privacy.kinds import GaussianDP

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
