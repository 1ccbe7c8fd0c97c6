"""Promises for people: never rounded to the side that flatters, and no fraction of three hundred digits."""

from __future__ import annotations

import json
import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, Inexact
from fractions import Fraction
from functools import singledispatch

from discreet.privacy.accounting.composition import Composition
from discreet.privacy.accounting.conversions import above
from discreet.privacy.arithmetic.ball import Exact, ball
from discreet.privacy.arithmetic.curves import Points
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee, positive, probability
from discreet.privacy.kinds import RenyiDP

UP, DOWN = ROUND_CEILING, ROUND_FLOOR  # what is promised, and what still fits
LONG = 24  # of a ratio that somebody is to type
DIGITS, SHORT = 6, 12  # digits of a number that is rounded, and of one that is shown whole
HUGE = 10**300  # beyond, division into a double may overflow


def upward(value: float, digits: int = DIGITS) -> str:
    """Write the least decimal of so many digits at or above the value."""
    if not math.isfinite(value):
        return "unbounded"
    near = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(value))
    return _plainly(near) if near else "0"


def _plainly(near: Decimal) -> str:
    """Write 10 and not 1e+1."""
    short = near.normalize()
    return f"{short:f}" if 0 <= short.adjusted() < DIGITS else f"{short:g}"


def number(value: float | Fraction, rounding: str = UP) -> str:
    """Write a number whole where that is short, as 0.1 or 1/3; else at six digits, rounded as told."""
    if value == math.inf:
        return "inf"
    exact = Fraction(value)
    near = exact.numerator / exact.denominator if exact < HUGE else math.inf
    same = near < math.inf and exact in {Fraction(near), Fraction(repr(near))}
    if (
        same and _digits(Decimal(repr(near))) <= SHORT
    ):  # a double or its decimal, by the name that Python gives it
        return repr(near)
    try:
        return _decimal(exact, Context(prec=SHORT, traps=[Inexact]))
    except Inexact:
        ratio = str(exact)
    if len(ratio) <= SHORT:
        return ratio
    return _decimal(exact, Context(prec=DIGITS, rounding=rounding))


def ratio(value: float | Fraction) -> str:
    """Write a number exactly where that is short, as 0.1 or 1/3000000, else at 15 digits, rounded down."""
    shown = number(value, DOWN)
    if Fraction(shown) == Fraction(value):
        return shown
    whole = str(Fraction(value))
    return whole if len(whole) <= LONG else _decimal(Fraction(value), Context(prec=15, rounding=DOWN))


def _digits(shown: Decimal) -> int:
    return len(shown.normalize().as_tuple().digits)


def _decimal(exact: Fraction, context: Context) -> str:
    return f"{context.divide(Decimal(exact.numerator), Decimal(exact.denominator)).normalize():g}"


def knob(value: object) -> str:
    """Write an exact rational briefly; the certificate's JSON has every digit."""
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{', '.join(knob(x) for x in value)}]"
    if not isinstance(value, str) or not re.fullmatch(r"-?\d+/\d+", value) or len(value) <= SHORT:
        return str(value)
    return f"about {float(Fraction(value)):.{DIGITS}g}"


@singledispatch
def in_words(guarantee: Guarantee, rounding: str = UP) -> str:
    """Name a promise briefly, as it is written in Python."""
    shown = [_said(value, rounding) for value in guarantee.described()]
    if guarantee.relation is not SUBSTITUTE:
        shown.append(f"relation={guarantee.relation.name}")
    return f"{type(guarantee).__name__}({', '.join(shown)})"


def _said(value: object, rounding: str) -> str:
    return number(value, rounding) if isinstance(value, int | float | Fraction) else repr(value)


def at_order(order: float, bound: float | Fraction, rounding: str = UP) -> str:
    """Name a Rényi bound; a smaller order promises less, so the order is rounded the other way."""
    return f"RenyiDP.at({number(order, DOWN if rounding == UP else UP)}, {number(bound, rounding)})"


