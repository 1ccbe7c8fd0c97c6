"""What several chains say of themselves: R-hat and effective sample size [Vehtari et al. 2021]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

if TYPE_CHECKING:
    from discreet.families.family import Floats


def r_hat(chains: Floats) -> Floats:
    """Rank-normalised split R̂ of draws (chains, draws, …), for every coordinate; 1 where nothing varies."""
    z = _normal_scores(_split(chains))
    draws = z.shape[1]
    within = z.var(axis=1, ddof=1).mean(axis=0)
    between = z.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.sqrt((draws - 1) / draws + between / within)
    return np.where(within > 0, ratio, np.where(between > 0, np.inf, 1.0))


def ess(chains: Floats) -> Floats:
    """Bulk effective sample size of draws (chains, draws, …): Geyer's initial monotone sequence."""
    z = _normal_scores(_split(chains))
    halves, draws = z.shape[:2]
    within = z.var(axis=1, ddof=1).mean(axis=0)
    total = within * (draws - 1) / draws + z.mean(axis=1).var(axis=0, ddof=1)
    covariance = _autocovariance(z).mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = np.where(total > 0, 1 - (within - covariance) / total, 0.0)
    rho[0] = 1.0
    pairs = rho[: draws // 2 * 2].reshape(draws // 2, 2, *rho.shape[1:]).sum(axis=1)
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    monotone = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=0)
    time = np.maximum(2 * monotone.sum(axis=0) - 1, 1 / np.log10(max(halves * draws, 10)))
    return np.asarray(halves * draws / time)


def _split(chains: Floats) -> Floats:
    half = chains.shape[1] // 2
    if half < 2:
        raise ValueError("R-hat and ESS need at least 4 draws a chain")
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def _normal_scores(halves: Floats) -> Floats:
    """Φ⁻¹((rank − 3/8)/(S + 1/4)) over all draws of a coordinate."""
    flat = halves.reshape(halves.shape[0] * halves.shape[1], -1)
    ranks = rankdata(flat, axis=0)
    return np.asarray(ndtri((ranks - 0.375) / (flat.shape[0] + 0.25)).reshape(halves.shape))


def _autocovariance(z: Floats) -> Floats:
    """(halves, lags, …), by FFT, biased."""
    draws = z.shape[1]
    centred = z - z.mean(axis=1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(centred, 2 * draws, axis=1)) ** 2
    return np.asarray(np.fft.irfft(spectrum, axis=1)[:, :draws] / draws)
