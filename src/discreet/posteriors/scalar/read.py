"""Noise-aware posteriors of families with one parameter and one bounded sum, by quadrature over θ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.families.family import Floats, credible
from discreet.families.records import ScalarFamily
from discreet.posteriors.noise_law import beyond_bounds, matters
from discreet.posteriors.posterior import Diagnostics, NoiseAware
from discreet.posteriors.scalar.coordinate import line_of
from discreet.posteriors.scalar.likelihood import Likelihood, SizePrior
from discreet.posteriors.scalar.record_law import Trial, record_law
from discreet.posteriors.scalar.unclipped import share_at_ends, share_beyond
from discreet.sampling.source import SYSTEM, Source

if TYPE_CHECKING:
    from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic


# ── Where a posterior of one parameter is: nodes laid until a cubic between them says what lies there.
# Prior and likelihood each have one top, so that a posterior has nodes about both of them from the start.
STEEP = 8.0  # nats between nodes from which an interval is cut in four
GROWTH = 3.0
ROUNDS = 60
LIGHT = 1e-7  # share of the posterior below which an interval is not cut
LEVEL = 0.01  # nats between nodes that a cubic does not overshoot
MOST = 2**15  # nodes


@final
@dataclass(frozen=True)
class Detail:
    """How far below its top a posterior is tabulated, and what a cubic may miss at the top; nats."""

    kept: float  # what is left out has probability e^{−kept}
    close: float  # e^{depth/2} times that below the top


FULL = Detail(30.0, 1e-4)
PLANNED = Detail(
    16.0, 1e-2
)  # where the same is averaged over imagined data sets: quantiles to 1e-3 of a width


def tabulate(
    likelihood: Likelihood, noisy: Floats, prior: ScalarFamily, detail: Detail = FULL
) -> tuple[Floats, Floats]:
    """Return nodes x and ln p(Ŝ | θ(x)), so dense that they determine the posterior."""
    line = line_of(prior)

    def log(x: Floats, top: float = -np.inf) -> Floats:
        return np.asarray(likelihood.log(noisy[None], line.theta(x), line.log_prior(x), top)[0])

    x = _first(likelihood, noisy, prior)
    seen, fine = log(x), np.zeros(x.size - 1, dtype=np.bool_)
    for _ in range(ROUNDS):
        total = seen + line.log_prior(x)
        more, settled = _wanted(x, total, fine, detail.kept)
        if not more.size:
            return _cropped(x, seen, total, detail.kept)
        if more.size > MOST:
            break
        found = log(more, float(total.max()))
        misses = np.abs(_cubic(x, total, more) - found - line.log_prior(more))
        x, seen, fine = _merged(
            (x, seen, fine | settled), more, found, misses < _allowed(more, x, total, detail)
        )
    raise ArithmeticError(
        "the posterior could not be tabulated; this is a defect of the library: please report the family, "
        "its prior and the release"
    )


def _allowed(more: Floats, x: Floats, total: Floats, detail: Detail) -> Floats:
    """Return what the cubic may miss: less than it matters so far below the top."""
    depth = total.max() - np.interp(more, x, total)
    return np.asarray(detail.close * np.exp(np.clip(depth - 6, 0, detail.kept) / 2))


def _wanted(
    x: Floats, total: Floats, fine: NDArray[np.bool_], nats: float
) -> tuple[Floats, NDArray[np.bool_]]:
    """Points inside intervals that matter and are not settled; beyond an end where the density is still."""
    kept = total > total.max() - nats
    matters = kept[1:] | kept[:-1]
    thin = np.diff(x) <= 1e-13 * np.maximum(np.abs(x[1:]), np.abs(x[:-1]))  # no double lies between
    mass = np.diff(x) * np.exp(np.maximum(total[1:], total[:-1]) - total.max())
    level = (np.abs(np.diff(total)) < LEVEL) & (np.diff(x) < 1e-4 * (x[-1] - x[0]))
    thin |= level & (mass < LIGHT * mass.sum())  # a step of the likelihood there moves no quantile
    open_ = matters & ~fine & ~thin
    left, width = x[:-1][open_], np.diff(x)[open_]
    steep = np.abs(np.diff(total))[open_] > STEEP
    parts = [left + width / 2, (left + width / 4)[steep], (left + 3 * width / 4)[steep]]
    if kept[0]:
        parts.append(x[:1] - (x[-1:] - x[:1]))
    if kept[-1]:
        parts.append(x[-1:] + (x[-1:] - x[:1]))
    return np.unique(np.concatenate(parts)), ~matters | thin


def _merged(
    old: tuple[Floats, Floats, NDArray[np.bool_]], more: Floats, found: Floats, good: NDArray[np.bool_]
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Nodes in order; an interval is settled where its middle was foreseen, or stays as it was."""
    x, seen, fine = old
    place = np.searchsorted(x, more)
    inside = (place > 0) & (place < x.size)
    lone = np.bincount(place[inside], minlength=x.size + 1) == 1
    hit = np.zeros(x.size + 1, dtype=np.bool_)
    hit[place[inside]] = True
    passed = np.ones(x.size + 1, dtype=np.bool_)
    np.logical_and.at(passed, place[inside], good[inside])
    state = np.where(hit[1:-1], passed[1:-1] & lone[1:-1], fine & ~hit[1:-1])
    order = np.argsort(np.concatenate([x, more]), kind="stable")
    together = np.concatenate([x, more])[order]
    owner = np.searchsorted(x, (together[1:] + together[:-1]) / 2) - 1
    outside = (owner < 0) | (owner >= x.size - 1)
    settled = ~outside & state[np.clip(owner, 0, x.size - 2)]
    return together, np.concatenate([seen, found])[order], settled


