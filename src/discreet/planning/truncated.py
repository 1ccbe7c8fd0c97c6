"""Beta laws on a part of [0, 1], as OnePosteriorSample draws them: tabulated, because the tails underflow."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.special import xlog1py, xlogy

from discreet.families.family import Floats
from discreet.planning.marginals import Marginal

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
