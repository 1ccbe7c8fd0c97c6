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
