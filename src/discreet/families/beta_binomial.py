"""Beta–Binomial: successes out of a fixed number of trials."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, gammaln, xlog1py, xlogy

from discreet.families.exact_fields import Whole, rational
from discreet.families.family import Floats, records
from discreet.families.laws.beta import BetaLaw
from discreet.families.records import Lattice, counts_within
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Relation
from discreet.privacy.worst_pairs.pairs import WorstCase


@final
@dataclass(frozen=True, repr=False)
class BetaBinomial(BetaLaw):
    """p ~ Beta(α, β), x ∈ {0, …, trials} successes per record."""

    name: ClassVar[str] = "beta_binomial"
    trials: Whole = Whole()  # noqa: RUF009 - a descriptor

    def __post_init__(self) -> None:
        _ = self.lattice

    @cached_property
    def lattice(self) -> Lattice:
        return Lattice.of_counts(self.trials)

    def update(self, statistic: ArrayLike, n: Exact, *, weight: Exact = 1) -> Self:
        successes, total = self._weighted(statistic, n, weight)
        return self._with(alpha=self.alpha + successes, beta=self.beta + self.trials * total - successes)

    def worst_case(self, n: int | None, *, step: Exact = 1, relation: Relation) -> WorstCase:
        """Beta–Bernoulli's pair with a step of r·trials, the others anywhere in units of r [theory §2].

        By the monotone likelihood ratio, all successes against all failures is the worst substitution.
        """
        from discreet.privacy.worst_pairs.pairs import BetaPairs, GammaShapePairs  # noqa: PLC0415

        r = rational(step, what="step")
        if relation.replaces:
            whole = r * self.trials
            return BetaPairs(self.alpha, self.beta, whole, whole * (records(n) - 1), r)
        if self.trials > 1:  # a mixed record moves both shapes, for which no worst pair is proved
            raise self._not_proved(relation)
        return GammaShapePairs(min(self.alpha, self.beta), r)

    def draw_records(self, theta: Floats, rng: np.random.Generator) -> Floats:
        return np.asarray(rng.binomial(self.trials, theta).astype(np.float64))

    def log_likelihood(self, x: ArrayLike, theta: ArrayLike) -> Floats:
        count, p = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(theta, dtype=np.float64))
        inside, k = counts_within(count, self.trials)
        return np.where(inside, self._choose(k) + xlogy(k, p) + xlog1py(self.trials - k, -p), -np.inf)

    def log_predictive(self, x: ArrayLike) -> Floats:
        """C(m, x) B(α+x, β+m−x)/B(α, β)."""
        a, b = self._parameters
        inside, k = counts_within(np.asarray(x, dtype=np.float64), self.trials)
        mass = self._choose(k) + betaln(a + k, b + self.trials - k) - betaln(a, b)
        return np.where(inside, mass, -np.inf)

    def _choose(self, k: Floats) -> Floats:
        return gammaln(self.trials + 1) - gammaln(k + 1) - gammaln(self.trials - k + 1)
