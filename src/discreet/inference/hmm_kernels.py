# mypy: disable-error-code="untyped-decorator,no-any-return"
# ruff: noqa: PLR0917 (a kernel takes arrays and numbers, not objects)
"""States of the naive-Bayes hidden Markov model given a score for every cell (r, t) and state: two kernels.

Both hold the same law, π₀ and the rows of A Dirichlet(α): `collapsed` has them integrated out, `filtered` draws
them. Scores are single precision and states are padded to a multiple of 4 with weight 0, which makes a loop of
four one vector instruction. Post-processing of a release: numpy's Generator is enough here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Singles = NDArray[np.float32]
    Integers = NDArray[np.int64]

CUT = np.float32(-80.0)  # exponents below are dropped, so that no float is denormal
LEAST = 1e-15  # a total below this is redone in log space, so what is dropped is < 1e5·K·e⁻⁸⁰/LEAST of it
TINY = 1e-300
_LOG2E = np.float32(1.4426950408889634)
_LN2_HIGH = np.float32(0.693359375)
_LN2_LOW = np.float32(-2.12194440e-4)
_ROUND = np.float32(12582912.0)  # 1.5·2²³: a float32 plus this is rounded to an integer

kernel = njit(cache=True, error_model="numpy", fastmath={"contract", "nsz", "reassoc"})


@njit(cache=True, error_model="numpy", fastmath={"contract", "nsz"})  # reassociation would undo the rounding
def exponentials(x: Singles, integers: NDArray[np.int32], powers: Singles, out: Singles) -> None:
    """e^x for CUT < x ≤ 0, and 0 below; 1e-7 relative [Cephes expf]. `powers` is `integers` read as floats."""
    for i in range(x.size):
        integers[i] = np.int32((max(x[i], CUT) * _LOG2E + _ROUND) - _ROUND) + np.int32(127) << np.int32(23)
    for i in range(x.size):
        y = max(x[i], CUT)
        n = (y * _LOG2E + _ROUND) - _ROUND
        r = (y - n * _LN2_HIGH) - n * _LN2_LOW
        p = np.float32(1.9875691500e-4)
        p = p * r + np.float32(1.3981999507e-3)
        p = p * r + np.float32(8.3334519073e-3)
        p = p * r + np.float32(4.1665795894e-2)
        p = p * r + np.float32(1.6666665459e-1)
        p = p * r + np.float32(5.0000001201e-1)
        p = (p * r * r + r + np.float32(1)) * powers[i]
        out[i] = p if x[i] > CUT else np.float32(0)


BLOCK = 512  # cells worked on while they are in the cache


@kernel
def weights(scores: Singles, states: int, likelihoods: Singles) -> None:
    """P_{c,k} = exp(E_{c,k} − max_k E_{c,k}); the padding gets 0"""
    cells, width = scores.shape
    shifted = np.full((BLOCK, width), 2 * CUT, dtype=np.float32)
    integers = np.empty(BLOCK * width, dtype=np.int32)
    powers = integers.view(np.float32)
    for start in range(0, cells, BLOCK):
        rows = min(BLOCK, cells - start)
        for i in range(rows):
            top = scores[start + i, 0]
            for k in range(1, states):
                top = max(top, scores[start + i, k])
            for k in range(states):
                shifted[i, k] = scores[start + i, k] - top
        size = rows * width
        out = likelihoods[start : start + rows].reshape(size)
        exponentials(shifted[:rows].reshape(size), integers[:size], powers[:size], out)


@kernel
def pick(rng: np.random.Generator, weight: Floats, total: float, states: int) -> int:
    """k with probability weight_k/total"""
    u = rng.random() * total
    k, below = 0, weight[0]
    while below < u and k < states - 1:
        k += 1
        below += weight[k]
    return k


@kernel
def log_pick(rng: np.random.Generator, log_weight: Floats, states: int) -> int:
    """k with probability ∝ exp(log_weight_k): the largest after adding Gumbel noise"""
    best, top = 0, -math.inf
    for k in range(states):
        value = log_weight[k] - math.log(max(-math.log(max(rng.random(), TINY)), TINY))
        if value > top:
            best, top = k, value
    return best


# --- transitions integrated out ------------
@kernel
def transition_counts(z: Integers, chains: int, counts: Floats, transposed: Floats) -> None:
    """n_{j→k}, and in the last row how often each state is a chain's first; the transpose without that row"""
    states, steps = transposed.shape[0], z.size // chains
    counts[:] = 0.0
    transposed[:] = 0.0
    for r in range(chains):
        counts[states, z[r * steps]] += 1.0
        for c in range(r * steps + 1, (r + 1) * steps):
            counts[z[c - 1], z[c]] += 1.0
            transposed[z[c], z[c - 1]] += 1.0


@kernel
def conditional(
    likelihood: Singles,
    previous: int,
    following: int,
    alpha: float,
    counts: Floats,
    transposed: Floats,
    inverse: Floats,
    weight: Floats,
) -> float:
    """w_k = (n_{p→k}+α)·(n_{k→f}+I[p=k=f]+α)/(n_{k→·}+I[p=k]+Kα)·P_k, and Σ_k w_k; counts without position t

    [F16 (48) put right, see errata]. `inverse` holds 1/(n_{k→·}+I[p=k]+Kα); the second factor is dropped at
    t = T, where `following` is negative. At t = 1 `previous` is the row of first steps, which no k equals.
    """
    width = likelihood.size
    for b in range(0, width, 4):
        for i in range(b, b + 4):
            weight[i] = likelihood[i] * (counts[previous, i] + alpha)
    if following >= 0:
        for b in range(0, width, 4):
            for i in range(b, b + 4):
                weight[i] *= (transposed[following, i] + alpha) * inverse[i]
        if following == previous:
            stay = transposed[following, following] + alpha
            weight[following] *= (stay + 1.0) / stay
    total = 0.0
    for b in range(0, width, 4):
        total += (weight[b] + weight[b + 1]) + (weight[b + 2] + weight[b + 3])
    return total


