# mypy: disable-error-code="untyped-decorator,no-any-return"
"""Loops over the batches that the embedded engine hands over; numba is loaded with this file."""

from __future__ import annotations

import numpy as np

from discreet.compiled import kernel
from discreet.families.family import Floats, Integers


@kernel
def tally(keys: Integers, counts: Integers) -> bool:
    """counts[key] += 1; false if some key has no place, which no query of ours can give."""
    for key in keys:
        if not 0 <= key < counts.size:
            return False
        counts[key] += 1
    return True


@kernel
def mixed(unit: int, rounds: Integers) -> int:
    """tables.units.mix of a whole number."""
    h = unit % rounds[0, 2]
    for i in range(rounds.shape[0]):
        h = (h * rounds[i, 0] + rounds[i, 1]) % rounds[i, 2]
    return h


@kernel
def taken(keys: Integers, width: int, units: Integers, k: int, rounds: Integers) -> int:
    """Keep of sorted keys id·width + value the values that tables.units takes: in place, from the front.

    Rank r of M is taken iff (r·k + s) mod M < k, so r = ⌈(jM − s)/k⌉ for j = 0, …, k. `units` names the ids;
    one entry alone names id 0, and the others follow it.
    """
    kept, start = 0, 0
    while start < keys.size:
        own = keys[start] // width
        after, end = (own + 1) * width, start + 1
        while end < keys.size and keys[end] < after:
            end += 1
        total = end - start
        s = mixed(units[own] if units.size > 1 else units[0] + own, rounds) % total
        for j in range(min(k, total) + 1):
            r = j if total <= k else -((s - j * total) // k)
            if 0 <= r < total:
                keys[kept] = keys[start + r] - own * width
                kept += 1
        start = end
    return kept


@kernel
def clip(x: Floats, lower: float, upper: float, missing: float, out: Floats) -> None:
    """Write x within [lower, upper], and NaN as missing."""
    for i in range(x.size):
        v = x[i]
        out[i] = v if lower <= v <= upper else (upper if v > upper else (lower if v < lower else missing))


@kernel
def scale(x: Floats, how: Floats, out: Floats) -> None:
    """Clip as above, then slope·x + shift within [low, high], x ≠ 0 at least tiny long: columns.Affine."""
    lower, upper, missing = how[0], how[1], how[2]
    slope, shift, low, high, tiny = how[3], how[4], how[5], how[6], how[7]
    for i in range(x.size):
        v = x[i]
        v = v if lower <= v <= upper else (upper if v > upper else (lower if v < lower else missing))
        v = np.copysign(max(abs(v), tiny), v) if v != 0.0 else v
        out[i] = max(low, min(v * slope + shift, high))


@kernel
def squares(q: Floats, total: Floats) -> None:
    """Σ_j q_j² in the order of records.Ball: one by one below 8 terms, else eight sums in a tree."""
    width, n = q.shape
    whole = width - width % 8
    if whole == 0:
        total[:] = 0.0
    else:
        part = q[:8] * q[:8]
        for j in range(8, whole):
            for i in range(n):
                part[j % 8, i] += q[j, i] * q[j, i]
        for i in range(n):
            left = (part[0, i] + part[1, i]) + (part[2, i] + part[3, i])
            total[i] = left + ((part[4, i] + part[5, i]) + (part[6, i] + part[7, i]))
    for j in range(whole, width):
        for i in range(n):
            total[i] += q[j, i] * q[j, i]


@kernel
def to_ball(q: Floats, how: Floats) -> None:
    """Ball.integers in place, records side by side: the same operations in the same order, whole doubles."""
    per_step, largest, tight, near, kept, inner = how[0], how[1], how[2], how[3], how[4], how[5]
    width, n = q.shape
    shrink, least, length = np.empty(n), np.empty(n), np.zeros(n)
    most = largest * largest
    for j in range(width):
        for i in range(n):
            v = q[j, i]
            q[j, i] = np.copysign(max(abs(v), near), v) * per_step if v != 0.0 else 0.0
    squares(q, shrink)
    for i in range(n):
        least[i] = max(min(kept * shrink[i], inner), 0.5)
        shrink[i] = largest / max(np.sqrt(shrink[i]), largest)
    for j in range(width):
        for i in range(n):
            q[j, i] *= shrink[i]
            rounded = np.floor(q[j, i] + 0.5)
            length[i] += rounded * rounded
    for j in range(width):
        for i in range(n):
            y = q[j, i]
            rounded, away = np.floor(y + 0.5), np.ceil(y) if y > 0.0 else np.floor(y)
            new = np.trunc(y * tight) if length[i] > most else (away if length[i] < least[i] else rounded)
            length[i] += new * new - rounded * rounded
            q[j, i] = new
