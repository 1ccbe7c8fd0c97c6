"""Laws of the noise of NoisyStatistics, in doubles: masses for exact sums, quantiles for stratified draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.families.family import Floats

TAIL = 1e-14  # probability left out of an exact sum
WIDE = 64.0  # a discrete Gaussian this wide is a rounded one to 1e-300


def _laplace_quantile(scale: float, u: Floats) -> Floats:
    return np.where(u < 0.5, scale * np.log(2 * u), -scale * np.log(2 * (1 - u)))


def _gaussian_quantile(scale: float, u: Floats) -> Floats:
    return np.asarray(scale * ndtri(u))


def _discrete_laplace_quantile(scale: float, u: Floats) -> Floats:
    """P(Z ≤ k) = q^{−k}/(1+q) for k ≤ 0 and 1 − q^{k+1}/(1+q) for k ≥ 0, q = e^{−1/scale}."""
    above = 1 + np.exp(-1 / scale)
    left = np.ceil(scale * np.log(u * above))
    right = np.ceil(-scale * np.log((1 - u) * above) - 1)
    return np.asarray(np.where(u * above <= 1, left, np.maximum(right, 0)))


def _discrete_gaussian_quantile(scale: float, u: Floats) -> Floats:
    if scale > WIDE:
        return np.asarray(np.rint(scale * ndtri(u)))
    support, mass = _discrete_gaussian_law(scale)
    index = np.searchsorted(np.cumsum(mass), u)
    return np.asarray(support[np.minimum(index, support.size - 1)])


def _discrete_laplace_law(scale: float) -> tuple[Floats, Floats]:
    return _normalised(scale * -np.log(TAIL), lambda k: -np.abs(k) / scale)


def _discrete_gaussian_law(scale: float) -> tuple[Floats, Floats]:
    return _normalised(scale * (-2 * np.log(TAIL)) ** 0.5, lambda k: -(k**2) / (2 * scale**2))


def _normalised(reach: float, log: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    k = np.arange(-np.ceil(reach) - 1, np.ceil(reach) + 2)
    mass = np.exp(log(k))
    return k, mass / mass.sum()


QUANTILE: dict[str, Callable[[float, Floats], Floats]] = {
    "laplace": _laplace_quantile,
    "gaussian": _gaussian_quantile,
    "discrete_laplace": _discrete_laplace_quantile,
    "discrete_gaussian": _discrete_gaussian_quantile,
}
LAW: dict[str, Callable[[float], tuple[Floats, Floats]]] = {
    "discrete_laplace": _discrete_laplace_law,
    "discrete_gaussian": _discrete_gaussian_law,
}
REACH: dict[str, float] = {"discrete_laplace": 70.0, "discrete_gaussian": 18.0}  # terms of a sum, in scales


def deviation(noise: str, scale: float) -> float:
    """Return the standard deviation; of the discrete Laplace √(2q)/(1 − q), q = e^{−1/scale}."""
    return DEVIATION[noise](scale)


def _discrete_laplace_deviation(scale: float) -> float:
    q = np.exp(-1 / scale)
    return float(np.sqrt(2 * q) / -np.expm1(-1 / scale))


def _discrete_gaussian_deviation(scale: float) -> float:
    if scale > WIDE:
        return scale
    support, mass = _discrete_gaussian_law(scale)
    return float(np.sqrt(support**2 @ mass))


DEVIATION: dict[str, Callable[[float], float]] = {
    "laplace": lambda scale: float(np.sqrt(2.0)) * scale,
    "gaussian": lambda scale: scale,
    "discrete_laplace": _discrete_laplace_deviation,
    "discrete_gaussian": _discrete_gaussian_deviation,
}
