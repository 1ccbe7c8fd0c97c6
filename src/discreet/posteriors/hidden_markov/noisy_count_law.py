# mypy: disable-error-code="untyped-decorator,no-any-return"
# ruff: noqa: PLR0917 (a kernel takes arrays and numbers, not objects)
"""f(y; μ) = Σ_x Poisson(x; μ)·noise(y − x): the law of a noisy count, with the count summed out, as a table.

For every integer y that was released, ln f is stored as cubic pieces in u = √μ (values and exact slopes at
the nodes: Hermite), because a Poisson count has nearly the same spread everywhere in √μ. Before the first
node, where ln f may fall to −∞, it is ln Σ_x c_x μ^x − μ instead. Beyond a table ln f goes on as its largest
term does: cells that share a state may be hundreds of deviations from its mean, and must pull as they would.
Noise on the line is read after rounding to integers, whose law is known exactly. ln f is known up to what no
μ changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from discreet.posteriors.hidden_markov.kernels.scores import TINY, Floats, Integers, kernel
from discreet.posteriors.noise_law import NoiseLaw

SPACING = 0.25  # between nodes in √μ
NATS = 28.0  # how far down the tails of the noise a table reaches
LOW = -300.0  # nats below which the likeliest noise is taken off before a double is made of it
SPREADS = 12.0  # and of the Poisson law, in standard deviations
FEW = 3  # the last power of μ in the series
SURE = 1e-60  # below which a sum of products of doubles is made again of logarithms
NEWTON = 40  # steps at most


@final
@dataclass(frozen=True)
class NoiseTable:
    """Row i holds ln f(y_i; ·): `pieces` from base[i] on, `first[i]` nodes up; ends: what `rate` needs.

    A row that begins at 0 has the series' coefficients in its first piece, and its level as ln f there.
    """

    pieces: NDArray[np.float32]  # (intervals of all rows, 4)
    base: NDArray[np.int64]
    first: NDArray[np.float64]
    length: NDArray[np.float64]  # intervals of the row
    ends: Floats  # (rows, 6): y, ln f and rate at the lower end; noise, ln f and rate at the upper


def noise_table(law: NoiseLaw, ys: NDArray[np.int64]) -> NoiseTable:
    """Tabulate for distinct integers ys."""
    spread = law.reach(NATS) + SPREADS * np.sqrt(np.maximum(ys, 0) + 1.0) + 4.0
    low = np.floor(np.sqrt(np.maximum(ys - spread, 0.0)) / SPACING).astype(np.int64)
    low = np.where(ys - law.reach(NATS) > FEW, np.maximum(low, 1), low)  # no series: a count of 3 cannot be
    high = np.ceil(np.sqrt(np.maximum(ys, 0) + spread) / SPACING).astype(np.int64) + 1
    length = high - low
    base = np.concatenate([[0], np.cumsum(length + 1)])
    values, slopes = np.empty(base[-1]), np.empty(base[-1])
    most = int((high.max() * SPACING) ** 2)
    window = SPREADS * (1.0 + min(2.5, 1.0 / law.scale))
    reach = int(most + window * math.sqrt(most) + 64 + max(-int(ys.min()), 0)) + int(np.abs(ys).max())
    log_mass = log_integer_mass(law, reach)
    least = log_mass[reach - np.abs(ys)]  # of the likeliest count behind a negative y, 0
    lift = np.where((ys < 0) & (least < LOW), least, 0.0)
    fill(
        ys, low, high, base[:-1], log_mass, lift, reach, int(law.reach(2 * NATS)) + 2, window, values, slopes
    )
    table = _pieces(low, length, base, values, slopes)
    ends(ys, law.scale if law.laplacian else -(law.scale**2), low, high, table.ends)
    _begin(table, values[table.base + 1], log_mass[reach - ys[:, None] + np.arange(3)] - lift[:, None])
    return table


def log_integer_mass(law: NoiseLaw, reach: int) -> Floats:
    """Ln P(noise rounds to k), k = −reach..reach"""
    k = np.arange(-reach, reach + 1)
    return np.asarray(law.log_density(k) if law.discrete else law.log_between(k - 0.5, k + 0.5))


def _begin(table: NoiseTable, first: Floats, log_mass: Floats) -> None:
    """Σ_x c_x μ^x up to the first node: c_x = η(y − x)/x! for x < 3, and c_3 such that it meets `first`."""
    mu, rows = SPACING**2, table.first == 0
    level = first + mu
    with np.errstate(under="ignore"):
        c = np.exp(np.minimum(log_mass - level[:, None], 80.0)) / np.array([1.0, 1.0, 2.0])
    last = np.maximum(1 - c @ mu ** np.arange(3), 0.0) / mu**3
    table.pieces[table.base[rows]] = np.column_stack([c, last])[rows]
    table.ends[rows, 1] = level[rows]


@kernel
def log_sum(first: int, last: int, mu: float, log_mass: Floats, shift: int) -> float:
    """Ln Σ_x Poisson(x; μ)·noise, x from first to last, by logarithms"""
    terms = np.empty(last - first)
    for x in range(first, last):
        terms[x - first] = x * math.log(mu) - mu - math.lgamma(x + 1.0) + log_mass[x + shift]
    top = terms.max()
    return top + math.log(np.exp(terms - top).sum())


@kernel
def rate(mu: float, y: float, noise: float) -> float:
    """Return max over x ≥ 0 of ln Poisson(x; μ) + ln noise(y − x), by Stirling's leading terms.

    `noise` is b of Laplace noise, −σ² of Gaussian, 0 where nothing was shown.
    """
    if noise == 0.0 or mu <= 0.0:
        return 0.0 if noise == 0.0 else min(-y / noise if noise > 0 else 0.5 * y * y / noise, 0.0)
    x = likeliest(mu, y, noise)
    shown = -abs(y - x) / noise if noise > 0.0 else 0.5 * (y - x) * (y - x) / noise
    poisson = x * (math.log(mu) - math.log(x) + 1.0) - mu if x > 0.0 else -mu
    return poisson + shown


@kernel
def likeliest(mu: float, y: float, noise: float) -> float:
    """Return that x; of Gaussian noise it solves ln x + (x − y)/σ² = ln μ.

    Newton's rule on ln x, from above, where it cannot overshoot.
    """
    if noise > 0.0:
        return min(max(y, mu * math.exp(-1.0 / noise)), mu * math.exp(min(1.0 / noise, 700.0)))
    w, variance = math.log(max(mu, y)), -noise
    for _ in range(NEWTON):
        x = math.exp(w)
        step = (w + (x - y) / variance - math.log(mu)) / (1.0 + x / variance)
        w -= step
        if abs(step) < 1e-12:
            break
    return math.exp(w)


@kernel
def noise_left(
    rows: NDArray[np.int32], log_rate: Floats, root_theta: Floats, z: Integers, ends: Floats
) -> tuple[float, int, float]:
    """Σ|e|/b or Σe²/σ² of the noise that the likeliest counts leave, of how many numbers, and the power"""
    total, size, power = 0.0, 0, 1.0
    for c in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            y, noise = ends[rows[c, j], 0], ends[rows[c, j], 3]
            if noise == 0.0:
                continue
            mu = max(math.exp(log_rate[c]) * root_theta[z[c], j] ** 2, TINY)
            e = y - likeliest(mu, y, noise)
            power = 1.0 if noise > 0.0 else 2.0
            total += abs(e) / noise if noise > 0.0 else -e * e / noise
            size += 1
    return total, size, power


@kernel
def ends(ys: Integers, noise: float, low: Integers, high: Integers, out: Floats) -> None:
    """Put y, the noise, and the rate at both ends beside ln f there."""
    for i in range(ys.size):
        out[i, 0], out[i, 3] = ys[i], noise
        out[i, 2] = rate((low[i] * SPACING) ** 2, float(ys[i]), noise)
        out[i, 5] = rate((high[i] * SPACING) ** 2, float(ys[i]), noise)


@kernel
def fill(
    ys: Integers,
    low: Integers,
    high: Integers,
    base: Integers,
    log_mass: Floats,
    lift: Floats,
    reach: int,
    far: int,
    window: float,
    values: Floats,
    slopes: Floats,
) -> None:
    """Ln f at every node, less `lift`, and ∂ ln f/∂μ = f(y−1)/f(y) − 1"""
    top, plain = high.max(), np.exp(log_mass)
    poisson = np.empty(int((top * SPACING) ** 2 + window * (top * SPACING) + 66))
    for node in range(top + 1):
        mu = (node * SPACING) ** 2
        start = max(0, int(mu - window * math.sqrt(mu) - 32))
        stop = min(poisson.size, int(mu + window * math.sqrt(mu) + 64))
        for x in range(start, stop):
            log_p = x * math.log(mu) - mu - math.lgamma(x + 1.0) if mu > 0 else (0.0 if x == 0 else -800.0)
            poisson[x] = math.exp(log_p)
        for i in range(ys.size):
            if low[i] <= node <= high[i]:
                shift = reach - ys[i]
                here, below = 0.0, 0.0
                mass = plain
                if lift[i] < 0.0:  # noise so far below 0 that a double would not hold it
                    mass = np.exp(log_mass - lift[i])
                for x in range(start, stop):
                    here += poisson[x] * mass[x + shift]
                    below += poisson[x] * mass[x + shift + 1]
                at = base[i] + node - low[i]
                if here < SURE and node > 0:  # far from y, or where y is outside of what was summed
                    first, last = max(0, min(start, ys[i] - far)), min(max(stop, ys[i] + far), ys[i] + reach)
                    values[at] = log_sum(first, last, mu, log_mass, shift) - lift[i]
                    ratio = log_sum(first, last, mu, log_mass, shift + 1) - lift[i] - values[at]
                    slopes[at] = math.exp(ratio) - 1.0
                else:
                    values[at] = math.log(max(here, TINY))
                    slopes[at] = below / here - 1.0 if here > TINY else 0.0


def _pieces(
    low: NDArray[np.int64],
    length: NDArray[np.int64],
    base: NDArray[np.int64],
    values: Floats,
    slopes: Floats,
) -> NoiseTable:
    """Hermite's cubic between neighbouring nodes; the last entry of a row is never used."""
    row = np.repeat(np.arange(len(low)), length + 1)
    node = np.arange(base[-1]) - base[row] + low[row]
    in_u = slopes * 2 * node * SPACING * SPACING  # per interval
    f0, f1, d0, d1 = values[:-1], values[1:], in_u[:-1], in_u[1:]
    pieces = np.zeros((base[-1], 4), dtype=np.float32)
    pieces[:-1] = np.stack([f0, d0, 3 * (f1 - f0) - 2 * d0 - d1, 2 * (f0 - f1) + d0 + d1], axis=1)
    a, b = base[:-1], base[1:] - 1
    none = np.zeros(len(low))
    shown = np.stack([none, values[a], none, none, values[b], none], axis=1)
    return NoiseTable(pieces, base[:-1].copy(), low.astype(float), length.astype(float), shown)


