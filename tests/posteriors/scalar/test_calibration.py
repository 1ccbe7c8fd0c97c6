"""Simulation-based calibration: θ from the prior, records, noise; then P(θ' ≤ θ | Ŝ) must be uniform.

2000 replicates: a coverage of 90 % has a standard error of 0.67 %, so that 88–92 % is three of them; the
Kolmogorov–Smirnov test rejects at 1e-4. For right posteriors each parametrised test fails with probability
0.003, decided once by the fixed seed.
"""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import betainc
from scipy.stats import beta, gamma, kstest

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.dirichlet_multinomial import DirichletMultinomial
from discreet.families.gamma_poisson import GammaPoisson
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.posteriors.counts.dirichlet import counts_behind
from discreet.posteriors.noise_law import NoiseLaw
from discreet.posteriors.scalar.batch import batch
from discreet.posteriors.scalar.likelihood import Likelihood
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.sampling.source import SeededSource

_spec = importlib.util.spec_from_file_location("simulated", Path(__file__).with_name("simulated.py"))
simulated = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(simulated)

SETTINGS = [(100, 0.1), (1000, 1), (10_000, 0.3)]
NOISIEST = SETTINGS[0]  # where reading Ŝ as S must fail
REPLICATES, LEVEL = 2000, 1e-4


def covered(pit):
    return float(((pit > 0.05) & (pit < 0.95)).mean())


@pytest.mark.parametrize(("n", "epsilon"), SETTINGS)
@pytest.mark.parametrize("name", simulated.FAMILIES)
def test_ranks_are_uniform_and_intervals_cover(name, n, epsilon):
    model = simulated.FAMILIES[name]
    theta, statistic, scale, rng = simulated.simulated(name, n, epsilon, REPLICATES, seed=1)
    noisy = statistic + simulated.discrete_laplace(rng, scale, REPLICATES)
    likelihood = Likelihood(model, n, joint=False, noise=NoiseLaw("discrete_laplace", scale), clips=True)
    pit = batch(likelihood, noisy[:, None]).cdf(theta)
    assert 0.88 <= covered(pit) <= 0.92
    assert kstest(pit, "uniform").pvalue > LEVEL
    if (n, epsilon) != NOISIEST:
        return
    few = slice(0, 100)  # negative control: the naive posterior fails the same test by far
    naive = [model.update(model.project([x], n), n).interval(0.9) for x in noisy[few]]
    inside = [low <= t <= high for (low, high), t in zip(naive, theta[few], strict=True)]
    assert np.mean(inside) < 0.8


@pytest.mark.parametrize("kind", ["laplace", "gaussian", "discrete_gaussian"])
def test_other_noises_are_calibrated_too(kind):
    n, model = 200, simulated.FAMILIES["gamma_poisson"]
    theta, statistic, _, rng = simulated.simulated("gamma_poisson", n, 1, REPLICATES, seed=2)
    noise = rng.laplace(scale=60, size=REPLICATES) if kind == "laplace" else rng.normal(0, 60, REPLICATES)
    noisy = statistic + (np.rint(noise) if kind.startswith("discrete") else noise)
    right = batch(
        Likelihood(model, n, joint=False, noise=NoiseLaw(kind, 60), clips=True), noisy[:, None]
    ).cdf(theta)
    wrong = batch(
        Likelihood(model, n, joint=False, noise=NoiseLaw(kind, 40), clips=True), noisy[:, None]
    ).cdf(theta)
    assert 0.88 <= covered(right) <= 0.92
    assert kstest(right, "uniform").pvalue > LEVEL
    assert kstest(wrong, "uniform").pvalue < LEVEL  # a third less noise than there was


