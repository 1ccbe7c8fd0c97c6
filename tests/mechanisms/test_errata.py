"""Printed against right: errata 3 (thesis), 25 and 26 (review), for the basic mechanisms."""

import math

import pytest

from discreet.mechanisms.local.randomised_response import RandomizedResponse
from discreet.mechanisms.noise.gaussian import Gaussian, classic_sigma
from discreet.privacy.kinds import GaussianDP


def test_erratum_03_gaussian_renyi_divergence_has_a_half():
    """Printed λΔ²/σ²; right λΔ²/(2σ²), which the integral of p^λ q^{1−λ} confirms."""
    from scipy.integrate import quad
    from scipy.stats import norm

    order, sigma = 3.0, 1.7
    integral, _ = quad(
        lambda x: math.exp(order * norm.logpdf(x, 1, sigma) + (1 - order) * norm.logpdf(x, 0, sigma)), -20, 30
    )
    true = math.log(integral) / (order - 1)
    right, printed = Gaussian(1, sigma).guarantee.renyi(order), order / sigma**2
    assert right == pytest.approx(true, rel=1e-9)
    assert printed == pytest.approx(2 * true, rel=1e-9)


def test_erratum_25_classic_sigma_needs_a_small_epsilon():
    """Printed for every ε; at (10, 1e-5) its true δ is 2.27e-5, at (20, 1e-5) 1.5e-3 (reference G)."""
    for epsilon, true_delta in ((10, 2.265374364793423e-05), (20, 0.0015266946955248563)):
        printed = math.sqrt(2 * math.log(1.25e5)) / epsilon
        assert GaussianDP(1 / printed).delta(epsilon) == pytest.approx(true_delta, rel=1e-9)
        assert true_delta > 1e-5
        with pytest.raises(ValueError, match="ε ≤ 1"):
            classic_sigma(epsilon, 1e-5)
    assert Gaussian(1, classic_sigma(1, 1e-5)).guarantee.delta(1) < 1e-5


def test_erratum_25_the_missing_word_of_proposition_3_16():
    """ "Something" is σ√(2 ln(k/t)); without k it fails for k > 1."""
    mechanism, t, k = Gaussian(1, 1), 0.05, 10
    assert mechanism.tail_probability(math.sqrt(2 * math.log(k / t)), k) <= t
    assert mechanism.tail_probability(math.sqrt(2 * math.log(1 / t)), k) > t


@pytest.mark.parametrize(("p", "q"), [(0.25, 0.25), (0.1, 0.4), (0.8, 0.7)])
def test_erratum_26_epsilon_is_the_logarithm_of_the_maximum(p, q):
    """Printed ε = max of the ratios; right ε = ln max: at ln max the exact δ is 0, and below it is not."""
    printed = max((1 - p) / q, (1 - q) / p, p / (1 - q), q / (1 - p))
    mechanism = RandomizedResponse(p, q)
    right = mechanism.guarantee.epsilon(0)
    assert right == pytest.approx(math.log(printed), rel=1e-12)
    assert printed > 2 * right
    worst = [
        max(mechanism.hockey_stick(0, 1, e), mechanism.hockey_stick(1, 0, e)) for e in (right, right * 0.999)
    ]
    assert worst[0] == 0 < worst[1]


def test_erratum_26_exercise_4_1a_is_accuracy_one_half():
    """A fair coin instead of the answer (p = q = ½) is right half of the time, not never."""
    from discreet.sampling import exact
    from discreet.sampling.source import SeededSource

    coins = exact.bernoulli(SeededSource(26), 0.5, 10_000)
    # 10 000 fair coins: outside 0.5 ± 0.03 with probability below 3e-9 (Hoeffding)
    assert abs(coins.mean() - 0.5) < 0.03
    with pytest.raises(ValueError, match=r"p \+ q = 1"):  # which is why the mechanism refuses it
        RandomizedResponse(0.5, 0.5)
