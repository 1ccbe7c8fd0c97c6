# mypy: disable-error-code="untyped-decorator,no-any-return,no-untyped-call"
"""Steps of the Langevin sampler over packed records; numba is loaded with this file, on first use.

Sums may be taken in any order: the bound on their rounding (γ_n) holds for all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.compiled import njit
from discreet.models.margin_losses import Floats

MAGIC = 6755399441055744.0  # 1.5·2^52: adding it rounds to a whole number, kept in the low bits
PER_LN2, LN2_HIGH, LN2_LOW = 1.4426950408889634, 0.6931471803691238, 1.9082149292705877e-10
FAR = 40.0  # σ(−40) < 2^-57
SERIES = np.array(
    [1 / 39916800, 1 / 3628800, 1 / 362880, 1 / 40320, 1 / 5040, 1 / 720, 1 / 120, 1 / 24, 1 / 6]
)


def compiled(*allowed: str) -> Any:  # noqa: ANN401 - a decorator of numba's
    return njit(nogil=True, error_model="numpy", fastmath=set(allowed))


@compiled("contract")
def slopes(s: Floats, y: Floats, power: Floats, bits: NDArray[np.int64], series: Floats) -> None:
    """Put −y/(1 + e^{ys}) for s, to 2^-45; `bits` are those of `power`. Loops that fill the vector units."""
    c11, c10, c9, c8, c7, c6, c5, c4, c3 = series
    for i in range(s.size):
        x = min(max(s[i] * y[i], -FAR), FAR)
        s[i] = x
        power[i] = x * PER_LN2 + MAGIC
    for i in range(s.size):
        k = power[i] - MAGIC
        s[i] = (s[i] - k * LN2_HIGH) - k * LN2_LOW
    for i in range(s.size):
        bits[i] = (bits[i] + 1023) << 52
    for i in range(s.size):
        r = s[i]
        p = ((((c11 * r + c10) * r + c9) * r + c8) * r + c7) * r + c6
        p = ((((p * r + c5) * r + c4) * r + c3) * r + 0.5) * r + 1.0
        s[i] = -y[i] / (1.0 + power[i] * (p * r + 1.0))


@compiled("reassoc", "contract")
def add_margins(rows: Floats, w: Floats, s: Floats) -> None:
    """Margins Σ_j w_j x_j, four columns at a time; rows is d × block."""
    d, size = rows.shape
    s[:] = 0.0
    whole = d - d % 4
    for j in range(0, whole, 4):
        a, b, c, e = w[j], w[j + 1], w[j + 2], w[j + 3]
        for i in range(size):
            s[i] += a * rows[j, i] + b * rows[j + 1, i] + c * rows[j + 2, i] + e * rows[j + 3, i]
    for j in range(whole, d):
        a = w[j]
        for i in range(size):
            s[i] += a * rows[j, i]


@compiled("reassoc", "contract")
def add_gradient(rows: Floats, s: Floats, total: Floats) -> None:
    """total_j += Σ_i s_i x_ij"""
    d, size = rows.shape
    whole = d - d % 4
    for j in range(0, whole, 4):
        a = b = c = e = 0.0
        for i in range(size):
            v = s[i]
            a += v * rows[j, i]
            b += v * rows[j + 1, i]
            c += v * rows[j + 2, i]
            e += v * rows[j + 3, i]
        total[j] += a
        total[j + 1] += b
        total[j + 2] += c
        total[j + 3] += e
    for j in range(whole, d):
        a = 0.0
        for i in range(size):
            a += s[i] * rows[j, i]
        total[j] += a


@compiled()
def logistic_steps(  # noqa: PLR0917 - numba takes flat arguments
    rows: Floats, answers: Floats, w: Floats, noise: Floats, settings: tuple[float, ...], series: Floats
) -> None:
    """Step to round_g(w − hmw − hρΣ∇ℓ) + noise, in the box; w is chains × d, noise steps × chains × d."""
    pull, push, box, grid = settings
    s, power, total = np.empty(rows.shape[2]), np.empty(rows.shape[2]), np.empty(w.shape)
    bits = power.view(np.int64)
    for k in range(noise.shape[0]):
        total[:] = 0.0
        for b in range(rows.shape[0]):
            for i in range(w.shape[0]):
                add_margins(rows[b], w[i], s)
                slopes(s, answers[b], power, bits, series)
                add_gradient(rows[b], s, total[i])
        for i in range(w.shape[0]):
            for j in range(w.shape[1]):
                mean = w[i, j] - (pull * w[i, j] + push * total[i, j])
                w[i, j] = min(max(np.rint(mean / grid) * grid + noise[k, i, j], -box), box)
