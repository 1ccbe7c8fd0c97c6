"""What OnePosteriorSample asks of a family on the simplex, and the three ways to temper it."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import singledispatch
from typing import Any, Self, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.beta_binomial import BetaBinomial
from discreet.families.exact_fields import exactly, rational
from discreet.families.family import Family
from discreet.families.laws.dirichlet import DirichletLaw
from discreet.mechanisms.mechanism import ModelMechanism
from discreet.numerics.search import bisect, integers
from discreet.privacy.arithmetic.ball import Exact, largest
from discreet.privacy.guarantee import Guarantee, NotProved, Unreachable
from discreet.privacy.kinds import BoundedRange, PureDP
from discreet.sampling.source import SYSTEM, Source

# ── Find the least temperature: loss(T) is certified at every trial, so rounding can only cost utility.
Promise = type[PureDP] | type[BoundedRange]  # which of the two guarantees of one draw is stated
BITS = 40  # significant bits of a temperature: short exact parameters, 1e-12 of utility


def affordable_loss(promise: Promise, target: Guarantee, upper: Exact) -> float:
    """Largest ε ≤ upper whose promise implies the target, by the exact conversions; 0 when none does."""

    def meets(loss: float) -> bool:
        return loss > 0 and promise(loss, relation=target.relation) <= target

    return largest(meets, float(upper))


def least_temperature(holds: Callable[[float], bool], simple: float) -> float:
    """Least T in [simple/2, simple], to 40 significant bits, where `holds` was verified; ∞ beyond doubles.

    simple = W/ε for a loss of range W/T. Its modulus is at least half its range, so nothing below simple/2
    can hold, and at most the range, so simple holds.
    """
    if not simple < 2.0**1000:
        return math.inf
    unit = math.ldexp(1.0, math.frexp(simple)[1] - BITS)
    low, high = math.floor(simple / 2 / unit) - 1, math.ceil(simple / unit)
    while not holds(high * unit):  # the last rounding of simple itself
        high += 1
    return bisect(lambda k: holds(k * unit), low, high, integers) * unit


class TemperedSample(ModelMechanism):
    """One draw from prior × likelihood^(1/T), every probability at least a₀, under one of two promises."""

    truncation: Exact
    temperature: Exact
    promise: Promise

    @property
    @abstractmethod
    def bounded_range(self) -> BoundedRange:
        """The interval that the privacy loss lies in, for every n."""

    @property
    @abstractmethod
    def pure(self) -> PureDP:
        """The worst case over data sets of n records."""

    @property
    def guarantee(self) -> PureDP | BoundedRange:
        return self.pure if self.promise is PureDP else self.bounded_range

    @property
    def weight(self) -> Fraction:
        """1/T, exactly: what one record counts."""
        return 1 / rational(self.temperature, what="temperature")

    @property
    def lower(self) -> Fraction:
        """a₀, exactly."""
        return rational(self.truncation, what="truncation")

    def _warmed(self, target: Guarantee) -> Self:
        """Return the same at the least temperature from this on whose guarantee meets the target."""
        both: list[Self] = [_with(self, promise=promise) for promise in (PureDP, BoundedRange)]
        found = [_with(m, temperature=t) for m in both if (t := m._least(target)) < math.inf]  # noqa: SLF001
        best = min(found, key=lambda m: float(m.temperature), default=None)
        if best is None or not best.guarantee <= target:
            raise Unreachable(f"no temperature is proved to meet {target}; ask for one that pure DP implies")
        return best

    def _least(self, target: Guarantee) -> float:
        """Least temperature from this one on where the promise implies the target; ∞ when there is none."""
        limit = affordable_loss(self.promise, target, self.bounded_range.loss)
        if self.guarantee.loss <= limit:
            return float(self.temperature)
        simple = float(self.bounded_range.loss) * float(self.temperature) / limit if limit else math.inf
        return least_temperature(
            lambda t: t >= self.temperature and _with(self, temperature=t).guarantee.loss <= limit, simple
        )


S = TypeVar("S", bound=TemperedSample)


def _with(sample: S, **changes: object) -> S:
    """Return the same sample but for these fields."""
    return replace(sample, **changes)


# ── tempered laws
Entries = tuple[Fraction, ...]
Draw = Callable[["Source", Entries, Fraction, int], "NDArray[Any]"]


class Temper(Enum):
    """What is raised to the power 1/T. Only the likelihood depends on data, so 2Δ/T holds for each."""

    LIKELIHOOD = "likelihood"  # Beta(α + k/T, …): the prior stays
    JOINT = "joint"  # the joint density in θ: Beta((k + α − 1)/T + 1, …)
    NATURAL = "natural"  # the natural parameters over T: Beta((k + α)/T, …), [G20 eq. 4.13] read literally

    def entry(self, alpha: Fraction, temperature: Fraction) -> Fraction:
        """One entry of the tempered prior."""
        match self:
            case Temper.LIKELIHOOD:
                return alpha
            case Temper.JOINT:
                return (alpha - 1) / temperature + 1
            case Temper.NATURAL:
                return alpha / temperature


@final
@dataclass(frozen=True)
class TruncatedPosterior:
    """Dirichlet(entries) on {θ_i ≥ lower}; with two entries of a Beta family, the law of θ₁ alone."""

    entries: Entries
    lower: Fraction
    draw: Draw

    def sample(self, size: int, source: Source | None = None) -> NDArray[Any]:
        return self.draw(source or SYSTEM, self.entries, self.lower, size)


@final
@dataclass(frozen=True)
class SimplexPrior:
    """A Dirichlet (or, with two entries, Beta) prior, how many trials one record holds, and how to draw."""

    entries: Entries
    trials: int
    draw: Draw

    def tempered(self, temper: Temper, temperature: Fraction) -> SimplexPrior:
        return replace(self, entries=tuple(temper.entry(a, temperature) for a in self.entries))


@singledispatch
def simplex_prior(model: Family) -> SimplexPrior:
    raise NotProved(
        f"OnePosteriorSample truncates Beta and Dirichlet posteriors, not that of {type(model).__name__}; "
        "NoisyStatistics covers every family, DiffusedPosterior those with a proved worst pair, and "
        "exponential waits are drawn so under a metric (target=MetricDP)"
    )


@simplex_prior.register
def _simplex_prior_beta_bernoulli(model: BetaBernoulli) -> SimplexPrior:
    return SimplexPrior((exactly(model.alpha), exactly(model.beta)), 1, _truncated_beta)


@simplex_prior.register
def _simplex_prior_beta_binomial(model: BetaBinomial) -> SimplexPrior:
    return SimplexPrior((exactly(model.alpha), exactly(model.beta)), model.trials, _truncated_beta)


@simplex_prior.register
def _simplex_prior_dirichlet_law(model: DirichletLaw) -> SimplexPrior:
    return SimplexPrior(
        tuple(map(exactly, model.alpha.tolist())), model.total_per_record, _truncated_dirichlet
    )


def _truncated_beta(source: Source, entries: Entries, lower: Fraction, size: int) -> NDArray[Any]:
    from discreet.sampling import exact  # noqa: PLC0415 - loads the exact samplers on first use

    return exact.truncated_beta(source, entries[0], entries[1], lower, 1 - lower, size)


def _truncated_dirichlet(source: Source, entries: Entries, lower: Fraction, size: int) -> NDArray[Any]:
    from discreet.sampling import exact  # noqa: PLC0415 - loads the exact samplers on first use

    return exact.truncated_dirichlet(source, np.array(entries, dtype=object), lower, size)
