"""Integer laws against exact probabilities (χ², acceptance 1e-6, wrong claims rejected) and OpenDP."""

from fractions import Fraction
from math import inf, log

import numpy as np
import pytest
from scipy import stats

from discreet.sampling import exact
from discreet.sampling.source import SeededSource

LEVEL = 1e-6


def chi_square(draws, weight, reach):
    """P-value of the draws against P(x) ∝ weight(x) on |x| ≤ reach, tails pooled"""
    x = np.arange(-40 * reach, 40 * reach + 1)
    share = weight(x)
    share = share / share.sum()
    pooled = np.bincount(np.clip(x, -reach, reach) + reach, share)
    seen = np.bincount(np.clip(draws, -reach, reach) + reach, minlength=pooled.size)
    return stats.chisquare(seen, pooled * draws.size).pvalue


@pytest.mark.parametrize("scale", [0.4, 1, Fraction(10, 3), 12])
def test_discrete_laplace(path, scale):
    draws = exact.discrete_laplace(SeededSource(1), scale, path)
    reach = max(2, int(2 * scale))
    s, off = float(scale), 1.05 if path > 10_000 else 1.5
    assert chi_square(draws, lambda x: np.exp(-np.abs(x) / s), reach) > LEVEL
    assert chi_square(draws, lambda x: np.exp(-np.abs(x) / (off * s)), reach) < LEVEL


@pytest.mark.parametrize("variance", [0.3, 1, Fraction(22, 7), 90])
def test_discrete_gaussian(path, variance):
    draws = exact.discrete_gaussian(SeededSource(2), variance, path)
    v, off = float(variance), 1.08 if path > 10_000 else 1.8
    reach = max(2, int(2 * v**0.5))
    assert chi_square(draws, lambda x: np.exp(-(x**2) / (2 * v)), reach) > LEVEL
    assert chi_square(draws, lambda x: np.exp(-(x**2) / (2 * off * v)), reach) < LEVEL


def test_largest_scales_fit_int64(path):
    """x/s is nearly Laplace(0, 1) resp. N(0, 1): KS, acceptance 1e-6"""
    one = exact.discrete_laplace(SeededSource(3), 10**12, path) / 1e12
    two = exact.discrete_gaussian(SeededSource(3), 10**24, path) / 1e12
    assert stats.kstest(one, stats.laplace.cdf).pvalue > LEVEL
    assert stats.kstest(two, stats.norm.cdf).pvalue > LEVEL
    assert stats.kstest(1.5 * one, stats.laplace.cdf).pvalue < LEVEL
    assert stats.kstest(1.5 * two, stats.norm.cdf).pvalue < LEVEL


def test_tiny_scales_are_zero():
    assert not exact.discrete_laplace(SeededSource(4), 1e-5, 1000).any()
    assert not exact.discrete_gaussian(SeededSource(4), 1e-5, 1000).any()


def test_bernoulli_laws():
    """Binomial tests on 10⁵ draws"""
    n = 10**5
    cases = [
        (exact.bernoulli(SeededSource(5), Fraction(1, 3), n), 1 / 3),
        (exact.bernoulli(SeededSource(5), 1e-3, n), 1e-3),
        (exact.bernoulli_exp(SeededSource(5), Fraction(1, 7), n), np.exp(-1 / 7)),
        (exact.bernoulli_exp(SeededSource(5), 3, n), np.exp(-3)),
    ]
    for draws, p in cases:
        assert stats.binomtest(int(draws.sum()), n, p).pvalue > LEVEL
        assert stats.binomtest(int(draws.sum()), n, p + 0.01).pvalue < LEVEL
    assert exact.bernoulli(SeededSource(5), 1, 9).all()
    assert not exact.bernoulli(SeededSource(5), 0, 9).any()
    assert exact.bernoulli_exp(SeededSource(5), 0, 9).all()
    assert not exact.bernoulli_exp(SeededSource(5), 10**6, 9).any()


@pytest.mark.parametrize("upper", [1, 2, 3, 7, 1000])
def test_uniform_integers(upper):
    draws = exact.uniform_integers(SeededSource(6), upper, 10**5)
    seen = np.bincount(draws, minlength=upper)
    assert seen.size == upper
    if upper > 1:
        assert stats.chisquare(seen).pvalue > LEVEL
        skewed = 1 + 0.2 * (np.arange(upper) < upper / 2)
        assert stats.chisquare(seen, skewed / skewed.sum() * 10**5).pvalue < LEVEL


def test_uniform_integers_of_the_whole_range():
    draws = exact.uniform_integers(SeededSource(6), 2**63, 10**5)
    assert stats.kstest(draws / 2.0**63, "uniform").pvalue > LEVEL
    assert draws.min() >= 0


def test_categorical():
    weights = [0.0, Fraction(1, 3), -2, -inf, log(5), -5000]
    draws = exact.categorical(SeededSource(7), weights, 10**5)
    share = np.exp(np.array([float(w) for w in weights]))
    keep = share > 1e-300
    seen = np.bincount(draws, minlength=6)
    assert not seen[~keep].any()
    assert stats.chisquare(seen[keep], share[keep] / share.sum() * 10**5).pvalue > LEVEL
    share[0] *= 1.1
    assert stats.chisquare(seen[keep], share[keep] / share.sum() * 10**5).pvalue < LEVEL


def test_categorical_ignores_a_common_offset():
    one = exact.categorical(SeededSource(8), [0, 1, 2], 1000)
    other = exact.categorical(SeededSource(8), [10**6, 10**6 + 1, 10**6 + 2], 1000)
    assert np.array_equal(one, other)


def test_categorical_of_many():
    weights = np.linspace(-3, 3, 2000)
    draws = exact.categorical(SeededSource(9), weights, 10**5)
    share = np.add.reduceat(np.exp(weights), np.arange(0, 2000, 100))
    seen = np.bincount(draws // 100, minlength=20)
    assert stats.chisquare(seen, share / share.sum() * 10**5).pvalue > LEVEL
    assert stats.chisquare(seen, share[::-1] / share.sum() * 10**5).pvalue < LEVEL


def test_opendp_draws_the_same_laws():
    """Two-sample χ² on 10⁴ draws a side; OpenDP cannot be seeded, so 2e-6 of all runs fail by chance"""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64"))
    zeros = [0] * 10_000
    theirs_laplace = np.array(dp.m.make_laplace(space, dp.l1_distance(T="i64"), scale=3.3)(zeros))
    theirs_gaussian = np.array(dp.m.make_gaussian(space, dp.l2_distance(T=float), scale=3.3)(zeros))
    laplace = exact.discrete_laplace(SeededSource(10), 3.3, 10_000)
    gaussian = exact.discrete_gaussian(SeededSource(10), Fraction(3.3) ** 2, 10_000)
    assert two_sample(laplace, theirs_laplace) > LEVEL
    assert two_sample(gaussian, theirs_gaussian) > LEVEL
    assert two_sample(laplace, theirs_gaussian) < LEVEL


def two_sample(one, other):
    tables = [np.bincount(np.clip(x, -8, 8) + 8, minlength=17) for x in (one, other)]
    return stats.chi2_contingency(np.array(tables)).pvalue
