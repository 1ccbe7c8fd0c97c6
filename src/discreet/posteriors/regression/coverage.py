"""Coverage to expect of a perturbed fit's intervals, on imagined fits: the prior's weights, public designs.

A plan and a result share this prediction. Where it is low, intervals are widened and the result says so; but
not for what a normal law of the weights lacks without noise as well, so that with growing ε the reading tends
to that of a fit without privacy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, singledispatch
from math import log2
from typing import TYPE_CHECKING, final

import numpy as np
from scipy.special import ndtri

from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import DeclaredLoss, Floats, MarginLoss
from discreet.models.regression_records import rows_of
from discreet.numerics.search import descend

if TYPE_CHECKING:
    from discreet.mechanisms.regression.perturbed_fit import PerturbedFit


# ── A public guess of what rows look like: uniform in the ball. For simulation and shrinkage, not privacy.
ROWS = 1000


def standard_rows(model: GeneralizedLinear, size: int, random: np.random.Generator) -> Floats:
    """Rows uniform in the ball of the norm, the constant last."""
    d = len(model.design)
    ways = random.standard_normal((size, d))
    lengths = float(model.norm) * random.random((size, 1)) ** (1 / d)
    rows = np.full((size, model.dimension), float(model.constant))
    rows[:, :d] = ways / np.linalg.norm(ways, axis=1, keepdims=True) * lengths
    return rows


def shape_at(model: GeneralizedLinear, weights: Floats) -> Floats:
    """E[φ''(x·w)xxᵀ] over such rows: what one record adds to the Hessian."""
    rows = _usual_rows(model)
    bends = public_bends(model.loss, rows @ weights)
    return np.asarray((rows * bends[:, None]).T @ rows / len(rows))


@singledispatch
def public_bends(loss: MarginLoss, s: Floats) -> Floats:
    """φ'' at margins s, which does not depend on the answer in the losses that are ours."""
    return loss.bend(s, np.ones(len(s)))


@public_bends.register(DeclaredLoss)
def _public_bends_declared_loss(loss: DeclaredLoss, s: Floats) -> Floats:
    """Take its bound: a declared loss is code, which a saved release does not hold."""
    return np.full(len(s), float(loss.curvature))


@lru_cache(maxsize=16)
def _usual_rows(model: GeneralizedLinear) -> Floats:
    return standard_rows(model, ROWS, np.random.default_rng(0))


# ── Public guesses of what rows look like, to try intervals on: none of them is right, so several.
SPREAD = 0.5  # of the spherical design: rows of half the norm
OFTEN = 0.3  # that an indicator is 1


def spherical(model: GeneralizedLinear, size: int, random: np.random.Generator) -> Floats:
    """Spherical Gaussian features of half the norm."""
    p = len(model.design)
    return np.asarray(SPREAD * float(model.norm) / p**0.5 * random.standard_normal((size, p)))


def indicators(model: GeneralizedLinear, size: int, random: np.random.Generator) -> Floats:
    """Features that are 0 or the norm, as levels of a column are before rows are clipped."""
    return np.asarray(float(model.norm) * (random.random((size, len(model.design))) < OFTEN))


def skewed(model: GeneralizedLinear, size: int, random: np.random.Generator) -> Floats:
    """Exponential features: positive, with a mean to which the intercept is close."""
    p = len(model.design)
    return np.asarray(float(model.norm) / (2 * p) ** 0.5 * random.exponential(size=(size, p)))


def _rows(
    features: Callable[[GeneralizedLinear, int, np.random.Generator], Floats],
) -> Callable[[GeneralizedLinear, int, np.random.Generator], Floats]:
    return lambda model, size, random: rows_of(model, features(model, size, random))


DESIGNS: dict[str, Callable[[GeneralizedLinear, int, np.random.Generator], Floats]] = {
    "ball": standard_rows,
    "spherical": _rows(spherical),
    "indicators": _rows(indicators),
    "skewed": _rows(skewed),
}


# ── Mean and covariance of w given a perturbed fit, with the noise of its Hessian integrated.
# Σ∇ℓ(θ̃) + λθ̃ + b = 0 and Σ∇ℓ(θ̃) ≈ Σ∇ℓ(w) + H(θ̃ − w), Σ∇ℓ(w) ~ N(0, H), give (H + λ)θ̃ ~ N(Hw, H + σ²I).
# H is known with noise, H̃ = H + E, and is positive semi-definite. In the eigenbasis of H̃ its eigenvalues
# h_i are N(h̃_i, σ_H²) times an exponential law of mean t/d, integrated on a grid over [0, nκc²]; t is the
# trace to expect. The rest of E adds (σ_H²/2)Σ_{j≠i}(θ̃_j − w_j)² to the variance of equation i. What θ̃
# itself says of H is left out (a cut posterior): the linear equation holds near θ̃ only, and believed far
# from it would explain a large θ̃ by a small H.
# The mean gains from shrinking H̃ to the shape that a public design would have; the covariance claims nothing
# for it: it is that of w around this mean when H̃ is read as it is (docs/objective-perturbation.md).
# Everything is computed for one fit, or for many at once along leading axes.
NODES = (np.arange(161) + 0.5) / 161
REACH = 6.0  # standard deviations of an eigenvalue that the grid spans
LEFT = 30.0  # nats of the exponential law beyond which it ends
ROUNDS = 8  # until E(θ̃ − w)² and the posterior agree


@final
@dataclass(frozen=True)
class Tilt:
    """What is public of a perturbed fit: λ, σ, σ_H, the prior's variance, and nκc², which bounds tr H."""

    strength: float
    noise: float
    hessian_noise: float
    prior: float
    most: float = np.inf  # n is private

    @classmethod
    def of(cls, fit: PerturbedFit) -> Tilt:
        model = fit.model
        most = np.inf if fit.n is None else float(max(fit.n, 1) * model.loss.curvature * model.bound_square)
        return cls(fit.strength, fit.noise, fit.hessian_noise, float(1 / model.strength), most)


