"""Every continuous law on every path, by Kolmogorov–Smirnov, with a wrong claim that must be rejected.

Error rate: each acceptance fails a right sampler with probability 1e-6; seeds are fixed. The wrong claims are
far enough off that a right sampler's draws are rejected at 1e-6 with the sizes of conftest.PATHS.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.sampling import exact, reference
from discreet.sampling.source import SeededSource
from discreet.sampling.truncated import Window

LEVEL = 1e-6


def ks(draws, law):
    return stats.kstest(draws, law.cdf if hasattr(law, "cdf") else law).pvalue


def between(law, lower, upper):
    low, high = law.cdf(lower), law.cdf(upper)
    return lambda x: (law.cdf(x) - low) / (high - low)


@pytest.mark.parametrize(
    ("a", "b"), [(6, 12), (Fraction(1, 3), Fraction(7, 3)), (1, 1), (400, 3), (2000, 3000)]
)
def test_beta(path, a, b):
    draws = exact.beta(SeededSource(1), a, b, path)
    law = stats.beta(float(a), float(b))
    off = law.std() * (0.05 if path > 10_000 else 0.3)
    assert ks(draws, law) > LEVEL
    assert ks(draws + off, law) < LEVEL


@pytest.mark.parametrize("shape", [0.3, 1, Fraction(7, 3), 50, 10**5, 1e9])
def test_gamma(path, shape):
    draws = exact.gamma(SeededSource(2), shape, path, rate=3)
    law = stats.gamma(float(shape), scale=1 / 3)
    off = law.std() * (0.05 if path > 10_000 else 0.3)
    assert ks(draws, law) > LEVEL
    assert ks(draws + off, law) < LEVEL


@pytest.mark.parametrize("shape", [0.01, 1e-3])
def test_gamma_of_tiny_shape(path, shape):
    """ln G is far below what doubles reach; U^(1/a) dominates, so a·ln G is nearly −Exponential(1)"""
    draws = exact.gamma(SeededSource(3), shape, path)
    cuts = np.array([0, 2.0**-1000, 1e-200, 1e-100, 1e-50, 1e-20, 1e-5, 1e-2, 1.0, np.inf])
    seen = np.histogram(draws, cuts)[0]
    share = np.diff(stats.gamma(shape).cdf(cuts))
    wrong = np.diff(stats.gamma(shape * (1.1 if path > 10_000 else 2)).cdf(cuts))
    assert stats.chisquare(seen, share / share.sum() * path).pvalue > LEVEL
    assert stats.chisquare(seen, wrong / wrong.sum() * path).pvalue < LEVEL


def test_normal(path):
    draws = exact.normal(SeededSource(4), Fraction(10, 3), Fraction(1, 10), path, Fraction(1, 2**24))
    law = stats.norm(10 / 3, 0.1**0.5)
    assert ks(draws, law) > LEVEL
    assert ks(draws + (0.01 if path > 10_000 else 0.1), law) < LEVEL
    assert np.all(np.mod(draws * 2**24, 1) == 0)


def test_normal_far_from_the_origin(path):
    """The mean's integer part never enters a float: 2^60 cells from 0 the draws are as fine as at 0"""
    draws = exact.normal(SeededSource(5), 2**30, 1, path, Fraction(1, 2**22))
    assert ks(draws - 2**30, stats.norm()) > LEVEL
    assert ks(draws - 2**30 + (0.05 if path > 10_000 else 0.3), stats.norm()) < LEVEL


@pytest.mark.parametrize(
    ("a", "b", "lower", "upper"),
    [
        (6, 12, 0.1, 0.9),  # most of the Beta is inside: rejection from it
        (1, 101, 0.1, 0.9),  # e^-10.6 of it: exponential line from the lower edge
        (101, 1, 0.1, 0.9),
        (500, 500, 0.499, 0.5001),  # a sliver around the mode: uniform
        (0.5, 0.3, 0.1, 0.2),  # convex: chords
        (0.5, 30, 0.3, 0.6),
        (30, 0.5, 0.3, 0.6),
        (30, 60, 0.6, 1),
    ],
)
def test_truncated_beta(path, a, b, lower, upper):
    draws = exact.truncated_beta(SeededSource(6), a, b, lower, upper, path)
    law = between(stats.beta(a, b), lower, upper)
    off = np.std(draws) * (0.05 if path > 10_000 else 0.3)
    assert ks(draws, law) > LEVEL
    assert ks(draws + off, law) < LEVEL
    assert draws.min() >= lower
    assert draws.max() <= upper


def test_certified_inversion_has_the_same_laws():
    """The reference shares no algorithm with the rejection samplers: two-sample tests, 4000 draws a side."""
    n, source = 4000, SeededSource(7)
    window = Window(Fraction(3), Fraction(8), Fraction(1, 10), Fraction(3, 10))
    pairs = [
        (reference.beta(source, Fraction(6), Fraction(12), n, 32), exact.beta(source, 6, 12, n)),
        (reference.truncated_beta(source, window, n, 32), exact.truncated_beta(source, 3, 8, 0.1, 0.3, n)),
        (reference.gamma(source, Fraction(5, 2), n, Fraction(3)), exact.gamma(source, 2.5, n, 3)),
        (reference.gamma(source, Fraction(1, 20), n, Fraction(1)), exact.gamma(source, Fraction(1, 20), n)),
        (
            np.array(reference.normal(source, Fraction(7), Fraction(10**6), n)),
            exact.normal(source, 7, 10**6, n, 1),
        ),
    ]
    for one, other in pairs:
        assert stats.ks_2samp(one, other).pvalue > LEVEL
        assert stats.ks_2samp(one, other + 0.3 * np.std(other)).pvalue < LEVEL


def test_reference_of_large_parameters():
    """The traps of arb: gamma_lower at large shapes, beta_lower with a ≫ b (40 draws, a coarse check)"""
    source = SeededSource(8)
    assert ks(reference.gamma(source, Fraction(10**6), 40, Fraction(1)), stats.gamma(1e6)) > LEVEL
    draws = reference.beta(source, Fraction(10**5), Fraction(3), 40, 40)
    assert ks(draws, stats.beta(1e5, 3)) > LEVEL
    assert ks(draws - 2e-4, stats.beta(1e5, 3)) < LEVEL
