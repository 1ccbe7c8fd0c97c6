# mypy: disable-error-code="untyped-decorator,no-any-return"
# ruff: noqa: PLR0917 (a kernel takes arrays and numbers, not objects)
"""States of a chain: all at once with the transitions drawn, or a cell at a time without."""

from __future__ import annotations

import math

import numpy as np

from discreet.posteriors.hidden_markov.kernels.scores import (
    LEAST,
    TINY,
    Floats,
    Integers,
    Singles,
    exponentials,
    kernel,
    kernel_in_fours,
    log_pick,
    transition_counts,
)

# ── States of a whole chain at once, with the transitions drawn: forward filtering, backward sampling.
BLOCK = 128  # steps worked on while they are in the cache


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
def side_by_side(scores: Singles, r: int, chains: int, likelihoods: Singles) -> None:
    """P_{t,k} = exp(E_{t,k} − max_k E_{t,k}) of chains r … r+3; the last chain again where there is none"""
    steps, states, lanes = likelihoods.shape
    row = states * lanes
    shifted = np.empty((BLOCK, states, lanes), dtype=np.float32)
    integers = np.empty(BLOCK * row, dtype=np.int32)
    powers = integers.view(np.float32)
    for start in range(0, steps, BLOCK):
        rows = min(BLOCK, steps - start)
        for lane in range(lanes):
            first = min(r + lane, chains - 1) * steps + start
            for i in range(rows):
                top = scores[first + i, 0]
                for k in range(1, states):
                    top = max(top, scores[first + i, k])
                for k in range(states):
                    shifted[i, k, lane] = scores[first + i, k] - top
        size = rows * row
        out = likelihoods[start : start + rows].reshape(size)
        exponentials(shifted[:rows].reshape(size), integers[:size], powers[:size], out)


@kernel_in_fours
def forward(
    likelihoods: Singles, matrix: Floats, transposed: Floats, filtered: Floats, totals: Floats
) -> float:
    """f_t(k) ∝ P_{t,k} Σ_j f_{t−1}(j) A_{j,k} of four chains, the last axis; returns the least Σ_k f_t(k)"""
    steps, states, _ = filtered.shape
    t0, t1, t2, t3 = 1.0, 1.0, 1.0, 1.0
    least = math.inf
    for t in range(steps):
        s0, s1, s2, s3 = 1.0 / t0, 1.0 / t1, 1.0 / t2, 1.0 / t3
        t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
        for k in range(states):
            f0, f1, f2, f3 = 0.0, 0.0, 0.0, 0.0
            if t == 0:
                f0 = f1 = f2 = f3 = matrix[states, k]
            for j in range(states if t else 0):
                a = transposed[k, j]
                f0 += filtered[t - 1, j, 0] * a
                f1 += filtered[t - 1, j, 1] * a
                f2 += filtered[t - 1, j, 2] * a
                f3 += filtered[t - 1, j, 3] * a
            f0 *= s0 * likelihoods[t, k, 0]
            f1 *= s1 * likelihoods[t, k, 1]
            f2 *= s2 * likelihoods[t, k, 2]
            f3 *= s3 * likelihoods[t, k, 3]
            filtered[t, k, 0], filtered[t, k, 1], filtered[t, k, 2], filtered[t, k, 3] = f0, f1, f2, f3
            t0 += f0
            t1 += f1
            t2 += f2
            t3 += f3
        totals[t, 0], totals[t, 1], totals[t, 2], totals[t, 3] = t0, t1, t2, t3
        least = min(least, t0, t1, t2, t3)
    return least


@kernel
def backward(
    rng: np.random.Generator,
    likelihoods: Singles,
    transposed: Floats,
    filtered: Floats,
    totals: Floats,
    lane: int,
    z: Integers,
) -> None:
    """z_T ~ f_T, then z_t ~ f_t(j) A_{j,k}, k = z_{t+1}, beginning with j = k, which is the likeliest

    Their sum is known from the way forward: f_{t+1}(k) Σ_j f_t(j) / P_{t+1,k}.
    """
    states, t = transposed.shape[0], z.size - 1
    u = rng.random() * totals[t, lane] - filtered[t, 0, lane]
    k = 0
    while u > 0.0 and k < states - 1:
        k += 1
        u -= filtered[t, k, lane]
    z[t] = k
    for t in range(z.size - 2, -1, -1):
        u = rng.random() * (filtered[t + 1, k, lane] * totals[t, lane] / likelihoods[t + 1, k, lane])
        u -= filtered[t, k, lane] * transposed[k, k]
        if u > 0.0:
            after = k
            for j in range(states):
                weight = 0.0 if j == after else filtered[t, j, lane] * transposed[after, j]
                u -= weight
                k = j if weight > 0.0 else k  # rounding never ends in a state that has no weight
                if u <= 0.0:
                    break
        z[t] = k


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
    totals: Floats,
    z: Integers,
) -> None:
    """Z of every chain at once given π₀ and A: forward filtering, backward sampling, four chains at a time.

    What one four needs stays in the cache. The arrays hold (step, state, chain of the four).
    """
    steps, lanes = likelihoods.shape[0], likelihoods.shape[2]
    for r in range(0, chains, lanes):
        side_by_side(scores, r, chains, likelihoods)
        least = forward(likelihoods, matrix, transposed, filtered, totals)
        for chain in range(r, min(r + lanes, chains)):
            first = chain * steps
            if least >= LEAST:
                path = z[first : first + steps]
                backward(rng, likelihoods, transposed, filtered, totals, chain - r, path)
            else:
                in_log_space(rng, scores, first, first + steps, matrix, z)


# ── States one cell at a time, with the transitions integrated out.
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