def moments(estimate: Floats, hessian: Floats, shape: Floats, tilt: Tilt) -> tuple[Floats, Floats]:
    """E w with H̃ shrunk to the public shape; E(w − that)(w − that)ᵀ without."""
    trace = expected_trace(hessian, tilt)
    centre, kept = shrunk(hessian, shape, trace, tilt.hessian_noise)
    mean, _ = integrated(estimate, centre, tilt, kept, trace)
    plain, covariance = integrated(estimate, hessian, tilt, np.ones_like(kept), trace)
    apart = mean - plain
    return mean, covariance + apart[..., :, None] * apart[..., None, :]


def expected_trace(hessian: Floats, tilt: Tilt) -> Floats:
    """E[tr H | tr H̃]: tr H̃ has the noise σ_H√d, and tr H lies in [0, nκc²]."""
    seen, noise = np.trace(hessian, axis1=-2, axis2=-1), tilt.hessian_noise * hessian.shape[-1] ** 0.5
    value, chances = cut(np.asarray(seen), noise, np.asarray(tilt.most))
    return np.asarray((chances * value).sum(axis=-1))


def cut(middle: Floats, noise: float, most: Floats) -> tuple[Floats, Floats]:
    """Nodes and chances of N(middle, noise²) on [0, most]."""
    high = np.minimum(np.maximum(middle, 0) + REACH * noise, most)
    near = np.maximum(middle - REACH * noise, 0)
    low = np.where(near < high, near, np.maximum(high - noise, 0))  # what was seen may lie beyond most
    value = low[..., None] + (high - low)[..., None] * NODES
    logs = -(((value - middle[..., None]) / noise) ** 2) / 2
    chances = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return value, chances / chances.sum(axis=-1, keepdims=True)


