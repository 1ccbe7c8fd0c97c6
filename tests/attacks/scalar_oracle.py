"""An oracle for one noisy sum of up to 100 000 clipped records; it shares nothing with the library's reading.

Every θ has its record law on the lattice, level by level, turned so far that its sum lies where noise and
release pull it. Then p(Ŝ | θ) is a plain sum over s: of binomial masses; of the central limit with
Edgeworth's two corrections where they are small; else of the law at roots of unity, sums of records at their
bounds kept apart. A private n is summed over; θ is integrated by trapezoids.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import special, stats
from scipy.fft import irfft, next_fast_len, rfft
from scipy.interpolate import PchipInterpolator

POINTS, ROUGH = 601, 101  # of a sum over s, at most
DEPTH = 45.0  # nats
FEW = 100  # records below which no limit law is tried
SMALL = 0.004  # of Edgeworth's terms κ₃²/n and κ₄/n
LEVELS = 512
NOTHING = 1e100


@dataclass(frozen=True)
class Noise:
    """Log weight of Σ(q − low) = s given Ŝ, up to a constant, and its slope; concave in s."""

    centres: np.ndarray  # (pairs, 1 or 2)
    scale: float
    laplacian: bool

    def log(self, s):
        away = (s - self.centres[:, :1]) / self.scale, (s - self.centres[:, -1:]) / self.scale
        found = sum(-np.abs(a) if self.laplacian else -(a**2) / 2 for a in away)
        return found if self.centres.shape[1] == 2 else found / 2

    def slope(self, s):
        away = (self.centres - s[:, None]) / self.scale
        return (np.sign(away) if self.laplacian else away).sum(axis=1) / self.scale

    def take(self, which):
        return Noise(self.centres[which], self.scale, self.laplacian)


def noise_of(release, n):
    lattice = release.model.lattice
    w = lattice.high - lattice.low
    if release.joint:
        centres = np.stack([np.full(n.size, release.noisy[0]), n * w - release.noisy[1]], axis=1)
    else:
        centres = (release.noisy[0] - n * lattice.low)[:, None]
    return Noise(centres, float(release.scale), release.noise.endswith("laplace"))


# --- one record ------------
def log_mass(model, theta, step=1):
    """Log P(q − low = step·i | θ), (θ, i), cells of `step` levels taken together; both ends as they are."""
    lattice, t = model.lattice, theta[:, None]
    g, w = float(lattice.grid), lattice.high - lattice.low
    i = np.arange(w // step + 1) * step
    if model.name == "beta_geometric":
        log = np.log(t) + i * np.log1p(-t)
        log[:, -1] = w * np.log1p(-theta)
    elif model.name == "gamma_poisson":
        log = stats.poisson.logpmf(i, t)
        above = special.logsumexp(stats.poisson.logpmf(np.arange(w, w + 300), t), axis=1)
        log[:, -1] = np.where(theta < w, above, np.log1p(-stats.poisson.cdf(w - 1, theta)))
    elif model.name == "gamma_exponential":
        left, right = _cells(i, w, step)
        log = -t * g * left + np.log(-np.expm1(-t * g * (right - left)))
        log[:, 0], log[:, -1] = np.log(-np.expm1(-theta * g / 2)), -theta * g * (w - 0.5)
    else:
        left, right = (e * g / float(model.noise) ** 0.5 for e in _cells(i, w, step))
        m = (t - lattice.low * g) / float(model.noise) ** 0.5
        a, b = left - m, right - m
        ends = special.log_ndtr(b[:, 0]), special.log_ndtr(-a[:, -1])
        a, b = np.where(a + b > 0, -b, a), np.where(a + b > 0, -a, b)
        log = special.log_ndtr(b) + np.log1p(-np.exp(special.log_ndtr(a) - special.log_ndtr(b)))
        log[:, 0], log[:, -1] = ends
    return np.nan_to_num(log, nan=-NOTHING, neginf=-NOTHING)


def _cells(i, w, step):
    """Ends of the cells in levels: bounds keep their own, ½ at either side."""
    left, right = i - step / 2, i + step / 2
    left[0], right[0], left[-1], right[-1] = -0.5, 0.5, w - 0.5, w + 0.5
    if i.size > 1:
        left[1], right[-2] = 0.5, w - 0.5
    return left, right


def steps(model, theta):
    """Levels to a cell for each θ: cells that the law is smooth over, where levels are many."""
    w = model.lattice.high - model.lattice.low
    if w <= LEVELS or model.name not in {"gamma_exponential", "normal_mean"}:
        return np.ones(theta.size, dtype=int)
    g = float(model.lattice.grid)
    scale = (
        1 / (theta * g)
        if model.name == "gamma_exponential"
        else np.full(theta.size, float(model.noise) ** 0.5 / g)
    )
    found = 2 ** np.floor(np.log2(np.clip(scale / 32, 1, w / 256))).astype(int)
    while (w % found).any():
        found = np.where(w % found > 0, found // 2, found)
    return found


def turned(log, i, tilt):
    """Log normaliser and masses of the law times e^{tilt·i}."""
    whole = log + tilt[:, None] * i
    scale = special.logsumexp(whole, axis=1)
    return scale, np.exp(whole - scale[:, None])


def matched(log, i, n, noise, close=0.3):
    """Tilts t at which t is the slope of the log noise at n·E_t[q]: the integrand's top. Bisection."""
    most = 2.0 * noise.centres.shape[1] / noise.scale
    if not noise.laplacian:
        most = (np.abs(noise.centres).max() + n.max() * i[-1]) * 2 / noise.scale**2
    low, high = np.full(n.size, -np.arcsinh(most * 1e9)), np.full(n.size, np.arcsinh(most * 1e9))
    at, open_ = np.zeros(n.size), np.arange(n.size)
    for turn in range(70):
        middle = (low[open_] + high[open_]) / 2
        t = np.sinh(middle) / 1e9
        _, mass = turned(log[open_], i, t)
        mean = mass @ i
        spread = np.sqrt(np.maximum(n[open_] * (mass @ i**2 - mean**2), 0))
        up = noise.take(open_).slope(n[open_] * mean) > t
        low[open_], high[open_] = np.where(up, middle, low[open_]), np.where(up, high[open_], middle)
        at[open_] = t
        gap = high[open_] - low[open_]
        shift = spread**2 * gap * np.maximum(np.abs(t), 1e-9)  # how far s moves within what is left
        rough = gap * np.abs(t) * (25 * spread + 8 * i[-1]) > 5  # nats over the law's width
        open_ = open_[(rough | (shift > close * np.maximum(spread, 0.5))) & (gap > 1e-13) | (turn < 8)]
        if not open_.size:
            break
    return at


