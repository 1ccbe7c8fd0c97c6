"""Noise-aware readings, in turns with a baseline: python benchmarks/noise_aware.py [--private REPLICATES]

Dirichlet with up to 10⁵ cells against the naive reading with as many draws of θ, one number against the same;
peak memory of the process. --private adds the coverage of 90 % intervals where n is private.
"""

import argparse
import resource
import time
from dataclasses import replace

import numpy as np

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.gamma_poisson import GammaPoisson
from discreet.mechanisms.noisy_statistics import NoisyStatistics
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.sampling.source import SeededSource


def timed(what):
    start = time.process_time()
    done = what()
    return done, time.process_time() - start


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def dirichlet(cells, records, scale, relation=None):
    rng, prior = np.random.default_rng(1), DirichletCategorical(np.ones(cells))
    theta = rng.dirichlet(np.ones(cells))
    counts = rng.multinomial(records, theta)
    if relation is None:
        release = NoisyStatistics(prior, n=records, scale=scale).release(counts, SeededSource(1))
    else:
        mechanism = NoisyStatistics(prior, scale=scale, relation=relation)
        release = mechanism.release(counts, SeededSource(1), count=records)
    posterior, read = timed(release.posterior)
    ends, intervals = timed(lambda: posterior.interval(0.9))
    draws = posterior.counts.shape[0] * posterior.counts.shape[1]
    _, naive = timed(lambda: release.posterior(reading="naive").sample(draws, SeededSource(2)))
    covered = np.mean((ends[:, 0] <= theta) & (theta <= ends[:, 1]))
    size = "private" if relation else "public"
    print(
        f"{cells} cells, n {size}, noise {scale}: {read:.2f} s, intervals {intervals:.2f} s, {draws} draws;"
    )
    print(f"        {read / naive:.1f} × the naive reading and as many exact draws; covers {covered:.1%};")
    print(f"        R-hat {posterior.diagnostics.r_hat:.3f}; peak {peak():.0f} MB")


def scalar(model, statistic, n, scale):
    release = NoisyStatistics(model, n=n, scale=scale).release(statistic, SeededSource(1))
    _, aware = timed(release.posterior)
    _, naive = timed(lambda: release.posterior(reading="naive").interval(0.9))
    print(f"{model.name}, n = {n}: {1000 * aware:.0f} ms, {aware / naive:.0f} × the naive interval")


def private(replicates):
    rng, model = np.random.default_rng(3), BetaBernoulli(2, 3)
    made = NoisyStatistics(model, scale=10, relation=ADD_REMOVE).release([3], SeededSource(1), count=9)
    inside = {"noise_aware": 0, "naive": 0}
    for theta in rng.beta(2, 3, replicates):
        n = int(rng.integers(0, 300))
        s = rng.binomial(n, theta)
        p = -np.expm1(-1 / 10)
        noisy = np.array([s, n - s]) + rng.geometric(p, 2) - rng.geometric(p, 2)
        release = replace(made, noisy=tuple(noisy.tolist()))
        for reading in inside:
            low, high = release.posterior(reading=reading).interval(0.9)
            inside[reading] += bool(low <= theta <= high)
    print("n private, ε = 0.1:", {k: f"{v / replicates:.1%}" for k, v in inside.items()}, f"of {replicates}")


def main():
    asked = argparse.ArgumentParser()
    asked.add_argument("--private", type=int, default=0)
    replicates = asked.parse_args().private
    dirichlet(300, 3000, 4)  # compiles
    for cells, records, scale in ((1000, 10_000, 4), (10_000, 100_000, 4), (100_000, 10**6, 4)):
        dirichlet(cells, records, scale)
    dirichlet(100_000, 10**5, 20)
    dirichlet(100_000, 10**6, 4, ADD_REMOVE)
    for n in (100, 10_000, 10**6):
        scalar(BetaBernoulli(2, 3), [n // 3], n, 10)
        scalar(GammaPoisson(3, 1, upper=8), [2 * n], n, 80)
    if replicates:
        private(replicates)


if __name__ == "__main__":
    main()
