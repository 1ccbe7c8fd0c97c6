"""Gamma conditioned on staying below a public bound: rejection decided on the ideal draw."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from flint import arb
from scipy.special import gammainc

from discreet.privacy.arithmetic.ball import ball
from discreet.sampling.source import Lazy, Real, Tape, positive

DIGITS = 24  # significant bits of what is released


@final
@dataclass(frozen=True)
class GammaWindow:
    """Gamma(shape, rate) on (0, upper]."""

    shape: Fraction
    rate: Fraction
    upper: Fraction

    def share(self) -> float:
        """P(x ≤ upper), a guess that only running time depends on."""
        return float(gammainc(float(self.shape), float(self.rate * self.upper)))

    @property
    def largest(self) -> float:
        """The largest number of 24 bits whose whole cell lies within: what the draws are held to."""
        exponent = math.frexp(float(self.upper))[1] - DIGITS
        unit = Fraction(2) ** exponent
        return math.ldexp(math.floor(self.upper / unit - Fraction(1, 2)), exponent)


def draw(tape: Tape, w: GammaWindow) -> Real:
    """Draw the ideal real; every proposal has the same law, and a good chance where there is little mass."""
    attempt = from_power if w.shape <= 1 or w.rate * w.upper <= 1 else from_line if _rises(w) else from_flat
    while (x := attempt(tape, w)) is None:
        pass
    return x


def _rises(w: GammaWindow) -> bool:
    """Whether the density rises so much at the upper end that an exponential fits into the window."""
    return w.shape - 1 - w.rate * w.upper > 1


def from_power(tape: Tape, w: GammaWindow) -> Real | None:
    """Propose x = M U^{1/a}, of density ∝ x^{a−1}; accept with e^{−bx}."""
    u, v = tape.uniform(), tape.uniform()
    x: Real = Lazy(lambda: ball(w.upper) * (u().log() / ball(w.shape)).exp())
    return x if positive(lambda: -ball(w.rate) * x() - v().log()) else None


def from_line(tape: Tape, w: GammaWindow) -> Real | None:
    """Propose x = M + ln U/s, s = (a − 1)/M − b; accept with (x/M)^{a−1} e^{−(a−1)(x/M − 1)} ≤ 1."""
    u, v, slope = tape.uniform(), tape.uniform(), (w.shape - 1) / w.upper - w.rate
    x: Real = Lazy(lambda: ball(w.upper) + u().log() / ball(slope))
    if not positive(x):
        return None

    def log_ratio() -> arb:
        share = x() / ball(w.upper)
        return ball(w.shape - 1) * (share.log() - share + 1) - v().log()

    return x if positive(log_ratio) else None


def from_flat(tape: Tape, w: GammaWindow) -> Real | None:
    """Propose x = MU; accept with the density over its largest, at m = min((a − 1)/b, M)."""
    u, v, top = tape.uniform(), tape.uniform(), min((w.shape - 1) / w.rate, w.upper)
    x: Real = Lazy(lambda: ball(w.upper) * u())

    def log_ratio() -> arb:
        far = (x() / ball(top)).log()
        return ball(w.shape - 1) * far - ball(w.rate) * (x() - ball(top)) - v().log()

    return x if positive(log_ratio) else None
