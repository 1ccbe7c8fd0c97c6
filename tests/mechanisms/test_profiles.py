"""Tier 1 for every basic mechanism: the exact δ(ε) of bad neighbours never passes the certificate, and meets
it where the theorem is tight. The laws are closed forms; nothing here is drawn."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms.choice.continuous_exponential import ContinuousExponential
from discreet.mechanisms.choice.exponential import Exponential
from discreet.mechanisms.choice.noisy_max import ReportNoisyMax
from discreet.mechanisms.choice.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.local.kary_randomised_response import KaryRandomizedResponse
from discreet.mechanisms.local.randomised_response import RandomizedResponse
from discreet.mechanisms.noise.clipped_mean import ClippedMean
from discreet.mechanisms.noise.gaussian import DiscreteGaussian, Gaussian
from discreet.mechanisms.noise.laplace import DiscreteLaplace, Laplace
from discreet.mechanisms.sensitivity.propose_test_release import ProposeTestRelease
from discreet.mechanisms.sensitivity.smooth_sensitivity import SmoothSensitivityMedian
from discreet.privacy.kinds import ApproxDP, PureDP

EPSILONS = [0, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1, 1.01, 1.5, 2, 3, 5]
MEDIANS = SmoothSensitivityMedian(0, 8, 1, 1e-3, grid=1)
TEST = ProposeTestRelease(0, 8, 2, Fraction(1, 2), Fraction(1, 2), 1e-2, grid=1)
QUANTILE = ContinuousExponential(0, 8, 1, grid=1)
MEAN = ClippedMean.calibrate(target=PureDP(1), lower=0, upper=1, records=3, grid=Fraction(1, 4))

CASES = [
    (RandomizedResponse(0.25, 0.25), 0, 1),
    (RandomizedResponse(0.1, 0.4), 0, 1),
    (RandomizedResponse(0.1, 0.4), 1, 0),
    (RandomizedResponse(0.8, 0.7), 1, 0),  # lies more often than not: p/(1−q) decides
    (KaryRandomizedResponse(5, 1), 2, 4),
    (Laplace(1, 1), 0, 1),
    (Laplace(Fraction(1, 3), 0.3), 0.5, Fraction(1, 6)),
    (DiscreteLaplace(1, 1), 0, 1),
    (DiscreteLaplace(3, 2.5), 7, 4),
    (Gaussian(1, 1), 0, 1),
    (Gaussian(2, 3.7), 1, -1),
    (DiscreteGaussian(1, 1), 0, 1),
    (DiscreteGaussian(2, 5.3), 0, 2),
    (DiscreteGaussian(1, 0.01), 0, 1),
    (Exponential(1, 1), [0, 0, 0], [1, -1, -1]),
    (Exponential(1, 1), [3, 0, 0], [2, 1, 1]),
    (Exponential(1, 1, spread=1), [0, 0, 0], [1, 0, 0]),
    (Exponential(1, 1, log_base=(0, 3, -2)), [0, 0, 0], [1, -1, 1]),
    (PermuteAndFlip(1, 1), [0, 0, 0], [1, -1, -1]),
    (PermuteAndFlip(1, 1), [-10, 0, 0], [-9, -1, -1]),
    (PermuteAndFlip(1, 1, spread=1), [0, 0, 2], [1, 0, 2]),
    (ReportNoisyMax(1, 2), [0, 0, 0], [1, -1, -1]),
    (ReportNoisyMax(1, 2), [0, 1, 3], [1, 0, 2]),
    (ReportNoisyMax(1, 1, spread=1), [2, 0, 0], [2, 1, 0]),
    (QUANTILE, QUANTILE.quantile([1, 2, 3, 4, 5]), QUANTILE.quantile([1, 2, 7, 4, 5])),
    (QUANTILE, QUANTILE.quantile([0, 0, 8], 0.25), QUANTILE.quantile([0, 8, 8], 0.25)),
    (MEAN, [0, 0, 0], [0, 0, 1]),
    (MEDIANS, [1, 2, 3, 4, 5], [1, 2, 8, 4, 5]),
    (MEDIANS, [4, 4, 4, 4, 4], [4, 4, 4, 4, 8]),
    (MEDIANS, [4] * 41, [4] * 40 + [0]),
    (TEST, [4] * 41, [4] * 40 + [0]),
    (TEST, [0, 0, 0, 8, 8], [0, 0, 8, 8, 8]),
    (TEST, [0, 0, 3, 3, 3], [0, 0, 0, 3, 3]),
]


def named(case):
    return type(case[0]).__name__ if hasattr(case[0], "guarantee") else str(case[0])


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=named)
def test_exact_profile_stays_within_the_certificate(case):
    mechanism, left, right = case
    for epsilon in EPSILONS:
        allowed = mechanism.guarantee.delta(epsilon)
        assert mechanism.hockey_stick(left, right, epsilon) <= allowed
        assert mechanism.hockey_stick(right, left, epsilon) <= allowed


# Where the theorem is an equality, the certificate is not above the truth either.
@pytest.mark.parametrize(
    ("mechanism", "left", "right", "epsilons"),
    [
        (RandomizedResponse(0.25, 0.25), 0, 1, [0, 0.5, 1, 1.05]),
        (Gaussian(1, 1), 0, 1, [0, 0.5, 1, 2, 5, 10]),
        (Gaussian(2, 3.7), 1, -1, [0, 0.5, 1, 2]),
    ],
)
def test_profile_is_met_everywhere(mechanism, left, right, epsilons):
    for epsilon in epsilons:
        assert mechanism.hockey_stick(left, right, epsilon) == pytest.approx(
            mechanism.guarantee.delta(epsilon), rel=1e-12
        )


@pytest.mark.parametrize(
    ("mechanism", "left", "right"),
    [
        (RandomizedResponse(0.1, 0.4), 1, 0),
        (KaryRandomizedResponse(5, 1), 2, 4),
        (Laplace(1, 1), 0, 1),
        (DiscreteLaplace(3, 2.5), 7, 4),
        # far behind, a candidate's chance follows the exponential of its score
        (PermuteAndFlip(1, 1), [-60, 0, 0], [-59, -1, -1]),
        (Exponential(1, 1), [-60, 0], [-59, -1]),
        (MEAN, [0, 0, 0], [0, 0, 1]),
    ],
)
def test_pure_epsilon_is_met(mechanism, left, right):
    """δ just below ε is positive in one direction: no smaller pure ε holds (up to 1 in 1e6)."""
    epsilon = mechanism.guarantee.epsilon(0) * (1 - 1e-6)
    assert max(mechanism.hockey_stick(left, right, epsilon), mechanism.hockey_stick(right, left, epsilon)) > 0


def test_noisy_max_nears_its_epsilon_far_behind():
    """From d behind, P ∝ (d + c)e^{−d/b}: the ratio nears e^ε as d grows, so no fixed smaller ε holds."""
    mechanism = ReportNoisyMax(1, 2)
    assert mechanism.hockey_stick([-59, -1], [-60, 0], 0.95) > 0
    assert mechanism.hockey_stick([-19, -1], [-20, 0], 0.95) == 0


def test_discrete_gaussian_meets_its_zcdp_at_integer_shifts():
    """D_α = α²… is an equality where αΔ is an integer [CKS20 Thm 4]: Σ p^2/q = e^{1/σ²} at α = 2"""
    mechanism = DiscreteGaussian(1, 2.5)
    z = np.arange(-60, 61)
    p, q = mechanism.log_pmf(0, z), mechanism.log_pmf(1, z)
    assert np.exp(p).sum() == pytest.approx(1, rel=1e-12)
    assert np.log(np.exp(2 * p - q).sum()) == pytest.approx(mechanism.guarantee.renyi(2), rel=1e-12)


def test_exponential_meets_its_bounded_range():
    """The losses of two far candidates differ by exactly ε."""
    mechanism = Exponential(1, 1)
    loss = np.log(mechanism.law([0, 0, 0]) / mechanism.law([1, -1, 0]))
    assert loss.max() - loss.min() == pytest.approx(1, rel=1e-12)


def test_propose_test_release_meets_its_delta():
    """Medians 0 and 8 with D = 0 on both: releasing tells them apart, and has probability δ or just under."""
    tight = ProposeTestRelease(0, 8, 1, Fraction(1, 2), 50, 1e-2, grid=1)
    apart = tight.hockey_stick([0, 0, 0, 8, 8], [0, 0, 8, 8, 8], 3)
    assert tight.pass_probability(0) <= 1e-2 < tight.pass_probability(1) + 1e-2
    assert apart == pytest.approx(tight.pass_probability(0), rel=1e-6)
    loose = ProposeTestRelease(0, 8, 1, Fraction(1, 2), 50, 2e-2, grid=1)  # the same test with twice the δ …
    assert loose.hockey_stick([0, 0, 0, 8, 8], [0, 0, 8, 8, 8], 3) > 1e-2  # … breaks the smaller claim


def test_smooth_sensitivity_dilation_is_met():
    """S grows by at most e^β from one data set to the next, medians equal: only the wider one shows."""
    data = [4] * 41
    pulled = [4] * 40 + [0]  # one record nearer to the jump: S grows by e^β
    grown = MEDIANS.sensitivity(pulled) / MEDIANS.sensitivity(data)
    assert 1 < grown <= np.exp(MEDIANS.beta) * (1 + 1e-15)
    assert MEDIANS.hockey_stick(pulled, data, 0.5) > 0  # the wider noise has the heavier tail
    assert MEDIANS.hockey_stick(data, pulled, 0.5) == 0


def test_narrower_noise_is_caught():
    """Negative control: the same laws refute a claim 1 % too strong."""
    for mechanism, left, right in CASES[5:11]:
        stronger = mechanism.guarantee.epsilon(1e-6) * 0.99
        assert mechanism.hockey_stick(left, right, stronger) > ApproxDP(stronger, 1e-6).delta(stronger)
