"""Calibration: the largest knob that is proved to meet the target, or a refusal that says the way out."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.gamma_exponential import GammaExponential
from discreet.families.gamma_poisson import GammaPoisson
from discreet.families.normal_mean import NormalMean
from discreet.mechanisms.posterior.concentrated import ConcentratedPosterior
from discreet.mechanisms.posterior.diffused import DiffusedPosterior, largest_weight
from discreet.mechanisms.posterior.direct import DirectPosterior
from discreet.mechanisms.posterior.draw import largest_knob
from discreet.privacy.guarantee import ADD_REMOVE, Unreachable
from discreet.privacy.kinds import ApproxDP, BoundedRange, GaussianDP, PureDP, RenyiDP, ZeroCDP
from discreet.privacy.worst_pairs.pairs import DirichletPairs

BETA = BetaBernoulli(6, 12)
NORMAL = NormalMean(0, 4, 1, -1, 1)
MODELS = [
    BETA,
    DirichletCategorical([2.2, 1.4, 3.0]),
    NORMAL,
    GammaPoisson(3, 1, 5),
    GammaExponential(3, 50, 5),
]
KNOBS = [(DiffusedPosterior, "r"), (ConcentratedPosterior, "m")]


def next_knob(value):
    """The next double of 24 significant bits."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(math.ldexp(mantissa, 24) + 1, exponent - 24)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
@pytest.mark.parametrize(("kind", "name"), KNOBS)
@pytest.mark.parametrize(
    "target",
    [RenyiDP.at(2, 0.02), RenyiDP.points({2: 0.02, 4: 0.03}), ApproxDP(0.2, 1e-6), ApproxDP(0.01, 0.05)],
    ids=repr,
)
def test_the_largest_knob_meets_the_target_and_the_next_does_not(model, kind, name, target):
    mechanism = kind.calibrate(model, n=100, target=target)
    assert mechanism.guarantee <= target
    value = getattr(mechanism, name)
    if value < 1:
        assert not kind(model, n=100, **{name: next_knob(value)}).guarantee <= target


@pytest.mark.slow
@settings(deadline=None, max_examples=12)
@given(
    prior=st.tuples(st.floats(0.2, 50), st.floats(0.2, 50)),
    n=st.integers(1, 10**7),
    epsilon=st.floats(0.01, 5),
    order=st.floats(1.05, 40),
    log_delta=st.floats(-40, -2),
)
def test_calibration_always_meets_its_target(prior, n, epsilon, order, log_delta):
    model = BetaBernoulli(*prior)
    for target in (RenyiDP.at(order, epsilon), ApproxDP(epsilon, math.exp(log_delta))):
        for kind, name in KNOBS:
            mechanism = kind.calibrate(model, n=n, target=target)
            assert 0 < getattr(mechanism, name) <= 1
            assert mechanism.guarantee <= target


@pytest.mark.slow
def test_a_whole_curve_is_met_at_every_order():
    promised = DiffusedPosterior(BETA, n=100, r=0.25).guarantee
    target = RenyiDP(promised.curve, 8.0)
    mechanism = DiffusedPosterior.calibrate(BETA, n=100, target=target)
    assert 0.98 * 0.25 < mechanism.r <= 0.25  # a proof by partition loses a little at the touching order
    for order in np.linspace(1.001, 8, 60).tolist():
        assert mechanism.guarantee.renyi(order) <= promised.renyi(order)


def test_gaussian_and_zero_concentrated_targets_for_a_normal_mean():
    # μ = 2r/√(4+100r) ≤ μ₀ solves 4r² − 100μ₀²r − 4μ₀² = 0
    for mu, target in ((0.1, GaussianDP(0.1)), (0.1, ZeroCDP(0.005))):
        exact = (100 * mu**2 + math.sqrt((100 * mu**2) ** 2 + 64 * mu**2)) / 8
        r = DiffusedPosterior.calibrate(NORMAL, n=100, target=target).r
        assert exact * (1 - 2.0**-22) <= r <= exact
    # κ₀/m + n = 4/μ₀²
    m = ConcentratedPosterior.calibrate(NORMAL, n=100, target=GaussianDP(0.1)).m
    assert 4 / 300 * (1 - 2.0**-22) <= m <= 4 / 300


