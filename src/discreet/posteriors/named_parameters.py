"""θ as the families sample it, by the names that people use: for tables, pictures and files."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.catalogue import ROWS
from discreet.families.family import Family, Floats
from discreet.families.laws.matrices import unpack

Named = dict[str, "Floats"]


def whole(theta: Floats) -> tuple[Floats, ...]:
    """Leave θ in one part."""
    return (theta,)


def mean_and_variance(theta: Floats) -> tuple[Floats, ...]:
    return theta[..., 0], theta[..., 1]


def mean_and_covariance(theta: Floats) -> tuple[Floats, ...]:
    """θ = (μ, Σ packed) has d + d(d+1)/2 coordinates, so that d = (√(9 + 8c) − 3)/2."""
    d = round((np.sqrt(9 + 8 * theta.shape[-1]) - 3) / 2)
    return theta[..., :d], unpack(theta[..., d:])


def weights_and_variance(theta: Floats) -> tuple[Floats, ...]:
    return theta[..., :-1], theta[..., -1]


def named(model: Family, theta: ArrayLike) -> Named:
    """Draws of θ, first axis the draw, as {name: array}: by the names in the catalogue, or `theta`."""
    row, values = ROWS.get(model.name), np.asarray(theta, dtype=np.float64)
    return (
        {"theta": values}
        if row is None
        else dict(zip(row.parameters, row.load("parts")(values), strict=True))
    )
