"""p(Ŝ | θ) = Σ_j P(J = j | θ) w(j) = (1/2πi) ∫ E e^{zJ} ŵ(z) dz, along the line through its saddle point.

There the integrand is the characteristic function of a law tilted until its mean is what was released, so
that nothing cancels and a likelihood is right to its own size, however far out Ŝ lies [Daniels 1954;
Lugannani, Rice 1980]. Each row is computed by itself: its answer does not depend on the rows beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from discreet.families.family import Floats
from discreet.posteriors.scalar.record_law import RecordLaw
from discreet.posteriors.scalar.weights import ELEMENTS, Complexes, Rows, Weights

POINTS = 1024  # of the line; where it needs more, the noise is widened by 1/1200 of what the line spans
BLOCKS = (0, 32, 64, 128, 256, 512, POINTS + 1)
LEAST = 1e-13  # of Σ|terms|: what rounding may leave where terms cancel
NEGATIVE = 1e-7  # of Σ|terms|: a density as far below 0 is none
WHOLE = 1e-9  # by how much Σ_q P(q | θ) may miss 1
POINT = 0.05  # deviation of a law that has one point in effect
SEEN = 0.1  # of the deviation of the weights: a normal law that widens them visibly
POINTED = 1e-3  # of the tilted law: sums at points that a wider law would hide
NEARBY = 8  # sums of records at their bounds, on either side, that noise can reach


@final
@dataclass(frozen=True, eq=False)
class LogTransform:
    """Rows of ln E e^{zJ} + ln ŵ(z), J the sum of n·copies records above their lower bounds."""

    record: RecordLaw
    theta: Floats
    count: Floats
    weights: Weights
    nats: ClassVar[float] = 25.0  # what wraps around has probability e^{−25} under the tilted law
    quiet: ClassVar[float] = 1e-11  # of the integrand's top: no further points

    def take(self, rows: Rows) -> Self:
        return replace(self, theta=self.theta[rows], count=self.count[rows], weights=self.weights.take(rows))

    def log(self, z: Complexes) -> Complexes:
        return self.count[:, None] * self.record.log_mgf(z, self.theta) + self.weights.log_transform(z)

    def at(self, tilt: Floats) -> Floats:
        """Return the logarithm on the real axis."""
        return self.log(tilt[:, None].astype(np.complex128))[:, 0].real

    @property
    def strip(self) -> tuple[Floats, Floats]:
        """Between which tilts the least of the logarithm lies."""
        return self.weights.strip(self.count * self.record.width)

    @property
    def spread(self) -> Floats:
        """No less than the deviation of the tilted law can be."""
        return np.sqrt(self.count + 1) * self.record.width + self.weights.spread

    def log_ends(self, z: Complexes) -> Complexes:
        """Return the same of sums whose records all lie at their bounds."""
        ends = self.count[:, None] * _log_at_ends(self.record, self.theta, z)
        return np.asarray(ends + self.weights.log_transform(z))


@final
@dataclass(frozen=True, eq=False)
class MixedLogTransform:
    """Rows of ln Σ_n π(n) E e^{zJ_n} ŵ_n(z), the same n for every θ: as smooth as the noise on n is wide."""

    record: RecordLaw
    theta: Floats
    sizes: Floats
    log_prior: Floats
    weights: Weights  # a row for every n
    nats: ClassVar[float] = 16.0  # an n that stands for several is worth no more
    quiet: ClassVar[float] = 1e-7

    def take(self, rows: Rows) -> Self:
        return replace(self, theta=self.theta[rows])

    def log(self, z: Complexes) -> Complexes:
        return self._mixed(self.record.log_mgf(z, self.theta), z)

    def log_ends(self, z: Complexes) -> Complexes:
        """Return the same of sums whose records all lie at their bounds; no records do."""
        return self._mixed(_log_at_ends(self.record, self.theta, z), z)

    def _mixed(self, each: Complexes, z: Complexes) -> Complexes:
        rows = max(1, ELEMENTS // (self.sizes.size * z.shape[1]))
        parts = [slice(i, i + rows) for i in range(0, len(z), rows)]
        count = self.record.copies * self.sizes[:, None]
        return np.concatenate(
            [self.weights.log_mixture(count * each[part][:, None], self.log_prior, z[part]) for part in parts]
        )

    def at(self, tilt: Floats) -> Floats:
        return self.log(tilt[:, None].astype(np.complex128))[:, 0].real

    @property
    def strip(self) -> tuple[Floats, Floats]:
        low, high = self.weights.strip(self.sizes * self.record.copies * self.record.width)
        return np.full(self.theta.size, low.min()), np.full(self.theta.size, high.max())

    @property
    def spread(self) -> Floats:
        return np.full(
            self.theta.size, self.sizes.max() ** 0.5 * self.record.width + np.ptp(self.weights.centres)
        )


def _log_at_ends(record: RecordLaw, theta: Floats, z: Complexes) -> Complexes:
    """Log of the part of E e^{zq} that lies at the two bounds."""
    low, high = record.ends(theta)
    top = np.maximum(low, high + record.width * z[:, 0].real)[:, None]
    both = np.exp(low[:, None] - top) + np.exp(high[:, None] + record.width * z - top)
    with np.errstate(divide="ignore"):
        return np.asarray(top + np.log(both))


def log_likelihood(line: LogTransform | MixedLogTransform) -> tuple[Floats, Floats]:
    """Log p(Ŝ | θ) of every row, and which share of the terms' sizes did not cancel."""
    refuse_no_law(line)
    tilt, deviation = saddle(line)
    return _integral(line, tilt, period(line, tilt, deviation))


