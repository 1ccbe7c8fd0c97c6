"""Ball arithmetic (python-flint's arb): numbers whose every digit is proved, rounded to a chosen side."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction

from flint import arb, ctx, fmpq

from discreet.numerics.search import bisect, integers

Exact = int | float | Fraction  # a float stands for the rational number it is

MAX_BITS = 2**14


class PrecisionError(ArithmeticError):
    """A bound could not be settled within 2^14 bits."""


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Set arb's working precision; it is global to the process, so never across threads."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def ball(x: Exact) -> arb:
    """Enclose x; exact for a float or an integer, rounded at the working precision for a general rational."""
    if isinstance(x, Fraction):
        return arb(fmpq(x.numerator, x.denominator))
    return arb(x)


def ceiling(x: arb) -> float:
    """Return the least double at or above every point of the ball."""
    if not x.is_finite():
        return math.inf
    top = x.upper()
    guess = float(top)
    while arb(guess) < top:
        guess = math.nextafter(guess, math.inf)
    while arb(below := math.nextafter(guess, -math.inf)) >= top:
        guess = below
    return guess


def floor(x: arb) -> float:
    """Return the greatest double at or below every point of the ball."""
    return -ceiling(-x)


def settle(value: Callable[[], arb], *, bits: int = 60, start: int = 128) -> arb:
    """Evaluate at doubling precision until the ball is relatively narrower than 2^-bits (or is exactly 0)."""
    working = start
    while working <= MAX_BITS:
        with precision(working):
            x = value()
            if x.is_zero() or (x.is_finite() and x.rel_accuracy_bits() >= bits):
                return x
        working *= 2
    raise PrecisionError(f"a certified value did not settle to {bits} bits within {MAX_BITS} bits")


def decide(at_most: Callable[[], arb], bound: Exact, *, start: int = 128) -> bool:
    """Whether value ≤ bound, proved; a tie that no precision resolves counts as False (the private side)."""
    working = start
    while working <= MAX_BITS:
        with precision(working):
            x, limit = at_most(), ball(bound)
            if x <= limit:
                return True
            if x > limit:
                return False
        working *= 2
    return False


def largest(holds: Callable[[float], bool], upper: float, *, bits: int = 53) -> float:
    """Largest double of `bits` significant bits in (0, upper] where a downward-closed predicate holds, or 0.

    Bisects on the ordered integers behind the doubles, so it ends after at most 64 evaluations however small
    the answer is.
    """
    if holds(upper):
        return round_down(upper, bits)
    found = bisect(lambda k: holds(_from_ordinal(k)), _to_ordinal(upper), 0, integers)
    return round_down(_from_ordinal(found), bits)


def round_down(x: float, bits: int) -> float:
    """Round a non-negative double toward zero to `bits` significant bits."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(math.floor(math.ldexp(mantissa, bits)), exponent - bits)


def _to_ordinal(x: float) -> int:
    return int(struct.unpack(">q", struct.pack(">d", x))[0])


def _from_ordinal(k: int) -> float:
    return float(struct.unpack(">d", struct.pack(">q", k))[0])