# --- sums ------------
def window(noise, tilt, low, high):
    """Ends within [low, high] of where the log noise − tilt·s is at most DEPTH below its largest."""

    def value(s):
        return noise.log(s[:, None])[:, 0] - tilt * s

    low, high = low.astype(float), high.astype(float)
    if noise.laplacian:  # at a corner or an end
        tried = np.clip(
            np.concatenate([noise.centres, low[:, None], high[:, None]], axis=1), low[:, None], high[:, None]
        )
        top = tried[np.arange(low.size), np.argmax(noise.log(tried) - tilt[:, None] * tried, axis=1)]
    else:
        top = np.clip(
            noise.centres.mean(axis=1) + tilt * noise.scale**2 * -1 / noise.centres.shape[1], low, high
        )
    best = value(top)
    ends = []
    for far in (low, high):
        inner, outer = top.copy(), far
        for _ in range(60):
            middle = (inner + outer) / 2
            kept = value(middle) > best - DEPTH
            inner, outer = np.where(kept, middle, inner), np.where(kept, outer, middle)
        ends.append(np.where(value(far) > best - DEPTH, far, inner))
    return np.floor(ends[0]), np.ceil(ends[1])


def places(first, last, points=POINTS):
    """Whole numbers s from first to last, all or so many of them, and how many each stands for."""
    s = np.rint(first[:, None] + (last - first)[:, None] * np.linspace(0, 1, points))
    few = (last - first) < points - 1
    s[few] = first[few, None] + np.arange(points)
    weight = np.gradient(s, axis=1)
    weight[few] = s[few] <= last[few, None]
    return s, np.log(np.maximum(weight, 1e-300))


def summed(*terms):
    return special.logsumexp(sum(terms), axis=1)


