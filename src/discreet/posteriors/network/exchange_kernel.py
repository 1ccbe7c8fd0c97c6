# mypy: disable-error-code="untyped-decorator,no-any-return"
# ruff: noqa: PLR0917, FBT001, NPY002 (numba: arrays and numbers, not objects, and its own generator)
"""Moves of many records at once, with one row of θ integrated out; and the whole sweep.

One record a time, counts move by √n in a sweep, and where noise is wider than that it takes (b/√n)² sweeps to
cross it. So: in a row of node v take m of the N_i records of value i, make them j, and draw their descendants
anew from p(·|θ). With the row's θ integrated out the target's ratio is
Γ(a_i+N_i−m)Γ(a_j+N_j+m)/(Γ(a_i+N_i)Γ(a_j+N_j)), the proposal's C(N_i, m)/C(N_j+m, m); the rest is noise.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.compiled import njit
from discreet.posteriors.network.kernel import (
    Codes,
    Floats,
    Integers,
    Layout,
    Noise,
    accepts,
    copy,
    locate,
    log_gain,
    pick,
    redraw,
    row_of,
    sweep,
)


@njit
def grouped(codes: Codes, n: int, layout: Layout, v: int) -> tuple[Integers, Integers]:
    """Sort the records by their cell of v's table; return the order, and where each cell begins in it."""
    begins = np.zeros(layout.stop[v] - layout.start[v] + 1, np.int64)
    cell = np.empty(n, np.int64)
    for i in range(n):
        cell[i] = row_of(layout, codes[i], v) + codes[i, v] - layout.start[v]
        begins[cell[i] + 1] += 1
    free = np.empty_like(begins)
    for c in range(1, begins.size):
        begins[c] += begins[c - 1]
        free[c - 1] = begins[c - 1]
    order = np.empty(n, np.int64)
    for i in range(n):
        order[free[cell[i]]] = i
        free[cell[i]] += 1
    return order, begins


@njit
def shuffle(items: Integers, first: int, last: int, m: int) -> None:
    """Put m random ones of items[first:last] first, every choice as likely."""
    for s in range(first, first + m):
        other = np.random.randint(s, last)
        kept = items[s]
        items[s] = items[other]
        items[other] = kept


@njit
def urn(many: int, few: int, m: int, a: float, b: float) -> float:
    """Log ratio of target and proposal but for the noise, m of `many` joining `few`; 0 at a = b = 1."""
    if a == 1.0 and b == 1.0:
        return 0.0
    target = (
        math.lgamma(a + many - m) + math.lgamma(b + few + m) - math.lgamma(a + many) - math.lgamma(b + few)
    )
    chosen = math.lgamma(many + 1.0) + math.lgamma(few + 1.0)
    return target + chosen - math.lgamma(many - m + 1.0) - math.lgamma(few + m + 1.0)


@njit(inline="always")
def shift(cell: int, step: float, residual: Floats, sharpness: float, squared: bool) -> float:
    """Add `step` to a count; return what that does to ln η."""
    gain = log_gain(residual[cell], step, sharpness, squared)
    residual[cell] -= step
    return gain


@njit
def relocate(
    codes: Codes, v: int, j: int, residual: Floats, chances: Floats, layout: Layout, noise: Noise
) -> float:
    """Give one record the value j of v and new descendants; return what that does to ln η."""
    gain = 0.0
    for w in range(v, layout.size.size):
        if layout.below[v, w]:
            old = row_of(layout, codes, w) + codes[w]
            gain += shift(old, -1.0, residual, noise.sharpness[w], noise.squared)
    for w in range(v, layout.size.size):
        if layout.below[v, w]:
            row = row_of(layout, codes, w)
            codes[w] = j if w == v else pick(chances, row, layout.size[w])
            gain += shift(row + codes[w], 1.0, residual, noise.sharpness[w], noise.squared)
    return gain


@njit
def restore(
    codes: Codes, before: Codes, residual: Floats, layout: Layout, now: Integers, then: Integers
) -> None:
    """Undo a relocation."""
    locate(layout, codes, now)
    locate(layout, before, then)
    for w in range(now.size):
        residual[now[w]] += 1.0
        residual[then[w]] -= 1.0
    copy(codes, before)


@njit
def exchange_pair(
    codes: Codes,
    chosen: Integers,
    before: Codes,
    v: int,
    j: int,
    gain: float,
    residual: Floats,
    chances: Floats,
    layout: Layout,
    noise: Noise,
) -> int:
    """Relocate the chosen records to value j, or leave all as they were; return how many moved."""
    for s in range(chosen.size):
        copy(before[s], codes[chosen[s]])
        gain += relocate(codes[chosen[s]], v, j, residual, chances, layout, noise)
    if accepts(gain):
        return chosen.size
    now, then = np.empty(layout.size.size, np.int64), np.empty(layout.size.size, np.int64)
    for s in range(chosen.size):
        restore(codes[chosen[s]], before[s], residual, layout, now, then)
    return 0


@njit
def exchange(
    codes: Codes,
    n: int,
    v: int,
    prior: Floats,
    residual: Floats,
    chances: Floats,
    layout: Layout,
    noise: Noise,
    before: Codes,
) -> None:
    """Pair the values of every row of v at random and move m records within each pair, m log-uniform.

    A value is in one pair only, so groups need no repair; m depends on the row's total alone, which stays.
    """
    size = layout.size[v]
    if size < 2:
        return
    order, begins = grouped(codes, n, layout, v)
    values = np.arange(size)
    for row in range(0, layout.stop[v] - layout.start[v], size):
        most = min(begins[row + size] - begins[row], noise.reach[v])
        if most == 0:
            continue
        shuffle(values, 0, size, size - 1)
        for pair in range(size // 2):
            i, j = row + values[2 * pair], row + values[2 * pair + 1]
            many, few = begins[i + 1] - begins[i], begins[j + 1] - begins[j]
            m = min(int(math.exp(np.random.random() * math.log(most + 1.0))), most)
            if m > many:
                continue
            shuffle(order, begins[i], begins[i + 1], m)
            gain = urn(many, few, m, prior[layout.start[v] + i], prior[layout.start[v] + j])
            exchange_pair(
                codes,
                order[begins[i] : begins[i] + m],
                before,
                v,
                values[2 * pair + 1],
                gain,
                residual,
                chances,
                layout,
                noise,
            )


@njit
def step(
    codes: Codes,
    n: int,
    fixed: bool,
    noisy: Floats,
    prior: Floats,
    theta: Floats,
    residual: Floats,
    chances: Floats,
    layout: Layout,
    noise: Noise,
    before: Codes,
) -> tuple[int, float]:
    """One sweep: some records, then every row of every node; θ is drawn anew after each."""
    n, accepted = sweep(codes, n, fixed, residual, chances, layout, noise)
    for v in range(layout.size.size):
        exchange(codes, n, v, prior, residual, chances, layout, noise, before)
        redraw(theta, chances, prior, noisy, residual, layout, v)
    return n, accepted
