"""Gamma–Poisson: how many events a record sees."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlogy

from discreet.families.exact_fields import Whole, rational
from discreet.families.family import Floats, records
from discreet.families.laws.gamma import GammaLaw
from discreet.families.records import Lattice, counts_within
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Relation
from discreet.privacy.worst_pairs.pairs import WorstCase


@final
@dataclass(frozen=True, repr=False)
class GammaPoisson(GammaLaw):
    """λ ~ Gamma(shape, rate), counts x ∈ {0, …, upper}, larger ones clipped at the door.

    Likelihood and predictive (negative binomial) are those of unclipped counts.
    """

    name: ClassVar[str] = "gamma_poisson"
    upper: Whole = Whole()  # noqa: RUF009 - a descriptor

    def __post_init__(self) -> None:
        _ = self.lattice

    @cached_property
    def lattice(self) -> Lattice:
        return Lattice.of_counts(self.upper)

    def update(self, statistic: ArrayLike, n: Exact, *, weight: Exact = 1) -> Self:
        events, total = self._weighted(statistic, n, weight)
        return self._with(shape=self.shape + events, rate=self.rate + total)

    def worst_case(self, n: int | None, *, step: Exact = 1, relation: Relation) -> WorstCase:
        """Gamma(s) against Gamma(s + rB) at a common rate, s the prior shape [theory §2].

        A record added also moves the rate, for which no worst pair is proved.
        """
        from discreet.privacy.worst_pairs.pairs import GammaShapePairs  # noqa: PLC0415

        if not relation.replaces:
            raise self._not_proved(relation)
        records(n)
        return GammaShapePairs(self.shape, rational(step, what="step") * self.upper)

    def draw_records(self, theta: Floats, rng: np.random.Generator) -> Floats:
        return np.asarray(rng.poisson(theta).astype(np.float64))

    def log_likelihood(self, x: ArrayLike, theta: ArrayLike) -> Floats:
        count, rate = np.broadcast_arrays(
            np.asarray(x, dtype=np.float64), np.asarray(theta, dtype=np.float64)
        )
        inside, k = counts_within(count)
        return np.where(inside, xlogy(k, rate) - rate - gammaln(k + 1), -np.inf)

    def log_predictive(self, x: ArrayLike) -> Floats:
        """Γ(s+x)/(Γ(s) x!) · (t/(1+t))^s (1+t)^{−x}: negative binomial."""
        s, t = self._parameters
        inside, k = counts_within(np.asarray(x, dtype=np.float64))
        choose = gammaln(s + k) - gammaln(s) - gammaln(k + 1)
        return np.where(inside, choose - s * np.log1p(1 / t) - k * np.log1p(t), -np.inf)
