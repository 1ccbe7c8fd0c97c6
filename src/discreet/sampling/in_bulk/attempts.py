# ruff: noqa: PLR0917 (a kernel takes arrays and numbers, not objects)
# mypy: disable-error-code="untyped-decorator,no-any-return"
"""Attempts in float64 with running error bounds: each decision is certain, or left to ball arithmetic.

A row of 64-bit words is one attempt; word k stands for every uniform in [k, k+1]·2^-64. Bounds are first
order with a factor ≥ 1.01 to spare, which covers second-order terms because whatever errs by more than COARSE
is left undecided. `u` is the unit roundoff, `w` the width of a word in last places, both times the test hook
INFLATE.
"""

from __future__ import annotations

import numpy as np

from discreet.compiled import inlined
from discreet.sampling.in_bulk.elementary import EXP_ERROR, EXP_RANGE, LOG_ERROR, exp, log
from discreet.sampling.in_bulk.strips import LOG_LEVEL_ERROR, LOG_LEVELS, QUICK, TABLE, TAIL
from discreet.sampling.source import Words

REJECT, ACCEPT, UNSURE = 0, 1, 2
COARSE = 2.0**-10
_WORD, _HALF = 2.0**-64, 2.0**-32
_LOW12, _SIGN, _LOW32 = np.uint64(4095), np.uint64(4096), np.uint64(0xFFFFFFFF)
_13, _32, _51 = np.uint64(13), np.uint64(32), np.uint64(51)


@inlined
def uniform(word: int, u: float, w: float) -> tuple[float, float]:
    """U = x(1 ± e): converting the word errs by u, its unseen bits by 1/k"""
    k = float(word)
    return k * _WORD, 2.0 * u + w / k


@inlined
def log_uniform(word: int, u: float, w: float) -> tuple[float, float]:
    """Ln U = y ± e, with e = inf where U is too coarse"""
    x, ex = uniform(word, u, w)
    if not ex <= COARSE:
        return -1.0, np.inf
    y = log(x)
    return y, 1.01 * ex - LOG_ERROR * u * y


@inlined
def log_half(half: int, u: float, w: float) -> tuple[float, float]:
    """Ln U = y ± e for a uniform of 32 bits"""
    k = float(half)
    e = 2.0 * u + w / k
    if not e <= COARSE:
        return -1.0, np.inf
    y = log(k * _HALF)
    return y, 1.01 * e - LOG_ERROR * u * y


@inlined
def normal(word: int, half: int, u: float, w: float) -> tuple[int, float, float]:
    """(decision, z, relative error) of a proposal from strips.py, accepted by the 32 bits `half`"""
    strip = np.int64(TABLE[word & _LOW12])
    fraction = word >> _13
    if strip < TAIL:
        k = float((np.uint64(strip) << _51) | fraction)
        x, ex = k * 2.0**-56, 2.0 * u + w / k
        y, ey = x, ex
        if (float(half) + w) * _HALF < QUICK[strip] and ex <= COARSE:
            return ACCEPT, (-x if word & _SIGN else x), ex
    else:
        k = float(fraction)
        e = 2.0 * u + w / k
        if not e <= COARSE:
            return UNSURE, 0.0, 0.0
        y = -0.25 * log(k * 2.0**-51)
        x, absolute = 4.0 + y, 0.26 * e + (LOG_ERROR + 2.0) * u * y
        ex, ey = 1.01 * absolute / x + u, 1.01 * absolute / y
    level, el = log_half(half, u, w)
    square = 0.5 * y * y
    margin = 1.01 * (square * (2.05 * ey + 4.0 * u) + el + LOG_LEVEL_ERROR + 4.0 * u * (1.0 - level))
    gap = LOG_LEVELS[strip] - square - level
    if not ex + ey <= COARSE:
        return UNSURE, 0.0, 0.0
    if gap > margin:
        return ACCEPT, (-x if word & _SIGN else x), ex
    return (REJECT if gap < -margin else UNSURE), 0.0, 0.0


@inlined
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


@inlined
def gamma(
    row: Words,
    a: float,
    d: float,
    c: float,
    boost: bool,  # noqa: FBT001
    u: float,
    w: float,
) -> tuple[int, float, int, float]:
    """(decision, g, n, e): G = g·2ⁿ(1 ± e) by Marsaglia and Tsang, boosted by U^(1/a) below shape 1.

    a errs by u, d = a − ⅓ ≥ ⅔ by 4u and c = 1/(3√d) by 6u. Since e^h ≥ 1 + h, and
    h ≥ −3d x⁴(¼ + |x|/5 + x²/3) for |x| ≤ ½, a uniform below 1 minus that is accepted without logarithms.
    """
    decision, z, ez = normal(row[0], row[1] >> _32, u, w)
    if decision != ACCEPT:
        return decision, 0.0, 0, 0.0
    ed = 4.0 * u
    x = z * c
    ex = 1.01 * (ez + 8.0 * u)
    t = 1.0 + x
    et = 1.01 * abs(x) * ex + abs(t) * u
    if t < -et:
        return REJECT, 0.0, 0, 0.0
    if not et <= COARSE * t:
        return UNSURE, 0.0, 0, 0.0
    et = 1.01 * et / t
    half, size = row[1] & _LOW32, abs(x)
    bound = 3.0 * d * (x * x) * (x * x) * (0.25 + 0.2 * size + 0.34 * x * x) * (1.0 + 5.0 * ex + 32.0 * u)
    if not (size <= 0.5 and (float(half) + w) * _HALF < 1.0 - bound - 4.0 * u):
        level, el = log_half(half, u, w)
        h, eh = log_acceptance(z, ez, x, ex, t, et, d, ed, u)
        gap, margin = h - level, 1.01 * (el + eh + (abs(h) - level) * u)
        if not gap > margin:
            return (REJECT if gap < -margin else UNSURE), 0.0, 0, 0.0
    g, e = d * (t * t * t), 1.01 * (ed + 3.05 * et + 4.0 * u)
    return boosted(row[2], a, g, e, u, w) if boost else (ACCEPT, g, 0, e)


@inlined
def boosted(word: int, a: float, g: float, e: float, u: float, w: float) -> tuple[int, float, int, float]:
    """G·exp(ln U/a)"""
    level, el = log_uniform(word, u, w)
    y = level / a
    ey = 1.01 * (el / a - y * 4.0 * u)
    if not (ey <= COARSE and y >= -EXP_RANGE):
        return UNSURE, 0.0, 0, 0.0
    m, n = exp(y)
    return ACCEPT, g * m, n, 1.01 * (e + 1.01 * ey + (EXP_ERROR + 2.0) * u)
