# mypy: disable-error-code="untyped-decorator,no-any-return,no-untyped-call"
# mypy: disable-error-code="untyped-decorator,no-any-return,return-value"
# ruff: noqa: PLR0917 (a kernel takes arrays, not objects)
"""Compiled loops of the samplers; numba is loaded with this file, on first use."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.compiled import inlined, kernel, njit
from discreet.models.margin_losses import Floats
from discreet.sampling.in_bulk.elementary import _INVERSE_LN2, _LN2_HIGH, _LN2_LOW, log, near_zero

# ── Steps of the Langevin sampler over packed records; numba is loaded with this file, on first use.
# Sums may be taken in any order: the bound on their rounding (γ_n) holds for all.
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
def logistic_steps(
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


# ── Σ ln(1 + e^{x}) − ln(1 + e^{x₀}) over records, from IEEE basic operations, with a proved error bound.
# ln(1 + e^x) = max(x, 0) + ln(1 + e^{−|x|}): the factors 1 + e^{−|x|} ∈ (1, 2] are multiplied, and one
# logarithm is taken of 128 of them.
_SHIFT = 1.5 * 2.0**52  # adding it rounds to an integer, which is then in the last bits
_RUN = 128


@inlined
def decay(a: float) -> float:
    """e^{−a}, a ≥ 0, within 32u relatively: the series and the bound of elementary.exp, without a branch.

    Beyond a = 700, where 1 + e^{−a} is 1 all the same, a is taken as 700.
    """
    y = -min(a, 700.0)
    shifted = y * _INVERSE_LN2 + _SHIFT
    n = shifted - _SHIFT
    r = (y - n * _LN2_HIGH) - n * _LN2_LOW
    power = np.int64((np.float64(shifted).view(np.int64) + np.int64(1023)) << np.int64(52)).view(np.float64)
    return near_zero(r) * power


@kernel
def bases(x: Floats, inverses: Floats, lines: Floats) -> None:
    """1/(1 + e^{−|x₀|}) and max(x₀, 0)"""
    for i in range(x.size):
        inverses[i] = 1.0 / (1.0 + decay(abs(x[i])))
        lines[i] = max(x[i], 0.0)


@kernel
def increments(
    moved: Floats,
    s: Floats,
    y: Floats,
    inverses: Floats,
    lines: Floats,
    factors: Floats,
    parts: Floats,
    totals: Floats,
) -> None:
    """totals[b] = Σ_i ln(1 + e^{x}) − ln(1 + e^{x₀}), x = −y_i(s_i + moved[b, i]), x₀ = −y_i s_i.

    Error per record, beside that of the margins: 80u of the factors and logarithms (32u each for e^{−|x|} and
    e^{−|x₀|}, 7u of arithmetic, 16u·ln 2 of the logarithm), and (_RUN/4 + 40)u·|x − x₀| of the sums.
    """
    k = moved.shape[1]
    for b in range(moved.shape[0]):
        row = moved[b]
        for i in range(k):
            x = -y[i] * (s[i] + row[i])
            parts[i] = max(x, 0.0) - lines[i]
            factors[i] = (1.0 + decay(abs(x))) * inverses[i]
        total = 0.0
        for start in range(0, k, _RUN):
            stop = min(start + _RUN, k)
            even = start + (stop - start) // 4 * 4
            p0, p1, p2, p3, a0, a1, a2, a3 = 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0
            for i in range(start, even, 4):
                p0 *= factors[i]
                p1 *= factors[i + 1]
                p2 *= factors[i + 2]
                p3 *= factors[i + 3]
                a0 += parts[i]
                a1 += parts[i + 1]
                a2 += parts[i + 2]
                a3 += parts[i + 3]
            for i in range(even, stop):
                p0 *= factors[i]
                a0 += parts[i]
            total += log((p0 * p1) * (p2 * p3)) + ((a0 + a1) + (a2 + a3))
        totals[b] = total
