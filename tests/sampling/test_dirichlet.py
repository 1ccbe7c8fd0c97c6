"""Dirichlet draws: marginals, joint rounding, tiny shapes, long vectors. Error rates as in test_laws."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.sampling import bounded_simplex, exact
from discreet.sampling.source import SeededSource, Tape

LEVEL = 1e-6


def test_marginals_and_pair_sums(path):
    alpha = np.array([0.5, 2.0, 3.5])
    theta = exact.dirichlet(SeededSource(1), alpha, path)
    for i, a in enumerate(alpha):
        law = stats.beta(a, 6 - a)
        assert stats.kstest(theta[:, i], law.cdf).pvalue > LEVEL
        wrong = stats.beta(a * (1.1 if path > 10_000 else 1.6), 6 - a)
        assert stats.kstest(theta[:, i], wrong.cdf).pvalue < LEVEL
    # aggregation: θ₀ + θ₁ ~ Beta(2.5, 3.5), and θ₀/(θ₀ + θ₁) ~ Beta(0.5, 2) independent of it
    pair = theta[:, 0] + theta[:, 1]
    share = theta[:, 0] / pair
    assert stats.kstest(pair, stats.beta(2.5, 3.5).cdf).pvalue > LEVEL
    assert stats.kstest(share, stats.beta(0.5, 2).cdf).pvalue > LEVEL
    assert stats.spearmanr(share, pair).pvalue > LEVEL
    assert stats.spearmanr(theta[:, 0], theta[:, 1]).pvalue < LEVEL  # control: these do depend


def test_sums_to_one_within_half_a_cell_each(path):
    theta = exact.dirichlet(SeededSource(2), np.full(17, 0.7), path // 17, bits=24)
    assert np.abs(theta.sum(axis=1) - 1).max() <= 17 * 2.0**-25
    assert np.all(np.mod(theta * 2.0**24, 1) == 0)
    assert np.any(theta.sum(axis=1) != 1)  # nobody repaired the sum: that would not be rounding


@pytest.mark.parametrize("a", [0.01, 1e-3])
def test_tiny_shapes_fall_into_cell_zero(path, a):
    """P(cell 0), P(cell 2^32) and the middle of Beta(a, 2a), whose edges are half a cell in"""
    theta = exact.dirichlet(SeededSource(3), np.full(3, a), path)[:, 0]
    cuts = [2.0**-33, 0.01, 0.99, 1 - 2.0**-33]
    seen = np.bincount(np.digitize(theta, cuts), minlength=5)
    inner = stats.beta(a, 2 * a).cdf(cuts)
    tail = stats.beta(2 * a, a).cdf(2.0**-33)
    share = np.array([inner[0], inner[1] - inner[0], inner[2] - inner[1], 1 - tail - inner[2], tail])
    wrong = share[::-1]
    assert stats.chisquare(seen, share * theta.size).pvalue > LEVEL
    assert stats.chisquare(seen, wrong * theta.size).pvalue < LEVEL


def test_a_million_coordinates():
    alpha = np.full(10**6, 0.5)
    theta = exact.dirichlet(SeededSource(4), alpha, 1, bits=40)[0]
    assert abs(theta.sum() - 1) < 10**6 * 2.0**-41
    # N·θ_i is nearly Gamma(½)/½: KS on a million points, acceptance 1e-6
    assert stats.kstest(theta * 5e5, stats.gamma(0.5).cdf).pvalue > LEVEL
    assert stats.kstest(theta * 5.1e5, stats.gamma(0.5).cdf).pvalue < LEVEL


def test_exact_rationals_and_doubles_agree_on_the_same_words():
    floats = exact.dirichlet(SeededSource(5), np.array([0.5, 1.25, 3.0]), 500)
    rationals = exact.dirichlet(SeededSource(5), [Fraction(1, 2), Fraction(5, 4), 3], 500)
    assert np.array_equal(floats, rationals)


def test_shapes_that_no_double_holds(path):
    third = Fraction(1, 3)
    theta = exact.dirichlet(SeededSource(6), np.array([third, 2 * third], dtype=object), path)[:, 0]
    share = np.diff(stats.beta(1 / 3, 2 / 3).cdf([0, 2.0**-33, 0.01, 0.1, 0.3, 0.7, 1]))
    seen = np.histogram(theta, [0, 2.0**-33, 0.01, 0.1, 0.3, 0.7, 1])[0]
    assert stats.chisquare(seen, share * theta.size).pvalue > LEVEL
    assert stats.chisquare(seen, np.roll(share, 1) * theta.size).pvalue < LEVEL


@pytest.mark.parametrize(
    ("alpha", "lower"),
    [
        (
            [1.0, 3.0, 100.0],
            0.05,
        ),  # two coordinates lie mostly below: P(acceptance) by plain rejection is 1e-9
        ([5.0, 6.0, 7.0, 8.0], 0.15),
        ([0.5, 0.5, 3.0, 200.0], 0.01),
        ([0.2, 0.3, 0.4], 0.1),
    ],
)
def test_truncated_dirichlet_mean(path, alpha, lower):
    """E θ against numerical integration of the density over the truncated simplex (z < 5: error rate 6e-7)"""
    size = min(path, 20_000 if path > 10_000 else 400)
    theta = exact.truncated_dirichlet(SeededSource(7), np.array(alpha), lower, size)
    assert theta.min() >= lower
    mean = truncated_mean(alpha, lower)
    error = theta.std(axis=0) / np.sqrt(size)
    assert np.all(np.abs(theta.mean(axis=0) - mean) < 5 * error)
    plain = np.array(alpha) / sum(alpha)
    assert np.any(np.abs(theta.mean(axis=0) - plain) > 5 * error)  # control: truncation matters


@pytest.mark.parametrize(
    ("alpha", "lower", "size"),
    [
        ([1.0] * 10, 0.09, 300),  # a billionth of the simplex: uniform proposals
        ([12.0] * 30 + [300.0], 0.02, 30),  # thirty coordinates straddle the bound: independent gammas
        ([0.1] * 5, 0.15, 100),
    ],
)
def test_bounds_that_leave_little_room(alpha, lower, size):
    """Plain rejection would not end; the mean is right (z < 5)"""
    theta = exact.truncated_dirichlet(SeededSource(9), np.array(alpha), lower, size)
    assert theta.min() >= lower
    error = theta.std(axis=0) / np.sqrt(size)
    assert np.all(np.abs(theta.mean(axis=0) - truncated_mean(alpha, lower)) < 5 * error)


@pytest.mark.parametrize(
    ("alpha", "lower"), [([5, 6, 7, 8], 0.15), ([0.5, 2, 3, 0.3], 0.1), ([1, 3, 9], 0.05)]
)
def test_three_proposals_one_law(alpha, lower):
    """Which proposal is chosen affects running time only: two-sample KS on every coordinate"""
    shapes, least = [Fraction(a) for a in alpha], Fraction(lower)
    spread = bounded_simplex.independent(shapes, least)
    level = bounded_simplex.flat(shapes, least)
    tape = Tape(SeededSource(10))
    kernels = exact.truncated_dirichlet(SeededSource(11), alpha, lower, 5000)
    for draws in (
        [bounded_simplex.from_independent(tape, spread) for _ in range(300)],
        [bounded_simplex.from_flat(tape, level) for _ in range(300)],
    ):
        theta = np.array([[float(x()) for x in draw] for draw in draws])
        for mine, theirs in zip(theta.T, kernels.T, strict=True):
            assert stats.ks_2samp(mine, theirs).pvalue > LEVEL
            assert stats.ks_2samp(mine + 0.6 * theirs.std(), theirs).pvalue < LEVEL


def truncated_mean(alpha, lower):
    """Convolution of the coordinates' densities on a lattice of the truncated simplex"""
    cells = 4000
    grid = lower + (1 - len(alpha) * lower) * (np.arange(cells) + 0.5) / cells
    peak = [np.exp((a - 1) * np.log(grid) - ((a - 1) * np.log(grid)).max()) for a in alpha]
    means = []
    for i in range(len(alpha)):
        rest = np.array([1.0])
        for j, p in enumerate(peak):
            if j != i:
                rest = np.convolve(rest, p)[:cells] if rest.size > 1 else p
                rest /= rest.max()
        weight = peak[i] * rest[::-1]
        means.append(np.sum(grid * weight) / weight.sum())
    return np.array(means) / sum(means)


def test_two_categories_are_a_truncated_beta(path):
    size = min(path, 20_000)
    theta = exact.truncated_dirichlet(SeededSource(8), [1, 30], 0.1, size)
    law = stats.beta(1, 30)
    low, high = law.cdf(0.1), law.cdf(0.9)
    assert stats.kstest(theta[:, 0], lambda x: (law.cdf(x) - low) / (high - low)).pvalue > LEVEL
    assert np.abs(theta.sum(axis=1) - 1).max() <= 2.0**-31
