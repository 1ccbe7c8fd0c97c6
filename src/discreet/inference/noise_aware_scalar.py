"""Noise-aware posteriors of families with one parameter and one bounded sum, by quadrature over θ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.families.family import credible
from discreet.inference.noise_aware import Diagnostics, NoiseAware
from discreet.inference.noise_aware_likelihood import Likelihood
from discreet.inference.noise_aware_prior import FARTHEST, quantile, score
from discreet.inference.noise_aware_sums import ROUGH

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.families.family import Floats
    from discreet.families.scalar import ScalarFamily
    from discreet.inference.noise_aware_likelihood import SizePrior
    from discreet.mechanisms.noisy_release import NoisyRelease
    from discreet.sampling.source import Source

NODES, FEWER, GLANCE, DENSE = 257, 129, 49, 8  # of the last grid (n private), of others; points to a node
KEPT = 30.0  # nats below the top: what is left out has probability e^{−30}
PASSES = 12
LINES = 2**20  # observations × nodes of a predictive that are in memory at once


@final
@dataclass(frozen=True, eq=False, repr=False)
class GridPosterior(NoiseAware):
    """p(v | Ŝ) ∝ φ(v)·p(Ŝ | θ(v)) on an even grid of v = Φ⁻¹(F_prior(θ))."""

    prior: ScalarFamily
    nodes: Floats  # v
    log_likelihood: Floats  # ln p(Ŝ | θ(v)), up to a constant

    @property
    def diagnostics(self) -> Diagnostics:
        return Diagnostics(f"quadrature, {self.nodes.size} nodes")

    @cached_property
    def _dense(self) -> tuple[Floats, Floats, Floats, Floats]:
        """(v, θ, masses, P(V ≤ v)) on a grid so fine that it may be read linearly."""
        from scipy.interpolate import CubicSpline  # noqa: PLC0415 - on use

        v = np.linspace(self.nodes[0], self.nodes[-1], DENSE * (self.nodes.size - 1) + 1)
        log = CubicSpline(self.nodes, self.log_likelihood)(v) - v**2 / 2
        density = np.exp(log - log.max())
        cells = (density[1:] + density[:-1]) / 2
        below = np.concatenate([[0.0], np.cumsum(cells)]) / cells.sum()
        mass = density / density.sum()
        return v, quantile(self.prior, v), mass, below

    @cached_property
    def _log_total(self) -> float:
        """Log ∫ φ(v) p(Ŝ|θ(v)) dv, with the constant of `log_likelihood`."""
        log = self.log_likelihood - self.nodes**2 / 2 - np.log(2 * np.pi) / 2
        return float(np.logaddexp.reduce(log) + np.log(self.nodes[1] - self.nodes[0]))

    def mean(self) -> float:
        _, theta, mass, _ = self._dense
        return float(mass @ theta)

    def variance(self) -> float:
        _, theta, mass, _ = self._dense
        return float(mass @ (theta - self.mean()) ** 2)

    def cdf(self, theta: ArrayLike) -> Floats:
        """P(θ' ≤ θ | Ŝ)"""
        v, _, _, below = self._dense
        return np.asarray(np.interp(score(self.prior, np.asarray(theta, dtype=np.float64)), v, below))

    def interval(self, level: float) -> Floats:
        return self._at(credible(level))

    def sample(self, size: int, source: Source | None = None) -> NDArray[Any]:
        """Inverse of the distribution function at uniform doubles."""
        from discreet.sampling.source import SYSTEM  # noqa: PLC0415

        words = (source or SYSTEM).words(size) >> np.uint64(11)
        return self._at((words.astype(np.float64) + 0.5) * 2.0**-53)

    def _at(self, probability: Floats) -> Floats:
        v, _, _, below = self._dense
        return quantile(self.prior, np.interp(probability, below, v))

    def log_density(self, theta: ArrayLike) -> Floats:
        """Log p(θ) + ln p(Ŝ|θ) − ln p(Ŝ)"""
        given = np.asarray(theta, dtype=np.float64)
        v = score(self.prior, given)
        likelihood = np.interp(v, self.nodes, self.log_likelihood, left=-np.inf, right=-np.inf)
        return np.asarray(self.prior.log_density(given) + likelihood - self._log_total)

    def log_predictive(self, x: ArrayLike) -> Floats:
        """Log ∫ p(x|θ) p(θ|Ŝ) dθ"""
        observed = np.asarray(x, dtype=np.float64)
        log = self.log_likelihood - self.nodes**2 / 2
        log = log - np.logaddexp.reduce(log)
        theta = quantile(self.prior, self.nodes)
        parts = np.array_split(observed.ravel(), max(1, observed.size * theta.size // LINES))
        done = [
            np.logaddexp.reduce(self.prior.log_likelihood(part[:, None], theta) + log, axis=1)
            for part in parts
        ]
        return np.asarray(np.concatenate(done).reshape(observed.shape))


def read(release: NoisyRelease, prior: ScalarFamily, *, size_prior: SizePrior | None = None) -> GridPosterior:
    """Find where the posterior is, then tabulate it there.

    `size_prior`: log π(n) of an integer array, for an n that is private; flat on 0, 1, 2, … unless given.
    """
    likelihood = Likelihood.of(release, prior, size_prior)
    noisy = np.asarray(release.noisy, dtype=np.float64)[None]
    ends = first_guess(likelihood, noisy[0])
    for _ in range(PASSES):
        v = np.linspace(*ends, GLANCE)
        log = likelihood.log(noisy, quantile(prior, v), ROUGH)[0] - v**2 / 2
        found = _narrowed(v, log)
        if found == ends:
            break
        ends = found
    v = np.linspace(*ends, NODES if release.n is not None else FEWER)
    log = likelihood.log(noisy, quantile(prior, v))[0]
    least = (log - v**2 / 2).max() + v**2 / 2 - 2 * KEPT  # a cliff would make the spline ring
    return GridPosterior(prior, v, np.maximum(log, least) - log.max())


def _narrowed(v: Floats, log: Floats) -> tuple[float, float]:
    """Keep what is within KEPT nats of the top; step out where an end is; stay if that is most of it."""
    kept = np.flatnonzero(log > log.max() - KEPT)
    first, last = int(kept[0]), int(kept[-1])
    step = v[1] - v[0]
    low = v[first - 1] if first > 0 else v[0] - step * (v.size // 2)
    high = v[last + 1] if last < v.size - 1 else v[-1] + step * (v.size // 2)
    low, high = max(low, min(v[0], -FARTHEST)), min(high, max(v[-1], FARTHEST))
    if last - first > 0.6 * v.size and first > 0 and last < v.size - 1:
        return float(v[0]), float(v[-1])
    return float(low), float(high)


# ── where to look first ─────────────────────────────────────────────────────────────────────────────────
def first_guess(likelihood: Likelihood, noisy: Floats) -> tuple[float, float]:
    """Where φ(v)·exp(−huber(z)) is within 45 nats of its top, z = (Ŝ − nμ(θ))/deviation: never too narrow."""
    target, n, spread = _centre(likelihood, noisy)
    if n <= 0:
        return -8.5, 8.5
    v = np.linspace(-8.5, 8.5, 129)
    for _ in range(14):  # close in on where the mean of S is what was released
        gaps = np.abs(_scores(likelihood, v, target, n, spread))
        best = int(np.argmin(gaps))
        near = np.linspace(v[max(best - 1, 0)], v[min(best + 1, v.size - 1)], 9)
        v = np.unique(np.concatenate([v, near]))
    z = np.abs(_scores(likelihood, v, target, n, spread))
    log = -(v**2) / 2 - np.where(z < 1, z**2 / 2, z - 0.5)
    kept = np.flatnonzero(log > log.max() - 45)
    return float(v[max(kept[0] - 1, 0)]), float(v[min(kept[-1] + 1, v.size - 1)])


def _centre(likelihood: Likelihood, noisy: Floats) -> tuple[float, float, float]:
    """Σq as released, n as known or released, and the variance of the noise; n = 0 where noise drowns it."""
    unit, noise = likelihood.record.unit, 4 * likelihood.noise.variance
    if likelihood.n is not None and not likelihood.joint:
        return float(noisy[0]) / unit, likelihood.n, noise / unit**2
    statistic, n = likelihood.model.split(noisy)
    lattice = likelihood.model.lattice
    if likelihood.n is not None:
        n = likelihood.n
    elif n < 20 * noise**0.5 / (lattice.high - lattice.low):
        n = 0.0
    return float(statistic[0]) / unit, n, noise / unit**2


def _scores(likelihood: Likelihood, v: Floats, target: float, n: float, spread: float) -> Floats:
    mean, variance = likelihood.record.moments(quantile(likelihood.model, v), 256)
    count = n * likelihood.record.copies
    return np.asarray((target - count * mean) / np.sqrt(count * variance + spread))
