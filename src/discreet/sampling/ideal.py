"""Exact rejection algorithms on lazy uniforms: each returns the ideal real itself, known to any precision."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb

from discreet.privacy.certified import ball
from discreet.sampling.lazy import Lazy, Real, Tape, positive

if TYPE_CHECKING:
    from collections.abc import Sequence

THIRD = Fraction(1, 3)


def exponential(tape: Tape) -> Real:
    """E = −ln U"""
    u = tape.uniform()
    return Lazy(lambda: -u().log())


def normal(tape: Tape) -> Real:
    """Draw z = √(8/e)(U₂ − ½)/U₁, accepted iff z² ≤ −4 ln U₁ (Kinderman and Monahan 1977)"""
    while (z := _ratio_of_uniforms(tape)) is None:
        pass
    return z


def _ratio_of_uniforms(tape: Tape) -> Real | None:
    u, v = tape.uniform(), tape.uniform()
    z = Lazy(lambda: (8 * arb(-1).exp()).sqrt() * (v() - arb(0.5)) / u())
    return z if positive(lambda: -4 * u().log() - z() ** 2) else None


def gamma(tape: Tape, shape: Fraction) -> Real:
    """Marsaglia and Tsang 2000; below shape 1, G(a) = G(a+1)·U^(1/a)"""
    body = shape if shape >= 1 else shape + 1
    while (value := _marsaglia_tsang(tape, body - THIRD)) is None:
        pass
    if shape >= 1:
        return value
    above, u = value, tape.uniform()
    return Lazy(lambda: above() * (u().log() / ball(shape)).exp())


def _marsaglia_tsang(tape: Tape, d: Fraction) -> Real | None:
    """With d = a − ⅓, t = 1 + z/(3√d): accept t > 0 iff ln U < z²/2 + d(1 − t³ + 3 ln t); G = d·t³"""
    z = normal(tape)
    t = Lazy(lambda: 1 + z() / (3 * ball(d).sqrt()))
    if not positive(t):
        return None
    u = tape.uniform()

    def log_ratio() -> arb:
        return z() ** 2 / 2 + ball(d) * (1 - t() ** 3 + 3 * t().log()) - u().log()

    return Lazy(lambda: ball(d) * t() ** 3) if positive(log_ratio) else None


def dirichlet(tape: Tape, alpha: Sequence[Fraction]) -> list[Real]:
    """θ_i = G_i / Σ_j G_j"""
    return normalised([gamma(tape, a) for a in alpha])


def normalised(gammas: Sequence[Real]) -> list[Real]:
    total = Lazy(lambda: sum((g() for g in gammas), arb(0)))

    def share(g: Real) -> Real:
        return Lazy(lambda: g() / total())

    return [share(g) for g in gammas]
