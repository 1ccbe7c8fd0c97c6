"""Hockey-stick divergences δ(ε) = sup P(E) − e^ε Q(E) of closed-form laws, as certified lower bounds.

Over any partition, Σ (P(cell) − e^ε Q(cell))₊ is a lower bound, and it is attained once the partition holds
the points where the likelihood ratio crosses e^ε; so crossings may be floats and the bound stays proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import pairwise

from flint import arb

from discreet.mechanisms.checks import epsilon_point
from discreet.privacy.arithmetic.ball import Exact, ball, floor, precision

BITS = 256


def finite_divergence(
    left: Callable[[], Sequence[arb]], right: Callable[[], Sequence[arb]], epsilon: Exact
) -> float:
    """Σ_y (P(y) − e^ε Q(y))₊"""
    with precision(BITS):
        return at_least(positive_parts(zip(left(), right(), strict=True), epsilon))


def at_least(x: arb) -> float:
    """Return the greatest double below a divergence, which is never negative."""
    return max(0.0, floor(x))


def positive_parts(cells: Iterable[tuple[arb, arb]], epsilon: Exact) -> arb:
    """Σ over cells of (P − e^ε Q)₊, counting only what is certainly positive."""
    factor = ball(epsilon_point(epsilon)).exp()
    gaps = (p - factor * q for p, q in cells)
    return sum((gap for gap in gaps if gap > 0), arb(0))


def line_divergence(
    left: Callable[[Fraction], arb],
    right: Callable[[Fraction], arb],
    cuts: Iterable[Fraction],
    epsilon: Exact,
) -> arb:
    """Σ over the pieces of the line between `cuts`, for two laws given by P(X ≤ x)."""
    edges = sorted(set(cuts))
    below = [(arb(0), arb(0)), *((left(x), right(x)) for x in edges), (left(_FAR), right(_FAR))]
    cells = ((p - p0, q - q0) for (p0, q0), (p, q) in pairwise(below))
    return positive_parts(cells, epsilon)


_FAR = Fraction(2) ** 10_000  # exp(−_FAR) is 0 at any precision in use, and its ball says by how much


def laplace_below(center: Fraction, scale: Fraction) -> Callable[[Fraction], arb]:
    """P(X ≤ x) for X ~ Laplace(center, scale)"""

    def below(x: Fraction) -> arb:
        tail = ball(-abs(x - center) / scale).exp() / 2
        return tail if x < center else 1 - tail

    return below


def laplace_crossings(
    left: tuple[Fraction, Fraction], right: tuple[Fraction, Fraction], log_ratio: float
) -> list[Fraction]:
    """Where ln(b'/b) − |x−a|/b + |x−a'|/b' = log_ratio, on each linear piece; and the two centers."""
    (a, b), (c, d) = left, right
    level = Fraction(math.log(d / b) - log_ratio)
    slopes = ((s / d - r / b, r * a / b - s * c / d) for r in (-1, 1) for s in (-1, 1))
    return [a, c, *(-(level + constant) / slope for slope, constant in slopes if slope)]
