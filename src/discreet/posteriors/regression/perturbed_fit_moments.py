"""Mean and covariance of w given a perturbed fit, with the noise of its Hessian integrated.

Σ∇ℓ(θ̃) + λθ̃ + b = 0 and Σ∇ℓ(θ̃) ≈ Σ∇ℓ(w) + H(θ̃ − w), Σ∇ℓ(w) ~ N(0, H), give (H + λ)θ̃ ~ N(Hw, H + σ²I). H is
known with noise, H̃ = H + E, and is positive semi-definite. In the eigenbasis of H̃ its eigenvalues h_i are
N(h̃_i, σ_H²) times an exponential law of mean t/d, integrated on a grid over [0, nκc²]; t is the trace to
expect. The rest of E adds (σ_H²/2)Σ_{j≠i}(θ̃_j − w_j)² to the variance of equation i. What θ̃ itself says of H
is left out (a cut posterior): the linear equation holds near θ̃ only, and believed far from it would explain a
large θ̃ by a small H.

The mean gains from shrinking H̃ to the shape that a public design would have; the covariance claims nothing
for it: it is that of w around this mean when H̃ is read as it is (docs/objective-perturbation.md).
Everything is computed for one fit, or for many at once along leading axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.models.margin_losses import Floats

if TYPE_CHECKING:
    from discreet.mechanisms.regression.perturbed_fit import PerturbedFit


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
