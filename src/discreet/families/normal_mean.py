"""Normal mean, variance known: the average of a bounded column."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from discreet.families.exact_fields import Grid, Rational, exactly, power_of_two_above, rational
from discreet.families.family import Floats, credible, records
from discreet.families.records import Lattice, ScalarFamily
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Relation
from discreet.privacy.worst_pairs.pairs import WorstCase
from discreet.sampling.source import Source


@final
@dataclass(frozen=True, repr=False, init=False)
class NormalMean(ScalarFamily):
    """μ ~ N(mean, σ²/κ), x|μ ~ N(μ, σ²), σ² = variance known, κ = strength; x clipped to [lower, upper].

    η = (κ·mean, κ), T = (μ/σ², −μ²/(2σ²)), C = η₁²/(2σ²η₂) + ½ln(2πσ²/η₂), base dμ. Likelihood and
    predictive are those of unclipped records.
    """

    name: ClassVar[str] = "normal_mean"
    spelled: ClassVar[dict[str, str]] = {"location": "mean", "noise": "variance"}
    location: Rational = Rational(positive=False)  # noqa: RUF009 - a descriptor
    strength: Rational = Rational()  # noqa: RUF009
    noise: Rational = Rational()  # noqa: RUF009
    lower: Rational = Rational(positive=False)  # noqa: RUF009
    upper: Rational = Rational(positive=False)  # noqa: RUF009
    grid: Grid = Grid(lambda model: (model.lower, model.upper))  # noqa: RUF009

    def __init__(  # noqa: PLR0917 - as a dataclass would; a field cannot share its name with the method `mean`
        self,
        mean: Exact,
        strength: Exact,
        variance: Exact,
        lower: Exact,
        upper: Exact,
        grid: Exact | None = None,
    ) -> None:
        given = {"location": mean, "strength": strength, "noise": variance, "lower": lower, "upper": upper}
        for field, value in {**given, "grid": grid}.items():
            object.__setattr__(self, field, value)
        _ = self.lattice

    @cached_property
    def lattice(self) -> Lattice:
        return Lattice(self.lower, self.upper, self.grid)

    def update(self, statistic: ArrayLike, n: Exact, *, weight: Exact = 1) -> Self:
        total, count = self._weighted(statistic, n, weight)
        strength = self.strength + count
        return self._with(mean=(self.strength * self.location + total) / strength, strength=strength)

    def scale_prior(self, factor: Exact) -> Self:
        return self._with(strength=self.strength * rational(factor, what="factor"))

    def worst_case(self, n: int | None, *, step: Exact = 1, relation: Relation) -> WorstCase:
        """One draw is exactly GDP(μ), μ = r(b−a)/(σ√(κ₀+rn)), a and b the quantised bounds [theory §2].

        A record added also moves the posterior's variance, for which no worst pair is proved.
        """
        from discreet.privacy.worst_pairs.pairs import NormalPair  # noqa: PLC0415

        if not relation.replaces:
            raise self._not_proved(relation)
        r = rational(step, what="step")
        width = (self.lattice.high - self.lattice.low) * self.grid
        return NormalPair((r * width) ** 2 / (self.noise * (self.strength + r * records(n))))

    @property
    def natural(self) -> Floats:
        return np.array([float(self.strength * self.location), float(self.strength)])

    def from_natural(self, eta: ArrayLike) -> Self:
        first, strength = map(exactly, np.asarray(eta, dtype=np.float64).tolist())
        return self._with(mean=first / rational(strength, what="strength"), strength=strength)

    def log_partition(self) -> float:
        energy = self.strength * self.location**2 / (2 * self.noise)
        return float(energy) + 0.5 * float(np.log(2 * np.pi * float(self.noise / self.strength)))

    def sufficient(self, theta: ArrayLike) -> Floats:
        mu, noise = np.asarray(theta, dtype=np.float64), float(self.noise)
        return np.stack([mu / noise, -(mu**2) / (2 * noise)], axis=-1)

    def log_base(self, theta: ArrayLike) -> Floats:
        return np.zeros(np.shape(theta))

    def mean_sufficient(self) -> Floats:
        m, noise, k = self.location, self.noise, self.strength
        return np.array([float(m / noise), float(-(m**2 / noise + 1 / k) / 2)])

    def covariance_sufficient(self) -> Floats:
        m, noise, k = self.location, self.noise, self.strength
        corner = float(-m / (noise * k))
        last = m**2 / (noise * k) + 1 / (2 * k**2)
        return np.array([[float(1 / (noise * k)), corner], [corner, float(last)]])

    def log_density(self, theta: ArrayLike) -> Floats:
        return _log_normal(theta, float(self.location), self.variance())

    def mean(self) -> float:
        return float(self.location)

    def variance(self) -> float:
        return float(self.noise / self.strength)

    def interval(self, level: float) -> Floats:
        return self.mean() + np.sqrt(self.variance()) * ndtri(credible(level))

    def sample(self, size: int, source: Source | None = None) -> NDArray[Any]:
        """Draw on a grid 2^20 times finer than the standard deviation, which n alone decides."""
        from discreet.sampling.exact import normal  # noqa: PLC0415 - loads the exact samplers on first use
        from discreet.sampling.source import SYSTEM  # noqa: PLC0415

        variance = self.noise / self.strength
        grid = power_of_two_above(Fraction(float(variance) ** 0.5)) / 2**21
        return normal(source or SYSTEM, self.location, variance, size, grid)

    def draw_records(self, theta: Floats, rng: np.random.Generator) -> Floats:
        return np.asarray(theta + float(self.noise) ** 0.5 * rng.standard_normal(theta.shape))

    def log_likelihood(self, x: ArrayLike, theta: ArrayLike) -> Floats:
        return _log_normal(x, theta, float(self.noise))

    def log_predictive(self, x: ArrayLike) -> Floats:
        """N(mean, σ²(1 + 1/κ))."""
        return _log_normal(x, float(self.location), float(self.noise * (1 + 1 / self.strength)))


def _log_normal(x: ArrayLike, mean: ArrayLike, variance: float) -> Floats:
    gap = np.asarray(x, dtype=np.float64) - np.asarray(mean, dtype=np.float64)
    return -(gap**2) / (2 * variance) - 0.5 * np.log(2 * np.pi * variance)
