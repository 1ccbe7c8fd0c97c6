"""σ² ~ IG(a, b), w|σ² ~ N(m, σ²P⁻¹): the normal–inverse-gamma law of a regression's weights."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammainccinv, gammaln, polygamma, psi, stdtrit

from discreet.families.exact_fields import Rational, exactly, power_of_two_above, rational
from discreet.families.family import Floats, credible
from discreet.families.laws.matrices import (
    Matrix,
    PositiveDefinite,
    RationalVector,
    dot,
    floats,
    pack,
    solve,
    twice_off_diagonal,
    unpack_exact,
)
from discreet.families.laws.normal_inverse_gamma import log_student
from discreet.families.vector import VectorFamily
from discreet.privacy.arithmetic.ball import Exact
from discreet.sampling.source import Source


@dataclass(frozen=True, repr=False, init=False)
class RegressionLaw(VectorFamily):
    """θ = (w, σ²); with v = (w, −1) and τ = 1/σ²: T = (−½τvvᵀ packed, ½ln τ), base (σ²)^{−1−d/2} dw dσ².

    η = ([[P, Pm], [mᵀP, 2b+mᵀPm]] packed, 2a), C = lnΓ(a) − a ln b − ½ln|P| + ½d ln 2π.
    """

    spelled: ClassVar[dict[str, str]] = {"location": "mean"}
    location: RationalVector = RationalVector("mean")  # noqa: RUF009 - a descriptor
    precision: PositiveDefinite = PositiveDefinite()  # noqa: RUF009
    shape: Rational = Rational()  # noqa: RUF009
    scale: Rational = Rational()  # noqa: RUF009

    @property
    def dimension(self) -> int:
        """Return d, the number of weights."""
        return len(self.location)

    def scale_prior(self, factor: Exact) -> Self:
        m = rational(factor, what="factor")
        precision = tuple(tuple(m * x for x in row) for row in self.precision)
        return self._with(precision=precision, shape=m * self.shape, scale=m * self.scale)

    def _exact_natural(self) -> Matrix:
        column = tuple(dot(row, self.location) for row in self.precision)
        corner = 2 * self.scale + dot(column, self.location)
        rows = tuple((*row, c) for row, c in zip(self.precision, column, strict=True))
        return (*rows, (*column, corner))

    def _from_exact(self, eta: Matrix, twice_shape: Fraction) -> Self:
        precision, column = tuple(row[:-1] for row in eta[:-1]), tuple(row[-1] for row in eta[:-1])
        mean = solve(precision, column)
        scale = (eta[-1][-1] - dot(mean, column)) / 2
        if not scale > 0:
            raise ValueError("no records have these second moments; project a noisy statistic first")
        return self._with(mean=mean, precision=precision, shape=twice_shape / 2, scale=scale)

    # --- calculus ------------
    @property
    def natural(self) -> Floats:
        return np.append(pack(floats(self._exact_natural())), float(2 * self.shape))

    def from_natural(self, eta: ArrayLike) -> Self:
        flat = [exactly(x) for x in np.asarray(eta, dtype=np.float64).tolist()]
        return self._from_exact(unpack_exact(flat[:-1]), flat[-1])

    def log_partition(self) -> float:
        _, P, a, b = self._parameters
        logdet = np.linalg.slogdet(P)[1]
        return float(gammaln(a) - a * np.log(b) - 0.5 * logdet + self.dimension / 2 * np.log(2 * np.pi))

    def sufficient(self, theta: ArrayLike) -> Floats:
        flat = np.asarray(theta, dtype=np.float64)
        variance = flat[..., -1:]
        v = np.concatenate([flat[..., :-1], -np.ones_like(variance)], axis=-1)
        square = pack(v[..., :, None] * v[..., None, :]) * twice_off_diagonal(self.dimension + 1)
        return np.concatenate([-0.5 * square / variance, -0.5 * np.log(variance)], axis=-1)

    def log_base(self, theta: ArrayLike) -> Floats:
        variance = np.asarray(theta, dtype=np.float64)[..., -1]
        return -(1 + self.dimension / 2) * np.log(variance)

    def mean_sufficient(self) -> Floats:
        """E τvvᵀ = (a/b)v̄v̄ᵀ + Q, v̄ = (m, −1), Q = P⁻¹ bordered by 0; E ln τ = ψ(a) − ln b."""
        _, _, a, b = self._parameters
        v, Q = self._centre()
        square = pack(a / b * np.outer(v, v) + Q) * twice_off_diagonal(v.size)
        return np.append(-0.5 * square, 0.5 * (psi(a) - np.log(b)))

    def covariance_sufficient(self) -> Floats:
        """√τv = √τv̄ + ξ, ξ ~ N(0, Q): τ, cross and Wick terms of vvᵀ; Cov(τ, ln τ) = 1/b."""
        _, _, a, b = self._parameters
        v, Q = self._centre()
        mean, wick = a / b * np.outer(v, v), np.einsum("ik,jl->ijkl", Q, Q)
        full = np.einsum("ik,jl->ijkl", mean, Q)
        full = full + full.transpose(1, 0, 3, 2) + wick
        full = full + full.transpose(0, 1, 3, 2) + a / b**2 * np.einsum("i,j,k,l->ijkl", v, v, v, v)
        rows, columns = np.triu_indices(v.size)
        weight = -0.5 * twice_off_diagonal(v.size)
        square = full[rows, columns][:, rows, columns] * np.outer(weight, weight)
        mixed = weight * pack(np.outer(v, v)) / (2 * b)
        return np.block([[square, mixed[:, None]], [mixed[None], np.array([[polygamma(1, a) / 4]])]])

    def _centre(self) -> tuple[Floats, Floats]:
        m, P, _, _ = self._parameters
        Q = np.zeros((m.size + 1, m.size + 1))
        Q[:-1, :-1] = np.linalg.inv(P)
        return np.append(m, -1.0), Q

    # --- the law of θ = (w, σ²) ------------
    def mean(self) -> Floats:
        m, _, a, b = self._parameters
        return np.append(m, b / (a - 1) if a > 1 else np.inf)

    def variance(self) -> Floats:
        m, P, a, b = self._parameters
        first = b / (a - 1) * np.diag(np.linalg.inv(P)) if a > 1 else np.full(m.size, np.inf)
        return np.append(first, b**2 / ((a - 1) ** 2 * (a - 2)) if a > 2 else np.inf)

    def interval(self, level: float) -> Floats:
        """Marginals: w_i ~ t_{2a}(m_i, (b/a)P⁻¹_ii), σ² ~ IG(a, b)."""
        m, P, a, b = self._parameters
        tails = credible(level)
        spread = np.sqrt(b / a * np.diag(np.linalg.inv(P)))
        return np.vstack([m[:, None] + spread[:, None] * stdtrit(2 * a, tails), b / gammainccinv(a, tails)])

    def sample(self, size: int, source: Source | None = None) -> NDArray[Any]:
        from discreet.sampling.exact import regression  # noqa: PLC0415 - loads on first use
        from discreet.sampling.source import SYSTEM  # noqa: PLC0415

        _, P, a, b = self._parameters
        spread = float(np.sqrt(b / a * np.diag(np.linalg.inv(P)).min()))
        grid = power_of_two_above(Fraction(spread)) / 2**21
        weights, variance = regression(
            source or SYSTEM, self.location, self.precision, self.shape, self.scale, size, grid
        )
        return np.concatenate([weights, variance[:, None]], axis=-1)

    def log_likelihood(self, x: ArrayLike, theta: ArrayLike) -> Floats:
        """Log density of y given x, for records z = (x, y)."""
        z, flat = np.asarray(x, dtype=np.float64), np.asarray(theta, dtype=np.float64)
        gap, variance = z[..., -1] - (z[..., :-1] * flat[..., :-1]).sum(axis=-1), flat[..., -1]
        return -(gap**2) / (2 * variance) - 0.5 * np.log(2 * np.pi * variance)

    def log_predictive(self, x: ArrayLike) -> Floats:
        """y|x ~ t_{2a}(xᵀm, (b/a)(1 + xᵀP⁻¹x)), for records z = (x, y)."""
        z = np.asarray(x, dtype=np.float64)
        m, P, a, b = self._parameters
        leverage = np.einsum("...i,ij,...j->...", z[..., :-1], np.linalg.inv(P), z[..., :-1])
        return log_student((z[..., -1] - z[..., :-1] @ m) ** 2, 2 * a, b / a * (1 + leverage))

    @property
    def _parameters(self) -> tuple[Floats, Floats, float, float]:
        location = np.array([float(x) for x in self.location])
        return location, floats(self.precision), float(self.shape), float(self.scale)
