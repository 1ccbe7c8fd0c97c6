# mypy: disable-error-code="untyped-decorator,no-any-return"
# ruff: noqa: PLR0917 (a kernel takes arrays and numbers, not objects)
"""States one cell at a time, with the transitions integrated out."""

from __future__ import annotations

import math

import numpy as np

from discreet.posteriors.hidden_markov.kernels.compile import kernel
from discreet.posteriors.hidden_markov.kernels.scores import (
    LEAST,
    Floats,
    Integers,
    Singles,
    log_pick,
    transition_counts,
)


@kernel
def collapsed(  # noqa: C901, PLR0912 - one loop, inlined: handing the arrays over costs more than the work
    rng: np.random.Generator,
    scores: Singles,
    likelihoods: Singles,
    alpha: float,
    chains: int,
    z: Integers,
    counts: Floats,
    transposed: Floats,
    laws: Floats,
) -> None:
    """One sweep of z_{r,t} | all other z, with π₀ and A integrated out: P(z_t = k) is proportional to

    (n_{p→k}+α) · (n_{k→f}+I[p=k=f]+α)/(n_{k→·}+I[p=k]+Kα) · P_{c,k}, p = z_{t−1}, f = z_{t+1}, counts without
    t; second factor dropped at t = T [F16 (48) put right, see errata]. At t = 1 p is the row of first steps,
    which no k equals. `laws`, unless it is empty, receives what every state was drawn from.
    """
    states, width = transposed.shape
    steps = z.size // chains
    transition_counts(z, chains, counts, transposed)
    weight, left, inverse = np.empty(width), np.full(width, states * alpha), np.zeros(width)
    for k in range(states):
        left[k] += counts[k].sum()
        inverse[k] = 1.0 / left[k]
    for r in range(chains):
        p = states
        for t in range(steps):
            c = r * steps + t
            old, f = z[c], z[c + 1] if t + 1 < steps else -1
            counts[p, old] -= 1.0
            if t > 0:
                transposed[old, p] -= 1.0
            total = 0.0
            if f >= 0:
                counts[old, f] -= 1.0
                transposed[f, old] -= 1.0
                left[old] -= 1.0  # left[p] keeps the transition into t: that is the I[p=k] of the formula
                inverse[old] = 1.0 / left[old]
                stay = transposed[f, f]
                if p == f:
                    transposed[f, f] += 1.0
                for b in range(0, width, 4):
                    for i in range(b, b + 4):
                        weight[i] = (counts[p, i] + alpha) * (transposed[f, i] + alpha)
                        weight[i] *= inverse[i] * likelihoods[c, i]
                    total += (weight[b] + weight[b + 1]) + (weight[b + 2] + weight[b + 3])
                transposed[f, f] = stay
            else:
                for i in range(width):
                    weight[i] = (counts[p, i] + alpha) * likelihoods[c, i]
                    total += weight[i]
            if laws.size > 0:
                laws[c] = weight / total
            if total >= LEAST:
                u = rng.random() * total
                k, below = 0, weight[0]
                while below < u and k < states - 1:
                    k += 1
                    below += weight[k]
            else:
                k = log_step(rng, scores[c], p, f, alpha, counts, transposed, inverse)
            counts[p, k] += 1.0
            if t > 0:
                transposed[k, p] += 1.0
            if f >= 0:
                counts[k, f] += 1.0
                transposed[f, k] += 1.0
                left[k] += 1.0
                inverse[k] = 1.0 / left[k]
            z[c] = k
            p = k


@kernel
def log_step(
    rng: np.random.Generator,
    score: Singles,
    p: int,
    f: int,
    alpha: float,
    counts: Floats,
    transposed: Floats,
    inverse: Floats,
) -> int:
    """Draw the same state from logarithms."""
    states = transposed.shape[0]
    weight = np.empty(states)
    for k in range(states):
        weight[k] = score[k] + math.log(counts[p, k] + alpha)
        if f >= 0:
            again = 1.0 if p == k == f else 0.0
            weight[k] += math.log((transposed[f, k] + again + alpha) * inverse[k])
    return log_pick(rng, weight, states)
