"""Public guesses of what rows look like, to try intervals on: none of them is right, so several."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Floats
from discreet.models.regression_records import rows_of
from discreet.posteriors.regression.standard_design import standard_rows

SPREAD = 0.5  # of the spherical design: rows of half the norm
OFTEN = 0.3  # that an indicator is 1


def spherical(model: GeneralizedLinear, size: int, random: np.random.Generator) -> Floats:
    """Spherical Gaussian features of half the norm."""
    p = len(model.design)
    return np.asarray(SPREAD * float(model.norm) / p**0.5 * random.standard_normal((size, p)))


def indicators(model: GeneralizedLinear, size: int, random: np.random.Generator) -> Floats:
    """Features that are 0 or the norm, as levels of a column are before rows are clipped."""
    return np.asarray(float(model.norm) * (random.random((size, len(model.design))) < OFTEN))


def skewed(model: GeneralizedLinear, size: int, random: np.random.Generator) -> Floats:
    """Exponential features: positive, with a mean to which the intercept is close."""
    p = len(model.design)
    return np.asarray(float(model.norm) / (2 * p) ** 0.5 * random.exponential(size=(size, p)))


def _rows(
    features: Callable[[GeneralizedLinear, int, np.random.Generator], Floats],
) -> Callable[[GeneralizedLinear, int, np.random.Generator], Floats]:
    return lambda model, size, random: rows_of(model, features(model, size, random))


DESIGNS: dict[str, Callable[[GeneralizedLinear, int, np.random.Generator], Floats]] = {
    "ball": standard_rows,
    "spherical": _rows(spherical),
    "indicators": _rows(indicators),
    "skewed": _rows(skewed),
}
