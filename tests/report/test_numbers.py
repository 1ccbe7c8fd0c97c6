"""Numbers for people: up where promised, honest digits elsewhere."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.privacy.words import upward
from discreet.report.drawn.svg import Axis, cut_to_room, pixels
from discreet.report.markup import Html, element, escaped
from discreet.report.numbers import decimals, powers, share_upward, shown, tick

POSITIVE = st.floats(min_value=1e-300, max_value=1e300)


@settings(deadline=None)
@given(POSITIVE)
def test_a_promise_is_never_shown_smaller_and_at_most_a_hair_larger(x):
    said = Fraction(upward(x))
    assert Fraction(x) <= said <= Fraction(x) * Fraction(100_001, 100_000)


def test_a_promise_without_bound_says_so():
    assert upward(math.inf) == "unbounded"
    assert upward(0.0) == "0"


@pytest.mark.parametrize(
    ("p", "said"), [(0.5, "50 %"), (0.62245934, "62.25 %"), (1.0, "100 %"), (0.999999, "100 %")]
)
def test_certainty_is_rounded_up(p, said):
    assert f">{said}<" in share_upward(p)


@pytest.mark.parametrize(
    ("value", "places", "percent", "said"),
    [
        (0.29731, 4, True, "29.73 %"),
        (-2.5, 1, False, "−2.5"),
        (1234567.0, 0, False, "1\u202f234\u202f567"),
        (math.nan, 2, False, "—"),
        (math.inf, 2, True, "—"),
        (3e-9, 3, False, "3×10⁻⁹"),
        (125_000_000.0, 0, False, "1.25×10⁸"),
        (-0.00001, 2, True, "0 %"),
    ],
)
def test_estimates_are_shown_plainly(value, places, percent, said):
    assert shown(value, places, percent=percent) == said


def test_three_digits_of_a_width():
    assert [decimals(w) for w in (0.0335, 3.35, 335.0, 0.0, math.inf)] == [4, 2, 0, 3, 3]


def test_powers_of_ten():
    assert powers("δ = 1e-06, 2e-07, 1.50e+09, x1e-12") == "δ = 10⁻⁶, 2×10⁻⁷, 1.5×10⁹, x1e-12"


@settings(deadline=None)
@given(st.floats(-1e12, 1e12), st.floats(1e-9, 1e12), st.sampled_from([350, 680]))
def test_ticks_lie_within_the_axis_and_can_be_told_apart(low, width, pixel_width):
    axis = Axis(low, low + width, 8, pixel_width - 8)
    if not axis.high - axis.low > 1e-9 * max(abs(low), 1):
        return
    marks = axis.ticks()
    assert len(marks) <= 12
    assert all(low - width * 1e-6 <= t <= low + width * (1 + 1e-6) for t in marks)
    assert all(b > a for a, b in itertools.pairwise(marks))


def test_ticks_of_shares():
    axis = Axis(0.171, 0.429, 8, 672)
    step = axis.ticks()[1] - axis.ticks()[0]
    assert [tick(t, step, percent=True) for t in axis.ticks()] == ["20 %", "25 %", "30 %", "35 %", "40 %"]


def test_pictures_refuse_what_is_not_finite():
    for bad in (math.nan, math.inf):
        with pytest.raises(ValueError, match="finite"):
            pixels(bad)


@settings(deadline=None)
@given(st.text())
def test_any_text_is_harmless(text):
    made = escaped(text)
    assert not set("<>\"'") & set(made)
    made.encode("utf-8")
    assert escaped(made) is made


def test_elements_escape_texts_and_attributes_but_not_themselves():
    inner = element("b", "1 < 2")
    assert element("p", inner, 'a "b"', class_="x", aria_label='"') == Html(
        '<p class="x" aria-label="&quot;"><b>1 &lt; 2</b>a &quot;b&quot;</p>'
    )


def test_labels_are_cut_to_their_room():
    assert cut_to_room("short", 200) == "short"
    assert cut_to_room("a very long label indeed", 80).endswith("…")
    assert len(cut_to_room("長" * 40, 140)) <= 11
