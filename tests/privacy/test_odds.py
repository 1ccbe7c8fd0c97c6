"""How sure somebody can become: the tail of the privacy loss, not δ, decides."""

import math

import pytest
from mpmath import mp, mpf

from discreet.privacy.kinds import ApproxDP, BoundedRange, GaussianDP, PureDP, RenyiDP, ZeroCDP
from discreet.privacy.words import loss_bound, sure_after


def gaussian_tail(mu, loss):
    """Pr[L > ℓ], L ~ N(μ²/2, μ²): the privacy loss of the Gaussian mechanism."""
    return mp.ncdf(-(mpf(loss) - mpf(mu) ** 2 / 2) / mpf(mu))


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("failure", [1e-3, 1e-6, 1e-9])
def test_the_gaussian_loss_exceeds_the_bound_no_more_often_than_said(mu, failure):
    mp.dps = 40
    guarantee = GaussianDP(mu)
    bound = loss_bound(guarantee, failure)
    assert gaussian_tail(mu, bound) <= failure
    # the tempting answer, e^ε(δ) odds except with probability δ, is wrong
    assert gaussian_tail(mu, guarantee.epsilon(failure)) > 2 * failure
    # and ours is not far from the best one
    best = mu**2 / 2 + mu * float(-mp.sqrt(2) * mp.erfinv(2 * mpf(failure) - 1))
    assert best <= bound < 1.25 * best


def test_a_bounded_loss_is_its_own_bound():
    assert loss_bound(PureDP(0.5), 0) == 0.5
    assert loss_bound(BoundedRange(0.5), 0) == 0.5
    assert loss_bound(PureDP(0.5), 1e-6) <= 0.5
    assert loss_bound(ZeroCDP(0.5), 0) == math.inf
    assert loss_bound(RenyiDP.at(2, 0.1), 1e-6) < math.inf


def test_an_approximate_promise_fails_with_its_delta():
    """Disclose with chance δ: below δ nothing is bounded."""
    assert loss_bound(ApproxDP(0.5, 1e-6), 1e-7) == math.inf
    assert loss_bound(ApproxDP(0.5, 1e-6), 1e-5) <= 0.5 - math.log1p(-(2**-3))


@pytest.mark.parametrize(("prior", "loss"), [(0.5, 1.0), (0.01, 0.3), (0.9, 5.0), (0.5, 700.0)])
def test_posterior_odds_are_prior_odds_times_the_ratio(prior, loss):
    mp.dps = 400
    exact = mpf(prior) * mp.exp(loss) / (1 - mpf(prior) + mpf(prior) * mp.exp(loss))
    found = sure_after(prior, loss)
    assert exact <= found <= min(1.0, float(exact) * (1 + 1e-15))


def test_the_ends():
    assert sure_after(0.5, math.inf) == 1
    assert sure_after(0.5, 0.0) == 0.5
    for wrong in (0, 1, -0.1, 1.5, math.nan):
        with pytest.raises(ValueError, match="prior"):
            sure_after(wrong, 1.0)
    with pytest.raises(ValueError, match="failure"):
        loss_bound(PureDP(1), 1)
