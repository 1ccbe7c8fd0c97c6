"""Whole numbers x_j ≥ 0 given their sum, p(x | Σx = s) ∝ ∏ g_j(x_j), by a tree of convolutions.

No chain: the mass of Σx is computed, and x is split off level by level, each draw independent of the others.
Weights e^{τΣx} cancel in every such law, and a τ that centres Σx where it is asked for keeps doubles accurate
there [exponential tilting; Butler 2007 §1.1].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from scipy.signal import fftconvolve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.families.family import Floats, Integers

DEPTH = 40.0  # nats below the peak at which a mass is cut off: e^-40 = 4e-18
FLOOR = 1e-14  # of the peak: below it a convolution by FFT is rounding
DIRECT = 2**16  # products of lengths up to which sums are added up one by one, to full relative accuracy
ROUNDS = 16  # of rejection, before what is left is drawn by going through all values
HALVINGS = 60


@final
@dataclass(frozen=True, eq=False)
class Mass:
    """w(x) = e^scale · values[x − low] on consecutive whole numbers, the largest of values 1."""

    low: int
    values: Floats
    scale: float

    @classmethod
    def of(cls, low: int, logs: Floats, depth: float = DEPTH) -> Mass:
        """Exponentiate, and cut off what is `depth` nats below the peak."""
        peak = float(logs.max())
        if not np.isfinite(peak):
            raise ValueError("a mass needs at least one value of finite weight")
        first, last = np.flatnonzero(logs >= peak - depth)[[0, -1]]
        return cls(low + int(first), np.exp(logs[first : last + 1] - peak), peak)

    @property
    def high(self) -> int:
        return self.low + self.values.size - 1

    @property
    def support(self) -> Floats:
        return np.arange(self.low, self.high + 1, dtype=np.float64)

    def logs(self) -> Floats:
        """Log w on low, …, high; −∞ where it is nothing."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.values) + self.scale)

    def moments(self) -> tuple[float, float]:
        """Mean and variance of x ~ w."""
        offsets, whole = np.arange(self.values.size, dtype=np.float64), self.values.sum()
        mean = float((self.values * offsets).sum() / whole)
        return self.low + mean, float((self.values * (offsets - mean) ** 2).sum() / whole)

    def tilted(self, slope: float) -> Mass:
        """w(x)·e^{slope·x}"""
        return Mass.of(self.low, self.logs() + slope * self.support)


def centring(masses: Sequence[Mass], total: float, low: float, high: float) -> float:
    """τ in [low, high] with E Σx = total under weights g_j(x)e^{τx}: the saddle point, or the nearer end."""
    first = high - low
    for _ in range(HALVINGS):
        slope = (low + high) / 2
        mean = sum(mass.tilted(slope).moments()[0] for mass in masses)
        low, high = (slope, high) if mean < total else (low, slope)
        if abs(mean - total) < 0.5 or high - low < 1e-9 * first:
            break
    return slope


# ── the tree ────────────────────────────────────────────────────────────────────────────────────────


@final
@dataclass(frozen=True, eq=False)
class Sum:
    """The mass of a sum, and its two parts; a leaf has none."""

    mass: Mass
    parts: tuple[Sum, Sum] | tuple[()] = ()

    def split(self, totals: Integers, rng: np.random.Generator) -> Integers:
        """Draw the leaves given their sum, one row for each of `totals`."""
        if not self.parts:
            return totals[:, None]
        left, right = self.parts
        first = _parts(left.mass, right.mass, totals, rng)
        return np.hstack([left.split(first, rng), right.split(totals - first, rng)])


def summed(masses: Sequence[Mass]) -> Sum:
    """Add up neighbours, pair by pair."""
    level = [Sum(mass) for mass in masses]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        level = [Sum(convolved(a.mass, b.mass), (a, b)) for a, b in pairs] + level[len(level) & ~1 :]
    return level[0]


def convolved(a: Mass, b: Mass) -> Mass:
    """Mass of the sum of two independent whole numbers."""
    direct = a.values.size * b.values.size <= DIRECT
    values = np.convolve(a.values, b.values) if direct else fftconvolve(a.values, b.values)
    peak = float(values.max())
    values[values < peak * (np.exp(-DEPTH) if direct else FLOOR)] = 0.0
    first, last = np.flatnonzero(values)[[0, -1]]
    return Mass(a.low + b.low + int(first), values[first : last + 1] / peak, a.scale + b.scale + np.log(peak))


# ── drawing ─────────────────────────────────────────────────────────────────────────────────────────


def drawn(mass: Mass, size: int, rng: np.random.Generator) -> Integers:
    """Independent draws of x ~ w."""
    heights = np.cumsum(mass.values)
    found = np.searchsorted(heights, rng.random(size) * heights[-1], side="right")
    return np.asarray(mass.low + np.minimum(found, mass.values.size - 1))


def _parts(left: Mass, right: Mass, totals: Integers, rng: np.random.Generator) -> Integers:
    """Draw x ∝ left(x)·right(s − x) for every s: from the narrower side, accepted by the other."""
    if left.values.size > right.values.size:
        return np.asarray(totals - _parts(right, left, totals, rng))
    heights = np.concatenate([[0.0], np.cumsum(left.values)])
    a = np.clip(totals - right.high - left.low, 0, left.values.size - 1)  # where both have mass
    b = np.clip(totals - right.low - left.low, 0, left.values.size - 1)
    best = _most(right, totals - left.low - b, totals - left.low - a)
    found, open_ = np.empty_like(totals), np.arange(totals.size)
    for _ in range(ROUNDS):
        u = heights[a[open_]] + rng.random(open_.size) * (heights[b[open_] + 1] - heights[a[open_]])
        x = np.clip(np.searchsorted(heights, u, side="right") - 1, a[open_], b[open_])
        weight = _at(right, totals[open_] - left.low - x)
        taken = rng.random(open_.size) * best < weight
        found[open_[taken]] = left.low + x[taken]
        open_ = open_[~taken]
        if not open_.size:
            return found
    for i in open_:
        found[i] = _by_enumeration(left, right, int(totals[i]), rng)
    return found


def _most(mass: Mass, low: Integers, high: Integers) -> float:
    """Largest weight that any of the draws can meet."""
    a = max(int(low.min()) - mass.low, 0)
    b = min(int(high.max()) - mass.low, mass.values.size - 1)
    return float(mass.values[a : b + 1].max(initial=0.0)) or 1.0


def _at(mass: Mass, x: Integers) -> Floats:
    inside = (x >= mass.low) & (x <= mass.high)
    return np.where(inside, mass.values[np.clip(x - mass.low, 0, mass.values.size - 1)], 0.0)


def _by_enumeration(left: Mass, right: Mass, total: int, rng: np.random.Generator) -> int:
    first = max(left.low, total - right.high)
    last = min(left.high, total - right.low)
    if first > last:
        raise ValueError("the sum is beyond what its parts can add up to")
    ahead = left.values[first - left.low : last - left.low + 1]
    behind = right.values[total - last - right.low : total - first - right.low + 1][::-1]
    heights = np.cumsum(ahead * behind)
    return first + min(int(np.searchsorted(heights, rng.random() * heights[-1], side="right")), last - first)