@kernel
def begun(mu: float, c: NDArray[np.float32], level: float) -> float:
    """Ln f before the first node"""
    return level + math.log(max(((c[3] * mu + c[2]) * mu + c[1]) * mu + c[0], TINY)) - mu


@kernel
def log_f(
    rows: NDArray[np.int32],
    u: Floats,
    pieces: NDArray[np.float32],
    base: Integers,
    first: Floats,
    length: Floats,
    ends: Floats,
    out: Floats,
) -> float:
    """Ln f(y_row; u²) for many rows and u, and their sum; one by one, handing over the arrays costs more"""
    total = 0.0
    for m in range(rows.size):
        row = rows[m]
        x = u[m] * (1.0 / SPACING) - first[row]
        if 0.0 <= x < length[row]:
            i = int(x)
            t = np.float32(x - i)
            i += base[row]
            value = ((pieces[i, 3] * t + pieces[i, 2]) * t + pieces[i, 1]) * t + pieces[i, 0]
            if x < 1.0 and first[row] == 0.0:
                value = begun(u[m] * u[m], pieces[i], ends[row, 1])
        else:
            e = 0 if x < 0.0 else 3
            value = ends[row, e + 1] + rate(u[m] * u[m], ends[row, 0], ends[row, 3]) - ends[row, e + 2]
        out[m] = value
        total += value
    return total


