"""Mean and covariance of w given a perturbed fit, with the noise of its Hessian integrated.

Σ∇ℓ(θ̃) + λθ̃ + b = 0 and Σ∇ℓ(θ̃) ≈ Σ∇ℓ(w) + H(θ̃ − w), Σ∇ℓ(w) ~ N(0, H), give (H + λ)θ̃ ~ N(Hw, H + σ²I). H is
known with noise, H̃ = H + E, and is positive semi-definite. In the eigenbasis of H̃ its eigenvalues h_i are
N(h̃_i, σ_H²) cut at 0, integrated on a grid; the rest of E adds (σ_H²/2)Σ_{j≠i}(θ̃_j − w_j)² to the variance of
equation i. What θ̃ itself says of H is left out (a cut posterior): the linear equation holds near θ̃ only, and
believed far from it would explain a large θ̃ by a small H.

The mean gains from shrinking H̃ to the shape that a public design would have; the covariance claims nothing
for it, which measured coverage asks for (docs/objective-perturbation.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from discreet.mechanisms.perturbed_fit import PerturbedFit
    from discreet.models.margin_losses import Floats

NODES = (np.arange(161) + 0.5) / 161
REACH = 6.0  # standard deviations of an eigenvalue that the grid spans
ROUNDS = 8  # until E(θ̃ − w)² and the posterior agree


@final
@dataclass(frozen=True)
class Tilt:
    """What is public of a perturbed fit beside the numbers: λ, σ, σ_H and the prior's variance."""

    strength: float
    noise: float
    hessian_noise: float
    prior: float

    @classmethod
    def of(cls, fit: PerturbedFit) -> Tilt:
        return cls(fit.strength, fit.noise, fit.hessian_noise, float(1 / fit.model.strength))


def moments(estimate: Floats, hessian: Floats, shape: Floats, tilt: Tilt) -> tuple[Floats, Floats]:
    """E w with H̃ shrunk to the public shape, Cov w without."""
    centre, kept = shrunk(hessian, shape, tilt.hessian_noise)
    mean, _ = integrated(estimate, centre, tilt, kept)
    _, covariance = integrated(estimate, hessian, tilt, 1.0)
    return mean, covariance


def shrunk(hessian: Floats, shape: Floats, noise: float) -> tuple[Floats, float]:
    """Return sT + ρ(H̃ − sT), s by least squares, ρ = t²/(t² + σ_H²), t² what H̃ varies by beyond its noise."""
    d, size = len(shape), float(np.sum(shape**2))
    scale = max(float(np.sum(shape * hessian)) / size, noise / np.sqrt(size) / 10)
    around = hessian - scale * shape
    beyond = max(float(np.sum(around**2)) / (d * (d + 1) / 2) - noise**2, 0.0)
    kept = beyond / (beyond + noise**2)
    return scale * shape + kept * around, kept


def integrated(estimate: Floats, centre: Floats, tilt: Tilt, kept: float) -> tuple[Floats, Floats]:
    """E w and Cov w for H around a centre; `kept` is the share of E's variance off the diagonal."""
    values, vectors = np.linalg.eigh(centre)
    seen, noise = vectors.T @ estimate, tilt.hessian_noise
    low, high = np.maximum(values - REACH * noise, 0), np.maximum(values, 0) + REACH * noise
    h = low[:, None] + (high - low)[:, None] * NODES
    logs = -(((h - values[:, None]) / noise) ** 2) / 2
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    mean, variance, off = seen, np.zeros_like(seen), np.zeros_like(seen)
    for _ in range(ROUNDS):
        spread = h + tilt.noise**2 + off[:, None]
        each = 1 / (1 / tilt.prior + h**2 / spread)
        centres = each * h * (h + tilt.strength) * seen[:, None] / spread
        mean = (chances * centres).sum(axis=1)
        variance = (chances * (each + (centres - mean[:, None]) ** 2)).sum(axis=1)
        square = (seen - mean) ** 2 + variance
        off = kept * noise**2 / 2 * (square.sum() - square)
    return vectors @ mean, (vectors * variance) @ vectors.T


def symmetric_noise(d: int, scale: float, random: np.random.Generator) -> Floats:
    """N(0, scale²) on the diagonal, N(0, scale²/2) off it."""
    square = random.standard_normal((d, d)) * scale
    return np.asarray((square + square.T) / 2)
