"""The law of one record as it passes the door: clipped to public bounds, rounded to the public lattice.

So clamping is part of the likelihood of a released sum, and is not ignored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, final

import numpy as np
from scipy.special import ndtr, pdtr

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.beta_binomial import BetaBinomial
from discreet.families.beta_geometric import BetaGeometric
from discreet.families.gamma_exponential import GammaExponential
from discreet.families.gamma_poisson import GammaPoisson
from discreet.families.normal_mean import NormalMean
from discreet.privacy.guarantee import NotProved

if TYPE_CHECKING:
    from discreet.families.family import Family, Floats, Integers

FAR = 45.0  # nats: records rarer than e^{−45} are put with the last level that is kept


@final
@dataclass(frozen=True, eq=False)
class Masses:
    """P(q = first + step·ℓ | θ_j) as rows; where step > 1 levels were merged, keeping the mean."""

    first: int
    step: int
    mass: Floats  # (θ, levels)

    @property
    def moments(self) -> tuple[Floats, Floats]:
        """Mean and variance of q for every θ."""
        level = np.arange(self.mass.shape[1], dtype=np.float64)
        mean = self.mass @ level
        variance = np.maximum(self.mass @ level**2 - mean**2, 0.0)
        return self.first + self.step * mean, self.step**2 * variance


@dataclass(frozen=True)
class RecordLaw(ABC):
    """q ∈ {low, …, high} given θ; `copies` of it make one record, `unit` integers of S make one of q."""

    low: int
    high: int
    copies: int = 1
    unit: int = 1

    @abstractmethod
    def below(self, i: Integers, theta: Floats) -> Floats:
        """P(q ≤ i | θ) before the upper bound clips, for low ≤ i: (θ, i)."""

    @abstractmethod
    def summed(self, m: Integers, theta: Floats) -> Floats:
        """Return a function of m with increments Σ_{m ≤ i < m'} P(q ≤ i | θ): (θ, m)."""

    @abstractmethod
    def support(self, theta: Floats) -> tuple[float, float]:
        """Where all but e^{−45} of q lies, for all these θ."""

    def within(self, theta: Floats) -> tuple[int, int]:
        """First and last level that matter."""
        first, last = self.support(theta)
        low = int(np.clip(np.floor(first), self.low, self.high - 1))
        return low, int(np.clip(np.ceil(last), low + 1, self.high))

    def masses(self, theta: Floats, step: int = 1) -> Masses:
        """E hat((q − x_ℓ)/step): the law itself for step 1, else split between neighbours with its mean."""
        first, last = self.within(theta)
        first -= first % step  # n·first then lies on the merged lattice for every n
        levels = -(-(last - first) // step)
        points = first + step * np.arange(levels + 1)
        inner = np.minimum(points, last)
        if step == 1:
            filled = self.below(points[:-1], theta)
        else:
            least = np.maximum(inner, self.low)  # nothing lies below the lower bound
            filled = np.diff(self.summed(least, theta) + (points - inner)) / step
        mass = np.diff(filled, prepend=0.0, append=1.0)
        return Masses(first, step, np.maximum(mass, 0.0))

    def moments(self, theta: Floats, levels: int = 512) -> tuple[Floats, Floats]:
        """Mean and variance of q, to the fineness of so many levels."""
        first, last = self.within(theta)
        return self.masses(theta, max(1, -(-(last - first) // levels))).moments


@final
class Trial(RecordLaw):
    """0 or 1, with probability θ."""

    def below(self, i: Integers, theta: Floats) -> Floats:
        return np.broadcast_to(1 - theta[:, None], (theta.size, i.size))

    def summed(self, m: Integers, theta: Floats) -> Floats:
        return np.asarray((1 - theta[:, None]) * m)

    def support(self, theta: Floats) -> tuple[float, float]:
        del theta
        return 0, 1


@final
class Failures(RecordLaw):
    """Geometric: P(q ≤ i) = 1 − (1−θ)^{i+1}."""

    def below(self, i: Integers, theta: Floats) -> Floats:
        return np.asarray(-np.expm1((i + 1) * np.log1p(-theta[:, None])))

    def summed(self, m: Integers, theta: Floats) -> Floats:
        p = theta[:, None]
        return np.asarray(m + np.exp(np.log1p(-p) * (m + 1)) / p)

    def support(self, theta: Floats) -> tuple[float, float]:
        return 0, FAR / max(float(-np.log1p(-theta.min())), 1e-300)


@final
class Events(RecordLaw):
    """Poisson; Σ_{i<m} P(q ≤ i) = E(m − q)₊ = m·P(q ≤ m−1) − θ·P(q ≤ m−2)."""

    def below(self, i: Integers, theta: Floats) -> Floats:
        return np.asarray(pdtr(i, theta[:, None]))

    def summed(self, m: Integers, theta: Floats) -> Floats:
        rate = theta[:, None]
        one, two = (np.where(m >= k, pdtr(np.maximum(m - k, 0), rate), 0.0) for k in (1, 2))
        return np.asarray(m * one - rate * two)

    def support(self, theta: Floats) -> tuple[float, float]:
        low, high = float(theta.min()), float(theta.max())
        return low - 10 * low**0.5 - 1, high + 10 * high**0.5 + FAR


@final
@dataclass(frozen=True)
class Wait(RecordLaw):
    """Exponential with rate θ, rounded to the grid: P(q ≤ i) = 1 − exp(−θ(i+½)g)."""

    grid: float = 1.0

    def below(self, i: Integers, theta: Floats) -> Floats:
        return np.asarray(-np.expm1(-theta[:, None] * self.grid * (i + 0.5)))

    def summed(self, m: Integers, theta: Floats) -> Floats:
        rate = theta[:, None] * self.grid
        return np.asarray(m + np.exp(-rate * m) / rate)

    def support(self, theta: Floats) -> tuple[float, float]:
        return 0, FAR / max(float(theta.min()) * self.grid, 1e-300)


@final
@dataclass(frozen=True)
class Measurement(RecordLaw):
    """N(θ, σ²), rounded to the grid: P(q ≤ i) = Φ(((i+½)g − θ)/σ)."""

    grid: float = 1.0
    sigma: float = 1.0

    def below(self, i: Integers, theta: Floats) -> Floats:
        return np.asarray(ndtr(((i + 0.5) * self.grid - theta[:, None]) / self.sigma))

    def summed(self, m: Integers, theta: Floats) -> Floats:
        z = (m * self.grid - theta[:, None]) / self.sigma
        density = np.exp(-np.minimum(z**2, 1400) / 2) / np.sqrt(2 * np.pi)
        return np.asarray(self.sigma / self.grid * (z * ndtr(z) + density))

    def support(self, theta: Floats) -> tuple[float, float]:
        reach = 9.5 * self.sigma
        return (float(theta.min()) - reach) / self.grid, (float(theta.max()) + reach) / self.grid


@singledispatch
def record_law(model: Family) -> RecordLaw:
    """Return the law of one record of the family, as it passes the door."""
    raise NotProved(f"no law of a clipped record is known for {type(model).__name__}")


@record_law.register
def _(model: BetaBernoulli) -> RecordLaw:
    """On a grid finer than 1 records are put at 0 or 1, the widest law with mean θ: x has none."""
    return Trial(0, 1, unit=model.lattice.high)


@record_law.register
def _(model: BetaBinomial) -> RecordLaw:
    return Trial(0, 1, copies=model.trials)


@record_law.register
def _(model: BetaGeometric) -> RecordLaw:
    return Failures(0, model.lattice.high)


@record_law.register
def _(model: GammaPoisson) -> RecordLaw:
    return Events(0, model.lattice.high)


@record_law.register
def _(model: GammaExponential) -> RecordLaw:
    return Wait(0, model.lattice.high, grid=float(model.lattice.grid))


@record_law.register
def _(model: NormalMean) -> RecordLaw:
    lattice, sigma = model.lattice, float(model.noise) ** 0.5
    return Measurement(lattice.low, lattice.high, grid=float(lattice.grid), sigma=sigma)
