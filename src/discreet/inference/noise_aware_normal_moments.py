"""Moments of (X, X²), X ~ N(μ, σ²) clipped to [low, high], in closed form; and laws of Ŝ around them."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_ndtr, ndtr

if TYPE_CHECKING:
    from discreet.families.family import Floats

NODES = np.polynomial.legendre.leggauss(16)  # on each side of the noise's kink
FLAT = np.polynomial.legendre.leggauss(12)  # over the bounds
DROP = 32.0  # nats below the top at which an integral ends


def clipped_moments(mu: Floats, sigma: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Mean (…, 2) and covariance (…, 2, 2) of (C, C²), C = clip(X), from E(C − c)^k, c = clip(μ), k ≤ 4."""
    centre = np.clip(mu, low, high)
    below, above = ndtr((low - mu) / sigma), ndtr((mu - high) / sigma)
    wide = sigma > high - low
    inside = np.where(wide, _quadrature(mu, sigma, centre, low, high), _closed(mu, sigma, centre, low, high))
    e = [(low - centre) ** k * below + (high - centre) ** k * above + inside[k - 1] for k in range(1, 5)]
    var, skew = np.maximum(e[1] - e[0] ** 2, 0.0), e[2] - e[0] * e[1]
    first, second = centre + e[0], centre**2 + 2 * centre * e[0] + e[1]
    cross = 2 * centre * var + skew
    last = np.maximum(4 * centre**2 * var + 4 * centre * skew + e[3] - e[1] ** 2, 0.0)
    covariance = np.stack([np.stack([var, cross], -1), np.stack([cross, last], -1)], -1)
    return np.stack([first, second], -1), covariance


def _closed(mu: Floats, sigma: Floats, centre: Floats, low: float, high: float) -> Floats:
    """∫(x − c)^k N(x) dx over the bounds, k = 1..4, from I_k = ∫_α^β t^k φ(t) dt.

    I_k = α^{k−1}φ(α) − β^{k−1}φ(β) + (k−1)I_{k−2}; taken about c to keep the digits.
    """
    alpha, beta, shift = (low - mu) / sigma, (high - mu) / sigma, mu - centre
    at, to = _density(alpha), _density(beta)
    part = [ndtr(beta) - ndtr(alpha), at - to]
    for k in range(2, 5):
        part.append(_times(alpha, k - 1, at) - _times(beta, k - 1, to) + (k - 1) * part[k - 2])
    return np.stack(
        [
            sum((comb(k, j) * shift ** (k - j) * sigma**j * part[j] for j in range(k + 1)), np.zeros(()))
            for k in range(1, 5)
        ]
    )


def _quadrature(mu: Floats, sigma: Floats, centre: Floats, low: float, high: float) -> Floats:
    """Integrate where σ exceeds the bounds: there the closed form cancels, and the density is nearly flat."""
    t, w = FLAT
    x = low + (high - low) * (t + 1) / 2
    density = _density((x - mu[..., None]) / sigma[..., None]) * w * (high - low) / 2
    gap = x - centre[..., None]
    return np.stack([(gap**k * density).sum(axis=-1) / sigma for k in range(1, 5)])


def _density(t: Floats) -> Floats:
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi))


def _times(t: Floats, k: int, density: Floats) -> Floats:
    """t^k·φ(t), 0 far out where the power overflows."""
    return np.asarray(np.clip(t, -1e3, 1e3) ** k * density)


def log_gaussian(gap: Floats, covariance: Floats, scales: Floats) -> Floats:
    """Log N(gap; 0, covariance + diag scales²), for gaps (…, 2)."""
    a, b = covariance[..., 0, 0] + scales[0] ** 2, covariance[..., 1, 1] + scales[1] ** 2
    c = covariance[..., 0, 1]
    det = a * b - c**2
    square = (b * gap[..., 0] ** 2 - 2 * c * gap[..., 0] * gap[..., 1] + a * gap[..., 1] ** 2) / det
    return np.asarray(-0.5 * (square + np.log(det)) - np.log(2 * np.pi))


def log_normal_laplace(gap: Floats, variance: Floats, scale: float) -> Floats:
    """Log density of N(0, v) + Laplace(b) at x: (1/2b)Σ± exp(v/2b² ∓ x/b)Φ(±x/√v − √v/b)."""
    sd = np.sqrt(variance)
    tilt = variance / (2 * scale**2)
    up = tilt - gap / scale + log_ndtr(gap / sd - sd / scale)
    down = tilt + gap / scale + log_ndtr(-gap / sd - sd / scale)
    return np.asarray(np.logaddexp(up, down) - np.log(2 * scale))


def log_laplace(gap: Floats, covariance: Floats, scales: Floats) -> Floats:
    """Log density of N(0, covariance) + Laplace(b₁) ⊗ Laplace(b₂): one by quadrature, one in closed form.

    Given e₁, S₁ is known and Ŝ₂ is normal plus Laplace; a half-line of e₁ is a normal tilted by e^{∓e₁/b₁}.
    """
    x, w = NODES
    v, c = np.maximum(covariance[..., 0, 0], 1e-300), covariance[..., 0, 1]
    slope = c / v
    rest = np.maximum(covariance[..., 1, 1] - c * slope, 1e-12 * covariance[..., 1, 1] + 1e-300)
    sides = []
    for sign in (1.0, -1.0):
        centre = (
            sign * gap[..., 0] - v / scales[0]
        )  # e₁·sign ~ N(centre, v) on the half-line, but for a factor
        sd = np.sqrt(v)
        low = np.maximum(0.0, centre - np.sqrt(2 * DROP) * sd)
        reach = np.sqrt(np.minimum(centre, 0.0) ** 2 + 2 * DROP * v)
        length = centre + reach - low
        e = low[..., None] + length[..., None] * (x + 1) / 2
        log = -e / scales[0] - (sign * gap[..., :1] - e) ** 2 / (2 * v[..., None])
        other = gap[..., 1:] - slope[..., None] * (gap[..., :1] - sign * e)
        log = log + log_normal_laplace(other, rest[..., None], scales[1]) + np.log(w)
        sides.append(np.logaddexp.reduce(log, axis=-1) + np.log(length / 2))
    return np.asarray(np.logaddexp(*sides) - 0.5 * np.log(2 * np.pi * v) - np.log(2 * scales[0]))
