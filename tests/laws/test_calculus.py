"""Laws of the exponential family: ∇C = E T, ∇²C = Cov T, density = exp(T·η − C)·base. All deterministic."""

from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, logit

from discreet.families import BetaBernoulli, GammaPoisson, NormalMean
from discreet.families.registry import EXAMPLES

POSTERIORS = [prior.update(prior.statistic(data), len(data), weight=0.5) for prior, data in EXAMPLES]
MEMBERS = [prior for prior, _ in EXAMPLES] + POSTERIORS
SCALAR = [m for m in MEMBERS if np.ndim(m.mean()) == 0]
members = pytest.mark.parametrize("member", MEMBERS, ids=lambda m: m.name)
scalars = pytest.mark.parametrize("member", SCALAR, ids=lambda m: m.name)


def _derivative(function, eta):
    """Five-point stencil: truncation h⁴/30·f⁽⁵⁾ ~ 1e-12, rounding ~ 1e-16/h ~ 1e-13 of the values here."""
    columns = []
    for i in range(eta.size):
        h = 2e-3 * max(abs(eta[i]), 0.25)
        step = np.zeros(eta.size)
        step[i] = h
        values = [np.asarray(function(eta + k * step)) for k in (-2, -1, 1, 2)]
        columns.append((values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h))
    return np.stack(columns)


@members
def test_gradient_of_the_log_partition_is_the_mean_of_T(member):
    gradient = _derivative(lambda eta: member.from_natural(eta).log_partition(), member.natural)
    np.testing.assert_allclose(gradient, member.mean_sufficient(), rtol=1e-7, atol=1e-8)


@members
def test_hessian_of_the_log_partition_is_the_covariance_of_T(member):
    hessian = _derivative(lambda eta: member.from_natural(eta).mean_sufficient(), member.natural)
    covariance = member.covariance_sufficient()
    np.testing.assert_allclose(hessian, covariance, rtol=1e-7, atol=1e-8 * np.abs(covariance).max())
    assert np.linalg.eigvalsh(covariance)[0] > 0  # η is minimal


@members
def test_round_trip_through_the_natural_parameters(member):
    again = member.from_natural(member.natural)
    np.testing.assert_allclose(again.natural, member.natural, rtol=1e-15)
    np.testing.assert_allclose(again.log_partition(), member.log_partition(), rtol=1e-12)
    assert type(again) is type(member)
    assert again.units.tolist() == member.units.tolist()


def _thetas(member):
    """A few interior parameters, deterministic: the mean, and points of the interval."""
    low, high = np.moveaxis(member.interval(0.5), -1, 0)
    points = np.stack([low, (low + high) / 2, high])
    if member.name.startswith("dirichlet"):
        points /= points.sum(axis=-1, keepdims=True)
    return points


@members
def test_density_is_the_exponential_family(member):
    theta = _thetas(member)
    expected = member.sufficient(theta) @ member.natural - member.log_partition() + member.log_base(theta)
    np.testing.assert_allclose(member.log_density(theta), expected, rtol=1e-9)


@members
def test_base_measure_is_free_of_the_hyper_parameters(member):
    other = member.scale_prior(3)
    theta = _thetas(member)
    np.testing.assert_array_equal(other.log_base(theta), member.log_base(theta))
    np.testing.assert_allclose(other.sufficient(theta), member.sufficient(theta), rtol=1e-12)


@members
def test_scaling_the_prior_multiplies_the_natural_parameters(member):
    np.testing.assert_allclose(member.scale_prior(2.5).natural, 2.5 * member.natural, rtol=1e-14)
    assert member.scale_prior(4).scale_prior(0.25) == member


def _expectation(member, function):
    """∫ f(θ) p(θ) dθ by quadrature, split at the quartiles; a probability in its logit, with tame ends."""
    if member.name.startswith("beta"):
        cuts = np.concatenate([[-60], logit(member.interval(0.5)), [35]])
        density = lambda s: np.exp(member.log_density(expit(s))) * expit(s) * expit(-s)  # noqa: E731
        weighted = lambda s: function(expit(s)) * density(s)  # noqa: E731
    else:
        far = member.interval(1 - 2e-15)
        cuts = np.concatenate([far[:1], member.interval(0.5), far[1:]])
        weighted = lambda t: function(t) * np.exp(member.log_density(t))  # noqa: E731
    return sum(quad(weighted, a, b, epsabs=1e-12, epsrel=1e-11, limit=400)[0] for a, b in pairwise(cuts))


@scalars
def test_quadrature_agrees_in_one_dimension(member):
    """Independent of C: E 1, E T, Cov T, mean and variance by integrating the density."""
    assert _expectation(member, lambda _: 1.0) == pytest.approx(1, abs=1e-9)
    mean = np.array([_expectation(member, lambda t, i=i: member.sufficient(t)[i]) for i in range(2)])
    np.testing.assert_allclose(mean, member.mean_sufficient(), rtol=1e-7, atol=1e-8)
    second = [
        _expectation(
            member,
            lambda t, i=i, j=j: (member.sufficient(t)[i] - mean[i]) * (member.sufficient(t)[j] - mean[j]),
        )
        for i, j in ((0, 0), (0, 1), (1, 1))
    ]
    covariance = member.covariance_sufficient()
    np.testing.assert_allclose(second, covariance[[0, 0, 1], [0, 1, 1]], rtol=1e-6, atol=1e-8)
    assert _expectation(member, lambda t: t) == pytest.approx(member.mean(), rel=1e-9)
    spread = _expectation(member, lambda t: (t - member.mean()) ** 2)
    assert spread == pytest.approx(member.variance(), rel=1e-8)


def test_high_precision_derivatives():
    """mpmath at 40 digits, from the formulas of C alone."""
    mpmath.mp.dps = 40
    forms = [
        (BetaBernoulli(6, 12), lambda a, t: mpmath.loggamma(a) + mpmath.loggamma(t - a) - mpmath.loggamma(t)),
        (GammaPoisson(3.5, 1.25, 9), lambda s, t: mpmath.loggamma(s) - s * mpmath.log(t)),
        (
            NormalMean(0.5, 2, 2.25, -4, 6),
            lambda u, k: (
                u**2 / (2 * mpmath.mpf(2.25) * k) + mpmath.log(2 * mpmath.pi * mpmath.mpf(2.25) / k) / 2
            ),
        ),
    ]
    for member, C in forms:
        at = tuple(member.natural)
        assert member.log_partition() == pytest.approx(float(C(*map(mpmath.mpf, at))), rel=1e-14)
        gradient = [float(mpmath.diff(C, at, n)) for n in ((1, 0), (0, 1))]
        hessian = [float(mpmath.diff(C, at, n)) for n in ((2, 0), (1, 1), (0, 2))]
        np.testing.assert_allclose(member.mean_sufficient(), gradient, rtol=1e-13)
        np.testing.assert_allclose(member.covariance_sufficient()[[0, 0, 1], [0, 1, 1]], hessian, rtol=1e-12)


def test_a_wrong_partition_function_would_be_caught():
    """Negative control: C without its last term has another gradient."""
    member = BetaBernoulli(6, 12)
    wrong = _derivative(
        lambda eta: member.from_natural(eta).log_partition() + 1e-4 * eta[0] ** 2, member.natural
    )
    assert np.abs(wrong - member.mean_sufficient()).max() > 1e-4
