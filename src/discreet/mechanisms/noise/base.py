"""What a basic mechanism adds to a Mechanism: its relation, repeated releases, and its law for an audit."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.mechanism import Mechanism, epsilon_point, integers, reals
from discreet.privacy.arithmetic.ball import Exact, ball, floor, precision
from discreet.privacy.guarantee import SUBSTITUTE, Relation
from discreet.sampling.source import SYSTEM, Source


@dataclass(frozen=True)
class BasicMechanism(Mechanism):
    """A mechanism whose law is known in closed form for every input."""

    relation: Relation = field(default=SUBSTITUTE, kw_only=True)

    @abstractmethod
    def releases(self, value: Any, size: int, source: Source | None = None) -> NDArray[Any]:  # noqa: ANN401
        """`size` independent releases of one value, at `size` times the price (audits, simulations)."""

    @abstractmethod
    def hockey_stick(self, value: Any, neighbour: Any, epsilon: Exact) -> float:  # noqa: ANN401
        """δ(ε) = sup P(E) − e^ε Q(E) over events, for the releases of two inputs; a certified lower bound."""


class RealNoise(BasicMechanism):
    """Independent noise on every coordinate of reals; multiples of a public grid, as the nearest doubles."""

    @abstractmethod
    def _noisy(self, centers: list[Fraction], source: Source | None) -> NDArray[np.float64]:
        """Draw once around each centre."""

    def release(self, value: ArrayLike, source: Source | None = None) -> NDArray[np.float64] | np.float64:
        flat, shape = reals(value, "the value")
        return self._noisy(flat, source).reshape(shape)[()]

    def releases(self, value: Exact, size: int, source: Source | None = None) -> NDArray[np.float64]:
        (center,), _ = reals(np.asarray(value, dtype=object), "the value")
        return self._noisy([center] * size, source)


class IntegerNoise(BasicMechanism):
    """Independent integer noise on every coordinate of counts."""

    @abstractmethod
    def _noise(self, source: Source, size: int) -> NDArray[np.int64]:
        """Draw the noise alone."""

    def release(self, value: ArrayLike, source: Source | None = None) -> NDArray[np.int64] | np.int64:
        counts = integers(value, "the counts")
        return (counts + self._noise(source or SYSTEM, counts.size).reshape(counts.shape))[()]

    def releases(self, value: int, size: int, source: Source | None = None) -> NDArray[np.int64]:
        return np.asarray(self.release(np.full(size, value), source))


# ── Hockey-stick divergences δ(ε) = sup P(E) − e^ε Q(E) of closed-form laws, as certified lower bounds.
# Over any partition, Σ (P(cell) − e^ε Q(cell))₊ is a lower bound, and it is attained once the partition holds
# the points where the likelihood ratio crosses e^ε; so crossings may be floats and the bound stays proved.
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
