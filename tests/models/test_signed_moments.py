"""Moments of signed rows by blocks of doubles are the integers that 64-bit products give."""

import numpy as np
import pytest

from discreet.models import regression_records as home
from discreet.models.generalized_linear import BayesianLogisticRegression, Feature


@pytest.mark.parametrize(("norm", "intercept"), [(1, True), (0.999, False), (7, True)])
def test_blocks_of_doubles_give_the_integers(norm, intercept):
    model = BayesianLogisticRegression("y", ("a", "b"), norm=norm, intercept=intercept)
    model = model.bind([Feature("a"), Feature("b")])
    rng = np.random.default_rng(0)
    n = 2 * home.BLOCK + 77
    x = norm * np.where(rng.random((n, 1)) < 0.5, [1.0, 0.0], rng.normal(size=(n, 2)))  # many at the edge
    y = rng.choice([-1.0, 1.0, 0.0, np.nan], n)
    q = home.moment_ball(model).integers(x, 2)
    constant = np.full((n, int(intercept)), home.constant_steps(model))
    r = np.hstack([q, constant]) * np.nan_to_num(y).astype(np.int64)[:, None]
    expected = np.concatenate([r.sum(axis=0), (r.T @ r)[np.triu_indices(model.dimension)]])
    found = home.signed_moments(model, x, y)
    assert found.dtype == np.int64
    assert np.array_equal(found, expected)


def test_sums_of_a_block_are_whole_numbers_that_doubles_hold():
    for norm in (1, 0.501, 0.999, 3, 1e-9, 1e9):
        model = BayesianLogisticRegression("y", ("a",), norm=norm).bind([Feature("a")])
        assert home.BLOCK * home.length_square(model) < 2**45
