"""Beta and Dirichlet conditioned on lower ≤ θ (≤ upper): rejection decided on the ideal draw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from flint import arb
from scipy.special import betainc, gammaincc, gammaln

from discreet.privacy.arithmetic.ball import ball, ceiling, floor, settle
from discreet.sampling import ideal
from discreet.sampling.source import Lazy, Real, Tape, Uniform, positive

FRIENDLY = 0.1  # reject from the whole Beta when at least this share of it lies inside


@final
@dataclass(frozen=True)
class Window:
    """Beta(a, b) on [lower, upper] ⊂ [0, 1]."""

    a: Fraction
    b: Fraction
    lower: Fraction
    upper: Fraction

    def share(self) -> float:
        """P(lower ≤ x ≤ upper), a guess that only running time depends on."""
        a, b = float(self.a), float(self.b)
        below, above = betainc(a, b, float(self.lower)), betainc(b, a, float(1 - self.upper))
        return float(1 - below - above)


@final
@dataclass(frozen=True)
class Envelope:
    """f(x) ≤ f(anchor) + slope·(x − anchor) on the window, f = (a−1) ln x + (b−1) ln(1−x)."""

    anchor: Fraction
    slope: Fraction


def envelope(w: Window) -> Envelope | None:
    """Tangent of the concave terms, chord of the convex ones, at the highest point; None if unbounded."""
    A, B = w.a - 1, w.b - 1
    if (w.lower == 0 and A < 0) or (w.upper == 1 and B < 0):
        return None
    if A >= 0 and B >= 0:
        anchor = min(max(A / (A + B), w.lower), w.upper) if A + B else w.lower
        return Envelope(anchor, _tangent(A, anchor) - _tangent(B, 1 - anchor))
    at_lower = B >= 0 or (A < 0 and _falls(w))
    anchor = w.lower if at_lower else w.upper
    left = _tangent(A, anchor) if A >= 0 else -_chord(-A, w.lower, w.upper, up=not at_lower)
    right = -_tangent(B, 1 - anchor) if B >= 0 else _chord(-B, 1 - w.upper, 1 - w.lower, up=at_lower)
    return Envelope(anchor, left + right)


def _tangent(k: Fraction, x: Fraction) -> Fraction:
    return k / x if k else Fraction(0)


def _chord(k: Fraction, low: Fraction, high: Fraction, *, up: bool) -> Fraction:
    """k·ln(high/low)/(high − low), rounded to the side that keeps the line above the curve."""
    slope = settle(lambda: ball(k) * (ball(high) / ball(low)).log() / ball(high - low))
    return Fraction(ceiling(slope) if up else floor(slope))


def _falls(w: Window) -> bool:
    """Whether f falls from lower to upper, a guess: a line anchored at either end is above the curve."""
    left = float(w.a - 1) * math.log(w.upper / w.lower)
    return left + float(w.b - 1) * math.log((1 - w.upper) / (1 - w.lower)) < 0


def from_beta(tape: Tape, w: Window) -> Real:
    """Draw x ~ Beta(a, b), redrawn unless lower < x < upper"""
    while True:
        x = ideal.dirichlet(tape, (w.a, w.b))[0]
        if inside(x, w):
            return x


def from_line(tape: Tape, w: Window, e: Envelope) -> Real:
    while (x := line_attempt(tape.uniform(), tape.uniform(), w, e)) is None:
        pass
    return x


def line_attempt(u: Uniform, v: Uniform, w: Window, e: Envelope) -> Real | None:
    """Accept x = anchor ∓ E/|slope|, or a uniform x where the slope is slight, with exp(f(x) − line(x))"""
    tilt = tilts(w, e)
    x = _exponential(u, e) if tilt else _uniform(u, w)
    if not inside(x, w):
        return None
    level = u if tilt else None  # slope·(x − anchor) = ln U for the exponential proposal

    def log_ratio() -> arb:
        line = level().log() if level is not None else ball(height(w, e))
        return _excess(x(), w, e) - line - v().log()

    return x if positive(log_ratio) else None


def tilts(w: Window, e: Envelope) -> bool:
    """Whether an exponential proposal away from the anchor beats the uniform one."""
    inward = w.upper - e.anchor if e.slope < 0 else e.anchor - w.lower
    return abs(e.slope) * inward > 1


def height(w: Window, e: Envelope) -> Fraction:
    """Return the line's highest point above f(anchor): what a uniform proposal must reach up to."""
    return max(e.slope * (w.lower - e.anchor), e.slope * (w.upper - e.anchor))


def _exponential(u: Uniform, e: Envelope) -> Real:
    return Lazy(lambda: ball(e.anchor) + u().log() / ball(e.slope))


def _uniform(u: Uniform, w: Window) -> Real:
    return Lazy(lambda: ball(w.lower) + ball(w.upper - w.lower) * u())


def inside(x: Real, w: Window) -> bool:
    above = w.lower == 0 or positive(lambda: x() - ball(w.lower))
    return above and (w.upper == 1 or positive(lambda: ball(w.upper) - x()))


def _excess(x: arb, w: Window, e: Envelope) -> arb:
    """f(x) − f(anchor)"""
    total = arb(0)
    if w.a != 1:
        total += ball(w.a - 1) * (x / ball(e.anchor)).log()
    if w.b != 1:
        total += ball(w.b - 1) * ((1 - x) / ball(1 - e.anchor)).log()
    return total


