# ruff: noqa: PLR0917 (a kernel takes arrays and numbers, not objects)
# mypy: disable-error-code="untyped-decorator,no-any-return"
"""Attempts in float64 with running error bounds: each decision is certain, or left to ball arithmetic.

A row of 64-bit words is one attempt; word k stands for every uniform in [k, k+1]·2^-64. Bounds are first
order with a factor ≥ 1.01 to spare, which covers second-order terms because whatever errs by more than COARSE
is left undecided. `u` is the unit roundoff, `w` the width of a word in last places, both times the test hook
INFLATE.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from discreet.sampling.elementary import EXP_ERROR, EXP_RANGE, LOG_ERROR, exp, log

if TYPE_CHECKING:
    from discreet.sampling.source import Words

REJECT, ACCEPT, UNSURE = 0, 1, 2
COARSE = 2.0**-10
_ROOT_8_OVER_E = 1.7155277699214135  # √(8/e), relative error ≤ u
_WORD = 2.0**-64
_TOP = np.uint64(1 << 63)


@njit(cache=True, error_model="numpy", inline="always")
def uniform(word: int, u: float, w: float) -> tuple[float, float]:
    """U = x(1 ± e): converting the word errs by u, its unseen bits by 1/k"""
    k = float(word)
    return k * _WORD, 2.0 * u + w / k


@njit(cache=True, error_model="numpy", inline="always")
def log_uniform(word: int, u: float, w: float) -> tuple[float, float]:
    """Ln U = y ± e, with e = inf where U is too coarse"""
    x, ex = uniform(word, u, w)
    if not ex <= COARSE:
        return -1.0, np.inf
    y = log(x)
    return y, 1.01 * ex - LOG_ERROR * u * y


@njit(cache=True, error_model="numpy", inline="always")
def normal(first: int, second: int, u: float, w: float) -> tuple[int, float, float]:
    """(decision, z, relative error): z = √(8/e)(V − ½)/U, accepted iff z²/4 ≤ −ln U"""
    x, ex = uniform(first, u, w)
    centred = float(np.int64(second ^ _TOP))
    ev = 2.0 * u + w / abs(centred)
    if not ex + ev <= COARSE:
        return UNSURE, 0.0, 0.0
    z = _ROOT_8_OVER_E * (centred * _WORD) / x
    ez = 1.01 * (ex + ev + 4.0 * u)
    quarter, level = 0.25 * z * z, -log(x)
    margin = quarter * (2.05 * ez + 4.0 * u) + level * (LOG_ERROR + 2.0) * u + 1.01 * ex
    gap = level - quarter
    if gap > margin:
        return ACCEPT, z, ez
    return (REJECT if gap < -margin else UNSURE), z, ez


@njit(cache=True, error_model="numpy", inline="always")
def log_acceptance(
    z: float, ez: float, x: float, ex: float, t: float, et: float, d: float, ed: float, u: float
) -> tuple[float, float]:
    """H = z²/2 + d(1 − t³ + 3 ln t), x = t − 1 = z/(3√d), and its absolute error.

    Near 0 the terms cancel: h = −3d x⁴(¼ − x/5 + x²/6 − …); for |x| ≤ 1/16 the bracket is ≥ 0.23, the first
    term left out is x¹³/17 < 2^-56, and x·(bracket)'/bracket ≤ 0.08.
    """
    if abs(x) <= 0.0625:
        s = 1.0 / 16.0
        s = 1.0 / 15.0 - x * s
        s = 1.0 / 14.0 - x * s
        s = 1.0 / 13.0 - x * s
        s = 1.0 / 12.0 - x * s
        s = 1.0 / 11.0 - x * s
        s = 1.0 / 10.0 - x * s
        s = 1.0 / 9.0 - x * s
        s = 1.0 / 8.0 - x * s
        s = 1.0 / 7.0 - x * s
        s = 1.0 / 6.0 - x * s
        s = 1.0 / 5.0 - x * s
        s = 0.25 - x * s
        h = -3.0 * d * ((x * x) * (x * x)) * s
        return h, -h * (4.2 * ex + ed + 24.0 * u)
    cube, tall = t * t * t, 3.0 * log(t)
    half = 0.5 * z * z
    bracket = 1.0 - cube + tall
    inner = cube * (3.05 * et + 4.0 * u) + abs(tall) * (LOG_ERROR + 4.0) * u + 3.05 * et + 4.0 * u
    eh = half * (2.05 * ez + 4.0 * u) + d * (inner + abs(bracket) * (ed + 2.0 * u))
    h = half + d * bracket
    return h, 1.01 * (eh + abs(h) * u)


@njit(cache=True, error_model="numpy", inline="always")
def gamma(row: Words, a: float, boost: bool, u: float, w: float) -> tuple[int, float, int, float]:  # noqa: FBT001
    """(decision, g, n, e): G = g·2ⁿ(1 ± e) by Marsaglia and Tsang, boosted by U₄^(1/a) below shape 1.

    a errs by u, so d = a − ⅓ ≥ ⅔ by 4u and 1/(3√d) by 6u.
    """
    decision, z, ez = normal(row[0], row[1], u, w)
    if decision != ACCEPT:
        return decision, 0.0, 0, 0.0
    d = a + 1.0 - 1.0 / 3.0 if boost else a - 1.0 / 3.0
    ed = 4.0 * u
    x = z / (3.0 * math.sqrt(d))
    ex = 1.01 * (ez + 8.0 * u)
    t = 1.0 + x
    et = 1.01 * abs(x) * ex + abs(t) * u
    if t < -et:
        return REJECT, 0.0, 0, 0.0
    if not et <= COARSE * t:
        return UNSURE, 0.0, 0, 0.0
    et = 1.01 * et / t
    level, el = log_uniform(row[2], u, w)
    h, eh = log_acceptance(z, ez, x, ex, t, et, d, ed, u)
    gap, margin = h - level, 1.01 * (el + eh + (abs(h) - level) * u)
    if not gap > margin:
        return (REJECT if gap < -margin else UNSURE), 0.0, 0, 0.0
    g, e = d * (t * t * t), 1.01 * (ed + 3.05 * et + 4.0 * u)
    return boosted(row, a, g, e, u, w) if boost else (ACCEPT, g, 0, e)


@njit(cache=True, error_model="numpy", inline="always")
def boosted(row: Words, a: float, g: float, e: float, u: float, w: float) -> tuple[int, float, int, float]:
    """G·exp(ln U₄/a)"""
    level, el = log_uniform(row[3], u, w)
    y = level / a
    ey = 1.01 * (el / a - y * 4.0 * u)
    if not (ey <= COARSE and y >= -EXP_RANGE):
        return UNSURE, 0.0, 0, 0.0
    m, n = exp(y)
    return ACCEPT, g * m, n, 1.01 * (e + 1.01 * ey + (EXP_ERROR + 2.0) * u)
