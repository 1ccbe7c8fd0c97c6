"""Gamma–Exponential: how long a record waits."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.exact_fields import Grid, Rational, rational
from discreet.families.family import Floats, records
from discreet.families.laws.gamma import GammaLaw
from discreet.families.records import Lattice
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Relation
from discreet.privacy.worst_pairs.pairs import WorstCase


@final
@dataclass(frozen=True, repr=False)
class GammaExponential(GammaLaw):
    """λ ~ Gamma(shape, rate), waits x ∈ [0, upper] on a public grid, longer ones clipped at the door.

    Likelihood and predictive (Lomax) are those of unclipped waits.
    """

    name: ClassVar[str] = "gamma_exponential"
    upper: Rational = Rational()  # noqa: RUF009 - a descriptor
    grid: Grid = Grid(lambda model: (Fraction(0), model.upper))  # noqa: RUF009

    def __post_init__(self) -> None:
        _ = self.lattice

    @cached_property
    def lattice(self) -> Lattice:
        return Lattice(Fraction(0), self.upper, self.grid)

    def update(self, statistic: ArrayLike, n: Exact, *, weight: Exact = 1) -> Self:
        waited, total = self._weighted(statistic, n, weight)
        return self._with(shape=self.shape + total, rate=self.rate + waited)

    def worst_case(self, n: int | None, *, step: Exact = 1, relation: Relation) -> WorstCase:
        """Gamma(s+rn, t) against Gamma(s+rn, t + rB), t the prior rate, B the quantised bound [theory §2].

        Gamma laws of one shape differ only through the ratio of their rates, largest where the others
        waited 0; the likelihood ratio is monotone in the wait, so no shorter one is worse. A record added
        also moves the shape, for which no worst pair is proved.
        """
        from discreet.privacy.worst_pairs.pairs import GammaRatePairs  # noqa: PLC0415

        if not relation.replaces:
            raise self._not_proved(relation)
        r = rational(step, what="step")
        return GammaRatePairs(self.rate, r * self.lattice.high * self.grid, self.shape + r * records(n))

    def draw_records(self, theta: Floats, rng: np.random.Generator) -> Floats:
        return np.asarray(rng.exponential(1 / theta))

    def log_likelihood(self, x: ArrayLike, theta: ArrayLike) -> Floats:
        wait, rate = np.asarray(x, dtype=np.float64), np.asarray(theta, dtype=np.float64)
        with np.errstate(divide="ignore"):
            return np.where(wait >= 0, np.log(rate) - rate * wait, -np.inf)

    def log_predictive(self, x: ArrayLike) -> Floats:
        """(s/t)(1 + x/t)^{−(s+1)}: Lomax."""
        wait = np.asarray(x, dtype=np.float64)
        s, t = self._parameters
        inside = wait >= 0
        tail = (s + 1) * np.log1p(np.where(inside, wait, 0.0) / t)
        return np.where(inside, np.log(s / t) - tail, -np.inf)
