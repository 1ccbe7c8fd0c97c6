"""Statistical queries [GSC17 Alg. 4]: one Beta draw, or a noisy count."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.mechanisms.posterior.concentrated import ConcentratedPosterior
from discreet.mechanisms.posterior.diffused import DiffusedPosterior
from discreet.mechanisms.posterior.statistical_query import (
    GRID,
    GaussianQuery,
    LaplaceQuery,
    StatisticalQuery,
    query_model,
)
from discreet.privacy.arithmetic.ball import settle
from discreet.privacy.guarantee import ADD_REMOVE, Unreachable
from discreet.privacy.kinds import ApproxDP, BoundedRange, PureDP, RenyiDP, ZeroCDP
from discreet.privacy.worst_pairs.divergences import beta_delta
from discreet.sampling.source import SeededSource

AGES = [20, 35, 50, 64, 80]
TARGET = ApproxDP(1, 1e-6)


def share(age):
    return age / 100


@pytest.mark.parametrize("kind", [DiffusedPosterior, ConcentratedPosterior])
def test_one_draw_through_either_mechanism(kind):
    query = StatisticalQuery(share, kind.calibrate(query_model(6, 12), n=5, target=TARGET))
    assert query.guarantee <= TARGET
    answer = query.release(AGES, SeededSource(1))
    assert 0 < answer < 1
    assert answer == query.release(AGES, SeededSource(1))


def test_the_posterior_is_alpha_plus_r_times_the_sum():
    draw = DiffusedPosterior(query_model(6, 12), n=5, r=0.5)
    total = draw.model.statistic([share(age) for age in AGES])
    law = draw._private_posterior(total)
    assert float(law.alpha) == pytest.approx(6 + 0.5 * 2.49, abs=3e-6)  # grid 2^-20, five records
    assert law.alpha + law.beta == 18 + Fraction(5, 2)


def test_fractional_values_are_no_worse_than_bits():
    # any x > x' in [0, 1] at any sum of the others: bounded by the claim (monotone likelihood ratio)
    draw = DiffusedPosterior(query_model(2, 3), n=4, r=1)
    generator = np.random.default_rng(2)
    for _ in range(60):
        others = Fraction(generator.uniform(0, 3))
        low, high = sorted(map(Fraction, generator.uniform(0, 1, 2).tolist()))
        a, b = 2 + others + low, 3 + 3 - others + 1 - high
        for x, y in ((a, b), (b, a)):
            attained = settle(lambda x=x, y=y, s=high - low: beta_delta(x, y, s, Fraction(1, 2)))
            assert float(attained) <= draw.guarantee.delta(0.5)


def test_noisy_counts_promise_what_they_add():
    laplace = LaplaceQuery.calibrate(share, n=5, target=PureDP(0.5))
    gaussian = GaussianQuery.calibrate(share, n=5, target=ZeroCDP(0.1))
    assert laplace.guarantee == PureDP(0.5)
    assert gaussian.guarantee == ZeroCDP(0.1)
    with pytest.raises(ValueError, match="SUBSTITUTE"):
        LaplaceQuery(share, n=5, epsilon=1, relation=ADD_REMOVE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "law"),
    [
        (LaplaceQuery(share, n=5, epsilon=0.5), lambda s: stats.laplace(2.49 / 5, s * 2 / 5)),
        (GaussianQuery(share, n=5, rho=0.125), lambda s: stats.norm(2.49 / 5, s * 2 / 5)),
    ],
    ids=["laplace", "gaussian"],
)
def test_the_noise_has_the_promised_scale(query, law):
    # Kolmogorov–Smirnov on 2000 answers, level 1e-6 (it cannot see the grid 2^-20); control: 30 % off
    source = SeededSource(5)
    answers = [query.release(AGES, source) for _ in range(2000)]
    assert stats.kstest(answers, law(1.0).cdf).pvalue > 1e-6
    assert stats.kstest(answers, law(0.7).cdf).pvalue < 1e-6
    assert query.guarantee.renyi(2) > 0


def test_answers_lie_on_the_public_grid():
    answer = LaplaceQuery(share, n=4, epsilon=1).release(AGES[:4], SeededSource(3))
    assert (Fraction(answer) * 4 / GRID).denominator == 1


def explode(age):
    raise RuntimeError(f"record {age} is odd")


@pytest.mark.parametrize("query", [explode, lambda _: "secret 35"])
def test_a_failing_query_tells_nothing(query):
    draw = DiffusedPosterior(query_model(6, 12), n=5, r=0.5)
    failing = StatisticalQuery(query, draw).release(AGES, SeededSource(1))
    assert failing == StatisticalQuery(lambda _: 0.0, draw).release(AGES, SeededSource(1))


def test_a_draw_over_whole_counts_is_refused_before_any_record_is_seen():
    with pytest.raises(ValueError, match="query_model"):
        StatisticalQuery(share, DiffusedPosterior(BetaBernoulli(6, 12), n=5, r=0.5))


def test_noisy_queries_meet_any_target_that_their_kind_implies():
    for target in (PureDP(1), ApproxDP(1, 1e-6), ZeroCDP(0.5), RenyiDP.at(2, 0.5), BoundedRange(1)):
        assert LaplaceQuery.calibrate(share, n=5, target=target).guarantee <= target
    for target in (ApproxDP(1, 1e-6), ZeroCDP(0.5), RenyiDP.at(2, 0.5)):
        assert GaussianQuery.calibrate(share, n=5, target=target).guarantee <= target
    with pytest.raises(Unreachable):
        GaussianQuery.calibrate(share, n=5, target=PureDP(1))


def test_noise_that_would_not_fit_is_refused_before_it_is_paid_for():
    with pytest.raises(ValueError, match="scale"):
        LaplaceQuery(share, n=3, epsilon=1e-9)


def test_values_outside_the_unit_interval_are_clipped_and_nan_is_zero():
    draw = DiffusedPosterior(query_model(6, 12), n=3, r=1)
    inside = draw.model.statistic([0.0, 1.0, 0.0])
    assert np.array_equal(draw.model.statistic([-5.0, 7.0, math.nan]), inside)


def test_the_number_of_records_is_checked():
    mechanism = StatisticalQuery(share, DiffusedPosterior(query_model(6, 12), n=4, r=0.5))
    with pytest.raises(ValueError, match="public n"):
        mechanism.release(AGES, SeededSource(1))
