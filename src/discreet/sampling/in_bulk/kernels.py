# mypy: disable-error-code="untyped-decorator,no-any-return,return-value"
# ruff: noqa: PLR0917 (a kernel takes arrays and numbers, not objects)
"""Loops over attempts and the rounding of what they accepted; see attempts.py for the error analysis."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.compiled import inlined, kernel
from discreet.sampling.in_bulk.attempts import ACCEPT, COARSE, REJECT, UNSURE, gamma, log_uniform, normal
from discreet.sampling.in_bulk.elementary import LOG_ERROR, log
from discreet.sampling.source import Words

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Decisions = NDArray[np.int8]


_FLOAT24 = np.int64(~((1 << 29) - 1))
_SIGNED = 2.0**-63


@kernel
def gammas(
    words: Words,
    shapes: Floats,
    boosts: Flags,
    i: int,
    row: int,
    g: Floats,
    n: Integers,
    e: Floats,
    rows: Integers,
    u: float,
    w: float,
) -> tuple[int, int, int]:
    """Fill g[i:], … from words[row:] until done (REJECT), out of words (ACCEPT) or undecided (UNSURE).

    shapes holds (a, d, 1/(3√d)) in its columns.
    """
    k = shapes.shape[0]
    j = i % k
    while i < g.size:
        if row == words.shape[0]:
            return i, row, ACCEPT
        decision, value, power, error = gamma(
            words[row], shapes[j, 0], shapes[j, 1], shapes[j, 2], boosts[j], u, w
        )
        if decision == UNSURE:
            return i, row, UNSURE
        if decision == ACCEPT:
            g[i], n[i], e[i], rows[i] = value, power, error, row
            i += 1
            j = j + 1 if j + 1 < k else 0
        row += 1
    return i, row, REJECT


@kernel
def normals(words: Words, z: Floats, e: Floats, decisions: Decisions, u: float, w: float) -> None:
    """Judge every row."""
    for i in range(words.shape[0]):
        decisions[i], z[i], e[i] = normal(words[i, 0], words[i, 1] >> np.uint64(32), u, w)


@kernel
def shorten(
    g: Floats, n: Integers, e: Floats, factor: float, shift: int, draws: Floats, sure: Flags, u: float
) -> None:
    """G·factor·2^shift to 24 significant bits; factor errs by u"""
    for i in range(g.size):
        v, ev = g[i] * factor, 1.01 * (e[i] + 6.0 * u)
        low = (np.float64(v * (1.0 - ev)).view(np.int64) + (1 << 28)) & _FLOAT24
        high = (np.float64(v * (1.0 + ev)).view(np.int64) + (1 << 28)) & _FLOAT24
        sure[i] = low == high and ev <= COARSE
        draws[i] = saturate(low, n[i] + shift)


@inlined
def saturate(bits: int, power: int) -> float:
    """Return the double of these bits times 2^power in {0} ∪ [2^-1000, 2^1000]; it is normal and positive."""
    exponent = (bits >> 52) - 1022 + power
    if exponent <= -1000:
        return 0.0
    return 2.0**1000 if exponent > 1000 else np.int64(bits + (power << 52)).view(np.float64)


@inlined
def lowered(value: float, power: int) -> float:
    """value·2^power for power ≤ 0, at least about 2^-1000·value"""
    return value * np.int64((max(power, -1000) + 1023) << 52).view(np.float64)


@kernel
def shares(g: Floats, n: Integers, e: Floats, x: Floats, ex: Floats, u: float) -> None:
    """Set x_i = G_i/ΣG for one vector; the sum is compensated (TwoSum), erring by u + (K·u)²

    Powers of two are taken relative to the largest; what they push below 2^-900 errs by less than that.
    """
    top = n[0]
    for i in range(g.size):
        top = max(top, n[i])
    total, carry, weighted = 0.0, 0.0, 0.0
    for i in range(g.size):
        x[i] = lowered(g[i], n[i] - top)
        s = total + x[i]
        back = s - total
        carry += (total - (s - back)) + (x[i] - back)
        total = s
        weighted += x[i] * e[i]
    total += carry
    es = 1.01 * weighted / total + 4.0 * u
    inverse = 1.0 / total
    for i in range(g.size):
        x[i] *= inverse
        ex[i] = 1.01 * (e[i] + es + 4.0 * u)


@kernel
def dirichlets(
    g: Floats, n: Integers, e: Floats, width: int, bits: int, cells: Integers, sure: Flags, u: float
) -> None:
    """⌊x·2^bits + ½⌋ per coordinate, and whether it is certain"""
    scale = math.ldexp(1.0, bits)
    x, ex = np.empty(width), np.empty(width)
    for start in range(0, g.size, width):
        part = slice(start, start + width)
        shares(g[part], n[part], e[part], x, ex, u)
        for i in range(width):
            margin = 1.01 * x[i] * (ex[i] + 2.0 * u)
            cells[start + i], decision = cell(x[i] * scale, margin * scale + 2.0**-800)
            sure[start + i] = decision == ACCEPT


@kernel
def betas(
    g: Floats,
    n: Integers,
    e: Floats,
    lower: float,
    upper: float,
    bits: int,
    cells: Integers,
    decisions: Decisions,
    u: float,
) -> None:
    """⌊x·2^bits + ½⌋ of x = G₀/(G₀ + G₁) where lower < x < upper; the bounds err by u

    Positive terms: the sum errs by at most the larger of both errors, so x by e₀ + max(e₀, e₁) + 4u.
    """
    scale = math.ldexp(1.0, bits)
    bounded = lower > 0.0 or upper < 1.0
    for v in range(decisions.size):
        i, j = 2 * v, 2 * v + 1
        one, other = g[i], g[j]
        if n[i] != n[j]:
            one, other = lowered(one, min(n[i] - n[j], 0)), lowered(other, min(n[j] - n[i], 0))
        x = one / (one + other)
        margin = 1.01 * x * (e[i] + max(e[i], e[j]) + 6.0 * u)
        decisions[v] = inside(x, margin, lower, upper, u) if bounded else ACCEPT
        if decisions[v] == ACCEPT:
            cells[v], decisions[v] = cell(x * scale, margin * scale + 2.0**-800)


@inlined
def inside(x: float, margin: float, lower: float, upper: float, u: float) -> int:
    """Decide lower < x < upper; 0 and 1 bound nothing"""
    under, over = lower - x, x - upper
    slack = margin + 2.0 * u
    if (lower > 0.0 and under > slack) or (upper < 1.0 and over > slack):
        return REJECT
    if (lower > 0.0 and not under < -slack) or (upper < 1.0 and not over < -slack):
        return UNSURE
    return ACCEPT


@inlined
def cell(y: float, margin: float) -> tuple[int, int]:
    """⌊y + ½⌋ if certain"""
    k = math.floor(y + 0.5)
    sure = y - margin >= k - 0.5 and y + margin <= k + 0.5
    return np.int64(k), ACCEPT if sure else UNSURE


@kernel
def tilted(
    words: Words,
    line: Floats,
    window: Floats,
    bits: int,
    cells: Integers,
    decisions: Decisions,
    u: float,
    w: float,
) -> None:
    """Rejection under the line of truncated.Envelope.

    line = (A, B, anchor, 1 − anchor, slope), window = (lower, upper, width, lower − anchor, height), each
    erring by u; the exponential proposal is taken iff height < 0. With δ = x − anchor, accept iff
    A ln(1 + δ/anchor) + B ln(1 − δ/(1 − anchor)) − ℓ > ln U₂, where ℓ = slope·δ = ln U₁ for the exponential
    proposal and ℓ = height for the uniform one.
    """
    A, B, anchor, rest, slope = line[0], line[1], line[2], line[3], line[4]
    scale = math.ldexp(1.0, bits)
    for i in range(words.shape[0]):
        decisions[i] = UNSURE
        level, el = log_uniform(words[i, 0], u, w)
        if window[4] < 0.0:
            delta = level / slope
            ed = 1.01 * (el / abs(slope) + abs(delta) * 2.0 * u)
        else:
            chance = float(words[i, 0]) * 2.0**-64
            delta = window[3] + window[2] * chance
            ed = 1.01 * (window[2] * (5.0 * u + w * 2.0**-64) + 2.0 * u * (abs(window[3]) + abs(delta)))
            level, el = window[4], 2.0 * u * window[4]
        x = anchor + delta
        margin = ed + 2.0 * u
        place = inside(x, margin, window[0], window[1], u)
        if place != ACCEPT:
            decisions[i] = place
            continue
        h, eh = -level, el
        if A != 0.0:
            part, error = log_ratio(delta / anchor, ed / anchor, u)
            h, eh = h + A * part, eh + abs(A) * (error + 3.0 * u * abs(part))
        if B != 0.0:
            part, error = log_ratio(-delta / rest, ed / rest, u)
            h, eh = h + B * part, eh + abs(B) * (error + 3.0 * u * abs(part))
        second, es = log_uniform(words[i, 1], u, w)
        gap, slack = h - second, 1.01 * (eh + es + 4.0 * u * (abs(h) + abs(level) - second))
        if gap < -slack:
            decisions[i] = REJECT
        elif gap > slack:
            cells[i], decisions[i] = cell(x * scale, (margin + 2.0 * u) * scale)


@inlined
def log_ratio(p: float, ep: float, u: float) -> tuple[float, float]:
    """ln(1 + p), p ± ep"""
    t = 1.0 + p
    et = 1.01 * (ep + 3.0 * u * abs(p)) + u * abs(t)
    if not et <= COARSE * t:
        return 0.0, np.inf
    y = log(t)
    return y, 1.01 * et / t + LOG_ERROR * u * abs(y)


@inlined
def laplace(word: int, scale: float, u: float, w: float) -> tuple[int, int]:
    """±⌊−s ln U⌋, −0 rejected: the low bit is the sign, the other 63 are U"""
    k = float(word >> np.uint64(1))
    e = 2.0 * u + w / k
    if not e <= COARSE:
        return 0, UNSURE
    level = -log(k * _SIGNED)
    y = scale * level
    margin = 1.01 * (scale * (1.01 * e + LOG_ERROR * u * level) + 3.0 * u * y)
    m = math.floor(y)
    if not (y - margin >= m and y + margin < m + 1.0):
        return 0, UNSURE
    if word & np.uint64(1):
        return -np.int64(m), ACCEPT if m > 0 else REJECT
    return np.int64(m), ACCEPT


@kernel
def laplaces(words: Words, scale: float, draws: Integers, decisions: Decisions, u: float, w: float) -> None:
    """P(x) ∝ exp(−|x|/scale)"""
    for i in range(words.shape[0]):
        draws[i], decisions[i] = laplace(words[i, 0], scale, u, w)


@kernel
def gaussians(
    words: Words, variance: float, scale: float, draws: Integers, decisions: Decisions, u: float, w: float
) -> None:
    """Accept y ~ Laplace(t) iff −ln U > (|y| − σ²/t)²/(2σ²); σ² and hence σ²/t err by 2u"""
    centre = variance / scale
    for i in range(words.shape[0]):
        draws[i], decisions[i] = laplace(words[i, 0], scale, u, w)
        if decisions[i] != ACCEPT:
            continue
        level, el = log_uniform(words[i, 1], u, w)
        gap = abs(float(draws[i])) - centre
        eg = 1.01 * (3.0 * u * centre + u * abs(gap))
        q = gap * gap / (2.0 * variance)
        margin = 1.01 * (el + (2.0 * abs(gap) + eg) * eg / (2.0 * variance) + 6.0 * u * q - u * level)
        slack = -level - q
        if not slack > margin:
            decisions[i] = REJECT if slack < -margin else UNSURE
