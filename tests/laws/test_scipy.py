"""scipy.stats as the oracle: densities, means, variances, intervals and predictives."""

import numpy as np
import pytest
from scipy import stats

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

beta = stats.beta(2.5, 4)
gamma = stats.gamma(4.5, scale=1 / 2)
ONE_DIMENSION = [
    (BetaBernoulli(2.5, 4), beta, 0.3),
    (BetaBinomial(2.5, 4, 7), beta, 0.3),
    (BetaGeometric(2.5, 4, 12), beta, 0.3),
    (GammaPoisson(4.5, 2, 20), gamma, 1.7),
    (GammaExponential(4.5, 2, 8), gamma, 1.7),
    (NormalMean(0.5, 2, 2.25, -4, 6), stats.norm(0.5, np.sqrt(2.25 / 2)), -0.4),
]


@pytest.mark.parametrize(("member", "law", "at"), ONE_DIMENSION, ids=lambda x: getattr(x, "name", ""))
def test_one_dimensional_laws(member, law, at):
    theta = np.array([at, member.mean(), 0.9 * at])
    np.testing.assert_allclose(member.log_density(theta), law.logpdf(theta), rtol=1e-12)
    assert member.mean() == pytest.approx(law.mean(), rel=1e-13)
    assert member.variance() == pytest.approx(law.var(), rel=1e-13)
    for level in (0.5, 0.9, 0.999):
        np.testing.assert_allclose(member.interval(level), law.interval(level), rtol=1e-10)


def test_outside_the_support_the_density_vanishes():
    assert BetaBernoulli(2, 3).log_density([-0.1, 1.1]).tolist() == [-np.inf, -np.inf]
    assert BetaBernoulli(1, 1).log_density([0, 1]).tolist() == [0, 0]
    assert GammaPoisson(2, 3, 9).log_density(-1.0) == -np.inf
    assert DirichletCategorical([1, 1]).log_density([0.3, 0.3]) == -np.inf


def test_dirichlet():
    member, law = DirichletCategorical([1, 2.5, 4]), stats.dirichlet([1, 2.5, 4])
    theta = np.array([0.2, 0.3, 0.5])
    assert member.log_density(theta) == pytest.approx(law.logpdf(theta), rel=1e-12)
    np.testing.assert_allclose(member.mean(), law.mean(), rtol=1e-13)
    np.testing.assert_allclose(member.variance(), law.var(), rtol=1e-13)
    marginal = [stats.beta(a, 7.5 - a).interval(0.9) for a in (1, 2.5, 4)]
    np.testing.assert_allclose(member.interval(0.9), marginal, rtol=1e-10)


def test_normal_inverse_gamma():
    member = NormalInverseGamma(0.5, 2, 5.5, 4, -4, 6)
    mu, variance = 0.8, 1.3
    spread = stats.invgamma(5.5, scale=4)
    expected = stats.norm(0.5, np.sqrt(variance / 2)).logpdf(mu) + spread.logpdf(variance)
    assert member.log_density([mu, variance]) == pytest.approx(expected, rel=1e-12)
    location = stats.t(11, 0.5, np.sqrt(4 / (5.5 * 2)))
    np.testing.assert_allclose(member.mean(), [0.5, spread.mean()], rtol=1e-12)
    np.testing.assert_allclose(member.variance(), [location.var(), spread.var()], rtol=1e-12)
    np.testing.assert_allclose(
        member.interval(0.9), [location.interval(0.9), spread.interval(0.9)], rtol=1e-10
    )


def test_normal_inverse_wishart():
    m, k, nu, scale = np.array([0.5, -1]), 2, 7.5, np.array([[3.0, 1], [1, 2]])
    member = NormalInverseWishart(m, k, nu, scale, 4)
    mu, covariance = np.array([0.2, -0.6]), np.array([[0.9, 0.2], [0.2, 0.6]])
    law = stats.invwishart(nu, scale)
    expected = stats.multivariate_normal(m, covariance / k).logpdf(mu) + law.logpdf(covariance)
    assert member.log_density([0.2, -0.6, 0.9, 0.2, 0.6]) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(member.mean()[2:], law.mean()[[0, 0, 1], [0, 1, 1]], rtol=1e-12)
    np.testing.assert_allclose(member.variance()[2:], law.var()[[0, 0, 1], [0, 1, 1]], rtol=1e-12)
    marginal = stats.t(nu - 1, m[0], np.sqrt(3 / (k * (nu - 1))))
    np.testing.assert_allclose(member.interval(0.9)[0], marginal.interval(0.9), rtol=1e-10)
    assert member.variance()[0] == pytest.approx(marginal.var(), rel=1e-12)
    diagonal = stats.invgamma((nu - 1) / 2, scale=1.5)
    np.testing.assert_allclose(member.interval(0.9)[2], diagonal.interval(0.9), rtol=1e-10)


