"""Exact rejection algorithms on lazy uniforms: each returns the ideal real itself, known to any precision."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb

from discreet.privacy.arithmetic.ball import ball
from discreet.sampling.in_bulk.strips import FRACTION_BITS, HEIGHT, TABLE, TAIL, WEIGHTS
from discreet.sampling.lazy import Lazy, Real, Tape, Uniform, positive
from discreet.sampling.source import Source

Row = Sequence[int]


THIRD = Fraction(1, 3)


def exponential(tape: Tape) -> Real:
    """E = −ln U"""
    u = tape.uniform()
    return Lazy(lambda: -u().log())


def normal(tape: Tape) -> Real:
    """Draw z ~ N(0, 1) from rows of 2 words."""
    while (z := normal_attempt(tape.source, tape.row(2))) is None:
        pass
    return z


def normal_attempt(source: Source, row: Row) -> Real | None:
    """Propose z from the strips of strips.py; the high half of the second word accepts"""
    u = _fraction(source, row)
    z = _placed(u, row)
    v = Uniform(source, row[1] >> 32, 32)
    return z if positive(lambda: _log_level(z(), row) - v().log()) else None


def normal_value(source: Source, row: Row) -> Real:
    """Return what an accepted row stands for."""
    return _placed(_fraction(source, row), row)


def _fraction(source: Source, row: Row) -> Uniform:
    return Uniform(source, row[0] >> 13, FRACTION_BITS)


def _placed(u: Uniform, row: Row) -> Real:
    strip, sign = int(TABLE[row[0] & 4095]), -1 if row[0] >> 12 & 1 else 1
    if strip < TAIL:
        return Lazy(lambda: sign * (strip + u()) / 32)
    return Lazy(lambda: sign * (4 - u().log() / 4))


def _log_level(z: arb, row: Row) -> arb:
    """Logarithm of the acceptance probability"""
    strip = int(TABLE[row[0] & 4095])
    weight = arb(int(WEIGHTS[strip]))
    if strip < TAIL:
        return (HEIGHT / weight).log() - z**2 / 2
    return (8 * HEIGHT / weight).log() - 8 - (abs(z) - 4) ** 2 / 2


def gamma(tape: Tape, shape: Fraction) -> Real:
    """Draw G ~ Gamma(shape) from rows of 2 words, 3 below shape 1."""
    while (g := gamma_attempt(tape.source, tape.row(2 if shape >= 1 else 3), shape)) is None:
        pass
    return g


def gamma_attempt(source: Source, row: Row, shape: Fraction) -> Real | None:
    """Accept iff t = 1 + z/(3√d) > 0 and ln U < z²/2 + d(1 − t³ + 3 ln t), d = a − ⅓ (Marsaglia, Tsang 2000)

    U is the low half of the second word.
    """
    z = normal_attempt(source, row)
    if z is None:
        return None
    known, d = z, _body(shape)
    t = Lazy(lambda: 1 + known() / (3 * ball(d).sqrt()))
    if not positive(t):
        return None
    u = Uniform(source, row[1] & 0xFFFFFFFF, 32)

    def log_ratio() -> arb:
        return known() ** 2 / 2 + ball(d) * (1 - t() ** 3 + 3 * t().log()) - u().log()

    return _grown(source, z, row, shape) if positive(log_ratio) else None


def gamma_value(source: Source, row: Row, shape: Fraction) -> Real:
    """Return what an accepted row stands for."""
    return _grown(source, normal_value(source, row), row, shape)


def _body(shape: Fraction) -> Fraction:
    """Take d = a − ⅓, where shapes below 1 start from a + 1"""
    return shape - THIRD if shape >= 1 else shape + 1 - THIRD


def _grown(source: Source, z: Real, row: Row, shape: Fraction) -> Real:
    """G = d(1 + z/(3√d))³, times U₃^(1/a) below shape 1"""
    d = _body(shape)
    if shape >= 1:
        return Lazy(lambda: ball(d) * (1 + z() / (3 * ball(d).sqrt())) ** 3)
    u = Uniform(source, row[2])
    return Lazy(lambda: ball(d) * (1 + z() / (3 * ball(d).sqrt())) ** 3 * (u().log() / ball(shape)).exp())


def dirichlet(tape: Tape, alpha: Sequence[Fraction]) -> list[Real]:
    """θ_i = G_i / Σ_j G_j"""
    return normalised([gamma(tape, a) for a in alpha])


def normalised(gammas: Sequence[Real]) -> list[Real]:
    total = Lazy(lambda: sum((g() for g in gammas), arb(0)))

    def share(g: Real) -> Real:
        return Lazy(lambda: g() / total())

    return [share(g) for g in gammas]
