"""Certified inversion: the cell of F⁻¹(U) whose two edges ball arithmetic puts on either side of U.

Slow, and independent of the rejection samplers, which are checked against it. Floats only guess.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray
from scipy import special

from discreet.numerics.search import greatest_near
from discreet.privacy.arithmetic.ball import ball, precision
from discreet.sampling.source import Source, Tape, Uniform, positive
from discreet.sampling.truncated import Window

HALF = Fraction(1, 2)
_LARGE_SHAPE = 10**5


def beta(source: Source, a: Fraction, b: Fraction, size: int, bits: int) -> NDArray[np.float64]:
    """Beta(a, b) to the nearest multiple of 2^-bits"""
    return truncated_beta(source, Window(a, b, Fraction(0), Fraction(1)), size, bits)


def truncated_beta(source: Source, w: Window, size: int, bits: int) -> NDArray[np.float64]:
    """Beta(a, b) given lower ≤ x ≤ upper to the nearest multiple of 2^-bits, before clipping"""
    tape = Tape(source)
    cells = [truncated_beta_cell(tape.uniform(), w, bits) for _ in range(size)]
    return np.ldexp(np.array(cells, dtype=np.float64), -bits)


def truncated_beta_cell(u: Uniform, w: Window, bits: int) -> int:
    def exceeds(k: int) -> bool:
        edge = (k - HALF) / 2**bits
        if not w.lower < edge < w.upper:
            return bool(edge <= w.lower)
        return positive(lambda: _conditional(u(), w, edge))

    return greatest_near(
        exceeds, _guess(u, w, bits), math.floor(w.lower * 2**bits), math.ceil(w.upper * 2**bits)
    )


def _conditional(u: arb, w: Window, edge: Fraction) -> arb:
    """U(F(upper) − F(lower)) − (F(edge) − F(lower)), from the upper tail if that is the smaller one"""
    at = [w.lower, edge, w.upper]
    if w.lower > w.a / (w.a + w.b):
        low, mid, high = (-incomplete_beta(w.b, w.a, 1 - x) for x in at)
    else:
        low, mid, high = (incomplete_beta(w.a, w.b, x) for x in at)
    return u * (high - low) - (mid - low)


def incomplete_beta(a: Fraction, b: Fraction, x: Fraction) -> arb:
    """I_x(a, b); arb is slow for a ≫ b, where 1 − I_{1−x}(b, a) is taken, except deep in the lower tail"""
    if x in (0, 1):
        return arb(int(x))
    if a <= b or special.betainc(float(a), float(b), float(x)) < 1e-30:
        return ball(x).beta_lower(ball(a), ball(b), 1)
    return 1 - ball(1 - x).beta_lower(ball(b), ball(a), 1)


def _guess(u: Uniform, w: Window, bits: int) -> int:
    a, b = float(w.a), float(w.b)
    low, high = special.betainc(a, b, [float(w.lower), float(w.upper)])
    x = float(special.betaincinv(a, b, min(low + _float(u) * (high - low), 1.0)))
    return math.floor(min(max(x, float(w.lower)), float(w.upper)) * 2**bits + 0.5) if x == x else 0  # noqa: PLR0124


def _float(u: Uniform) -> float:
    with precision(64):  # the bits already drawn
        return float(u().mid())


def gamma(source: Source, shape: Fraction, size: int, rate: Fraction) -> NDArray[np.float64]:
    """Gamma(shape)/rate to 24 significant bits, 0 below 2^-1000, at most 2^1000"""
    tape = Tape(source)
    return np.array([_gamma(tape.uniform(), shape, rate) for _ in range(size)], dtype=np.float64)


def _gamma(u: Uniform, shape: Fraction, rate: Fraction) -> float:
    least, most = _ordinal(2.0**-1000) - 1, _ordinal(2.0**1000)

    def exceeds(k: int) -> bool:
        edge = rate * (Fraction(_value(k - 1)) + Fraction(_value(k))) / 2
        return positive(lambda: u() - incomplete_gamma(shape, edge))

    guess = float(special.gammaincinv(float(shape), _float(u))) / float(rate)
    k = greatest_near(exceeds, _ordinal(min(max(guess, 2.0**-999), 2.0**999)), least, most)
    return 0.0 if k == least else _value(k)


def incomplete_gamma(a: Fraction, x: Fraction) -> arb:
    """P(a, x); for large a only 1 − Q(a, x) is quick"""
    if a >= _LARGE_SHAPE or x > a:
        return 1 - ball(x).gamma_upper(ball(a), 1)
    return ball(x).gamma_lower(ball(a), 1)


def _ordinal(x: float) -> int:
    """Return the rank of a double of 24 significant bits among its like."""
    mantissa, exponent = math.frexp(x)
    return (exponent << 23) + int(mantissa * 2**24) - 2**23


def _value(k: int) -> float:
    return math.ldexp((k & (2**23 - 1)) + 2**23, (k >> 23) - 24)


def normal(source: Source, mean: Fraction, variance: Fraction, size: int) -> list[int]:
    """Nearest integers to m + σz"""
    tape = Tape(source)
    return [_normal(tape.uniform(), mean, variance) for _ in range(size)]


def _normal(u: Uniform, mean: Fraction, variance: Fraction) -> int:
    def exceeds(k: int) -> bool:
        return positive(lambda: u() - _phi(ball(k - HALF - mean) / ball(variance).sqrt()))

    z = float(special.ndtri(min(max(_float(u), 1e-300), 1 - 2.0**-53)))
    offset = Fraction(z) * Fraction(math.sqrt(variance))
    return greatest_near(exceeds, round(mean + offset), None, None)


def _phi(z: arb) -> arb:
    """Φ(z) = ½ erfc(−z/√2), from the smaller tail"""
    tail = (abs(z) / arb(2).sqrt()).erfc() / 2
    return 1 - tail if z > 0 else tail if z <= 0 else arb.nan()
