"""Gamma draws below a bound: the law, on every proposal; the bound; the same law by both ways to draw."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammainc

from discreet.sampling import exact, singles
from discreet.sampling.source import SeededSource, Tape
from discreet.sampling.truncated_gamma import GammaWindow, draw, from_flat, from_line, from_power

# shape, rate, upper: rejection of whole draws; power below and above shape 1; line; flat
SETTINGS = {
    "whole": (3, 1, 4),
    "power below 1": (Fraction(1, 4), 1, Fraction(1, 2**18)),
    "power": (Fraction(5, 2), Fraction(1, 2), Fraction(1, 2)),
    "line": (200, 1, 170),
    "far line": (150, 1, 20),
    "flat": (3, 1, Fraction(21, 20)),
}


def ks_p(x, shape, rate, upper):
    whole = gammainc(float(shape), float(rate * upper))
    return stats.kstest(gammainc(float(shape), float(rate) * x) / whole, "uniform").pvalue


@pytest.mark.parametrize("name", SETTINGS)
def test_the_law(name):
    """Kolmogorov–Smirnov on 1500 draws: a false alarm one time in a million; a shape 20 % off is caught."""
    shape, rate, upper = SETTINGS[name]
    x = exact.truncated_gamma(SeededSource(7), shape, rate, upper, 1500)
    assert x.max() <= upper
    assert ks_p(x, shape, rate, upper) > 1e-6
    assert ks_p(x, shape * Fraction(4, 5), rate, upper) < 1e-6


@pytest.mark.parametrize(
    ("attempt", "name"),
    [
        (from_power, "power"),
        (from_flat, "flat"),
        (from_line, "line"),
        (from_power, "flat"),
        (from_flat, "power"),
    ],
)
def test_every_proposal_has_the_same_law(attempt, name):
    window = GammaWindow(*map(Fraction, SETTINGS[name]))
    tape, found = Tape(SeededSource(3)), []
    while len(found) < 400:
        x = attempt(tape, window)
        found += [] if x is None else [float(x())]
    assert ks_p(np.array(found), *SETTINGS[name]) > 1e-6


def test_the_rare_branch_has_the_law_of_the_usual_one():
    """The same window through whole draws and through proposals; ends exchanged they would differ."""
    window = GammaWindow(Fraction(3), Fraction(1), Fraction(4))
    rare = singles.below(SeededSource(1), window, 600)
    rare = rare[rare <= window.largest]
    usual = exact.truncated_gamma(SeededSource(2), 3, 1, 4, 3000)
    assert stats.ks_2samp(rare, usual).pvalue > 1e-6
    assert stats.ks_2samp(4 - rare, usual).pvalue < 1e-6


@pytest.mark.parametrize("upper", [4, 3, Fraction(1, 3), 1 + 2.0**-30, 0.1])
def test_the_last_cell_lies_within(upper):
    top = Fraction(GammaWindow(Fraction(1), Fraction(1), Fraction(upper)).largest)
    half = Fraction(2) ** (top.numerator.bit_length() - top.denominator.bit_length())
    assert top < Fraction(upper)
    assert Fraction(upper) - top < Fraction(upper) / 2**21
    mantissa, _ = np.frexp(float(top))
    assert float(mantissa * 2**24).is_integer()
    assert top + half / 2**26 <= Fraction(upper)


def test_one_draw_is_what_the_ideal_one_rounds_to():
    window = GammaWindow(Fraction(200), Fraction(1), Fraction(170))
    ideal = float(draw(Tape(SeededSource(9)), window)())
    assert singles.below(SeededSource(9), window, 1)[0] == pytest.approx(ideal, rel=2.0**-24)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), 2.0**1000])
def test_bounds_that_are_none_are_refused(bad):
    with pytest.raises(ValueError, match="upper"):
        exact.truncated_gamma(SeededSource(1), 1, 1, bad, 1)
