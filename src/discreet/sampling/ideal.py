"""Exact rejection algorithms on lazy uniforms: each returns the ideal real itself, known to any precision."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb

from discreet.privacy.certified import ball
from discreet.sampling.lazy import Lazy, Real, Tape, positive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.sampling.lazy import Uniform

THIRD = Fraction(1, 3)


def exponential(tape: Tape) -> Real:
    """E = −ln U"""
    u = tape.uniform()
    return Lazy(lambda: -u().log())


def normal(tape: Tape) -> Real:
    """Draw z ~ N(0, 1) from rows of 2 uniforms."""
    while (z := normal_attempt(*tape.uniforms(2))) is None:
        pass
    return z


def normal_attempt(u: Uniform, v: Uniform) -> Real | None:
    """Propose z = √(8/e)(V − ½)/U, accepted iff z² ≤ −4 ln U (Kinderman and Monahan 1977)"""
    z = ratio(u, v)
    return z if positive(lambda: -4 * u().log() - z() ** 2) else None


def ratio(u: Uniform, v: Uniform) -> Real:
    return Lazy(lambda: (8 * arb(-1).exp()).sqrt() * (v() - arb(0.5)) / u())


def gamma(tape: Tape, shape: Fraction) -> Real:
    """Draw G ~ Gamma(shape) from rows of 3 uniforms, 4 below shape 1."""
    while (g := gamma_attempt(tape.uniforms(row_width(shape)), shape)) is None:
        pass
    return g


def row_width(shape: Fraction) -> int:
    return 3 if shape >= 1 else 4


def gamma_attempt(row: Sequence[Uniform], shape: Fraction) -> Real | None:
    """Accept iff t > 0 and ln U₃ < z²/2 + d(1 − t³ + 3 ln t) (Marsaglia and Tsang 2000)"""
    z = normal_attempt(row[0], row[1])
    if z is None:
        return None
    normal, d = z, _body(shape)
    t = _cube_root(z, d)
    if not positive(t):
        return None

    def log_ratio() -> arb:
        return normal() ** 2 / 2 + ball(d) * (1 - t() ** 3 + 3 * t().log()) - row[2]().log()

    return _boosted(t, row, shape) if positive(log_ratio) else None


def gamma_value(row: Sequence[Uniform], shape: Fraction) -> Real:
    """Return what an accepted row stands for."""
    return _boosted(_cube_root(ratio(row[0], row[1]), _body(shape)), row, shape)


def _body(shape: Fraction) -> Fraction:
    """Take d = a − ⅓, where shapes below 1 start from a + 1"""
    return shape - THIRD if shape >= 1 else shape + 1 - THIRD


def _cube_root(z: Real, d: Fraction) -> Real:
    """Take t = 1 + z/(3√d)"""
    return Lazy(lambda: 1 + z() / (3 * ball(d).sqrt()))


def _boosted(t: Real, row: Sequence[Uniform], shape: Fraction) -> Real:
    """G = d·t³, times U₄^(1/a) below shape 1"""
    d = _body(shape)
    if shape >= 1:
        return Lazy(lambda: ball(d) * t() ** 3)
    return Lazy(lambda: ball(d) * t() ** 3 * (row[3]().log() / ball(shape)).exp())


def dirichlet(tape: Tape, alpha: Sequence[Fraction]) -> list[Real]:
    """θ_i = G_i / Σ_j G_j"""
    return normalised([gamma(tape, a) for a in alpha])


def normalised(gammas: Sequence[Real]) -> list[Real]:
    total = Lazy(lambda: sum((g() for g in gammas), arb(0)))

    def share(g: Real) -> Real:
        return Lazy(lambda: g() / total())

    return [share(g) for g in gammas]
