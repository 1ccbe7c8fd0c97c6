"""OpenDP's privacy maps and samplers as an oracle: same ε for the same noise."""

import math

import numpy as np
import pytest

from discreet.mechanisms.choice.noisy_max import ReportNoisyMax
from discreet.mechanisms.choice.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.local.kary_randomised_response import KaryRandomizedResponse
from discreet.mechanisms.local.randomised_response import RandomizedResponse
from discreet.mechanisms.noise.gaussian import DiscreteGaussian
from discreet.mechanisms.noise.laplace import DiscreteLaplace
from discreet.sampling.source import SeededSource

pytest.importorskip("opendp")


@pytest.fixture(scope="module")
def dp():
    from opendp import prelude

    prelude.enable_features("contrib")
    return prelude


@pytest.mark.parametrize(("sensitivity", "scale"), [(1, 1.0), (1, 3.7), (4, 0.8), (10, 1234.5)])
def test_discrete_laplace_map(dp, sensitivity, scale):
    theirs = dp.m.make_laplace(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=scale
    )
    ours = DiscreteLaplace(sensitivity, scale).guarantee.epsilon(0)
    assert ours == pytest.approx(theirs.map(sensitivity), rel=1e-12)


@pytest.mark.parametrize(("sensitivity", "sigma"), [(1, 1.0), (2, 0.5), (4, 8.0), (10, 1234.5)])
def test_discrete_gaussian_map(dp, sensitivity, sigma):
    theirs = dp.m.make_gaussian(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64"), scale=sigma
    )
    ours = DiscreteGaussian(sensitivity, sigma * sigma).guarantee
    assert ours.rho == pytest.approx(theirs.map(float(sensitivity)), rel=1e-12)


@pytest.mark.parametrize("keep", [0.6, 0.75, 0.99])
def test_randomized_response_map(dp, keep):
    theirs = dp.m.make_randomized_response_bool(prob=keep)
    assert RandomizedResponse(1 - keep, 1 - keep).guarantee.epsilon(0) == pytest.approx(
        theirs.map(1), rel=1e-12
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_kary_randomized_response_map(dp, epsilon):
    ours = KaryRandomizedResponse(5, epsilon)
    theirs = dp.m.make_randomized_response(categories=list(range(5)), prob=float(ours.keep))
    assert ours.guarantee.epsilon(0) == pytest.approx(theirs.map(1), rel=1e-9)


@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_noisy_max_map(dp, scale):
    """Their noisy max with exponential noise is our permute-and-flip at ε = 2Δ/scale."""
    theirs = dp.m.make_noisy_max(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64"), dp.max_divergence(), scale=scale
    )
    epsilon = theirs.map(1)
    assert epsilon == pytest.approx(2 / scale, rel=1e-12)
    assert PermuteAndFlip(1, epsilon).guarantee.epsilon(0) == epsilon
    assert ReportNoisyMax(1, scale).guarantee.epsilon(0) == pytest.approx(epsilon, rel=1e-12)
    scores = [0, 1, 3]
    draws = np.array([theirs(scores) for _ in range(3000)])
    share, law = (draws == 2).mean(), PermuteAndFlip(1, epsilon).law(scores)[2]
    # their source has no seed: 5.5 sd, wrong once in 2e7 runs
    assert abs(share - law) < 5.5 * math.sqrt(law * (1 - law) / 3000)


def test_the_same_law_as_their_discrete_laplace(dp):
    """Two samples of 20 000: χ² over common cells; their source has no seed, level 1e-7"""
    from scipy.stats import chi2_contingency

    theirs = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=2.0)
    a = np.clip(np.array(theirs([0] * 20_000)), -12, 12)
    b = np.clip(DiscreteLaplace(1, 2).releases(0, 20_000, SeededSource(30)), -12, 12)
    c = np.clip(DiscreteLaplace(1, 2.3).releases(0, 20_000, SeededSource(30)), -12, 12)
    counts = [np.bincount(x + 12, minlength=25) for x in (a, b, c)]
    assert chi2_contingency(np.array([counts[0], counts[1]])).pvalue > 1e-7
    assert chi2_contingency(np.array([counts[0], counts[2]])).pvalue < 1e-7
