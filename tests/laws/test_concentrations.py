"""A million concentrations stay float64 while that is exact, and become Fractions the moment it is not."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.families import DirichletCategorical
from discreet.families.laws.dirichlet import add_weighted
from discreet.privacy.guarantee import SUBSTITUTE

entry = st.one_of(st.floats(2**-40, 2**60), st.floats(1e-300, 1e300), st.integers(1, 2**53).map(float))
count = st.one_of(st.integers(0, 2**53), st.integers(0, 40)).map(float)
weight = st.one_of(
    st.floats(2**-24, 1), st.floats(1e-300, 1e3), st.fractions(Fraction(1, 99), 3, max_denominator=99)
)


@settings(deadline=None, max_examples=300, derandomize=True, database=None)
@given(st.lists(st.tuples(entry, count), min_size=1, max_size=4), weight)
def test_sums_are_exact(pairs, r):
    base, counts = (np.array(column) for column in zip(*pairs, strict=True))
    found = add_weighted(base, Fraction(r), counts)
    expected = [Fraction(a) + Fraction(r) * Fraction(c) for a, c in pairs]
    assert [Fraction(x) for x in found.tolist()] == expected


def test_storage():
    exact = DirichletCategorical(np.ones(4)).update([3, 0, 1, 0], 4, weight=0.25)
    assert exact.alpha.dtype == np.float64
    inexact = DirichletCategorical(np.full(4, 0.1)).update([3, 0, 1, 0], 4)
    assert inexact.alpha.dtype == object
    assert inexact.alpha[0] == Fraction(0.1) + 3
    assert inexact.alpha[0] != Fraction(0.1 + 3)  # the rounded sum is another number
    for member in (exact, inexact):
        with pytest.raises(ValueError, match="read-only"):
            member.alpha[0] = 9


def test_the_caller_keeps_no_handle_on_the_array():
    alpha = np.ones(3)
    member = DirichletCategorical(alpha)
    alpha[0] = 9
    assert member == DirichletCategorical([1, 1, 1])


def test_equal_however_given():
    ways = [
        [1, 2, 3],
        [1.0, 2.0, 3.0],
        np.array([1, 2, 3], dtype=np.int32),
        [Fraction(1), Fraction(2), Fraction(3)],
    ]
    assert len({DirichletCategorical(w) for w in ways}) == 1
    assert DirichletCategorical([1, 2, 3]) != DirichletCategorical([1, 2, Fraction(10, 3)])
    assert DirichletCategorical([1, 2**60 + 1]).alpha[1] == 2**60 + 1
    assert hash(DirichletCategorical([1, Fraction(1, 3)])) == hash(DirichletCategorical([1, Fraction(2, 6)]))


def test_a_million_categories():
    d, rng = 10**6, np.random.default_rng(4)
    for alpha in (
        np.full(d, 0.5),
        np.full(d, 0.1),
        rng.uniform(0.1, 2, 10**4),
    ):  # float64; few, many Fractions
        d = alpha.size
        prior = DirichletCategorical(alpha)
        counts = prior.statistic(rng.integers(d, size=d))
        posterior = prior.update(counts, d, weight=2.0**-10)
        assert posterior.worst_case(d, relation=SUBSTITUTE).order_limit > 1
        some = rng.integers(d, size=50)
        expected = [Fraction(alpha[i]) + Fraction(int(counts[i]), 1024) for i in some]
        assert [Fraction(posterior.alpha[i]) for i in some] == expected
