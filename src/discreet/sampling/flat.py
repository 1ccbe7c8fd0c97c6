"""Truncated Dirichlet from the uniform law on {θ_i ≥ lower}: for bounds so high that little room is left.

Π θ_i^k_i, k = α − 1, is bounded by lower^k_i where k_i < 0, and over the rest by concavity at any r:
Σ k_i ln(θ_i/r_i) ≤ Σ k_i(θ_i/r_i − 1) ≤ H, the largest value at a vertex of the region. H ≈ 0 at the mode r.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from flint import arb

from discreet.numerics.search import bisect, doubles
from discreet.privacy.arithmetic.ball import ball
from discreet.sampling import ideal
from discreet.sampling.lazy import Lazy, Real, Tape, positive

_HALVINGS = 60


@final
@dataclass(frozen=True)
class Flat:
    """Powers k_i, the bound, reference points r_i (`lower` where k_i < 0) and the height H."""

    powers: tuple[Fraction, ...]
    lower: Fraction
    at: tuple[Fraction, ...]
    height: Fraction

    def chance(self) -> float:
        """Guess the acceptance from a public pilot; only running time depends on it."""
        shares = np.random.default_rng(0).dirichlet(np.ones(len(self.at)), 400)
        theta = float(self.lower) + float(1 - len(self.at) * self.lower) * shares
        k, r = (np.array([float(x) for x in xs]) for xs in (self.powers, self.at))
        return float(np.exp((k * np.log(theta / r)).sum(axis=1) - float(self.height)).mean())


def flat(alpha: Sequence[Fraction], lower: Fraction) -> Flat:
    powers = tuple(a - 1 for a in alpha)
    at = _mode([float(k) for k in powers], float(lower))
    points = tuple(lower if k < 0 else max(Fraction(x), lower) for k, x in zip(powers, at, strict=True))
    positives = [(k, r) for k, r in zip(powers, points, strict=True) if k > 0]
    base = sum((k * (lower / r - 1) for k, r in positives), Fraction(0))
    room = 1 - len(alpha) * lower
    rise = max((k * room / r for k, r in positives), default=Fraction(0))
    return Flat(powers, lower, points, base + rise)


def _mode(powers: Sequence[float], lower: float) -> list[float]:
    """Return a guess of the mode: max(lower, τk_i) with Σ = 1."""
    most = 1 / max(*powers, 1e-9)
    tau = bisect(lambda t: sum(max(lower, t * k) for k in powers) < 1, most, 0.0, doubles, turns=_HALVINGS)
    return [max(lower, tau * k) for k in powers]


def from_flat(tape: Tape, law: Flat) -> list[Real]:
    """Draw θ = lower + (1 − d·lower)·E/ΣE, accepted iff ln U < Σ k_i ln(θ_i/r_i) − H"""
    while True:
        shares = ideal.normalised([ideal.exponential(tape) for _ in law.at])
        theta = [_placed(x, law) for x in shares]
        if _accepts(tape, theta, law):
            return theta


def _placed(share: Real, law: Flat) -> Real:
    return Lazy(lambda: ball(law.lower) + ball(1 - len(law.at) * law.lower) * share())


def _accepts(tape: Tape, theta: Sequence[Real], law: Flat) -> bool:
    u = tape.uniform()

    def log_ratio() -> arb:
        total = -ball(law.height) - u().log()
        for k, r, x in zip(law.powers, law.at, theta, strict=True):
            total += ball(k) * (x() / ball(r)).log()
        return total

    return positive(log_ratio)
