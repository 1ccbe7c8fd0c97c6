"""Integer laws. The float is only a first look: every comparison is decided on the ideal uniform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from math import isqrt

import numpy as np
from flint import arb, fmpz
from numpy.typing import NDArray

from discreet.privacy.arithmetic.ball import ball, precision
from discreet.sampling.in_bulk import batches
from discreet.sampling.source import START_BITS, Source, Uniform, Words, positive, refine


def invert(source: Source, edges: Callable[[], Sequence[arb]], size: int) -> NDArray[np.int64]:
    """#{j : edge_j ≤ U} for increasing edges in (0, 1), evaluated at the working precision.

    A word k settles U against an edge c unless k = ⌊2⁶⁴c⌋; then U gets more bits.
    """
    with precision(START_BITS):
        balls = [c * 2**64 for c in edges()]
        low = np.array([_word(c.lower()) for c in balls], dtype=np.uint64)
        high = np.array([_word(c.upper()) for c in balls], dtype=np.uint64)
    # balls of nearly equal edges may overlap: widening keeps the bounds sorted and only defers decisions
    low, high = np.minimum.accumulate(low[::-1])[::-1], np.maximum.accumulate(high)
    words = source.words(size)
    rank = np.searchsorted(high, words, side="left").astype(np.int64)
    for i in np.flatnonzero(np.searchsorted(low, words, side="right") != rank):
        rank[i] = _rank(Uniform(source, int(words[i])), edges)
    return rank


def _word(x: arb) -> int:
    return min(max(int(x.floor().unique_fmpz()), 0), 2**64 - 1)


def _rank(u: Uniform, edges: Callable[[], Sequence[arb]]) -> int:
    def count() -> int | None:
        x, below = u(), 0
        for c in edges():
            if c <= x:
                below += 1
            elif not c > x:
                return None
        return below

    return refine(count)


def bernoulli(source: Source, p: Fraction, size: int) -> NDArray[np.bool_]:
    """P(1) = p"""
    if p in (0, 1):
        return np.full(size, p == 1)
    return np.equal(invert(source, lambda: (ball(p),), size), 0)


def bernoulli_exp(source: Source, gamma: Fraction, size: int) -> NDArray[np.bool_]:
    """P(1) = exp(−γ)"""
    if gamma == 0:
        return np.ones(size, dtype=np.bool_)
    return np.equal(invert(source, lambda: ((-ball(gamma)).exp(),), size), 0)


def categorical(source: Source, log_weights: Sequence[Fraction | None], size: int) -> NDArray[np.int64]:
    """P(j) = exp(w_j)/Σ_i exp(w_i); None stands for w = −∞"""
    support = np.array([j for j, w in enumerate(log_weights) if w is not None], dtype=np.int64)
    finite = [w for w in log_weights if w is not None]
    top = max(finite)

    def edges() -> list[arb]:
        sums = list(accumulate(ball(w - top).exp() for w in finite))
        return [s / sums[-1] for s in sums[:-1]]

    return support[invert(source, edges, size)]


def uniform_integers(source: Source, upper: int, size: int) -> NDArray[np.int64]:
    """Uniform on {0, …, upper − 1}: the top bits of a word, redrawn while they reach `upper`"""
    shift = np.uint64(64 - max((upper - 1).bit_length(), 1))
    kept: list[NDArray[np.uint64]] = []
    while (missing := size - sum(part.size for part in kept)) > 0:
        candidates = source.words(missing + missing // 8 + 8) >> shift
        kept.append(candidates[candidates < np.uint64(upper)][:missing])
    return np.concatenate([np.empty(0, dtype=np.uint64), *kept]).astype(np.int64)


# ── Integer noise: geometric and rejection steps judged in float64, settled on lazily refined uniforms.
LEAST_VARIANCE = 1e-280  # below, doubles lose their relative accuracy
LARGEST_SCALE = 10**12  # |x| < 2^53 except with probability e^-9000: float64 cells and int64 are safe


def laplace(source: Source, scale: Fraction, size: int) -> NDArray[np.int64]:
    """P(x) ∝ exp(−|x|/s)"""
    width = batches.double(scale)

    def judge(words: Words, values: NDArray[np.int64], decisions: NDArray[np.int8]) -> None:
        batches.kernels().laplaces(words, width, values, decisions, *batches.errors())

    chosen = judge if size > batches.FEW else batches.leave_open
    return batches.sieve(source, size, 1, chosen, lambda row: laplace_attempt(source, row[0], scale))


def laplace_attempt(source: Source, word: int, scale: Fraction) -> int | None:
    """±⌊−s ln U⌋ with −0 rejected, since P(⌊−s ln U⌋ ≥ k) = exp(−k/s); the low bit of the word is the sign"""
    k = _geometric(Uniform(source, word >> 1, 63), scale)
    if word & 1:
        return -k if k else None
    return k


def _geometric(u: Uniform, scale: Fraction) -> int:
    def floor() -> fmpz | None:
        return (-ball(scale) * u().log()).floor().unique_fmpz()

    return int(refine(floor))


def gaussian(source: Source, variance: Fraction, size: int) -> NDArray[np.int64]:
    """P(x) ∝ exp(−x²/(2σ²)) by rejection from Laplace(t) (Canonne, Kamath and Steinke 2020, Algorithm 3)"""
    t = isqrt(variance.numerator // variance.denominator) + 1
    spread = batches.double(variance)

    def judge(words: Words, values: NDArray[np.int64], decisions: NDArray[np.int8]) -> None:
        batches.kernels().gaussians(words, spread, float(t), values, decisions, *batches.errors())

    chosen = judge if size > batches.FEW and spread > LEAST_VARIANCE else batches.leave_open
    return batches.sieve(source, size, 2, chosen, lambda row: gaussian_attempt(source, row, variance, t))


def gaussian_attempt(source: Source, row: list[int], variance: Fraction, t: int) -> int | None:
    """Accept Y ~ Laplace(t) with probability exp(−(|Y| − σ²/t)²/(2σ²)); any t > 0 gives the same law"""
    y = laplace_attempt(source, row[0], Fraction(t))
    if y is None:
        return None
    exponent, u = (abs(y) - variance / t) ** 2 / (2 * variance), Uniform(source, row[1])
    return y if positive(lambda: -ball(exponent) - u().log()) else None