@pytest.mark.parametrize("name", simulated.FAMILIES)
def test_the_batch_is_the_posterior_that_users_get(name):
    model, n = simulated.FAMILIES[name], 500
    _, statistic, scale, _ = simulated.simulated(name, n, 0.5, 4, seed=3)
    mechanism = NoisyStatistics(model, n=n, scale=scale)
    releases = [mechanism.release(s, SeededSource(i)) for i, s in enumerate(statistic[:, None])]
    noisy = np.array([r.noisy for r in releases], dtype=np.float64)
    read = batch(Likelihood.of(releases[0], model, clips=True), noisy)
    ends = np.stack([read.quantile(0.05), read.quantile(0.95)], axis=1)
    for i, release in enumerate(releases):
        posterior = release.read(clips=True)
        deviation = posterior.sd().item()
        assert abs(posterior.mean().item() - read.mean()[i]) < 0.005 * deviation
        assert (
            np.abs(posterior.interval(0.9) - ends[i]).max() < 0.04 * deviation
        )  # its quantiles are linear between nodes
        assert posterior.cdf(ends[i]) == pytest.approx([0.05, 0.95], abs=0.005)


# --- n private ------------
SHAPES = {"beta_bernoulli": (beta(2, 3), 10), "gamma_poisson": (gamma(3, scale=1 / 2), 40)}


@pytest.mark.parametrize("name", SHAPES)
def test_a_private_n_is_calibrated(name):
    """80 replicates: 0.8 is three standard errors below 0.9; KS at 1e-4. θ cut into 32 equal parts."""
    prior, scale = SHAPES[name]
    model = {"beta_bernoulli": BetaBernoulli(2, 3), "gamma_poisson": GammaPoisson(3, 2, upper=6)}[name]
    made = NoisyStatistics(model, scale=scale, relation=ADD_REMOVE).release([3], SeededSource(1), count=9)
    likelihood, rng, pit, naive = Likelihood.of(made, model, clips=True), np.random.default_rng(5), [], []
    nodes = prior.ppf((np.arange(32) + 0.5) / 32)
    for theta in prior.rvs(80, random_state=rng):
        n = int(rng.integers(1, 300))  # flat, as the model says, far from its end
        records = rng.random(n) < theta if name == "beta_bernoulli" else np.minimum(rng.poisson(theta, n), 6)
        noisy = np.array(model.joint(model.statistic(records), n)) + simulated.discrete_laplace(rng, scale, 2)
        log = likelihood.log(noisy[None].astype(float), nodes, np.zeros(32))[0]
        mass = np.exp(log - log.max())
        below = np.append(0, np.cumsum(mass)) / mass.sum()
        pit.append(np.interp(prior.cdf(theta) * 32, np.arange(33), below))
        release = replace(made, noisy=tuple(noisy.tolist()))
        ((low, high),) = release.read(reading="naive").interval(0.9).values
        naive.append(low <= theta <= high)
        if len(pit) <= 3:  # what users get is the same
            assert float(release.read(clips=True).cdf(theta)) == pytest.approx(pit[-1], abs=0.02)
    pit = np.array(pit)
    assert 0.8 <= covered(pit) <= 0.988
    assert kstest(pit, "uniform").pvalue > LEVEL
    assert np.mean(naive) < 0.8


# --- counts ------------
ALPHA = np.array([1.0, 0.5, 2.0, 1.5])


def counts_pit(rows, theta, prior):
    """P(θ'_0 ≤ θ_0 | Ŝ) of a mixture of Dirichlets, by its components."""
    a = prior.natural[0] + rows[:, 0]
    return betainc(a, prior.natural.sum() + rows.sum(axis=1) - a, theta).mean()


@pytest.mark.parametrize(
    ("private", "n", "epsilon"),
    [(private, *setting) for private in (False, True) for setting in SETTINGS[::2]],
)
def test_counts_are_calibrated(private, n, epsilon):
    """As above, of 4 cells; where noise hides most and least.

    Short chains cover less, by about 90/ESS per cent: the benchmark has longer ones, and all four of either.
    """
    prior, rng, replicates = DirichletCategorical(ALPHA), np.random.default_rng(7), REPLICATES
    law = NoiseLaw("discrete_laplace", (1 if private else 2) / epsilon)
    pit, naive = [], 0
    for i, theta in enumerate(rng.dirichlet(ALPHA, replicates)):
        size = int(rng.integers(0, 2 * n)) if private else n
        noisy = rng.multinomial(size, theta) + simulated.discrete_laplace(rng, law.scale, 4)
        rows = counts_behind(noisy.astype(np.float64), prior, None if private else n, law, 200, rng)
        pit.append(counts_pit(rows, theta[0], prior))
        if not private and i < 300:
            low, high = prior.update(prior.project(noisy, n), n).interval(0.9)[0]
            naive += bool(low <= theta[0] <= high)
    pit = np.array(pit)
    assert 0.88 <= covered(pit) <= 0.92
    assert kstest(pit, "uniform").pvalue > LEVEL
    if not private and (n, epsilon) == NOISIEST:
        assert naive < 240


