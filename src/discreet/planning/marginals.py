"""Many one-dimensional laws at once, as arrays: the laws of θ, truncated ones, and the noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np
from scipy import stats
from scipy.special import xlog1py, xlogy

from discreet.families.family import Floats
from discreet.posteriors.noise_law import NoiseLaw


# ── Many one-dimensional laws at once, as arrays: moments, distribution function, quantiles, partial means.
@final
@dataclass(frozen=True, eq=False)
class Marginal:
    """Laws of shape (nodes, coordinates); every function is elementwise."""

    mean: Floats
    variance: Floats
    cdf: Callable[[Floats], Floats]  # P(X ≤ t)
    quantile: Callable[[float], Floats]
    below: Callable[[Floats], Floats]  # E[X; X ≤ t]

    def absolute(self, t: Floats) -> Floats:
        """E|X − t| = 2(t·F(t) − E[X; X ≤ t]) + EX − t."""
        return 2 * (t * self.cdf(t) - self.below(t)) + self.mean - t

    def square(self, t: Floats) -> Floats:
        """E(X − t)² = Var X + (EX − t)²."""
        return self.variance + (self.mean - t) ** 2


def _of(law: stats.rv_continuous, below: Callable[[Floats], Floats]) -> Marginal:
    return Marginal(np.asarray(law.mean()), np.asarray(law.var()), law.cdf, law.ppf, below)


def beta(a: Floats, b: Floats) -> Marginal:
    """E[X; X ≤ t] is the mean times the distribution function of Beta(a + 1, b)."""
    law, tilted = stats.beta(a, b), stats.beta(a + 1, b)
    return _of(law, lambda t: law.mean() * tilted.cdf(t))


def gamma(shape: Floats, rate: Floats) -> Marginal:
    """E[X; X ≤ t] is the mean times the distribution function of Gamma(shape + 1, rate)."""
    law, tilted = stats.gamma(shape, scale=1 / rate), stats.gamma(shape + 1, scale=1 / rate)
    return _of(law, lambda t: law.mean() * tilted.cdf(t))


def inverse_gamma(shape: Floats, scale: Floats) -> Marginal:
    """1/X ~ Gamma(shape, scale); moments are ∞ where they do not exist."""
    law, tilted = (stats.invgamma(s, scale=scale) for s in (shape, np.maximum(shape - 1, 1e-300)))
    return _of(law, lambda t: law.mean() * tilted.cdf(t))


def normal(centre: Floats, spread: Floats) -> Marginal:
    """E[X; X ≤ t] = centre·F(t) − spread²·f(t)."""
    law = stats.norm(centre, spread)
    return _of(law, lambda t: centre * law.cdf(t) - spread**2 * law.pdf(t))


def student(degrees: Floats, centre: Floats, spread: Floats) -> Marginal:
    """Centre + spread·t_ν; E[T; T ≤ z] = −f(z)(ν + z²)/(ν − 1)."""
    law = stats.t(degrees, centre, spread)

    def below(t: Floats) -> Floats:
        tail = (degrees + ((t - centre) / spread) ** 2) / np.maximum(degrees - 1, 1e-300)
        return np.asarray(centre * law.cdf(t) - spread**2 * law.pdf(t) * tail)

    return _of(law, below)


def atoms(at: Floats) -> Marginal:
    """Points: a release that is one number, or one draw of a law without closed form."""
    return Marginal(
        at,
        np.zeros_like(at),
        lambda t: (at <= t).astype(np.float64),
        lambda _: at,
        lambda t: np.where(at <= t, at, 0.0),
    )


def stacked(*parts: Marginal) -> Marginal:
    """Coordinates with laws of different kinds, side by side."""
    ends = np.cumsum([part.mean.shape[-1] for part in parts])[:-1]

    def side_by_side(functions: list[Callable[[Floats], Floats]]) -> Callable[[Floats], Floats]:
        return lambda t: np.concatenate(
            [f(s) for f, s in zip(functions, np.split(t, ends, axis=-1), strict=True)], axis=-1
        )

    return Marginal(
        np.concatenate([part.mean for part in parts], axis=-1),
        np.concatenate([part.variance for part in parts], axis=-1),
        side_by_side([part.cdf for part in parts]),
        lambda p: np.concatenate([part.quantile(p) for part in parts], axis=-1),
        side_by_side([part.below for part in parts]),
    )


# ── Beta laws on a part of [0, 1], as OnePosteriorSample draws them: tabulated, because the tails underflow.
CELLS = 1024  # of a tabulated law: means to 2e-4 of its spread
GLANCE, LOOKS = 64, 6  # cells and passes of the search for where the law is


def truncated_beta(a: Floats, b: Floats, lower: float, upper: float) -> Marginal:
    """Beta(a, b) on [lower, upper], tabulated over the window that holds nearly all of it."""
    low, high = np.full((*a.shape, 1), lower), np.full((*a.shape, 1), upper)
    for _ in range(LOOKS):  # narrow to where the density is above e⁻⁴⁵ of its peak, each look closer
        x, log = _log_density(a, b, (low, high), GLANCE)
        kept, step = log > log.max(axis=-1, keepdims=True) - 45, (high - low) / GLANCE
        first, last = np.where(kept, x, np.inf).min(axis=-1), np.where(kept, x, -np.inf).max(axis=-1)
        low, high = np.maximum(low, first[..., None] - step), np.minimum(high, last[..., None] + step)
    x, log = _log_density(a, b, (low, high), CELLS)
    mass = np.exp(log - log.max(axis=-1, keepdims=True))
    mass /= mass.sum(axis=-1, keepdims=True)
    cumulative, partial_mean = np.cumsum(mass, axis=-1), np.cumsum(x * mass, axis=-1)
    mean = partial_mean[..., -1]

    def quantile(p: float) -> Floats:
        index = np.minimum((cumulative < p).sum(axis=-1), CELLS - 1)
        return np.take_along_axis(x, index[..., None], axis=-1)[..., 0]

    return Marginal(
        mean,
        np.asarray(((x - mean[..., None]) ** 2 * mass).sum(axis=-1)),
        partial(_interpolated, (low, high), cumulative),
        quantile,
        partial(_interpolated, (low, high), partial_mean),
    )


def _log_density(a: Floats, b: Floats, window: tuple[Floats, Floats], cells: int) -> tuple[Floats, Floats]:
    """Return the midpoints of the cells and the log density there, not normalised."""
    low, high = window
    x = low + (high - low) * (np.arange(cells) + 0.5) / cells
    return x, np.asarray(xlogy(a[..., None] - 1, x) + xlog1py(b[..., None] - 1, -x))


def _interpolated(window: tuple[Floats, Floats], cumulative: Floats, t: Floats) -> Floats:
    low, high = window
    place = np.clip((t[..., None] - low) / (high - low), 0, 1) * CELLS
    index = np.minimum(place.astype(np.int64), CELLS - 1)
    above = np.take_along_axis(cumulative, index, axis=-1)
    under = np.where(index > 0, np.take_along_axis(cumulative, np.maximum(index - 1, 0), axis=-1), 0.0)
    return np.asarray((under + (above - under) * (place - index))[..., 0])


# ── The noise of NoisyStatistics in a plan: masses for exact sums, quantiles for stratified draws.
TAIL = 1e-14  # probability left out of an exact sum
WIDE = 64.0  # a discrete Gaussian this wide is a rounded one to 1e-300
REACH: dict[str, float] = {"discrete_laplace": 70.0, "discrete_gaussian": 18.0}  # terms of a sum, in scales


def masses(noise: str, scale: float) -> tuple[Floats, Floats]:
    """Whole numbers, all but a tail of discrete noise, and their probabilities."""
    law = NoiseLaw(noise, scale)
    reach = np.ceil(law.reach(-np.log(TAIL))) + 1
    k = np.arange(-reach, reach + 1)
    mass = np.exp(law.log_density(k))
    return k, mass / mass.sum()


def _discrete_laplace(scale: float, u: Floats) -> Floats:
    """P(Z ≤ k) = q^{−k}/(1+q) for k ≤ 0 and 1 − q^{k+1}/(1+q) for k ≥ 0, q = e^{−1/scale}."""
    above = 1 + np.exp(-1 / scale)
    left = np.ceil(scale * np.log(u * above))
    right = np.ceil(-scale * np.log((1 - u) * above) - 1)
    return np.asarray(np.where(u * above <= 1, left, np.maximum(right, 0)))


def _discrete_gaussian(scale: float, u: Floats) -> Floats:
    if scale > WIDE:
        return np.asarray(np.rint(stats.norm.ppf(u, scale=scale)))
    support, mass = masses("discrete_gaussian", scale)
    return np.asarray(support[np.minimum(np.searchsorted(np.cumsum(mass), u), support.size - 1)])


QUANTILE: dict[str, Callable[[float, Floats], Floats]] = {
    "laplace": lambda scale, u: np.asarray(stats.laplace.ppf(u, scale=scale)),
    "gaussian": lambda scale, u: np.asarray(stats.norm.ppf(u, scale=scale)),
    "discrete_laplace": _discrete_laplace,
    "discrete_gaussian": _discrete_gaussian,
}


def deviation(noise: str, scale: float) -> float:
    """Return the standard deviation."""
    return math.sqrt(NoiseLaw(noise, scale).variance)
