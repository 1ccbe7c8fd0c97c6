"""Getting it right [Geweke 2004]: data drawn given the chain, the chain moved given the data, round again.

Then (θ, λ, z) must keep its prior law. Every |z-score| is held below 4.5 (7 statistics, two-sided: a false
alarm once in 2e4 runs of a test), with the variance of means from 50 batches; a broken twin must exceed 6.
"""

import numpy as np
import pytest

from discreet.models.hidden_markov import HiddenMarkov
from discreet.posteriors.hidden_markov.chain import CountEmissions, StateChain
from discreet.posteriors.hidden_markov.noisy_counts import SIZE_SHAPE, NoisyData, NoisyEmissions
from discreet.posteriors.noise_law import NoiseLaw

MODEL = HiddenMarkov(
    states=2, chain="r", step="t", features=("a", "b"), transition=0.8, emission=0.7, sizes=(2, 3, 3, 2)
)
CELLS, OFFSETS = 6, (0, 3, 5)
LAW, MEAN, LEAST_Y = NoiseLaw("discrete_laplace", 1.5), 3.0, -60


SIZE_PRIOR = (3.0, 8.0)  # of 1/mean where n is private: a mean of 4 records a cell


def prior(rng, *, private=False):
    """(z, θ, λ, mean) from the prior"""
    rows = rng.dirichlet(np.full(2, 0.8), 3)
    z = np.zeros(CELLS, dtype=np.int64)
    for c in range(CELLS):
        z[c] = rng.random() < rows[2 if c % 3 == 0 else z[c - 1], 1]
    theta = np.concatenate([rng.dirichlet(np.full(k, 0.7), 2) for k in (3, 2)], axis=1)
    mean = SIZE_PRIOR[1] / rng.gamma(SIZE_PRIOR[0]) if private else MEAN
    return z, theta, rng.gamma(SIZE_SHAPE, mean / SIZE_SHAPE, CELLS), mean


def statistics(z, theta, rate, mean):
    """Nothing depends on the labels."""
    of_cell = theta[z]
    return [
        z[0] == z[1],
        z[2] == z[3],
        (theta**2).sum(),
        (of_cell[0] * of_cell[1]).sum(),
        of_cell[3, 0],
        np.log(rate).mean(),
        np.log(mean),
    ]


def scores(chain_statistics, seed, *, private=False):
    rng = np.random.default_rng(seed)
    wanted = np.array([statistics(*prior(rng, private=private)) for _ in range(6000)], dtype=float)
    got = np.array(chain_statistics, dtype=float)
    batches = got[: len(got) // 50 * 50].reshape(50, -1, got.shape[1]).mean(axis=1)
    error = np.sqrt(wanted.var(axis=0) / len(wanted) + batches.var(axis=0, ddof=1) / 50) + 1e-12
    return np.abs(got.mean(axis=0) - wanted.mean(axis=0)) / error


def counts_given(rng, z, theta):
    return np.concatenate(
        [
            rng.multinomial(2, part[z] / part[z].sum(axis=1, keepdims=True))
            for part in np.split(theta, [3], axis=1)
        ],
        axis=1,
    )


def run_counts(kernel, power, rounds=4000):
    rng = np.random.default_rng(7)
    z, theta, _, _ = prior(rng)
    emissions = CountEmissions.of(MODEL, np.zeros((CELLS, 5)))
    emissions.log_theta[...] = np.log(theta)
    chain, seen = StateChain.start(emissions, kernel, rng, z), []
    for _ in range(rounds):
        emissions.counts[...] = counts_given(rng, chain.z, np.exp(emissions.log_theta))
        chain.sweep(power)
        seen.append(statistics(chain.z, np.exp(emissions.log_theta), np.ones(CELLS), MEAN))
    return seen


@pytest.mark.parametrize("kernel", ["ffbs", "collapsed"])
def test_count_kernels_keep_the_joint_law_and_a_tempered_twin_does_not(kernel):
    assert scores(run_counts(kernel, 1.0), 1)[:5].max() < 4.5
    assert scores(run_counts(kernel, 0.7, 2000), 1)[:5].max() > 6


def run_noisy(believed, kernel="ffbs", size_prior=None, rounds=3000):
    rng = np.random.default_rng(11)
    z, theta, rate, mean = prior(rng, private=size_prior is not None)
    ys = np.arange(LEAST_Y, 300)
    grid = np.resize(ys, (-(-len(ys) // 5), 5))
    model = HiddenMarkov(states=2, chain="r", step="t", features=("a", "b"), sizes=(1, len(grid), 3, 2))
    table = NoisyData.of(model, grid.astype(float), [believed, believed], MEAN).table
    rows, nothing = np.zeros((CELLS, 5), dtype=np.int32), np.zeros((CELLS, 5))
    emissions = NoisyEmissions.of(MODEL, NoisyData(rows, table, nothing, np.zeros(CELLS), MEAN, size_prior))
    chain, seen, q = StateChain.start(emissions, kernel, rng, z), [], np.exp(-1 / LAW.scale)
    emissions.log_theta[...], emissions.root_theta[...] = np.log(theta), np.sqrt(theta)
    emissions.log_rate[...], emissions.mean[...] = np.log(rate), (mean, 0.7)
    emissions.rate_widths[...], emissions.theta_widths[...] = 1.5, 1.5
    emissions.settle()
    for _ in range(rounds):
        mean = np.exp(emissions.log_rate)[:, None] * np.exp(emissions.log_theta)[chain.z]
        noise = rng.geometric(1 - q, mean.shape) - rng.geometric(1 - q, mean.shape)
        rows[...] = np.clip(rng.poisson(mean) + noise, LEAST_Y, 299) - LEAST_Y
        chain.sweep()
        theta, rate = np.exp(emissions.log_theta), np.exp(emissions.log_rate)
        seen.append(statistics(chain.z, theta, rate, emissions.mean[0]))
    return seen


@pytest.mark.parametrize("kernel", ["ffbs", "collapsed"])
def test_noise_aware_moves_keep_the_joint_law_and_a_twin_that_believes_in_less_noise_does_not(kernel):
    assert scores(run_noisy(LAW, kernel), 2).max() < 4.5
    assert scores(run_noisy(NoiseLaw("discrete_laplace", 0.5), kernel, rounds=1000), 2).max() > 6


def test_moves_of_a_private_size_keep_the_joint_law_and_a_twin_with_another_prior_does_not():
    assert scores(run_noisy(LAW, size_prior=SIZE_PRIOR), 2, private=True).max() < 4.5
    assert scores(run_noisy(LAW, size_prior=(3.0, 16.0), rounds=1000), 2, private=True).max() > 6
