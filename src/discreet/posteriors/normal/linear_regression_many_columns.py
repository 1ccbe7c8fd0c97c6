"""Regression from noisy XᵀX, Xᵀy, yᵀy with many columns: errors in variables, normal, no law of single rows.

Given the design, Xᵀy = Gw + ξ, ξ ~ N(0, σ²G), and yᵀy ≈ wᵀGw + 2wᵀξ + N(nσ², 2nσ⁴): their means are linear in
G = XᵀX, which is seen through noise too. With a normal prior on its entries G is integrated out in closed
form, and (w, σ²) has a density that is known; swarms draw from it.

Left out: Laplace noise is taken for normal noise of its variance, clipped rows for unclipped ones, and that G
is semidefinite is told only to the variance of ξ, where Ĝ is shrunk and projected.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from discreet.families.family import Floats
from discreet.families.laws.matrices import nearest_semidefinite, unpack
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.posteriors.cautions import FEWEST, TAIL, cautions, judged, misfit
from discreet.posteriors.normal.latent_model import Observed
from discreet.posteriors.normal.linear_regression_moments import clipped
from discreet.posteriors.normal.moments import near
from discreet.posteriors.normal.sampled import SampledPosterior
from discreet.posteriors.normal.tempered_swarm import LAST, settle
from discreet.posteriors.posterior import Diagnostics
from discreet.sampling.source import Source

Known = tuple[Floats, Floats, float, float]  # m, P, a, b


METHOD = "errors in variables, normal; clipped rows not modelled, XᵀX made semidefinite where a variance"
SWARMS, SIZE = 2, 1000
LONGER = 8  # times as many moves at the end, where swarms have not met
EXTRA = 3  # ln g, ln λ of the diagonal, ln λ beside it
APART = float(np.log(0.5))  # a guess of ln λ, right within a factor e


@final
@dataclass(frozen=True, eq=False)
class Given:
    """Noisy moments in natural units: Ĝ, Xᵀy, yᵀy; τ², the variance of each one's noise; n or n̂."""

    prior: BayesianLinearRegression
    design: Floats
    mixed: Floats
    square: float
    noise: float  # τ²
    n: float
    unsure: float = 0.0  # deviation of n̂; 0 where n is public

    @classmethod
    def of(cls, observed: Observed, prior: BayesianLinearRegression) -> Given:
        unit = float(prior.grid) ** 2
        moments, noise = unpack(observed.noisy) * unit, observed.variance * unit**2
        n, unsure = float(max(1, observed.about)), 0.0
        if observed.n is None:
            n, unsure = observed.count / observed.count_unit, observed.variance**0.5 / observed.count_unit
        return cls(prior, moments[:-1, :-1], moments[:-1, -1], float(moments[-1, -1]), noise, n, unsure)

    # ── the public prior: x = (w, ln σ², ln g, ln λ, ln λ', and ln n where it is private) ──
    @cached_property
    def guess(self) -> float:
        """Of ln g: a quarter of the ball's square, shared among the columns, as `Design` has it."""
        return float(np.log(float(self.prior.radius) ** 2 / (4 * (len(self.mixed) + 1))))

    def imagine(self, size: int, rng: np.random.Generator, known: Known | None = None) -> Floats:
        """Draws of the prior, or of another law `known` of (w, σ²)."""
        m, P, a, b = known or self.prior._parameters  # noqa: SLF001 - doubles of the public fields
        log_variance = np.log(b / rng.gamma(a, size=size))
        deviation = np.exp(log_variance / 2)[:, None]
        w = m + deviation * np.linalg.solve(np.linalg.cholesky(P).T, rng.standard_normal((m.size, size))).T
        extra = rng.normal([self.guess, APART, APART], 1.0, (size, EXTRA))
        x = np.column_stack([w, log_variance, extra])
        if not self.unsure:
            return x
        beyond = ndtri_exp(np.log1p(-rng.random(size)) + log_ndtr(self.n / self.unsure))  # n > 0
        return np.column_stack([x, np.log(np.maximum(self.n - self.unsure * beyond, 1e-9))])

    def log_prior(self, x: Floats, known: Known | None = None) -> Floats:
        """NIG for (w, σ²); ln g and ln λ normal, of deviation 1; n flat above 0, given n̂."""
        m, P, a, b = known or self.prior._parameters  # noqa: SLF001
        d = m.size
        gap, log_variance, extra = x[:, :d] - m, x[:, d], x[:, d + 1 : d + 1 + EXTRA]
        total = -(a + d / 2) * log_variance - (b + np.sum(gap @ P * gap, axis=1) / 2) * np.exp(-log_variance)
        total -= 0.5 * np.sum((extra - [self.guess, APART, APART]) ** 2, axis=1)
        if self.unsure:
            total += x[:, -1] - 0.5 * ((np.exp(x[:, -1]) - self.n) / self.unsure) ** 2
        return np.asarray(total)

    # ── the likelihood ──
    @cached_property
    def semidefinite(self) -> Floats:
        return shrunk(self.design, self.noise)

    def log_likelihood(self, x: Floats) -> Floats:
        return self.fits(x)[0]

    def fits(self, x: Floats) -> tuple[Floats, Floats]:
        """Log p(Ĝ | g, λ) + log p(Xᵀy, yᵀy | Ĝ, w, σ², g, λ), both normal; and (Xᵀy, yᵀy) in deviations.

        Entries of G are N(ngI, (ngλ)²): E[G|Ĝ] = ngI + κ∘(Ĝ − ngI), variances κτ², κ = (ngλ)²/((ngλ)² + τ²).
        """
        d, t, diagonal = len(self.mixed), self.noise, np.diag(self.design)
        hollow = self.design - np.diag(diagonal)
        w, variance, extra = x[:, :d], np.exp(x[:, d]), np.exp(x[:, d + 1 :])
        n = extra[:, EXTRA] if self.unsure else np.full(len(x), self.n)
        g = n * extra[:, 0]
        own, beside = (g * extra[:, 1]) ** 2, (g * extra[:, 2]) ** 2
        apart = diagonal - g[:, None]
        seen = np.sum(apart**2, axis=1) / (own + t) + d * np.log(own + t)
        seen += np.sum(hollow**2) / 2 / (beside + t) + d * (d - 1) / 2 * np.log(beside + t)
        kept, also = own / (own + t), beside / (beside + t)
        middle = (g[:, None] + kept[:, None] * apart) * w + also[:, None] * (w @ hollow)
        left = _spread(w, kept * t, also * t)
        z, log_size = _whitened(*self._answers(w, variance, n, middle, left))
        return np.asarray(-0.5 * np.sum(z**2, axis=1) - log_size - 0.5 * seen), z

    def _answers(
        self, w: Floats, variance: Floats, n: Floats, middle: Floats, left: Floats
    ) -> tuple[Floats, Floats]:
        """(Xᵀy, yᵀy) less its mean, Gw and wᵀGw + nσ²; and its covariance, `left` what is left of Var Gw."""
        d, t = len(self.mixed), self.noise
        pulled, turned = w @ self.semidefinite, np.matmul(left, w[..., None])[..., 0]
        C = np.empty((len(w), d + 1, d + 1))
        C[:, :d, :d] = left + variance[:, None, None] * self.semidefinite
        C[:, :d, d] = C[:, d, :d] = turned + 2 * variance[:, None] * pulled
        C[:, d, d] = np.sum((turned + 4 * variance[:, None] * pulled) * w, axis=1) + 2 * n * variance**2
        i = range(d + 1)
        C[:, i, i] = (C[:, i, i] + t) * (1 + 1e-11)  # factors also where σ²G dwarfs the noise
        square = self.square - np.sum(middle * w, axis=1) - n * variance
        return np.column_stack([self.mixed - middle, square]), C


