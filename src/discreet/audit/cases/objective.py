"""Cases of objective perturbation: few records in one or two dimensions, where the law of θ̃ has a density.

p(θ) = N(∇F(θ); 0, σ²I)·det ∇²F(θ), and given θ̃ the Hessian is a Gaussian mechanism; both by quadrature.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from discreet.audit.case import Case, Cases, Profile
from discreet.audit.exact_profiles import normal
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.mechanisms.noise.laplace import default_grid
from discreet.mechanisms.regression.adassp import AdaSSP
from discreet.mechanisms.regression.objective_perturbation import ObjectivePerturbation
from discreet.mechanisms.regression.polynomial_statistics import PolynomialStatistics
from discreet.models.generalized_linear import BayesianLogisticRegression, Feature, GeneralizedLinear
from discreet.models.hinge import HuberHinge
from discreet.models.regression_records import moment_ball, signed_moments
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, Guarantee, Relation
from discreet.privacy.kinds import GaussianDP
from discreet.sampling import exact
from discreet.sampling.source import Source

Floats = NDArray[np.float64]


case = Cases()

Record = tuple[tuple[float, ...], float]
GRID = Fraction(1, 2**30)
STEPS, CLOSE = 60, 1e-9
SIDE = {1: 20_001, 2: 301}  # nodes of the quadrature, by dimension


@final
@dataclass(frozen=True)
class Ideal:
    """θ̃ and H̃ of a few records: λ, σ, σ_H, and the signed rows u = yx."""

    rows: tuple[tuple[float, ...], ...]
    strength: float
    noise: float
    hessian_noise: float
    dimension: int
    hinge: float | None = None  # of a rounded hinge, how wide; None: logistic

    @classmethod
    def of(cls, mechanism: ObjectivePerturbation, records: Sequence[Record]) -> Ideal:
        rows = tuple(tuple(y * v for v in x) for x, y in records)
        noise, hessian_noise = (math.sqrt(v) for v in (mechanism.variance, mechanism.hessian_variance))
        width = getattr(mechanism.model.loss, "width", None)
        hinge = None if width is None else float(width)
        return cls(rows, mechanism.strength, noise, hessian_noise, mechanism.model.dimension, hinge)

    @cached_property
    def signed(self) -> Floats:
        return np.array(self.rows, dtype=np.float64).reshape(-1, self.dimension)

    def gradient(self, theta: Floats) -> Floats:
        """∇F at each of m points, m×d."""
        return np.asarray(self._slopes(theta) @ self.signed + self.strength * theta)

    def _slopes(self, theta: Floats) -> Floats:
        s = theta @ self.signed.T
        if self.hinge is None:
            return np.asarray(-expit(-s))
        return np.asarray(-np.clip((1 + self.hinge - s) / (2 * self.hinge), 0, 1))

    def hessian(self, theta: Floats) -> Floats:
        """Σq(1−q)xxᵀ, or Σ[|1 − s| ≤ h]xxᵀ/(2h), m×d×d."""
        q = -self._slopes(theta)
        bends = q * (1 - q) if self.hinge is None else ((q > 0) & (q < 1)) / (2 * self.hinge)
        return np.asarray(np.einsum("mi,ij,ik->mjk", bends, self.signed, self.signed))

    def log_density(self, theta: Floats) -> Floats:
        d, g = self.dimension, self.gradient(theta)
        curved = self.hessian(theta) + self.strength * np.eye(d)
        constant = d / 2 * math.log(2 * math.pi * self.noise**2)
        return np.asarray(
            -np.sum(g * g, axis=1) / 2 / self.noise**2 - constant + np.log(np.linalg.det(curved))
        )

    def minima(self, tilts: Floats) -> Floats:
        """Solve ∇F(θ) = −b for each b, by damped Newton steps."""
        theta = -tilts / self.strength
        for _ in range(STEPS):
            g = self.gradient(theta) + tilts
            step = np.linalg.solve(self.hessian(theta) + self.strength * np.eye(self.dimension), g[..., None])
            length = np.linalg.norm(step[..., 0], axis=1, keepdims=True)
            theta = theta - step[..., 0] * np.minimum(1, 2 / np.maximum(length, 1e-12))
            if length.max() < CLOSE:
                break
        return theta

    def draw(self, runs: int, source: Source) -> NDArray[Any]:
        """Many outputs (θ̃, H̃) at once, NOT releases; the output noise of less than 1e-6 is left out."""
        wide, d = self.hessian_noise, self.dimension
        tilts = exact.normal(source, 0, Fraction(self.noise) ** 2, runs * d, GRID).reshape(runs, d)
        theta = self.minima(tilts)
        noise = exact.normal(source, 0, Fraction(wide) ** 2, runs * d * d, GRID).reshape(runs, d, d)
        blurred = self.hessian(theta) + (noise + noise.transpose(0, 2, 1)) / 2
        return np.concatenate([theta, blurred.reshape(runs, d * d)], axis=1)


@final
@dataclass(frozen=True)
class Pair:
    """Two neighbouring data sets under one mechanism."""

    left: Ideal
    right: Ideal

    def loss(self, theta: Floats) -> Floats:
        """Log ratio of the laws of θ̃."""
        return self.left.log_density(theta) - self.right.log_density(theta)

    def event(self, epsilon: float) -> Callable[[NDArray[Any]], NDArray[np.bool_]]:
        """Where the log ratio of (θ̃, H̃) exceeds ε."""
        d, v = self.left.dimension, 2 * self.left.hessian_noise**2

        def beyond(outputs: NDArray[Any]) -> NDArray[np.bool_]:
            theta, seen = outputs[:, :d], outputs[:, d:].reshape(-1, d, d)
            far, near = (np.sum((seen - s.hessian(theta)) ** 2, axis=(1, 2)) for s in (self.right, self.left))
            return np.asarray(self.loss(theta) + (far - near) / v > epsilon)

        return beyond

    def profile(self) -> Profile:
        """∫p(θ)·δ_{m(θ)}(ε − loss(θ))dθ, m = ‖H − H'‖_F/σ_H; the normal profile δ_m takes any real ε."""
        d = self.left.dimension
        reach = 9 * self.left.noise / self.left.strength + len(self.left.rows) / self.left.strength
        axis = np.linspace(-reach, reach, SIDE[d])
        theta = np.stack(np.meshgrid(*[axis] * d), axis=-1).reshape(-1, d)
        mass = np.exp(self.left.log_density(theta)) * (axis[1] - axis[0]) ** d
        heavy = mass > mass.max() * 1e-14
        theta, mass = theta[heavy], mass[heavy]
        loss = self.loss(theta)
        apart = np.sqrt(np.sum((self.left.hessian(theta) - self.right.hessian(theta)) ** 2, axis=(1, 2)))
        m = np.maximum(apart / self.left.hessian_noise, 1e-9)

        def delta(epsilon: float) -> float:
            e = epsilon - loss
            return float(mass @ (ndtr(m / 2 - e / m) - np.exp(e) * ndtr(-m / 2 - e / m)))

        return delta


