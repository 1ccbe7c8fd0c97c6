"""Amplification by subsampling: one release in closed form, many Gaussian ones by orders and by their law.

Poisson sampling (each record with probability q) is for ADD_REMOVE; a fixed number m of n without
replacement, q = m/n, for SUBSTITUTE. The sample must stay secret.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np
from flint import arb, fmpz_poly

from discreet.privacy.accounting.conversions import above, near
from discreet.privacy.accounting.optimal_composition import LossLaw
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, floor, precision
from discreet.privacy.arithmetic.curves import Unbounded, downward, on_chord, upward
from discreet.privacy.divergence_bounds import GaussianDP, RenyiDP
from discreet.privacy.guarantee import ADD_REMOVE, Guarantee, exact, positive

# ── The privacy loss of many Poisson-sampled Gaussian releases: its law on a grid, in integers rounded up.
# One release tells N(0, 1) from (1−q)N(0, 1) + qN(μ, 1), either way round [Zhu, Dong, Wang 2022 Thm 11], by
# the loss L(x) = ln(1 − q + qe^{μx − μ²/2}), which grows with x. Each cell of the grid has a mass under both
# laws; put on its two ends so that both masses stay, it dominates what was in it, since the hockey-stick
# divergence is convex in the ratio [Doroshenko et al. 2022]. Dominating pairs compose, adaptively too [Zhu,
# Dong, Wang 2022 Thm 10]: weights are convolved exactly, as integers over 2^128, and rounded up. What lies
# above the window counts as told in full, what lies below is moved up to its end.
SCALE = 128  # bits of a weight
LAW_BITS = 256
BINS = 2**15
FAR = 11  # deviations: Φ(−11) < 1e-27
UNLIKELY = 55.0  # nats: what is above the window has less than e^-55 = 1e-24
ORDERS = (1.25, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256)  # that steer the window


@final
@dataclass(frozen=True)
class GridLaw:
    """Weights·2^-128 at (start + i)·step, and what was lost to +∞; each at or above what it stands for."""

    start: int
    weights: tuple[int, ...]
    lost: int

    def times(self, other: GridLaw, low: int, high: int) -> GridLaw:
        """Return the law of the sum, kept within the cells low … high."""
        product = fmpz_poly(list(self.weights)) * fmpz_poly(list(other.weights))
        sums = [_shifted(c) for c in product.coeffs()]
        return _cropped(self.start + other.start, sums, self.lost + other.lost, low, high)

    def power(self, k: int, low: int, high: int) -> GridLaw:
        """Return the law of the sum of k of them, by squaring."""
        half = self if k < 2 else self.power(k // 2, low, high)
        whole = self if k < 2 else half.times(half, low, high)
        return whole.times(self, low, high) if k > 1 and k % 2 else whole

    def loss_law(self, step: float) -> LossLaw:
        places = (self.start + np.arange(len(self.weights), dtype=np.float64)) * step
        weights = np.array([_double(int(w)) for w in self.weights])
        return LossLaw(places, weights, _double(int(self.lost)))


def _shifted(x: int) -> int:
    return -(-x >> SCALE)


def _double(weight: int) -> float:
    """Return a double above weight·2^-128: the one after the nearest."""
    return math.nextafter(math.ldexp(float(weight), -SCALE), math.inf) if weight else 0.0


def _cropped(start: int, weights: Sequence[int], lost: int, low: int, high: int) -> GridLaw:
    left = min(max(0, low - start), len(weights))
    right = min(len(weights), max(left, high - start + 1))
    kept = [*weights[left:right]] or [0]
    kept[0] += sum(weights[:left])
    return GridLaw(max(start + left, low) if left else start, tuple(kept), lost + sum(weights[right:]))


# ── one release ─────────────────────────────────────────────────────────────────────────────────────


def _upward(x: arb) -> int:
    """Return the least integer at or above x·2^128, at least 0."""
    man, exp = (x.upper() * arb(2) ** SCALE).upper().man_exp()
    shift = int(exp)
    whole = int(man) << shift if shift >= 0 else -(-int(man) >> -shift)
    return max(whole, 0)


def _masses(mu: arb, q: arb, edges: Sequence[arb]) -> list[tuple[arb, arb]]:
    """P(L ≤ edge) under the mixture and under N(0, 1), for each edge; 0 where no x has so small a loss."""
    found, root = [], arb(2).sqrt()
    for edge in edges:
        odds = (edge.exp() - (1 - q)) / q
        if odds <= 0:
            found.append((arb(0), arb(0)))
            continue
        x = (odds.upper().log() + mu * mu / 2) / mu if not odds > 0 else (odds.log() + mu * mu / 2) / mu
        plain = (-x / root).erfc() / 2
        mixed = (1 - q) * plain + q * ((mu - x) / root).erfc() / 2
        sure = bool(odds > 0)  # else the edge cannot be told from the least loss: all that is known is ≤
        found.append((mixed, plain) if sure else (mixed.union(arb(0)), plain.union(arb(0))))
    return found


def _one(mu_squared: Exact, rate: Exact, step: float, first: int, last: int) -> tuple[GridLaw, GridLaw]:
    """Laws of one release's loss, mixture against normal and back, on the cells first … last."""
    with precision(LAW_BITS):
        mu, q, h = ball(Fraction(mu_squared)).sqrt(), ball(Fraction(rate)), arb(step)
        edges = [h * j for j in range(first, last + 1)]
        below = _masses(mu, q, edges)
        forth, back = [0] * len(edges), [0] * len(edges)
        forth[0], back[0] = _upward(below[0][0]), _upward(1 - below[-1][1])  # moved up to the window's end
        gap = -(-h).expm1()
        for i, edge in enumerate(edges[:-1]):
            p, r = (above - under for above, under in zip(below[i + 1], below[i], strict=True))
            _split(forth, i, p, r * edge.exp(), gap)  # ends at edge i and i + 1
            _split(back, len(edges) - 2 - i, r, p * (-edges[i + 1]).exp(), gap)  # and at −(i+1), −i
        lost = _upward(1 - below[-1][0]), _upward(below[0][1])
    return GridLaw(first, tuple(forth), lost[0]), GridLaw(-last, tuple(back), lost[1])


