"""Beta laws on a part of [0, 1], as OnePosteriorSample draws them: tabulated, because the tails underflow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
from scipy.special import xlog1py, xlogy

from discreet.planning.marginals import Marginal

if TYPE_CHECKING:
    from discreet.families.family import Floats

CELLS = 1024  # of a tabulated law: means to 2e-4 of its spread
GLANCE, LOOKS = 64, 6  # cells and passes of the search for where the law is


@final
@dataclass(frozen=True, eq=False)
class TruncatedBeta(Marginal):
    """Beta(a, b) on [lower, upper], tabulated over the window that holds nearly all of it."""

    a: Floats
    b: Floats
    lower: float
    upper: float

    @cached_property
    def _window(self) -> tuple[Floats, Floats]:
        """Narrow [lower, upper] to where the density is above e⁻⁴⁵ of its peak: a few looks, each closer."""
        shape = (*self.a.shape, 1)
        low, high = np.full(shape, self.lower), np.full(shape, self.upper)
        for _ in range(LOOKS):
            x, log = self._log_density(low, high, GLANCE)
            kept, step = log > log.max(axis=-1, keepdims=True) - 45, (high - low) / GLANCE
            first, last = np.where(kept, x, np.inf).min(axis=-1), np.where(kept, x, -np.inf).max(axis=-1)
            low, high = np.maximum(low, first[..., None] - step), np.minimum(high, last[..., None] + step)
        return low, high

    def _log_density(self, low: Floats, high: Floats, cells: int) -> tuple[Floats, Floats]:
        """At the midpoints of the cells, not normalised."""
        x = low + (high - low) * (np.arange(cells) + 0.5) / cells
        return x, np.asarray(xlogy(self.a[..., None] - 1, x) + xlog1py(self.b[..., None] - 1, -x))

    @cached_property
    def _table(self) -> tuple[Floats, Floats]:
        """Midpoints of the cells and their masses."""
        x, log = self._log_density(*self._window, CELLS)
        mass = np.exp(log - log.max(axis=-1, keepdims=True))
        return x, mass / mass.sum(axis=-1, keepdims=True)

    @cached_property
    def _cumulative(self) -> tuple[Floats, Floats]:
        x, mass = self._table
        return np.cumsum(mass, axis=-1), np.cumsum(x * mass, axis=-1)

    @property
    def mean(self) -> Floats:
        return self._cumulative[1][..., -1]

    @property
    def variance(self) -> Floats:
        x, mass = self._table
        return np.asarray(((x - self.mean[..., None]) ** 2 * mass).sum(axis=-1))

    def cdf(self, t: Floats) -> Floats:
        return self._interpolated(self._cumulative[0], t)

    def below(self, t: Floats) -> Floats:
        return self._interpolated(self._cumulative[1], t)

    def quantile(self, p: float) -> Floats:
        index = np.minimum((self._cumulative[0] < p).sum(axis=-1), CELLS - 1)
        return np.take_along_axis(self._table[0], index[..., None], axis=-1)[..., 0]

    def _interpolated(self, cumulative: Floats, t: Floats) -> Floats:
        low, high = self._window
        place = np.clip((t[..., None] - low) / (high - low), 0, 1) * CELLS
        index = np.minimum(place.astype(np.int64), CELLS - 1)
        above = np.take_along_axis(cumulative, index, axis=-1)
        under = np.where(index > 0, np.take_along_axis(cumulative, np.maximum(index - 1, 0), axis=-1), 0.0)
        return np.asarray((under + (above - under) * (place - index))[..., 0])
