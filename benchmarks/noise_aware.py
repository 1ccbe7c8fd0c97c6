"""Noise-aware readings, in turns with a baseline: python benchmarks/noise_aware.py

Dirichlet with up to 10⁵ cells against the naive reading with as many draws of θ, one number against the same;
peak memory of the process. Instead of that, coverage of 90 % intervals: --private REPLICATES where n is
private, one number; --counts REPLICATES for four cells, n public and private.
"""

import argparse
import resource
import time

import numpy as np
from scipy.special import betainc
from scipy.stats import kstest
from sizes import TINY

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.beta_binomial import BetaBinomial
from discreet.families.beta_geometric import BetaGeometric
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.gamma_exponential import GammaExponential
from discreet.families.gamma_poisson import GammaPoisson
from discreet.families.normal_mean import NormalMean
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.posteriors.counts.dirichlet import counts_behind
from discreet.posteriors.noise_law import NoiseLaw
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import SeededSource


def timed(what):
    start = time.process_time()
    done = what()
    return done, time.process_time() - start


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def careless(noisy, draws):
    """Dirichlet(1 + max(Ŝ, 0)) by NumPy, row by row; what one would write by hand."""
    rng, kept = np.random.default_rng(2), np.empty((draws, noisy.size), dtype=np.float32)
    for row in kept:
        gammas = rng.standard_gamma(1.0 + np.maximum(noisy, 0))
        row[:] = gammas / gammas.sum()
    return kept


def dirichlet(cells, records, scale, relation=None):
    rng, prior = np.random.default_rng(1), DirichletCategorical(np.ones(cells))
    theta = rng.dirichlet(np.ones(cells))
    counts = rng.multinomial(records, theta)
    if relation is None:
        release = NoisyStatistics(prior, n=records, scale=scale).release(counts, SeededSource(1))
    else:
        mechanism = NoisyStatistics(prior, scale=scale, relation=relation)
        release = mechanism.release(counts, SeededSource(1), count=records)
    posterior, read = timed(release.read)
    ends, intervals = timed(lambda: posterior.flat_interval(0.9))
    draws = len(posterior.counts)
    _, naive = timed(lambda: careless(np.asarray(release.noisy), draws))
    covered = np.mean((ends[:, 0] <= theta) & (theta <= ends[:, 1]))
    size = "private" if relation else "public"
    print(
        f"{cells} cells, n {size}, noise {scale}: {read:.2f} s, intervals {intervals:.2f} s, {draws} draws;"
    )
    print(f"        {read / naive:.1f} × the naive reading by NumPy, as many draws; covers {covered:.1%};")
    print(f"        {posterior.diagnostics.method}; peak {peak():.0f} MB", flush=True)


def scalar(model, statistic, n, scale):
    release = NoisyStatistics(model, n=n, scale=scale).release(statistic, SeededSource(1))
    _, aware = timed(release.read)
    _, naive = timed(lambda: release.read(reading="naive").flat_interval(0.9))
    print(f"{model.name}, n = {n}: {1000 * aware:.0f} ms, {aware / naive:.0f} × the naive interval")


# --- coverage ------------
def rounded(x, lower, upper, per_unit):
    return int(np.floor(np.clip(x, lower, upper) * per_unit + 0.5).sum())


SCALARS = {  # model, θ from its prior, the sum of n records as they pass the door
    "Beta–Bernoulli": (BetaBernoulli(2, 3), lambda r: r.beta(2, 3), lambda r, t, n: r.binomial(n, t)),
    "Beta–Binomial, 4 trials": (
        BetaBinomial(2, 3, trials=4),
        lambda r: r.beta(2, 3),
        lambda r, t, n: r.binomial(4 * n, t),
    ),
    "Beta–Geometric, cut at 6": (
        BetaGeometric(4, 3, upper=6),
        lambda r: r.beta(4, 3),
        lambda r, t, n: np.minimum(r.geometric(t, n) - 1, 6).sum(),
    ),
    "Gamma–Poisson, cut at 6": (
        GammaPoisson(3, 1, upper=6),
        lambda r: r.gamma(3),
        lambda r, t, n: np.minimum(r.poisson(t, n), 6).sum(),
    ),
    "Gamma–Exponential, cut at 2": (
        GammaExponential(3, 2, upper=2),
        lambda r: r.gamma(3, 1 / 2),
        lambda r, t, n: rounded(r.exponential(1 / t, n), 0, 2, 2**14),
    ),
    "Normal mean, cut to [−1, 2]": (
        NormalMean(0, 1, 1, lower=-1, upper=2),
        lambda r: r.normal(),
        lambda r, t, n: rounded(r.normal(t, 1, n), -1, 2, 2**13),
    ),
}


