"""Logarithms of generating functions Σ m(j) e^{zj} for complex z, without overflow however far the tilt.

The real part of z is one number a row: along a line in the imaginary direction it does not change.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.families.family import Floats

Complexes = NDArray[np.complex128]


TINY = 1e-9  # x below which Σ_{i<k} e^{xi} is k(1 + (k−1)x/2)
ELEMENTS = 2**21  # complex numbers in memory at once


def log_sum(*terms: Complexes) -> Complexes:
    """Log Σ exp(term), the largest real part taken out."""
    top = np.max(
        [np.broadcast_to(term.real, np.broadcast_shapes(*map(np.shape, terms))) for term in terms], axis=0
    )
    top = np.where(np.isfinite(top), top, 0.0)
    return np.asarray(top + _log(np.sum([np.exp(term - top) for term in terms], axis=0)))


def log_geometric(x: Complexes, count: Floats | int) -> Complexes:
    """Log Σ_{0 ≤ i < count} e^{xi}, from the side on which the terms fall."""
    count = np.asarray(count, dtype=np.float64)
    rising = x.real > 0
    falling = np.where(rising, -x, x)
    near = np.abs(falling) * np.maximum(count, 1) < TINY
    safe = np.where(near, -1.0, falling)
    total = np.where(near, count * (1 + (count - 1) * falling / 2), np.expm1(count * safe) / np.expm1(safe))
    return np.asarray(_log(total) + np.where(rising, (count - 1) * x, 0.0))


def log_levels(log_mass: Floats, start: Floats, z: Complexes) -> Complexes:
    """Log Σ_ℓ m(ℓ) e^{z(start + ℓ)} of rows of log masses: √L·√L factors instead of L exponentials."""
    rows, levels = log_mass.shape
    each = max(1, int(ELEMENTS // (z.shape[1] * int(np.ceil(levels**0.5)))))
    if rows > each:
        parts = [slice(i, i + each) for i in range(0, rows, each)]
        return np.concatenate([log_levels(log_mass[p], start[p], z[p]) for p in parts])
    weight = log_mass + z[:, :1].real * (start[:, None] + np.arange(levels))
    top = weight.max(axis=1, keepdims=True)
    side = int(np.ceil(levels**0.5))
    mass = np.zeros((rows, side * side))
    mass[:, :levels] = np.exp(weight - top)
    t = z.imag[:, None, :]
    steps = np.arange(side)[:, None]
    inner = mass.reshape(rows, side, side) @ np.exp(1j * t * steps)
    total = (inner * np.exp(1j * t * (side * steps))).sum(axis=1)
    return np.asarray(top + _log(total) + 1j * z.imag * start[:, None])


def _log(total: Complexes) -> Complexes:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(total))
