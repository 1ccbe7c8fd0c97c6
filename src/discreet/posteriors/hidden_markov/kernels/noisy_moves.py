# mypy: disable-error-code="untyped-decorator,no-any-return"
# ruff: noqa: PLR0917 (a kernel takes arrays and numbers, not objects)
"""Moves of the noise-aware reading: n_{c,d,j} ~ Poisson(λ_c θ_{z_c,d,j}) behind noise, the counts summed out.

Drawing the counts too would tie z and θ to them: under heavy noise they say far more than what was released,
and such a chain hardly moves. So every move is made on ln f of `noisy_count_law`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.posteriors.hidden_markov.exact_counts import log_gamma
from discreet.posteriors.hidden_markov.kernels.scores import TINY, Floats, Integers, Singles, kernel
from discreet.posteriors.hidden_markov.noisy_count_law import log_f

Rows = NDArray[np.int32]


WANTED = 0.44  # acceptance rate of moves in one dimension
ANEW = (
    0.2  # share of the moves of θ that draw from its prior: small weights leave logarithms free over hundreds
)


@kernel
def current(
    rows: Rows,
    log_rate: Floats,
    root_theta: Floats,
    z: Integers,
    pieces: Singles,
    base: Integers,
    first: Floats,
    length: Floats,
    ends: Floats,
    now: Floats,
) -> None:
    """now_{c,j} = ln f(y_{c,j}; λ_c θ_{z_c,j}); root_theta is √θ, (K, ΣK_d)"""
    u = np.empty(rows.shape[1])
    for c in range(rows.shape[0]):
        root = math.exp(0.5 * log_rate[c])
        for j in range(u.size):
            u[j] = root * root_theta[z[c], j]
        log_f(rows[c], u, pieces, base, first, length, ends, now[c])


@kernel
def rate_moves(
    rng: np.random.Generator,
    rows: Rows,
    log_rate: Floats,
    root_theta: Floats,
    z: Integers,
    shape: float,
    mean: float,
    power: float,
    gain: float,
    widths: Floats,
    pieces: Singles,
    base: Integers,
    first: Floats,
    length: Floats,
    ends: Floats,
    now: Floats,
) -> None:
    """One Metropolis step of every ln λ_c; prior Gamma(shape) with this mean"""
    u, fresh = np.empty(rows.shape[1]), np.empty(rows.shape[1])
    for c in range(rows.shape[0]):
        proposed = log_rate[c] + widths[c] * rng.standard_normal()
        root = math.exp(0.5 * proposed)
        for j in range(u.size):
            u[j] = root * root_theta[z[c], j]
        change = log_f(rows[c], u, pieces, base, first, length, ends, fresh) - now[c].sum()
        change *= power
        change += shape * (proposed - log_rate[c])
        change -= shape / mean * (root * root - math.exp(log_rate[c]))
        accepted = math.log(max(rng.random(), TINY)) < change
        if accepted:
            log_rate[c] = proposed
            now[c] = fresh
        widths[c] = clamp(widths[c] * math.exp(gain * ((1.0 if accepted else 0.0) - WANTED)))


@kernel
def clamp(width: float) -> float:
    return min(max(width, 1e-3), 8.0)


@kernel
def by_state(z: Integers, states: int, order: Integers, starts: Integers) -> None:
    """Cells of state k are order[starts[k]:starts[k+1]]"""
    starts[:] = 0
    for c in range(z.size):
        starts[z[c] + 1] += 1
    for k in range(states):
        starts[k + 1] += starts[k]
    place = starts[:states].copy()
    for c in range(z.size):
        order[place[z[c]]] = c
        place[z[c]] += 1


@kernel
def column_change(
    j: int,
    cells: Integers,
    rows: Rows,
    roots: Floats,
    root_theta: float,
    pieces: Singles,
    base: Integers,
    first: Floats,
    length: Floats,
    ends: Floats,
    now: Floats,
    fresh: Floats,
) -> float:
    """Σ over the cells of one state of ln f(y_{c,j}; λ_c θ) − now_{c,j}"""
    mine, u = np.empty(cells.size, dtype=np.int32), np.empty(cells.size)
    before = 0.0
    for i in range(cells.size):
        c = cells[i]
        mine[i] = rows[c, j]
        u[i] = roots[c] * root_theta
        before += now[c, j]
    return log_f(mine, u, pieces, base, first, length, ends, fresh) - before


@kernel
def prior_draw(rng: np.random.Generator, beta: float, log_theta: Floats, root_theta: Floats) -> None:
    """θ ~ Dirichlet(β) for a state that no cell is in"""
    for j in range(log_theta.size):
        log_theta[j] = log_gamma(rng, beta)
    top = log_theta.max()
    log_theta -= top + math.log(np.exp(log_theta - top).sum())
    for j in range(log_theta.size):
        root_theta[j] = math.exp(0.5 * log_theta[j])


@kernel
def emission_moves(
    rng: np.random.Generator,
    rows: Rows,
    log_rate: Floats,
    log_theta: Floats,
    root_theta: Floats,
    z: Integers,
    offsets: Integers,
    beta: float,
    power: float,
    gain: float,
    widths: Floats,
    pieces: Singles,
    base: Integers,
    first: Floats,
    length: Floats,
    ends: Floats,
    now: Floats,
) -> None:
    """One Metropolis step of ln θ_i/θ_j, θ_i + θ_j kept, for the values of every θ_{k,d} paired at random

    Given the sum the prior of θ_i/(θ_i + θ_j) is Beta(β, β); some steps propose from it, others walk.
    """
    states = log_theta.shape[0]
    order, starts = np.empty(z.size, dtype=np.int64), np.empty(states + 1, dtype=np.int64)
    by_state(z, states, order, starts)
    roots, one, two = np.exp(0.5 * log_rate), np.empty(z.size), np.empty(z.size)
    for k in range(states):
        cells = order[starts[k] : starts[k + 1]]
        for d in range(offsets.size - 1):
            if cells.size == 0:
                part = slice(offsets[d], offsets[d + 1])
                prior_draw(rng, beta, log_theta[k, part], root_theta[k, part])
                continue
            pairs = rng.permutation(offsets[d + 1] - offsets[d]) + offsets[d]
            for p in range(0, pairs.size - 1, 2):
                i, j = pairs[p], pairs[p + 1]
                logit = log_theta[k, i] - log_theta[k, j]
                both = log_theta[k, j] + softplus(logit)
                anew = rng.random() < ANEW
                if anew:
                    logit = log_gamma(rng, beta) - log_gamma(rng, beta)
                else:
                    logit += math.sqrt(widths[k, i] * widths[k, j]) * rng.standard_normal()
                log_i = both - softplus(-logit)
                log_j = both - softplus(logit)
                root_i, root_j = math.exp(0.5 * log_i), math.exp(0.5 * log_j)
                change = column_change(
                    i, cells, rows, roots, root_i, pieces, base, first, length, ends, now, one
                )
                change += column_change(
                    j, cells, rows, roots, root_j, pieces, base, first, length, ends, now, two
                )
                change *= power
                if not anew:  # what is drawn from the prior has its ratio already
                    change += beta * (log_i + log_j - log_theta[k, i] - log_theta[k, j])
                accepted = math.log(max(rng.random(), TINY)) < change
                if accepted:
                    log_theta[k, i], log_theta[k, j] = log_i, log_j
                    root_theta[k, i], root_theta[k, j] = root_i, root_j
                    for m in range(cells.size):
                        now[cells[m], i], now[cells[m], j] = one[m], two[m]
                factor = 1.0 if anew else math.exp(gain * ((1.0 if accepted else 0.0) - WANTED))
                widths[k, i], widths[k, j] = clamp(widths[k, i] * factor), clamp(widths[k, j] * factor)


@kernel
def softplus(x: float) -> float:
    """ln(1 + e^x)"""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))
