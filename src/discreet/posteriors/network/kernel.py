# mypy: disable-error-code="untyped-decorator,no-any-return"
# ruff: noqa: PLR0917, FBT001, NPY002 (numba: arrays and numbers, not objects, and its own generator)
"""Gibbs over (θ, the records behind the counts), given noisy counts: any DAG, all tables at once.

[Ju, Awan, Gong, Rao 2022, Alg. 1] A record is proposed anew from p(x|θ), so that only the noise is left in
the ratio: accept with min(1, η(ŷ − N')/η(ŷ − N)), which an ε-private release bounds below by e^−ε. In every
state the tables are margins of the same records, so what one of them says about another is used.

Small functions are inlined before compilation: called, each would count references to every array of Layout
and Noise, which takes longer than their work.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.compiled import njit

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Codes = NDArray[np.int32]


SHARE = 8  # a sweep visits n/SHARE records one by one: moves of many records mix better for their time
REPLACE, ADD = 0.5, 0.75  # where n is private, a step replaces a record, adds one, or else removes one


class Layout(NamedTuple):
    """Where the cells of node v lie: start[v] + Σ over its edges e of code[parent[e]]·stride[e] + code[v]."""

    start: Integers
    stop: Integers
    size: Integers  # number of codes of v, and so the length of a row
    first: Integers  # edges of v: first[v] … first[v + 1] − 1
    parent: Integers
    stride: Integers
    below: NDArray[np.bool_]  # below[v, w]: w is v, or one of its descendants


class Noise(NamedTuple):
    """ln η(r) = −sharpness·|r| (1/b) or −sharpness·r² (1/(2σ²)) by table; discrete and continuous alike."""

    sharpness: Floats
    squared: bool
    reach: Integers  # how many records a move of many takes at most, by node


@njit(inline="always")
def copy(target: Codes, values: Codes) -> None:
    """target[:] = values, which alone would take numba seconds to compile."""
    for v in range(target.size):
        target[v] = values[v]


@njit(inline="always")
def row_of(layout: Layout, codes: Codes, v: int) -> int:
    """Find where the row of v begins that a record's parents select."""
    row = layout.start[v]
    for e in range(layout.first[v], layout.first[v + 1]):
        row += codes[layout.parent[e]] * layout.stride[e]
    return row


@njit(inline="always")
def pick(chances: Floats, row: int, size: int) -> int:
    """Draw j with probability θ_j; `chances` are θ summed along each row."""
    low, high = 0, size - 1
    u = np.random.random() * chances[row + high]
    while low < high:
        middle = (low + high) // 2
        if chances[row + middle] > u:
            high = middle
        else:
            low = middle + 1
    return low


@njit(inline="always")
def propose(chances: Floats, layout: Layout, codes: Codes, cells: Integers) -> None:
    """Draw x ~ p(x|θ), parents before children."""
    for v in range(layout.size.size):
        row = row_of(layout, codes, v)
        codes[v] = pick(chances, row, layout.size[v])
        cells[v] = row + codes[v]


@njit(inline="always")
def locate(layout: Layout, codes: Codes, cells: Integers) -> None:
    """Find the cell of each table that a record falls into."""
    for v in range(layout.size.size):
        cells[v] = row_of(layout, codes, v) + codes[v]


@njit(inline="always")
def log_gain(residual: float, step: float, sharpness: float, squared: bool) -> float:
    """Return ln η(r − step) − ln η(r): what a count that grows by `step` does to the noise."""
    after = residual - step
    if squared:
        return sharpness * (residual * residual - after * after)
    return sharpness * (abs(residual) - abs(after))


@njit(inline="always")
def accepts(gain: float) -> bool:
    return gain >= 0.0 or math.log(np.random.random()) < gain


@njit(inline="always")
def replaced(old: Integers, new: Integers, residual: Floats, noise: Noise) -> bool:
    """Decide a replacement and, where accepted, move it; residuals are ŷ − N."""
    gain = 0.0
    for v in range(old.size):
        if old[v] != new[v]:
            gain += log_gain(residual[old[v]], -1.0, noise.sharpness[v], noise.squared)
            gain += log_gain(residual[new[v]], 1.0, noise.sharpness[v], noise.squared)
    if not accepts(gain):
        return False
    for v in range(old.size):
        residual[old[v]] += 1.0
        residual[new[v]] -= 1.0
    return True


