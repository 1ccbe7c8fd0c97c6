"""p(Ŝ | θ) = Σ_n π(n) Σ_s p(s | θ, n) p(noise = Ŝ − s): one bounded sum, its noise marginalised exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.families.family import Floats, Integers
from discreet.families.records import ScalarFamily
from discreet.posteriors.noise_law import NoiseLaw
from discreet.posteriors.scalar.contour import (
    LogTransform,
    MixedLogTransform,
    ceiling,
    guessed,
    log_likelihood,
)
from discreet.posteriors.scalar.record_law import RecordLaw, record_law
from discreet.posteriors.scalar.unclipped import farther, unclipped
from discreet.posteriors.scalar.weights import Weights

if TYPE_CHECKING:
    from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic


# ── A private number of records n: which values matter, and how many each of them stands for.
NATS = 24.0  # an n that noise or prior make less likely by e^{−24} is left out
FEW_SIZES = 64  # values that are all summed over
STEPS = ((4.0, 0.25), (np.inf, 0.8))  # up to so many deviations of n: cells of such a width
MOST = 2**23  # values at which a size prior is asked


def sizes(
    guess: float, noise: NoiseLaw, span: int, size_prior: Callable[[Any], Any] | None
) -> tuple[Floats, Floats]:
    """Return n and log of the prior mass that each stands for; A + B, noised, told `guess` of them."""
    reach = _reach(max(0.0, -guess), noise, span)
    low, high = max(0, int(np.floor(guess - reach))), max(1, int(np.ceil(guess + reach)))
    if size_prior is None:
        centre = np.clip(guess, low, high)
        edges = _edges(low, high, float(centre), noise.scale / span)
        return np.floor((edges[1:] + edges[:-1] - 1) / 2), np.log(np.diff(edges))
    asked = np.arange(min(2 * high + 1000, MOST))
    log = np.asarray(size_prior(asked), dtype=np.float64)
    likely = log + energy(np.asarray((asked - guess) * span, dtype=np.float64), noise)
    kept = likely > np.max(likely) - NATS
    return _thinned(asked[kept].astype(np.float64), log[kept], guess, noise.scale / span)


def energy(gap: Floats | float, noise: NoiseLaw) -> Floats:
    """Return the log density of two noises that sum to the gap, at best and but for its constant."""
    far = np.abs(np.asarray(gap, dtype=np.float64)) / noise.scale
    return np.asarray(-far if noise.laplacian else -(far**2) / 4)


def _reach(short: float, noise: NoiseLaw, span: int) -> float:
    """How many records from the guess the energy is NATS above its least; none are fewer than 0."""
    if noise.laplacian:
        return short + NATS * noise.scale / span
    return float((short**2 + 4 * NATS * (noise.scale / span) ** 2) ** 0.5)


def _edges(low: int, high: int, centre: float, scale: float) -> Floats:
    """Return ends of cells of odd numbers of integers, each with n in its middle; finest at the centre."""
    if high - low < FEW_SIZES:
        return np.arange(low, high + 2, dtype=np.float64)
    right, left = [round(centre)], [round(centre)]
    while right[-1] <= high:
        right.append(right[-1] + _cell((right[-1] - centre) / scale, scale))
    while left[-1] > low:
        left.append(left[-1] - _cell((centre - left[-1]) / scale, scale))
    inner = np.clip(left[:0:-1] + right, low + 1, high)  # the first and the last n stand for themselves
    return np.unique(np.concatenate([[low, low + 1], inner, [high, high + 1]]).astype(np.float64))


def _cell(away: float, scale: float) -> int:
    """Nearest odd number below the width that is allowed so many deviations away."""
    width = next(width for limit, width in STEPS if away < limit)
    return max(1, 2 * int((width * scale - 1) // 2) + 1)


def _thinned(n: Floats, log: Floats, guess: float, scale: float) -> tuple[Floats, Floats]:
    """All values where they are few; else one for each cell, with the cell's prior mass and mean n."""
    if n.size <= 4 * FEW_SIZES:
        return n, log
    edges = _edges(int(n[0]), int(n[-1]), float(np.clip(guess, n[0], n[-1])), scale)
    cell = np.searchsorted(edges, n, side="right") - 1
    mass = np.exp(log - log.max())
    each = np.bincount(cell, mass)
    middle = np.rint(np.bincount(cell, mass * n)[each > 0] / each[each > 0])
    return middle, np.log(each[each > 0]) + log.max()


# ── likelihood
SizePrior = Callable[[Any], Any]  # log π(n) of an integer array, up to a constant
ROWS = 4096  # that are computed together
FEW = 12  # values of n, noise being narrow, each of which is summed over by itself
FARTHER = 32  # values of n in the last of the blocks 16, 32, … by which a range is extended
MATTERS = 14.0  # nats: what is less likely by e^{−14} than the posterior's top decides nothing
DROPPED = 32.0  # nats below the top of which a table of the posterior keeps nothing
EDGE = 18.0  # nats below the sum at which the last n no longer matters
AWAY, CELLS = 1.6, 48  # from one n to the next in a search, and in the sum that follows
SHARP = 0.2  # of a record: deviation of the noise below which sums between whole numbers show
THIN = (
    1 / 256
)  # scale of a noise, in steps of q, whose tilts leave the range of doubles where n are summed together
SHARE = 1e-7  # of terms that did not cancel, below which each n is summed over by itself


