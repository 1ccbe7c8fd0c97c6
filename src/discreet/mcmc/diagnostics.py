"""Whether chains agree: rank-normalised split R̂ and bulk effective sample size. Released draws only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Draws = NDArray[np.float64]  # chains × steps, one scalar quantity

LEAST = 4  # draws a chain below which nothing can be said


def r_hat(draws: Draws) -> float:
    """Max of R̂ of the rank-normalised and of the folded draws, chains split [Vehtari et al. 2021 eq. 14]."""
    if draws.shape[1] < LEAST or not np.isfinite(draws).all():
        return float("nan")
    folded = np.abs(draws - np.median(draws))
    return max(_plain_r_hat(_normalised(_halves(x))) for x in (draws, folded))


def effective_size(draws: Draws) -> float:
    """Bulk ESS of the rank-normalised split chains, Geyer's initial monotone sequence [ibid. §3]."""
    if draws.shape[1] < LEAST or not np.isfinite(draws).all():
        return float("nan")
    x = _normalised(_halves(draws))
    m, n = x.shape
    covariance = np.mean([_autocovariance(chain) for chain in x], axis=0)
    within = covariance[0] * n / (n - 1)
    between = x.mean(axis=1).var(ddof=1) if m > 1 else 0.0
    total = within * (n - 1) / n + between
    if not total > 0:
        return float(m * n)
    rho = 1 - (within - covariance) / total
    return float(m * n / max(_integrated(rho), 1 / np.log10(m * n)))


def _integrated(rho: Draws) -> float:
    """−1 + 2Σ of pairs ρ_{2t} + ρ_{2t+1}, while positive, made monotone."""
    rho = rho.copy()
    rho[0] = 1.0
    pairs = rho[: (len(rho) - 1) // 2 * 2].reshape(-1, 2).sum(axis=1)
    stop = int(np.argmax(pairs <= 0)) if (pairs <= 0).any() else len(pairs) - 1
    kept = np.minimum.accumulate(pairs[:stop])
    return float(-1 + 2 * kept.sum() + max(rho[2 * stop], 0.0))


def _autocovariance(chain: Draws) -> Draws:
    n = chain.size
    centred = np.concatenate([chain - chain.mean(), np.zeros(n)])
    spectrum = np.fft.rfft(centred)
    return np.asarray(np.fft.irfft(spectrum * np.conj(spectrum), 2 * n)[:n] / n)


def _plain_r_hat(x: Draws) -> float:
    n = x.shape[1]
    within, between = x.var(axis=1, ddof=1).mean(), n * x.mean(axis=1).var(ddof=1)
    return float(np.sqrt((between / within + n - 1) / n)) if within > 0 else float("nan")


def _halves(draws: Draws) -> Draws:
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _normalised(x: Draws) -> Draws:
    """Φ⁻¹((rank − 3/8)/(S + 1/4)), ties at their average rank."""
    _, place, count = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    rank = (last - (count - 1) / 2)[place].reshape(x.shape)
    return np.asarray(ndtri((rank - 0.375) / (x.size + 0.25)))
