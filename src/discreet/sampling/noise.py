"""Integer noise: geometric and rejection steps judged in float64, settled on lazily refined uniforms."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np
from flint import fmpz
from numpy.typing import NDArray

from discreet.privacy.arithmetic.ball import ball
from discreet.sampling.in_bulk import batches
from discreet.sampling.lazy import Uniform, positive, refine
from discreet.sampling.source import Source, Words

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