def log_binomial(release, theta, n, points):
    """p(Ŝ | θ) for pairs (θ, n), records being 0 or 1, or binomial."""
    model, noise = release.model, noise_of(release, n)
    w = model.lattice.high - model.lattice.low
    unit = w if model.name == "beta_bernoulli" else 1
    count = n * (w // unit)
    noise = Noise(noise.centres / unit, noise.scale / unit, noise.laplacian)
    deviation = noise.scale * (2**0.5 if noise.laplacian else 1) / noise.centres.shape[1] ** 0.5
    if unit == 1 or deviation > 0.2:
        return log_of_trials(noise, theta, count, points)
    part = noise.centres.mean(axis=1) % 1  # little noise, and records in parts: on a line, in logs
    below, above = (
        log_of_trials(Noise(noise.centres + by[:, None], noise.scale, noise.laplacian), theta, count, points)
        for by in (-part, 1 - part)
    )
    return (1 - part) * below + part * above


def log_of_trials(noise, theta, count, points):
    log = np.stack([np.log1p(-theta), np.log(theta)], axis=1)
    tilt = matched(log, np.arange(2), count, noise)
    _, mass = turned(log, np.arange(2), tilt)
    spread = np.sqrt(count * mass[:, 0] * mass[:, 1])
    low, high = (np.clip(count * mass[:, 1] + side * (10 * spread + 30), 0, count) for side in (-1, 1))
    s, weight = places(*window(noise, tilt, np.floor(low), np.ceil(high)), points)
    weight = np.where((s < 0) | (s > count[:, None]), -np.inf, weight)
    k, c = np.clip(s, 0, count[:, None]), count[:, None]
    ways = special.gammaln(c + 1) - special.gammaln(k + 1) - special.gammaln(c - k + 1)
    law = ways + special.xlogy(k, theta[:, None]) + special.xlog1py(c - k, -theta[:, None])
    return summed(law, weight, noise.log(k))


def log_sum(release, theta, n, *, exact):
    """p(Ŝ | θ) for pairs (θ, n); unless `exact`, by the limit law whatever it is worth."""
    if release.model.name in {"beta_bernoulli", "beta_binomial"}:
        return log_binomial(release, theta, n, POINTS if exact else ROUGH)
    found, step = np.empty(n.size), steps(release.model, theta)
    found[n == 0] = noise_of(release, n[n == 0]).log(np.zeros((int((n == 0).sum()), 1)))[:, 0]
    for size in np.unique(step):
        rows = np.flatnonzero((step == size) & (n > 0))
        for part in np.array_split(rows, max(1, rows.size // 200)):
            if part.size:
                found[part] = _log_sum(release, theta[part], n[part], int(size), exact)
    return found


def _log_sum(release, theta, n, step, exact):
    noise, w = noise_of(release, n), release.model.lattice.high - release.model.lattice.low
    unique, back = np.unique(theta, return_inverse=True)
    log = log_mass(release.model, unique, step)[back]
    i = np.arange(log.shape[1]) * float(step)
    tilt = matched(log, i, n, noise, 0.3 if exact else 1.0)
    scale, mass = turned(log, i, tilt)
    mean = mass @ i
    away = i - mean[:, None]
    second, third, fourth = ((mass * away**p).sum(axis=1) for p in (2, 3, 4))
    second = np.maximum(second, 1e-60)
    skew, peak = third / second**1.5, fourth / second**2 - 3
    inside = mass[:, 1:-1].sum(axis=1)
    limit = (n >= FEW) & (n * inside > 40) & (np.maximum(skew**2, np.abs(peak)) < SMALL * n)
    spread = np.sqrt(n * second)
    found = np.empty(n.size)
    wide = (n * mean, spread, skew / np.sqrt(n), peak / n)
    if not exact:
        limit[:] = True
        wide = (n * mean, np.maximum(spread, 0.5), np.zeros(n.size), np.zeros(n.size))
    if limit.any():
        found[limit] = _edgeworth(
            noise.take(limit),
            tilt[limit],
            (n * w)[limit],
            *(x[limit] for x in wide),
            POINTS if exact else ROUGH,
        )
    if not limit.all():
        found[~limit] = _transformed(noise.take(~limit), tilt[~limit], mass[~limit], n[~limit], step)
    return found + n * scale


def _edgeworth(noise, tilt, most, centre, spread, skew, peak, points):  # noqa: PLR0917
    low, high = np.clip(centre - 9 * spread - 1, 0, most), np.clip(centre + 9 * spread + 1, 0, most)
    s, weight = places(*window(noise, tilt, np.floor(low), np.ceil(high)), points)
    z = (s - centre[:, None]) / spread[:, None]
    skew, peak = skew[:, None], peak[:, None]
    correction = skew / 6 * (z**3 - 3 * z) + peak / 24 * (z**4 - 6 * z**2 + 3)
    correction = correction + skew**2 / 72 * (z**6 - 15 * z**4 + 45 * z**2 - 15)
    law = (
        -(z**2) / 2
        - np.log(spread[:, None])
        + np.log(np.maximum(1 + correction, 1e-9))
        - np.log(2 * np.pi) / 2
    )
    return summed(law, weight, noise.log(s), -tilt[:, None] * s)


def _coarser(mass):
    """The law on fewer levels: the inner ones shared between the two nearest of the coarse, means kept."""
    size, inner = mass.size - 1, mass[1:-1].sum()
    if inner < 1e-30 or size < 32:
        return mass, 1
    i = np.arange(1, size)
    mean = i @ mass[1:-1] / inner
    deviation = np.sqrt(max(((i - mean) ** 2) @ mass[1:-1] / inner, 0))
    factor = max(1, int(min(deviation / 40, size / 64)))
    while size % factor:
        factor -= 1
    if factor == 1:
        return mass, 1
    coarse = np.zeros(size // factor + 1)
    cell, rest = i // factor, (i % factor) / factor
    np.add.at(coarse, cell, mass[1:-1] * (1 - rest))
    np.add.at(coarse, cell + 1, mass[1:-1] * rest)
    coarse[0] += mass[0]
    coarse[-1] += mass[-1]
    return coarse, factor


def _transformed(noise, tilt, mass, n, step):
    """Log Σ_s of the turned laws of n records at roots of unity, weighed; pair by pair."""
    laws = [_law(row, int(count), step) for row, count in zip(mass, n, strict=True)]
    ends = (np.array([law.ends[side] for law in laws], dtype=float) for side in (0, 1))
    found, (first, last) = np.empty(n.size), window(noise, tilt, *ends)
    for j, law in enumerate(laws):
        if last[j] - first[j] > POINTS * law.unit:
            s = np.arange(first[j] // law.unit, last[j] // law.unit + 1)[None] * law.unit
            weight = np.full(s.shape, np.log(law.unit))
        else:
            s, weight = places(first[[j]], last[[j]])
        found[j] = summed(law.log(s), weight, noise.take([j]).log(s), -tilt[j] * s)[0]
        if law.unit > 1 and _at_ends(mass[j], n[j]):
            found[j] = np.logaddexp(found[j], _at_bounds(noise.take([j]), tilt[j], mass[j], int(n[j]), step))
    return found


@dataclass(frozen=True)
class Law:
    """Masses of n records' sum at multiples of unit, modulo the array's size; smooth where unit > 1."""

    values: np.ndarray
    unit: int
    ends: tuple  # of s

    def log(self, s):
        below, size = np.floor(s / self.unit).astype(np.int64), self.values.size
        share = s / self.unit - below
        value = (1 - share) * self.values[below % size] + share * self.values[(below + 1) % size]
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(value, 0)) - np.log(self.unit)


def _law(mass, n, step):
    """Of n records; where levels are taken together, but for sums of records that are all at bounds."""
    law, factor = _coarser(mass)
    unit, i = step * factor, np.arange(law.size)
    mean, held = law @ i, np.flatnonzero(law > 1e-19 / n * law.max())
    spread, whole = np.sqrt(max(n * (law @ (i - mean) ** 2), 0)), n * (law.size - 1) + 1
    size = next_fast_len(int(min(25 * spread + 8 * (held[-1] - held[0]) + 64, whole)), real=True)
    values = _powered(law, n, size)
    if unit > 1 and _at_ends(mass, n):
        bounds = np.zeros(law.size)
        bounds[0], bounds[-1] = mass[0], mass[-1]
        values = values - _powered(bounds, n, size)
    base = np.floor(n * mean - size / 2) if size < whole else 0
    return Law(values, unit, (max(base, 0) * unit, min(base + size - 1, whole - 1) * unit))


def _at_ends(mass, n):
    """Whether all of n records may well lie at their bounds."""
    return n * np.log(mass[0] + mass[-1] + 1e-300) > -DEPTH


def _powered(law, n, size):
    folded = np.bincount(np.arange(law.size) % size, law, minlength=size)
    with np.errstate(divide="ignore"):
        return irfft(np.exp(n * np.log(rfft(folded))), size)


def _at_bounds(noise, tilt, mass, n, step):
    """Log Σ_k C(n, k) low^{n−k} high^k times the weight of s = k·width."""
    low, high, width = mass[0], mass[-1], (mass.size - 1) * step
    first, last = window(noise, np.array([tilt]), np.zeros(1), np.array([n * width], dtype=float))
    k, weight = places(np.floor(first / width), np.minimum(np.ceil(last / width), n))
    weight = np.where(k <= n, weight, -np.inf)
    k = np.minimum(k, n)
    with np.errstate(divide="ignore"):
        ways = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
        law = ways + special.xlogy(n - k, low) + special.xlogy(k, high)
    return summed(law, weight, noise.log(k * width), -tilt * k * width)[0]


# --- a private n ------------
def log_any_size(release, theta, *, exact):
    """Log Σ_n p(Ŝ | θ, n), n flat on 0, 1, 2, …; nodes are laid for each θ."""
    w = release.model.lattice.high - release.model.lattice.low
    guess, pace = max(sum(release.noisy) / w, 0.0), max(float(release.scale) / w, 0.3)
    far = np.sinh(np.linspace(-7, 7, 25)) * pace
    tried = np.concatenate([guess + far, np.geomspace(1, guess + 2, 9)])
    n = np.tile(np.unique(np.rint(np.maximum(np.append(tried, 0), 0))), (theta.size, 1))
    for depth, count in ((45, 25), (22, 33)):
        y = log_sum(release, np.repeat(theta, n.shape[1]), n.ravel(), exact=False).reshape(n.shape)
        n = np.stack([_again(*row, depth, count if exact else 25) for row in zip(n, y, strict=True)])
    y = log_sum(release, np.repeat(theta, n.shape[1]), n.ravel(), exact=exact).reshape(n.shape)
    return np.array([_total(*row) for row in zip(n, y, strict=True)])


def _again(n, y, depth, count):
    kept = np.flatnonzero(y > y.max() - depth)
    a, b = n[max(kept[0] - 1, 0)], n[min(kept[-1] + 1, n.size - 1)]
    best = n[np.argmax(y)]
    t = np.linspace(-1, 1, count)
    spaced = np.where(t < 0, best + (best - a) * t * np.abs(t), best + (b - best) * t * np.abs(t))
    return np.sort(a + np.arange(count) if b - a < count else np.rint(spaced))


def _total(n, y):
    places_, first = np.unique(n, return_index=True)
    y = y[first]
    if places_.size == places_[-1] - places_[0] + 1:
        return special.logsumexp(y)
    fine = np.unique(np.rint(np.linspace(places_[0], places_[-1], 20001)))
    return special.logsumexp(PchipInterpolator(places_, y)(fine) + np.log(np.gradient(fine)))


# --- the posterior ------------
class Oracle:
    """Trapezoids in x: logit, logarithm or θ itself, about where prior and limit law say that the mass is."""

    @np.errstate(all="ignore")
    def __init__(self, release, points=41):
        self.release, self.model = release, release.model
        points = points if release.n is not None else points // 2
        x = self._first()[:: 1 if release.n is not None else 2]
        y = self._log(x, exact=False)
        for _ in range(9):
            x, y = self._refined(self._nearer(x, y, 31, 30), exact=False)
            kept = np.flatnonzero(y > y.max() - 30)
            near = x[min(kept[-1] + 1, x.size - 1)] - x[max(kept[0] - 1, 0)] < 1.5 * (
                x[kept[-1]] - x[kept[0]]
            )
            if near and kept.size > 12 and np.abs(np.diff(y[kept])).max() < 4:
                break
        for _ in range(4):
            x, y = self._refined(self._nearer(x, y, points, 18), exact=True)
            inner = y > y.max() - 16
            if not (inner[0] or inner[-1]):
                break
        top = y.max()
        self.settled = bool(np.abs(np.diff(y[y > top - 8])).max(initial=0) < 2.5)
        curve = PchipInterpolator(x, np.maximum(y, top - 80))
        self.x = np.unique(np.concatenate([np.linspace(a, b, 33) for a, b in pairwise(x)]))
        density = np.exp(curve(self.x) - top)
        below = np.append(0, np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(self.x)))
        self.below = below / below[-1]
        mass = np.append(np.diff(self.below), 0) + np.append(0, np.diff(self.below))
        mass /= mass.sum()
        theta = self.theta(self.x)
        self.mean = mass @ theta
        self.deviation = (mass @ (theta - self.mean) ** 2) ** 0.5

    def _log(self, x, *, exact):
        theta = self.theta(x)
        if self.release.n is None:
            found = log_any_size(self.release, theta, exact=exact)
        else:
            found = log_sum(self.release, theta, np.full(theta.size, float(self.release.n)), exact=exact)
        return np.nan_to_num(found + self._log_prior(x), nan=-NOTHING, neginf=-NOTHING)

    def _first(self):
        m = self.model
        if m.name == "normal_mean":
            mode, dev, reach = m.mean(), m.variance() ** 0.5, 12 * float(m.noise) ** 0.5
            ends = min(mode - 12 * dev, float(m.lower) - reach), max(mode + 12 * dev, float(m.upper) + reach)
            return np.unique(
                np.concatenate(
                    [
                        np.linspace(*ends, 81),
                        mode + dev * np.linspace(-8, 8, 41),
                        np.linspace(float(m.lower), float(m.upper), 41),
                    ]
                )
            )
        a, b = (float(v) for v in ((m.alpha, m.beta) if "beta" in m.name else (m.shape, m.rate)))
        mode, dev = np.log(a / b), (1 / a + (1 / b if "beta" in m.name else 0)) ** 0.5
        ends = min(mode - 40 / a - 12 * dev, -60), max(mode + 40 / b + 12 * dev, 60)
        ends = ends if "beta" in m.name else (ends[0], max(mode + 60, 60))
        x = np.concatenate(
            [np.linspace(*ends, 61), mode + dev * np.linspace(-10, 10, 41), np.linspace(-50, 50, 101)]
        )
        return np.unique(x[(x >= ends[0]) & (x <= ends[1])])

    def _nearer(self, x, y, count, depth):
        kept = np.flatnonzero(y > y.max() - depth)
        a, b = max(kept[0] - 1, 0), min(kept[-1] + 1, x.size - 1)
        density = np.exp(y - y.max())
        below = np.append(0, np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(x)))
        spread = np.interp(np.linspace(0, 1, count // 3), below / below[-1], x)
        inward = 3.0 ** -np.arange(8)
        edges = x[kept[0]] - (x[kept[0]] - x[a]) * inward, x[kept[-1]] + (x[b] - x[kept[-1]]) * inward
        return np.unique(np.concatenate([np.linspace(x[a], x[b], count), spread, *edges]))

    def _refined(self, x, *, exact):
        """Middles beside nodes that the line through their neighbours misses, as far as it matters."""
        y = self._log(x, exact=exact)
        for _ in range(5 if exact else 2):
            share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
            line = y[:-2] + share * (y[2:] - y[:-2])
            miss = np.abs(np.append(np.append(0, y[1:-1] - line), 0)) * np.exp(
                np.maximum(y - y.max(), -60) / 3
            )
            wanted = np.maximum(miss[1:], miss[:-1]) > (0.05 if exact else 0.5)
            wanted &= np.diff(x) > 1e-12 * np.abs(x[1:])
            more = (x[1:] + x[:-1])[wanted] / 2
            if not more.size or more.size > 200:
                break
            found = np.append(y, self._log(more, exact=exact))
            order = np.argsort(np.append(x, more))
            x, y = np.append(x, more)[order], found[order]
        return x, y

    def theta(self, x):
        if self.model.name == "normal_mean":
            return x
        theta = special.expit(x) if "beta" in self.model.name else np.exp(np.minimum(x, 650))
        return np.clip(theta, 1e-300, 1 - 2.0**-53 if "beta" in self.model.name else None)

    def _log_prior(self, x):
        m = self.model
        if m.name == "normal_mean":
            return stats.norm.logpdf(x, m.mean(), m.variance() ** 0.5)
        if "beta" in m.name:
            return -float(m.alpha) * np.logaddexp(0, -x) - float(m.beta) * np.logaddexp(0, x)
        return float(m.shape) * x - float(m.rate) * np.exp(np.minimum(x, 650))

    def quantile(self, p):
        return self.theta(np.interp(p, self.below, self.x))