def shrunk(hessian: Floats, shape: Floats, trace: Floats, noise: float) -> tuple[Floats, Floats]:
    """Return sT + ρ(H̃ − sT), s·tr T = tr H, ρ = v/(v + σ_H²), v what H̃ varies by beyond its noise."""
    d = shape.shape[-1]
    told = np.trace(shape, axis1=-2, axis2=-1) > 0  # a loss may be flat at every margin
    shape = np.where(told[..., None, None], shape, np.eye(d))
    centre = shape * (trace / np.trace(shape, axis1=-2, axis2=-1))[..., None, None]
    around = hessian - centre
    beyond = np.maximum(np.sum(around**2, axis=(-2, -1)) / (d * (d + 1) / 2) - noise**2, 0.0)
    kept = np.asarray(beyond / (beyond + noise**2))
    return centre + kept[..., None, None] * around, kept


def integrated(
    estimate: Floats, centre: Floats, tilt: Tilt, kept: Floats, trace: Floats
) -> tuple[Floats, Floats]:
    """E w and Cov w for H around a centre; `kept` is the share of E's variance off the diagonal."""
    values, vectors = np.linalg.eigh(centre)
    seen, noise = np.einsum("...ij,...i->...j", vectors, estimate), tilt.hessian_noise
    each = trace[..., None] / estimate.shape[-1]  # mean of the exponential law
    middle = values - noise**2 / each  # a normal law times it
    h, chances = cut(middle, noise, np.minimum(np.maximum(middle, 0) + LEFT * each, tilt.most))
    mean, variance, off = seen, np.zeros_like(seen), np.zeros_like(seen)
    for _ in range(ROUNDS):
        spread = h + tilt.noise**2 + off[..., None]
        given = 1 / (1 / tilt.prior + h**2 / spread)
        centres = given * h * (h + tilt.strength) * seen[..., None] / spread
        mean = (chances * centres).sum(axis=-1)
        variance = (chances * (given + (centres - mean[..., None]) ** 2)).sum(axis=-1)
        square = (seen - mean) ** 2 + variance
        off = kept[..., None] * noise**2 / 2 * (square.sum(axis=-1, keepdims=True) - square)
    turned = np.einsum("...ij,...j->...i", vectors, mean)
    return turned, (vectors * variance[..., None, :]) @ np.swapaxes(vectors, -1, -2)


def symmetric_noise(d: int, scale: float, random: np.random.Generator) -> Floats:
    """N(0, scale²) on the diagonal, N(0, scale²/2) off it."""
    square = random.standard_normal((d, d)) * scale
    return np.asarray((square + square.T) / 2)


# ── coverage
FEWEST, CHECKED = 30, 450  # replicates, and weights whose intervals are counted, of each design, at least
DESIGN_ROWS = 500  # of a design; more records weigh more instead
CLOSE = 1e-6  # ‖∇‖ at the end over the first
LEVEL = 0.9
LEAST = 0.85  # a reading says so where less is expected
SOUGHT = 0.88  # what intervals are widened to, on the worst of the designs
WIDEST = 2.0
HALF = 0.5  # of the noise's part: below, a caution names the normal law instead


@final
@dataclass(frozen=True)
class Expected:
    """Share of 90 % intervals that hold the weight, on the worst design, and what widens them to 88 %."""

    coverage: float
    widening: float = 1.0  # of standard deviations, in [1, 2]
    from_noise: bool = True  # whether the noise of the release is what coverage suffers from


