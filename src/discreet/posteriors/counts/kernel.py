# mypy: disable-error-code="untyped-decorator,no-any-return"
# ruff: noqa: PLR0917, FBT001 (numba: arrays and numbers, not objects)
"""Weights of one count behind noise, w(x) = Γ(α+x)/x! · η(z − x) · e^{τx} on 0 … most; and sums split up.

Every weight is followed outwards from its largest by w(x+1)/w(x), so that no noise, however narrow or wide,
is too small or too large for a double.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.compiled import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


DEPTH = 36.0  # nats below the largest weight at which a count is no longer followed
TRIES = 16  # of rejection, before what is left is drawn by going through all values


@kernel
def rise(x: float, alpha: float, z: float, scale: float, laplacian: bool, tilt: float) -> float:
    """Ln w(x+1) − ln w(x)"""
    gap = z - x
    if not laplacian:
        return math.log((alpha + x) / (x + 1.0)) + (tilt + (gap - 0.5) / (scale * scale))
    slope = 1.0 if gap >= 1.0 else (-1.0 if gap <= 0.0 else 2.0 * gap - 1.0)
    return math.log((alpha + x) / (x + 1.0)) + (tilt + slope / scale)


@kernel
def first_fall(
    low: int, most: int, alpha: float, z: float, scale: float, laplacian: bool, tilt: float
) -> int:
    """Least x from `low` on with w(x+1) ≤ w(x), where ln w is concave from there on."""
    high = most
    while low < high:
        x = (low + high) // 2
        if rise(x, alpha, z, scale, laplacian, tilt) <= 0.0:
            high = x
        else:
            low = x + 1
    return low


@kernel
def gain(x: int, alpha: float, z: float, scale: float, laplacian: bool, tilt: float) -> float:
    """Ln w(x) − ln w(0)"""
    urn = math.lgamma(alpha + x) - math.lgamma(x + 1.0) - math.lgamma(alpha)
    if laplacian:
        return urn + (abs(z) - abs(z - x)) / scale + tilt * x
    return urn + x * (tilt + (z - 0.5 * x) / (scale * scale))


@kernel
def peak(alpha: float, z: float, scale: float, laplacian: bool, tilt: float, most: int) -> int:
    """Where w is largest: below α = 1 that may be 0 and, where noise is no hindrance, `most`, or near z."""
    if alpha >= 1.0:
        return first_fall(0, most, alpha, z, scale, laplacian, tilt)
    if laplacian:  # convex up to z, and beyond
        top = int(min(max(math.floor(z), 0.0), most))
        if top < most and rise(top, alpha, z, scale, laplacian, tilt) > 0.0:
            top += 1
    else:  # concave beyond σ
        top = first_fall(int(min(scale + 1.0, most)), most, alpha, z, scale, laplacian, tilt)
        while top > 0 and rise(top - 1, alpha, z, scale, laplacian, tilt) <= 0.0:
            top -= 1
    best = 0.0 if top == 0 else gain(top, alpha, z, scale, laplacian, tilt)
    if laplacian and tilt >= 1.0 / scale and gain(most, alpha, z, scale, laplacian, tilt) > best:
        return most
    return top if best > 0.0 else 0


@kernel
def outlined(
    alpha: Floats,
    z: Floats,
    scale: float,
    laplacian: bool,
    tilt: float,
    most: int,
    top: Integers,
    low: Integers,
    high: Integers,
) -> tuple[float, float, float]:
    """Largest weight and both ends of each count; return mean and variance of their sum, and ln ∏ Σ w."""
    least, mean, variance, log = math.exp(-DEPTH), 0.0, 0.0, 0.0
    for j in range(alpha.size):
        top[j] = peak(alpha[j], z[j], scale, laplacian, tilt, most)
        total, one, two = 1.0, 0.0, 0.0
        w, x = 1.0, top[j]
        while x < most and w > least:
            w *= math.exp(min(rise(x, alpha[j], z[j], scale, laplacian, tilt), 700.0))
            x += 1
            gap = float(x - top[j])
            total, one, two = total + w, one + w * gap, two + w * gap * gap
        high[j] = x
        w, x = 1.0, top[j]
        while x > 0 and w > least:
            x -= 1
            w *= math.exp(min(-rise(x, alpha[j], z[j], scale, laplacian, tilt), 700.0))
            gap = float(x - top[j])
            total, one, two = total + w, one + w * gap, two + w * gap * gap
        low[j] = x
        mean += top[j] + one / total
        variance += max(two / total - (one / total) * (one / total), 0.0)
        gap = abs(z[j] - top[j]) / scale
        log += math.lgamma(alpha[j] + top[j]) - math.lgamma(top[j] + 1.0) + math.log(total)
        log += tilt * top[j] - (gap if laplacian else 0.5 * gap * gap)
    return mean, variance, log


@kernel
def tabulated(
    alpha: Floats,
    z: Floats,
    scale: float,
    laplacian: bool,
    tilt: float,
    top: Integers,
    low: Integers,
    high: Integers,
    start: Integers,
    values: Floats,
) -> None:
    """W on low … high of each count, one after the other, the largest 1."""
    for j in range(alpha.size):
        w, place = 1.0, start[j] - low[j]
        values[place + top[j]] = 1.0
        for x in range(top[j], high[j]):
            w *= math.exp(min(rise(x, alpha[j], z[j], scale, laplacian, tilt), 700.0))
            values[place + x + 1] = w
        w = 1.0
        for x in range(top[j] - 1, low[j] - 1, -1):
            w *= math.exp(min(-rise(x, alpha[j], z[j], scale, laplacian, tilt), 700.0))
            values[place + x] = w
        largest = values[start[j] : start[j + 1]].max()
        for x in range(start[j], start[j + 1]):
            values[x] /= largest


@kernel
def tilted_to(
    total: float,
    within: float,
    tilt: float,
    down: float,
    up: float,
    alpha: Floats,
    z: Floats,
    scale: float,
    laplacian: bool,
    most: int,
    top: Integers,
    low: Integers,
    high: Integers,
) -> tuple[float, float]:
    """τ in [down, up] at which the sum's mean is `total`, and its variance there: Newton's rule, bracketed"""
    variance = 0.0
    for _ in range(200):
        mean, variance, _ = outlined(alpha, z, scale, laplacian, tilt, most, top, low, high)
        off = total - mean
        if abs(off) <= within * math.sqrt(variance) or not down < up:
            break
        if off > 0.0:
            down = tilt
        else:
            up = tilt
        step = off / variance if variance > 1e-300 else math.copysign(math.inf, off)
        middle = down + 0.5 * (up - down)
        if middle <= down or middle >= up:
            break
        tilt = tilt + step if down < tilt + step < up else middle
    return tilt, variance


@kernel
def one_part(
    rng: np.random.Generator, heights: Floats, ahead: Floats, behind: Floats, first: int, last: int, rest: int
) -> int:
    """Draw x ∝ ahead(x)·behind(rest − x) on first … last; `heights` are the sums of `ahead`."""
    below = heights[first]
    for _ in range(TRIES):
        u = below + rng.random() * (heights[last + 1] - below)
        low, high = first, last
        while low < high:
            middle = (low + high) // 2
            if heights[middle + 1] > u:
                high = middle
            else:
                low = middle + 1
        if rng.random() < behind[rest - low]:
            return low
    whole = 0.0
    for x in range(first, last + 1):
        whole += ahead[x] * behind[rest - x]
    u = rng.random() * whole
    for x in range(first, last + 1):
        u -= ahead[x] * behind[rest - x]
        if u < 0.0:
            return x
    return last


@kernel
def split(
    rng: np.random.Generator, low: Integers, start: Integers, values: Floats, totals: Integers, out: Integers
) -> bool:
    """Draw both parts of every sum, (sums, draws) ↦ (parts, draws); false if some sum is beyond its parts."""
    for k in range(low.size // 2):
        a, b = 2 * k, 2 * k + 1
        if start[a + 1] - start[a] > start[b + 1] - start[b]:
            a, b = b, a
        ahead, behind = values[start[a] : start[a + 1]], values[start[b] : start[b + 1]]
        heights = np.zeros(ahead.size + 1)
        for x in range(ahead.size):
            heights[x + 1] = heights[x] + ahead[x]
        for i in range(totals.shape[1]):
            rest = totals[k, i] - low[a] - low[b]
            first, last = max(0, rest - behind.size + 1), min(ahead.size - 1, rest)
            if first > last:
                return False
            out[a, i] = low[a] + one_part(rng, heights, ahead, behind, first, last, rest)
            out[b, i] = totals[k, i] - out[a, i]
    if low.size % 2:
        out[low.size - 1] = totals[low.size // 2]
    return True
