"""Beta–Negative-Binomial: failures before a known number of successes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self, final

import numpy as np
from scipy.special import betaln, gammaln, xlog1py, xlogy

from discreet.families.exact_fields import Whole, rational
from discreet.families.family import Floats, records
from discreet.families.laws.beta import BetaLaw
from discreet.families.records import Lattice

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from discreet.privacy.arithmetic.ball import Exact
    from discreet.privacy.guarantee import Relation
    from discreet.privacy.worst_pairs.pairs import WorstCase


@final
@dataclass(frozen=True, repr=False)
class BetaNegativeBinomial(BetaLaw):
    """p ~ Beta(α, β), x ∈ {0, …, upper} failures before success k = `successes`, more clipped at the door.

    P(x) = Γ(x+k)/(Γ(k) x!)·p^k (1−p)^x. Likelihood and predictive are those of unclipped counts. The
    posterior is Beta(α + kn, β + Σx).
    """

    name: ClassVar[str] = "beta_negative_binomial"
    successes: Whole = Whole()  # noqa: RUF009 - a descriptor
    upper: Whole = Whole()  # noqa: RUF009

    def __post_init__(self) -> None:
        _ = self.lattice

    @property
    def lattice(self) -> Lattice:
        return Lattice(Fraction(0), Fraction(self.upper), Fraction(1), integral=True)

    def update(self, statistic: ArrayLike, n: Exact, *, weight: Exact = 1) -> Self:
        failures, total = self._weighted(statistic, n, weight)
        return self._with(alpha=self.alpha + self.successes * total, beta=self.beta + failures)

    def worst_case(self, n: int | None, *, step: Exact = 1, relation: Relation) -> WorstCase:
        """Beta(α+rkn, β) against Beta(α+rkn, β + rB): n is public, so one record moves only the failures.

        That is the pair of the geometric family with another, public α [theory §2]. A record added moves both
        shapes, for which no worst pair is proved.
        """
        from discreet.privacy.worst_pairs.pairs import BetaSidePairs  # noqa: PLC0415 - loads arb on use

        if not relation.replaces:
            raise self._not_proved(relation)
        r = rational(step, what="step")
        return BetaSidePairs(self.alpha + r * self.successes * records(n), self.beta, r * self.upper)

    def log_likelihood(self, x: ArrayLike, theta: ArrayLike) -> Floats:
        given, p = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(theta, dtype=np.float64))
        inside, count = _counts(given)
        with np.errstate(divide="ignore"):
            log = self._log_orders(count) + xlogy(self.successes, p) + xlog1py(count, -p)
        return np.where(inside, log, -np.inf)

    def log_predictive(self, x: ArrayLike) -> Floats:
        """Γ(x+k)/(Γ(k) x!)·B(α+k, β+x)/B(α, β)."""
        inside, count = _counts(np.asarray(x, dtype=np.float64))
        a, b = self._parameters
        log = self._log_orders(count) + betaln(a + self.successes, b + count) - betaln(a, b)
        return np.where(inside, log, -np.inf)

    def _log_orders(self, count: Floats) -> Floats:
        """In how many orders x failures can come before the last success: Γ(x+k)/(Γ(k) x!)."""
        k = self.successes
        return np.asarray(gammaln(count + k) - gammaln(k) - gammaln(count + 1))


def _counts(x: Floats) -> tuple[Floats, Floats]:
    """Return where x is a count, and the counts with 0 elsewhere."""
    inside = (x >= 0) & (x == np.floor(x))
    return inside, np.where(inside, x, 0.0)
