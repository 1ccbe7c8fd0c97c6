"""Regression from noisy S = (XᵀX, Xᵀy, yᵀy) by chains over S, see `moments`.

Given XᵀX the law of the other two is known whatever the rows x are; the law of x enters only as a weak prior
of XᵀX.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from discreet.families.family import Floats
from discreet.families.laws.matrices import nearest_semidefinite, unpack
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.posteriors.noise_law import FEWEST, TAIL, cautions, judged, misfit
from discreet.posteriors.normal.chains import ChainLengths
from discreet.posteriors.normal.latent_model import LatentNormal, Observed, SampledPosterior
from discreet.posteriors.normal.long_rows import ROWS, clipped
from discreet.posteriors.normal.moments import MomentDraws, Moments, near, sample
from discreet.posteriors.normal.starts import LAST, settle
from discreet.posteriors.posterior import Diagnostics
from discreet.sampling.source import Source

if TYPE_CHECKING:
    from discreet.posteriors.normal.algebra_kernel import Prior
    from discreet.posteriors.normal.linear_regression import Design


METHOD_WEIGHTED = "weighted draws of the exact moments; clipped rows not modelled"
LOTS, PROPOSED, KEPT = 4, 1024, 500  # of weighted draws: compared as chains are


def read_moments(
    family: BayesianLinearRegression,
    observed: Observed,
    design: Design,
    source: Source,
    *,
    plan: ChainLengths | None = None,
) -> SampledPosterior:
    """Draws of (w, σ²), and of n where it is private."""
    rng = np.random.default_rng(source.words(4).tolist())
    found = sample(target(family, observed, design), plan, rng, fitted)
    return drawn(family, found, rng)


def drawn(
    family: BayesianLinearRegression,
    found: MomentDraws,
    rng: np.random.Generator,
    effective: float | None = None,
) -> SampledPosterior:
    """Draw (w, σ²) given every S."""
    location, root, scale = conjugate(found)
    with np.errstate(over="ignore", invalid="ignore"):
        variance = scale / rng.standard_gamma(found.target.prior[2] + found.n / 2)
        turned = np.einsum("...ij,...j->...i", root, rng.standard_normal(location.shape))
        theta = np.concatenate(
            [location + np.sqrt(variance)[..., None] * turned, variance[..., None]], axis=-1
        )
    watched = np.concatenate([location, np.log(scale)[..., None]], axis=-1)
    if effective is None:
        how = found.diagnostics(watched)
    else:  # lots are independent, and what they are worth is known
        how = Diagnostics(METHOD_WEIGHTED, LOTS, KEPT, judged(watched)[0], effective)
    more = (clipped(family, imagined(found, rng), variance),)
    said = cautions(how, apart=found.apart, finite=bool(np.isfinite(theta).all()), more=more)
    return SampledPosterior(family, theta, found.size, how, said)


def read_weighted(
    family: BayesianLinearRegression, observed: Observed, design: Design, source: Source
) -> SampledPosterior | None:
    """Do so without chains: Ŝ − noise, as the noise is, weighted by p(S); None where weights differ much.

    The same law. Where the noise is small beside XᵀX, p(S) is nearly flat over it.
    """
    rng = np.random.default_rng(source.words(4).tolist())
    aim = target(family, observed, design)
    found, effective = weighted(aim, observed, rng)
    return None if found is None else drawn(family, found, rng, effective)


def weighted(aim: Moments, observed: Observed, rng: np.random.Generator) -> tuple[MomentDraws | None, float]:
    """Draws of S by importance in lots, and what they are worth; none below a quarter of what is kept."""
    from discreet.posteriors.normal.moments_kernel import log_weights  # noqa: PLC0415 - loads numba

    lots = []
    for _ in range(LOTS):
        T, n = proposed(aim, observed, rng)
        level = log_weights(T, n, aim.seen[6], aim.prior) if len(T) else np.zeros(0)
        good = np.isfinite(level)
        if not good.any():
            return None, 0.0
        weight = np.exp(level[good] - level[good].max())
        effective = float(weight.sum() ** 2 / np.sum(weight**2))
        if effective < KEPT / 4:
            return None, 0.0
        places = np.searchsorted(np.cumsum(weight) / weight.sum(), (np.arange(KEPT) + rng.random()) / KEPT)
        chosen = rng.permutation(np.minimum(places, len(weight) - 1))
        lots.append((T[good][chosen], n[good][chosen], level[good][chosen], effective))
    T, n, level = (np.stack([lot[i] for lot in lots]) for i in range(3))
    return MomentDraws(T, n, level, aim, ChainLengths(chains=LOTS, draws=KEPT)), sum(lot[3] for lot in lots)


def proposed(aim: Moments, observed: Observed, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Roots of Ŝ − noise where that is positive definite, and n̂ − noise where n is private."""
    noisy, D = aim.seen[0], len(aim.seen[0])
    rows, columns = np.tril_indices(D)
    deviation = aim.seen[1][rows, columns]

    def noise(rate: Floats | float, size: tuple[int, ...]) -> Floats:
        if observed.power == 1:
            return np.asarray(rng.laplace(size=size) / rate)
        return np.asarray(rng.standard_normal(size) / np.sqrt(2 * np.asarray(rate)))

    S = np.zeros((PROPOSED, D, D))
    S[:, rows, columns] = noisy[rows, columns] - noise(deviation, (PROPOSED, rows.size))
    S[:, columns, rows] = S[:, rows, columns]
    n = np.full(PROPOSED, float(aim.n))
    if aim.unsure:
        n = np.rint(aim.seen[3] - noise(aim.seen[4], (PROPOSED,)))
    good = np.linalg.eigvalsh(S)[:, 0] > 1e-12 * np.trace(noisy)
    return np.linalg.cholesky(S[good]), n[good]


