"""Updates: exactly additive, Bayes' rule, natural parameters plus weighted statistics."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.families import (
    BayesianLinearRegression,
    BetaBernoulli,
    BetaBinomial,
    BetaGeometric,
    DirichletCategorical,
    DirichletMultinomial,
    GammaExponential,
    GammaPoisson,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalMean,
)
from discreet.families.registry import EXAMPLES, FAMILIES

examples = pytest.mark.parametrize(("prior", "data"), EXAMPLES, ids=lambda x: getattr(x, "name", ""))

positive = st.one_of(
    st.integers(1, 50),
    st.floats(2**-6, 2**10, allow_nan=False),
    st.fractions(Fraction(1, 99), 40, max_denominator=99),
)
real = st.one_of(st.integers(-20, 20), st.floats(-50, 50), st.fractions(-9, 9, max_denominator=99))
weights = st.one_of(st.just(1), st.floats(2**-20, 1), st.fractions(Fraction(1, 50), 1, max_denominator=50))
wild = st.floats(allow_nan=True, allow_infinity=True)


def _rows(width):
    return st.lists(st.lists(wild, min_size=width, max_size=width), min_size=1, max_size=5)


counts = st.integers(-3, 30)
MEMBERS = {  # name → (prior, records for it)
    "beta_bernoulli": (st.builds(BetaBernoulli, positive, positive), st.integers(-1, 3)),
    "beta_binomial": (st.builds(BetaBinomial, positive, positive, st.just(7)), counts),
    "beta_geometric": (st.builds(BetaGeometric, positive, positive, st.just(12)), counts),
    "dirichlet_categorical": (
        st.builds(DirichletCategorical, st.lists(positive, min_size=3, max_size=3)),
        st.integers(0, 2),
    ),
    "dirichlet_multinomial": (
        st.builds(DirichletMultinomial, st.lists(positive, min_size=2, max_size=2), st.just(4)),
        st.integers(0, 4).map(lambda k: [k, 4 - k]),
    ),
    "gamma_poisson": (st.builds(GammaPoisson, positive, positive, st.just(20)), counts),
    "gamma_exponential": (st.builds(GammaExponential, positive, positive, st.just(8)), wild),
    "normal_mean": (st.builds(NormalMean, real, positive, positive, st.just(-4), st.just(6)), wild),
    "normal_inverse_gamma": (
        st.builds(NormalInverseGamma, real, positive, positive, positive, st.just(-4), st.just(6)),
        wild,
    ),
    "normal_inverse_wishart": (
        st.builds(
            NormalInverseWishart,
            st.lists(real, min_size=2, max_size=2),
            positive,
            positive.map(lambda x: 1 + Fraction(x)),
            st.just([[3, 1], [1, 2]]),
            st.just(4),
        ),
        st.lists(wild, min_size=2, max_size=2),
    ),
    "bayesian_linear_regression": (
        st.builds(
            BayesianLinearRegression,
            st.lists(real, min_size=2, max_size=2),
            st.just([[3, 1], [1, 2]]),
            positive,
            positive,
            st.just(4),
        ),
        st.lists(wild, min_size=3, max_size=3),
    ),
}
# A family without a line here is tried on the example of its row.
MEMBERS |= {
    prior.name: (st.just(prior), st.sampled_from(data))
    for prior, data in EXAMPLES
    if prior.name not in MEMBERS
}


def test_the_property_covers_every_family():
    assert set(MEMBERS) == set(FAMILIES)


@pytest.mark.slow
@pytest.mark.parametrize("name", MEMBERS)
def test_update_is_exactly_additive(name):
    """η + r(S₁+S₂, n₁+n₂) = (η + r(S₁, n₁)) + r(S₂, n₂), as rationals, whatever the records."""
    members, record = MEMBERS[name]
    some = st.lists(record, min_size=1, max_size=5)

    @settings(deadline=None, max_examples=40, derandomize=True, database=None)
    @given(members, some, some, weights)
    def law(prior, first, second, weight):
        one, two = prior.statistic(first), prior.statistic(second)
        both = prior.statistic(first + second)
        assert both.tolist() == (one + two).tolist()
        at_once = prior.update(both, len(first) + len(second), weight=weight)
        in_turn = prior.update(one, len(first), weight=weight).update(two, len(second), weight=weight)
        assert at_once == in_turn
        assert hash(at_once) == hash(in_turn)
        assert prior.update(0 * one, 0) == prior

    law()


@examples
def test_the_natural_parameters_move_by_the_weighted_statistic(prior, data):
    """Δη = r·(units·S, n), up to each family's fixed linear encoding: linear in r, and additive."""
    s, n = prior.statistic(data), len(data)
    full = prior.update(s, n).natural - prior.natural
    half = prior.update(s, n, weight=0.5).natural - prior.natural
    np.testing.assert_allclose(half, full / 2, rtol=1e-12, atol=1e-12)
    moved = {  # what G20 §3.3 says: ΣS beside n; of other families Bayes' rule below says how far
        "beta_bernoulli": lambda: [s[0] * prior.units[0], n],
        "beta_binomial": lambda: [s[0], 7 * n],
        "beta_geometric": lambda: [n, n + s[0]],
        "dirichlet_categorical": lambda: s,
        "dirichlet_multinomial": lambda: s,
        "gamma_poisson": lambda: [s[0], n],
        "gamma_exponential": lambda: [n, s[0] * prior.units[0]],
        "normal_mean": lambda: [s[0] * prior.units[0], n],
        "normal_inverse_gamma": lambda: [sum(data), sum(x**2 for x in data), n, n],
        "normal_inverse_wishart": lambda: [*(prior.units * s), n, n],
        "bayesian_linear_regression": lambda: [*(prior.units * s), n],
    }.get(prior.name, lambda: full)()
    np.testing.assert_allclose(full, moved, rtol=1e-12)


@examples
def test_bayes_rule(prior, data):
    """ln p(θ|data) − ln p(θ) − r·Σ ln p(x|θ) does not depend on θ (records on the grid, within bounds)."""
    low, high = np.moveaxis(prior.interval(0.6), -1, 0)
    theta = np.stack([low, 0.4 * low + 0.6 * high, high])
    if prior.name.startswith("dirichlet"):
        theta /= theta.sum(axis=-1, keepdims=True)
    likelihood = sum(prior.log_likelihood(np.asarray(x, dtype=float), theta) for x in data)
    for weight in (1, 0.25):
        posterior = prior.update(prior.statistic(data), len(data), weight=weight)
        rest = posterior.log_density(theta) - prior.log_density(theta) - weight * likelihood
        np.testing.assert_allclose(rest, rest[0], rtol=1e-8)
        wrong = rest + 0.01 * weight * likelihood  # negative control: 1 % more weight is seen
        assert np.ptp(wrong) > 1e-4


def test_public_records_fold_into_the_prior():
    prior = BetaBernoulli(6, 12)
    public = [1, 1, 0]
    assert prior.update(prior.statistic(public), len(public)) == BetaBernoulli(8, 13)


def test_hyper_parameters_are_exact_rationals():
    prior = BetaBernoulli(0.1, Fraction(1, 3))
    posterior = prior.update([3], 10**17, weight=Fraction(1, 7))
    assert posterior.alpha == Fraction(0.1) + Fraction(3, 7)
    assert posterior.beta == Fraction(1, 3) + Fraction(10**17 - 3, 7)
    assert BetaBernoulli(np.int64(6), np.float32(0.5)) == BetaBernoulli(6, 0.5)
    assert isinstance(BetaBernoulli(np.int64(6), 1).alpha.numerator, int)