def test_the_interval_of_a_covariance_entry():
    """Against 2e5 seeded scipy draws: each tail holds 5 % ± 5.5 deviations (error rate 4e-8 a tail)."""
    member = NormalInverseWishart([0.5, -1], 2, 7.5, [[3, 1], [1, 2]], 4)
    draws = stats.invwishart(7.5, [[3, 1], [1, 2]]).rvs(200_000, random_state=np.random.default_rng(11))[
        :, 0, 1
    ]
    low, high = member.interval(0.9)[3]
    slack = 5.5 * np.sqrt(0.05 * 0.95 / 200_000)
    assert abs(np.mean(draws < low) - 0.05) < slack
    assert abs(np.mean(draws > high) - 0.05) < slack
    low, high = member.interval(0.88)[3]  # negative control: the 88 % interval is told from it
    assert abs(np.mean(draws < low) - 0.05) > slack


def test_linear_regression():
    m, P = np.array([0.5, -1]), np.array([[3.0, 1], [1, 2]])
    member = BayesianLinearRegression(m, P, 5.5, 4, 4)
    spread = stats.invgamma(5.5, scale=4)
    expected = stats.multivariate_normal(m, 1.3 * np.linalg.inv(P)).logpdf([0.1, -0.7]) + spread.logpdf(1.3)
    assert member.log_density([0.1, -0.7, 1.3]) == pytest.approx(expected, rel=1e-12)
    marginal = stats.t(11, 0.5, np.sqrt(4 / 5.5 * np.linalg.inv(P)[0, 0]))
    np.testing.assert_allclose(member.interval(0.9)[0], marginal.interval(0.9), rtol=1e-10)
    np.testing.assert_allclose(member.interval(0.9)[2], spread.interval(0.9), rtol=1e-10)
    np.testing.assert_allclose(member.variance()[[0, 2]], [marginal.var(), spread.var()], rtol=1e-12)


def test_moments_that_do_not_exist_are_infinite():
    assert NormalInverseGamma(0, 1, 1, 1, -1, 1).variance().tolist() == [np.inf, np.inf]
    assert BayesianLinearRegression([0], [[1]], 0.5, 1, 1).mean()[1] == np.inf
    assert np.all(np.isinf(NormalInverseWishart([0, 0], 1, 3, [[1, 0], [0, 1]], 1).mean()[2:]))


def test_predictives():
    x = np.arange(9)
    np.testing.assert_allclose(
        BetaBinomial(2.5, 4, 7).log_predictive(x[:8]), stats.betabinom(7, 2.5, 4).logpmf(x[:8]), rtol=1e-10
    )
    np.testing.assert_allclose(
        GammaPoisson(3.5, 1.25, 20).log_predictive(x), stats.nbinom(3.5, 1.25 / 2.25).logpmf(x), rtol=1e-10
    )
    t = np.array([0.1, 2.5, 40])
    np.testing.assert_allclose(
        GammaExponential(4.5, 2, 8).log_predictive(t), stats.lomax(4.5, scale=2).logpdf(t), rtol=1e-12
    )
    np.testing.assert_allclose(
        NormalMean(0.5, 2, 2.25, -4, 6).log_predictive(t),
        stats.norm(0.5, np.sqrt(2.25 * 1.5)).logpdf(t),
        rtol=1e-12,
    )
    student = stats.t(11, 0.5, np.sqrt(4 * 3 / (5.5 * 2)))
    member = NormalInverseGamma(0.5, 2, 5.5, 4, -4, 6)
    np.testing.assert_allclose(member.log_predictive(t), student.logpdf(t), rtol=1e-12)
    rows = [[3, 0, 0], [1, 1, 1]]
    np.testing.assert_allclose(
        DirichletMultinomial([1, 2.5, 4], 3).log_predictive(rows),
        stats.dirichlet_multinomial([1, 2.5, 4], 3).logpmf(rows),
        rtol=1e-12,
    )
    scale = np.array([[3.0, 1], [1, 2]])
    law = stats.multivariate_t([0.5, -1], scale * 3 / (2 * 6.5), 6.5)
    member = NormalInverseWishart([0.5, -1], 2, 7.5, scale, 4)
    np.testing.assert_allclose(
        member.log_predictive([[1, 2], [0, 0.5]]), law.logpdf([[1, 2], [0, 0.5]]), rtol=1e-12
    )
