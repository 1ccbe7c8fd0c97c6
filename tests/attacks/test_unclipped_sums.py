"""Readings for which bounds are facts, where noise is far wider than they are: records ended 32 widths out.

Below every sum Laplace noise gives p(Ŝ | θ) ∝ (E e^{−q/b})^n, in closed form for every family.
"""

import importlib.util
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from discreet.families.beta_geometric import BetaGeometric
from discreet.families.gamma_exponential import GammaExponential
from discreet.families.gamma_poisson import GammaPoisson
from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic
from discreet.posteriors.scalar import unclipped as far_ends
from discreet.posteriors.scalar.likelihood import Likelihood
from discreet.posteriors.scalar.read import read
from discreet.posteriors.scalar.record_law import record_law

BELOW = np.linspace(0.05, 0.95, 7)


def read_at(model, noisy, n, scale):
    release = NoisyStatistic(
        model, (noisy,), n, joint=False, noise="discrete_laplace", scale=scale, guarantee=None, seeded=True
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return read(release, model)


def quantiles(theta, log):
    mass = np.exp(log - log.max())
    below = np.cumsum((mass[1:] + mass[:-1]) / 2 * np.diff(theta))
    return np.interp(BELOW, below / below[-1], theta[1:])


@pytest.mark.parametrize(
    ("shape", "rate", "upper", "n", "scale"),
    [
        (1426, 0.539, 13, 18, 109.7),
        (3794, 1.153, 2, 1, 0.452),
        (0.5, 0.002, 3, 2, 300.0),
        (2, 1, 20, 50, 40.0),
    ],
)
def test_a_rate_behind_noise_wider_than_the_bounds_is_gamma(shape, rate, upper, n, scale):
    posterior = read_at(GammaPoisson(shape, rate, upper=upper), -30.0, n, scale)
    exact = stats.gamma(shape, scale=1 / (rate - n * np.expm1(-1 / scale)))
    np.testing.assert_allclose(posterior.cdf(exact.ppf(BELOW)), BELOW, atol=0.002)


@pytest.mark.parametrize(
    ("alpha", "beta", "upper", "n", "scale"), [(2.5, 450.0, 2, 3, 60.0), (1, 30, 1, 1, 500.0)]
)
def test_a_chance_behind_noise_wider_than_the_bounds(alpha, beta, upper, n, scale):
    posterior = read_at(BetaGeometric(alpha, beta, upper=upper), -5.0, n, scale)
    theta = np.geomspace(1e-9, 1 - 1e-12, 200_001)
    log = (alpha - 1) * np.log(theta) + (beta - 1) * np.log1p(-theta)
    log += n * (np.log(theta) - np.log(-np.expm1(-1 / scale) + theta * np.exp(-1 / scale)))
    np.testing.assert_allclose(posterior.cdf(quantiles(theta, log)), BELOW, atol=0.002)


@pytest.mark.parametrize(("shape", "rate", "n", "scale"), [(1.5, 500.0, 2, 200.0), (3, 2, 5, 1000.0)])
def test_a_wait_behind_noise_wider_than_the_bounds(shape, rate, n, scale):
    model = GammaExponential(shape, rate, upper=1, grid=0.25)
    theta, b = np.geomspace(1e-9, 100, 200_001), scale
    step = np.exp(-theta / 4)
    each = 1 - np.exp(-theta / 8) + np.exp(-theta / 8) * (1 - step) / (np.exp(1 / b) - step)
    log = (shape - 1) * np.log(theta) - rate * theta + n * np.log(each)
    posterior = read_at(model, -5.0, n, scale)
    np.testing.assert_allclose(posterior.cdf(quantiles(theta, log)), BELOW, atol=0.002)


@pytest.mark.parametrize(("theta", "tilt"), [(1e6, -2.5), (3e5, -1.0), (2.5e5, -0.5), (1.5e5, 0.1)])
def test_counts_far_beyond_their_bound_lie_at_it_whatever_the_tilt(theta, tilt):
    """All of 10⁶ events clipped to 200 000: the law came out e^{−417 915} of what it is."""
    upper = 200_000
    law = record_law(GammaPoisson(1, 1, upper=upper))
    levels = np.arange(upper)
    inner = stats.poisson.logpmf(levels, theta) + tilt * levels
    top = max(inner.max(), tilt * upper if theta > upper else -np.inf)
    beyond = stats.poisson.sf(upper - 1, theta) * np.exp(min(tilt * upper - top, 0))
    whole = top + np.log(np.exp(inner - top).sum() + beyond)
    found = law.log_mgf(np.array([[tilt + 0j]]), np.array([theta]))[0, 0].real
    np.testing.assert_allclose(found, whole, rtol=1e-9)


def test_an_empty_table_is_told_from_one_of_records_far_out_where_n_is_private():
    """As θ → 0 records are so far out that only n = 0 is left: under one integral that was 5 nats off."""
    model = GammaExponential(0.129, 545, upper=1467, grid=8)
    noisy, scale = np.array([31614.6, 29314.3]), 22945.2
    release = NoisyStatistic(
        model, tuple(noisy), None, joint=True, noise="gaussian", scale=scale, guarantee=None, seeded=True
    )
    found = Likelihood.of(release, model).log(noisy[None], np.array([1e-12, 1e-10, 1.5e-9, 2e-8]))[0]
    exact = stats.norm(0, scale).logpdf(noisy).sum()
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-4)


