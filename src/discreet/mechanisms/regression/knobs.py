"""Public rules for ρ and m of a regression draw, and the search for the knob that meets a target."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.mechanisms.mechanism import Mechanism, largest_budget
from discreet.mechanisms.posterior.draw import KNOB_BITS
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.numerics.search import bisect, integers
from discreet.privacy.arithmetic.ball import round_down
from discreet.privacy.guarantee import Guarantee, NotProved, Relation, Unreachable
from discreet.privacy.kinds import GaussianDP

FEWEST = 60  # a knob below 2^-60 uses nothing of the data


def allowed(target: Guarantee) -> GaussianDP:
    """Largest μ whose Gaussian DP is proved to imply the target."""
    mu = largest_budget(lambda x: GaussianDP(x, relation=target.relation), target)
    return GaussianDP(mu, relation=target.relation)


def ruled(model: GeneralizedLinear, n: Fraction, relation: Relation, mu: float) -> tuple[Fraction, bool]:
    """Return m by the public rule, and whether ρ ≤ 1 goes with it: a choice for utility alone."""
    c2, delta2 = float(model.bound_square), float(model.gradient_square(relation))
    radius = float(model.radius)
    by_dimension = math.sqrt(model.dimension * delta2) / (mu * radius)
    by_records = (0.1 * float(n) * c2 * delta2 / (2 * mu**2 * radius**2)) ** (1 / 3)
    ratio = max(by_dimension, by_records)
    m = max(Fraction(round_down((ratio * mu) ** 2 / delta2, KNOB_BITS)), model.strength)
    return m, float(m) / ratio <= 1


def largest_knob(at: Callable[[float], Mechanism], target: Guarantee) -> float:
    """Largest knob of 24 bits in (0, 1] that meets the target, near enough: μ falls with it but for ⌈K⌉."""

    def holds(value: float) -> bool:
        try:
            return at(value).guarantee <= target
        except NotProved:
            return False

    exponents = range(FEWEST + 1)
    power = next((k for k in exponents if holds(math.ldexp(1.0, -k))), None)
    if power is None:
        raise Unreachable(f"records would count less than 2^-{FEWEST}, and {target} is still not met")
    if not power:
        return 1.0
    unit = -KNOB_BITS - power
    found = bisect(lambda k: holds(math.ldexp(k, unit)), 2 ** (KNOB_BITS + 1), 2**KNOB_BITS, integers)
    return math.ldexp(found, unit)


def least_strength(
    at: Callable[[Fraction], Mechanism], model: GeneralizedLinear, target: Guarantee
) -> Fraction:
    """Least m ≥ d/R², as (d/R²)/share with a share of 24 bits."""
    share = largest_knob(lambda s: at(model.strength / Fraction(s)), target)
    return model.strength / Fraction(share)


# ── How many records count when n is private: all up to a public cap, and all of them less beyond it.
# A step size must fit every data set that may come, so all records weigh less once there are more than
# `most`: w(n) = max(0, 1 − η(n − N)/(N − 1)) for n > N := most, else 1. One record more then moves Σ
# w(n)∇ℓ_i by at most (1 + η) times a record's bound, because n(w(n) − w(n+1)) + w(n+1) ≤ 1 + η:
# n < N: the left side is 1. n ≥ N and w(n+1) > 0: nη/(N−1) + 1 − η(n+1−N)/(N−1) = 1 + η. n ≥ N and w(n+1) =
# 0: with −v ≤ 0 for the line's value at n + 1, n(w(n) + v) − v = 1 + η, so nw(n) = 1 + η − (n−1)v ≤ 1 + η. ∎
LOWERED = Fraction(1, 16)  # η


@dataclass(frozen=True)
class Size(ABC):
    """What one record counts, and what all of them together count at most."""

    @abstractmethod
    def weight(self, n: int) -> Fraction:
        """w(n); private where n is."""

    @property
    @abstractmethod
    def usual(self) -> Fraction:
        """How many records to expect: for choices that only utility rests on."""

    @property
    @abstractmethod
    def moved(self) -> Fraction:
        """What one record more, or another in its place, moves: 1 record, or 1 + η of one."""

    @property
    @abstractmethod
    def total(self) -> Fraction:
        """max_n nw(n)"""

    @property
    @abstractmethod
    def read(self) -> int:
        """Most records that count at all."""


@final
@dataclass(frozen=True)
class RecordCap(Size):
    """w(n), and what it bounds for every n: no data set, however large, leaves the proof."""

    most: int

    def __post_init__(self) -> None:
        if isinstance(self.most, bool) or not (isinstance(self.most, int) and self.most >= 2):
            raise ValueError(
                f"most must be a public whole number, at least 2, got {self.most!r}; take one that n surely "
                "does not exceed: beyond it every record counts less"
            )

    def weight(self, n: int) -> Fraction:
        if n <= self.most:
            return Fraction(1)
        return max(Fraction(0), 1 - LOWERED * Fraction(n - self.most, self.most - 1))

    @property
    def usual(self) -> Fraction:
        return Fraction(self.most)

    @property
    def moved(self) -> Fraction:
        return 1 + LOWERED

    @property
    def total(self) -> Fraction:
        """max_n nw(n), a parabola in n beyond the cap: its value at the top, over the reals."""
        n, slope = self.most, LOWERED / (self.most - 1)
        top = max(Fraction(n), (1 + slope * n) / (2 * slope))
        return top * (1 - slope * (top - n))

    @property
    def read(self) -> int:
        return self.most + int((self.most - 1) / LOWERED)


@final
@dataclass(frozen=True)
class PublicSize(Size):
    """n is public: every record counts in full."""

    n: int

    def weight(self, n: int) -> Fraction:
        if n != self.n:
            raise ValueError(f"the promise is for the public number of records, {self.n}")
        return Fraction(1)

    @property
    def usual(self) -> Fraction:
        return Fraction(self.n)

    @property
    def moved(self) -> Fraction:
        return Fraction(1)

    @property
    def total(self) -> Fraction:
        return Fraction(self.n)

    @property
    def read(self) -> int:
        return self.n


def counted(n: int | None, most: int | None) -> Size:
    """Return n where it is public, else the cap."""
    if n is None and most is None:
        raise ValueError(
            "n sets the step size; it must be public or capped by a public bound, and rounding grows with it "
            "too: give most=… (beyond it every record counts less, so that the promise holds for any n), or "
            "use SUBSTITUTE"
        )
    if n is not None and most is not None:
        raise ValueError("n is public, so most says nothing: leave it out")
    return PublicSize(n) if n is not None else RecordCap(most or 0)