def target(family: BayesianLinearRegression, observed: Observed, design: Design) -> Moments:
    m, P, a, b = family._parameters  # noqa: SLF001 - doubles of the public fields
    unit, fixed = float(family.grid) ** 2, int(design.intercept)
    p, noisy = m.size - fixed, unpack(observed.noisy) * unit
    root = np.asarray(np.linalg.cholesky(P), dtype=np.float64)
    wide = design.width(family) ** 2 * design.degrees * np.eye(p)
    prior = (m, root, a, b, np.zeros(p), wide, p + 1.0 + design.degrees, design.strength)
    trace = float(family.radius) ** 2
    units, shares = np.full(noisy.shape, unit), unpack(observed.shares)
    return Moments.of(observed, prior, noisy=noisy, unit=units, shares=shares, fixed=fixed, trace=trace)


def base(family: BayesianLinearRegression, observed: Observed, model: LatentNormal, design: Design) -> Prior:
    """Return the prior and a few rows' worth of the release: a start for the swarm of another law."""
    held, (m, P, a, b) = target(family, observed, design), model.prior[4:]
    d, n = m.size, float(held.n)
    k, root = d + 3.0, held.seen[5]
    L, answers = root[:d, :d], root[d, :d]
    precision = P + k / n * L @ L.T
    location = np.asarray(np.linalg.solve(precision, P @ m + k / n * L @ answers), dtype=np.float64)
    return *model.prior[:4], location, precision, a + k / 2, b + float(k / n * root[d, d] ** 2 / 2)


def conjugate(found: MomentDraws) -> tuple[Floats, Floats, Floats]:
    """(w, σ²) | S: location m_n, a root of P_n⁻¹, scale b_n, by singular values of Λ⁻¹L, P = ΛΛᵀ, G = LLᵀ.

    As in `log_answers`; nothing is inverted that may be singular.
    """
    m, root, _, b = found.target.prior[:4]
    T, d = found.T, m.size
    L, v = T[..., :d, :d], T[..., d, :d] - m @ T[..., :d, :d]
    left, s, right = np.linalg.svd(np.linalg.solve(root, L))
    turned = np.einsum("...ij,...j->...i", right, v)
    back = np.linalg.solve(root.T, left)
    location = m + np.einsum("...ij,...j->...i", back, s / (1 + s**2) * turned)
    scale = b + 0.5 * (T[..., d, d] ** 2 + np.sum(turned**2 / (1 + s**2), axis=-1))
    return location, back / np.sqrt(1 + s**2)[..., None, :], scale