def test_narrow_noise_on_a_table_that_the_prior_contradicts():
    """26 records of 3 where some 45 000 are expected; n summed together, tilts left the range of doubles."""
    model = GammaPoisson(3756.87, 0.084, upper=3)
    release = NoisyStatistic(
        model, (78.0015, -0.0012), None, joint=True, noise="laplace", scale=9e-4, guarantee=None, seeded=True
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        posterior = read(release, model)
    exact = stats.gamma(3756.87 + 78, scale=1 / (0.084 + 26))
    np.testing.assert_allclose(posterior.cdf(exact.ppf(BELOW)), BELOW, atol=0.002)


@pytest.fixture(scope="module")
def of_users():
    """A family that a user wrote: no law in closed form, its levels are added up."""
    path = Path(__file__).parents[2] / "docs/examples/beta_negative_binomial.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module.BetaNegativeBinomial
    del sys.modules[spec.name]


FARTHER = "records may lie farther out"


def test_a_family_of_the_user_s_own_is_followed_as_far_as_noise_hides_records(of_users):
    """Ended at 32 widths its posterior was .77 off in rank, and said nothing."""
    alpha, beta, n, scale = 2.5, 450, 3, 60.0
    posterior = read_at(of_users(alpha, beta, successes=3, upper=2), -5.0, n, scale)
    theta = np.geomspace(1e-9, 1 - 1e-12, 200_001)
    log = (alpha - 1) * np.log(theta) + (beta - 1) * np.log1p(-theta)
    log += 3 * n * (np.log(theta) - np.log(-np.expm1(-1 / scale) + theta * np.exp(-1 / scale)))
    np.testing.assert_allclose(posterior.cdf(quantiles(theta, log)), BELOW, atol=0.002)
    assert not any(FARTHER in said for said in posterior.cautions)


def test_where_levels_are_too_many_to_follow_it_is_said(of_users, monkeypatch):
    """The same, ended where it was before."""
    monkeypatch.setattr(far_ends, "EACH", 64)
    posterior = read_at(of_users(2.5, 450, successes=3, upper=2), -5.0, 3, 60.0)
    assert any(FARTHER in said for said in posterior.cautions)


def test_a_family_in_closed_form_says_nothing_of_the_kind():
    for model in (GammaPoisson(2, 1, upper=20), BetaGeometric(1, 30, upper=1)):
        assert not any(FARTHER in said for said in read_at(model, -5.0, 20, 60.0).cautions)
