"""Laws of a privacy loss on a grid, from any certified profile, and their convolution, rounded up.

A pair of laws has the profile δ(ε) = E_P(1 − e^{ε−L})₊, convex in x = e^ε. Given upper bounds of it at nodes,
the piecewise linear curve through them is the profile of a law on the nodes and +∞, which dominates every
pair below it ["connect the dots", Doroshenko et al. 2022]; dominating pairs compose, adaptively too [Zhu,
Dong, Wang 2022 Thm 10]. A profile of both directions, given for ε ≥ 0, says the rest:
δ(−ε) = 1 − e^{−ε}(1 − δ(ε)).

Moving mass of L upward, or adding to it, only raises δ: that is how everything here is rounded. Weights are
doubles; sums and products of positive ones are within (1 + 2n·2^-53), n in a row [Higham 2002 Lemma 3.1],
which is added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from typing import Self, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.numerics.search import bracket
from discreet.privacy.arithmetic.ball import ceiling, precision
from discreet.privacy.arithmetic.curves import Profile

Floats = NDArray[np.float64]

UNIT = 2.0**-53
BITS = 128
NODES = 2**8  # between 0 and the largest loss of a part
LOST = 2.0**-50  # of a part's mass: its loss counts as infinite
CROPPED = 2.0**-80  # of a sum's mass, at either end
WIDEST = 2.0**20  # a loss beyond this is no promise
FLOOR = 2.0**-1000  # more than all underflows together: fewer than 2^60 of them, each below 2^-1074


@final
@dataclass(frozen=True, eq=False)
class DominatingLaw:
    """Weights at least the P-mass of each loss, (start + i)·step, and the mass lost to +∞; step is 2^k."""

    step: float
    start: int
    weights: Floats
    lost: float

    def __post_init__(self) -> None:
        if math.frexp(self.step)[0] != 0.5:  # so that losses and their order are exact
            raise ValueError(f"the step of a grid of losses is a power of two, got {self.step!r}")

    @classmethod
    def of(cls, profile: Profile, step: float, top: float) -> Self:
        """Return the law through a certified profile's values at 0, h, 2h, … to about `top`, and mirrored."""
        many = max(2, math.ceil(top / step))
        with precision(BITS):
            above = [arb(min(1.0, profile(i * step))) for i in range(many + 1)]
            below = [1 - (-arb(i * step)).exp() * (1 - above[i]) for i in range(many, 0, -1)]
            curve, up, down = [*below, *above], arb(step).expm1(), -(-arb(step)).expm1()
            slopes = [b - a for a, b in pairwise(curve)]
            inner = [b / up - a / down for a, b in pairwise(slopes)]
            mass = [slopes[0] / up + 1 - curve[0], *inner, -slopes[-1] / down]
            weights = np.array([max(0.0, ceiling(p)) for p in mass])
            return cls(step, -many, weights, ceiling(curve[-1]))

    def plus(self, other: DominatingLaw) -> DominatingLaw:
        """Return the law of the sum of two independent losses, on one grid."""
        if self.step != other.step:
            raise ValueError("laws are added on one grid")
        summed = np.convolve(self.weights, other.weights)
        inflate = 1 + 2 * (min(self.weights.size, other.weights.size) + 2) * UNIT
        lost = (self.lost + other.lost) * (1 + 4 * UNIT) + FLOOR
        return _cropped(DominatingLaw(self.step, self.start + other.start, summed * inflate, lost))

    def times(self, k: int) -> DominatingLaw:
        """Return the law of the sum of k independent copies, by squaring."""
        out, square = None, self
        while True:
            if k % 2:
                out = square if out is None else out.plus(square)
            k //= 2
            if not k:
                return out if out is not None else self
            square = square.plus(square)

    def delta(self, epsilon: float) -> float:
        """Σ w(1 − e^{ε−l})₊ + lost, rounded up."""
        k = max(0, math.floor(epsilon / self.step) + 1 - self.start)  # the first node above ε
        if k >= self.weights.size:
            return min(1.0, self.lost)
        masses, others = self._tails
        with precision(BITS):
            scale = (arb(epsilon) - arb(self.start * self.step)).exp()
            return min(1.0, ceiling(masses[k] - scale * others[k] + arb(self.lost)))

    @cached_property
    def _tails(self) -> tuple[list[arb], list[arb]]:
        """Σw and Σw·e^{−i·step} from each node on."""
        with precision(BITS):
            mass, other, up = arb(0), arb(0), arb(self.step).exp()
            power = (-arb(self.step * (self.weights.size - 1))).exp()
            masses, others = [], []
            for weight in self.weights[::-1].tolist():
                mass, other = mass + weight, other + weight * power
                masses.append(mass)
                others.append(other)
                power *= up
            return masses[::-1], others[::-1]


def _cropped(law: DominatingLaw) -> DominatingLaw:
    """Losses that all but never occur: low ones move up to the first that is kept, high ones are lost."""
    w, keep = law.weights, 1 + 2 * (law.weights.size + 2) * UNIT
    low = int(np.searchsorted(np.cumsum(w), CROPPED))
    high = w.size - int(np.searchsorted(np.cumsum(w[::-1]), CROPPED))
    if not 0 <= low < high:
        return law
    kept = w[low:high].copy()
    kept[0] = (kept[0] + w[:low].sum()) * keep
    return DominatingLaw(law.step, law.start + low, kept, float(law.lost + w[high:].sum()) * keep)


def reach(profile: Profile) -> float:
    """Return a loss, a power of two, beyond which a profile leaves next to nothing; ∞ if it never does."""
    found = bracket(lambda e: profile(e) <= LOST, 2.0**-10, 2.0**-9, lambda e: 2 * e, lambda e: e >= WIDEST)
    return math.inf if found is None else found[1]


def sum_of(parts: Sequence[tuple[Profile, int]], nodes: int = NODES) -> DominatingLaw | None:
    """Return the law of the sum of so many losses of each profile; None where one is unbounded."""
    tops = [reach(profile) for profile, _ in parts]
    if max(tops) == math.inf:
        return None
    laws = [
        DominatingLaw.of(profile, max(tops) / nodes, top).times(k)
        for (profile, k), top in zip(parts, tops, strict=True)
    ]
    return reduce(DominatingLaw.plus, laws)