@pytest.mark.parametrize(("kind", "name"), KNOBS)
@pytest.mark.parametrize("target", [GaussianDP(1), ZeroCDP(1), RenyiDP(GaussianDP(1).renyi)], ids=repr)
def test_a_finite_order_limit_forbids_targets_over_all_orders(kind, name, target):
    with pytest.raises(Unreachable, match=r"α\* = 7\.0.*OnePosteriorSample or NoisyStatistics"):
        kind.calibrate(BETA, n=100, target=target)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
@pytest.mark.parametrize("kind", [DirectPosterior, DiffusedPosterior, ConcentratedPosterior])
@pytest.mark.parametrize("target", [PureDP(5), BoundedRange(5), ApproxDP(5, 0)], ids=repr)
def test_pure_targets_are_never_met(model, kind, target):
    with pytest.raises(Unreachable, match=r"never pure DP.*OnePosteriorSample or NoisyStatistics"):
        kind.calibrate(model, n=100, target=target)


def test_direct_meets_it_or_says_what_would():
    assert DirectPosterior.calibrate(BETA, n=100, target=ApproxDP(2.7, 1e-6)).guarantee <= ApproxDP(2.7, 1e-6)
    with pytest.raises(
        Unreachable, match=r"reaches ε = 2\.648.*DiffusedPosterior.*m = 0\.2269.*public records"
    ):
        DirectPosterior.calibrate(BETA, n=100, target=ApproxDP(1, 1e-6))
    with pytest.raises(Unreachable, match=r"D_α = inf at order 8, with the order limit α\* = 7"):
        DirectPosterior.calibrate(BETA, n=100, target=RenyiDP.at(8, 5.0))


def test_a_knob_that_underflows_is_refused():
    with pytest.raises(Unreachable, match="r underflows to 0"):
        DiffusedPosterior.calibrate(BETA, n=100, target=RenyiDP.at(1e300, 1.0))
    with pytest.raises(Unreachable, match="m underflows to 0"):
        ConcentratedPosterior.calibrate(BETA, n=100, target=RenyiDP.at(1e300, 1.0))


def test_tiny_targets_are_met_by_tiny_knobs():
    for target in (RenyiDP.at(2, 1e-30), ApproxDP(1e-12, 1e-14), ApproxDP(1e-3, 1e-200)):
        mechanism = DiffusedPosterior.calibrate(BETA, n=10, target=target)
        assert 0 < mechanism.r < 1e-3
        assert mechanism.guarantee <= target


def test_add_remove_targets_calibrate_without_n():
    target = ApproxDP(1, 1e-6, relation=ADD_REMOVE)
    mechanism = DiffusedPosterior.calibrate(BETA, target=target)
    assert mechanism.guarantee <= target
    # no n at all can do better than the limit n → ∞ of one moved record does under ADD_REMOVE
    assert mechanism.r < 1


def test_more_records_never_lower_the_weight():
    target = ApproxDP(1, 1e-6)
    weights = [largest_weight(BETA, n=n, target=target, bits=24) for n in (2, 10, 100, 10**4, 10**9)]
    assert weights == sorted(weights)


def test_a_million_categories_use_only_the_two_smallest():
    prior = np.random.default_rng(5).uniform(0.5, 3, 10**6)
    two = np.sort(prior)[:2].tolist()
    target = RenyiDP.at(2, 0.1)
    alone = largest_knob(lambda r: DirichletPairs(*two, r), target, knob="r")
    assert DiffusedPosterior.calibrate(DirichletCategorical(prior), n=1000, target=target).r == alone


def test_the_relation_comes_from_the_target():
    with pytest.raises(ValueError, match="leave n out"):
        DiffusedPosterior.calibrate(BETA, n=10, target=ApproxDP(1, 1e-6, relation=ADD_REMOVE))
