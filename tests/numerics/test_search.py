"""A search returns what was seen to hold, the nearest to what fails, in as many trials as it may."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.numerics import search


class Seen:
    """A predicate that remembers what it was asked, and what it said."""

    def __init__(self, holds):
        self.holds, self.said = holds, {}

    def __call__(self, x):
        self.said[x] = self.holds(x)
        return self.said[x]


@given(st.integers(-(10**30), 10**30), st.integers(0, 10**30), st.integers(1, 10**30))
def test_integers_find_the_edge_from_either_side(edge, below, above):
    seen = Seen(lambda k: k >= edge)
    assert search.bisect(seen, edge - 1 - below, edge + above, search.integers) == edge
    assert len(seen.said) <= (below + above).bit_length() + 1
    assert search.bisect(lambda k: k < edge, edge + above, edge - 1 - below, search.integers) == edge - 1


@given(st.floats(2.0**-300, 2.0**300))
def test_doubles_find_the_last_double(edge):
    assert search.bisect(lambda x: x >= edge, 0.0, 2.0**400, search.doubles) == edge
    assert search.bisect(lambda x: x <= edge, 2.0**400, 0.0, search.doubles) == edge


@given(st.floats(0.01, 0.99), st.integers(0, 30))
def test_a_search_that_is_cut_short_returns_what_held(edge, turns):
    seen = Seen(lambda x: x >= edge)
    found = search.bisect(seen, 0.0, 1.0, search.doubles, turns=turns)
    assert len(seen.said) == turns
    assert found == min([1.0, *(x for x, held in seen.said.items() if held)])
    assert edge <= found <= edge + 2.0**-turns


def test_nothing_is_returned_on_trust_where_a_predicate_is_not_monotone():
    """Two edges: which one is found is a matter of luck, that the value held is not."""
    seen = Seen(lambda k: k in {3, 4, 5} or k >= 40)
    assert seen.said.get(search.bisect(seen, 0, 100, search.integers))


def test_middles_end_where_they_are_told():
    assert search.integers(3, 4) is None
    assert search.integers(-4, -1) == -3
    assert search.doubles(1.0, math.nextafter(1.0, 2.0)) is None
    assert search.doubles(2.0, 1.0, width=1.0) is None
    assert search.ratios(1.5)(4.0, 9.0) == search.ratios(1.5)(9.0, 4.0) == 6.0
    assert search.ratios(2.25)(4.0, 9.0) is None
    found = search.bisect(lambda x: x >= 0.3, 0.0, 1.0, partial(search.doubles, width=0.1))
    assert found == 0.3125


def test_fractions_take_the_middle_they_are_given():
    third = Fraction(1, 3)
    found = search.bisect(lambda x: x <= third, Fraction(1), Fraction(0), lambda a, b: (a + b) / 2, turns=10)
    assert found == Fraction(341, 1024)


def test_a_bracket_ends_at_the_last_value_or_holds():
    seen = Seen(lambda x: x >= 100)
    assert search.bracket(seen, 0, 1, lambda x: 4 * x, lambda x: x >= 2**20) == (64, 256)
    assert search.bracket(lambda _: False, 0, 1, lambda x: 4 * x, lambda x: x >= 64) is None
    assert search.bracket(lambda x: x >= 64, 0, 1, lambda x: 4 * x, lambda x: x >= 64) == (16, 64)


@pytest.mark.parametrize("edge", [1, 2, 3, 17, 1024, 1025])
def test_counts_from_one(edge):
    assert search.least_count(lambda k: k >= edge, 2**11) == edge
    assert search.least_count(lambda k: k >= edge, 2**11, 4) == edge
    assert search.least_count(lambda k: k >= 2**12, 2**11) is None


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_the_greatest_near_a_guess(edge, guess):
    seen = Seen(lambda k: k <= edge)
    assert search.greatest_near(seen, guess, None, None) == edge
    assert len(seen.said) <= 2 * abs(edge - guess).bit_length() + 3
    assert search.greatest_near(seen, guess, edge, edge + 5) == edge
    assert search.greatest_near(lambda _: False, guess, 0, None) == 0


def test_many_at_once_are_as_one_by_one():
    edges = np.random.default_rng(1).random(50)
    found = search.each_bisected(lambda x: x < edges, np.zeros(50), np.ones(50), 40)
    alone = [search.bisect(lambda x, e=e: x >= e, 0.0, 1.0, search.doubles, turns=40) for e in edges]
    np.testing.assert_array_equal(found, alone)
