"""Σ ~ IW(ν, Ψ), μ|Σ ~ N(m, Σ/κ): the normal–inverse-Wishart law; its longer formulas are in wishart.py."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from discreet.families.exact_fields import Rational, exactly, power_of_two_above, rational
from discreet.families.family import Floats, credible
from discreet.families.laws import wishart
from discreet.families.laws.matrices import (
    Matrix,
    PositiveDefinite,
    RationalVector,
    Vector,
    floats,
    pack,
    twice_off_diagonal,
    unpack,
    unpack_exact,
)
from discreet.families.laws.student import log_student
from discreet.families.vector import VectorFamily
from discreet.privacy.arithmetic.ball import Exact
from discreet.sampling.source import Source


@dataclass(frozen=True, repr=False, init=False)
class NormalInverseWishartLaw(VectorFamily):
    """θ = (μ, Σ packed), one flat vector; Λ = Σ⁻¹; η = (κm, Ψ+κmmᵀ packed, κ, ν).

    T = (Λμ, −½Λ, −½μᵀΛμ, ½ln|Λ|), base |Σ|^{−(d+2)/2} dμ dΣ.
    """

    spelled: ClassVar[dict[str, str]] = {"location": "mean"}
    location: RationalVector = RationalVector("mean")  # noqa: RUF009 - a descriptor
    strength: Rational = Rational()  # noqa: RUF009
    degrees: Rational = Rational()  # noqa: RUF009
    scale: PositiveDefinite = PositiveDefinite()  # noqa: RUF009

    @property
    def dimension(self) -> int:
        return len(self.location)

    def scale_prior(self, factor: Exact) -> Self:
        """Multiply η; ν − d + 1 need not stay positive for a factor below 1, and is then refused."""
        m = rational(factor, what="factor")
        scale = tuple(tuple(m * x for x in row) for row in self.scale)
        return self._with(strength=self.strength * m, degrees=self.degrees * m, scale=scale)

    def _exact_natural(self) -> tuple[Vector, Matrix]:
        """Return (κm, Ψ+κmmᵀ)."""
        return tuple(self.strength * m for m in self.location), _plus_outer(
            self.scale, self.location, self.strength
        )

    def _from_exact(self, first: Vector, second: Matrix, strength: Fraction, degrees: Fraction) -> Self:
        mean = tuple(x / strength for x in first)
        scale = _plus_outer(second, mean, -strength)
        return self._with(mean=mean, strength=strength, degrees=degrees, scale=scale)

    # --- calculus ------------
    @property
    def natural(self) -> Floats:
        m, k, nu, scale = self._parameters
        return np.concatenate([k * m, pack(scale + k * np.outer(m, m)), [k, nu]])

    def from_natural(self, eta: ArrayLike) -> Self:
        flat, d = [exactly(x) for x in np.asarray(eta, dtype=np.float64).tolist()], self.dimension
        k = rational(flat[-2], what="strength")
        return self._from_exact(tuple(flat[:d]), unpack_exact(flat[d:-2]), k, flat[-1])

    def log_partition(self) -> float:
        _, k, nu, scale = self._parameters
        return wishart.log_partition(k, nu, scale)

    def sufficient(self, theta: ArrayLike) -> Floats:
        mu, covariance = self.split_parameter(theta)
        precision = np.linalg.inv(covariance)
        linear = np.einsum("...ij,...j->...i", precision, mu)
        packed = -0.5 * twice_off_diagonal(self.dimension) * pack(precision)
        last = np.stack([(mu * linear).sum(axis=-1), np.linalg.slogdet(covariance)[1]], axis=-1)
        return np.concatenate([linear, packed, -0.5 * last], axis=-1)

    def log_base(self, theta: ArrayLike) -> Floats:
        return -(self.dimension + 2) / 2 * np.linalg.slogdet(self.split_parameter(theta)[1])[1]

    def mean_sufficient(self) -> Floats:
        return wishart.mean_sufficient(*self._parameters)

    def covariance_sufficient(self) -> Floats:
        return wishart.covariance_sufficient(*self._parameters)

    # --- the law of θ = (μ, Σ packed) ------------
    def draw_records(self, theta: Floats, rng: np.random.Generator) -> Floats:
        mu, covariance = self.split_parameter(theta)
        z = rng.standard_normal((*mu.shape, 1))
        return np.asarray(mu + (np.linalg.cholesky(covariance) @ z)[..., 0])

    def split_parameter(self, theta: ArrayLike) -> tuple[Floats, Floats]:
        """Return (μ, Σ) of flat parameters."""
        flat = np.asarray(theta, dtype=np.float64)
        return flat[..., : self.dimension], unpack(flat[..., self.dimension :])

    def mean(self) -> Floats:
        m, _, nu, scale = self._parameters
        spare = nu - self.dimension - 1
        return np.concatenate([m, pack(scale / spare if spare > 0 else np.full(scale.shape, np.inf))])

    def variance(self) -> Floats:
        _, k, nu, scale = self._parameters
        spare = nu - self.dimension - 1
        first = np.diag(scale) / (k * spare) if spare > 0 else np.full(self.dimension, np.inf)
        return np.concatenate([first, pack(wishart.covariance_variance(nu, scale))])

    def interval(self, level: float) -> Floats:
        """Marginals: μ_i ~ t_δ(m_i, Ψ_ii/(κδ)), δ = ν−d+1; Σ_ij as in wishart.covariance_quantile."""
        m, k, nu, scale = self._parameters
        tails, delta = credible(level), nu - self.dimension + 1
        spread = np.sqrt(np.diag(scale) / (k * delta))
        first = m[:, None] + spread[:, None] * stdtrit(delta, tails)
        cells = zip(*np.triu_indices(self.dimension), strict=True)
        second = [
            [wishart.covariance_quantile(nu, scale, int(i), int(j), t) for t in tails] for i, j in cells
        ]
        return np.concatenate([first, second])

    def sample(self, size: int, source: Source | None = None) -> NDArray[Any]:
        from discreet.sampling.exact import normal_inverse_wishart  # noqa: PLC0415 - on first use
        from discreet.sampling.source import SYSTEM  # noqa: PLC0415

        _, k, nu, scale = self._parameters
        spread = float(np.sqrt(np.diag(scale).min() / (k * nu)))
        grid = power_of_two_above(Fraction(spread)) / 2**21
        mu, covariance = normal_inverse_wishart(
            source or SYSTEM, self.location, self.strength, self.degrees, self.scale, size, grid
        )
        return np.concatenate([mu, pack(covariance)], axis=-1)

    def log_likelihood(self, x: ArrayLike, theta: ArrayLike) -> Floats:
        mu, covariance = self.split_parameter(theta)
        gap = np.asarray(x, dtype=np.float64) - mu
        square = np.einsum("...i,...ij,...j->...", gap, np.linalg.inv(covariance), gap)
        return -0.5 * (square + self.dimension * np.log(2 * np.pi) + np.linalg.slogdet(covariance)[1])

    def log_predictive(self, x: ArrayLike) -> Floats:
        """t_δ(m, Ψ(κ+1)/(κδ)), δ = ν−d+1, of whole rows."""
        m, k, nu, scale = self._parameters
        delta = nu - self.dimension + 1
        shape = scale * (k + 1) / (k * delta)
        gap = np.asarray(x, dtype=np.float64) - m
        square = np.einsum("...i,ij,...j->...", gap, np.linalg.inv(shape), gap)
        return log_student(square, delta, 1.0, self.dimension) - 0.5 * np.linalg.slogdet(shape)[1]

    @property
    def _parameters(self) -> tuple[Floats, float, float, Floats]:
        location = np.array([float(x) for x in self.location])
        return location, float(self.strength), float(self.degrees), floats(self.scale)


def _plus_outer(matrix: Matrix, x: Vector, factor: Fraction) -> Matrix:
    """Return matrix + factor·xxᵀ."""
    rows = zip(matrix, x, strict=True)
    return tuple(tuple(m + factor * a * b for m, b in zip(row, x, strict=True)) for row, a in rows)
