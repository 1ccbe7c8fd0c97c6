"""Truncated Dirichlet: from the uniform law where room is short, else by independent gammas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from flint import arb
from scipy import special

from discreet.numerics.search import bisect, doubles
from discreet.privacy.arithmetic.ball import ball
from discreet.sampling import ideal
from discreet.sampling.source import Lazy, Real, Tape, positive

# ── Truncated Dirichlet from the uniform law on {θ_i ≥ lower}: for bounds so high that little room is left.
# Π θ_i^k_i, k = α − 1, is bounded by lower^k_i where k_i < 0, and over the rest by concavity at any r: Σ k_i
# ln(θ_i/r_i) ≤ Σ k_i(θ_i/r_i − 1) ≤ H, the largest value at a vertex of the region. H ≈ 0 at the mode r.
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


# ── Truncated Dirichlet by independent truncated gammas, whose acceptance hardly falls with the dimension.
# With one coordinate left out, the others have density Π θ_i^(α_i−1)·(1 − s)^M, s = Σθ_i, M = α_last − 1 >
# 0. The logarithm's tangent at s₀ bounds (1 − s)^M ≤ (1 − s₀)^M e^(−λ(s−s₀)), λ = M/(1 − s₀): under it the
# θ_i are independent Gamma(α_i, λ) given θ_i ≥ lower. Any s₀ ∈ [0, 1) gives the same law; the expected s is
# quickest.
@final
@dataclass(frozen=True)
class Independent:
    """α with its largest entry at `last`, the bound `lower`, the tangent's place s₀ and rate λ."""

    alpha: tuple[Fraction, ...]
    lower: Fraction
    last: int
    place: Fraction
    rate: Fraction

    def chance(self) -> float:
        """Guess the acceptance from a public pilot; only running time depends on it."""
        rate, lower = float(self.rate), float(self.lower)
        others = np.array([float(a) for i, a in enumerate(self.alpha) if i != self.last])
        beyond = special.gammaincc(others, rate * lower)
        theta = (
            special.gammainccinv(others, np.random.default_rng(0).random((400, others.size)) * beyond) / rate
        )
        rest = 1 - np.where(np.isfinite(theta), theta, lower).sum(axis=1)
        kept = rest[rest > lower] / float(1 - self.place)
        return float(np.exp(float(self.alpha[self.last] - 1) * (np.log(kept) + 1 - kept)).sum() / 400)


def independent(alpha: Sequence[Fraction], lower: Fraction) -> Independent | None:
    """Tangent at the s₀ that equals the expected sum; None if no entry exceeds 1."""
    last = max(range(len(alpha)), key=lambda i: alpha[i])
    power = alpha[last] - 1
    if power <= 0:
        return None
    others = [float(a) for i, a in enumerate(alpha) if i != last]

    def exceeded(total: float) -> bool:
        rate = float(power) / (1 - total)
        return sum(_expected(a, rate, float(lower)) for a in others) > total

    place = min(Fraction(bisect(exceeded, 1.0, 0.0, doubles, turns=_HALVINGS)), 1 - lower)
    return Independent(tuple(alpha), lower, last, place, power / (1 - place))


def _expected(a: float, rate: float, lower: float) -> float:
    """Return a guess of E θ for θ ~ Gamma(a, rate) given θ ≥ lower."""
    beyond = special.gammaincc(a, rate * lower)
    if beyond < 1e-100:
        return lower + 1 / rate
    return float(a / rate * special.gammaincc(a + 1, rate * lower) / beyond)


def from_independent(tape: Tape, law: Independent) -> list[Real]:
    while True:
        others = [_beyond(tape, a, law.rate, law.lower) for i, a in enumerate(law.alpha) if i != law.last]
        rest = _rest(others)
        if positive(_minus(rest, law.lower)) and _accepts_rest(tape, rest, law):
            return [*others[: law.last], rest, *others[law.last :]]


def _rest(others: Sequence[Real]) -> Real:
    return Lazy(lambda: 1 - sum((x() for x in others), arb(0)))


def _minus(x: Real, by: Fraction) -> Real:
    return Lazy(lambda: x() - ball(by))


def _accepts_rest(tape: Tape, rest: Real, law: Independent) -> bool:
    """Accept iff ln U < M ln((1 − s)/(1 − s₀)) + λ(s − s₀)"""
    u, left = tape.uniform(), 1 - law.place

    def log_ratio() -> arb:
        bend = (rest() / ball(left)).log() + 1 - rest() / ball(left)
        return ball(law.alpha[law.last] - 1) * bend - u().log()

    return positive(log_ratio)


def _beyond(tape: Tape, a: Fraction, rate: Fraction, lower: Fraction) -> Real:
    """Draw θ ~ Gamma(a, rate) given θ ≥ lower: from the whole law, or an exponential where that is rare"""
    pace = rate - max(a - 1, Fraction(0)) / lower
    rare = special.gammaincc(float(a), float(rate * lower)) < 0.3
    while True:
        x = _overshoot(tape, a, pace, lower) if rare and pace > 0 else _whole(tape, a, rate, lower)
        if x is not None:
            return x


def _whole(tape: Tape, a: Fraction, rate: Fraction, lower: Fraction) -> Real | None:
    g = ideal.gamma(tape, a)
    x = Lazy(lambda: g() / ball(rate))
    return x if positive(_minus(x, lower)) else None


def _overshoot(tape: Tape, a: Fraction, pace: Fraction, lower: Fraction) -> Real | None:
    """θ = lower + E/c, c = λ − k⁺/lower, accepted iff ln U < k[ln(θ/lower) − (θ/lower − 1)·1(k > 0)]"""
    e, u, k = ideal.exponential(tape), tape.uniform(), a - 1
    x = Lazy(lambda: ball(lower) + e() / ball(pace))

    def log_ratio() -> arb:
        part = x() / ball(lower)
        return ball(k) * (part.log() - (part - 1 if k > 0 else 0)) - u().log()

    return x if positive(log_ratio) else None
