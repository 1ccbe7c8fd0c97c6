"""Conversions against the laws they speak of, in numpy: bounds hold at every order and are met where said."""

import numpy as np
import pytest

from discreet.privacy.kinds import BoundedRange, GaussianDP, PureDP

ORDERS = 1 + np.geomspace(1e-4, 100, 60)
ROUNDING = 1e-9


def renyi(p, q, order):
    """D_α of two Bernoulli laws, in logarithms"""
    logs = [order * np.log(x) + (1 - order) * np.log(y) for x, y in ((p, q), (1 - p, 1 - q))]
    return np.logaddexp(*logs) / (order - 1)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1, 3, 8])
def test_a_pure_promise_implies_the_least_concentrated_one(epsilon):
    p = 1 / (1 + np.exp(-epsilon))
    rho = PureDP(epsilon).zcdp_bound
    assert all(renyi(p, 1 - p, a) <= rho * a + ROUNDING for a in ORDERS)
    assert renyi(p, 1 - p, 1.0001) > 0.999 * rho  # attained as the order falls to 1, so no less would do
    assert rho <= epsilon**2 / 2  # the textbook bound


@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_a_bounded_range_implies_an_eighth_of_its_square(epsilon):
    rho, worst = BoundedRange(epsilon).zcdp_bound, 0.0
    assert rho <= epsilon**2 / 8
    for t in np.linspace(0.001, 0.999, 199) * epsilon:
        q = (np.exp(-t) - np.exp(-epsilon)) / -np.expm1(-epsilon)
        ratios = [renyi(q * np.exp(t), q, a) / a for a in ORDERS[10:]]
        worst = max(worst, *ratios)
    assert 0.8 * rho < worst <= rho + ROUNDING


def test_a_range_wide_enough_is_no_better_than_pure():
    assert BoundedRange(20).zcdp_bound <= PureDP(20).zcdp_bound


@pytest.mark.parametrize("mu", [0.2, 1, 2.5])
def test_a_gaussian_promise_is_the_profile_of_two_normals(mu):
    x = np.linspace(-12, 12 + mu, 400_001)
    p, q = (np.exp(-((x - m) ** 2) / 2) / np.sqrt(2 * np.pi) for m in (mu, 0))
    for epsilon in (0, 0.5, 2):
        integral = np.trapezoid(np.maximum(p - np.exp(epsilon) * q, 0), x)
        assert integral == pytest.approx(GaussianDP(mu).delta(epsilon), abs=1e-8)
