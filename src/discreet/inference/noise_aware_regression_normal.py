"""Regression from noisy XᵀX, Xᵀy, yᵀy with many columns: errors in variables, normal, no chain.

Xᵀy = Gw + ξ, ξ ~ N(0, σ²G), where G = XᵀX is seen with noise N: so Xᵀy + n = Ĝw + (ξ − Nw + n). Given σ² the
weights are normal; σ² is on a grid, weighed by how well it explains Xᵀy and yᵀy. No law of x is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from scipy.special import gammainccinv

from discreet.families.matrices import nearest_semidefinite, unpack
from discreet.inference.noise_aware import Diagnostics
from discreet.inference.noise_aware_normal_posterior import SampledPosterior

if TYPE_CHECKING:
    from discreet.families.family import Floats
    from discreet.families.linear_regression import BayesianLinearRegression
    from discreet.inference.noise_aware_normal_model import Observed
    from discreet.sampling.source import Source

METHOD = "errors in variables, normal"
POINTS, DRAWS = 33, 4000
TAIL = 1e-5  # of the prior of σ², left out on either side
FAR = 12.0  # nats below the best σ² at which a second grid ends
STEPS, TOLERANCE = 100, 1e-9


@final
@dataclass(frozen=True)
class Given:
    """Noisy moments in natural units: Ĝ made semidefinite, Xᵀy, yᵀy; τ², the variance of each one's noise."""

    design: Floats
    mixed: Floats
    square: float
    noise: float  # τ²
    kept: float  # κ: G | Ĝ has κτ² left in each entry
    n: float

    @classmethod
    def of(cls, observed: Observed, prior: BayesianLinearRegression) -> Given:
        unit = float(prior.grid) ** 2
        moments = unpack(observed.noisy) * unit
        noise = observed.variance * unit**2
        design, kept = shrunk(moments[:-1, :-1], noise)
        return cls(
            design, moments[:-1, -1], float(moments[-1, -1]), noise, kept, float(max(1, observed.about))
        )


def shrunk(matrix: Floats, noise: float) -> tuple[Floats, float]:
    """E[G | Ĝ] = gI + κ(Ĝ − gI), g = tr Ĝ/d, κ = 1 − noise/size of what differs, then semidefinite [LW04]."""
    d = len(matrix)
    middle = max(0.0, np.trace(matrix) / d) * np.eye(d)
    apart = matrix - middle
    kept = max(0.0, 1 - noise * (d**2 - 1) / np.sum(apart**2)) if d > 1 else 1.0
    return nearest_semidefinite(middle + kept * apart, np.inf), kept


@final
@dataclass(frozen=True)
class Weights:
    """w | σ² ~ N(location, spread), and the log weight of this σ²."""

    log_variance: float
    location: Floats
    spread: Floats
    score: float


def read_normal(prior: BayesianLinearRegression, observed: Observed, source: Source) -> SampledPosterior:
    """Draws of (w, σ²) from the mixture over σ²; n is taken as it is, or as it was noised."""
    given = Given.of(observed, prior)
    _, _, a, b = prior._parameters  # noqa: SLF001 - doubles of the public fields
    ends = np.log(b / gammainccinv(a, [TAIL, 1 - TAIL]))
    coarse = [weights(prior, given, x) for x in np.linspace(float(ends[0]), float(ends[1]), POINTS)]
    best = max(point.score for point in coarse)
    near = [i for i, point in enumerate(coarse) if point.score > best - FAR]
    step = coarse[1].log_variance - coarse[0].log_variance
    low, high = coarse[near[0]].log_variance - step, coarse[near[-1]].log_variance + step
    fine = [weights(prior, given, x) for x in np.linspace(low, high, POINTS)]
    draws = _draws(fine, np.random.default_rng(source.words(4).tolist()))
    size = None if observed.n is not None else np.full((1, DRAWS), round(given.n))
    return SampledPosterior(prior, draws[None], size, Diagnostics(METHOD, 0, DRAWS))


