"""Noise-aware posteriors of families with one parameter and one bounded sum, by quadrature over θ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.family import Floats, credible
from discreet.families.scalar import ScalarFamily
from discreet.posteriors.base import NoiseAware
from discreet.posteriors.posterior import Diagnostics
from discreet.posteriors.scalar.coordinate import line_of
from discreet.posteriors.scalar.likelihood import Likelihood, SizePrior
from discreet.posteriors.scalar.search import STEEP, slopes, tabulate
from discreet.sampling.source import SYSTEM, Source

if TYPE_CHECKING:
    from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic


DENSE, NATS = 16, 0.1  # points to an interval, at least; nats from one to the next, at most
NOTHING = 750.0  # nats below the top, where a density is 0 in doubles
LINES = 2**20  # observations × nodes of a predictive that are in memory at once


@final
@dataclass(frozen=True, eq=False, repr=False)
class GridPosterior(NoiseAware):
    """p(x | Ŝ) ∝ p(x)·p(Ŝ | θ(x)) at nodes x, θ as `noise_aware_coordinate` has it."""

    prior: ScalarFamily
    nodes: Floats  # x
    log_likelihood: Floats  # ln p(Ŝ | θ(x)), up to a constant

    @property
    def diagnostics(self) -> Diagnostics:
        return Diagnostics(f"quadrature, {self.nodes.size} nodes")

    @cached_property
    def _log_posterior(self) -> Floats:
        return np.asarray(self.log_likelihood + line_of(self.prior).log_prior(self.nodes))

    def _curve(self, x: Floats) -> Floats:
        """Log of the density in x, by Hermite's cubic, which may not shoot over where nodes are close."""
        from scipy.interpolate import CubicHermiteSpline  # noqa: PLC0415 - on use

        y = self._log_posterior
        between = np.clip(np.searchsorted(self.nodes, x) - 1, 0, y.size - 2)
        curve = CubicHermiteSpline(self.nodes, y, slopes(self.nodes, y), extrapolate=False)(x)
        return np.asarray(np.minimum(curve, np.maximum(y[between], y[between + 1]) + STEEP))

    @cached_property
    def _dense(self) -> tuple[Floats, Floats, Floats, Floats]:
        """(x, θ, masses, P(X ≤ x)) on a grid so fine that it may be read linearly."""
        change = np.abs(np.diff(np.maximum(self._log_posterior, self._log_posterior.max() - NOTHING)))
        counts = 2 * np.maximum(DENSE // 2, np.ceil(change / (2 * NATS))).astype(np.int64)
        first = np.repeat(np.cumsum(counts) - counts, counts)
        share = (np.arange(counts.sum()) - first) / np.repeat(counts, counts)
        x = np.repeat(self.nodes[:-1], counts) + share * np.repeat(np.diff(self.nodes), counts)
        x = np.append(x, self.nodes[-1])
        log = self._curve(x)
        density = np.exp(log - log.max())
        cells = (density[1:] + density[:-1]) / 2 * np.diff(x)
        below = np.concatenate([[0.0], np.cumsum(cells)]) / cells.sum()
        mass = np.zeros(x.size)  # Simpson's rule over pairs of cells
        for place, factor in ((0, 1), (1, 4), (2, 1)):
            mass[place : x.size - 2 + place : 2] += factor * (x[2::2] - x[:-2:2]) / 6
        mass *= density
        mass /= mass.sum()
        return x, line_of(self.prior).theta(x), mass, below

    @cached_property
    def _log_total(self) -> float:
        """Log ∫ exp(log posterior) dx, up to the constants of prior and likelihood."""
        x, log = self._dense[0], self._curve(self._dense[0])
        density = np.exp(log - log.max())
        return float(np.log(np.trapezoid(density, x)) + log.max())

    def flat_mean(self) -> Floats:
        _, theta, mass, _ = self._dense
        return np.array([mass @ theta])

    def flat_variance(self) -> Floats:
        _, theta, mass, _ = self._dense
        return np.array([mass @ (theta - mass @ theta) ** 2])

    def cdf(self, theta: ArrayLike) -> Floats:
        """P(θ' ≤ θ | Ŝ)"""
        x, _, _, below = self._dense
        return np.asarray(np.interp(line_of(self.prior).place(np.asarray(theta, dtype=np.float64)), x, below))

    def flat_interval(self, level: float) -> Floats:
        return self._at(credible(level))[None]

    def flat_sample(self, size: int, source: Source | None = None) -> Floats:
        """Inverse of the distribution function at uniform doubles."""
        words = (source or SYSTEM).words(size) >> np.uint64(11)
        return self._at((words.astype(np.float64) + 0.5) * 2.0**-53)[:, None]

    def _at(self, probability: Floats) -> Floats:
        x, _, _, below = self._dense
        return line_of(self.prior).theta(np.interp(probability, below, x))

    def log_density(self, theta: ArrayLike) -> Floats:
        """Log p(x | Ŝ) + ln |dx/dθ|, the latter being the log of the family's base measure."""
        given = np.asarray(theta, dtype=np.float64)
        x = line_of(self.prior).place(given)
        inside = (x >= self.nodes[0]) & (x <= self.nodes[-1])
        log = self._curve(np.where(inside, x, self.nodes[0])) - self._log_total
        return np.asarray(np.where(inside, log + self.prior.log_base(given), -np.inf))

    def log_predictive(self, x: ArrayLike) -> Floats:
        """Log ∫ p(x|θ) p(θ|Ŝ) dθ"""
        observed = np.asarray(x, dtype=np.float64)
        _, theta, mass, _ = self._dense
        with np.errstate(divide="ignore"):
            log = np.log(mass)
        parts = np.array_split(observed.ravel(), max(1, observed.size * theta.size // LINES))
        done = [
            np.logaddexp.reduce(self.prior.log_likelihood(part[:, None], theta) + log, axis=1)
            for part in parts
        ]
        return np.asarray(np.concatenate(done).reshape(observed.shape))


def read(
    release: NoisyStatistic, prior: ScalarFamily, *, size_prior: SizePrior | None = None
) -> GridPosterior:
    """Find where the posterior is, then tabulate it there.

    `size_prior`: log π(n) of an integer array, for an n that is private; flat on 0, 1, 2, … unless given.
    """
    likelihood = Likelihood.of(release, prior, size_prior)
    return GridPosterior(prior, *tabulate(likelihood, np.asarray(release.noisy, dtype=np.float64), prior))
