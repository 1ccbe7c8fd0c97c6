"""λ ~ Gamma(shape, rate): the calculus shared by the families whose parameter is a rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammainccinv, gammaincinv, gammaln, polygamma, psi, xlogy

from discreet.families.exact_fields import Rational, rational
from discreet.families.family import Floats, credible
from discreet.families.records import ScalarFamily
from discreet.privacy.arithmetic.ball import Exact
from discreet.sampling.source import Source


@dataclass(frozen=True, repr=False)
class GammaLaw(ScalarFamily):
    """η = (s, t) = (shape, rate), T = (ln λ, −λ), C = lnΓ(s) − s ln t, base dλ/λ [GSC17 A.1].

    With this base measure every positive multiple of η is normalizable, whichever the likelihood.
    """

    shape: Rational = Rational()  # noqa: RUF009 - a descriptor
    rate: Rational = Rational()  # noqa: RUF009

    def scale_prior(self, factor: Exact) -> Self:
        m = rational(factor, what="factor")
        return self._with(shape=self.shape * m, rate=self.rate * m)

    @property
    def natural(self) -> Floats:
        return np.array(self._parameters)

    def from_natural(self, eta: ArrayLike) -> Self:
        shape, rate = np.asarray(eta, dtype=np.float64).tolist()
        return self._with(shape=shape, rate=rate)

    def log_partition(self) -> float:
        s, t = self._parameters
        return float(gammaln(s) - s * np.log(t))

    def sufficient(self, theta: ArrayLike) -> Floats:
        rate = np.asarray(theta, dtype=np.float64)
        with np.errstate(divide="ignore"):
            return np.stack([np.log(rate), -rate], axis=-1)

    def log_base(self, theta: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            value: Floats = -np.log(np.asarray(theta, dtype=np.float64))
        return value

    def mean_sufficient(self) -> Floats:
        s, t = self._parameters
        return np.array([psi(s) - np.log(t), -s / t])

    def covariance_sufficient(self) -> Floats:
        s, t = self._parameters
        return np.array([[polygamma(1, s), -1 / t], [-1 / t, s / t**2]])

    def log_density(self, theta: ArrayLike) -> Floats:
        rate = np.asarray(theta, dtype=np.float64)
        s, t = self._parameters
        inside = rate >= 0
        x = np.where(inside, rate, 1.0)
        return np.where(inside, xlogy(s - 1, x) - t * x - self.log_partition(), -np.inf)

    def mean(self) -> float:
        return float(self.shape / self.rate)

    def variance(self) -> float:
        return float(self.shape / self.rate**2)

    def interval(self, level: float) -> Floats:
        tail = credible(level)[0]
        s, t = self._parameters
        return np.array([gammaincinv(s, tail), gammainccinv(s, tail)]) / t

    def sample(self, size: int, source: Source | None = None) -> NDArray[Any]:
        from discreet.sampling.exact import gamma  # noqa: PLC0415 - loads the exact samplers on first use
        from discreet.sampling.source import SYSTEM  # noqa: PLC0415

        return gamma(source or SYSTEM, self.shape, size, rate=self.rate)

    @property
    def _parameters(self) -> tuple[float, float]:
        return float(self.shape), float(self.rate)