@final
@dataclass(frozen=True, eq=False)
class Likelihood:
    """Of one release design: the family, n or None, whether n was noised along, and the noise."""

    model: ScalarFamily
    n: int | None
    joint: bool
    noise: NoiseLaw
    size_prior: SizePrior | None = None  # flat on 0, 1, 2, … unless given
    clips: bool = False  # whether records beyond the bounds were clipped to them
    farther: bool = False  # whether records that no bound clips end twice as far out, to see if that matters

    @classmethod
    def of(
        cls,
        release: NoisyStatistic,
        model: ScalarFamily,
        size_prior: SizePrior | None = None,
        *,
        clips: bool = False,
    ) -> Likelihood:
        return cls(model, release.n, release.joint, NoiseLaw.of(release), size_prior, clips)

    @cached_property
    def record(self) -> RecordLaw:
        law = record_law(self.model)
        if self.clips:
            return law
        law = unclipped(law, self.model, self.noise.scale / law.unit)
        return farther(law) if self.farther else law

    def log(
        self, noisy: Floats, theta: Floats, log_prior: Floats | None = None, top: float = -np.inf
    ) -> Floats:
        """Log p(Ŝ_r | θ_j), for rows of Ŝ: (r, θ); with a prior, only as it matters to the posterior.

        `top` is the largest log posterior that is known from elsewhere.
        """
        return np.stack([self._one(row, theta, log_prior, top) for row in noisy])

    def _one(self, row: Floats, theta: Floats, log_prior: Floats | None, top: float) -> Floats:
        if self.n is not None:
            return self._rows(row, theta, np.full(theta.size, float(self.n)))
        known = sizes(row.sum() / self.span, self.noise, self.span, self.size_prior)
        found = self._summed(row, theta, *known, log_prior, top)
        needed = np.full(theta.size, -np.inf)
        if log_prior is not None:
            needed = max(top, (found + log_prior).max()) - log_prior - MATTERS
        for side in (-1, 1):
            most = self._most(row, *(x[0 if side < 0 else -1] for x in known))
            self._extend(row, theta, found, known, side, np.flatnonzero(needed < most))
        return found

    def _most(self, row: Floats, n: float, log_prior: float) -> float:
        """No θ finds this n, or one further off, more likely: the noise on A + B alone."""
        return float(
            energy(row.sum() - n * self.span, self.noise) + log_prior - 2 * self.noise.log_normaliser
        )

    def _extend(  # noqa: PLR0917
        self,
        row: Floats,
        theta: Floats,
        found: Floats,
        known: tuple[Floats, Floats],
        side: int,
        active: Integers,
    ) -> None:
        """Add further n on one side for θ that find the last one likely: fewer odd records, more noise."""
        edge, prior = (float(x[0 if side < 0 else -1]) for x in known)
        length = 16
        while active.size and length <= FARTHER and (side > 0 or edge > 0):
            last = self._guess(row, theta[active], edge) + prior
            active = active[last > found[active] - EDGE]
            if not active.size:
                return
            more = np.asarray(edge + side * np.arange(1, length + 1), dtype=np.float64)
            more = more[more >= 0]
            told = self._told(more)
            found[active] = np.logaddexp(found[active], self._summed(row, theta[active], more, told))
            edge, prior, length = float(more[-1]), float(told[-1]), 2 * length
        if active.size and (side > 0 or edge > 0):
            active = active[self._guess(row, theta[active], edge) + prior > found[active] - EDGE]
            found[active] = np.logaddexp(found[active], self._afar(row, theta[active], edge, side))

    def _afar(self, row: Floats, theta: Floats, edge: float, side: int) -> Floats:
        """Log Σ_n π(n) p(Ŝ | θ, n) beyond the edge, in cells about the likeliest n of each θ.

        Where θ and Ŝ contradict each other, noise may be likelier than as many records as were told.
        """
        away = np.unique(np.rint(AWAY ** np.arange(34)))
        away = away if side > 0 else np.append(away[away < edge], edge)
        low, high = self._likely(row, theta, np.tile(np.sort(edge + side * away), (theta.size, 1)))
        share = np.linspace(0, 1, CELLS + 1)
        low, high = self._likely(row, theta, np.rint(low[:, None] + (high - low)[:, None] * share))
        edges = np.rint(low[:, None] + (high - low + 1)[:, None] * share)
        n, width = np.floor((edges[:, 1:] + edges[:, :-1] - 1) / 2), np.diff(edges, axis=1)
        with np.errstate(divide="ignore"):
            told = np.log(width) + self._told(np.maximum(n, 0).ravel()).reshape(n.shape)
        found = self._rows(row, np.repeat(theta, CELLS), np.maximum(n, 0).ravel()).reshape(n.shape)
        return np.asarray(np.logaddexp.reduce(found + told, axis=1))

    def _likely(self, row: Floats, theta: Floats, n: Floats) -> tuple[Floats, Floats]:
        """Return between which of these n, (θ, n) in order, nearly all of the likelihood of each θ lies."""
        rows = np.repeat(theta, n.shape[1])
        seen = self._guess(row, rows, np.maximum(n, 1).ravel()) + self._told(n.ravel())
        seen = seen.reshape(n.shape)
        kept = seen > seen.max(axis=1, keepdims=True) - EDGE
        first, last = kept.argmax(axis=1), n.shape[1] - 1 - kept[:, ::-1].argmax(axis=1)
        each = np.arange(theta.size)
        return n[each, np.maximum(first - 1, 0)], n[each, np.minimum(last + 1, n.shape[1] - 1)]

    def _guess(self, row: Floats, theta: Floats, n: Floats | float) -> Floats:
        """Log p(Ŝ | θ, n) by the saddle point alone."""
        sizes = np.full(theta.size, n)
        weights = self.weights(row, sizes)
        return guessed(LogTransform(self.record, theta, sizes * self.record.copies, weights))

    def _told(self, n: Floats) -> Floats:
        prior = self.size_prior(n.astype(np.int64)) if self.size_prior else np.zeros(n.size)
        return np.asarray(prior, dtype=np.float64)

    def _summed(  # noqa: PLR0917
        self,
        row: Floats,
        theta: Floats,
        n: Floats,
        log_prior: Floats,
        of_theta: Floats | None = None,
        top: float = -np.inf,
    ) -> Floats:
        """Log Σ_n π(n) p(Ŝ | θ, n), n under one integral where noise is wide.

        With a prior `of_theta`, a bound from above where the posterior has nothing.
        """
        weights = self.weights(row, n)
        if n.size <= FEW or not weights.wide or weights.scale < THIN:
            return self._each(row, theta, n, log_prior)
        if n[0] == 0:  # no records: a point, far from the sums of some
            empty = log_prior[0] + self.weights(row, n[:1]).log(np.zeros((1, 1)))[0, 0]
            rest = self._summed(row, theta, n[1:], log_prior[1:], of_theta, top)
            return np.asarray(np.logaddexp(rest, empty))
        line = MixedLogTransform(self.record, theta, n, log_prior, weights)
        found, share = log_likelihood(line)
        poor = share < SHARE
        if of_theta is not None and poor.any():
            seen = np.append((found + of_theta)[~poor], top).max()
            least = seen - of_theta[poor] - DROPPED
            most = ceiling(line.take(poor))
            found[poor] = most
            poor[poor] = most > least
        if poor.any():
            found[poor] = self._each(row, theta[poor], n, log_prior)
        return found

    def _each(self, row: Floats, theta: Floats, n: Floats, log_prior: Floats) -> Floats:
        """Log Σ_n π(n) p(Ŝ | θ, n), term by term."""
        found = self._rows(row, np.repeat(theta, n.size), np.tile(n, theta.size))
        return np.asarray(np.logaddexp.reduce(found.reshape(theta.size, n.size) + log_prior, axis=1))

    @property
    def span(self) -> int:
        return self.model.lattice.high - self.model.lattice.low

    def _rows(self, row: Floats, theta: Floats, n: Floats) -> Floats:
        """Log Σ_s p(s | θ, n) p(Ŝ | s), θ and n in rows."""
        parts = np.array_split(np.arange(theta.size), max(1, -(-theta.size // ROWS)))
        return np.concatenate([self._computed(row, theta[part], n[part]) for part in parts])

    def _computed(self, row: Floats, theta: Floats, n: Floats) -> Floats:
        weights = self.weights(row, n)
        if self.record.unit == 1 or weights.spread > SHARP:
            return self._at(weights, theta, n)
        between = weights.centres.mean(axis=1) % 1  # so much noise does not hide that records are in parts
        return np.asarray(
            (1 - between) * self._at(weights.moved(-between), theta, n)
            + between * self._at(weights.moved(1 - between), theta, n)
        )

    def _at(self, weights: Weights, theta: Floats, n: Floats) -> Floats:
        empty = n == 0
        found = weights.log(np.zeros((n.size, 1)))[:, 0]
        if not empty.all():
            line = LogTransform(self.record, theta, n * self.record.copies, weights)
            found[~empty] = log_likelihood(line.take(~empty))[0]
        return found

    def weights(self, row: Floats, n: Floats) -> Weights:
        """Of Σ(q − low) in integers of q, for every n; if joint, S − n·low and n·high − S were noised."""
        unit, below = self.record.unit, n * (self.model.lattice.low - self.record.low)
        if self.joint:
            centres = np.stack([row[0] + below, n * self.span - row[1] + below], axis=1)
        else:
            centres = (row[0] - n * self.record.low)[:, None]
        return Weights(self.noise, unit, np.sort(centres, axis=1) / unit)

    def weights_of(self, noisy: Floats) -> Weights:
        """Of many releases of one sum, n public."""
        return Weights(
            self.noise,
            self.record.unit,
            (noisy[:, None] - (self.n or 0) * self.record.low) / self.record.unit,
        )