@pytest.mark.parametrize("private", [False, True], ids=["n public", "n private"])
def test_very_many_cells_are_calibrated_all_at_once(private):
    """20 000 cells of one table are as many replicates: a standard error of 0.2 %; KS at 1e-4."""
    d, n, rng = 20_000, 60_000, np.random.default_rng(11)
    prior = DirichletCategorical(np.ones(d))
    theta = rng.dirichlet(np.ones(d))
    noisy = rng.multinomial(n, theta) + simulated.discrete_laplace(rng, 4, d)
    law = NoiseLaw("discrete_laplace", 4.0)
    rows = counts_behind(noisy.astype(np.float64), prior, None if private else n, law, 200, rng)
    if not private:
        assert np.all(rows.sum(axis=1) == n)
    a, total = 1 + rows, d + rows.sum(axis=1, dtype=np.float64)[:, None]
    pit = np.mean([betainc(x, t - x, theta) for x, t in zip(a, total, strict=True)], axis=0)
    assert 0.89 <= covered(pit) <= 0.91
    assert kstest(pit, "uniform").pvalue > LEVEL
    clipped = np.maximum(noisy, 0)
    naive = betainc(1 + clipped, d + n - 1 - clipped, theta)
    assert covered(naive) < 0.8


@pytest.mark.parametrize(
    ("kind", "private"),
    [("laplace", False), ("gaussian", False), ("gaussian", True), ("discrete_gaussian", False)],
)
def test_many_cells_are_calibrated_under_every_noise(kind, private):
    """4000 cells: a standard error of 0.5 %; KS at 1e-4. Told half the noise that there was, it fails."""
    d, n, scale, rng = 4000, 12_000, 5.0, np.random.default_rng(12)
    prior, theta = DirichletCategorical(np.ones(d)), rng.dirichlet(np.ones(d))
    noise = rng.laplace(0, scale, d) if kind == "laplace" else rng.normal(0, scale, d)
    noisy = rng.multinomial(n, theta) + (np.rint(noise) if kind.startswith("discrete") else noise)

    def pit(told):
        size = None if private else n
        rows = counts_behind(np.asarray(noisy, float), prior, size, NoiseLaw(kind, told), 150, rng)
        total = d + rows.sum(axis=1, dtype=np.float64)[:, None]
        return np.mean([betainc(1 + x, t - 1 - x, theta) for x, t in zip(rows, total, strict=True)], axis=0)

    right = pit(scale)
    assert 0.88 <= covered(right) <= 0.92
    assert kstest(right, "uniform").pvalue > LEVEL
    assert kstest(pit(scale / 2), "uniform").pvalue < LEVEL


@pytest.mark.parametrize("private", [False, True], ids=["n public", "n private"])
def test_multinomials_of_several_trials_are_calibrated(private):
    """1000 replicates of 3 trials a record, 4 cells: KS at 1e-4 on the first; the naive reading fails it."""
    prior, rng, n, pit, naive = DirichletMultinomial(ALPHA, trials=3), np.random.default_rng(8), 100, [], []
    law = NoiseLaw("discrete_laplace", 30.0)
    for theta in rng.dirichlet(ALPHA, 1000):
        size = int(rng.integers(0, 2 * n)) if private else n
        noisy = rng.multinomial(3 * size, theta) + simulated.discrete_laplace(rng, 30, 4)
        rows = counts_behind(noisy.astype(np.float64), prior, None if private else n, law, 150, rng)
        assert (rows.sum(axis=1) % 3 == 0).all()
        pit.append(counts_pit(rows, theta[0], prior))
        clipped = np.maximum(noisy, 0)
        naive.append(counts_pit(clipped[None], theta[0], prior))
    assert kstest(pit, "uniform").pvalue > LEVEL
    assert kstest(naive, "uniform").pvalue < 1e-12
