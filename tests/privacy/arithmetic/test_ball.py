"""The numbers that everything else trusts: enclosures, roundings, bisection."""

import math
from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.privacy.arithmetic.ball import (
    PrecisionError,
    ball,
    ceiling,
    decide,
    floor,
    largest,
    precision,
    round_down,
    settle,
)

rationals = st.fractions(min_value=-(10**9), max_value=10**9, max_denominator=10**12)


@given(rationals)
@settings(max_examples=200, deadline=None)
def test_rounding_is_outward_and_tight(x):
    with precision(256):
        up, down = ceiling(ball(x)), floor(ball(x))
    assert Fraction(down) <= x <= Fraction(up)
    assert math.nextafter(down, math.inf) >= up  # no double lies between


def test_an_exact_ball_rounds_to_itself_and_an_infinite_one_to_infinity():
    assert ceiling(arb(0.1)) == floor(arb(0.1)) == 0.1
    assert ceiling(arb.pos_inf()) == math.inf
    assert ceiling(arb("nan")) == math.inf  # what cannot be bounded is not promised


def test_precision_is_restored_after_an_error():
    from flint import ctx

    before = ctx.prec
    with pytest.raises(ZeroDivisionError), precision(before + 1):
        _ = 1 / (ctx.prec - before - 1)
    assert ctx.prec == before


def test_settle_refines_until_the_digits_count():
    # 1 − cos(1e-30) cancels completely at 128 bits
    value = settle(lambda: 1 - ball(Fraction(1, 10**30)).cos(), bits=60)
    assert value.rel_accuracy_bits() >= 60
    assert ceiling(value) == pytest.approx(5e-61, rel=1e-15)


def test_settle_gives_up_loudly():
    with pytest.raises(PrecisionError, match="60 bits"):
        settle(lambda: arb(0, 1))


def test_decide_is_false_on_a_tie_that_no_precision_resolves():
    assert decide(lambda: arb(2).sqrt(), Fraction(14142136, 10**7))
    assert not decide(lambda: arb(2).sqrt(), Fraction(14142135, 10**7))
    assert not decide(lambda: arb(2).sqrt() ** 2, 2)  # equal, but never proved so


@given(st.floats(min_value=1e-300, max_value=1e300))
@settings(max_examples=200, deadline=None)
def test_largest_finds_the_very_last_double(edge):
    assert largest(lambda x: x <= edge, 1e305) == edge


def test_largest_of_nothing_is_zero_and_of_everything_the_bound():
    assert largest(lambda _: False, 1.0) == 0.0
    assert largest(lambda _: True, 0.75) == 0.75


@given(st.floats(min_value=1e-300, max_value=1e300), st.integers(1, 53))
@settings(max_examples=200, deadline=None)
def test_round_down_keeps_so_many_bits_and_never_rises(x, bits):
    y = round_down(x, bits)
    mantissa, _ = math.frexp(y)
    assert (mantissa * 2**bits).is_integer()
    assert y <= x < y * (1 + 2.0 ** (1 - bits)) or bits == 53