def regression(dimension: int, norm: int = 1) -> GeneralizedLinear:
    names = tuple(f"x{i}" for i in range(dimension))
    return GeneralizedLinear(
        "y", names, norm=norm, radius=10, intercept=False, design=tuple(Feature(name) for name in names)
    )


def audited(mechanism: ObjectivePerturbation, left: Sequence[Record], right: Sequence[Record]) -> Case:
    """Put the claim to the test at the mechanism's own ε, on one pair."""
    pair = Pair(Ideal.of(mechanism, left), Ideal.of(mechanism, right))
    epsilon = float(mechanism.epsilon)
    return Case(
        mechanism.guarantee,
        Ideal.draw,
        (pair.left, pair.right),
        pair.event(epsilon),
        pair.profile(),
        epsilon,
    )


@case("objective_perturbation")
def add_remove() -> Case:
    """Take a record away, the direction that no λ helps."""
    mechanism = ObjectivePerturbation(
        regression(1),
        mu_squared=1,
        strength=1 / 3,
        epsilon=2,
        hessian_share=Fraction(1, 20),
        relation=ADD_REMOVE,
    )
    return audited(mechanism, [], [((1.0,), 1.0)])


@case("objective_perturbation/substitute")
def substitute() -> Case:
    """Rows at a right angle: the two gradients share no direction."""
    mechanism = ObjectivePerturbation(
        regression(2),
        n=1,
        mu_squared=1,
        strength=0.5,
        epsilon=Fraction(1, 4),
        hessian_share=Fraction(1, 20),
        relation=SUBSTITUTE,
    )
    return audited(mechanism, [((1.0, 0.0), 1.0)], [((0.0, 1.0), 1.0)])


@case("objective_perturbation/smooth")
def smooth() -> Case:
    """Take a record of norm 2 away from the rounded hinge, whose bend is 4/(2h): the norm is squared."""
    mechanism = ObjectivePerturbation(
        replace(regression(1, 2), loss=HuberHinge(1)),
        mu_squared=1,
        strength=16,
        epsilon=1,
        hessian_share=Fraction(1, 20),
        relation=ADD_REMOVE,
    )
    return audited(mechanism, [], [((2.0,), 1.0)])


# ── Cases of noisy moments: polynomial statistics of a logistic regression, AdaSSP's three releases.
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