def _cropped(x: Floats, seen: Floats, total: Floats, nats: float) -> tuple[Floats, Floats]:
    """Keep what is within so many nats of the top, and one node more on either side."""
    kept = np.flatnonzero(total > total.max() - nats)
    part = slice(max(kept[0] - 1, 0), kept[-1] + 2)
    return x[part], seen[part] - seen[part].max()


def slopes(x: Floats, y: Floats) -> Floats:
    """Return derivatives at the nodes: of the parabolas through three neighbours."""
    return np.asarray(np.gradient(y, x, edge_order=2))


def _cubic(x: Floats, y: Floats, at: Floats) -> Floats:
    """Hermite's cubic between the nodes."""
    i = np.clip(np.searchsorted(x, at) - 1, 0, x.size - 2)
    width, slope = np.diff(x)[i], slopes(x, y)
    t = (at - x[i]) / width
    first = (1 + 2 * t) * (1 - t) ** 2 * y[i] + t**2 * (3 - 2 * t) * y[i + 1]
    return np.asarray(first + width * t * (1 - t) * ((1 - t) * slope[i] - t * slope[i + 1]))


# ── where to look first ─────────────────────────────────────────────────────────────────────────────────
def _first(likelihood: Likelihood, noisy: Floats, prior: ScalarFamily) -> Floats:
    """Nodes that thin out from the prior's top, and from where a mean of records is what was released."""
    where = line_of(prior).bulk()
    low, high = where.mode - where.left, where.mode + where.right
    x, deviation = matched(likelihood, noisy, prior)
    low, high = min(low, x - 3 * deviation), max(high, x + 3 * deviation)
    return np.unique(
        np.concatenate(
            [
                _spread(where.mode, where.deviation, low, high),
                _spread(x, deviation / 2, low, high),
                [low, high],
            ]
        )
    )


def _spread(centre: float, step: float, low: float, high: float) -> Floats:
    most = max(high - centre, centre - low)
    count = 3 + int(np.ceil(np.log(max(most / step, 1.0)) / np.log(GROWTH)))
    away = step * np.concatenate([[0.0, 0.5], GROWTH ** np.arange(count)])
    nodes = np.concatenate([centre - away, centre + away])
    return nodes[(nodes >= low) & (nodes <= high)]