def guessed(line: LogTransform | MixedLogTransform) -> Floats:
    """Return the saddle point's approximation to `log_likelihood`, right to a nat or so."""
    tilt, deviation = saddle(line)
    return np.asarray(line.at(tilt) - np.log(np.maximum(2.5 * deviation, 1.0)))


def ceiling(line: LogTransform | MixedLogTransform) -> Floats:
    """Return what `log_likelihood` cannot exceed: all terms are positive, so Σ_j P(j)w(j) ≤ E e^{zJ} ŵ(z)."""
    return line.at(saddle(line)[0])


def refuse_no_law(line: LogTransform | MixedLogTransform) -> None:
    """Probabilities of a record must sum to one."""
    total = line.record.log_mgf(np.zeros((line.theta.size, 1), dtype=np.complex128), line.theta)
    if not np.all(np.abs(total) <= WHOLE):
        raise ArithmeticError(
            f"the law of a record of {type(line.record).__name__} does not sum to one within {WHOLE}; "
            "this is a defect of the library: please report the family and its bounds"
        )


# ── where the line passes ───────────────────────────────────────────────────────────────────────────────
def saddle(line: LogTransform | MixedLogTransform, rounds: int = 160) -> tuple[Floats, Floats]:
    """Return the tilt at which the logarithm is least, nearly, and the tilted law's deviation.

    Newton's step on a convex function, or half of what brackets it: a tilt within a third of a deviation's
    inverse does, since every line gives the same integral.
    """
    low, high = line.strip
    tilt = np.clip(0.0, low + (high - low) / 4, high - (high - low) / 4)
    deviation = np.full(tilt.size, np.inf)
    probe = 0.1 / line.spread
    ends, active = (low.copy(), high.copy()), np.arange(tilt.size)
    for turn in range(rounds):
        at = tilt[active]
        room = np.minimum(at - ends[0][active], ends[1][active] - at)
        step = np.minimum(probe[active], np.minimum(room, (high - low)[active] / 2) / 4)
        left, here, right = _at_each(line, active, np.stack([at - step, at, at + step]))
        slope, bend = (right - left) / (2 * step), (right - 2 * here + left) / step**2
        seen = bend * step**2 > 1e-5 + 1e-14 * np.abs(here)  # else rounding is all that was measured
        flat = (np.abs(slope) * (high - low)[active] < 0.1) & (
            bend * step**2 < 0.04
        )  # no tilt is much better, and which side is rounding's choice
        low[active] = np.where((slope < 0) & ~flat, np.maximum(at - step, low[active]), low[active])
        high[active] = np.where((slope < 0) | flat, high[active], np.minimum(at + step, high[active]))
        newton = at - slope / np.where(seen, bend, np.inf)
        inside = (turn % 3 < 2) & seen & (newton > low[active]) & (newton < high[active])
        known = seen | (step < probe[active])  # the deviation, or that there is no room to see one
        done = (flat & known) | (seen & (slope**2 < 0.1 * bend) & (bend * step**2 < 0.04))
        deviation[active] = np.sqrt(np.where(seen, bend, 0.0))
        tilt[active] = np.where(done | flat, at, np.where(inside, newton, (low[active] + high[active]) / 2))
        probe[active] = np.where(seen, 0.1 / np.sqrt(np.maximum(bend, 1e-300)), 8 * step)
        active = active[~done]
        if not active.size:
            return tilt, np.maximum(deviation, line.weights.spread if line.weights.spread > 1 else 0.0)
    raise ArithmeticError(
        "no saddle point of a sum's transform was found; this is a defect of the library: please report the "
        "family, its prior and the release"
    )


def period(line: LogTransform | MixedLogTransform, tilt: Floats, deviation: Floats) -> Floats:
    """Return beyond which distance the tilted law has little left, by the best of some Chernoff bounds."""
    low, high = line.strip
    steps = np.array([[1.5], [3.0], [6.0], [10.0]]) / np.maximum(deviation, POINT)
    if line.weights.noise.laplacian:
        up, down = (np.minimum(steps, 0.95 * np.abs(edge - tilt)) for edge in (high, low))
    else:
        up = down = steps
    tilts = np.concatenate([tilt[None], tilt + up, tilt - down])
    here, *there = _at_each(line, np.arange(tilt.size), tilts)
    bounds = (np.array(there) - here + line.nats) / np.concatenate([up, down])
    reach = np.maximum(bounds[: len(up)].min(axis=0), bounds[len(up) :].min(axis=0))
    return np.asarray(np.ceil(np.maximum(reach, 2.0)), dtype=np.float64)