@final
@dataclass(frozen=True, eq=False)
class Eased:
    """The same posterior, reached from the prior and some rows' worth of the release: a prior may be vague.

    As many rows as tell about as much as the noise lets through, at most n.
    """

    given: Given

    @cached_property
    def start(self) -> Known:
        given, (m, P, a, b) = self.given, self.given.prior._parameters  # noqa: SLF001
        d, n = m.size, max(given.n, 1.0)
        moments = np.block([[given.design, given.mixed[:, None]], [given.mixed, np.array([given.square])]])
        root, narrow = near(moments, given.noise**0.5, n * float(given.prior.radius) ** 2)
        k = min(max(d + 3.0, narrow**-2), max(n, d + 3.0))
        L, answers = root[:d, :d], root[d, :d]
        precision = P + k / n * L @ L.T
        location = np.asarray(np.linalg.solve(precision, P @ m + k / n * L @ answers), dtype=np.float64)
        return location, precision, a + k / 2, b + float(k / n * root[d, d] ** 2 / 2)

    def imagine(self, size: int, rng: np.random.Generator) -> Floats:
        return self.given.imagine(size, rng, self.start)

    def log_prior(self, x: Floats) -> Floats:
        return self.given.log_prior(x, self.start)

    def log_likelihood(self, x: Floats) -> Floats:
        given = self.given
        return given.log_likelihood(x) + given.log_prior(x) - given.log_prior(x, self.start)


