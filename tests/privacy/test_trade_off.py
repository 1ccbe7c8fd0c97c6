"""Bounds of an attacker's errors: against closed forms, against riskcal, and never on the wrong side."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from discreet.privacy.kinds import ApproxDP, GaussianDP, PureDP, ZeroCDP
from discreet.privacy.trade_off import advantage_at_most, known_points, power_at_most

RATES = (0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9)


@pytest.mark.parametrize("mu", [0.1, 0.5, 1, 3])
def test_a_gaussian_promise_against_its_exact_curve(mu):
    """β = Φ(Φ⁻¹(1 − α) − μ) [Dong, Roth, Su 2022]: never promised more than that, and hardly less."""
    points = known_points(GaussianDP(mu))
    for alpha in RATES:
        exact = 1 - norm.cdf(norm.ppf(1 - alpha) - mu)
        assert exact - 1e-15 <= power_at_most(points, alpha) <= exact + 0.035
    tv = 2 * norm.cdf(mu / 2) - 1
    assert tv - 1e-15 <= advantage_at_most(points) <= tv + 1e-9


def test_riskcal_says_the_same():
    """An independent implementation of both numbers."""
    analysis = pytest.importorskip("riskcal").analysis
    for alpha in RATES:
        ours = power_at_most([(0.7, 1e-3)], alpha)
        assert ours == pytest.approx(1 - analysis.get_beta_for_epsilon_delta(0.7, 1e-3, alpha), abs=1e-12)
    assert advantage_at_most([(0.7, 1e-3)]) == pytest.approx(
        analysis.get_advantage_for_epsilon_delta(0.7, 1e-3), abs=1e-12
    )
    assert advantage_at_most(known_points(GaussianDP(1))) == pytest.approx(
        float(analysis.get_advantage_for_mu(1.0)), abs=1e-9
    )


def test_a_pure_promise_is_met_by_randomised_response():
    """It answers truly with e^ε/(1 + e^ε): who believes it is right that often."""
    loss = 1.0
    honest = math.e / (1 + math.e)
    points = known_points(PureDP(loss), more=[(loss, 0.0)])
    assert power_at_most(points, 1 - honest) == pytest.approx(honest, abs=1e-12)
    assert advantage_at_most(points) == pytest.approx(2 * honest - 1, abs=1e-12)
    assert power_at_most(known_points(PureDP(0.9), more=[(0.9, 0.0)]), 1 - honest) < honest  # a wrong claim


def test_bounds_are_rates_that_grow():
    for guarantee in (ApproxDP(2, 1e-5), ZeroCDP(0.3), PureDP(40)):
        points = known_points(guarantee)
        powers = [power_at_most(points, alpha) for alpha in np.linspace(0, 1, 21).tolist()]
        assert powers == sorted(powers)
        assert powers[0] >= 0
        assert powers[-1] == 1
    assert power_at_most([], 0.1) == 1
    assert advantage_at_most([]) == 1
    with pytest.raises(ValueError, match="false-positive"):
        power_at_most([], 1.5)