def _split(weights: list[int], i: int, mass: arb, scaled: arb, gap: arb) -> None:
    """w₂ = (p − e^l r)/(1 − e^{−h}) on the upper end, p − w₂ on the lower, l the lower end's loss."""
    upper = (mass - scaled) / gap
    weights[i] += _upward(mass - upper)
    weights[i + 1] += _upward(upper)


# ── many ────────────────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=32)
def sampled_laws(
    mu_squared: Exact, rate: Exact, steps: int, curve: Callable[[float], float]
) -> tuple[LossLaw, LossLaw] | None:
    """Return the laws of `steps` releases both ways round; None where the grid is out of reach.

    `curve`, the Rényi curve of all of them, only says how wide a window is worth looking at.
    """
    tops = [curve(order) + UNLIKELY / (order - 1) for order in ORDERS]
    top, mu, share = min(tops), math.sqrt(near(mu_squared)), float(rate)
    if not (2.0**-30 < top < 2.0**10 and 2.0**-30 < mu < 2.0**5 and share > 2.0**-40):
        return None
    step = 2.0 ** math.ceil(math.log2(2 * top / BINS))
    farthest = max(mu * (mu + FAR) - mu * mu / 2, 0.0)  # loss of a sure sample, beyond any other
    high = math.ceil(top / step)
    last = min(high, math.ceil(farthest / step) + 1)
    floor = math.log1p(-share) if share < 1 else -math.inf
    first = math.floor(max(-top, floor) / step) - 1
    forth, back = _one(mu_squared, rate, step, first, last)
    return forth.power(steps, -high, high).loss_law(step), back.power(steps, -high, high).loss_law(step)


# ── subsampling
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
