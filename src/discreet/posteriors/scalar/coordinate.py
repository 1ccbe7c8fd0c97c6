"""Real lines on which one parameter is tabulated, and on which every prior is easy to integrate.

x is the logit of a probability, the log of a rate or a mean itself: there a conjugate prior falls off at a
known pace on both sides, however close to its ends θ comes. In v = Φ⁻¹(F(θ)) each prior is the standard
normal law: one with poles at its ends, or with any scale, then needs no care of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import (
    betainc,
    betaincc,
    betainccinv,
    betaincinv,
    expit,
    gammainc,
    gammaincc,
    gammainccinv,
    gammaincinv,
    logit,
    ndtr,
    ndtri,
)

from discreet.families.family import Family, Floats
from discreet.families.laws.beta import BetaLaw
from discreet.families.laws.gamma import GammaLaw
from discreet.families.normal_mean import NormalMean
from discreet.privacy.guarantee import NotProved

LEAST, MOST = 1e-300, 1 - 2.0**-53  # inside the support, whatever the rounding
LARGEST = 1e290


@final
@dataclass(frozen=True)
class Bulk:
    """Where the prior's density has its top, in this coordinate, and how far it takes to fall by 45 nats."""

    mode: float
    deviation: float
    left: float
    right: float


class Line(ABC):
    """The coordinates x and v of one prior's parameter."""

    @abstractmethod
    def theta(self, x: Floats) -> Floats:
        """θ(x)"""

    @abstractmethod
    def place(self, theta: Floats) -> Floats:
        """x(θ)"""

    @abstractmethod
    def log_prior(self, x: Floats) -> Floats:
        """Log of the prior's density in x, up to a constant."""

    @abstractmethod
    def bulk(self) -> Bulk: ...

    def ends(self, low: float, high: float) -> tuple[float, float]:
        """Return where x lies, whatever is seen of records from `low` to `high`."""
        del low, high
        return -600.0, 600.0

    @abstractmethod
    def quantile(self, v: Floats) -> Floats:
        """F⁻¹(Φ(v)), each tail from its own side."""

    @abstractmethod
    def score(self, theta: Floats) -> Floats:
        """Φ⁻¹(F(θ))"""


@final
@dataclass(frozen=True)
class _Logit(Line):
    a: float
    b: float

    def theta(self, x: Floats) -> Floats:
        return np.asarray(np.clip(expit(x), LEAST, MOST))

    def place(self, theta: Floats) -> Floats:
        return np.asarray(logit(np.clip(theta, 0.0, 1.0)))

    def log_prior(self, x: Floats) -> Floats:
        """α ln p + β ln(1−p)"""
        return np.asarray(-self.a * np.logaddexp(0.0, -x) - self.b * np.logaddexp(0.0, x))

    def bulk(self) -> Bulk:
        a, b = self.a, self.b
        deviation = float((1 / a + 1 / b) ** 0.5)
        return Bulk(float(np.log(a / b)), deviation, 45 / a + 9.5 * deviation, 45 / b + 9.5 * deviation)

    def quantile(self, v: Floats) -> Floats:
        tail = ndtr(-np.abs(v))
        theta = np.where(v < 0, betaincinv(self.a, self.b, tail), betainccinv(self.a, self.b, tail))
        return np.asarray(np.clip(theta, LEAST, MOST))

    def score(self, theta: Floats) -> Floats:
        return _two_sided(betainc(self.a, self.b, theta), betaincc(self.a, self.b, theta))


@final
@dataclass(frozen=True)
class _Log(Line):
    shape: float
    rate: float

    def theta(self, x: Floats) -> Floats:
        return np.asarray(np.clip(np.exp(np.minimum(x, 690.0)), LEAST, LARGEST))

    def place(self, theta: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(theta, 0.0)))

    def log_prior(self, x: Floats) -> Floats:
        """s·ln λ − tλ"""
        return np.asarray(self.shape * x - self.rate * np.exp(np.minimum(x, 690.0)))

    def bulk(self) -> Bulk:
        s = self.shape
        right = min(9.5 * s**-0.5, 2 + float(np.log1p(60 / s)))
        return Bulk(float(np.log(s / self.rate)), s**-0.5, 45 / s + 9.5 * s**-0.5, right)

    def quantile(self, v: Floats) -> Floats:
        tail = ndtr(-np.abs(v))
        theta = np.where(v < 0, gammaincinv(self.shape, tail), gammainccinv(self.shape, tail)) / self.rate
        return np.asarray(np.maximum(theta, LEAST))

    def score(self, theta: Floats) -> Floats:
        return _two_sided(gammainc(self.shape, self.rate * theta), gammaincc(self.shape, self.rate * theta))


@final
@dataclass(frozen=True)
class _Itself(Line):
    mean: float
    variance: float
    noise: float  # variance of one record

    def ends(self, low: float, high: float) -> tuple[float, float]:
        reach = 30 * self.noise**0.5 + high - low
        return low - reach, high + reach

    @property
    def deviation(self) -> float:
        return float(np.sqrt(self.variance))

    def theta(self, x: Floats) -> Floats:
        return x

    def place(self, theta: Floats) -> Floats:
        return theta

    def log_prior(self, x: Floats) -> Floats:
        return np.asarray(-((x - self.mean) ** 2) / (2 * self.variance))

    def bulk(self) -> Bulk:
        return Bulk(self.mean, self.deviation, 9.5 * self.deviation, 9.5 * self.deviation)

    def quantile(self, v: Floats) -> Floats:
        return np.asarray(self.mean + self.deviation * v)

    def score(self, theta: Floats) -> Floats:
        return np.asarray((theta - self.mean) / self.deviation)


def line_of(prior: Family) -> Line:
    """Return the coordinates of a family's one parameter."""
    if isinstance(prior, BetaLaw):
        return _Logit(float(prior.alpha), float(prior.beta))
    if isinstance(prior, GammaLaw):
        return _Log(float(prior.shape), float(prior.rate))
    if isinstance(prior, NormalMean):
        return _Itself(prior.mean(), prior.variance(), float(prior.noise))
    raise NotProved(f"no coordinate is known for {type(prior).__name__}")


def _two_sided(below: Floats, above: Floats) -> Floats:
    return np.asarray(np.where(below < above, ndtri(below), -ndtri(above)))
