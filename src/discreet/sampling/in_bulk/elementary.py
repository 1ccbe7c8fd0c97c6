# mypy: disable-error-code="untyped-decorator,return-value"
"""Logarithm and exponential from IEEE basic operations, with proved error bounds (numba, never fast-math).

Throughout u = 2^-53 is the unit roundoff: each of + − × ÷ √ errs relatively by at most u. A fused
multiply-add would only be more accurate. Library functions promise nothing, hence these.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.compiled import inlined

ROUNDOFF = 2.0**-53
LOG_ERROR = 16.0  # |log(x) − ln x| ≤ 16u·|ln x|
EXP_ERROR = 32.0  # |m·2ⁿ − exp(y)| ≤ 32u·exp(y) for |y| ≤ EXP_RANGE
EXP_RANGE = 1.0e6

_LN2_HIGH = 2977044471.0 * 2.0**-32  # 32 bits: n·high is exact for |n| < 2²¹
_LN2_LOW = 1.9082149292705877e-10  # ln 2 − high, relative error ≤ u
_INVERSE_LN2 = 1.4426950408889634
_FRACTION = np.int64((1 << 52) - 1)
_ONE = np.int64(1023 << 52)
_HALF_ROOT = 1.4142135623730951


@inlined
def log(x: float) -> float:
    """Return ln x for a normal x > 0: x = 2ⁿm, m ∈ [√½, √2), ln m = 2 artanh(s), s = (m−1)/(m+1).

    Bound: m − 1 is exact (Sterbenz), so s errs by 2u and s² by 5u relatively; |s| ≤ 0.1716, the first term
    left out is s²⁴/25 < 2^-65, the bracket is 1 + c, 0 ≤ c < 0.0101, so ln m errs by < 2u + 1.1u + u < 5u.
    n·high is exact, n·low errs by < 2^-10·3u; n ≠ 0 implies |ln x| ≥ 0.3465 and |n| ln 2 ≤ 3|ln x|, so the
    two sums add at most 2u·(3 + 1) + 0.01u, and 5u + 8u + 0.01u < 16u.
    """
    bits = np.float64(x).view(np.int64)
    n = (bits >> 52) - 1023
    m = np.int64((bits & _FRACTION) | _ONE).view(np.float64)
    if m > _HALF_ROOT:
        m *= 0.5
        n += 1
    f = m - 1.0
    s = f / (m + 1.0)
    q = s * s
    series = 1.0 / 23.0
    series = series * q + 1.0 / 21.0
    series = series * q + 1.0 / 19.0
    series = series * q + 1.0 / 17.0
    series = series * q + 1.0 / 15.0
    series = series * q + 1.0 / 13.0
    series = series * q + 1.0 / 11.0
    series = series * q + 1.0 / 9.0
    series = series * q + 1.0 / 7.0
    series = series * q + 1.0 / 5.0
    series = series * q + 1.0 / 3.0
    tail = 2.0 * s * (1.0 + series * q)
    return float(n) * _LN2_HIGH + (float(n) * _LN2_LOW + tail)


@inlined
def near_zero(r: float) -> float:
    """Return eʳ for |r| ≤ 0.3466 by Taylor's series; its error is that of `exp`."""
    series = 1.0 / 6227020800.0
    series = series * r + 1.0 / 479001600.0
    series = series * r + 1.0 / 39916800.0
    series = series * r + 1.0 / 3628800.0
    series = series * r + 1.0 / 362880.0
    series = series * r + 1.0 / 40320.0
    series = series * r + 1.0 / 5040.0
    series = series * r + 1.0 / 720.0
    series = series * r + 1.0 / 120.0
    series = series * r + 1.0 / 24.0
    series = series * r + 1.0 / 6.0
    series = series * r + 0.5
    return 1.0 + (r + r * r * series)


@inlined
def exp(y: float) -> tuple[float, int]:
    """Return m, n such that m·2ⁿ = eʸ, m ∈ [0.7, 1.42), for |y| ≤ EXP_RANGE.

    Bound: n·high is exact and so is y − n·high (Sterbenz, or n = 0); n·low and its subtraction err by
    < u|r| + 2^-64, so r errs by < 0.8u. Taylor to degree 13 leaves out < 0.3466¹⁴/14!·1.42 < 0.1u. The terms'
    absolute sum is < 1.42 and Horner's rule errs by < 4u on them; m ≥ 0.70 makes < 8u < 32u relatively.
    """
    n = math.floor(y * _INVERSE_LN2 + 0.5)
    r = (y - n * _LN2_HIGH) - n * _LN2_LOW
    return near_zero(r), np.int64(n)