def _at_each(line: LogTransform | MixedLogTransform, rows: NDArray[np.int64], tilts: Floats) -> Floats:
    """Return the logarithm on the real axis, (tilts, rows), in one evaluation."""
    each = line.take(np.tile(rows, len(tilts))).at(tilts.ravel())
    return np.asarray(each.reshape(tilts.shape))


# ── the integral ────────────────────────────────────────────────────────────────────────────────────────
def _integral(line: LogTransform | MixedLogTransform, tilt: Floats, period: Floats) -> tuple[Floats, Floats]:
    """Sum over the period's frequencies; all of them, or until they are quiet, or until POINTS.

    In the last case the tilted law is widened by a normal law of deviation `blur`, and sums of records that
    all lie at their bounds are taken out and added as they are.
    """
    here, half = line.at(tilt), np.floor(period / 2)
    blur = np.where(half > POINTS, 5.5 * period / (2 * np.pi * POINTS), 0.0)
    split = _apart(line, blur) & isinstance(line, LogTransform)
    plain, soft, size = np.zeros(tilt.size), np.zeros(tilt.size), np.zeros(tilt.size)
    quiet = np.zeros(tilt.size, dtype=np.bool_)
    for first, last in pairwise(BLOCKS):
        active = np.flatnonzero(~quiet & (half >= first))
        if not active.size:
            break
        part, k, ends = line.take(active), np.arange(first, last)[None, :], half[active, None]
        t = 2 * np.pi * k / period[active, None]
        z = tilt[active, None] + 1j * t
        times = np.where(k > ends, 0, np.where((k == 0) | (2 * k == period[active, None]), 1, 2))
        value = np.exp(part.log(z) - here[active, None])
        plain[active] += (times * value.real).sum(axis=1)
        size[active] += (times * np.abs(value)).sum(axis=1)
        still = np.abs(value).max(axis=1) < line.quiet
        rows = split[active]
        if isinstance(part, LogTransform) and rows.any():
            value[rows] -= np.exp(part.take(rows).log_ends(z[rows]) - here[active[rows], None])
        soft[active] += (times * np.exp(-((blur[active, None] * t) ** 2) / 2) * value.real).sum(axis=1)
        if still.any():
            quiet[active[still]] = stays_quiet(part.take(still), z[still, -1], here[active[still]])
    cut = (half > POINTS) & ~quiet
    share = _refuse_negative(np.where(cut, soft, plain) / size)
    log = here + np.log(np.maximum(share, LEAST) * size / period)
    if isinstance(line, LogTransform) and (cut & split).any():
        log = np.where(cut & split, np.logaddexp(log, _log_at_bounds(line)), log)
    if isinstance(line, MixedLogTransform) and (lone := cut & _apart(line, blur)).any():
        at_ends = line.take(lone).log_ends(tilt[lone, None].astype(np.complex128))[:, 0].real - here[lone]
        share[lone] = np.where(at_ends > np.log(POINTED), 0.0, share[lone])
    return log, share


def _apart(line: LogTransform | MixedLogTransform, blur: Floats) -> NDArray[np.bool_]:
    """Which rows would lose sums of records at their bounds, points that the noise still tells apart."""
    reach = line.weights.noise.reach(40.0) / line.weights.unit
    return np.asarray((blur > SEEN * line.weights.spread) & (reach < NEARBY * line.record.width))


def _refuse_negative(share: Floats) -> Floats:
    if not np.all(share >= -NEGATIVE):
        raise ArithmeticError(
            f"the density of a release came out below 0 by more than {NEGATIVE} of its terms; this is a "
            "defect of the library: please report the family, its prior and the release"
        )
    return share


def stays_quiet(line: LogTransform | MixedLogTransform, last: Complexes, here: Floats) -> NDArray[np.bool_]:
    """Whether the integrand stays small where records at either bound come into step again."""
    width = line.record.width
    found = np.ones(last.size, dtype=np.bool_)
    for ahead in (1, 2, 3):
        t = 2 * np.pi * (np.floor(last.imag * width / (2 * np.pi)) + ahead) / width
        z = (last.real + 1j * np.minimum(t, np.pi))[:, None]
        found &= (t > np.pi) | (line.log(z)[:, 0].real - here < np.log(line.quiet))
    return found


def _log_at_bounds(line: LogTransform) -> Floats:
    """Log Σ_k C(n, k) P(low)^{n−k} P(high)^k w(k·width), over the k that noise can reach."""
    n, width = line.count[:, None], line.record.width
    low, high = (end[:, None] for end in line.record.ends(line.theta))
    centre = np.clip(np.rint(line.weights.centres.mean(axis=1) / width), 0, line.count)[:, None]
    k = centre + np.arange(-NEARBY, NEARBY + 1)
    there = (k >= 0) & (k <= n)
    k = np.clip(k, 0, n)
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    log = ways + (n - k) * low + k * high + line.weights.log(k * width)
    return np.asarray(np.logaddexp.reduce(np.where(there, log, -np.inf), axis=1))