@njit(inline="always")
def resized(cells: Integers, step: float, residual: Floats, noise: Noise) -> bool:
    """Decide whether one record is added (step 1) or removed (−1), under a flat prior on n."""
    gain = 0.0
    for v in range(cells.size):
        gain += log_gain(residual[cells[v]], step, noise.sharpness[v], noise.squared)
    if not accepts(gain):
        return False
    for v in range(cells.size):
        residual[cells[v]] -= step
    return True


@njit
def sweep(
    codes: Codes, n: int, fixed: bool, residual: Floats, chances: Floats, layout: Layout, noise: Noise
) -> tuple[int, float]:
    """Visit n/SHARE random records; return n and the share of moves accepted.

    Where n is private, of its most: a number of moves that grew with n would leave another law of n behind.
    """
    nodes = layout.size.size
    drawn, new, old = np.empty(nodes, np.int32), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    accepted, moves = 0, codes.shape[0] // SHARE + 1
    for _ in range(moves):
        u = 0.0 if fixed else np.random.random()
        if u < REPLACE and n > 0:
            i = np.random.randint(n)
            locate(layout, codes[i], old)
            propose(chances, layout, drawn, new)
            if replaced(old, new, residual, noise):
                copy(codes[i], drawn)
                accepted += 1
        elif REPLACE <= u < ADD and n < codes.shape[0]:
            propose(chances, layout, drawn, new)
            if resized(new, 1.0, residual, noise):
                copy(codes[n], drawn)
                n += 1
                accepted += 1
        elif u >= ADD and n > 0:
            i = np.random.randint(n)
            locate(layout, codes[i], old)
            if resized(old, -1.0, residual, noise):
                n -= 1
                copy(codes[i], codes[n])
                accepted += 1
    return n, accepted / moves


@njit
def log_gamma_draw(shape: float) -> float:
    """Draw ln G, G ~ Gamma(shape), even where G itself underflows: G(a) = G(a + 1)·U^(1/a)."""
    if shape >= 1.0:
        return math.log(np.random.gamma(shape, 1.0))
    return math.log(np.random.gamma(shape + 1.0, 1.0)) + math.log(1.0 - np.random.random()) / shape


@njit
def redraw_row(theta: Floats, prior: Floats, noisy: Floats, residual: Floats, row: int, size: int) -> None:
    """θ ~ Dirichlet(prior + N) on one row, N = ŷ − residual, through logarithms."""
    top = -np.inf
    for cell in range(row, row + size):
        theta[cell] = log_gamma_draw(prior[cell] + math.floor(noisy[cell] - residual[cell] + 0.5))
        top = max(top, theta[cell])
    total = 0.0
    for cell in range(row, row + size):
        theta[cell] = math.exp(theta[cell] - top)
        total += theta[cell]
    for cell in range(row, row + size):
        theta[cell] /= total


@njit
def redraw(
    theta: Floats,
    chances: Floats,
    prior: Floats,
    noisy: Floats,
    residual: Floats,
    layout: Layout,
    v: int,
) -> None:
    """Draw θ over the rows of one table, and sum it along each row."""
    for row in range(layout.start[v], layout.stop[v], layout.size[v]):
        redraw_row(theta, prior, noisy, residual, row, layout.size[v])
        chances[row] = theta[row]
        for cell in range(row + 1, row + layout.size[v]):
            chances[cell] = chances[cell - 1] + theta[cell]


@njit
def seed(value: int) -> None:
    """Seed the generator of compiled code; NumPy's own is another."""
    np.random.seed(value)


@njit
def place(codes: Codes, n: int, residual: Floats, layout: Layout) -> None:
    """Take the records that a chain starts from off the residuals."""
    cells = np.empty(layout.size.size, np.int64)
    for i in range(n):
        locate(layout, codes[i], cells)
        for v in range(cells.size):
            residual[cells[v]] -= 1.0
