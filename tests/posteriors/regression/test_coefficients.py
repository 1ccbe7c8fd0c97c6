"""Weights of a released regression: intervals, samples, predictions averaged over the posterior."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from discreet.models.generalized_linear import BayesianLogisticRegression, Feature
from discreet.posteriors.read import Draws, OnlyDraws
from discreet.posteriors.regression.coefficients import CoefficientDraws, NormalCoefficients
from discreet.sampling.source import SeededSource

MODEL = BayesianLogisticRegression("y", ("a", "b"), norm=1).bind((Feature("a"), Feature("b")))
LOCATION = np.array([1.0, -2.0, 0.5])
COVARIANCE = np.array([[0.5, 0.1, 0.0], [0.1, 0.3, -0.2], [0.0, -0.2, 4.0]])


@pytest.fixture
def normal():
    return NormalCoefficients(MODEL, LOCATION, COVARIANCE)


HALF = np.array([1, 1, 0.5])  # the constant is norm/2, and the intercept what the margin is where x is 0


def test_intervals_are_the_normal_ones(normal):
    deviation = np.sqrt(np.diag(COVARIANCE))
    expected = np.transpose(norm.interval(0.9, LOCATION, deviation))
    np.testing.assert_allclose(normal.encoded_interval(0.9), expected, rtol=1e-12)
    np.testing.assert_allclose(normal.interval(0.9), HALF[:, None] * expected, rtol=1e-12)
    assert normal.names == ("a", "b", "(intercept)")


def test_samples_have_the_moments_and_follow_the_source(normal):
    draws = normal.sample(40_000, SeededSource(1)).values
    # 5 standard errors of the largest variance, 4·√(2/40000); nine numbers: error rate < 1e-5
    np.testing.assert_allclose(
        np.cov(draws.T), COVARIANCE * np.outer(HALF, HALF), atol=5 * 4 * np.sqrt(2 / 40_000)
    )
    np.testing.assert_allclose(draws.mean(axis=0), HALF * LOCATION, atol=5 * 2 / 200)
    assert not np.allclose(
        np.cov(draws.T), 1.2 * COVARIANCE * np.outer(HALF, HALF), atol=5 * 4 * np.sqrt(2 / 40_000)
    )
    assert np.array_equal(normal.sample(3, SeededSource(1)), normal.sample(3, SeededSource(1)))


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_probability_is_the_average_over_the_posterior(scale):
    normal = NormalCoefficients(MODEL, LOCATION, scale * COVARIANCE)
    features = np.array([[0.25, 0.5], [-0.5, 0.0]])
    for x, got in zip(np.c_[features, [0.5, 0.5]], normal.probability(features), strict=True):
        m, s = x @ LOCATION, np.sqrt(x @ (scale * COVARIANCE) @ x)
        wanted, _ = quad(lambda u, m=m, s=s: expit(m + s * u) * norm.pdf(u), -9, 9, limit=200)
        assert got == pytest.approx(wanted, abs=1e-5)


def test_probabilities_stay_within_zero_and_one():
    certain = NormalCoefficients(MODEL, np.full(MODEL.dimension, 1e4), np.eye(MODEL.dimension) * 1e-12)
    found = certain.probability(np.random.default_rng(0).normal(size=(500, len(MODEL.design))))
    assert found.min() >= 0
    assert found.max() <= 1


def test_long_rows_are_scaled_as_the_private_ones_were(normal):
    far, near = normal.probability([[30.0, 40.0]]), normal.probability([[0.6, 0.8]])
    assert far == pytest.approx(near, abs=1e-5)
    assert normal.probability(np.empty((0, 2))).shape == (0,)


def test_draws_predict_and_refuse_what_was_not_released():
    weights = np.array([[1.0, -2.0, 0.5], [0.0, 1.0, -0.5]])
    drawn = CoefficientDraws(Draws.of(MODEL, weights, several=True))
    assert np.array_equal(drawn.mean(), [0.5, -0.5, 0.0])
    assert drawn.probability([[0.5, 0.0]]) == pytest.approx([(expit(0.75) + expit(-0.25)) / 2], abs=1e-6)
    for ask in (drawn.variance, lambda: drawn.interval(0.9), lambda: drawn.sample(3)):
        with pytest.raises(OnlyDraws, match="objective_perturbation"):
            ask()


def test_what_is_no_posterior_is_refused():
    with pytest.raises(ValueError, match="finite"):
        NormalCoefficients(MODEL, LOCATION * np.nan, COVARIANCE)


def test_weights_and_intercept_are_in_units_of_the_columns():
    """Age in [20, 80], a level and no constant but norm/2: by differences of margins at raw values."""
    design = (Feature("age", 50, 30), Feature("ward", level="B"))
    model = BayesianLogisticRegression("y", ("age", "ward"), norm=3).bind(design)
    normal = NormalCoefficients(model, LOCATION, COVARIANCE)
    assert normal.names == ("age", "ward = B", "(intercept)")

    def margin(age, ward):
        return np.array([(age - 50) / 30, ward, 1.5])

    rows = margin(51, 0) - margin(50, 0), margin(50, 1) - margin(50, 0), margin(0, 0)
    np.testing.assert_allclose(normal.mean(), [row @ LOCATION for row in rows], rtol=1e-12)
    np.testing.assert_allclose(normal.variance(), [row @ COVARIANCE @ row for row in rows], rtol=1e-12)
    draws = normal.sample(40_000, SeededSource(2)).values
    # 5 standard errors each
    error = 5 * np.sqrt(normal.flat_variance() / 40_000)
    assert (abs(draws.mean(axis=0) - normal.flat_mean()) < error).all()
    released = CoefficientDraws(Draws.of(model, [LOCATION.tolist()], several=True))
    np.testing.assert_allclose(released.mean(), normal.mean(), rtol=1e-12)
    np.testing.assert_allclose(released.held[0], normal.mean(), rtol=1e-12)
    probability = released.probability_of({"age": [65.0], "ward": ["B"]})
    assert probability[0] == pytest.approx(expit(margin(65, 1) @ LOCATION), abs=1e-5)
