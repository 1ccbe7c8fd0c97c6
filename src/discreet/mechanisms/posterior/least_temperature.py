"""Find the least temperature: loss(T) is certified at every trial, so rounding can only cost utility."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Self, TypeVar

from discreet.families.exact_fields import rational
from discreet.mechanisms.mechanism import ModelMechanism
from discreet.numerics.search import bisect, integers
from discreet.privacy.arithmetic.ball import Exact, largest
from discreet.privacy.guarantee import Guarantee, Unreachable
from discreet.privacy.kinds import BoundedRange, PureDP

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
