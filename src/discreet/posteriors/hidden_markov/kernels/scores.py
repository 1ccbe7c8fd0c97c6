# mypy: disable-error-code="no-any-return"
# mypy: disable-error-code="untyped-decorator,no-any-return"
"""Scores of states as likelihoods, and counts of transitions: what both kernels for the states share.

Both hold the same law, π₀ and the rows of A Dirichlet(α): `collapsed` has them integrated out, `blocked`
draws them. Scores are single precision and states are padded to a multiple of 4 with weight 0, which makes a
loop of four one vector instruction. Post-processing of a release: numpy's Generator is enough here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import config
from numpy.typing import NDArray

from discreet.compiled import njit

# ── Compilation of the hidden Markov kernels: which sums may be reordered.
# numba's cache does not tell a serial from a parallel version of one function, so none is parallel.
REORDERED = frozenset({"contract", "nsz", "reassoc"})  # sums may be; NaN and infinity stay what they are
AS_WRITTEN = frozenset({"contract", "nsz"})


def _compiled(function: Callable[..., Any], fastmath: frozenset[str]) -> Any:  # noqa: ANN401 - numba's own type
    return njit(error_model="numpy", fastmath=set(fastmath))(function)


def _in_fours(function: Callable[..., Any]) -> Any:  # noqa: ANN401
    """Let LLVM put four equal lines of scalars into one vector instruction, which numba leaves off."""
    dispatcher = _compiled(function, AS_WRITTEN)
    plain = dispatcher.compile

    def compile_(signature: Any) -> Any:  # noqa: ANN401
        before, config.SLP_VECTORIZE = config.SLP_VECTORIZE, 1  # read by numba while it compiles
        try:
            return plain(signature)
        finally:
            config.SLP_VECTORIZE = before

    dispatcher.compile = compile_
    return dispatcher


kernel = partial(_compiled, fastmath=REORDERED)
kernel_in_fours = _in_fours
kernel_as_written = partial(_compiled, fastmath=AS_WRITTEN)


# ── scores
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


@kernel_as_written  # reassociation would undo the rounding
def exponentials(x: Singles, integers: NDArray[np.int32], powers: Singles, out: Singles) -> None:
    """e^x for CUT < x ≤ 0, and 0 below; to 1e-7 [Cephes expf]. `powers` is `integers` read as floats."""
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
    """K with probability ∝ exp(log_weight_k): the largest after adding Gumbel noise"""
    best, top = 0, -math.inf
    for k in range(states):
        value = log_weight[k] - math.log(max(-math.log(max(rng.random(), TINY)), TINY))
        if value > top:
            best, top = k, value
    return best


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
