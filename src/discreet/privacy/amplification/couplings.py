"""Two noisy steps in a row, bounded by moving between them [BBGG19 Thm 4; G20 §6.4].

R_α(μK‖νK) ≤ R_α(ω‖ν) + sup_x R_α(…): part of the shift is paid in the first noise, the rest, stretched by the
map between, in the second. Any way to share it proves a bound; the best one is looked for at each order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, final

from flint import arb

from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, precision
from discreet.privacy.divergence_bounds import RenyiDP
from discreet.privacy.guarantee import SUBSTITUTE, Relation

BITS = 128
ROUNDS = 80  # of a golden search: the interval shrinks by 2·10^-17


class Shifted(Protocol):
    """Noise, by the Rényi divergence between it and itself moved: convex and increasing in the distance."""

    def renyi(self, order: Exact, distance: Exact) -> arb:
        """R_α(Z‖Z + v), ‖v‖ = distance."""
        ...


@final
@dataclass(frozen=True)
class GaussianShift:
    """αd²/(2σ²)."""

    sigma: Exact

    def __post_init__(self) -> None:
        _scale("sigma", self.sigma)

    def renyi(self, order: Exact, distance: Exact) -> arb:
        return ball(order) * (ball(distance) / ball(self.sigma)) ** 2 / 2


@final
@dataclass(frozen=True)
class LaplaceShift:
    """ln(α/(2α−1)·e^{(α−1)d/λ} + (α−1)/(2α−1)·e^{−αd/λ})/(α−1) [M17 Prop. 6], one coordinate."""

    scale: Exact

    def __post_init__(self) -> None:
        _scale("scale", self.scale)

    def renyi(self, order: Exact, distance: Exact) -> arb:
        a, t = ball(order), ball(distance) / ball(self.scale)
        up = a / (2 * a - 1) * ((a - 1) * t).exp()
        return (up + (a - 1) / (2 * a - 1) * (-a * t).exp()).log() / (a - 1)


def _scale(name: str, value: Exact) -> None:
    if not 0 < value < math.inf:
        raise ValueError(f"{name} of the noise must be positive and finite, got {value}")


@final
@dataclass(frozen=True)
class TwoSteps:
    """Order ↦ min over w of R_α(first; w) + R_α(second; L(Δ − w))."""

    first: Shifted
    second: Shifted
    distance: Exact
    lipschitz: Exact = 1

    def __post_init__(self) -> None:
        if not 0 < self.distance < math.inf:
            raise ValueError(f"the distance must be positive and finite, got {self.distance}")
        if not 0 <= self.lipschitz < math.inf:
            raise ValueError(
                f"the map between needs a finite Lipschitz constant, got {self.lipschitz}; without one the "
                "second noise hides nothing that the first has not"
            )

    def split(self, order: float) -> float:
        """Return how much of the distance the first noise pays, by golden search on a convex function."""
        low, high, ratio = 0.0, float(self.distance), (math.sqrt(5) - 1) / 2
        with precision(BITS):
            for _ in range(ROUNDS):
                left, right = high - ratio * (high - low), low + ratio * (high - low)
                if self._at(order, left).mid() < self._at(order, right).mid():
                    high = right
                else:
                    low = left
        return min(max((low + high) / 2, 0.0), float(self.distance))

    def __call__(self, order: float) -> float:
        """Take the best of the split that was found and both ends."""
        ends = (0.0, self.split(order))
        with precision(BITS):
            found = [ceiling(self._at(order, w)) for w in ends]
            return min(*found, ceiling(self.first.renyi(order, self.distance)))

    def _at(self, order: float, paid: float) -> arb:
        rest = Fraction(self.distance) - Fraction(paid)
        second = Fraction(self.lipschitz) * max(rest, Fraction(0))
        return self.first.renyi(order, paid) + self.second.renyi(order, second)


def two_steps(
    first: Shifted,
    second: Shifted,
    distance: Exact,
    *,
    lipschitz: Exact = 1,
    relation: Relation = SUBSTITUTE,
) -> RenyiDP:
    """Promise for second(ψ(first(x))): x moves by at most `distance`, ψ stretches by at most `lipschitz`."""
    return RenyiDP(TwoSteps(first, second, distance, lipschitz), relation=relation)
