"""How likely each sum j makes what was released, and the transform Σ_j w(j) e^{−zj} of that, in closed form.

One observation is a noisy sum; two are the noisy pair that hides n: w is the product of their densities.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Self, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from discreet.families.family import Floats
from discreet.posteriors.noise_law import NoiseLaw

# ── Logarithms of generating functions Σ m(j) e^{zj} for complex z, without overflow however far the tilt.
# The real part of z is one number a row: along a line in the imaginary direction it does not change.
Complexes = NDArray[np.complex128]


TINY = 1e-9  # x below which Σ_{i<k} e^{xi} is k(1 + (k−1)x/2)
ELEMENTS = 2**21  # complex numbers in memory at once


def log_sum(*terms: Complexes) -> Complexes:
    """Log Σ exp(term), the largest real part taken out."""
    top = reduce(np.maximum, (term.real for term in terms))
    top = np.where(np.isfinite(top), top, 0.0)
    return np.asarray(top + _log(reduce(np.add, (np.exp(term - top) for term in terms))))


def log_geometric(x: Complexes, count: Floats | int) -> Complexes:
    """Log Σ_{0 ≤ i < count} e^{xi}, from the side on which the terms fall."""
    count = np.asarray(count, dtype=np.float64)
    rising = x.real > 0
    falling = np.where(rising, -x, x)
    near = np.abs(falling) * np.maximum(count, 1) < TINY
    safe = np.where(near, -1.0, falling)
    total = np.where(near, count * (1 + (count - 1) * falling / 2), np.expm1(count * safe) / np.expm1(safe))
    return np.asarray(_log(total) + np.where(rising, (count - 1) * x, 0.0))


def log_levels(log_mass: Floats, start: Floats, z: Complexes) -> Complexes:
    """Log Σ_ℓ m(ℓ) e^{z(start + ℓ)} of rows of log masses: √L·√L factors instead of L exponentials."""
    rows, levels = log_mass.shape
    each = max(1, int(ELEMENTS // (z.shape[1] * int(np.ceil(levels**0.5)))))
    if rows > each:
        parts = [slice(i, i + each) for i in range(0, rows, each)]
        return np.concatenate([log_levels(log_mass[p], start[p], z[p]) for p in parts])
    weight = log_mass + z[:, :1].real * (start[:, None] + np.arange(levels))
    top = weight.max(axis=1, keepdims=True)
    side = int(np.ceil(levels**0.5))
    mass = np.zeros((rows, side * side))
    mass[:, :levels] = np.exp(weight - top)
    t = z.imag[:, None, :]
    steps = np.arange(side)[:, None]
    inner = mass.reshape(rows, side, side) @ np.exp(1j * t * steps)
    total = (inner * np.exp(1j * t * (side * steps))).sum(axis=1)
    return np.asarray(top + _log(total) + 1j * z.imag * start[:, None])


def _log(total: Complexes) -> Complexes:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(total))


# ── weights
Rows: TypeAlias = NDArray[np.int64] | NDArray[np.bool_] | slice  # any index of rows
NARROW = 3.0  # Σ_j exp(−(j−ξ)²/2ς²) e^{−zj} is an integral to e^{−44} from here on (Poisson summation)


@final
@dataclass(frozen=True, eq=False)
class Weights:
    """Rows of sorted centres ξ, in units of j, each noised alike: w(j) = Π_k p(unit·(ξ_k − j))."""

    noise: NoiseLaw
    unit: int
    centres: Floats  # (rows, observations)

    def take(self, rows: Rows) -> Self:
        return replace(self, centres=self.centres[rows])

    def moved(self, by: Floats) -> Self:
        """Return rows whose centres lie so much higher."""
        return replace(self, centres=self.centres + by[:, None])

    @property
    def scale(self) -> float:
        """Of the noise, in units of j."""
        return self.noise.scale / self.unit

    @cached_property
    def spread(self) -> float:
        """Deviation of the weights, a density of j, if the observations agree."""
        return float(self.noise.variance**0.5 / self.unit / self.centres.shape[1] ** 0.5)

    @property
    def wide(self) -> bool:
        """Whether the weights have a transform in closed form."""
        return self.noise.laplacian or self.scale / self.centres.shape[1] ** 0.5 >= NARROW

    def log(self, j: Floats) -> Floats:
        """Log w(j) for rows of j."""
        gaps = self.unit * (self.centres[:, :, None] - j[:, None, :])
        return np.asarray(self.noise.log_density(gaps).sum(axis=1))

    def strip(self, most: Floats) -> tuple[Floats, Floats]:
        """Between which tilts the least of ln E e^{zJ} + ln ŵ(z) lies, for 0 ≤ J ≤ most."""
        rows, k = self.centres.shape
        if self.noise.laplacian:
            edge = np.full(rows, k / self.scale)
            return -edge, edge
        middle, variance = self.centres.mean(axis=1), self.scale**2 / k
        return (middle - most - 1) / variance, (middle + 1) / variance

    def log_transform(self, z: Complexes) -> Complexes:
        """Log Σ_j w(j) e^{−zj}."""
        constant = self.centres.shape[1] * self.noise.log_normaliser
        return np.asarray((self._laplace(z) if self.noise.laplacian else self._gauss(z)) - constant)

    def transforms(self, t: Floats) -> Complexes:
        """Σ_j w(j) e^{−itj} of every row at every t: what rows share is computed once."""
        if not self.noise.laplacian or self.centres.shape[1] > 1:
            return np.asarray(np.exp(self.log_transform(np.tile(1j * t, (len(self.centres), 1)))))
        z, rate, first = 1j * t, 1 / self.scale, np.floor(self.centres)
        left = np.exp((first - self.centres) / self.scale) / -np.expm1(z - rate)
        right = np.exp((self.centres - first - 1) / self.scale) * (np.exp(-z) / -np.expm1(-z - rate))
        return np.asarray(np.exp(-z * first - self.noise.log_normaliser) * (left + right))

    def _laplace(self, z: Complexes) -> Complexes:
        """Two geometric tails and, between two centres, a stretch where w does not change."""
        rate = self.centres.shape[1] / self.scale
        first, last = np.floor(self.centres[:, :1]), np.floor(self.centres[:, -1:])

        def energy(j: Floats) -> Floats:
            return np.asarray(-np.abs(self.centres - j).sum(axis=1, keepdims=True) / self.scale)

        left = energy(first) - z * first - np.log(-np.expm1(z - rate))
        right = energy(last + 1) - z * (last + 1) - np.log(-np.expm1(-z - rate))
        if self.centres.shape[1] == 1:
            return log_sum(left, right)
        flat = (self.centres[:, :1] - self.centres[:, -1:]) / self.scale
        return log_sum(left, flat - z * (first + 1) + log_geometric(-z, last - first), right)

    def log_mixture(self, growth: Complexes, log_prior: Floats, z: Complexes) -> Complexes:
        """Log Σ_m π_m exp(g_m) Σ_j w_m(j) e^{−zj} over this table's rows m: growth is (rows of z, m, points).

        Only where `wide`. As `log_transform`, with what does not depend on m taken out of the sum.
        """
        if not self.noise.laplacian:
            return self._mixed_gauss(growth + log_prior[:, None], z)
        first, last = np.floor(self.centres[:, 0]), np.floor(self.centres[:, 1])
        rate, least = 2 / self.scale, 1e-6 / (float((last - first).max()) + 1)
        near = np.abs(z) < least
        flat = (self.centres[:, 0] - self.centres[:, 1]) / self.scale
        short, over = (
            np.exp(-rate * gap) for gap in (self.centres[:, 0] - first, last + 1 - self.centres[:, 1])
        )
        growth = growth + (flat + log_prior)[:, None]
        down, up = growth - z[:, None] * first[:, None], growth - z[:, None] * (last + 1)[:, None]
        top = np.maximum(down.real, up.real).max(axis=1, keepdims=True)
        down, up = np.exp(down - top), np.exp(up - top)
        lean = np.where(z.real < 0, z, -z)  # the side on which e^{lean} has a double, however far the tilt
        first_part, rest = down.sum(axis=1), up.sum(axis=1)
        inner = np.where(z.real < 0, first_part - rest * np.exp(lean), rest - first_part * np.exp(lean))
        stretch = inner / np.expm1(np.where(near, -1.0, lean))
        stretch = np.where(near, ((last - first)[:, None] * down).sum(axis=1), stretch)
        total = (short[:, None] * down).sum(axis=1) / -np.expm1(z - rate) + (over[:, None] * up).sum(
            axis=1
        ) / -np.expm1(-z - rate)
        total += stretch
        with np.errstate(divide="ignore"):
            return np.asarray(top[:, 0] + np.log(total) - 2 * self.noise.log_normaliser)

    def _mixed_gauss(self, growth: Complexes, z: Complexes) -> Complexes:
        middle = self.centres.mean(axis=1)
        apart = -((self.centres - middle[:, None]) ** 2).sum(axis=1) / (2 * self.scale**2)
        terms = growth + apart[:, None] - z[:, None] * middle[:, None]
        top = terms.real.max(axis=1, keepdims=True)
        s = self.scale / self.centres.shape[1] ** 0.5
        with np.errstate(divide="ignore"):
            total = np.log(np.exp(terms - top).sum(axis=1)) + np.log(s * np.sqrt(2 * np.pi))
        return np.asarray(top[:, 0] + total + s**2 * z**2 / 2 - 2 * self.noise.log_normaliser)

    def _gauss(self, z: Complexes) -> Complexes:
        """One Gaussian, whatever the number of centres; summed where it is narrower than three levels."""
        middle = self.centres.mean(axis=1, keepdims=True)
        apart = -((self.centres - middle) ** 2).sum(axis=1, keepdims=True) / (2 * self.scale**2)
        s = self.scale / self.centres.shape[1] ** 0.5
        if self.wide:
            return np.asarray(apart + np.log(s * np.sqrt(2 * np.pi)) - z * middle + s**2 * z**2 / 2)
        reach = int(np.ceil(9 * s)) + 1
        first = np.rint(middle[:, 0] - s**2 * z[:, 0].real) - reach
        levels = first[:, None] + np.arange(2 * reach + 1)
        return np.asarray(apart + log_levels(-((levels - middle) ** 2) / (2 * s**2), first, -z))