@final
@dataclass(frozen=True)
class Simplex:
    """Dirichlet(α) on {θ_i ≥ lower}: B = `held` proposed just above `lower`, I = `free` from their Dirichlet.

    M = Σ_I α − 1 is the power of 1 − Σθ_B once I is integrated out; R = 1 − |B|·lower;
    θ_i − lower ~ Exponential(c_i) for i ∈ B, c_i = M/R − (α_i − 1)⁺/lower.
    """

    alpha: tuple[Fraction, ...]
    lower: Fraction
    held: tuple[int, ...]
    free: tuple[int, ...]
    power: Fraction
    room: Fraction
    rates: tuple[Fraction, ...]

    def chance(self) -> float:
        """Guess the acceptance of held and free from a public pilot; only running time depends on it."""
        rate, lower = float(self.power / self.room), float(self.lower)
        log_chance = 0.0
        for i, pace in zip(self.held, self.rates, strict=True):
            a = float(self.alpha[i])
            beyond = max(float(gammaincc(a, rate * lower)), 1e-300)
            mass = float(gammaln(a)) + math.log(beyond) - a * math.log(rate)
            log_chance += mass - (a - 1) * math.log(lower) + rate * lower + math.log(pace)
        alpha = [float(self.alpha[i]) for i in self.free]
        pilot = np.random.default_rng(0).dirichlet(alpha, min(2000, 10**6 // len(alpha) + 1)).min(axis=1)
        return math.exp(min(log_chance, 0.0)) * float(np.mean(pilot > lower / float(self.room)))


def simplex_of(alpha: Sequence[Fraction], lower: Fraction) -> Simplex:
    """Hold the coordinates that lie mostly below `lower`; any choice gives the same law."""
    total = float(sum(alpha))
    largest = max(range(len(alpha)), key=lambda i: alpha[i])
    held = [
        i
        for i, a in enumerate(alpha)
        if i != largest and betainc(float(a), total - float(a), float(lower)) > 0.3
    ]
    while True:
        s = _hold(tuple(alpha), lower, held)
        kept = [i for i, rate in zip(held, s.rates, strict=True) if rate > 0]
        if kept == held:
            return s
        held = kept


def _hold(alpha: tuple[Fraction, ...], lower: Fraction, held: list[int]) -> Simplex:
    free = tuple(sorted(set(range(len(alpha))).difference(held)))
    power = sum((alpha[i] for i in free), Fraction(-1))
    room = 1 - len(held) * lower
    rates = tuple(power / room - max(alpha[i] - 1, Fraction(0)) / lower for i in held)
    return Simplex(alpha, lower, tuple(held), free, power, room, rates)


def from_simplex(tape: Tape, s: Simplex) -> list[Real]:
    while True:
        over = held_attempt(tape.uniforms(len(s.held) + 1), s)
        if over is None:
            continue
        theta = free_attempt(over, [ideal.gamma(tape, s.alpha[i]) for i in s.free], s)
        if theta is not None:
            return theta


def held_attempt(row: Sequence[Uniform], s: Simplex) -> list[Real] | None:
    """Overshoots x_i = E_i/c_i of the held, accepted iff room > |I|·lower and

    ln U < M[ln(room/R) + 1 − room/R] + Σ k_i[ln(1 + x_i/lower) − (x_i/lower)·1(k_i > 0)], k_i = α_i − 1.
    """
    over = overshoots(row, s)
    left = room(over, s)

    def log_ratio() -> arb:
        t = left() / ball(s.room)
        total = ball(s.power) * (t.log() + 1 - t)
        for i, x in zip(s.held, over, strict=True):
            k, part = s.alpha[i] - 1, x() / ball(s.lower)
            total += ball(k) * ((1 + part).log() - (part if k > 0 else 0))
        return total - row[-1]().log()

    fits = positive(lambda: left() - ball(len(s.free) * s.lower)) and (not over or positive(log_ratio))
    return over if fits else None


def overshoots(row: Sequence[Uniform], s: Simplex) -> list[Real]:
    def over(u: Uniform, rate: Fraction) -> Real:
        return Lazy(lambda: -u().log() / ball(rate))

    return [over(u, rate) for u, rate in zip(row[:-1], s.rates, strict=True)]


def room(over: Sequence[Real], s: Simplex) -> Real:
    """Return what the held leave to the free: 1 − Σθ_B."""
    return Lazy(lambda: ball(s.room) - sum((x() for x in over), arb(0)))


def free_attempt(over: Sequence[Real], gammas: Sequence[Real], s: Simplex) -> list[Real] | None:
    """θ of all coordinates in their own order, unless a free one falls below `lower`"""
    left = room(over, s)
    theta = {i: _shifted(x, s.lower) for i, x in zip(s.held, over, strict=True)}
    for i, share in zip(s.free, ideal.normalised(gammas), strict=True):
        theta[i] = _scaled(share, left)
        if not positive(_shifted(theta[i], -s.lower)):
            return None
    return [theta[i] for i in range(len(s.alpha))]


def _shifted(x: Real, by: Fraction) -> Real:
    return Lazy(lambda: x() + ball(by))


def _scaled(x: Real, by: Real) -> Real:
    return Lazy(lambda: x() * by())
