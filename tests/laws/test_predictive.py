"""Predictives normalise, and are the likelihood averaged over the law of θ. Deterministic quadrature."""

import itertools

import numpy as np
import pytest
from scipy.integrate import dblquad, quad

from discreet.families.registry import EXAMPLES, FAMILIES

BY_NAME = {prior.name: (prior, data) for prior, data in reversed(EXAMPLES)}

# a fraction's Bernoulli term is a pseudo-likelihood, and has no predictive mass
WITH_PREDICTIVE = [(p, data) for p, data in EXAMPLES if np.all(np.isfinite(p.log_predictive(np.array(data))))]


def _total(prior, points):
    return np.exp(prior.log_predictive(np.array(points, dtype=float))).sum()


def test_finite_predictives_sum_to_one():
    assert _total(BY_NAME["beta_bernoulli"][0], [0, 1]) == pytest.approx(1, abs=1e-14)
    assert _total(BY_NAME["beta_binomial"][0], range(8)) == pytest.approx(1, abs=1e-12)
    assert _total(BY_NAME["dirichlet_categorical"][0], range(3)) == pytest.approx(1, abs=1e-14)
    multinomial = [c for c in itertools.product(range(4), repeat=3) if sum(c) == 3]
    assert _total(BY_NAME["dirichlet_multinomial"][0], multinomial) == pytest.approx(1, abs=1e-12)
    assert _total(BY_NAME["gamma_poisson"][0], range(500)) == pytest.approx(1, abs=1e-9)
    posterior = BY_NAME["beta_geometric"][0].update([0], 20)  # α = 23.25: the tail past 1e5 is below 1e-60
    assert _total(posterior, range(100_000)) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("name", ["gamma_exponential", "normal_mean", "normal_inverse_gamma"])
def test_continuous_predictives_integrate_to_one(name):
    prior, _ = BY_NAME[name]
    low = 0 if name == "gamma_exponential" else -np.inf
    assert quad(lambda x: np.exp(prior.log_predictive(x)), low, np.inf)[0] == pytest.approx(1, abs=1e-7)


def test_regression_predictive_integrates_to_one_for_every_x():
    prior, _ = BY_NAME["bayesian_linear_regression"]
    for x in ([1, 0], [0.3, -2]):
        total = quad(lambda y, x=x: np.exp(prior.log_predictive([*x, y])), -np.inf, np.inf)[0]
        assert total == pytest.approx(1, abs=1e-7)


def test_multivariate_predictive_integrates_to_one():
    prior, _ = BY_NAME["normal_inverse_wishart"]
    density = lambda y, x: np.exp(prior.log_predictive([np.sinh(x), np.sinh(y)])) * np.cosh(x) * np.cosh(y)  # noqa: E731
    assert dblquad(density, -6, 6, -6, 6, epsabs=1e-6)[0] == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("beta_bernoulli", [0, 1]),
        ("beta_binomial", [0, 3, 7]),
        ("beta_geometric", [0, 2, 30]),
        ("gamma_poisson", [0, 3, 12]),
        ("gamma_exponential", [0.5, 12.5]),
        ("normal_mean", [-9, 0.5, 3]),
    ],
)
def test_predictive_is_the_averaged_likelihood(name, points):
    """p(x) = ∫ p(x|θ) p(θ) dθ of the unclipped likelihood, also beyond the bounds."""
    prior, _ = BY_NAME[name]
    low, high = prior.interval(1 - 2e-15)
    middle = prior.mean()
    for x in points:
        f = lambda t, x=x: np.exp(prior.log_likelihood(x, t) + prior.log_density(t))  # noqa: E731
        average = sum(quad(f, a, b, epsabs=1e-14, limit=300)[0] for a, b in ((low, middle), (middle, high)))
        assert np.log(average) == pytest.approx(float(prior.log_predictive(x)), abs=1e-8)


def test_predictive_is_the_averaged_likelihood_in_two_dimensions():
    prior, _ = BY_NAME["normal_inverse_gamma"]

    def integrand(mu, log_variance):
        theta = [mu, np.exp(log_variance)]
        return np.exp(prior.log_likelihood(1.5, theta) + prior.log_density(theta) + log_variance)

    average = dblquad(integrand, -4, 4, -9, 10, epsabs=1e-9)[0]
    assert np.log(average) == pytest.approx(float(prior.log_predictive(1.5)), abs=1e-6)


@pytest.mark.parametrize(("prior", "data"), WITH_PREDICTIVE, ids=lambda x: getattr(x, "name", ""))
def test_chain_rule_by_updating(prior, data):
    """p(x)·p(y|x) = p(y)·p(x|y): the predictive and the update agree, for every family."""

    def log_joint(first, second):
        after = prior.update(prior.statistic([first]), 1)
        return prior.log_predictive(first) + after.log_predictive(second)

    x, y = data[0], data[1]
    assert float(log_joint(x, y)) == pytest.approx(float(log_joint(y, x)), abs=1e-10)


@pytest.mark.parametrize(("prior", "data"), WITH_PREDICTIVE, ids=lambda x: getattr(x, "name", ""))
def test_marginal_likelihood_is_a_ratio_of_partition_functions(prior, data):
    """ln p(x) = C(η + (S(x), 1)) − C(η) + ln h(x); h cancels between two priors. Holds for every family."""
    other = prior.scale_prior(2)
    x = data[0]

    def log_h(member):
        after = member.update(member.statistic([x]), 1)
        return (
            float(member.log_predictive(np.asarray(x, dtype=float)))
            - after.log_partition()
            + member.log_partition()
        )

    assert log_h(prior) == pytest.approx(log_h(other), abs=1e-9)


def test_every_family_is_covered():
    assert set(BY_NAME) == set(FAMILIES) == {prior.name for prior, _ in WITH_PREDICTIVE}
