"""σ² ~ IG(a, b), μ|σ² ~ N(m, σ²/κ): the calculus of the normal–inverse-gamma law."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammainccinv, gammaln, polygamma, psi, stdtrit

from discreet.families.exact_fields import Rational, exactly, power_of_two_above, rational
from discreet.families.family import Floats, credible
from discreet.families.vector import VectorFamily
from discreet.privacy.arithmetic.ball import Exact
from discreet.sampling.source import Source


# ── Student's t, the predictive of every normal family with unknown spread.
def log_student(square: Floats, degrees: float, scale: Floats | float, dimension: int = 1) -> Floats:
    """Γ((ν+d)/2)/(Γ(ν/2)(νπs)^{d/2}) · (1 + q/(νs))^{−(ν+d)/2}, q the squared distance, s the scale."""
    half = (degrees + dimension) / 2
    front = gammaln(half) - gammaln(degrees / 2) - dimension / 2 * np.log(degrees * np.pi * scale)
    return front - half * np.log1p(square / (degrees * scale))


# ── normal inverse gamma
@dataclass(frozen=True, repr=False, init=False)
class NormalInverseGammaLaw(VectorFamily):
    """θ = (μ, σ²), η = (κm, 2b+κm², κ, 2a), T = (μ/σ², −1/(2σ²), −μ²/(2σ²), −½ln σ²).

    C = lnΓ(a) − a ln b + ½ln(2π/κ), base (σ²)^{−3/2} dμ dσ²; every positive multiple of η is normalizable.
    """

    spelled: ClassVar[dict[str, str]] = {"location": "mean"}
    location: Rational = Rational(positive=False)  # noqa: RUF009 - a descriptor
    strength: Rational = Rational()  # noqa: RUF009
    shape: Rational = Rational()  # noqa: RUF009
    scale: Rational = Rational()  # noqa: RUF009

    def scale_prior(self, factor: Exact) -> Self:
        m = rational(factor, what="factor")
        return self._with(strength=self.strength * m, shape=self.shape * m, scale=self.scale * m)

    def _exact_natural(self) -> tuple[Fraction, ...]:
        first = self.strength * self.location
        return first, 2 * self.scale + first * self.location, self.strength, 2 * self.shape

    def _from_exact(self, first: Fraction, second: Fraction, strength: Fraction, twice: Fraction) -> Self:
        mean = first / rational(strength, what="strength")
        return self._with(mean=mean, strength=strength, shape=twice / 2, scale=(second - first * mean) / 2)

    # --- calculus ------------
    @property
    def natural(self) -> Floats:
        return np.array([float(x) for x in self._exact_natural()])

    def from_natural(self, eta: ArrayLike) -> Self:
        return self._from_exact(*map(exactly, np.asarray(eta, dtype=np.float64).tolist()))

    def log_partition(self) -> float:
        _, k, a, b = self._parameters
        return float(gammaln(a) - a * np.log(b) + 0.5 * np.log(2 * np.pi / k))

    def sufficient(self, theta: ArrayLike) -> Floats:
        mu, variance = np.moveaxis(np.asarray(theta, dtype=np.float64), -1, 0)
        tau = 1 / variance
        return np.stack([mu * tau, -0.5 * tau, -0.5 * mu**2 * tau, 0.5 * np.log(tau)], axis=-1)

    def log_base(self, theta: ArrayLike) -> Floats:
        return -1.5 * np.log(np.asarray(theta, dtype=np.float64)[..., 1])

    def mean_sufficient(self) -> Floats:
        """τ = 1/σ² ~ Gamma(a, b), Eτ = a/b, E ln τ = ψ(a) − ln b, Eμ²τ = m²a/b + 1/κ."""
        m, k, a, b = self._parameters
        tau = a / b
        return np.array([m * tau, -tau / 2, -(m**2 * tau + 1 / k) / 2, (psi(a) - np.log(b)) / 2])

    def covariance_sufficient(self) -> Floats:
        """μ = m + z/√(κτ): T is m-polynomials times τ, plus z√τ and z² terms; Cov(τ, ln τ) = 1/b."""
        m, k, a, b = self._parameters
        linear = np.array([m, -0.5, -(m**2) / 2, 0.0])  # the coefficients of τ
        cross = np.array([1.0, 0.0, -m, 0.0])  # of z√(τ/κ)
        log = np.array([0.0, 0.0, 0.0, 0.5])  # of ln τ
        mixed = np.outer(linear, log) / b
        spread = np.outer(linear, linear) * a / b**2 + np.outer(cross, cross) * a / (b * k)
        covariance: Floats = spread + mixed + mixed.T + np.outer(log, log) * polygamma(1, a)
        covariance[2, 2] += 0.5 / k**2
        return covariance

    # --- the law of θ = (μ, σ²) ------------
    def mean(self) -> Floats:
        m, _, a, b = self._parameters
        return np.array([m if a > 0.5 else np.nan, b / (a - 1) if a > 1 else np.inf])

    def variance(self) -> Floats:
        _, k, a, b = self._parameters
        first = b / ((a - 1) * k) if a > 1 else np.inf
        return np.array([first, b**2 / ((a - 1) ** 2 * (a - 2)) if a > 2 else np.inf])

    def interval(self, level: float) -> Floats:
        """Marginals: μ ~ t_{2a}(m, b/(aκ)), σ² ~ IG(a, b)."""
        m, k, a, b = self._parameters
        tails = credible(level)
        return np.array([m + np.sqrt(b / (a * k)) * stdtrit(2 * a, tails), b / gammainccinv(a, tails)])

    def sample(self, size: int, source: Source | None = None) -> NDArray[Any]:
        from discreet.sampling.exact import normal_inverse_gamma  # noqa: PLC0415 - on first use
        from discreet.sampling.source import SYSTEM  # noqa: PLC0415

        spread = (self.scale / (self.shape * self.strength)) ** 0.5
        grid = power_of_two_above(exactly(float(spread))) / 2**21
        pair = normal_inverse_gamma(
            source or SYSTEM, self.location, self.strength, self.shape, self.scale, size, grid
        )
        return np.stack(pair, axis=-1)

    def log_likelihood(self, x: ArrayLike, theta: ArrayLike) -> Floats:
        mu, variance = np.moveaxis(np.asarray(theta, dtype=np.float64), -1, 0)
        gap = np.asarray(x, dtype=np.float64) - mu
        return -(gap**2) / (2 * variance) - 0.5 * np.log(2 * np.pi * variance)

    def log_predictive(self, x: ArrayLike) -> Floats:
        """t_{2a}(m, b(κ+1)/(aκ))."""
        m, k, a, b = self._parameters
        return log_student((np.asarray(x, dtype=np.float64) - m) ** 2, 2 * a, b * (k + 1) / (a * k))

    @property
    def _parameters(self) -> tuple[float, float, float, float]:
        return float(self.location), float(self.strength), float(self.shape), float(self.scale)