def fitted(found: MomentDraws) -> Floats:
    """Return what chains are judged by: E[w|S] and ln b_n."""
    location, _, scale = conjugate(found)
    return np.concatenate([location, np.log(scale)[..., None]], axis=-1)


def imagined(found: MomentDraws, rng: np.random.Generator) -> Floats:
    """Imagine normal rows of the second moments S/n, ROWS for every draw."""
    noise = rng.standard_normal((ROWS, *found.T.shape[:-1]))
    noise[..., : found.target.seen[6]] = 1.0
    rows = np.einsum("...ij,r...j->r...i", found.T, noise) / np.sqrt(found.n)[..., None]
    return np.asarray(rows.reshape(-1, rows.shape[-1]))


# ── Regression from noisy XᵀX, Xᵀy, yᵀy with many columns: errors in variables, normal, no law of single
# rows.
# Given the design, Xᵀy = Gw + ξ, ξ ~ N(0, σ²G), and yᵀy ≈ wᵀGw + 2wᵀξ + N(nσ², 2nσ⁴): their means are linear
# in G = XᵀX, which is seen through noise too. With a normal prior on its entries G is integrated out in
# closed form, and (w, σ²) has a density that is known; swarms draw from it.
# Left out: Laplace noise is taken for normal noise of its variance, clipped rows for unclipped ones, and
# that G is semidefinite is told only to the variance of ξ, where Ĝ is shrunk and projected.
Known = tuple[Floats, Floats, float, float]  # m, P, a, b


METHOD = "errors in variables, normal; clipped rows not modelled, XᵀX made semidefinite where a variance"
SWARMS, SIZE = 2, 1000
LONGER = 8  # times as many moves at the end, where swarms have not converged
AGAIN = 32  # designs that noise might have made
EXTRA = 3  # ln g, ln λ of the diagonal, ln λ beside it
APART = float(np.log(0.5))  # a guess of ln λ, right within a factor e


@final
@dataclass(frozen=True, eq=False)
class Given:
    """Noisy moments in natural units: Ĝ, Xᵀy, yᵀy; τ², the variance of the noise on squares; n or n̂."""

    prior: BayesianLinearRegression
    design: Floats
    mixed: Floats
    square: float
    noise: float  # τ²
    n: float
    unsure: float = 0.0  # deviation of n̂; 0 where n is public
    share: float = 1.0  # of τ², what products of two columns have: ½ or 1

    @classmethod
    def of(cls, observed: Observed, prior: BayesianLinearRegression) -> Given:
        unit = float(prior.grid) ** 2
        moments, noise = unpack(observed.noisy) * unit, observed.variance * unit**2
        n, unsure, share = float(max(1, observed.about)), 0.0, float(observed.shares.min())
        if observed.n is None:
            n, unsure = observed.count / observed.count_unit, observed.variance**0.5 / observed.count_unit
        mixed, square = moments[:-1, -1], float(moments[-1, -1])
        return cls(prior, moments[:-1, :-1], mixed, square, noise, n, unsure, share)

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
        return shrunk(self.design, self.noise, self.share)

    def log_likelihood(self, x: Floats) -> Floats:
        return self.fits(x)[0]

    def fits(self, x: Floats) -> tuple[Floats, Floats]:
        """Log p(Ĝ | g, λ) + log p(Xᵀy, yᵀy | Ĝ, w, σ², g, λ), both normal; and (Xᵀy, yᵀy) in deviations.

        Entries of G are N(ngI, (ngλ)²): E[G|Ĝ] = ngI + κ∘(Ĝ − ngI), variances κτ², κ = (ngλ)²/((ngλ)² + τ²);
        off the diagonal and in Xᵀy with their share of τ².
        """
        d, t, diagonal = len(self.mixed), self.noise, np.diag(self.design)
        less = self.share * t
        hollow = self.design - np.diag(diagonal)
        w, variance, extra = x[:, :d], np.exp(x[:, d]), np.exp(x[:, d + 1 :])
        n = extra[:, EXTRA] if self.unsure else np.full(len(x), self.n)
        g = n * extra[:, 0]
        own, beside = (g * extra[:, 1]) ** 2, (g * extra[:, 2]) ** 2
        apart = diagonal - g[:, None]
        seen = np.sum(apart**2, axis=1) / (own + t) + d * np.log(own + t)
        seen += np.sum(hollow**2) / 2 / (beside + less) + d * (d - 1) / 2 * np.log(beside + less)
        kept, also = own / (own + t), beside / (beside + less)
        middle = (g[:, None] + kept[:, None] * apart) * w + also[:, None] * (w @ hollow)
        left = _spread(w, kept * t, also * less)
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
        noise = np.append(np.full(d, self.share * t), t)
        C[:, i, i] = (C[:, i, i] + noise) * (1 + 1e-11)  # factors also where σ²G dwarfs the noise
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


