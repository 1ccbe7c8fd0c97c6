"""The law of one record as it passes the door: clipped to public bounds, rounded to the public lattice.

So clamping is part of the likelihood of a released sum, and is not ignored. Each law is known by its
generating function, tilted as far as a release asks for, and exact in both tails.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final

import numpy as np
from scipy.special import gammainc, gammaln, log_ndtr, logsumexp, wofz

from discreet.catalogue import ROWS
from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.beta_binomial import BetaBinomial
from discreet.families.beta_geometric import BetaGeometric
from discreet.families.family import Family, Floats
from discreet.families.gamma_exponential import GammaExponential
from discreet.families.gamma_poisson import GammaPoisson
from discreet.families.normal_mean import NormalMean
from discreet.families.records import ScalarFamily
from discreet.posteriors.scalar.weights import ELEMENTS, Complexes, log_geometric, log_levels, log_sum
from discreet.privacy.guarantee import NotProved

MANY = 2.0**16  # levels up to which a law without a form of its own is added up
FEW = 64  # events up to which the logarithm of a factorial loses nothing
FAR = 9.5  # deviations that hold all but 2e-21 of a normal law
FINE = 24.0  # levels to a deviation from which a sum over cells is an integral, to 1e-7 of a deviation
STEEP = 20.0  # a tilt by e^{20} a level leaves nothing but an end
STEEPEST = 600.0  # a density that falls by e^{600} a level is 0 beyond the first


@dataclass(frozen=True)
class RecordLaw(ABC):
    """q ∈ {low, …, high} given θ; `copies` of it make one record, `unit` integers of S make one of q."""

    low: int
    high: int
    copies: int = 1
    unit: int = 1

    @property
    def width(self) -> int:
        return self.high - self.low

    @abstractmethod
    def log_mgf(self, z: Complexes, theta: Floats) -> Complexes:
        """Log E exp(z(q − low)), rows of z for every θ, one real part a row."""

    @abstractmethod
    def ends(self, theta: Floats) -> tuple[Floats, Floats]:
        """Log P(q = low | θ) and log P(q = high | θ)."""

    def mean(self, theta: Floats) -> Floats:
        """E(q − low), by a derivative along the imaginary axis that loses nothing to rounding."""
        step = 1e-9 / self.width
        return np.asarray(self.log_mgf(np.full((theta.size, 1), 1j * step), theta)[:, 0].imag / step)


@final
class Trial(RecordLaw):
    """0 or 1, with probability θ."""

    def log_mgf(self, z: Complexes, theta: Floats) -> Complexes:
        low, high = self.ends(theta[:, None])
        return log_sum(low + 0 * z, high + z)

    def ends(self, theta: Floats) -> tuple[Floats, Floats]:
        return np.log1p(-theta), np.log(theta)


@final
class Failures(RecordLaw):
    """Geometric: P(q = i) = θ(1−θ)^i, P(q ≥ i) = (1−θ)^i."""

    def log_mgf(self, z: Complexes, theta: Floats) -> Complexes:
        low, high = self.ends(theta[:, None])
        return log_sum(low + log_geometric(np.log1p(-theta[:, None]) + z, self.width), high + self.width * z)

    def ends(self, theta: Floats) -> tuple[Floats, Floats]:
        return np.log(theta), self.width * np.log1p(-theta)


@final
class Events(RecordLaw):
    """Poisson; tilted by z it is Poisson with rate θe^z."""

    def log_mgf(self, z: Complexes, theta: Floats) -> Complexes:
        with np.errstate(divide="ignore"):
            rate = np.exp(np.minimum(np.log(theta) + z[:, 0].real, 700))
        most = np.maximum(rate, theta)
        free = (
            most + FAR * np.sqrt(most) + 45 <= self.width - 1
        )  # nothing is clipped, with the tilt or without
        found = np.empty(z.shape, dtype=np.complex128)
        found[free] = _grown(theta[free, None], z[free])
        rest = np.flatnonzero(~free)
        each = max(1, int(ELEMENTS / (self.width**0.5 + 1)))  # levels of rows in memory at once
        for rows in (rest[i : i + each] for i in range(0, rest.size, each)):
            found[rows] = self._level_by_level(z[rows], theta[rows], rate[rows])
        return found

    def _level_by_level(self, z: Complexes, theta: Floats, rate: Floats) -> Complexes:
        centre = np.minimum(rate, self.width - 1)
        first = np.floor(np.maximum(centre - FAR * np.sqrt(centre) - 8, 0))
        last = np.ceil(np.minimum(centre + FAR * np.sqrt(centre) + 45, self.width - 1))
        levels = first[:, None] + np.arange(int((last - first).max()) + 1, dtype=np.float64)
        mass = log_poisson(levels, theta[:, None])
        mass[levels > self.width - 1] = -np.inf
        high = self.ends(theta)[1][:, None]
        return log_sum(log_levels(mass, first, z), high + self.width * z)

    def ends(self, theta: Floats) -> tuple[Floats, Floats]:
        w = self.width
        above = gammainc(w, theta)
        last = w * np.log(theta) - theta - gammaln(w + 1)  # where that underflows, P(q = w) and a series
        rare = last - np.log1p(-np.minimum(theta / (w + 1), 0.5))
        return -theta, np.where(above > 1e-290, np.log(np.maximum(above, 1e-300)), rare)


def _grown(theta: Floats, z: Complexes) -> Complexes:
    """θ(e^z − 1), also where θ is so small, and z so large, that e^z alone has no double."""
    large = z.real > 1
    near = np.expm1(np.where(large, 0, z))
    return np.asarray(np.where(large, np.exp(np.log(theta) + np.where(large, z, 0)) - theta, theta * near))


def log_poisson(k: Floats, theta: Floats) -> Floats:
    """Log of Poisson's P(k | θ), as −k(x − ln(1+x)) − ½ ln 2πk − Stirling's error, x = θ/k − 1 [Loader 2000].

    k ln θ − θ − ln k! would lose what two numbers of size k ln k have in common: at 10⁹, seven digits.
    """
    many = np.maximum(k, FEW)
    x = (theta - many) / many
    log = np.where(np.abs(x) < 0.5, np.log1p(np.maximum(x, -0.5)), np.log(theta) - np.log(many))
    error = (1 / 12 - (1 / 360 - 1 / (1260 * many**2)) / many**2) / many
    large = -many * (x - log) - np.log(2 * np.pi * many) / 2 - error
    return np.asarray(np.where(k < FEW, k * np.log(theta) - theta - gammaln(k + 1), large))


@final
@dataclass(frozen=True)
class Wait(RecordLaw):
    """Exponential with rate θ, rounded to the grid: P(q ≥ i) = exp(−θ(i−½)g)."""

    grid: float = 1.0

    def log_mgf(self, z: Complexes, theta: Floats) -> Complexes:
        rate = theta[:, None] * self.grid
        low, high = self.ends(theta[:, None])
        inner = np.log(-np.expm1(-rate)) - rate / 2 + z + log_geometric(z - rate, self.width - 1)
        return log_sum(low + 0 * z, inner, high + self.width * z)

    def ends(self, theta: Floats) -> tuple[Floats, Floats]:
        rate = theta * self.grid
        return np.log(-np.expm1(-rate / 2)), -rate * (self.width - 0.5)


@final
@dataclass(frozen=True)
class Measurement(RecordLaw):
    """N(θ, σ²), rounded to the grid: P(q ≤ i) = Φ(((i+½)g − θ)/σ)."""

    grid: float = 1.0
    sigma: float = 1.0

    def log_mgf(self, z: Complexes, theta: Floats) -> Complexes:
        low, high = self.ends(theta)
        parts = [low[:, None] + 0 * z, high[:, None] + self.width * z]
        if self.width > 1:
            inner = self._smooth if self._deviation >= FINE else self._levels
            parts.append(inner(z, self._centre(theta)))
        return log_sum(*parts)

    def ends(self, theta: Floats) -> tuple[Floats, Floats]:
        m, s = self._centre(theta), self._deviation
        return log_ndtr((0.5 - m) / s), log_ndtr((m - (self.width - 0.5)) / s)

    @property
    def _deviation(self) -> float:
        return self.sigma / self.grid

    def _centre(self, theta: Floats) -> Floats:
        return theta / self.grid - self.low

    def _levels(self, z: Complexes, m: Floats) -> Complexes:
        """Σ over the levels between the ends that a tilt by Re z leaves."""
        s = self._deviation
        centre = np.clip(m + s**2 * z[:, 0].real, 1, self.width - 1)
        first = np.floor(np.maximum(centre - FAR * s, 1))
        size = int(np.ceil(2 * FAR * s)) + 2
        levels = first[:, None] + np.arange(min(size, self.width - 1))
        mass = _log_between((levels - 0.5 - m[:, None]) / s, (levels + 0.5 - m[:, None]) / s)
        mass[levels > self.width - 1] = -np.inf
        return log_levels(mass, first, z)

    def _smooth(self, z: Complexes, m: Floats) -> Complexes:
        """∫ e^{zy} f(y) dy between the ends, and what the lattice adds there.

        Σ_i e^{zi} ∫_{i−½}^{i+½} f = S(z)·∫ e^{zy} f dy + [Q(z, λ) e^{zy} f] with λ = f'/f at an end, S and Q
        as `_at_end` has them: exact where f is an exponential about the ends, and far off it is one.
        """
        s, m = self._deviation, m[:, None]
        steep = np.abs(z[:, :1].real) > STEEP
        y = np.where(steep, 1j * z.imag + STEEP * np.sign(z.real), z)
        centre = m + s**2 * y[:, :1].real
        edges = (0.5, self.width - 0.5)
        inside = (edges[0] < centre) & (centre <= edges[1])  # as the tails below have it
        whole = np.where(inside, m * y + s**2 * y**2 / 2, -np.inf)
        powers = [y * e - ((e - m) / s) ** 2 / 2 - np.log(s * np.sqrt(2 * np.pi)) for e in edges]
        top = np.max([np.broadcast_to(p.real, y.shape) for p in (whole, *powers)], axis=0)
        ratio = _cell(y)
        total = (
            np.where(inside, np.exp(np.where(inside, whole, 0.0) - np.where(inside, top, 0.0)), 0.0) * ratio
        )
        for e, power, side in zip(edges, powers, (1, -1), strict=True):
            u = (e - centre) / s - 1j * s * y.imag
            right = u.real >= 0
            tail = s * np.sqrt(np.pi / 2) * wofz(1j * np.where(right, u, -u) / np.sqrt(2))
            bend = _at_end(y, np.clip((m - e) / s**2, -STEEPEST, STEEPEST))
            total += np.exp(power - top) * (np.where(right, side, -side) * tail * ratio - side * bend)
        with np.errstate(divide="ignore"):
            found = top + np.log(total)
        return np.asarray(np.where(steep, -np.inf, found))


def _cell(z: Complexes) -> Complexes:
    """S(z) = sinh ½z/½z, by series where z is small."""
    small = np.abs(z) < 1e-2
    large = 2 * np.sinh(z / 2) / np.where(small, 1.0, z)
    return np.asarray(np.where(small, 1 + z**2 / 24 + z**4 / 1920, large))


def _at_end(z: Complexes, slope: Floats) -> Complexes:
    """Q(z, λ) = (S(λ)/S(a) − S(z))/a, a = z + λ; by series where a is small.

    e^{z·round(y)} = e^{zy}·Σ_k c_k e^{2πiky} with c_k = (−1)^k·2 sinh ½z/(z + 2πik), so that an end adds
    Σ_{k≠0} 2 sinh ½z/((z + 2πik)(a + 2πik)) [Mittag-Leffler's series of coth].
    """
    a, level = z + slope, _cell(slope.astype(np.complex128))
    near, gentle = np.abs(a) < 1e-3, np.abs(slope) < 1e-2
    safe = np.where(gentle, 1.0, slope)
    first = np.where(gentle, slope / 12 + slope**3 / 480, (np.cosh(slope / 2) - level) / safe)
    second = np.where(gentle, 1 / 12 + slope**2 / 160, level / 4 - 2 * first / safe)
    series = first - a * (level / 24 + second / 2)
    return np.asarray(np.where(near, series, (level / _cell(a) - _cell(z)) / np.where(near, 1.0, a)))


def _log_between(a: Floats, b: Floats) -> Floats:
    """Log(Φ(b) − Φ(a)) for a < b, from the side on which both are small."""
    a, b = np.where(a + b > 0, -b, a), np.where(a + b > 0, -a, b)
    below, above = log_ndtr(a), log_ndtr(b)
    return np.asarray(above + np.log(-np.expm1(np.minimum(below - above, -1e-300))))


@final
@dataclass(frozen=True)
class Levels(RecordLaw):
    """Any law of whole numbers, level by level as the family's likelihood has it, all beyond at the top.

    The top has what the levels leave of 1 or, where that is less than rounding shows, the sum of twice as
    many levels beyond it: of a log-concave law nothing that matters is left out.
    """

    log_likelihood: Callable[[Floats, Floats], Floats] = field(kw_only=True)

    def log_mgf(self, z: Complexes, theta: Floats) -> Complexes:
        mass, top = self._masses(theta)
        return log_sum(log_levels(mass, np.zeros(theta.size), z), top[:, None] + self.width * z)

    def ends(self, theta: Floats) -> tuple[Floats, Floats]:
        mass, top = self._masses(np.ravel(theta))
        return mass[:, 0].reshape(theta.shape), top.reshape(theta.shape)

    def _masses(self, theta: Floats) -> tuple[Floats, Floats]:
        """Log P(q = low + i) of the levels below the top, and log P(q = high)."""
        levels = np.arange(self.low, self.high + 2 * self.width + 64, dtype=np.float64)
        mass = self.log_likelihood(levels, theta[:, None])
        mass, beyond = mass[:, : self.width], logsumexp(mass[:, self.width :], axis=1)
        rest = -np.expm1(np.minimum(logsumexp(mass, axis=1), 0.0))
        return mass, np.where(rest > 1e-3, np.log(np.maximum(rest, 1e-3)), beyond)


def record_law(model: Family) -> RecordLaw:
    """Return the law of one record, as it passes the door: the family's own, or that of its levels."""
    row = ROWS.get(model.name)
    own: Callable[[Family], RecordLaw] | None = None if row is None else row.load("record_law")
    if own is not None:
        return own(model)
    if isinstance(model, ScalarFamily) and model.lattice.integral and model.lattice.high <= MANY:
        return Levels(model.lattice.low, model.lattice.high, log_likelihood=model.log_likelihood)
    raise NotProved(f"no law of a clipped record is known for {type(model).__name__}")


def trial_of_unit(model: BetaBernoulli) -> RecordLaw:
    """On a grid finer than 1 records are put at 0 or 1, the widest law with mean θ: x has none."""
    return Trial(0, 1, unit=model.lattice.high)


def trials(model: BetaBinomial) -> RecordLaw:
    return Trial(0, 1, copies=model.trials)


def failures(model: BetaGeometric) -> RecordLaw:
    return Failures(0, model.lattice.high)


def events(model: GammaPoisson) -> RecordLaw:
    return Events(0, model.lattice.high)


def wait(model: GammaExponential) -> RecordLaw:
    return Wait(0, model.lattice.high, grid=float(model.lattice.grid))


def measurement(model: NormalMean) -> RecordLaw:
    lattice, sigma = model.lattice, float(model.noise) ** 0.5
    return Measurement(lattice.low, lattice.high, grid=float(lattice.grid), sigma=sigma)
