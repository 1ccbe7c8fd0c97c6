"""Getting it right [Geweke 2004]: data drawn given the chain, the chain moved given the data, round again.

Then (θ, λ, z) must keep its prior law. Every |z-score| is held below 4.5 (6 statistics, two-sided: a false
alarm once in 2.5e4 runs of a test), with the variance of means from 50 batches; a broken twin must exceed 6.
"""

import numpy as np
import pytest

from discreet.inference.hmm_noise_aware import SIZE_SHAPE, NoisyData, NoisyEmissions
from discreet.inference.hmm_state import Chain, CountEmissions
from discreet.inference.noise_aware_noise import NoiseLaw
from discreet.models.hidden_markov import HiddenMarkov

MODEL = HiddenMarkov(
    states=2, chain="r", step="t", features=("a", "b"), transition=0.8, emission=0.7, sizes=(2, 3, 3, 2)
)
CELLS, OFFSETS = 6, (0, 3, 5)
LAW, MEAN, LEAST_Y = NoiseLaw("discrete_laplace", 1.5), 3.0, -60


def prior(rng):
    """(z, θ, λ) from the prior"""
    rows = rng.dirichlet(np.full(2, 0.8), 3)
    z = np.zeros(CELLS, dtype=np.int64)
    for c in range(CELLS):
        z[c] = rng.random() < rows[2 if c % 3 == 0 else z[c - 1], 1]
    theta = np.concatenate([rng.dirichlet(np.full(k, 0.7), 2) for k in (3, 2)], axis=1)
    rate = rng.gamma(SIZE_SHAPE, MEAN / SIZE_SHAPE, CELLS)
    return z, theta, rate


def statistics(z, theta, rate):
    """Nothing depends on the labels."""
    of_cell = theta[z]
    return [
        z[0] == z[1],
        z[2] == z[3],
        (theta**2).sum(),
        (of_cell[0] * of_cell[1]).sum(),
        of_cell[3, 0],
        np.log(rate).mean(),
    ]


def scores(chain_statistics, seed):
    rng = np.random.default_rng(seed)
    wanted = np.array([statistics(*prior(rng)) for _ in range(6000)], dtype=float)
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
    z, theta, _ = prior(rng)
    emissions = CountEmissions.of(MODEL, np.zeros((CELLS, 5)))
    emissions.log_theta[...] = np.log(theta)
    chain, seen = Chain.start(emissions, kernel, rng, z), []
    for _ in range(rounds):
        emissions.counts[...] = counts_given(rng, chain.z, np.exp(emissions.log_theta))
        chain.sweep(power)
        seen.append(statistics(chain.z, np.exp(emissions.log_theta), np.ones(CELLS)))
    return seen


@pytest.mark.parametrize("kernel", ["ffbs", "collapsed"])
def test_count_kernels_keep_the_joint_law_and_a_tempered_twin_does_not(kernel):
    assert scores(run_counts(kernel, 1.0), 1)[:5].max() < 4.5
    assert scores(run_counts(kernel, 0.7, 2000), 1)[:5].max() > 6


def run_noisy(believed, rounds=4000):
    rng = np.random.default_rng(11)
    z, theta, rate = prior(rng)
    ys = np.arange(LEAST_Y, 300)
    grid = np.resize(ys, (-(-len(ys) // 5), 5))
    model = HiddenMarkov(states=2, chain="r", step="t", features=("a", "b"), sizes=(1, len(grid), 3, 2))
    table = NoisyData.of(model, grid.astype(float), [believed, believed], MEAN).table
    data = NoisyData(np.zeros((CELLS, 5), dtype=np.int32), table, np.zeros((CELLS, 5)), np.zeros(CELLS), MEAN)
    emissions = NoisyEmissions.of(MODEL, data)
    chain, seen, q = Chain.start(emissions, "ffbs", rng, z), [], np.exp(-1 / LAW.scale)
    emissions.log_theta[...], emissions.root_theta[...] = np.log(theta), np.sqrt(theta)
    emissions.log_rate[...] = np.log(rate)
    emissions.rate_widths[...], emissions.theta_widths[...] = 1.5, 1.5
    emissions.settle()
    for _ in range(rounds):
        mean = np.exp(emissions.log_rate)[:, None] * np.exp(emissions.log_theta)[chain.z]
        noise = rng.geometric(1 - q, mean.shape) - rng.geometric(1 - q, mean.shape)
        data.rows[...] = np.clip(rng.poisson(mean) + noise, LEAST_Y, 299) - LEAST_Y
        chain.sweep()
        seen.append(statistics(chain.z, np.exp(emissions.log_theta), np.exp(emissions.log_rate)))
    return seen


def test_noise_aware_moves_keep_the_joint_law_and_a_twin_that_believes_in_less_noise_does_not():
    assert scores(run_noisy(LAW), 2).max() < 4.5
    assert scores(run_noisy(NoiseLaw("discrete_laplace", 0.5)), 2).max() > 6
