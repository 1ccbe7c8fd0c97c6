"""Beta–Bernoulli: how often something is true."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlog1py, xlogy

from discreet.families.exact_fields import Rational, rational
from discreet.families.family import Floats, records
from discreet.families.laws.beta import BetaLaw
from discreet.families.records import Lattice
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Relation
from discreet.privacy.worst_pairs.pairs import WorstCase


@final
@dataclass(frozen=True, repr=False)
class BetaBernoulli(BetaLaw):
    """p ~ Beta(α, β), x ∈ {0, 1}; the statistic is the success count alone, because n is public.

    A grid below 1 admits x ∈ [0, 1] (a statistical query's φ(x)) through the pseudo-likelihood
    p^x (1−p)^{1−x}. The predictive is the Bernoulli one.
    """

    name: ClassVar[str] = "beta_bernoulli"
    grid: Rational = Rational(default=1)  # noqa: RUF009 - a descriptor

    def __post_init__(self) -> None:
        if not self.grid <= 1:
            raise ValueError(
                f"grid must be 1 (0/1 records) or a smaller power of two, got {float(self.grid)}"
            )
        _ = self.lattice

    @cached_property
    def lattice(self) -> Lattice:
        return Lattice(Fraction(0), Fraction(1), self.grid, integral=self.grid == 1)

    def update(self, statistic: ArrayLike, n: Exact, *, weight: Exact = 1) -> Self:
        successes, total = self._weighted(statistic, n, weight)
        return self._with(alpha=self.alpha + successes, beta=self.beta + total - successes)

    def worst_case(self, n: int | None, *, step: Exact = 1, relation: Relation) -> WorstCase:
        """Beta(a+r, b) against Beta(a, b+r), a+b fixed by n; ADD_REMOVE: Gamma(a+r) against Gamma(a).

        [theory §2.] x ∈ [0, 1] instead of {0, 1} adds no worse SUBSTITUTE pair: the laws
        have a monotone likelihood ratio in x, so the hockey-stick's set is an upper set, and widening x − x'
        only raises P and lowers Q on it; every f-divergence is a mixture of hockey-sticks.
        """
        from discreet.privacy.worst_pairs.pairs import BetaPairs, GammaShapePairs  # noqa: PLC0415

        r = rational(step, what="step")
        if relation.replaces:
            return BetaPairs(self.alpha, self.beta, r, r * (records(n) - 1), r * self.grid)
        if self.grid != 1:
            raise self._not_proved(relation)
        return GammaShapePairs(min(self.alpha, self.beta), r)

    def draw_records(self, theta: Floats, rng: np.random.Generator) -> Floats:
        return np.asarray((rng.random(theta.shape) < theta).astype(np.float64))

    def log_likelihood(self, x: ArrayLike, theta: ArrayLike) -> Floats:
        value, p = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(theta, dtype=np.float64))
        inside = (value >= 0) & (value <= 1) & ((value == np.floor(value)) | (self.grid < 1))
        s = np.where(inside, value, 0.0)
        return np.where(inside, xlogy(s, p) + xlog1py(1 - s, -p), -np.inf)

    def log_predictive(self, x: ArrayLike) -> Floats:
        """ln(α/(α+β)) at 1, ln(β/(α+β)) at 0."""
        value = np.asarray(x, dtype=np.float64)
        a, b = self._parameters
        mass = np.where(value == 1, a, np.where(value == 0, b, 0.0)) / (a + b)
        with np.errstate(divide="ignore"):
            return np.log(mass)
