"""One draw from the truncated, tempered posterior of a probability vector."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self, final

from numpy.typing import ArrayLike

from discreet.families.exact_fields import rational
from discreet.families.family import Family, public_size, table_size
from discreet.mechanisms.posterior.draw import by_model, refuse_namesakes
from discreet.mechanisms.posterior.tempered_laws import (
    Promise,
    SimplexPrior,
    Temper,
    TemperedSample,
    TruncatedPosterior,
    simplex_prior,
)
from discreet.privacy.arithmetic.ball import Exact, ceiling, settle
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, Guarantee, Relation
from discreet.privacy.kinds import BoundedRange, PureDP
from discreet.privacy.worst_pairs.tempered_posterior import (
    record_range,
    substitution_epsilon,
    substitution_range,
)
from discreet.sampling.source import Source


@final
@dataclass(frozen=True, kw_only=True)
class OnePosteriorSample(TemperedSample):
    """θ ~ prior × likelihood^(1/T) on {θ_i ≥ a₀} [F16 §3.1; Wang, Fienberg, Smola 2015].

    With Δ = sup |log p(x'|θ) − log p(x|θ)| two guarantees hold at once: the privacy loss lies in an interval
    of length 2Δ/T (BoundedRange), and its modulus is at most the finite-n worst case (PureDP), which is less.
    `promise` says which is stated. One draw a charge: q draws promise compose(*[guarantee] * q), within qε.
    """

    name: ClassVar[str] = "one_posterior_sample"
    theorem: ClassVar[str] = (
        "F16 §3.1, Wang–Fienberg–Smola 2015 Thm 1; finite n: convexity of ln Z "
        "[privacy.worst_pairs.tempered_posterior]"
    )

    model: Family = field(kw_only=False)
    n: int | None = None
    truncation: Exact
    temperature: Exact
    temper: Temper | str = Temper.LIKELIHOOD
    promise: Promise = PureDP
    relation: Relation = SUBSTITUTE

    def __post_init__(self) -> None:
        refuse_namesakes(self.model, type(self))
        object.__setattr__(self, "temper", Temper(self.temper))
        if not rational(self.temperature, what="temperature") >= 1:
            raise ValueError(
                f"temperature must be at least 1 (1 is the posterior itself), got {self.temperature!r}"
            )
        object.__setattr__(self, "n", public_size(self.relation, self.n))
        d = len(self.prior.entries)
        if not rational(self.truncation, what="truncation") * d < 1:
            raise ValueError(
                f"truncation must be below 1/{d}, so that {d} probabilities can all exceed it, "
                f"got {self.truncation!r}"
            )

    @classmethod
    @by_model
    def calibrate(
        cls,
        model: Family,
        *,
        n: int | None = None,
        target: Guarantee,
        truncation: Exact,
        temper: Temper | str = Temper.LIKELIHOOD,
    ) -> Self:
        """Least temperature (40 significant bits, rounded up) whose certified guarantee meets the target.

        ε = −ln E exp(−s(logit θ + Δ)), E under prior × θ^(sn), s = 1/T, or its mirror image. As s grows so
        does the exponent, and θ in the likelihood-ratio order; so ε falls in T when the likelihood alone is
        tempered. For the other temperings the answer is verified all the same, but need not be the least.
        """
        cold = cls(model, n=n, truncation=truncation, temperature=1, temper=temper, relation=target.relation)
        return cold._warmed(target)

    @cached_property
    def prior(self) -> SimplexPrior:
        """The prior after tempering; the data add count/T to its entries."""
        return simplex_prior(self.model).tempered(Temper(self.temper), 1 / self.weight)

    @cached_property
    def bounded_range(self) -> BoundedRange:
        """2Δ/T, or Δ/T under ADD_REMOVE, times the trials in a record: the simple bound, for every n."""
        width = record_range if self.relation is ADD_REMOVE else substitution_range
        step, d = self.prior.trials * self.weight, len(self.prior.entries)
        return BoundedRange(ceiling(settle(lambda: width(step, self.lower, d))), relation=self.relation)

    @cached_property
    def pure(self) -> PureDP:
        """The worst case over data sets of n records: exact for two categories and for n private."""
        if self.n is None:
            return PureDP(self.bounded_range.loss, relation=self.relation)
        prior = self.prior
        loss = substitution_epsilon(
            prior.entries, self.weight, n=self.n, trials=prior.trials, lower=self.lower
        )
        return PureDP(loss, relation=self.relation)

    @property
    def knob(self) -> tuple[str, float]:
        return "T", float(self.temperature)

    def release(self, value: ArrayLike, source: Source | None = None, *, count: int | None = None) -> Any:  # noqa: ANN401
        """Draw θ once, on the public grid 2⁻³², given the family's integer statistic.

        `count` is the private number of records, needed (and allowed) only under ADD_REMOVE.
        """
        return self._private_posterior(value, count).sample(1, source)[0]

    def _private_posterior(self, statistic: ArrayLike, count: int | None = None) -> TruncatedPosterior:
        """Return the law that is drawn from. It is PRIVATE: never release it, its moments or its density."""
        if (count is None) == (self.relation is ADD_REMOVE):
            raise ValueError("give count, the private number of records, under ADD_REMOVE and only there")
        n = table_size(self.n or count or 0)  # the count is private, and an empty table is a neighbour
        updated = simplex_prior(self.model.update(self.model.check(statistic, n), n, weight=self.weight))
        shift = zip(self.prior.entries, updated.entries, simplex_prior(self.model).entries, strict=True)
        return TruncatedPosterior(tuple(p + new - old for p, new, old in shift), self.lower, self.prior.draw)
