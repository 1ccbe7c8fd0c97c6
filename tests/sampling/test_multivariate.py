"""Joint laws of location and spread. Error rates as in test_laws."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.sampling import exact
from discreet.sampling.source import SeededSource

LEVEL = 1e-6
SCALE = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.25], [0.0, -0.25, 3.0]])


@pytest.mark.parametrize("shape", [3, 0.4])
def test_normal_inverse_gamma(path, shape):
    mean, variance = exact.normal_inverse_gamma(SeededSource(1), 1, 2, shape, 4, path, 2.0**-20)
    off = 1.05 if path > 10_000 else 1.4
    assert stats.kstest(variance, stats.invgamma(shape, scale=4).cdf).pvalue > LEVEL
    assert stats.kstest(variance * off**2, stats.invgamma(shape, scale=4).cdf).pvalue < LEVEL
    marginal = stats.t(2 * shape, 1, (4 / (2 * shape)) ** 0.5)
    assert stats.kstest(mean, marginal.cdf).pvalue > LEVEL
    z = (mean - 1) / np.sqrt(variance / 2)
    assert stats.kstest(z, stats.norm.cdf).pvalue > LEVEL
    assert stats.kstest(z * off**2, stats.norm.cdf).pvalue < LEVEL
    assert stats.spearmanr(np.abs(z), variance).pvalue > LEVEL
    assert stats.spearmanr(np.abs(mean - 1), variance).pvalue < LEVEL


def test_regression(path):
    precision = np.array([[2.0, 0.5], [0.5, 1.0]])
    beta, variance = exact.regression(SeededSource(2), [1, -1], precision, 3, 2, path, 2.0**-20)
    white = (beta - [1, -1]) @ np.linalg.cholesky(precision) / np.sqrt(variance)[:, None]
    for column in white.T:
        assert stats.kstest(column, stats.norm.cdf).pvalue > LEVEL
        assert stats.kstest(column * (1.05 if path > 10_000 else 1.5), stats.norm.cdf).pvalue < LEVEL
    assert stats.pearsonr(*white.T).pvalue > LEVEL
    assert stats.pearsonr(*beta.T).pvalue < LEVEL


def test_inverse_wishart():
    """Σ_ii ~ InvGamma((ν − d + 1)/2, Ψ_ii/2); its inverse's mean is νΨ⁻¹ (z < 5 in each entry)"""
    draws = exact.inverse_wishart(SeededSource(3), Fraction(13, 2), SCALE, 3000)
    for i in range(3):
        law = stats.invgamma((6.5 - 2) / 2, scale=SCALE[i, i] / 2)
        assert stats.kstest(draws[:, i, i], law.cdf).pvalue > LEVEL
        assert stats.kstest(1.3 * draws[:, i, i], law.cdf).pvalue < LEVEL
    inverse = np.linalg.inv(draws)
    error = inverse.std(axis=0) / np.sqrt(3000)
    assert np.all(np.abs(inverse.mean(axis=0) - 6.5 * np.linalg.inv(SCALE)) < 5 * error)
    assert np.any(np.abs(inverse.mean(axis=0) - 5.5 * np.linalg.inv(SCALE)) > 5 * error)
    assert np.array_equal(draws, np.swapaxes(draws, 1, 2))


def test_normal_inverse_wishart():
    mean, spread = exact.normal_inverse_wishart(SeededSource(4), [0, 1, 2], 2, 7, SCALE, 3000, 2.0**-20)
    white = np.linalg.solve(np.linalg.cholesky(spread), (mean - [0, 1, 2])[..., None])[..., 0] * 2**0.5
    for column in white.T:
        assert stats.kstest(column, stats.norm.cdf).pvalue > LEVEL
        assert stats.kstest(1.3 * column, stats.norm.cdf).pvalue < LEVEL
    marginal = stats.t(5, 1, (SCALE[1, 1] / (2 * 5)) ** 0.5)
    assert stats.kstest(mean[:, 1], marginal.cdf).pvalue > LEVEL


def test_covariances_lie_on_the_stated_grid():
    draws = exact.inverse_wishart(SeededSource(5), 5, SCALE, 50, bits=20)
    variances = np.diagonal(draws, axis1=1, axis2=2)
    mantissa, exponent = np.frexp(variances)
    assert np.all(np.mod(mantissa * 2**20, 1) == 0)
    unit = (exponent[:, 0] + exponent[:, 1]) // 2 - 20
    assert np.all(np.mod(np.ldexp(draws[:, 0, 1], -unit), 1) == 0)
