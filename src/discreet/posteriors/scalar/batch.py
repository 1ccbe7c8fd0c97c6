"""Noise-aware posteriors of many releases of one design, on one grid of θ: for planning and for tests.

The grid is even in ξ, dξ = √(1 + (dE S/dv)²/Var Ŝ) dv: so many nodes to a standard deviation everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from discreet.families.family import Floats
from discreet.posteriors.scalar.contour import (
    NEGATIVE,
    LogTransform,
    period,
    refuse_no_law,
    saddle,
    stays_quiet,
)
from discreet.posteriors.scalar.coordinate import line_of
from discreet.posteriors.scalar.likelihood import Likelihood
from discreet.posteriors.scalar.weights import Complexes, Weights

# ── p(Ŝ | θ) of many releases and many θ at once, on lines that they share: for planning.
# Right to 1e-11 of each law's top, and 0 beyond: enough for releases that θ made, not for impossible ones.
POINTS = 2048
QUIET = 1e-11  # of a law's top
BLOCK = 64
ROWS = 512  # values of θ in memory at once
LOWEST = -1e5


def centred(likelihood: Likelihood, theta: Floats) -> tuple[LogTransform, Floats]:
    """Return the lines of Ŝ at its mean for every θ, n public, and the deviations of Ŝ in units of j."""
    record, n = likelihood.record, float(likelihood.n or 0)
    count = np.full(theta.size, n * record.copies)
    weights = Weights(likelihood.noise, record.unit, (count * record.mean(theta))[:, None])
    line = LogTransform(record, theta, count, weights)
    refuse_no_law(line)
    return line, saddle(line)[1]


def log_table(likelihood: Likelihood, noisy: Floats, theta: Floats) -> Floats:
    """Log p(Ŝ_r | θ_j), (releases, θ), for one noisy sum each and n public."""
    if likelihood.joint or likelihood.n is None:
        raise ValueError(
            "many releases at once are read only with n public and not noised; read them one by one"
        )
    line, deviation = centred(likelihood, theta)
    reach = period(line, np.zeros(theta.size), deviation)
    octave = np.ceil(np.log2(2 * reach)).astype(np.int64)
    seen = likelihood.weights_of(noisy[:, 0])
    found = np.full((len(noisy), theta.size), LOWEST)
    for power in np.unique(octave).tolist():
        group = np.flatnonzero(octave == power)
        for part in np.array_split(group, -(-group.size // ROWS)):
            found[:, part] = _log_group(line.take(part), reach[part], seen, 2.0**power)
    return found


def _log_group(line: LogTransform, reach: Floats, seen: Weights, span: float) -> Floats:
    """As `log_table`, for θ whose laws all fit one period."""
    blur = 5.5 * span / (2 * np.pi * POINTS) if span > 2 * POINTS else 0.0
    plain, soft = np.zeros((2, line.theta.size, len(seen.centres)))
    quiet = False
    for first in range(0, int(min(span / 2, POINTS)) + 1, BLOCK):
        k = np.arange(first, first + BLOCK)
        t = 2 * np.pi * k / span
        times = np.where(k > span / 2, 0, np.where((k == 0) | (2 * k == span), 1, 2)) / span
        power = np.exp(
            line.count[:, None] * line.record.log_mgf(np.tile(1j * t, (line.theta.size, 1)), line.theta)
        )
        weight = seen.transforms(np.asarray(t, dtype=np.float64)) * times
        plain += _real_part(power, weight)
        if blur:
            soft += _real_part(power * np.exp(-((blur * t) ** 2) / 2), weight)
        size = np.abs(power) * np.abs(weight[:1]) / times[0]
        if size.max() < QUIET * np.abs(weight[0]).max() and _all_quiet(line, float(t[-1])):
            quiet = True
            break
    law = plain if quiet or blur == 0 else soft
    return _log_law(law, np.abs(seen.centres.T - line.weights.centres) <= reach[:, None]).T


def _real_part(power: Complexes, weight: Complexes) -> Floats:
    """Real part of power·weightᵀ, without the other."""
    both = np.concatenate([weight.real, -weight.imag], axis=1)
    return np.asarray(np.concatenate([power.real, power.imag], axis=1) @ both.T)


def _all_quiet(line: LogTransform, t: float) -> bool:
    last = np.full(line.theta.size, 1j * t)
    return bool(np.all(stays_quiet(line, last, line.at(np.zeros(line.theta.size)))))


def _log_law(law: Floats, near: NDArray[np.bool_]) -> Floats:
    """Log of densities of rows; a law that goes below 0 is an error, not an answer."""
    top = np.abs(law).max(axis=1, keepdims=True)
    if np.any(np.where(near, law, 0.0) < -NEGATIVE * top):
        raise ArithmeticError(
            f"the law of a sum came out below 0 by more than {NEGATIVE} of its top; this is a defect of the "
            "library: please report the family, its prior and n"
        )
    kept = near & (law > QUIET * top)
    return np.where(kept, np.log(np.where(kept, law, 1.0)), LOWEST)


# ── batch
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