@in_words.register
def _in_words_renyi_dp(guarantee: RenyiDP, rounding: str = UP) -> str:
    if isinstance(guarantee.curve, Points):
        return " and ".join(at_order(a, e, rounding) for a, e in guarantee.curve.known)
    exact = "" if guarantee.profile is None else " and its exact δ(ε)"
    return f"the Rényi curve of its worst neighbours, finite below order {guarantee.order_limit:.6g}{exact}"


@in_words.register
def _in_words_composition(guarantee: Composition, rounding: str = UP) -> str:
    parts = [(in_words(part, rounding), n) for part, n in guarantee.parts]
    return ", and ".join(f"{n} times {said}" if n > 1 else said for said, n in parts)


# ── What a promise means to somebody who guesses: how sure they can become. Rounded up, in ball arithmetic.
# Shares of the failure probability at which ε(δ) is asked; each gives a valid bound, the least is taken.
SHARES = (
    Fraction(0),
    Fraction(1, 2**14),
    Fraction(1, 2**10),
    Fraction(1, 2**7),
    Fraction(1, 2**5),
    Fraction(1, 2**3),
    Fraction(1, 2),
)


def loss_bound(guarantee: Guarantee, failure: Exact) -> float:
    """Certified ℓ with Pr[L > ℓ] ≤ failure, L the privacy loss; not ε(δ), whose tail may weigh more than δ.

    δ(ε) = E(1 − e^{ε−L})₊ [Balle, Wang 2018 Thm 5] ≥ Pr[L > ℓ](1 − e^{ε−ℓ}), hence ℓ = ε − ln(1 − s) where
    δ(ε) ≤ s·failure.
    """
    beta = Fraction(probability("failure", failure))
    if beta == 0:
        return guarantee.epsilon(0)
    found = ((guarantee.epsilon(share * beta), share) for share in SHARES)
    return min((_raised(epsilon, share) for epsilon, share in found), default=math.inf)


def _raised(epsilon: float, share: Fraction) -> float:
    if epsilon == math.inf or share == 0:
        return epsilon
    return above(lambda: ball(epsilon) - ball(1 - share).log())


def sure_after(prior: Exact, loss: float) -> float:
    """p/(p + (1−p)e^{−ℓ}): prior odds times e^ℓ, as a probability; all else about the table is known."""
    p = Fraction(positive("prior", prior))
    if not p < 1:
        raise ValueError(
            f"a prior must lie strictly between 0 and 1, got {prior}; at 1 there is nothing to learn"
        )
    return (
        1.0
        if loss == math.inf
        else min(1.0, above(lambda: ball(p) / (ball(p) + ball(1 - p) / ball(loss).exp())))
    )


USUAL = 10_000  # records that a table may well have


def delta_caution(promised: Guarantee, target: Guarantee, n: int | None) -> str | None:
    """Say where δ is so large that publishing a record chosen at random would keep the promise too.

    δ is what the target allows and the promise uses. At δ = 1/n one whole record of n leaves. Where n is
    private (None) it is said from which n on, if tables of `USUAL` records are among them.
    """
    delta = target.disclosure()[0]
    if not delta or promised.epsilon(0) < math.inf:
        return None
    if n is None:
        if 10 * USUAL * Fraction(delta) <= 1:
            return None
        return (
            f"n is private, and δ = {number(delta)} is above 1/(10 n) from {0.1 / delta:,.0f} records on: "
            "with as many, publishing a whole record chosen at random, more than one time in ten, would keep "
            "such a promise; ask for a δ far below 1/n"
        )
    if 10 * n * Fraction(delta) <= 1:
        return None
    if n * Fraction(delta) >= 1:
        return (
            f"δ = {number(delta)} is not below 1/n = {1 / n:.3g}: publishing one whole record, chosen at "
            "random, would keep such a promise; ask for a δ far below 1/n"
        )
    return (
        f"δ = {number(delta)} is above 1/(10 n) = {0.1 / n:.3g}: publishing a whole record chosen at random, "
        "more than one time in ten, would keep such a promise; ask for a δ far below 1/n"
    )
