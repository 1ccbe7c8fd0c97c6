"""Direct, Diffused, Concentrated: what is drawn, what it promises, and what is refused."""

import inspect
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.gamma_exponential import GammaExponential
from discreet.families.gamma_poisson import GammaPoisson
from discreet.families.normal_mean import NormalMean
from discreet.mechanisms.posterior.concentrated import ConcentratedPosterior
from discreet.mechanisms.posterior.diffused import DiffusedPosterior
from discreet.mechanisms.posterior.direct import DirectPosterior
from discreet.mechanisms.posterior.draw import PosteriorDraw, simulate
from discreet.privacy.arithmetic.ball import settle
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.privacy.kinds import GaussianDP, RenyiDP
from discreet.privacy.worst_pairs.divergences import beta_delta, beta_renyi
from discreet.sampling.source import SeededSource

BETA = BetaBernoulli(6, 12)
MODELS = [
    BETA,
    DirichletCategorical([2.2, 1.4, 3.0]),
    NormalMean(0, 4, 1, -1, 1),
    GammaPoisson(3, 1, 5),
    GammaExponential(3, 50, 5),
]
THREE = {
    "direct": lambda model, n: DirectPosterior(model, n=n),
    "diffused": lambda model, n: DiffusedPosterior(model, n=n, r=0.5),
    "concentrated": lambda model, n: ConcentratedPosterior(model, n=n, m=0.25),
}


def law(mechanism, successes):
    posterior = mechanism._private_posterior([successes])
    return posterior.alpha, posterior.beta


def test_what_is_drawn_from():
    assert law(DirectPosterior(BETA, n=100), 38) == (44, 74)
    assert law(DiffusedPosterior(BETA, n=100, r=0.5), 38) == (25, 43)
    assert law(ConcentratedPosterior(BETA, n=100, m=0.25), 38) == (62, 110)
    third = Fraction(1, 3)
    assert law(DiffusedPosterior(BETA, n=100, r=third), 38) == (6 + 38 * third, 12 + 62 * third)


@pytest.mark.parametrize("kind", THREE)
@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_a_release_is_one_draw_and_a_seed_repeats_it(kind, model):
    mechanism = THREE[kind](model, 5)
    statistic = model.statistic([1, 0, 1, 1, 0])
    one = mechanism.release(statistic, SeededSource(3))
    assert np.array_equal(one, mechanism.release(statistic, SeededSource(3)))
    assert not np.array_equal(one, mechanism.release(statistic, SeededSource(4)))
    assert np.shape(one) == np.shape(model.mean())


def test_the_system_source_is_the_default():
    mechanism = DirectPosterior(BETA, n=5)
    assert mechanism.release([3]) != mechanism.release([3])  # equal with probability about 2^-30


@pytest.mark.slow
@pytest.mark.parametrize("kind", THREE)
def test_draws_follow_the_posterior(kind):
    # Kolmogorov–Smirnov, 2000 draws, level 1e-6 each; the control is a posterior two records off
    mechanism = THREE[kind](BETA, 40)
    draws = simulate(mechanism, [15], 2000, SeededSource(11))
    a, b = map(float, law(mechanism, 15))
    assert stats.kstest(draws, stats.beta(a, b).cdf).pvalue > 1e-6
    assert stats.kstest(draws, stats.beta(a + 4, b - 4).cdf).pvalue < 1e-6


def test_no_way_to_release_many_draws_for_the_price_of_one():
    public = {name for name, _ in inspect.getmembers(PosteriorDraw) if not name.startswith("_")}
    facts = {
        "guarantee",
        "prior",
        "weight",
        "worst",
        "n",
        "relation",
        "reads",
        "draw_count",
        "knows_units",
        "repeats",
        "knob",
    }
    assert public == {"draws", "release", "single"} | facts
    assert DirectPosterior(BETA, n=5).single == DirectPosterior(BETA, n=5)  # itself, not a draw
    assert "size" not in inspect.signature(PosteriorDraw.release).parameters
    assert "NOT a release" in simulate.__doc__


def test_q_draws_cost_q_fold_composition():
    one = DirectPosterior(BETA, n=100)
    many = one.draws(5)
    assert many.guarantee.renyi(2) == pytest.approx(5 * one.guarantee.renyi(2), rel=1e-12)
    assert many.guarantee.renyi(2) >= 5 * 0.191290226776715
    assert many.release([38], SeededSource(1)).shape == (5,)
    with pytest.raises(ValueError, match="positive integer"):
        one.draws(0)


