"""p ~ Beta(α, β): the calculus shared by the families whose parameter is a probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainccinv, betaincinv, betaln, gammaln, polygamma, psi, xlog1py, xlogy

from discreet.families.exact_fields import Rational, exactly, rational
from discreet.families.family import Floats, credible
from discreet.families.records import ScalarFamily
from discreet.privacy.arithmetic.ball import Exact
from discreet.sampling.source import Source


@dataclass(frozen=True, repr=False)
class BetaLaw(ScalarFamily):
    """η = (α, α+β), T = (logit p, ln(1−p)), C = lnΓ(η₁) + lnΓ(η₂−η₁) − lnΓ(η₂) [G20 §3.3].

    The base measure is dp/(p(1−p)), so that h = 1 in the natural coordinate logit p.
    """

    alpha: Rational = Rational()  # noqa: RUF009 - a descriptor
    beta: Rational = Rational()  # noqa: RUF009

    def scale_prior(self, factor: Exact) -> Self:
        m = rational(factor, what="factor")
        return self._with(alpha=self.alpha * m, beta=self.beta * m)

    @property
    def natural(self) -> Floats:
        return np.array([float(self.alpha), float(self.alpha + self.beta)])

    def from_natural(self, eta: ArrayLike) -> Self:
        first, second = np.asarray(eta, dtype=np.float64).tolist()
        return self._with(alpha=first, beta=exactly(second) - exactly(first))

    def log_partition(self) -> float:
        a, b = self._parameters
        return float(gammaln(a) + gammaln(b) - gammaln(a + b))

    def sufficient(self, theta: ArrayLike) -> Floats:
        p = np.asarray(theta, dtype=np.float64)
        with np.errstate(divide="ignore"):
            return np.stack([np.log(p) - np.log1p(-p), np.log1p(-p)], axis=-1)

    def log_base(self, theta: ArrayLike) -> Floats:
        p = np.asarray(theta, dtype=np.float64)
        with np.errstate(divide="ignore"):
            return -np.log(p) - np.log1p(-p)

    def mean_sufficient(self) -> Floats:
        a, b = self._parameters
        return np.array([psi(a) - psi(b), psi(b) - psi(a + b)])

    def covariance_sufficient(self) -> Floats:
        a, b = self._parameters
        first, second, total = polygamma(1, [a, b, a + b])
        return np.array([[first + second, -second], [-second, second - total]])

    def log_density(self, theta: ArrayLike) -> Floats:
        p = np.asarray(theta, dtype=np.float64)
        a, b = self._parameters
        inside = (p >= 0) & (p <= 1)
        q = np.where(inside, p, 0.5)
        return np.where(inside, xlogy(a - 1, q) + xlog1py(b - 1, -q) - betaln(a, b), -np.inf)

    def mean(self) -> float:
        return float(self.alpha / (self.alpha + self.beta))

    def variance(self) -> float:
        total = self.alpha + self.beta
        return float(self.alpha * self.beta / (total**2 * (total + 1)))

    def interval(self, level: float) -> Floats:
        tail = credible(level)[0]
        a, b = self._parameters
        return np.array([betaincinv(a, b, tail), betainccinv(a, b, tail)])

    def sample(self, size: int, source: Source | None = None) -> NDArray[Any]:
        from discreet.sampling.exact import beta  # noqa: PLC0415 - loads the exact samplers on first use
        from discreet.sampling.source import SYSTEM  # noqa: PLC0415

        return beta(source or SYSTEM, self.alpha, self.beta, size)

    @property
    def _parameters(self) -> tuple[float, float]:
        return float(self.alpha), float(self.beta)
