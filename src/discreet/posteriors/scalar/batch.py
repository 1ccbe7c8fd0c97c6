"""Noise-aware posteriors of many releases of one design, on one grid of θ: for planning and for tests.

The grid is even in ξ, dξ = √(1 + (dE S/dv)²/Var Ŝ) dv: so many nodes to a standard deviation everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from discreet.families.family import Floats
from discreet.posteriors.scalar.coordinate import line_of
from discreet.posteriors.scalar.likelihood import Likelihood
from discreet.posteriors.scalar.table import centred, log_table

EDGE, LOOK = 5.6, 513  # how far the prior is followed (2e-8 beyond), and nodes of the first look
FEWEST, MOST = 129, 4097


@final
@dataclass(frozen=True, eq=False)
class Batch:
    """Rows of posterior densities over the nodes θ(ξ), ξ even."""

    likelihood: Likelihood
    v: Floats
    theta: Floats
    density: Floats  # (releases, nodes), in ξ, summing to 1 by the trapezoid rule

    @cached_property
    def _below(self) -> Floats:
        cells = (self.density[:, 1:] + self.density[:, :-1]) / 2
        return np.asarray(np.concatenate([np.zeros((len(cells), 1)), np.cumsum(cells, axis=1)], axis=1))

    def mean(self) -> Floats:
        return np.asarray(self.density @ self.theta)

    def variance(self) -> Floats:
        return np.asarray(np.maximum(self.density @ self.theta**2 - self.mean() ** 2, 0.0))

    def cdf(self, theta: Floats) -> Floats:
        """P(θ' ≤ θ_r | Ŝ_r), the density taken as linear between nodes."""
        place = np.interp(line_of(self.likelihood.model).score(theta), self.v, np.arange(self.v.size))
        j = np.minimum(place.astype(np.int64), self.v.size - 2)
        t, row = place - j, np.arange(len(place))
        left, right = self.density[row, j], self.density[row, j + 1]
        return np.asarray(self._below[row, j] + left * t + (right - left) * t**2 / 2)

    def quantile(self, p: float) -> Floats:
        """θ where the distribution function is p, linear between nodes."""
        j = np.clip((self._below < p).sum(axis=1) - 1, 0, self.v.size - 2)
        row = np.arange(len(j))
        low, high = self._below[row, j], self._below[row, j + 1]
        t = np.clip((p - low) / np.maximum(high - low, 1e-300), 0, 1)
        v = self.v[j] + t * (self.v[j + 1] - self.v[j])
        return line_of(self.likelihood.model).quantile(v)

    @property
    def log_density(self) -> Floats:
        """Log density in θ at the nodes, by the slope of θ(ξ)."""
        slope = np.gradient(self.theta)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.density) - np.log(np.maximum(slope, 1e-300)))


def batch(likelihood: Likelihood, noisy: Floats, per_deviation: float = 4.0) -> Batch:
    """Read rows of Ŝ, each as `noise_aware` would; n must be public."""
    v = _nodes(likelihood, per_deviation)
    theta = line_of(likelihood.model).quantile(v)
    log = log_table(likelihood, noisy, theta) - v**2 / 2 + np.log(np.gradient(v))
    density = np.exp(log - log.max(axis=1, keepdims=True))
    whole = density.sum(axis=1) - (density[:, 0] + density[:, -1]) / 2
    return Batch(likelihood, v, theta, density / whole[:, None])


def _nodes(likelihood: Likelihood, per_deviation: float) -> Floats:
    v = np.linspace(-EDGE, EDGE, LOOK)
    line, deviation = centred(likelihood, line_of(likelihood.model).quantile(v))
    rate = np.sqrt(1 + (np.gradient(line.weights.centres[:, 0], v) / deviation) ** 2)
    length = np.concatenate([[0.0], np.cumsum((rate[1:] + rate[:-1]) / 2 * np.diff(v))])
    size = int(np.clip(np.ceil(length[-1] * per_deviation), FEWEST, MOST))
    return np.interp(np.linspace(0, length[-1], size), length, v)
