"""Σ ~ IW(ν, Ψ), μ|Σ ~ N(m, Σ/κ): the normal–inverse-Wishart law, after its longer formulas."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammainccinv, multigammaln, polygamma, psi, stdtr, stdtrit

from discreet.families.exact_fields import Rational, exactly, power_of_two_above, rational
from discreet.families.family import Floats, credible
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
from discreet.families.laws.normal_inverse_gamma import log_student
from discreet.families.vector import VectorFamily
from discreet.privacy.arithmetic.ball import Exact
from discreet.sampling.source import Source


# ── Λ = Σ⁻¹ ~ Wishart(ν, Ψ⁻¹), μ|Σ ~ N(m, Σ/κ): moments of T = (Λμ, −½Λ packed, −½μᵀΛμ, ½ln|Λ|).
def wishart_log_partition(k: float, nu: float, scale: Floats) -> float:
    """C = ½νd ln 2 + lnΓ_d(ν/2) − ½ν ln|Ψ| + ½d ln(2π/κ)."""
    d = scale.shape[0]
    wishart = nu * d / 2 * np.log(2) + multigammaln(nu / 2, d) - nu / 2 * np.linalg.slogdet(scale)[1]
    return float(wishart + d / 2 * np.log(2 * np.pi / k))


def wishart_mean(m: Floats, k: float, nu: float, scale: Floats) -> Floats:
    """EΛ = νΨ⁻¹, E ln|Λ| = Σψ((ν−i)/2) + d ln 2 − ln|Ψ|, EμᵀΛμ = mᵀEΛm + d/κ."""
    d = m.size
    precision = nu * np.linalg.inv(scale)
    log = psi((nu - np.arange(d)) / 2).sum() + d * np.log(2) - np.linalg.slogdet(scale)[1]
    packed = -0.5 * twice_off_diagonal(d) * pack(precision)
    return np.concatenate([precision @ m, packed, [-(m @ precision @ m + d / k) / 2, log / 2]])


def wishart_covariance(m: Floats, k: float, nu: float, scale: Floats) -> Floats:
    """Cov(Λ_ij, Λ_kl) = ν(V_ik V_jl + V_il V_jk), V = Ψ⁻¹; Cov(Λ, ln|Λ|) = 2V; Λμ = Λm + Λ^½z/√κ."""
    d = m.size
    V = np.linalg.inv(scale)
    coefficients, cross = _linear(m, k)
    wishart = nu * (np.einsum("ik,jl->ijkl", V, V) + np.einsum("il,jk->ijkl", V, V)).reshape(d * d, d * d)
    covariance: Floats = coefficients @ wishart @ coefficients.T + nu * cross @ V @ cross.T
    mixed = np.zeros_like(covariance)
    mixed[:, -1] = coefficients @ V.reshape(-1)
    covariance += mixed + mixed.T
    covariance[-2, -2] += d / (2 * k**2)
    covariance[-1, -1] += polygamma(1, (nu - np.arange(d)) / 2).sum() / 4
    return covariance


def _linear(m: Floats, k: float) -> tuple[Floats, Floats]:
    """T's coefficients of vec Λ and of Λ^½z."""
    d, eye = m.size, np.eye(m.size)
    first = np.kron(eye, m)
    rows, columns = np.triu_indices(d)
    second = -0.5 * (np.einsum("ri,rj->rij", eye[rows], eye[columns])).reshape(-1, d * d)
    second *= twice_off_diagonal(d)[:, None]
    quadratic = -0.5 * np.kron(m, m)[None]
    cross = np.concatenate([eye, np.zeros((rows.size, d)), -m[None], np.zeros((1, d))]) / np.sqrt(k)
    return np.concatenate([first, second, quadratic, np.zeros((1, d * d))]), cross


def covariance_variance(nu: float, scale: Floats) -> Floats:
    """Var Σ_ij = [(δ+1)Ψ_ij² + (δ−1)Ψ_iiΨ_jj]/(δ(δ−1)²(δ−3)), δ = ν − d; ∞ for δ ≤ 3."""
    delta = nu - scale.shape[0]
    if not delta > 3:
        return np.full(scale.shape, np.inf)
    diagonal = np.diag(scale)
    top = (delta + 1) * scale**2 + (delta - 1) * np.outer(diagonal, diagonal)
    return top / (delta * (delta - 1) ** 2 * (delta - 3))


def covariance_quantile(nu: float, scale: Floats, i: int, j: int, probability: float) -> float:
    """Quantile of Σ_ij = Σ_ii·B, Σ_ii ~ IG(½(ν−d+1), ½Ψ_ii) independent of B = Σ_ij/Σ_ii, a Student t."""
    from scipy.integrate import quad  # noqa: PLC0415 - loads on first use
    from scipy.optimize import brentq  # noqa: PLC0415

    half = (nu - scale.shape[0] + 1) / 2
    if i == j:
        return float(scale[i, i] / 2 / gammainccinv(half, probability))
    centre, degrees = scale[i, j] / scale[i, i], 2 * half + 1
    spread = np.sqrt(scale[j, j] / scale[i, i] - centre**2) / np.sqrt(degrees)

    def excess(c: float) -> float:
        def inner(u: float) -> float:
            first = scale[i, i] / 2 / gammainccinv(half, u)
            return float(stdtr(degrees, (c / first - centre) / spread))

        return float(quad(inner, 0, 1, limit=200, epsabs=1e-11)[0]) - probability

    reach = np.sqrt(scale[i, i] * scale[j, j])
    while excess(-reach) > 0 or excess(reach) < 0:
        reach *= 2
    return float(brentq(excess, -reach, reach, xtol=1e-12 * reach))


# ── normal inverse wishart
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
        return wishart_log_partition(k, nu, scale)

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
        return wishart_mean(*self._parameters)

    def covariance_sufficient(self) -> Floats:
        return wishart_covariance(*self._parameters)

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
        return np.concatenate([first, pack(covariance_variance(nu, scale))])

    def interval(self, level: float) -> Floats:
        """Marginals: μ_i ~ t_δ(m_i, Ψ_ii/(κδ)), δ = ν−d+1; Σ_ij as in wishart.covariance_quantile."""
        m, k, nu, scale = self._parameters
        tails, delta = credible(level), nu - self.dimension + 1
        spread = np.sqrt(np.diag(scale) / (k * delta))
        first = m[:, None] + spread[:, None] * stdtrit(delta, tails)
        cells = zip(*np.triu_indices(self.dimension), strict=True)
        second = [[covariance_quantile(nu, scale, int(i), int(j), t) for t in tails] for i, j in cells]
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
