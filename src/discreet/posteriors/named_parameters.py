"""θ as the families sample it, by the names that people use: for tables, pictures and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.families.laws.matrices import unpack

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from discreet.families.family import Family, Floats

Named = dict[str, "Floats"]


def _mean_and_variance(theta: Floats) -> Named:
    return {"mean": theta[..., 0], "variance": theta[..., 1]}


def _mean_and_covariance(theta: Floats) -> Named:
    """θ = (μ, Σ packed) has d + d(d+1)/2 coordinates, so that d = (√(9 + 8c) − 3)/2."""
    d = round((np.sqrt(9 + 8 * theta.shape[-1]) - 3) / 2)
    return {"mean": theta[..., :d], "covariance": unpack(theta[..., d:])}


def _weights_and_variance(theta: Floats) -> Named:
    return {"weights": theta[..., :-1], "variance": theta[..., -1]}


def _one(name: str) -> Callable[[Floats], Named]:
    return lambda theta: {name: theta}


# family → how its θ is taken apart; a family that is not listed keeps one variable, `theta`
PARTS: dict[str, Callable[[Floats], Named]] = {
    "beta_bernoulli": _one("p"),
    "beta_binomial": _one("p"),
    "beta_geometric": _one("p"),
    "dirichlet_categorical": _one("p"),
    "dirichlet_multinomial": _one("p"),
    "gamma_poisson": _one("rate"),
    "gamma_exponential": _one("rate"),
    "normal_mean": _one("mean"),
    "normal_inverse_gamma": _mean_and_variance,
    "normal_inverse_wishart": _mean_and_covariance,
    "bayesian_linear_regression": _weights_and_variance,
}


def named(model: Family, theta: ArrayLike) -> Named:
    """Draws of θ, first axis the draw, as {name: array}."""
    return PARTS.get(model.name, _one("theta"))(np.asarray(theta, dtype=np.float64))
