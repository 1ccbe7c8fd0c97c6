# mypy: disable-error-code="untyped-decorator,no-any-return"
# ruff: noqa: NPY002 (numba: arrays and numbers, not objects, and its own generator)
"""What a mixture needs beside the network's moves on (class, features): classes drawn anew.

Node 0 is the class, the last is the joint table, which alone is noised: the residuals of the others are −N.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from discreet.inference.bayes_net_kernel import Codes, Floats, Layout, Noise


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
