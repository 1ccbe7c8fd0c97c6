"""Whether chains agree: rank-normalised split R̂ and bulk effective sample size [Vehtari et al. 2021]."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Draws: TypeAlias = NDArray[np.float64]  # (chains, steps, …): every further axis is of quantities

LEAST = 4  # draws per chain below which nothing can be said
FEW = 8  # pairs of lags, all of which are summed: to leave out the last would forgive chains that stand still


def r_hat(draws: Draws) -> Draws:
    """Max of R̂ of the rank-normalised and of the folded draws, chains split, by quantity [ibid. eq. 14].

    ∞ where chains stand still at different values, 1 where nothing varies, NaN where nothing can be said.
    """
    if draws.shape[1] < LEAST:
        return np.full(draws.shape[2:], np.nan)
    folded = np.abs(draws - np.median(draws, axis=(0, 1)))
    both = [_plain(_normalised(_halves(x))) for x in (draws, folded)]
    return _where_finite(draws, np.maximum(*both))


def effective_size(draws: Draws) -> Draws:
    """Bulk ESS of the rank-normalised split chains, Geyer's initial monotone sequence [ibid. §3]."""
    if draws.shape[1] < LEAST:
        return np.full(draws.shape[2:], np.nan)
    x = _normalised(_halves(draws))
    m, n = x.shape[:2]
    within, between = _variances(x)
    total = within * (n - 1) / n + between
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = np.where(total > 0, 1 - (within - _autocovariance(x).mean(axis=0)) / total, 0.0)
    rho[0] = 1.0
    least = 1 / np.log10(max(m * n, 10))
    return _where_finite(draws, m * n / np.maximum(_integrated(rho), least))


def _where_finite(draws: Draws, found: Draws) -> Draws:
    return np.where(np.isfinite(draws).all(axis=(0, 1)), found, np.nan)


def _plain(x: Draws) -> Draws:
    n = x.shape[1]
    within, between = _variances(x)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.sqrt((n - 1) / n + between / within)
    return np.where(within > 0, ratio, np.where(between > 0, np.inf, 1.0))


def _variances(x: Draws) -> tuple[Draws, Draws]:
    """Mean variance within a half chain, variance of their means; 0 where all are equal, rounding or not."""
    still, same = np.ptp(x, axis=1) == 0, np.ptp(x, axis=(0, 1)) == 0
    within = np.where(still, 0.0, x.var(axis=1, ddof=1)).mean(axis=0)
    return within, np.where(same, 0.0, x.mean(axis=1).var(axis=0, ddof=1))


def _integrated(rho: Draws) -> Draws:
    """−1 + 2Σ of pairs ρ_{2t} + ρ_{2t+1}, while positive, made monotone, and the first ρ behind them."""
    long = len(rho) > 2 * FEW
    many = (len(rho) - long) // 2
    pairs = rho[: 2 * many].reshape(many, 2, *rho.shape[1:]).sum(axis=1)
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    if long:
        positive[-1] = False  # as arviz does, which has a lag behind every pair
    kept = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=0).sum(axis=0)
    padded = np.concatenate([rho, np.zeros_like(rho[:1])])
    after = np.take_along_axis(padded, 2 * positive.sum(axis=0)[None], axis=0)[0]
    return np.asarray(-1 + 2 * kept + np.maximum(after, 0.0))


def _autocovariance(x: Draws) -> Draws:
    """(half chains, lags, …), by FFT, biased."""
    n = x.shape[1]
    spectrum = np.abs(np.fft.rfft(x - x.mean(axis=1, keepdims=True), 2 * n, axis=1)) ** 2
    return np.asarray(np.fft.irfft(spectrum, 2 * n, axis=1)[:, :n] / n)


def _halves(draws: Draws) -> Draws:
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _normalised(x: Draws) -> Draws:
    """Φ⁻¹((rank − 3/8)/(S + 1/4)), ties at their average rank."""
    flat = x.reshape(x.shape[0] * x.shape[1], -1)
    ranks = np.stack([average_ranks(column) for column in flat.T], axis=1)
    return np.asarray(ndtri((ranks - 0.375) / (flat.shape[0] + 0.25)).reshape(x.shape))


def average_ranks(x: Draws) -> Draws:
    """Return ranks from 1, ties at their average; NaN if any is. scipy.stats takes long to load for that."""
    if np.isnan(x).any():
        return np.full(x.size, np.nan)
    _, place, many = np.unique(x, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(many) - (many - 1) / 2)[place])
