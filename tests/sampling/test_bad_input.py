"""Bad parameters are refused with a sentence that says what was wrong; what may be private stays unsaid."""

from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest

from discreet.sampling import exact
from discreet.sampling.source import SeededSource

S = SeededSource(0)
EYE = [[1, 0], [0, 1]]


@pytest.mark.parametrize("bad", [nan, inf, -inf, 0, -1, "x", None, Fraction(-1, 3)])
def test_positive_parameters(bad):
    for draw in (
        lambda: exact.beta(S, bad, 1, 1),
        lambda: exact.beta(S, 1, bad, 1),
        lambda: exact.truncated_beta(S, bad, 1, 0.1, 0.9, 1),
        lambda: exact.gamma(S, bad, 1),
        lambda: exact.gamma(S, [1, bad], 1),
        lambda: exact.gamma(S, 1, 1, rate=bad),
        lambda: exact.dirichlet(S, [1, bad], 1),
        lambda: exact.dirichlet(S, [1, bad, 1], 500),
        lambda: exact.truncated_dirichlet(S, [1, 2, bad], 0.1, 1),
        lambda: exact.normal(S, 0, bad, 1, 1),
        lambda: exact.normal(S, 0, 1, 1, bad),
        lambda: exact.normal_inverse_gamma(S, 0, 1, bad, 1, 1, 1),
        lambda: exact.normal_inverse_gamma(S, 0, 1, 1, bad, 1, 1),
        lambda: exact.normal_inverse_gamma(S, 0, bad, 1, 1, 1, 1),
        lambda: exact.normal_inverse_wishart(S, [0, 0], bad, 3, EYE, 1, 1),
        lambda: exact.discrete_laplace(S, bad, 1),
        lambda: exact.discrete_gaussian(S, bad, 1),
        lambda: exact.uniform_integers(S, bad, 1),
    ):
        with pytest.raises(ValueError, match=r"must|needs"):
            draw()


@pytest.mark.parametrize("array", [np.array([1.0, nan]), np.array([1.0, inf]), np.array([1.0, 0.0])])
def test_float_arrays(array):
    with pytest.raises(ValueError, match="greater than 0"):
        exact.dirichlet(S, array, 3)


def test_empty_and_misshapen():
    with pytest.raises(ValueError, match="non-empty"):
        exact.dirichlet(S, [], 1)
    with pytest.raises(ValueError, match="two categories"):
        exact.dirichlet(S, [1], 1)
    with pytest.raises(ValueError, match="one-dimensional"):
        exact.dirichlet(S, np.ones((2, 2)), 1)
    with pytest.raises(ValueError, match="at least one finite"):
        exact.categorical(S, [], 1)
    with pytest.raises(ValueError, match="at least one finite"):
        exact.categorical(S, [-inf, -inf], 1)
    with pytest.raises(ValueError, match="finite"):
        exact.categorical(S, [0, nan], 1)
    with pytest.raises(ValueError, match="square"):
        exact.inverse_wishart(S, 3, [[1, 0]], 1)
    with pytest.raises(ValueError, match="symmetric"):
        exact.inverse_wishart(S, 3, [[1, 0.5], [0.25, 1]], 1)
    with pytest.raises(ValueError, match="positive definite"):
        exact.inverse_wishart(S, 3, [[1, 2], [2, 1]], 1)
    with pytest.raises(ValueError, match="exceed"):
        exact.inverse_wishart(S, 1, EYE, 1)
    with pytest.raises(ValueError, match="3 entries"):
        exact.normal_inverse_wishart(S, [0, 0, 0], 1, 3, EYE, 1, 1)


@pytest.mark.parametrize("size", [-1, 2.5, True])
def test_sizes(size):
    with pytest.raises(ValueError, match="size"):
        exact.beta(S, 1, 1, size)


@pytest.mark.parametrize("bits", [0, 53, 1.5, True])
def test_grids_of_the_unit_interval(bits):
    with pytest.raises(ValueError, match="bits"):
        exact.beta(S, 1, 1, 1, bits=bits)


def test_bounds_and_limits():
    for lower, upper in [(0.5, 0.5), (0.6, 0.5), (-0.1, 0.5), (0.5, 1.1)]:
        with pytest.raises(ValueError, match="lower < upper"):
            exact.truncated_beta(S, 1, 1, lower, upper, 1)
    with pytest.raises(ValueError, match="1/3"):
        exact.truncated_dirichlet(S, [1, 1, 1], Fraction(1, 3), 1)
    with pytest.raises(ValueError, match="power of two"):
        exact.normal(S, 0, 1, 1, 0.3)
    with pytest.raises(ValueError, match="int64"):
        exact.discrete_laplace(S, 2 * 10**12, 1)
    with pytest.raises(ValueError, match="int64"):
        exact.discrete_gaussian(S, 2 * 10**24, 1)
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        exact.bernoulli(S, 1.5, 1)
    with pytest.raises(ValueError, match="at least 0"):
        exact.bernoulli_exp(S, -1, 1)


def test_errors_do_not_repeat_what_may_be_private():
    for draw in (lambda: exact.beta(S, -12345, 1, 1), lambda: exact.dirichlet(S, [1, -12345], 1)):
        with pytest.raises(ValueError) as caught:
            draw()
        assert "12345" not in str(caught.value)


def test_no_draws_are_no_trouble():
    assert exact.beta(S, 1, 1, 0).shape == (0,)
    assert exact.gamma(S, [1, 2], 0).shape == (0, 2)
    assert exact.dirichlet(S, [1, 2, 3], 0).shape == (0, 3)
    assert exact.truncated_dirichlet(S, [1, 2, 3], 0.1, 0).shape == (0, 3)
    assert exact.discrete_laplace(S, 1, 0).dtype == np.int64
    assert exact.normal_inverse_wishart(S, [0, 0], 1, 3, EYE, 0, 1)[1].shape == (0, 2, 2)
    assert exact.categorical(S, [0, 1], 0).shape == (0,)