def told(name, n, epsilon, pit, naive=None):
    inside = ((pit > 0.05) & (pit < 0.95)).mean()
    beside = "" if naive is None else f" (naive {naive:.1%})"
    error = (0.09 / pit.size) ** 0.5
    print(f"{name}, n about {n}, ε = {epsilon}: covers {inside:.1%} ± {error:.1%}{beside}", flush=True)
    print(f"        KS p {kstest(pit, 'uniform').pvalue:.3f}, {pit.size} replicates", flush=True)


def private(replicates):
    """n is private and flat on 0 … 2n; what is released is drawn by the mechanism itself."""
    for name, (model, prior, records) in SCALARS.items():
        for n, epsilon in ((100, 0.1), (1000, 1.0)):
            rng, pit, naive = np.random.default_rng(3), [], 0
            mechanism = NoisyStatistics.calibrate(model, target=PureDP(epsilon, relation=ADD_REMOVE))
            for i in range(replicates):
                theta, size = prior(rng), int(rng.integers(0, 2 * n))
                release = mechanism.release([int(records(rng, theta, size))], SeededSource(i), count=size)
                pit.append(float(release.posterior.cdf(theta)))
                low, high = release.read(reading="naive").flat_interval(0.9)[0]
                naive += bool(low <= theta <= high)
            told(f"{name}, n private", n, epsilon, np.array(pit), naive / replicates)


ALPHA = np.array([1.0, 0.5, 2.0, 1.5])


def counts(replicates):
    """Four cells, by the chains of the reading; n public, and private and flat on 0 … 2n."""
    prior = DirichletCategorical(ALPHA)
    for is_private in (False, True):
        for n, epsilon in ((100, 0.1), (1000, 0.1), (1000, 1.0), (10_000, 0.3)):
            rng, pit = np.random.default_rng(7), []
            law = NoiseLaw("discrete_laplace", (1 if is_private else 2) / epsilon)
            p = -np.expm1(-1 / law.scale)
            for theta in rng.dirichlet(ALPHA, replicates):
                size = int(rng.integers(0, 2 * n)) if is_private else n
                noisy = rng.multinomial(size, theta) + rng.geometric(p, 4) - rng.geometric(p, 4)
                known = None if is_private else n
                rows = counts_behind(noisy.astype(np.float64), prior, known, law, 1000, rng)
                a = ALPHA[0] + rows[:, 0]
                pit.append(betainc(a, ALPHA.sum() + rows.sum(axis=1) - a, theta[0]).mean())
            who = "private" if is_private else "public"
            told(f"Dirichlet of 4 cells, n {who}", n, epsilon, np.array(pit))


def main():
    asked = argparse.ArgumentParser()
    asked.add_argument("--private", type=int, default=0, metavar="REPLICATES")
    asked.add_argument("--counts", type=int, default=0, metavar="REPLICATES")
    wanted = asked.parse_args()
    if wanted.private or wanted.counts:
        for coverage, replicates in ((private, wanted.private), (counts, wanted.counts)):
            if replicates:
                coverage(replicates)
        return
    dirichlet(300, 3000, 4)  # compiles
    if TINY:
        private(1)
        counts(1)
        scalar(BetaBernoulli(2, 3), [3], 10, 10)
        return
    for cells, records, scale in ((1000, 10_000, 4), (10_000, 100_000, 4), (100_000, 10**6, 4)):
        dirichlet(cells, records, scale)
    dirichlet(100_000, 10**5, 20)
    dirichlet(100_000, 10**6, 4, ADD_REMOVE)
    for n in (100, 10_000, 10**6):
        scalar(BetaBernoulli(2, 3), [n // 3], n, 10)
        scalar(GammaPoisson(3, 1, upper=8), [2 * n], n, 80)


if __name__ == "__main__":
    main()
