# mypy: disable-error-code="untyped-decorator,no-any-return"
# ruff: noqa: PLR0917 (a kernel takes arrays and numbers, not objects)
"""States of a whole chain at once, with the transitions drawn: forward filtering, backward sampling."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.inference.hmm_compiled import kernel
from discreet.inference.hmm_kernels import LEAST, TINY, log_pick

if TYPE_CHECKING:
    from discreet.inference.hmm_kernels import Floats, Integers, Singles


@kernel
def draw_transitions(
    rng: np.random.Generator, counts: Floats, alpha: float, matrix: Floats, transposed: Floats
) -> None:
    """Rows of A and, last, π₀ ~ Dirichlet(α + n); A's transpose beside it, as the way back needs it"""
    states = transposed.shape[0]
    for j in range(states + 1):
        total = 0.0
        for k in range(states):
            matrix[j, k] = max(rng.standard_gamma(alpha + counts[j, k]), TINY)
            total += matrix[j, k]
        for k in range(states):
            matrix[j, k] = max(matrix[j, k] / total, TINY)
            if j < states:
                transposed[k, j] = matrix[j, k]


@kernel
def forward(likelihoods: Singles, one: int, two: int, steps: int, matrix: Floats, filtered: Floats) -> float:
    """f_t(k) ∝ P_{t,k} Σ_j f_{t−1}(j) A_{j,k} for the chains that begin at cells `one` and `two`

    Two at a time, because each waits for its own last step. Returns the least normaliser.
    """
    states, width = matrix.shape[0] - 1, matrix.shape[1]
    total, other = 0.0, 0.0
    for k in range(width):
        filtered[one, k] = likelihoods[one, k] * matrix[states, k]
        filtered[two, k] = likelihoods[two, k] * matrix[states, k]
        total += filtered[one, k]
        other += filtered[two, k]
    least = min(total, other)
    for t in range(1, steps):
        c, d = one + t, two + t
        scale, rescale = 1.0 / total, 1.0 / other
        total, other = 0.0, 0.0
        for b in range(0, width, 4):
            f0, f1, f2, f3 = 0.0, 0.0, 0.0, 0.0
            g0, g1, g2, g3 = 0.0, 0.0, 0.0, 0.0
            for j in range(states):
                f, g = filtered[c - 1, j], filtered[d - 1, j]
                a0, a1, a2, a3 = matrix[j, b], matrix[j, b + 1], matrix[j, b + 2], matrix[j, b + 3]
                f0 += f * a0
                f1 += f * a1
                f2 += f * a2
                f3 += f * a3
                g0 += g * a0
                g1 += g * a1
                g2 += g * a2
                g3 += g * a3
            f0 *= scale * likelihoods[c, b]
            f1 *= scale * likelihoods[c, b + 1]
            f2 *= scale * likelihoods[c, b + 2]
            f3 *= scale * likelihoods[c, b + 3]
            g0 *= rescale * likelihoods[d, b]
            g1 *= rescale * likelihoods[d, b + 1]
            g2 *= rescale * likelihoods[d, b + 2]
            g3 *= rescale * likelihoods[d, b + 3]
            filtered[c, b], filtered[c, b + 1], filtered[c, b + 2], filtered[c, b + 3] = f0, f1, f2, f3
            filtered[d, b], filtered[d, b + 1], filtered[d, b + 2], filtered[d, b + 3] = g0, g1, g2, g3
            total += (f0 + f1) + (f2 + f3)
            other += (g0 + g1) + (g2 + g3)
        least = min(least, total, other)
    return least


@kernel
def backward(
    rng: np.random.Generator, filtered: Floats, first: int, steps: int, transposed: Floats, z: Integers
) -> None:
    """z_T ~ f_T, then z_t ~ f_t(j) A_{j, z_{t+1}}"""
    states, width = transposed.shape
    weight, total = filtered[first + steps - 1].copy(), filtered[first + steps - 1].sum()
    for c in range(first + steps - 1, first - 1, -1):
        u = rng.random() * total
        k, below = 0, weight[0]
        while below < u and k < states - 1:
            k += 1
            below += weight[k]
        z[c] = k
        total = 0.0
        for b in range(0, width if c > first else 0, 4):
            for i in range(b, b + 4):
                weight[i] = filtered[c - 1, i] * transposed[k, i]
            total += (weight[b] + weight[b + 1]) + (weight[b + 2] + weight[b + 3])


@kernel
def in_log_space(
    rng: np.random.Generator, scores: Singles, first: int, last: int, matrix: Floats, z: Integers
) -> None:
    """Forward and backward for one chain where single precision is not enough"""
    states = matrix.shape[0] - 1
    log_matrix = np.log(np.maximum(matrix[:, :states], TINY))
    filtered = np.empty((last - first, states))
    for c in range(first, last):
        for k in range(states):
            filtered[c - first, k] = scores[c, k]
            if c == first:
                filtered[0, k] += log_matrix[states, k]
            else:
                terms = filtered[c - first - 1] + log_matrix[:states, k]
                top = terms.max()
                filtered[c - first, k] += top + math.log(np.exp(terms - top).sum())
    z[last - 1] = log_pick(rng, filtered[last - 1 - first], states)
    for c in range(last - 2, first - 1, -1):
        z[c] = log_pick(rng, filtered[c - first] + log_matrix[:states, z[c + 1]], states)


@kernel
def blocked(
    rng: np.random.Generator,
    scores: Singles,
    likelihoods: Singles,
    chains: int,
    matrix: Floats,
    transposed: Floats,
    filtered: Floats,
    z: Integers,
) -> None:
    """Z of every chain at once given π₀ and A: forward filtering, backward sampling."""
    steps = z.size // chains
    for r in range(0, chains, 2):
        pair = min(r + 1, chains - 1)
        least = forward(likelihoods, r * steps, pair * steps, steps, matrix, filtered)
        for chain in range(r, pair + 1):
            if least >= LEAST:
                backward(rng, filtered, chain * steps, steps, transposed, z)
            else:
                in_log_space(rng, scores, chain * steps, (chain + 1) * steps, matrix, z)
