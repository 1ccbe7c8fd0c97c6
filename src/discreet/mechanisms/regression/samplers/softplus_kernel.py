# mypy: disable-error-code="untyped-decorator,no-any-return,return-value"
# ruff: noqa: PLR0917 (a kernel takes arrays, not objects)
"""Σ ln(1 + e^{x}) − ln(1 + e^{x₀}) over records, from IEEE basic operations, with a proved error bound.

ln(1 + e^x) = max(x, 0) + ln(1 + e^{−|x|}): the factors 1 + e^{−|x|} ∈ (1, 2] are multiplied, and one
logarithm is taken of 128 of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.compiled import inlined, kernel
from discreet.sampling.in_bulk.elementary import _INVERSE_LN2, _LN2_HIGH, _LN2_LOW, log, near_zero

Floats = NDArray[np.float64]


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
