# mypy: disable-error-code="untyped-decorator,no-any-return"
# ruff: noqa: PLR0917 (a kernel takes arrays and numbers, not objects)
"""Noisy counts of very many cells: nearly independent given a tilt u, so that they are drawn so; compiled.

s_j ∝ w_j(s)·u^s with u such that the expected total is right; then cells are drawn again at random, keeping
what brings the total nearer, until it is right. That touches a share of O(d^{−½}) of d cells, and moves each
by no more than its own spread; sweeps of exchanges, which leave the exact law as it is, settle what is left.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.compiled import njit
from discreet.inference.noise_aware_dirichlet_kernel import exchange

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.families.family import Floats


@njit
def _tabulate(
    table: Floats,
    alpha: float,
    noisy: float,
    scale: float,
    laplacian: bool,  # noqa: FBT001
    reach: float,
    tilt: float,
) -> tuple[int, int]:
    """Cumulated w(s)·u^s from the first s that matters, by w(s+1)/w(s) = u·(s+α)/(s+1)·noise's ratio."""
    first = int(max(0.0, math.floor(noisy - reach)))
    size = min(table.size, int(max(0.0, noisy) + reach) - first + 2)
    u, w, total = math.exp(tilt), 1.0, 1.0
    away, back = math.exp(-1 / scale), math.exp(1 / scale)
    narrow = math.exp(-1 / (scale * scale))
    ratio = math.exp((2 * (noisy - first) - 1) / (2 * scale * scale))
    table[0] = 1.0
    for k in range(1, size):
        s = first + k - 1
        if laplacian:
            gap = noisy - s  # |gap| − |gap − 1| is 1, −1 or in between
            ratio = back if gap >= 1 else (away if gap <= 0 else math.exp((2 * gap - 1) / scale))
        w *= u * (s + alpha) / (s + 1) * ratio
        if not laplacian:
            ratio *= narrow
        total += w
        table[k] = total
        if s > noisy and w < 1e-12 * total:
            return first, k + 1
    return first, size


@njit
def moments(
    alpha: Floats,
    noisy: Floats,
    scale: float,
    laplacian: bool,  # noqa: FBT001
    reach: float,
    tilt: float,
) -> tuple[float, float, float]:
    """K(ln u) = Σ_j ln Σ_s w_j(s)u^s up to a constant, and its derivatives, the total's mean and variance."""
    table = np.empty(int(2 * reach) + 4)
    log = mean = variance = 0.0
    for j in range(alpha.size):
        first, size = _tabulate(table, alpha[j], noisy[j], scale, laplacian, reach, tilt)
        one = two = 0.0
        for k in range(1, size):
            w = (table[k] - table[k - 1]) / table[size - 1]
            one += w * k
            two += w * k * k
        log += math.log(table[size - 1]) + tilt * first
        mean += first + one
        variance += two - one * one
    return log, mean, variance


@njit
def draw(
    alpha: Floats,
    noisy: Floats,
    scale: float,
    laplacian: bool,  # noqa: FBT001
    reach: float,
    tilt: float,
    totals: NDArray[np.int64],
    sweeps: int,
    seed: int,
) -> NDArray[np.int32]:
    """One set of counts for each wanted total."""
    np.random.seed(seed)  # noqa: NPY002 - numba's own stream
    d, table = alpha.size, np.empty(int(2 * reach) + 4)
    counts = np.empty((totals.size, d), dtype=np.int32)
    for j in range(d):
        first, size = _tabulate(table, alpha[j], noisy[j], scale, laplacian, reach, tilt)
        for k in range(totals.size):
            u = np.random.random() * table[size - 1]  # noqa: NPY002
            counts[k, j] = first + np.searchsorted(table[:size], u, side="right")
    order, wide, s = np.arange(d), math.log(max(2.0, reach / 8)), np.empty(d, dtype=np.int64)
    for k in range(totals.size):
        s[:] = counts[k]
        off = s.sum() - totals[k]
        while off != 0:
            j = np.random.randint(d)  # noqa: NPY002
            first, size = _tabulate(table, alpha[j], noisy[j], scale, laplacian, reach, tilt)
            u = np.random.random() * table[size - 1]  # noqa: NPY002
            moved = first + np.searchsorted(table[:size], u, side="right") - s[j]
            if abs(off + moved) <= abs(off):
                s[j] += moved
                off += moved
        for _ in range(sweeps):
            exchange(s, order, noisy, alpha, scale, laplacian, wide)
        counts[k] = s
    return counts
