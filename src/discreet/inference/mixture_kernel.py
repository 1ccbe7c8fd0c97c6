# mypy: disable-error-code="untyped-decorator,no-any-return"
# ruff: noqa: PLR0917, FBT001, NPY002 (numba: arrays and numbers, not objects, and its own generator)
"""Gibbs for a mixture given noisy joint counts: the network's moves on (class, features), and classes anew.

Node 0 is the class, the last is the joint table, which alone is noised: the residuals of the others are −N.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from discreet.inference.bayes_net_exchange import step
from discreet.inference.bayes_net_kernel import fill, locate, redraw

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.inference.bayes_net_kernel import Codes, Floats, Integers, Layout, Noise


@njit(cache=True)
def relabel(codes: Codes, n: int, theta: Floats, residual: Floats, layout: Layout) -> float:
    """z_i ~ π_k ∏_d θ_{k,d,x_d}, exactly; return Σ_i ln p(x_i|π, θ)."""
    classes, last = layout.size[0], layout.size.size - 1
    weight, log_likelihood = np.empty(classes), 0.0
    for i in range(n):
        total = 0.0
        for k in range(classes):
            product = theta[k]
            for v in range(1, last):
                product *= theta[layout.start[v] + k * layout.size[v] + codes[i, v]]
            total += product
            weight[k] = total
        log_likelihood += math.log(max(total, 1e-300))
        u, new = np.random.random() * total, 0
        while new < classes - 1 and weight[new] <= u:
            new += 1
        old = codes[i, 0]
        if new != old:
            codes[i, 0] = new
            residual[old] += 1.0
            residual[new] -= 1.0
            for v in range(1, last):
                residual[layout.start[v] + old * layout.size[v] + codes[i, v]] += 1.0
                residual[layout.start[v] + new * layout.size[v] + codes[i, v]] -= 1.0
    return log_likelihood


@njit(cache=True)
def log_noise(residual: Floats, layout: Layout, noise: Noise) -> float:
    """Sum of ln η over the joint table, up to a constant."""
    last = layout.size.size - 1
    total = 0.0
    for cell in range(layout.start[last], layout.stop[last]):
        r = abs(residual[cell])
        total -= noise.sharpness[last] * (r * r if noise.squared else r)
    return total


@njit(cache=True)
def place(codes: Codes, n: int, residual: Floats, layout: Layout) -> None:
    """Take given records off the residuals."""
    cells = np.empty(layout.size.size, np.int64)
    for i in range(n):
        locate(layout, codes[i], cells)
        for v in range(cells.size):
            residual[cells[v]] -= 1.0


@njit(cache=True)
def sweep_mixture(
    codes: Codes,
    n: int,
    fixed: bool,
    frozen: bool,
    noisy: Floats,
    prior: Floats,
    theta: Floats,
    residual: Floats,
    chances: Floats,
    layout: Layout,
    noise: Noise,
    before: Codes,
) -> tuple[int, float]:
    """One sweep: records given θ and the noise (not where they are known), classes, θ; n and a log joint."""
    if not frozen:
        n, _ = step(codes, n, fixed, noisy, prior, theta, residual, chances, layout, noise, before)
    level = relabel(codes, n, theta, residual, layout)
    stop = layout.stop[layout.size.size - 2]
    for cell in range(stop):
        level += (prior[cell] - 1.0) * math.log(max(theta[cell], 1e-300))
    if not frozen:
        level += log_noise(residual, layout, noise)
    for v in range(layout.size.size - 1):
        redraw(theta, chances, prior + np.rint(noisy - residual), layout, v)
    return n, level


@njit(cache=True)
def chain(
    seed: int,
    noisy: Floats,
    begin: Floats,
    prior: Floats,
    codes: Codes,
    n: int,
    fixed: bool,
    frozen: bool,
    layout: Layout,
    noise: Noise,
    burn: int,
    keep: int,
    thin: int,
) -> tuple[NDArray[np.float32], Integers, Floats]:
    """Run one chain from θ ~ Dirichlet(begin); return θ, n and the log joint as kept."""
    np.random.seed(seed)
    nodes = layout.size.size
    before = np.empty((noise.reach.max(), nodes), np.int32)
    residual, theta, chances = noisy.copy(), np.empty_like(prior), np.empty_like(prior)
    for v in range(nodes):
        redraw(theta, chances, begin, layout, v)
    if frozen:
        place(codes, n, residual, layout)
    else:
        fill(codes, n, residual, chances, layout)
    width = layout.stop[nodes - 2]
    kept, sizes, levels = np.empty((keep, width), np.float32), np.empty(keep, np.int64), np.empty(keep)
    for t in range(burn + keep * thin):
        n, level = sweep_mixture(
            codes, n, fixed, frozen, noisy, prior, theta, residual, chances, layout, noise, before
        )
        if t >= burn and (t - burn + 1) % thin == 0:
            s = (t - burn) // thin
            kept[s] = theta[:width].astype(np.float32)
            sizes[s] = n
            levels[s] = level
    return kept, sizes, levels
