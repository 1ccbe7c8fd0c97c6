"""Cases of noisy moments: polynomial statistics of a logistic regression, AdaSSP's three releases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.audit.case import Case, Cases
from discreet.audit.exact_profiles import normal
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.mechanisms.noise.laplace import default_grid
from discreet.mechanisms.regression.adassp import AdaSSP
from discreet.mechanisms.regression.polynomial_statistics import PolynomialStatistics
from discreet.models.design import Feature
from discreet.models.generalized_linear import BayesianLogisticRegression
from discreet.models.signed_moments import moment_ball, signed_moments
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, Guarantee, Relation
from discreet.privacy.kinds import GaussianDP
from discreet.sampling import exact
from discreet.sampling.source import Source

case = Cases()

EPSILON = 1.0
MODEL = BayesianLogisticRegression("y", ("x",), norm=1, intercept=False).bind((Feature("x"),))
LINE = BayesianLinearRegression([0], [[1]], shape=2, scale=1, radius=1)


def shifted(claim: Guarantee, sigmas: Sequence[Fraction], moved: Sequence[int]) -> Case:
    """N(Δ, diag σ²) against N(0, diag σ²): μ² = ΣΔ²/σ², event where the log ratio exceeds ε."""
    shift = np.array(moved, dtype=np.float64)
    inverse = np.array([float(1 / sigma**2) for sigma in sigmas])
    square = float(inverse @ shift**2)
    return Case(
        claim,
        partial(_runs, sigmas),
        (moved, [0] * len(moved)),
        lambda out: out @ (inverse * shift) - square / 2 > EPSILON,
        normal(math.sqrt(square)),
        epsilon=EPSILON,
    )


def _runs(sigmas: Sequence[Fraction], means: Sequence[int], runs: int, source: Source) -> NDArray[np.float64]:
    """Many runs at once, NOT a release: the noise that release adds once, on the entries of one column."""
    each = [
        exact.normal(source, mean, sigma**2, runs, default_grid(sigma))
        for sigma, mean in zip(sigmas, means, strict=True)
    ]
    return np.stack(each, axis=1)


def moved(features: float, relation: Relation) -> list[int]:
    """Σr and Σr² of one record more, or of one with the other label, as a mechanism is given them."""
    one = signed_moments(MODEL, [[features]], [1])
    other = signed_moments(MODEL, [[features]], [-1]) if relation is SUBSTITUTE else 0
    return [int(step) for step in one - other]


def polynomial_case(
    mechanism: PolynomialStatistics, claim: Guarantee, change: list[int] | None = None
) -> Case:
    return shifted(claim, mechanism.steps, change or moved(1.0, mechanism.relation))


@case("polynomial_statistics")
def polynomial() -> Case:
    """One record more, of norm 1: both moments move, and the claim is their joint sensitivity."""
    claim = GaussianDP(1, relation=ADD_REMOVE)
    mechanism = PolynomialStatistics.calibrate(MODEL, target=claim, balance=0.3)
    return polynomial_case(mechanism, claim)


@case("polynomial_statistics/substitute")
def relabelled() -> Case:
    """One record's label changes; at balance 1 that is as bad as any other record in its place."""
    claim = GaussianDP(1)
    mechanism = PolynomialStatistics.calibrate(MODEL, n=4, target=claim, balance=1)
    return polynomial_case(mechanism, claim)


def adassp_case(mechanism: AdaSSP, claim: Guarantee) -> Case:
    """One record more, (x, y) = (1, 0): λ_min and XᵀX move all the way, Xᵀy not at all."""
    most = LINE.ball.largest**2
    return shifted(claim, [Fraction(scale) for scale in mechanism.scales], [most, most, 0])


@case("adassp")
def ridge() -> Case:
    claim = GaussianDP(1, relation=ADD_REMOVE)
    return adassp_case(AdaSSP.calibrate(LINE, target=claim), claim)


def largest() -> int:
    """R, in steps."""
    return moment_ball(MODEL).largest