@kernel
def count_move(previous: int, k: int, following: int, by: float, counts: Floats, transposed: Floats) -> None:
    """Count the transitions into and out of state k at one position, or take them away (by = −1)."""
    counts[previous, k] += by
    if previous < transposed.shape[0]:
        transposed[k, previous] += by
    if following >= 0:
        counts[k, following] += by
        transposed[following, k] += by


@kernel
def collapsed(
    rng: np.random.Generator,
    scores: Singles,
    likelihoods: Singles,
    alpha: float,
    chains: int,
    z: Integers,
    counts: Floats,
    transposed: Floats,
) -> None:
    """One sweep of z_{r,t} | all other z, with π₀ and A integrated out."""
    states, width = transposed.shape
    steps = z.size // chains
    transition_counts(z, chains, counts, transposed)
    weight, left, inverse = np.empty(width), np.full(width, states * alpha), np.zeros(width)
    ones = np.ones(width, dtype=likelihoods.dtype)
    for k in range(states):
        left[k] += counts[k].sum()
        inverse[k] = 1.0 / left[k]
    for r in range(chains):
        previous = states
        for t in range(steps):
            c = r * steps + t
            old, following = z[c], z[c + 1] if t + 1 < steps else -1
            count_move(previous, old, following, -1.0, counts, transposed)
            if following >= 0:  # n_{p→·} keeps the transition into t: that is the I[p=k] of the formula
                left[old] -= 1.0
                inverse[old] = 1.0 / left[old]
            total = conditional(
                likelihoods[c], previous, following, alpha, counts, transposed, inverse, weight
            )
            if total >= LEAST:
                k = pick(rng, weight, total, states)
            else:
                conditional(ones, previous, following, alpha, counts, transposed, inverse, weight)
                k = log_pick(rng, np.log(np.maximum(weight, TINY)) + scores[c], states)
            count_move(previous, k, following, 1.0, counts, transposed)
            if following >= 0:
                left[k] += 1.0
                inverse[k] = 1.0 / left[k]
            z[c] = k
            previous = k


# --- transitions drawn, states filtered and drawn backwards ------------
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
def forward(likelihoods: Singles, first: int, last: int, matrix: Floats, filtered: Floats) -> float:
    """f_t(k) ∝ P_{t,k} Σ_j f_{t−1}(j) A_{j,k} for cells first..last−1 of one chain; the least normaliser"""
    states, width = matrix.shape[0] - 1, matrix.shape[1]
    total = 0.0
    for k in range(width):
        filtered[first, k] = likelihoods[first, k] * matrix[states, k]
        total += filtered[first, k]
    least = total
    for c in range(first + 1, last):
        scale = 1.0 / total
        total = 0.0
        for b in range(0, width, 4):
            f0, f1, f2, f3 = 0.0, 0.0, 0.0, 0.0
            for j in range(states):
                f = filtered[c - 1, j]
                f0 += f * matrix[j, b]
                f1 += f * matrix[j, b + 1]
                f2 += f * matrix[j, b + 2]
                f3 += f * matrix[j, b + 3]
            f0 *= scale * likelihoods[c, b]
            f1 *= scale * likelihoods[c, b + 1]
            f2 *= scale * likelihoods[c, b + 2]
            f3 *= scale * likelihoods[c, b + 3]
            filtered[c, b], filtered[c, b + 1], filtered[c, b + 2], filtered[c, b + 3] = f0, f1, f2, f3
            total += (f0 + f1) + (f2 + f3)
        least = min(least, total)
    return least


@kernel
def backward(
    rng: np.random.Generator, filtered: Floats, first: int, last: int, transposed: Floats, z: Integers
) -> None:
    """z_T ~ f_T, then z_t ~ f_t(j) A_{j, z_{t+1}}"""
    states, width = transposed.shape
    weight = np.empty(width)
    total = filtered[last - 1].sum()
    k = pick(rng, filtered[last - 1], total, states)
    z[last - 1] = k
    for c in range(last - 2, first - 1, -1):
        total = 0.0
        for b in range(0, width, 4):
            for i in range(b, b + 4):
                weight[i] = filtered[c, i] * transposed[k, i]
            total += (weight[b] + weight[b + 1]) + (weight[b + 2] + weight[b + 3])
        k = pick(rng, weight, total, states)
        z[c] = k


@kernel
def in_log_space(
    rng: np.random.Generator, scores: Singles, first: int, last: int, matrix: Floats, z: Integers
) -> None:
    """forward and backward for one chain where single precision is not enough"""
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
    """z of every chain at once given π₀ and A: forward filtering, backward sampling."""
    steps = z.size // chains
    for r in range(chains):
        first, last = r * steps, (r + 1) * steps
        if forward(likelihoods, first, last, matrix, filtered) >= LEAST:
            backward(rng, filtered, first, last, transposed, z)
        else:
            in_log_space(rng, scores, first, last, matrix, z)