@kernel
def noisy_scores(
    rows: NDArray[np.int32],
    log_rate: Floats,
    root_theta: Floats,
    power: float,
    pieces: NDArray[np.float32],
    base: Integers,
    first: Floats,
    length: Floats,
    ends: Floats,
    scores: NDArray[np.float32],
) -> None:
    """E_{c,k} = power·Σ_j ln f(y_{c,j}; λ_c θ_{k,j}), less what all states share; root_theta is √θ, (K, ΣK_d)

    The arithmetic of log_f, with all states for one row of the table.
    """
    states, values = root_theta.shape
    roots, total = np.ascontiguousarray(root_theta.T), np.empty(states)
    for c in range(rows.shape[0]):
        root = math.exp(0.5 * log_rate[c])
        total[:] = 0.0
        for j in range(values):
            row = rows[c, j]
            for k in range(states):
                u = root * roots[j, k]
                x = u * (1.0 / SPACING) - first[row]
                if 0.0 <= x < length[row]:
                    i = int(x)
                    t = np.float32(x - i)
                    i += base[row]
                    value = ((pieces[i, 3] * t + pieces[i, 2]) * t + pieces[i, 1]) * t + pieces[i, 0]
                    if x < 1.0 and first[row] == 0.0:
                        value = begun(u * u, pieces[i], ends[row, 1])
                else:
                    e = 0 if x < 0.0 else 3
                    value = ends[row, e + 1] + rate(u * u, ends[row, 0], ends[row, 3]) - ends[row, e + 2]
                total[k] += value
        top = total.max()
        for k in range(states):
            scores[c, k] = power * (total[k] - top)