def expected(
    model: GeneralizedLinear,
    n: int,
    tilt: Tilt,
    *,
    replicates: int | None = None,
    seed: int = 1,
) -> Expected:
    """Try the reading on imagined fits of n records: w from the prior, rows of every public design.

    Spends nothing. The labels' part in the gradient is taken as normal, so that the time does not grow in n.
    """
    times = max(FEWEST, -(-CHECKED // model.dimension)) if replicates is None else replicates
    return _expected(model, int(n), tilt, times, seed)


@lru_cache(maxsize=256)
def _expected(model: GeneralizedLinear, n: int, tilt: Tilt, replicates: int, seed: int) -> Expected:
    reach = float(ndtri((1 + LEVEL) / 2))
    tried = [deviations(model, n, tilt, name, replicates, seed) for name in DESIGNS]
    coverage, share = min((float(np.mean(z <= reach)), share) for z, share in tried)
    needed = [float(np.clip(np.quantile(z, SOUGHT) / reach, 1.0, WIDEST)) for z, _ in tried]
    widening = max(1 + part * (wide - 1) for wide, (_, part) in zip(needed, tried, strict=True))
    return Expected(coverage, widening, share > HALF)


def deviations(  # noqa: PLR0917 - what is imagined
    model: GeneralizedLinear, n: int, tilt: Tilt, design: str, replicates: int, seed: int
) -> tuple[Floats, float]:
    """|w − E w|/sd(w) of every weight in imagined fits; and the noise's part in it, in [0, 1].

    The part is twice the share of Var w that the noise of the release adds to (H + 1/prior)⁻¹, 1 at most.
    """
    random = np.random.default_rng(seed)
    rows = DESIGNS[design](model, min(max(n, 1), DESIGN_ROWS), random)
    weights = random.standard_normal((replicates, model.dimension)) * np.sqrt(tilt.prior)
    fits = [imagined(model, rows, n, w, tilt, random) for w in weights]
    estimates, hessians = (np.array(part) for part in zip(*fits, strict=True))
    shapes = np.array([shape_at(model, estimate) for estimate in estimates])
    mean, covariance = moments(estimates, hessians, shapes, tilt)
    variance = np.diagonal(covariance, axis1=-2, axis2=-1)
    without = [np.linalg.inv(curved(model, rows, n, at) + np.eye(len(at)) / tilt.prior) for at in estimates]
    kept = np.minimum(np.diagonal(np.array(without), axis1=-2, axis2=-1) / variance, 1.0)
    return np.abs(weights - mean) / np.sqrt(variance), min(1.0, 2 * float(np.mean(1 - kept)))


def imagined(  # noqa: PLR0917 - what a fit is made of
    model: GeneralizedLinear,
    rows: Floats,
    n: int,
    weights: Floats,
    tilt: Tilt,
    random: np.random.Generator,
) -> tuple[Floats, Floats]:
    """θ̃ and H̃ of n records like these: (n/m)Σ(φ'(x·θ) − φ'(x·w))x + N(0, H(w)) + λθ + b = 0."""
    d, scale, y = len(weights), n / len(rows), np.ones(len(rows))
    true = model.loss.slope(rows @ weights, y)
    spread = np.sqrt(scale * model.loss.bend(rows @ weights, y))
    tilted = (spread * random.standard_normal(len(rows))) @ rows + tilt.noise * random.standard_normal(d)

    def gradient(at: Floats) -> Floats:
        slopes = model.loss.slope(rows @ at, y) - true
        return np.asarray(scale * slopes @ rows + tilt.strength * at + tilted)

    enough = CLOSE * np.linalg.norm(gradient(weights))
    found, _ = descend(
        gradient,
        lambda at, _: curved(model, rows, n, at) + tilt.strength * np.eye(d),
        weights,
        lambda _, g: bool(np.linalg.norm(g) <= enough),
    )
    return found, curved(model, rows, n, found) + symmetric_noise(d, tilt.hessian_noise, random)


def curved(model: GeneralizedLinear, rows: Floats, n: int, at: Floats) -> Floats:
    """H of n records like these."""
    bends = model.loss.bend(rows @ at, np.ones(len(rows)))
    return np.asarray(n / len(rows) * (rows * bends[:, None]).T @ rows)


def records_behind(model: GeneralizedLinear, estimate: Floats, trace: float) -> int:
    """Guess a private n from tr H: the n at which the public design would have it, to half an octave."""
    each = max(float(np.trace(shape_at(model, estimate))), 1e-300)
    return round(2 ** (round(2 * log2(max(1.0, trace / each))) / 2))
