"""Find the least temperature: loss(T) is certified at every trial, so rounding can only cost utility."""

from __future__ import annotations

import math
from collections.abc import Callable

from discreet.numerics.search import bisect, integers
from discreet.privacy.arithmetic.ball import Exact, largest
from discreet.privacy.guarantee import Guarantee
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
