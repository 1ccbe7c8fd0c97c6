"""Amplification by subsampling: one release in closed form, many Gaussian ones by orders and by their law.

Poisson sampling (each record with probability q) is for ADD_REMOVE; a fixed number m of n without
replacement, q = m/n, for SUBSTITUTE. The sample must stay secret.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

from flint import arb

from discreet.privacy.accounting.conversions import above
from discreet.privacy.amplification.sampled_law import sampled_laws
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, floor, precision
from discreet.privacy.arithmetic.curves import Unbounded, downward, on_chord, upward
from discreet.privacy.divergence_bounds import GaussianDP, RenyiDP
from discreet.privacy.guarantee import ADD_REMOVE, Guarantee, exact, positive

BITS = 128
MOST, EXACT = 1024, 256  # orders that are looked at, and up to which differences are taken


@final
@dataclass(frozen=True)
class SubsampledProfile:
    """δ'(ln(1 + q(e^ε − 1))) = q·δ(ε), read backwards [BBG18 Thm 8, Poisson; Thm 9, m of n]."""

    base: Guarantee
    rate: Exact

    def __post_init__(self) -> None:
        _rate(self.rate)
        _ = self.base.relation.replaces  # the theorems are about records

    def __call__(self, epsilon: float) -> float:
        with precision(BITS):
            before = floor((1 + ball(epsilon).expm1() / ball(self.rate)).log())
            least = max(before, downward(epsilon))  # ln(1 + (e^ε − 1)/q) ≥ ε, should e^ε be too large
            return min(1.0, ceiling(ball(self.rate) * ball(self.base.delta(least))))


def subsampled(base: Guarantee, rate: Exact) -> RenyiDP:
    """Promise of one release of a base mechanism on a secret subsample: Poisson, or m of n with rate m/n."""
    return RenyiDP(Unbounded(), profile=SubsampledProfile(base, _rate(rate)), relation=base.relation)


def _rate(rate: Exact) -> Exact:
    if not 0 < exact("the sampling rate", rate) <= 1:
        raise ValueError(f"the sampling rate must lie in (0, 1], got {rate}")
    return rate


@final
@dataclass(frozen=True)
class SampledGaussianCurve:
    """Order ↦ Rényi bound of `steps` subsampled Gaussian releases: whole orders in balls, chords between."""

    mu_squared: Exact
    rate: Exact
    steps: int
    poisson: bool

    def __post_init__(self) -> None:
        _refuse_steps(self.mu_squared, self.rate, self.steps)

    def __call__(self, order: float) -> float:
        if not order <= MOST:
            return math.inf
        low = math.floor(order)
        if low == order:
            return self._at(low)
        left = (float(low), self._at(low)) if low > 1 else (1.0, 0.0)
        right = (low + 1.0, self._at(low + 1))
        return on_chord(left, right, order) if right[1] < math.inf else math.inf

    def _at(self, order: int) -> float:
        one = (_poisson if self.poisson else _fixed)(Fraction(self.mu_squared), Fraction(self.rate), order)
        return math.inf if one == math.inf else upward(self.steps * Fraction(one))


@final
@dataclass(frozen=True)
class SampledGaussianProfile:
    """ε ↦ δ of Poisson-sampled Gaussian releases, by the law of their loss; see sampled_law."""

    mu_squared: Exact
    rate: Exact
    steps: int

    def __post_init__(self) -> None:
        _refuse_steps(self.mu_squared, self.rate, self.steps)

    def __call__(self, epsilon: float) -> float:
        if self.steps == 1:
            one = GaussianDP.from_square(self.mu_squared, relation=ADD_REMOVE)
            return SubsampledProfile(one, self.rate)(epsilon)
        curve = SampledGaussianCurve(self.mu_squared, self.rate, self.steps, poisson=True)
        laws = sampled_laws(self.mu_squared, self.rate, self.steps, curve)
        return 1.0 if laws is None else min(1.0, max(law.delta(epsilon) for law in laws))


def subsampled_gaussian(one: GaussianDP, rate: Exact, steps: int = 1) -> RenyiDP:
    """Promise of `steps` releases of a Gaussian mechanism, each on a fresh secret subsample; adaptive."""
    poisson, square = not one.relation.replaces, one.mu_squared
    curve = SampledGaussianCurve(square, _rate(rate), steps, poisson)
    profile = SampledGaussianProfile(square, rate, steps) if poisson else None
    return RenyiDP(curve, order_limit=float(MOST), profile=profile, relation=one.relation)


def _refuse_steps(mu_squared: Exact, rate: Exact, steps: int) -> None:
    positive("mu_squared", mu_squared)
    _rate(rate)
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise ValueError(f"need at least one step, got {steps}")


# ── whole orders ────────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=4096)
def _poisson(mu_squared: Fraction, q: Fraction, order: int) -> float:
    """e^{(α−1)D_α} = Σ_k C(α, k) q^k (1−q)^{α−k} e^{k(k−1)μ²/2}, the worse direction [MTZ19 §3].

    Without the weights, which sum to 1: 1 + Σ_{k≥2} … (e^{k(k−1)μ²/2} − 1).
    """

    def bound() -> arb:
        rate, kept, square = ball(q), ball(1 - q), ball(mu_squared)
        terms = (
            math.comb(order, k) * rate**k * kept ** (order - k) * (k * (k - 1) * square / 2).expm1()
            for k in range(2, order + 1)
        )
        return sum(terms, arb(0)).log1p() / (order - 1)

    return above(bound)


@lru_cache(maxsize=4096)
def _fixed(mu_squared: Fraction, q: Fraction, order: int) -> float:
    """e^{(α−1)D_α} ≤ 1 + Σ_{j=2}^α C(α, j) q^j min(4√(B_{2⌊j/2⌋}B_{2⌈j/2⌉}), 2e^{j(j−1)μ²/2}) [WBK19 Thm 27].

    B_l = E_Q(P/Q − 1)^l; at j = 2 it is e^{μ²} − 1.
    """

    def bound() -> arb:
        rate, square = ball(q), ball(mu_squared)
        total = arb(0)
        for j in range(2, order + 1):
            most = 2 * (j * (j - 1) * square / 2).exp()
            low, high = (_difference(mu_squared, 2 * half) for half in (j // 2, -(-j // 2)))
            if order <= EXACT and max(low, high) < math.inf:
                most = most.min(4 * (ball(low) * ball(high)).sqrt())
            total += math.comb(order, j) * rate**j * most
        return total.log1p() / (order - 1)

    return above(bound)


@lru_cache(maxsize=4096)
def _difference(mu_squared: Fraction, even: int) -> float:
    """B_l = Σ_i (−1)^i C(l, i) e^{i(i−1)μ²/2} for even l, rounded up; ∞ where it is not used."""
    if even > EXACT:
        return math.inf

    def value() -> arb:
        square = ball(mu_squared)
        terms = ((-1) ** i * math.comb(even, i) * (i * (i - 1) * square / 2).exp() for i in range(even + 1))
        return sum(terms, arb(0))

    return above(value)