@pytest.mark.parametrize("kind", THREE)
@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_guarantees_pickle_and_compare(kind, model):
    guarantee = THREE[kind](model, 20).guarantee
    again = pickle.loads(pickle.dumps(guarantee))  # noqa: S301
    assert again == guarantee
    assert again.delta(1) == guarantee.delta(1)
    assert guarantee <= again


def test_published_numbers_of_the_direct_posterior():
    # prior Beta(6, 12), n = 100, δ = 1e-6: ε = 2.648 by the exact profile, 3.051 by the best Rényi order
    guarantee = DirectPosterior(BETA, n=100).guarantee
    assert guarantee.epsilon(1e-6) == pytest.approx(2.648, abs=5e-4)
    assert RenyiDP(guarantee.curve, guarantee.order_limit).epsilon(1e-6) == pytest.approx(3.051, abs=5e-4)


def test_a_normal_mean_is_exactly_gaussian():
    # μ = r(b−a)/(σ√(κ₀+rn)): r = 1/2, b−a = 2, σ = 2, κ₀ = 4, n = 10
    guarantee = DiffusedPosterior(NormalMean(0, 4, 4, -1, 1), n=10, r=0.5).guarantee
    assert guarantee.relation is GaussianDP(1).relation
    assert guarantee.mu == pytest.approx(0.5 * 2 / (2 * math.sqrt(9)), rel=1e-15)


# ── brute force: every neighbouring pair of data sets, small n ──────────────────────────────────────

small = st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(7, 5), Fraction(3), Fraction(9, 2)])


@settings(deadline=None, max_examples=30)
@given(
    alpha=small,
    beta=small,
    r=st.sampled_from([Fraction(1, 4), Fraction(2, 3), Fraction(1)]),
    n=st.integers(1, 6),
    epsilon=st.sampled_from([0.1, 0.7, 2.0]),
)
def test_the_claim_is_attained_and_never_exceeded(alpha, beta, r, n, epsilon):
    guarantee = DiffusedPosterior(BetaBernoulli(alpha, beta), n=n, r=r).guarantee
    order = 1 + min(alpha, beta) / r / 2
    curve, profile = [], []
    for k in range(n):  # the other n−1 records
        a, b = alpha + r * k, beta + r * (n - 1 - k)
        for x, y in ((a, b), (b, a)):
            curve.append(float(settle(lambda x=x, y=y: beta_renyi(x, y, r, order))))
            profile.append(float(settle(lambda x=x, y=y: beta_delta(x, y, r, Fraction(epsilon)))))
    assert max(curve) <= guarantee.renyi(order) * (1 + 1e-15)
    assert guarantee.renyi(order) == pytest.approx(max(curve), rel=1e-12)
    assert max(profile) <= guarantee.profile(epsilon) * (1 + 1e-15)
    assert guarantee.profile(epsilon) == pytest.approx(max(profile), rel=1.1e-9)


@settings(deadline=None, max_examples=20)
@given(
    prior=st.lists(small, min_size=3, max_size=4),
    r=st.sampled_from([Fraction(1, 4), Fraction(1)]),
    n=st.integers(1, 4),
)
def test_dirichlet_against_every_count_vector(prior, r, n):
    guarantee = DiffusedPosterior(DirichletCategorical(prior), n=n, r=r).guarantee
    order, eps = 1 + min(prior) / r / 2, Fraction(1, 2)
    curve, profile = [], []
    for rest in itertools.product(range(n), repeat=len(prior)):
        if sum(rest) == n - 1:
            entries = [a + r * c for a, c in zip(prior, rest, strict=True)]
            for x, y in itertools.permutations(entries, 2):
                curve.append(float(settle(lambda x=x, y=y: beta_renyi(x, y, r, order))))
                profile.append(float(settle(lambda x=x, y=y: beta_delta(x, y, r, eps))))
    assert guarantee.renyi(order) == pytest.approx(max(curve), rel=1e-12)
    assert guarantee.profile(eps) == pytest.approx(max(profile), rel=1e-12)


# ── monotone in every knob ──────────────────────────────────────────────────────────────────────────

knob = st.floats(0.05, 1.0)


