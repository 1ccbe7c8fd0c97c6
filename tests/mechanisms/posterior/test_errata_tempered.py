"""Errata 12 and 13: what is printed in G20 chapter 4 against what is right."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.mechanisms.posterior.one_posterior_sample import OnePosteriorSample
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE
from discreet.privacy.kinds import PureDP
from discreet.privacy.worst_pairs.tempered_posterior import bounded_pmf_cost
from discreet.sampling.source import SeededSource

UNIFORM = BetaBernoulli(1, 1)


def test_erratum_12_temperature_2_7_is_2_7726():
    """Printed T = 2.7 for a₀ = 0.2, ε = 1: it exceeds ε = 1; 2Δ = 4 ln 2 does not."""
    printed = OnePosteriorSample(UNIFORM, n=10**4, truncation=Fraction(1, 5), temperature=2.7)
    right = replace(printed, temperature=2.772588722239782)
    assert printed.bounded_range.loss > 1.02
    assert printed.guarantee.loss > 1.02
    assert right.bounded_range.loss <= 1


def test_erratum_12_two_temperings_are_two_laws_and_both_are_private():
    """Eq. (4.13) is not density^(1/T): the entries differ by 1 − 1/T, and both keep within 2Δ/T."""
    setting = {"n": 20, "truncation": Fraction(1, 5), "temperature": Fraction(11, 4)}
    density = OnePosteriorSample(UNIFORM, temper="joint", **setting)
    printed = OnePosteriorSample(UNIFORM, temper="natural", **setting)
    gap = [
        a - b
        for a, b in zip(
            density._private_posterior([6]).entries, printed._private_posterior([6]).entries, strict=True
        )
    ]
    assert gap == [1 - Fraction(4, 11)] * 2
    for mechanism in (density, printed):
        assert mechanism.guarantee.loss < mechanism.bounded_range.loss == density.bounded_range.loss


def test_erratum_12_tempering_the_likelihood_alone_keeps_the_prior():
    """As T grows the likelihood-only posterior returns to the prior, the joint one forgets it."""
    prior = BetaBernoulli(6, 12)
    setting = {"n": 20, "truncation": Fraction(1, 5), "temperature": 10**9}
    kept = OnePosteriorSample(prior, temper="likelihood", **setting)._private_posterior([5]).entries
    lost = OnePosteriorSample(prior, temper="joint", **setting)._private_posterior([5]).entries
    assert [float(x) for x in kept] == pytest.approx([6, 12])
    assert [float(x) for x in lost] == pytest.approx([1, 1])
    same = {
        OnePosteriorSample(prior, temper=t, **setting).bounded_range.loss for t in ("likelihood", "joint")
    }
    assert len(same) == 1  # equally private


def test_erratum_12_a_bounded_mass_function_costs_2b_and_not_4b():
    """e^−B ≤ p(x|θ) ≤ 1 for Bernoulli on [a₀, 1−a₀], B = −ln a₀; one draw at T = 1 never costs more."""
    for a0 in (Fraction(1, 5), Fraction(1, 20), Fraction(1, 100)):
        bound = Fraction(-math.log(a0))
        printed, right = 4 * float(bound), bounded_pmf_cost(bound)
        seen = OnePosteriorSample(UNIFORM, n=10**6, truncation=a0, temperature=1).guarantee.loss
        assert seen <= right
        assert right == pytest.approx(printed / 2)
    assert seen > 0.99 * right  # and at small a₀ it comes close: no smaller multiple of B would do


def test_erratum_12_finite_n_affords_a_cooler_draw():
    """a₀ = 0.05, ε = 0.1, n = 100: T = 41.4 suffices, where 2Δ/ε says 58.9."""
    target = PureDP(Fraction(1, 10))
    mechanism = OnePosteriorSample.calibrate(UNIFORM, n=100, target=target, truncation=Fraction(1, 20))
    assert round(mechanism.temperature, 1) == 41.4
    assert mechanism.guarantee <= target
    simple = replace(mechanism, temperature=58.88877958332881)
    assert simple.bounded_range.loss == pytest.approx(0.1)
    assert simple.guarantee.loss < 0.072  # what T = 58.9 really costs


def test_erratum_12_one_count_of_sensitivity_1_is_enough():
    right = NoisyStatistics.calibrate(UNIFORM, n=100, target=PureDP(0.1), noise="laplace")
    printed = NoisyStatistics.calibrate(
        UNIFORM, n=100, target=PureDP(0.1), noise="laplace", noise_both_counts=True
    )
    assert UNIFORM.sensitivity(SUBSTITUTE).l1 == 1
    assert (right.scale, printed.scale) == (10, 20)
    assert NoisyStatistics.calibrate(UNIFORM, target=PureDP(0.1, relation=ADD_REMOVE)).scale == 10


def test_erratum_13_theorem_5_is_the_marginal_law_of_the_sample_not_the_posterior():
    """n·Var → T·pq for the posterior given the data, (1+T)·pq over data and draw: the data add pq [Thm 5]."""
    p, n, T = 0.3, 20_000, 4
    mechanism = OnePosteriorSample(UNIFORM, n=n, truncation=Fraction(1, 20), temperature=T)
    fisher = p * (1 - p)

    def moments(k):  # far from the truncation, 14 standard deviations of the posterior away
        a, b = (float(x) for x in mechanism._private_posterior([int(k)]).entries)
        return a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1))

    _, variance = moments(n * p)
    assert n * variance / fisher == pytest.approx(T, rel=1e-3)
    rng = np.random.default_rng(5)
    means, variances = np.array([moments(k) for k in rng.binomial(n, p, 4000)]).T
    marginal = n * (variances.mean() + means.var()) / fisher
    # means.var() has relative error √(2/4000) = 2.2 %, so 0.022 of 1+T = 5; five of them: false alarm 6e-7
    assert marginal == pytest.approx(1 + T, abs=0.11)
    assert abs(marginal - T) > 0.5  # what the printed reading would make of it


def test_erratum_13_theorem_4_likewise_for_the_noisy_posterior():
    """One draw of the noisy posterior: variance pq/n given the release, 2pq/n over everything [Thm 4]."""
    p, n = 0.3, 10**6
    mechanism = NoisyStatistics(UNIFORM, n=n, scale=10)
    rng, source = np.random.default_rng(6), SeededSource(6)
    posteriors = [mechanism.release([k], source).read(reading="naive").law for k in rng.binomial(n, p, 1500)]
    means, variances = np.array([(q.mean(), q.variance()) for q in posteriors]).T
    fisher = p * (1 - p)
    assert n * variances.mean() / fisher == pytest.approx(1, rel=1e-3)
    # relative error of a variance from 1500 draws is 3.7 %; five of them: false alarm 6e-7
    assert n * (variances.mean() + means.var()) / fisher == pytest.approx(2, abs=0.19)
