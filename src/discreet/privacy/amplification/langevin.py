"""Unadjusted Langevin from a public start: what its last iterate promises, whether or not it has converged.

w ← w − h∇U(w) + √(2h)ξ. ∇U is m-strongly monotone and β-Lipschitz and differs by at most G between
neighbours, so for h ≤ 2/(m + β) the map is (1 − hm)-Lipschitz and two runs part by hG a step, plus whatever
rounding moves. All earlier iterates must stay hidden.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from flint import arb

from discreet.privacy.amplification.iteration import BITS
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, precision
from discreet.privacy.divergence_bounds import GaussianDP
from discreet.privacy.guarantee import SUBSTITUTE, Relation


@final
@dataclass(frozen=True, kw_only=True)
class Langevin:
    """K steps of size h on an m-strongly convex, β-smooth U: μ² < G²/m, what one exact draw costs [GLL22]."""

    step: Exact  # h
    steps: int  # K
    strong: Exact  # m
    smooth: Exact  # β, for every data set that may come
    gradient: Exact  # G = sup‖∇U − ∇U'‖ over neighbours
    displacement: Exact = 0  # how far rounding may part two runs, in one step

    def __post_init__(self) -> None:
        if not 0 < self.strong <= self.smooth < math.inf:
            raise ValueError(f"need 0 < m ≤ β < ∞, got m = {self.strong} and β = {self.smooth}")
        if not 0 < Fraction(self.step) * (Fraction(self.strong) + Fraction(self.smooth)) <= 2:
            raise ValueError(
                f"the step must lie in (0, 2/(m + β)], got {float(self.step):g}: beyond it a step may "
                "spread two runs apart, and nothing is proved"
            )
        if isinstance(self.steps, bool) or not self.steps >= 1:
            raise ValueError(f"at least one step is needed, got {self.steps!r}")
        if not (self.gradient > 0 and 0 <= self.displacement < math.inf):
            raise ValueError(
                f"need a gradient bound above 0 and a displacement of at least 0, got {self.gradient} and "
                f"{self.displacement}"
            )

    @property
    def contraction(self) -> Fraction:
        """Lipschitz constant of a step: s = 1 − hm ≥ |1 − hβ|, as h ≤ 2/(m + β)."""
        return 1 - Fraction(self.step) * Fraction(self.strong)

    @property
    def shift(self) -> Fraction:
        """How far one step parts the runs: hG and the rounding."""
        return Fraction(self.step) * Fraction(self.gradient) + Fraction(self.displacement)

    def forgotten(self) -> arb:
        """s^K: the share of the start that is left [synchronous coupling]."""
        return ball(self.contraction) ** self.steps

    @property
    def mu_squared(self) -> float:
        """μ² = (G²/m)(1 − hm/2)(1 − s^K)/(1 + s^K) with G + displacement/h for G, rounded up.

        Shifted interpolation [BSA24]: noise absorbs a_t of the distance, z_t = s·z_{t−1} + shift − a_t, for
        a_t²/2h. Any a with z ≥ 0 and z_K = 0 proves Σa_t²/2h; a_t ∝ s^{K−t} is the best, and as it grows with
        t, z reaches 0 at the end alone. Equality for linear losses.
        """
        with precision(BITS):
            s, rest = ball(self.contraction), self.forgotten()
            apart = ball(self.shift) ** 2 / (2 * ball(self.step))
            square = apart * (1 + s) / (1 - s) * ((1 - rest) / (1 + rest))
            return ceiling(square)

    def guarantee(self, relation: Relation = SUBSTITUTE) -> GaussianDP:
        return GaussianDP.from_square(max(self.mu_squared, math.ulp(0.0)), relation=relation)


def exact_draw(gradient_square: Exact, strong: Exact, relation: Relation = SUBSTITUTE) -> GaussianDP:
    """μ² = G²/m for one exact draw of e^{−U}, U m-strongly convex, ‖∇U − ∇U'‖ ≤ G [GLL22]."""
    return GaussianDP.from_square(Fraction(gradient_square) / Fraction(strong), relation=relation)
