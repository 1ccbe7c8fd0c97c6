"""The noise of NoisyStatistics in a plan: masses for exact sums, quantiles for stratified draws."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import stats

from discreet.families.family import Floats
from discreet.posteriors.noise_law import NoiseLaw

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
