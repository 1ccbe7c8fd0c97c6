"""Optimal composition of pure parts and one Gaussian: the law of the privacy loss, convolved directly.

Randomised response dominates ε-DP [KOV15 Thm 3.3] and dominating pairs compose, adaptively too [Zhu, Dong,
Wang 2022 Thm 10], so δ(ε) = E(1 − e^{ε−L})₊, L the sum of independent losses ±ε_i, P(+) = e^ε_i/(1 + e^ε_i).
Moving mass of L upward, or adding to it, only raises δ. Equal losses are balls throughout. Unequal ones have
their laws convolved in doubles: sums and products of positive numbers only, each within 2^-53 of its exact
result [IEEE 754], so that n of them in a row are within a factor 1 + 2n·2^-53 [Higham 2002 Lemma 3.1]; it is
counted and added. Every exponential, and the expectation itself, is a ball.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import final

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from discreet.numerics.search import bisect, integers
from discreet.privacy.accounting.conversions import above, gaussian_delta, least_epsilon
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, precision
from discreet.privacy.arithmetic.curves import downward, upward

Floats = NDArray[np.float64]


Losses = tuple[tuple["Exact", int], ...]  # (ε, how many), distinct

UNIT = 2.0**-53
TAIL_BITS = 256
LEAST = 5e-324
FLOOR = 2.0**-1000  # more than all underflows together: fewer than 2^60 of them, each below 2^-1074
REACH = 17.0  # Hoeffding: P(|L − EL| > 17√Σε²) ≤ 2e^{−17²/2} < 1e-62
LARGEST, SMALLEST, MOST = 2.0**40, 2.0**-400, 2**20  # losses and μ² that are looked at, and how many
LATTICE, BINS, GAUSSIAN_BINS = 2**13, 2**15, 2**10


def optimal_delta(losses: Losses, mu_squared: Exact, epsilon: Exact) -> float:
    """δ(ε) of the composition: closed form [KOV15 Thm 3.3] for equal losses, else the convolved law."""
    if _out_of_reach(losses, mu_squared):
        return 1.0
    if mu_squared:
        return min(1.0, _law(_raised(losses), GAUSSIAN_BINS, GAUSSIAN_BINS).mixed_delta(mu_squared, epsilon))
    if len(losses) == 1:
        return min(1.0, _equal_delta(*losses[0], epsilon))
    return min(1.0, _law(_raised(losses), LATTICE, BINS).delta(downward(epsilon)))


def optimal_epsilon(losses: Losses, mu_squared: Exact, delta: Exact) -> float:
    """Least certified ε of the composition at δ > 0."""
    if _out_of_reach(losses, mu_squared):
        return math.inf
    if mu_squared:
        return _law(_raised(losses), GAUSSIAN_BINS, GAUSSIAN_BINS).mixed_epsilon(mu_squared, delta)
    if len(losses) == 1:
        return _equal_epsilon(*losses[0], delta)
    top = upward(sum(Fraction(e) * k for e, k in losses))
    return min(top, least_epsilon(_law(_raised(losses), LATTICE, BINS).delta, delta, top))


def _out_of_reach(losses: Losses, mu_squared: Exact) -> bool:
    """Whether the sums would overflow, underflow or take hours: then the other theorems answer alone."""
    total, most = sum(Fraction(e) * k for e, k in losses), max((k for _, k in losses), default=0)
    return total > LARGEST or most > MOST or (bool(mu_squared) and not SMALLEST < mu_squared < LARGEST)


def _raised(losses: Losses) -> Losses:
    """Raise losses that doubles hold badly: more loss promises less."""
    counts: Counter[Exact] = Counter()
    for loss, k in losses:
        counts[max(loss, SMALLEST)] += k
    return tuple(sorted(counts.items()))


# ── equal losses: binomial tails as balls ───────────────────────────────────────────────────────────


@lru_cache(maxsize=32)
def _tails(loss: Exact, k: int, bits: int) -> tuple[tuple[arb, arb], ...]:
    """P and Q mass of {at least i pluses}, i = k, k−1, … while the loss (2i − k)ε is positive."""
    with precision(bits):
        e = ball(loss)
        up, down = e.exp(), (-e).exp()
        p, q = (1 + down) ** -k, (1 + up) ** -k
        head, tail, out = arb(0), arb(0), []
        for i in range(k, k // 2, -1):
            head, tail = head + p, tail + q
            out.append((head, tail))
            ratio = arb(i) / (k - i + 1)
            p, q = p * ratio * down, q * ratio * up
    return tuple(out)


def _equal_delta(loss: Exact, k: int, epsilon: Exact) -> float:
    """δ(ε') = P(i ≥ j) − e^ε' Q(i ≥ j), j the least count whose loss (2j − k)ε exceeds ε'."""
    if epsilon == math.inf:
        return 0.0
    j = math.floor((Fraction(epsilon) / Fraction(loss) + k) / 2) + 1
    if j > k:
        return 0.0

    def value() -> arb:
        p, q = _tails(loss, k, int(ctx.prec))[k - j]
        return p - ball(epsilon).exp() * q

    return above(value)


def _equal_epsilon(loss: Exact, k: int, delta: Exact) -> float:
    """ε' = ln((P(i ≥ j) − δ)/Q(i ≥ j)) at the least j with δ((2j − k)ε) ≤ δ."""
    if _equal_delta(loss, k, 0) <= delta:
        return 0.0

    def proved(j: int) -> bool:
        return _equal_delta(loss, k, max(Fraction(0), (2 * j - k) * Fraction(loss))) <= delta

    least = bisect(proved, k // 2, k, integers)

    def value() -> arb:
        p, q = _tails(loss, k, int(ctx.prec))[k - least]
        return ((p - ball(delta)) / q).log()

    epsilon, step = max(LEAST, above(value)), 2 * UNIT
    while _equal_delta(loss, k, epsilon) > delta:  # the last digit
        epsilon, step = epsilon * (1 + step), 2 * step
    return epsilon


# ── unequal losses: a law on finitely many points, every weight an upper bound ──────────────────────


@final
@dataclass(frozen=True, eq=False)
class LossLaw:
    """Weights ≥ the P-mass at each loss (ascending is not needed), and the mass lost to +∞."""

    losses: Floats
    weights: Floats
    lost: float

    def delta(self, epsilon: float) -> float:
        """Σ w(1 − e^{ε−l})₊ + lost: Σw − e^ε Σ we^{−l} over the losses above ε, as balls."""
        places, mass, other = self._tails
        k = int(np.searchsorted(places, epsilon, side="right"))
        if k == places.size:
            return self.lost
        with precision(TAIL_BITS):
            return ceiling(mass[k] - arb(epsilon).exp() * other[k] + arb(self.lost))

    @cached_property
    def _tails(self) -> tuple[Floats, list[arb], list[arb]]:
        """Losses ascending, and Σw and Σwe^{−l} from each of them on."""
        order = np.argsort(self.losses)
        places, weights = self.losses[order], self.weights[order]
        mass, other = [arb(0)], [arb(0)]
        with precision(TAIL_BITS):
            for loss, weight in zip(places[::-1].tolist(), weights[::-1].tolist(), strict=True):
                w = arb(weight)
                mass.append(mass[-1] + w)
                other.append(other[-1] + w * (-arb(loss)).exp())
        return places, mass[:0:-1], other[:0:-1]

    def mixed_delta(self, mu_squared: Exact, epsilon: Exact) -> float:
        """Σ w δ_GDP(μ)(ε − l) + lost, as balls: exact in the Gaussian part."""
        with precision(128):
            mu, e, total = ball(Fraction(mu_squared)).sqrt(), ball(epsilon), arb(self.lost)
            for loss, weight in zip(self.losses.tolist(), self.weights.tolist(), strict=True):
                total += weight if weight < 1e-60 else arb(weight) * gaussian_delta(mu, e - loss)
            return ceiling(total)

    def mixed_epsilon(self, mu_squared: Exact, delta: Exact) -> float:
        """Solve in floats, then prove in balls, stepping up until proved."""
        mu = math.sqrt(mu_squared)
        guess = least_epsilon(lambda e: self._mixed_rough(mu, e), delta, mu + float(self.losses.max()))
        epsilon, step = guess, 1e-13 * max(guess, 1e-3)
        for _ in range(20):
            if self.mixed_delta(mu_squared, epsilon) <= delta:
                return epsilon
            epsilon, step = epsilon + step, 16 * step
        return math.inf

    def _mixed_rough(self, mu: float, epsilon: float) -> float:
        x = epsilon - self.losses
        with np.errstate(all="ignore"):  # only a guess, which mixed_delta proves or not
            profile = ndtr(mu / 2 - x / mu) - np.exp(x + log_ndtr(-mu / 2 - x / mu))
        return float((self.weights * np.clip(np.nan_to_num(profile, nan=1.0), 0, 1)).sum()) + self.lost


@lru_cache(maxsize=32)
def _law(losses: Losses, lattice: int, bins: int) -> LossLaw:
    points = math.prod(k + 1 for _, k in losses)
    return _exact_law(losses) if points <= lattice else _grid_law(losses, bins)


def _binomial(loss: Exact, k: int) -> Floats:
    """P(i pluses of k), i = 0…k, rounded up."""
    out = np.empty(k + 1)
    with precision(128):
        down = (-ball(loss)).exp()
        p = (1 + down) ** -k
        for i in range(k, -1, -1):
            out[i] = float(p)
            p = p * i * down / (k - i + 1)
    return out * (1 + 4 * UNIT) + LEAST


def _points(loss: Exact, k: int) -> Floats:
    """(2i − k)ε, rounded up: the margin covers both roundings."""
    e = upward(loss)
    return (2.0 * np.arange(k + 1, dtype=np.float64) - k) * e + k * e * 8 * UNIT


def _exact_law(losses: Losses) -> LossLaw:
    at, weight = np.zeros(1), np.ones(1)
    for loss, k in losses:
        at = np.add.outer(at, _points(loss, k)).ravel()
        weight = np.multiply.outer(weight, _binomial(loss, k)).ravel()
    margin = sum(k * upward(e) for e, k in losses) * len(losses) * 4 * UNIT
    return LossLaw(at + margin, weight * (1 + 4 * len(losses) * UNIT) + FLOOR, 0.0)


def _grid_law(losses: Losses, bins: int) -> LossLaw:
    """Every loss split between the two neighbours on a dyadic grid, then direct convolution within ±17√Σε².

    The split keeps both the P and the Q mass (w₂ = w(1 − e^{−(l−l₁)})/(1 − e^{−h}), w₁ = w − w₂), so merging
    the two points gives the old pair back: post-processing, hence the split pair dominates [Doroshenko et
    al. 2022].
    """
    spread = math.sqrt(sum(k * float(e) ** 2 for e, k in losses))
    total = sum(k * float(e) for e, k in losses)
    afford = max(2**10, min(bins, 2**25 // len(losses)))
    step = 2.0 ** math.ceil(math.log2(2 * min(total, REACH * spread) / afford))
    start, weights, lost, error, mean = 0, np.ones(1), 0.0, 0.0, 0.0
    for loss, k in losses:
        first, part = _split(_points(loss, k), _binomial(loss, k), step)
        weights, counted = _convolve(weights, part)
        summed = (weights.size + 2) * UNIT  # by the crop
        start, error = start + first, error + counted + summed
        mean += k * float(loss) * math.tanh(float(loss) / 2)
        start, weights, over = _crop(
            start, weights, (mean - REACH * spread) / step, (mean + REACH * spread) / step
        )
        lost += over
    inflate = 1 + 2 * error + 4 * UNIT
    return LossLaw(
        (start + np.arange(weights.size, dtype=np.float64)) * step,
        weights * inflate,
        lost * inflate + FLOOR,
    )


def _split(at: Floats, weights: Floats, step: float) -> tuple[int, Floats]:
    cell = np.floor(at / step)
    gap = at - cell * step  # exact: both are multiples of one power of two
    lower, upper = _shares(gap, step)
    place = (cell - cell[0]).astype(np.int64)
    out = np.zeros(place[-1] + 2)
    np.add.at(out, place, weights * lower)
    np.add.at(out, place + 1, weights * upper)
    return int(cell[0]), out * (1 + (2 * at.size + 4) * UNIT)


def _shares(gap: Floats, step: float) -> tuple[Floats, Floats]:
    """1 − u and u = (1 − e^{−gap})/(1 − e^{−step}), both rounded up."""
    with precision(128):
        whole = (-arb(step)).expm1()
        upper = [(-arb(g)).expm1() / whole for g in gap.tolist()]
        pairs = [(min(1.0, ceiling(1 - u)), min(1.0, ceiling(u))) for u in upper]
    return np.array([low for low, _ in pairs]), np.array([high for _, high in pairs])


def _convolve(long: Floats, part: Floats) -> tuple[Floats, float]:
    """Direct product of two positive arrays and a bound on its relative error."""
    atoms = np.flatnonzero(part)
    if 4 * atoms.size > part.size:  # dense
        return np.convolve(long, part), (min(long.size, part.size) + 2) * UNIT
    out = np.zeros(long.size + part.size - 1)
    for i in atoms.tolist():
        out[i : i + long.size] += part[i] * long
    return out, (atoms.size + 2) * UNIT


def _crop(start: int, weights: Floats, low: float, high: float) -> tuple[int, Floats, float]:
    """Keep the cells in [low, high]; what lies below moves up to the first one, what lies above is lost."""
    left = min(max(0, math.floor(low) - start), weights.size - 1)
    right = max(left + 1, min(weights.size, math.ceil(high) - start + 1))
    kept = weights[left:right].copy()
    kept[0] += weights[:left].sum()
    return start + left, kept, float(weights[right:].sum())
