"""Amplification by iteration: noisy Lipschitz steps forget a shift [FMTT18; BBGG19 §4; BSA24].

Two runs share their maps and noise; in step t they part by at most `shift`, then noise of variance v_t is
added. With z_t = L_t z_{t−1} + s_t − a_t ≥ 0 and z_T = 0, the last states are μ-GDP apart with
μ² = Σ a_t²/v_t [BSA24, shifted interpolation]: any schedule a of absorptions proves a bound, and the
best one is the slope of a convex hull. Only the last state may be released.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import final

import numpy as np
from flint import arb

from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, precision
from discreet.privacy.divergence_bounds import GaussianDP
from discreet.privacy.guarantee import SUBSTITUTE, Relation

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


BITS = 96
TINY = 1e-280  # below this a weight has no part in a double


@final
@dataclass(frozen=True)
class Step:
    """x ↦ ψ(x) + N(0, variance·I), ψ `lipschitz`-Lipschitz and at most `shift` apart between the two runs."""

    lipschitz: Exact
    variance: Exact
    shift: Exact = 0

    def __post_init__(self) -> None:
        if not 0 <= self.lipschitz < math.inf:
            raise ValueError(
                f"a step needs a finite Lipschitz constant, got {self.lipschitz}; declare one that is "
                "proved: max(|1 − ηρ|, |1 − ηβ|) for a gradient step on a ρ-strongly convex, β-smooth loss"
            )
        if not 0 <= self.variance < math.inf:
            raise ValueError(f"the variance of a step's noise must be finite and ≥ 0, got {self.variance}")
        if not 0 <= self.shift < math.inf:
            raise ValueError(f"the shift of a step must be finite and ≥ 0, got {self.shift}")


def iterate(steps: Sequence[Step], *, start: Exact = 0, relation: Relation = SUBSTITUTE) -> GaussianDP:
    """Bound the last state after these steps, when the two runs start at most `start` apart.

    Exact for linear maps from one start with one shift: μ² = (Δ ΠL)²/Σ_t v_t Π_{j>t} L_j².
    """
    if not steps:
        raise ValueError("no step was given")
    if not 0 <= start < math.inf:
        raise ValueError(f"the distance at the start must be finite and ≥ 0, got {start}")
    with precision(BITS):
        square = _absorbed(steps, ball(start), schedule(steps, float(start)))
    if not square.is_finite():
        raise ValueError("the steps that follow the last shift add no noise: nothing hides it; add noise")
    return GaussianDP.from_square(promised(square), relation=relation)


def promised(square: arb) -> float:
    """Round μ² up to a positive double: a promise of exactly 0 would be one that no data were read."""
    return max(ceiling(square), math.ulp(0.0))


def schedule(steps: Sequence[Step], start: float) -> Floats:
    """Best absorptions: in the coordinates of the last state, the convex hull of (Σ weights, Σ shifts)."""
    forward = _products([float(s.lipschitz) for s in steps])
    weights = np.array([float(s.variance) for s in steps]) * forward**2
    shifts = np.array([float(s.shift) for s in steps]) * forward
    shifts[0] += start * forward[0] * float(steps[0].lipschitz)
    used = _hull_slopes(weights, shifts) * weights
    return np.divide(used, forward, out=np.zeros_like(used), where=forward > TINY)


def _products(lipschitz: list[float]) -> Floats:
    """Π_{j>t} L_j for each t, relative to the largest, so that none leaves the doubles."""
    with np.errstate(divide="ignore"):
        logs = np.log(lipschitz)
    after = np.concatenate([np.cumsum(logs[:0:-1])[::-1], [0.0]])
    relative: Floats = np.exp(after - after.max())
    return relative


def _hull_slopes(weights: Floats, shifts: Floats) -> Floats:
    """Slope, at each step, of the greatest convex function below the cumulated shifts, equal at the end."""
    x = np.concatenate([[0.0], np.cumsum(weights)])
    y = np.concatenate([[0.0], np.cumsum(shifts)])
    hull: list[int] = []
    for i in range(len(x)):
        while len(hull) > 1 and _above(x, y, hull[-2], hull[-1], i):
            hull.pop()
        hull.append(i)
    slopes = np.zeros(len(weights))
    for a, b in pairwise(hull):
        width = x[b] - x[a]
        slopes[a:b] = (y[b] - y[a]) / width if width > 0 else 0.0
    return slopes


def _above(x: Floats, y: Floats, a: int, b: int, c: int) -> bool:
    """Whether point b lies on or above the chord from a to c."""
    return bool((y[b] - y[a]) * (x[c] - x[a]) >= (y[c] - y[a]) * (x[b] - x[a]))


def _absorbed(steps: Sequence[Step], start: arb, absorbed: Floats) -> arb:
    """Σ a²/v of a schedule, in balls: the last noisy step absorbs whatever is left."""
    apart, cost, zero = start, arb(0), arb(0)
    last = max((t for t, step in enumerate(steps) if step.variance), default=-1)
    for t, step in enumerate(steps):
        apart = ball(step.lipschitz) * apart + ball(step.shift)
        if step.variance:
            wanted = apart if t == last else arb(float(absorbed[t])).min(apart).max(zero)
            cost += wanted**2 / ball(step.variance)
            apart = zero if t == last else (apart - wanted).max(zero).upper()
    return cost if apart.is_zero() else arb("inf")


# ── what the papers print, for comparison ───────────────────────────────────────────────────────────


def published_iteration(r: int, lipschitz: float, shift: float, sigma: float, order: float) -> float:
    """αΔ²L^{r+1}/(2rσ²) [BBGG19 Thm 5]: valid for L ≤ 1, looser than `iterate` [docs/errata.md 16]."""
    return order * shift**2 * lipschitz ** (r + 1) / (2 * r * sigma**2)


def geometric(shift: Exact, lipschitz: Exact, sigma: Exact, r: int) -> Fraction:
    """μ² of r equal steps: Δ²L^{2r}/(σ² Σ_{j<r} L^{2j}), exactly."""
    square = Fraction(lipschitz) ** 2
    return Fraction(shift) ** 2 * square**r / (Fraction(sigma) ** 2 * sum(square**j for j in range(r)))


# ── Unadjusted Langevin from a public start: what its last iterate promises, whether or not it has
# converged.
# w ← w − h∇U(w) + √(2h)ξ. ∇U is m-strongly monotone and β-Lipschitz and differs by at most G between
# neighbours, so for h ≤ 2/(m + β) the map is (1 − hm)-Lipschitz and two runs part by hG a step, plus whatever
# rounding moves. All earlier iterates must stay hidden.
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
