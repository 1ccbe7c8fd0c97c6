"""Beta–Geometric: failures before the first success."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, xlog1py

from discreet.families.exact_fields import Whole, rational
from discreet.families.family import Floats, records
from discreet.families.laws.beta import BetaLaw
from discreet.families.records import Lattice, counts_within
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Relation
from discreet.privacy.worst_pairs.pairs import WorstCase


@final
@dataclass(frozen=True, repr=False)
class BetaGeometric(BetaLaw):
    """p ~ Beta(α, β), x ∈ {0, …, upper} failures before a success, P(x) = p(1−p)^x, more clipped at the door.

    Likelihood and predictive are those of unclipped counts. The posterior is Beta(α + n, β + Σx).
    """

    name: ClassVar[str] = "beta_geometric"
    upper: Whole = Whole()  # noqa: RUF009 - a descriptor

    def __post_init__(self) -> None:
        _ = self.lattice

    @cached_property
    def lattice(self) -> Lattice:
        return Lattice.of_counts(self.upper)

    def update(self, statistic: ArrayLike, n: Exact, *, weight: Exact = 1) -> Self:
        failures, total = self._weighted(statistic, n, weight)
        return self._with(alpha=self.alpha + total, beta=self.beta + failures)

    def worst_case(self, n: int | None, *, step: Exact = 1, relation: Relation) -> WorstCase:
        """Beta(α+rn, β) against Beta(α+rn, β + rB), β the prior's: the others without a failure [theory §2].

        A record added moves both shapes, for which no worst pair is proved.
        """
        from discreet.privacy.worst_pairs.pairs import BetaSidePairs  # noqa: PLC0415

        if not relation.replaces:
            raise self._not_proved(relation)
        r = rational(step, what="step")
        return BetaSidePairs(self.alpha + r * records(n), self.beta, r * self.upper)

    def draw_records(self, theta: Floats, rng: np.random.Generator) -> Floats:
        return np.asarray(rng.geometric(theta).astype(np.float64) - 1)

    def log_likelihood(self, x: ArrayLike, theta: ArrayLike) -> Floats:
        count, p = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(theta, dtype=np.float64))
        inside, k = counts_within(count)
        with np.errstate(divide="ignore"):
            return np.where(inside, np.log(p) + xlog1py(k, -p), -np.inf)

    def log_predictive(self, x: ArrayLike) -> Floats:
        """B(α+1, β+x)/B(α, β)."""
        a, b = self._parameters
        inside, k = counts_within(np.asarray(x, dtype=np.float64))
        return np.where(inside, betaln(a + 1, b + k) - betaln(a, b), -np.inf)
