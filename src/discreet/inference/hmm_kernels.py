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

FAST = {"contract", "nsz", "reassoc"}  # sums may be reordered; NaN and infinity stay what they are
kernel = njit(cache=True, error_model="numpy", fastmath=FAST)


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
def collapsed(
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

    (n_{p→k}+α) · (n_{k→f}+I[p=k=f]+α)/(n_{k→·}+I[p=k]+Kα) · P_{c,k}, p = z_{t−1}, f = z_{t+1}, counts without t;
    second factor dropped at t = T [F16 (48) put right, see errata]. At t = 1 p is the row of first steps, which
    no k equals. `laws`, unless it is empty, receives what every state was drawn from.
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
        least = min(least, min(total, other))
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
    for r in range(0, chains, 2):
        pair = min(r + 1, chains - 1)
        least = forward(likelihoods, r * steps, pair * steps, steps, matrix, filtered)
        for chain in range(r, pair + 1):
            if least >= LEAST:
                backward(rng, filtered, chain * steps, steps, transposed, z)
            else:
                in_log_space(rng, scores, chain * steps, (chain + 1) * steps, matrix, z)