def _spread(w: Floats, own: Floats, beside: Floats) -> Floats:
    """Var Nw for a symmetric N of independent entries, variance `own` on the diagonal, `beside` off it."""
    out = beside[:, None, None] * w[:, :, None] * w[:, None, :]
    square, i = w**2, range(w.shape[1])
    out[:, i, i] = beside[:, None] * (square.sum(axis=1, keepdims=True) - square) + own[:, None] * square
    return np.asarray(out)


def _whitened(x: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """C⁻¹x and ln |C|, CCᵀ the covariance; ∞ where it is too far out to be factored."""
    good = np.isfinite(covariance).all(axis=(1, 2)) & np.isfinite(x).all(axis=1)
    z, log_size = np.full(x.shape, np.inf), np.zeros(len(x))
    root = np.linalg.cholesky(covariance[good])
    z[good] = np.linalg.solve(root, x[good][..., None])[..., 0]
    log_size[good] = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    return z, log_size


def shrunk(matrix: Floats, noise: float) -> Floats:
    """E[G | Ĝ] = gI + κ(Ĝ − gI), g = tr Ĝ/d, κ = 1 − noise/size of what differs, then semidefinite [LW04]."""
    d = len(matrix)
    middle = max(0.0, np.trace(matrix) / d) * np.eye(d)
    apart = matrix - middle
    kept = max(0.0, 1 - noise * (d**2 - 1) / np.sum(apart**2)) if d > 1 else 1.0
    return nearest_semidefinite(middle + kept * apart, np.inf)


def read_normal(
    prior: BayesianLinearRegression,
    observed: Observed,
    source: Source,
    *,
    swarms: int = SWARMS,
    size: int = SIZE,
) -> SampledPosterior:
    """Draws of (w, σ²), and of n where it is private; R-hat compares the swarms."""
    given, d = Given.of(observed, prior), prior.dimension
    rng = np.random.default_rng(source.words(4).tolist())
    for last in (LAST, LONGER * LAST):
        x = np.stack([settle(Eased(given), size, rng, last=last) for _ in range(swarms)])
        if swarms == 1 or judged(x)[1] > 4 * FEWEST:
            break
    flat = x.reshape(-1, x.shape[-1])
    theta = np.concatenate([x[..., :d], np.exp(x[..., d : d + 1])], axis=-1)
    count = np.rint(np.exp(x[..., -1])).astype(np.int64) if given.unsure else None
    level, z = given.fits(flat)
    apart = misfit(z, 2.0) / (TAIL if observed.power == 1 else 1.0)
    level = level + given.log_prior(flat)
    held = [x, level.reshape(*x.shape[:-1], 1)]
    how = Diagnostics(METHOD, swarms, size, *judged(np.concatenate(held, axis=-1)))
    finite = bool(np.isfinite(theta).all())
    said = cautions(how, apart=apart, finite=finite, more=(clipped(prior, beyond(prior, flat, rng)),))
    return SampledPosterior(prior, theta, count, how, said)


def beyond(prior: BayesianLinearRegression, x: Floats, rng: np.random.Generator) -> float:
    """Share of rows beyond the radius, one imagined for every draw, x ~ N(0, gI)."""
    d = prior.dimension
    rows = rng.standard_normal((len(x), d)) * np.exp(x[:, d + 1 : d + 2] / 2)
    answers = np.sum(rows * x[:, :d], axis=1) + rng.standard_normal(len(x)) * np.exp(x[:, d] / 2)
    return float(np.mean(np.sum(rows**2, axis=1) + answers**2 > float(prior.radius) ** 2))