def matched(likelihood: Likelihood, noisy: Floats, prior: ScalarFamily) -> tuple[float, float]:
    """Return x where E(q − low) is what was released, and the deviation of Ŝ in x there; hints, no more."""
    record, n = likelihood.record, float(likelihood.n or 1)
    if likelihood.n is None:
        n = max(1.0, float(noisy.sum()) / likelihood.span)
    count = n * record.copies
    weights = likelihood.weights(noisy, np.array([n]))
    share = float(weights.centres.mean()) / (count * record.width)
    target = record.width * float(np.clip(share, 1e-2 / (count + 1), 1 - 1e-2 / (count + 1)))
    line, grid = line_of(prior), float(prior.lattice.grid)
    ends = line.ends(record.low * grid, record.high * grid)
    for _ in range(9):
        x = np.linspace(*ends, 33)
        above = record.mean(line.theta(x)) > target
        i = int(np.argmax(above != above[0])) or 32
        ends = (float(x[i - 1]), float(x[i]))
    mean = record.mean(line.theta(np.array(ends)))
    slope = abs(float(mean[1] - mean[0])) / (ends[1] - ends[0])
    step = 0.3 / min(target, record.width - target)
    drop = -2 * record.log_mgf(np.array([[1j * step]]), line.theta(np.array([ends[0]])))[0, 0].real
    spread = (count * max(float(drop), 0.0) / step**2 + weights.spread**2) ** 0.5
    return sum(ends) / 2, min(max(spread / max(count * slope, 1e-300), 1e-9), 100.0 * (1 + abs(ends[0])))


# ── read
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
    said: tuple[str, ...] = ()  # cautions

    @property
    def diagnostics(self) -> Diagnostics:
        return Diagnostics(f"quadrature, {self.nodes.size} nodes")

    @property
    def cautions(self) -> tuple[str, ...]:
        return self.said

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
        return self.at(credible(level))[None]

    def flat_sample(self, size: int, source: Source | None = None) -> Floats:
        """Inverse of the distribution function at uniform doubles."""
        words = (source or SYSTEM).words(size) >> np.uint64(11)
        return self.at((words.astype(np.float64) + 0.5) * 2.0**-53)[:, None]

    def at(self, probability: Floats) -> Floats:
        """Return θ below which the posterior has these probabilities."""
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
    release: NoisyStatistic,
    prior: ScalarFamily,
    *,
    size_prior: SizePrior | None = None,
    clips: bool = False,
    detail: Detail = FULL,
) -> GridPosterior:
    """Find where the posterior is, then tabulate it there.

    `size_prior`: log π(n) of an integer array, for an n that is private; flat on 0, 1, 2, … unless given.
    `clips`: records beyond the bounds were clipped to them, and the likelihood says so; else the bounds are
    facts about the data, and as noise vanishes this is the posterior of the exact sum.
    """
    likelihood = Likelihood.of(release, prior, size_prior, clips=clips)
    noisy = np.asarray(release.noisy, dtype=np.float64)
    found = GridPosterior(prior, *tabulate(likelihood, noisy, prior, detail))
    if clips:
        return found
    n = float(release.n if release.n is not None else max(0.0, prior.split(noisy)[1]))
    share = share_beyond(record_law(prior), float(found.flat_mean()[0]))
    said = (beyond_bounds(share),) if matters(share, n) else ()
    return replace(found, said=(*said, ENDED) if ended(likelihood, noisy, found) else said)


ENDED = (
    "records may lie farther out than their law was followed: do not rely on this posterior; declare the "
    "column with clips=True and bounds that hold nearly all records, or give the family a law in closed form"
)
QUANTILES = np.concatenate([[1e-3], (np.arange(32) + 0.5) / 32, [1 - 1e-3]])
RARE, MOVED = 1e-6, 0.05  # records at an end that decide nothing; nats by which a farther end may move θ


def ended(likelihood: Likelihood, noisy: Floats, found: GridPosterior) -> bool:
    """Whether the ends to which records were followed show in p(Ŝ | θ), where the posterior is.

    Held to the same law with ends twice as far; not up to a constant, for beyond both ends all θ look alike.
    """
    if isinstance(likelihood.record, Trial):
        return False
    theta = found.at(QUANTILES)
    most = likelihood.n if likelihood.n is not None else max(float(noisy.sum()), 1.0)
    if not (share_at_ends(likelihood.record, theta) * most > RARE).any():
        return False
    near, far = (each.log(noisy[None], theta)[0] for each in (likelihood, replace(likelihood, farther=True)))
    return bool(np.abs(near - far).max() > MOVED)