def shrunk(matrix: Floats, noise: float, share: float = 1.0) -> Floats:
    """E[G | Ĝ] = gI + κ(Ĝ − gI), g = tr Ĝ/d, κ = 1 − noise/size of what differs, then semidefinite [LW04].

    `noise` is a variance on the diagonal, of which entries beside it have a share.
    """
    d = len(matrix)
    middle = max(0.0, np.trace(matrix) / d) * np.eye(d)
    apart = matrix - middle
    expected = noise * (d - 1) * (1 + share * d)  # Σ over entries, less the mean of the diagonal
    kept = max(0.0, 1 - expected / np.sum(apart**2)) if d > 1 else 1.0
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
        if swarms == 1 or judged(x)[1] > FEWEST:
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
    said = cautions(
        how,
        apart=apart,
        finite=finite,
        more=(
            clipped(
                prior,
                imagined_rows(given, flat, given.semidefinite[None], rng),
                theta[..., -1],
                imagined_rows(given, flat, noised_again(given, rng), rng),
            ),
        ),
    )
    return SampledPosterior(prior, theta, count, how, said)


def noised_again(given: Given, rng: np.random.Generator) -> Floats:
    """Return XᵀX as it might have come out instead, AGAIN times: what noise alone makes of it."""
    d, deviation = given.prior.dimension, given.noise**0.5
    upper = np.triu(rng.standard_normal((AGAIN, d, d)), 1) * given.share**0.5
    noise = upper + upper.swapaxes(1, 2)
    noise[:, range(d), range(d)] = rng.standard_normal((AGAIN, d))
    return np.array([shrunk(given.design + deviation * one, given.noise, given.share) for one in noise])


def imagined_rows(given: Given, x: Floats, designs: Floats, rng: np.random.Generator) -> Floats:
    """Imagine ROWS rows for every draw, each of one of the XᵀX, in turn."""
    d, many = given.prior.dimension, np.tile(x, (ROWS, 1))
    values, vectors = np.linalg.eigh(designs / max(given.n, 1.0))
    root = (vectors * np.sqrt(np.maximum(values, 0.0))[:, None]).swapaxes(1, 2)
    rows, turn = rng.standard_normal((len(many), d)), np.arange(len(many)) % len(x) % len(designs)
    for k in range(len(designs)):
        rows[turn == k] = rows[turn == k] @ root[k]
    answers = np.sum(rows * many[:, :d], axis=1) + rng.standard_normal(len(many)) * np.exp(many[:, d] / 2)
    return np.column_stack([rows, answers])
