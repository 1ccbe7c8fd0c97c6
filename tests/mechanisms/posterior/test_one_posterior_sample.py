"""OnePosteriorSample: what it promises, what it draws from, how it is calibrated, what it refuses."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betainc, betaln
from scipy.stats import kstest

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.beta_binomial import BetaBinomial
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.dirichlet_multinomial import DirichletMultinomial
from discreet.families.gamma_poisson import GammaPoisson
from discreet.mechanisms.posterior.one_posterior_sample import OnePosteriorSample
from discreet.mechanisms.posterior.tempered_laws import Temper
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, NotProved, Unreachable
from discreet.privacy.kinds import ApproxDP, BoundedRange, GaussianDP, PureDP, RenyiDP, ZeroCDP
from discreet.sampling.source import SeededSource

COIN = BetaBernoulli(2, 3)
TARGETS = [
    PureDP(0.3),
    ApproxDP(0.3, 1e-6),
    ZeroCDP(0.02),
    GaussianDP(0.3),
    RenyiDP.at(4, 0.1),
    RenyiDP.points({2: 0.05, 8: 0.3}),
    BoundedRange(0.4),
]


def _cdf(law, x):
    """P(θ ≤ x) of a truncated Beta, in doubles."""
    a, b, low = *(float(e) for e in law.entries), float(law.lower)
    below, above = betainc(a, b, low), betainc(a, b, 1 - low)
    return (betainc(a, b, x) - below) / (above - below)


def _log_density(law, x):
    a, b, low = *(float(e) for e in law.entries), float(law.lower)
    mass = betainc(a, b, 1 - low) - betainc(a, b, low)
    return (a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - betaln(a, b) - np.log(mass)


# --- what it promises ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("temper", Temper)
@pytest.mark.parametrize(
    "model", [COIN, BetaBinomial(1, 2, trials=3), BetaBernoulli(1, 1, grid=Fraction(1, 4))]
)
def test_profile_of_every_neighbour_stays_within_the_certified_epsilon(model, temper):
    """Tier 1 audit: sup over data sets, neighbours and θ of the log ratio of closed-form densities."""
    n, lower = 5, 0.1
    mechanism = OnePosteriorSample(model, n=n, truncation=lower, temperature=2.5, temper=temper)
    top = model.lattice.high
    thetas = np.linspace(lower, 1 - lower, 201)
    logs = [_log_density(mechanism._private_posterior([s]), thetas) for s in range(n * top + 1)]
    pairs = [(s, t) for s, t in itertools.combinations(range(n * top + 1), 2) if t - s <= top]
    seen = max(np.abs(logs[s] - logs[t]).max() for s, t in pairs)
    width = max(np.ptp(logs[s] - logs[t]) for s, t in pairs)
    assert mechanism.guarantee.loss - 1e-6 < seen <= mechanism.guarantee.loss + 1e-12
    assert width == pytest.approx(mechanism.bounded_range.loss, rel=1e-9)
    assert mechanism.guarantee.loss < mechanism.bounded_range.loss


def test_two_dirichlet_categories_are_the_beta_case():
    beta = OnePosteriorSample(COIN, n=30, truncation=0.1, temperature=3)
    pair = OnePosteriorSample(DirichletCategorical([2, 3]), n=30, truncation=0.1, temperature=3)
    assert pair.guarantee == beta.guarantee
    assert pair._private_posterior([10, 20]).entries == beta._private_posterior([10]).entries


@pytest.mark.parametrize("model", [COIN, DirichletCategorical([1, 1, 2])])
def test_adding_a_record_costs_half_the_range_of_replacing_one(model):
    replaced = OnePosteriorSample(model, n=10, truncation=0.1, temperature=3)
    added = OnePosteriorSample(model, truncation=0.1, temperature=3, relation=ADD_REMOVE)
    assert added.guarantee.relation is ADD_REMOVE
    assert 2 * added.guarantee.loss == pytest.approx(replaced.bounded_range.loss)
    assert added.bounded_range.loss == added.pure.loss


def test_the_draw_is_charged_per_draw():
    one = OnePosteriorSample(COIN, n=10, truncation=0.1, temperature=3).guarantee
    assert one.group(1) == one
    total = one + one + one
    assert total.epsilon(0) <= 3 * one.loss * (1 + 1e-12)


@settings(deadline=None, max_examples=30)
@given(
    temperature=st.floats(1, 50),
    truncation=st.floats(0.01, 0.45),
    n=st.integers(1, 300),
    alpha=st.floats(0.1, 20),
)
def test_more_heat_more_privacy(temperature, truncation, n, alpha):
    mechanism = OnePosteriorSample(
        BetaBernoulli(alpha, 1), n=n, truncation=truncation, temperature=temperature
    )
    hotter = replace(mechanism, temperature=temperature * 1.01)
    assert hotter.guarantee.loss < mechanism.guarantee.loss
    assert replace(mechanism, n=n + 5).guarantee.loss >= mechanism.guarantee.loss


# --- what it draws from -------------------------------------------------------------------------------------
@settings(deadline=None, max_examples=40)
@given(
    numerator=st.integers(64, 10_000),
    alpha=st.floats(0.01, 50),
    beta=st.floats(0.01, 50),
    k=st.integers(0, 40),
)
def test_posterior_parameters_are_exact_rationals(numerator, alpha, beta, k):
    T, a, b, n = Fraction(numerator, 64), Fraction(alpha), Fraction(beta), 40
    base = OnePosteriorSample(BetaBernoulli(alpha, beta), n=n, truncation=0.1, temperature=T)
    expected = {
        "likelihood": (a + k / T, b + (n - k) / T),
        "joint": ((k + a - 1) / T + 1, (n - k + b - 1) / T + 1),
        "natural": ((k + a) / T, (n - k + b) / T),
    }
    for temper, entries in expected.items():
        assert replace(base, temper=temper)._private_posterior([k]).entries == entries


def test_multinomial_records_count_all_their_trials():
    mechanism = OnePosteriorSample(
        DirichletMultinomial([1, 1, 1], trials=4), n=5, truncation=0.1, temperature=2
    )
    assert mechanism._private_posterior([10, 6, 4]).entries == (6, 4, 3)
    single = OnePosteriorSample(DirichletCategorical([1, 1, 1]), n=20, truncation=0.1, temperature=2)
    assert mechanism.guarantee.loss == pytest.approx(4 * single.guarantee.loss)


@pytest.mark.parametrize(("k", "temper"), [(0, "likelihood"), (12, "joint"), (40, "natural")])
def test_draws_follow_the_truncated_posterior(k, temper):
    """Kolmogorov–Smirnov on 2000 draws: p < 1e-6 with probability 1e-6 if the law is right."""
    mechanism = OnePosteriorSample(COIN, n=40, truncation=0.1, temperature=3, temper=temper)
    law = mechanism._private_posterior([k])
    draws = law.sample(2000, SeededSource(7))
    assert draws.min() >= 0.1
    assert draws.max() <= 0.9
    assert kstest(draws, lambda x: _cdf(law, x)).pvalue > 1e-6
    wrong = replace(law, entries=(law.entries[0] * Fraction(13, 10), law.entries[1]))
    if k:  # negative control; at k = 0 all mass sits on the boundary, whatever the entry
        assert kstest(draws, lambda x: _cdf(wrong, x)).pvalue < 1e-6


def test_dirichlet_release_is_one_vector_inside_the_truncated_simplex():
    mechanism = OnePosteriorSample(DirichletCategorical([1, 1, 1]), n=30, truncation=0.1, temperature=2)
    theta = mechanism.release([30, 0, 0], SeededSource(3))
    assert theta.shape == (3,)
    assert theta.min() >= 0.1
    assert theta.sum() == pytest.approx(1, abs=1e-8)


def test_an_empty_table_is_a_neighbour_too():
    mechanism = OnePosteriorSample(COIN, truncation=0.1, temperature=2, relation=ADD_REMOVE)
    assert mechanism._private_posterior([0], 0).entries == (2, 3)
    assert 0.1 <= mechanism.release([0], SeededSource(1), count=0) <= 0.9


# --- calibration ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("temper", Temper)
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: type(t).__name__)
def test_calibration_meets_every_kind_of_target_and_barely(target, temper):
    mechanism = OnePosteriorSample.calibrate(COIN, n=50, target=target, truncation=0.1, temper=temper)
    assert mechanism.guarantee <= target
    assert not replace(mechanism, temperature=mechanism.temperature * (1 - 1e-9)).guarantee <= target


def test_bounded_range_halves_the_temperature_of_a_zcdp_target():
    """ρ = ε²/8 of bounded range against about ε²/2 of pure DP: T = 2Δ/√(8ρ), not up to 2Δ/√(2ρ)."""
    mechanism = OnePosteriorSample.calibrate(COIN, n=10**6, target=ZeroCDP(0.005), truncation=0.1)
    assert mechanism.promise is BoundedRange
    assert mechanism.temperature == pytest.approx(2 * math.log(9) / math.sqrt(0.04), rel=1e-9)
    assert not replace(mechanism, promise=PureDP).guarantee <= ZeroCDP(0.005)


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(
    epsilon=st.floats(1e-3, 8), truncation=st.floats(0.01, 0.3), n=st.integers(1, 10**6), d=st.integers(2, 3)
)
def test_calibration_never_exceeds_the_target(epsilon, truncation, n, d):
    target = PureDP(epsilon)
    mechanism = OnePosteriorSample.calibrate(
        DirichletCategorical([1] * d), n=n, target=target, truncation=truncation
    )
    assert mechanism.guarantee <= target
    delta = math.log((1 - (d - 1) * truncation) / truncation)
    assert mechanism.temperature <= max(1, 2 * delta / epsilon * (1 + 1e-9))


def test_a_generous_target_leaves_the_posterior_as_it_is():
    assert OnePosteriorSample.calibrate(COIN, n=5, target=PureDP(100), truncation=0.1).temperature == 1


def test_add_remove_target():
    target = PureDP(0.5, relation=ADD_REMOVE)
    mechanism = OnePosteriorSample.calibrate(COIN, target=target, truncation=0.1)
    assert mechanism.relation is ADD_REMOVE
    assert mechanism.temperature == pytest.approx(2 * math.log(9))
    assert mechanism.guarantee <= target


# --- refusals ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"truncation": 0.5}, "below 1/2"),
        ({"truncation": 0}, "above 0"),
        ({"truncation": float("nan")}, "truncation"),
        ({"temperature": 0.5}, "at least 1"),
        ({"temperature": float("nan")}, "temperature"),
        ({"temperature": math.inf}, "temperature"),
        ({"n": None}, "n is public"),
        ({"n": 0}, "positive integer"),
        ({"n": 2.5}, "positive integer"),
        ({"relation": ADD_REMOVE}, "private"),
        ({"temper": "prior"}, "prior"),
    ],
)
def test_bad_settings_are_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        OnePosteriorSample(COIN, **({"n": 10, "truncation": 0.1, "temperature": 2} | setting))


def test_dirichlet_truncation_must_leave_room():
    with pytest.raises(ValueError, match="below 1/3"):
        OnePosteriorSample(DirichletCategorical([1, 1, 1]), n=10, truncation=0.34, temperature=2)


def test_other_families_are_refused_with_the_way_out():
    with pytest.raises(NotProved, match="NoisyStatistics"):
        OnePosteriorSample(GammaPoisson(1, 1, upper=5), n=10, truncation=0.1, temperature=2)


@pytest.mark.parametrize("statistic", [[987654], [-987654], [98765.4], [float("nan")], [3, 987654]])
def test_bad_statistics_are_refused_and_never_shown(statistic):
    mechanism = OnePosteriorSample(COIN, n=10, truncation=0.1, temperature=2)
    with pytest.raises(ValueError) as refusal:
        mechanism.release(statistic, SeededSource(1))
    assert "9876" not in str(refusal.value)


@pytest.mark.parametrize("count", [-987654, 98765.4, None])
def test_bad_private_counts_are_refused_and_never_shown(count):
    mechanism = OnePosteriorSample(COIN, truncation=0.1, temperature=2, relation=ADD_REMOVE)
    with pytest.raises(ValueError, match="number of records") as refusal:
        mechanism.release([3], SeededSource(1), count=count)
    assert "9876" not in str(refusal.value)


def test_a_target_beyond_every_temperature_is_unreachable():
    with pytest.raises(Unreachable, match="temperature"):
        OnePosteriorSample.calibrate(COIN, n=10, target=PureDP(1e-307), truncation=0.1)


def test_relation_of_the_guarantee_is_that_of_the_mechanism():
    mechanism = OnePosteriorSample(COIN, n=10, truncation=0.1, temperature=2)
    assert mechanism.guarantee.relation is mechanism.bounded_range.relation is SUBSTITUTE