def _draws(points: list[Weights], rng: np.random.Generator) -> Floats:
    """Share out the draws by weight, evenly; σ² is uniform (in its log) within its cell."""
    scores = np.array([point.score for point in points])
    shares = np.exp(scores - scores.max())
    edges = (np.arange(DRAWS) + rng.random()) / DRAWS
    which = np.minimum(np.searchsorted(np.cumsum(shares / shares.sum()), edges), len(points) - 1)
    width = points[1].log_variance - points[0].log_variance
    logs = np.array([point.log_variance for point in points])[which] + width * (rng.random(DRAWS) - 0.5)
    w = np.empty((DRAWS, points[0].location.size))
    for i, point in enumerate(points):
        values, vectors = np.linalg.eigh(point.spread)
        root = vectors * np.sqrt(np.maximum(values, 0))
        here = which == i
        w[here] = point.location + rng.standard_normal((here.sum(), len(values))) @ root.T
    return rng.permutation(np.column_stack([w, np.exp(logs)]))


def weights(prior: BayesianLinearRegression, given: Given, log_variance: float) -> Weights:
    """V⁻¹ = P/σ² + ĜΩ⁻¹Ĝ, Ω = σ²G + τ²I + κτ²(‖w‖²I + wwᵀ − diag w²), E over w, by iteration."""
    m, P, a, b = prior._parameters  # noqa: SLF001
    variance = float(np.exp(log_variance))
    precision, eye, design = P / variance, np.eye(m.size), given.design
    spread, w, omega = _inverse(precision), m.copy(), eye
    for _ in range(STEPS):
        second = np.outer(w, w) + spread
        met = np.trace(second) * eye + second - np.diag(np.diag(second))
        omega = variance * design + given.noise * (eye + given.kept * met)
        pull = np.linalg.solve(omega, design)
        spread = _inverse(precision + design @ pull)
        target = spread @ (precision @ m + pull.T @ given.mixed)
        moved, w = np.abs(target - w).max(), (w + target) / 2
        if moved < TOLERANCE * (1 + np.abs(w).max()):
            break
    marginal = omega + variance * design @ np.linalg.solve(P, design)
    score = _log_normal(given.mixed - design @ m, marginal) + _square_score(given, w, spread, variance, omega)
    return Weights(log_variance, w, spread, score - a * log_variance - b / variance)


def _square_score(given: Given, w: Floats, spread: Floats, variance: float, omega: Floats) -> float:
    """Return ln p(yᵀy | Xᵀy, σ²), from yᵀy itself or from what w leaves of it, whichever is surer.

    yᵀy ≈ nσ² + wᵀGw, free of the noise in Xᵀy; ‖y − Xw‖² ≈ nσ² + tr(GV) − 2tr(B(σ²G + τ²I)), B = VGΩ⁻¹, since
    w has been fitted to that noise.
    """
    G, t, n = given.design, given.noise, given.n
    second = np.outer(w, w) + spread
    size, fitted = np.trace(second), np.sum(G * second)
    unsure = 2 * np.sum((G @ spread) * (spread @ G).T) + 4 * w @ G @ spread @ G @ w
    plain = 2 * n * variance**2 + 4 * variance * fitted + t * (1 + 2 * given.kept * size**2) + unsure
    influence = spread @ np.linalg.solve(omega, G).T
    rest = given.square - 2 * given.mixed @ w + w @ G @ w
    expected = n * variance + np.sum(G * spread) - 2 * np.sum(influence * (variance * G + t * np.eye(len(w))))
    sharp = 2 * n * variance**2 + t * (1 + 4 * size + 2 * size**2) + unsure - 4 * w @ G @ spread @ G @ w
    gap, spread_of = (
        (given.square - n * variance - fitted, plain) if plain < sharp else (rest - expected, sharp)
    )
    return float(-0.5 * np.log(spread_of) - 0.5 * gap**2 / spread_of)


def _inverse(matrix: Floats) -> Floats:
    inverse = np.linalg.inv(matrix)
    return np.asarray((inverse + inverse.T) / 2, dtype=np.float64)


def _log_normal(x: Floats, covariance: Floats) -> float:
    return float(-0.5 * np.linalg.slogdet(covariance)[1] - 0.5 * x @ np.linalg.solve(covariance, x))
