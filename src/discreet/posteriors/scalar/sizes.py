"""A private number of records n: which values matter, and how many each of them stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.families.family import Floats
from discreet.posteriors.noise_law import NoiseLaw

NATS = 24.0  # an n that noise or prior make less likely by e^{−24} is left out
FEW = 64  # values that are all summed over
STEPS = ((4.0, 0.25), (np.inf, 0.8))  # up to so many deviations of n: cells of such a width
MOST = 2**23  # values at which a size prior is asked


def sizes(
    guess: float, noise: NoiseLaw, span: int, size_prior: Callable[[Any], Any] | None
) -> tuple[Floats, Floats]:
    """Return n and log of the prior mass that each stands for; A + B, noised, told `guess` of them."""
    reach = _reach(max(0.0, -guess), noise, span)
    low, high = max(0, int(np.floor(guess - reach))), max(1, int(np.ceil(guess + reach)))
    if size_prior is None:
        centre = np.clip(guess, low, high)
        edges = _edges(low, high, float(centre), noise.scale / span)
        return np.floor((edges[1:] + edges[:-1] - 1) / 2), np.log(np.diff(edges))
    asked = np.arange(min(2 * high + 1000, MOST))
    log = np.asarray(size_prior(asked), dtype=np.float64)
    likely = log + energy(np.asarray((asked - guess) * span, dtype=np.float64), noise)
    kept = likely > np.max(likely) - NATS
    return _thinned(asked[kept].astype(np.float64), log[kept], guess, noise.scale / span)


def energy(gap: Floats | float, noise: NoiseLaw) -> Floats:
    """Return the log density of two noises that sum to the gap, at best and but for its constant."""
    far = np.abs(np.asarray(gap, dtype=np.float64)) / noise.scale
    return np.asarray(-far if noise.laplacian else -(far**2) / 4)


def _reach(short: float, noise: NoiseLaw, span: int) -> float:
    """How many records from the guess the energy is NATS above its least; none are fewer than 0."""
    if noise.laplacian:
        return short + NATS * noise.scale / span
    return float((short**2 + 4 * NATS * (noise.scale / span) ** 2) ** 0.5)


def _edges(low: int, high: int, centre: float, scale: float) -> Floats:
    """Return ends of cells of odd numbers of integers, each with n in its middle; finest at the centre."""
    if high - low < FEW:
        return np.arange(low, high + 2, dtype=np.float64)
    right, left = [round(centre)], [round(centre)]
    while right[-1] <= high:
        right.append(right[-1] + _cell((right[-1] - centre) / scale, scale))
    while left[-1] > low:
        left.append(left[-1] - _cell((centre - left[-1]) / scale, scale))
    inner = np.clip(left[:0:-1] + right, low + 1, high)  # the first and the last n stand for themselves
    return np.unique(np.concatenate([[low, low + 1], inner, [high, high + 1]]).astype(np.float64))


def _cell(away: float, scale: float) -> int:
    """Nearest odd number below the width that is allowed so many deviations away."""
    width = next(width for limit, width in STEPS if away < limit)
    return max(1, 2 * int((width * scale - 1) // 2) + 1)


def _thinned(n: Floats, log: Floats, guess: float, scale: float) -> tuple[Floats, Floats]:
    """All values where they are few; else one for each cell, with the cell's prior mass and mean n."""
    if n.size <= 4 * FEW:
        return n, log
    edges = _edges(int(n[0]), int(n[-1]), float(np.clip(guess, n[0], n[-1])), scale)
    cell = np.searchsorted(edges, n, side="right") - 1
    mass = np.exp(log - log.max())
    each = np.bincount(cell, mass)
    middle = np.rint(np.bincount(cell, mass * n)[each > 0] / each[each > 0])
    return middle, np.log(each[each > 0]) + log.max()
