"""Integer noise decided on lazily refined uniforms; also the refinement of the fast kernels."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING

from discreet.privacy.certified import ball
from discreet.sampling.lazy import Tape, positive, refine

if TYPE_CHECKING:
    from flint import fmpz

    from discreet.sampling.lazy import Uniform

LARGEST_SCALE = 10**12  # |x| stays below 45·10¹², far inside int64


def laplace(tape: Tape, scale: Fraction) -> int:
    """±⌊−s ln U⌋ with −0 rejected, since P(⌊−s ln U⌋ ≥ k) = exp(−k/s); P(x) ∝ exp(−|x|/s)"""
    while (x := _signed_geometric(tape, scale)) is None:
        pass
    return x


def _signed_geometric(tape: Tape, scale: Fraction) -> int | None:
    negative, u = tape.signed()
    k = _geometric(u, scale)
    if negative:
        return -k if k else None
    return k


def _geometric(u: Uniform, scale: Fraction) -> int:
    def floor() -> fmpz | None:
        return (-ball(scale) * u().log()).floor().unique_fmpz()

    return int(refine(floor))


def proposal_scale(variance: Fraction) -> int:
    """Choose t = ⌊σ⌋ + 1 (Canonne, Kamath and Steinke 2020, Algorithm 3; any t > 0 gives the same law)"""
    return isqrt(variance.numerator // variance.denominator) + 1


def gaussian(tape: Tape, variance: Fraction) -> int:
    """Y ~ Laplace(t) accepted with exp(−(|Y| − σ²/t)²/(2σ²)): P(x) ∝ exp(−x²/(2σ²)) (CKS 2020, Theorem 23)"""
    t = proposal_scale(variance)
    while (x := _accepted(tape, variance, t)) is None:
        pass
    return x


def _accepted(tape: Tape, variance: Fraction, t: int) -> int | None:
    y = laplace(tape, Fraction(t))
    exponent = (abs(y) - variance / t) ** 2 / (2 * variance)
    u = tape.uniform()
    return y if positive(lambda: -ball(exponent) - u().log()) else None