@settings(deadline=None, max_examples=40)
@given(
    alpha=st.floats(0.3, 30),
    beta=st.floats(0.3, 30),
    knobs=st.tuples(knob, knob).map(sorted),
    n=st.integers(1, 500),
)
def test_monotone_in_r_m_prior_and_order(alpha, beta, knobs, n):
    model, (low, high) = BetaBernoulli(alpha, beta), knobs
    order = 1 + min(alpha, beta) / 2
    for weak, strong in (
        (DiffusedPosterior(model, n=n, r=high), DiffusedPosterior(model, n=n, r=low)),
        (ConcentratedPosterior(model, n=n, m=high), ConcentratedPosterior(model, n=n, m=low)),
        (DirectPosterior(model, n=n), DirectPosterior(BetaBernoulli(alpha + low, beta + high), n=n)),
    ):
        assert strong.guarantee.renyi(order) <= weak.guarantee.renyi(order)
        assert strong.guarantee.profile(0.5) <= weak.guarantee.profile(0.5) * (1 + 1e-9)
        assert strong.guarantee.order_limit >= weak.guarantee.order_limit
        assert strong.guarantee.renyi(1 + (order - 1) / 2) <= strong.guarantee.renyi(order)


# ── concentrated rescales only the worst pair; it must be the same pair ────────────────────────────


@pytest.mark.parametrize("m", [0.3, 1.0, 2.0**-20])
def test_the_rescaled_pair_is_the_pair_of_the_rescaled_prior(m):
    for model in MODELS:
        fast = ConcentratedPosterior(model, n=30, m=m).worst
        assert fast == model.scale_prior(1 / Fraction(m)).worst_case(
            30, relation=DirectPosterior(BETA, n=1).relation
        )


@pytest.mark.parametrize("r", [0.3, 1.0, 2.0**-20])
def test_the_reweighted_pair_is_the_pair_of_the_family(r):
    for model in MODELS:
        mechanism = DiffusedPosterior(model, n=30, r=r)
        scaled = DirectPosterior(model, n=30).worst.reweighted(prior=1, step=r)
        assert scaled is None or scaled == mechanism.worst


# ── neighbours by addition or removal ───────────────────────────────────────────────────────────────


def test_add_remove_hides_n():
    mechanism = DiffusedPosterior(BETA, r=0.5, relation=ADD_REMOVE)
    assert mechanism.guarantee.relation is ADD_REMOVE
    # Gamma(6) against Gamma(6.5): P(G > x) decides; independent of n
    assert mechanism.guarantee.order_limit == 13
    draw = mechanism.release([3], SeededSource(1), count=5)
    assert 0 < draw < 1
    with pytest.raises(ValueError, match="count"):
        mechanism.release([3], SeededSource(1))
    with pytest.raises(ValueError, match="leave n out"):
        DirectPosterior(BETA, n=5, relation=ADD_REMOVE)


def test_add_remove_dominates_every_public_n():
    # Beta(a, b) against Beta(a+r, b) is a processed Gamma(a) against Gamma(a+r), for every b
    claimed = DirectPosterior(BETA, relation=ADD_REMOVE).guarantee
    for b in (1.0, 12.0, 500.0):
        x = np.linspace(0, 1, 200001)[1:-1]
        p, q = stats.beta(7, b).pdf(x), stats.beta(6, b).pdf(x)
        for first, second in ((p, q), (q, p)):
            excess = np.maximum(first - math.exp(0.5) * second, 0).sum() / 200000
            assert excess <= claimed.profile(0.5) * (1 + 1e-6)


# ── bad input: clear, early, and silent about the data ──────────────────────────────────────────────


@pytest.mark.parametrize("bad", [0, -1, 2.5, math.nan, math.inf])
def test_n_must_be_a_positive_integer(bad):
    with pytest.raises((ValueError, OverflowError)):
        DirectPosterior(BETA, n=bad)


def test_n_is_needed():
    with pytest.raises(ValueError, match="public"):
        DirectPosterior(BETA)


@pytest.mark.parametrize("bad", [0, -0.5, 1.0000001, math.nan, math.inf])
def test_knobs_lie_in_the_unit_interval(bad):
    with pytest.raises(ValueError, match=r"r must lie in \(0, 1\]"):
        DiffusedPosterior(BETA, n=10, r=bad)
    with pytest.raises(ValueError, match=r"m must lie in \(0, 1\]"):
        ConcentratedPosterior(BETA, n=10, m=bad)


@pytest.mark.parametrize("statistic", [[777], [-777], [777.5], [math.nan], [math.inf], [3, 777], [], "777"])
@pytest.mark.parametrize("kind", THREE)
def test_impossible_statistics_are_refused_without_being_shown(kind, statistic):
    mechanism = THREE[kind](BETA, 10)
    with pytest.raises(ValueError) as error:
        mechanism.release(statistic, SeededSource(1))
    assert "777" not in str(error.value)


def test_nothing_private_in_the_repr():
    mechanism = DirectPosterior(BETA, n=1000)
    mechanism.release([777], SeededSource(1))
    assert "777" not in repr(mechanism)
    assert not any("777" in repr(value) for value in vars(mechanism).values())
