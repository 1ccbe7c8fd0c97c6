"""Coverage of noise-aware intervals, and the cost of each law of S, measured side by side in one run.

python benchmarks/noise_aware_normal.py ratios                    times of the laws relative to the limit
python benchmarks/noise_aware_normal.py coverage FAMILY REPLICATES [N EPSILON [LAW]]  all from the prior
                                                                  (N < 0: n private, flat on 1 … 2N)
FAMILY: gamma, gamma-tight (a third of the records clipped), wishart, regression.
"""

import dataclasses
import sys
import time

import numpy as np
from scipy.stats import kstest
from sizes import TINY

from discreet.families.laws.matrices import unpack
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.families.normal_inverse_gamma import NormalInverseGamma
from discreet.families.normal_inverse_wishart import NormalInverseWishart
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.posteriors.normal.algebra_kernel import conjugate
from discreet.posteriors.normal.chains import ChainLengths
from discreet.posteriors.normal.latent_model import latent
from discreet.posteriors.normal.linear_regression import Design, regression_model
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import SeededSource

MODELS = {
    "gamma": NormalInverseGamma(0.5, 2, shape=5.5, scale=4, lower=-4, upper=6),
    "gamma-tight": NormalInverseGamma(0.5, 2, shape=5.5, scale=4, lower=-0.5, upper=1.5),
    "wishart": NormalInverseWishart([0.5, -1], 2, degrees=7.5, scale=[[3, 1], [1, 2]], radius=4),
    "regression": BayesianLinearRegression([0.5, -1], [[3, 1], [1, 2]], shape=5.5, scale=4, radius=4),
}
POINTS = [(100, 0.1), (1000, 0.1), (1000, 1.0), (10_000, 0.3)]
SHORT = {
    "gamma": ChainLengths(chains=2, draws=500, thin=3, burn=1000),
    "wishart": ChainLengths(chains=4, draws=500, thin=8, burn=2500),  # 2 of 300 cover 0.8 ± 0.4 points less
    "regression": ChainLengths(chains=4, draws=400, thin=16, burn=2500),
}


def inverse_wishart(rng, degrees, scale):
    p = len(scale)
    A = np.tril(rng.standard_normal((p, p)), -1) + np.diag(np.sqrt(rng.chisquare(degrees - np.arange(p))))
    root = np.linalg.cholesky(scale) @ np.linalg.inv(A).T
    return root @ root.T


def simulate(model, n, rng):
    """(θ, records) from the prior; the design of a regression from `Design()`, the reading's own default."""
    theta = model.sample(1, SeededSource(int(rng.integers(2**62))))[0]
    if isinstance(model, NormalInverseGamma):
        return theta, rng.normal(theta[0], theta[1] ** 0.5, n)
    if isinstance(model, NormalInverseWishart):
        return theta, rng.multivariate_normal(theta[:2], unpack(theta[2:]), n)
    spread = float(model.radius) / np.sqrt(4 * 3)
    covariance = inverse_wishart(rng, 2 + 1 + 2.0, 2.0 * spread**2 * np.eye(2))
    x = rng.multivariate_normal(rng.multivariate_normal(np.zeros(2), covariance), covariance, n)
    return theta, np.column_stack([x, x @ theta[:2] + rng.normal(0, theta[2] ** 0.5, n)])


def released(template, model, records, rng):
    noise = np.rint(rng.laplace(0, float(template.scale), len(template.noisy)))
    exact = model.statistic(records)
    seen = np.asarray(model.joint(exact, len(records)) if template.joint else exact)
    return dataclasses.replace(template, noisy=tuple((seen + noise).tolist()))


def naive_draws(family, rng, size=400):
    """Of the naive posterior, by the kernel's conjugate draw: its exact sampler would dominate the run."""
    model = regression_model(family, Design()) if family.name.endswith("regression") else latent(family)
    phi, d = np.zeros((size, model.size)), model.columns
    for row in phi:
        conjugate(rng, row, model.layout, model.prior, 0, np.zeros(d), np.zeros((d, d)))
    return model.theta(phi)


def coverage(name, replicates, points, law=None):
    model = MODELS[name]
    for signed, epsilon in points:
        n, relation = abs(signed), SUBSTITUTE if signed > 0 else ADD_REMOVE
        public, private = ({"n": n}, {}) if signed > 0 else ({}, {"count": n})
        mechanism = NoisyStatistics.calibrate(model, target=PureDP(epsilon, relation=relation), **public)
        records = simulate(model, n, np.random.default_rng(0))[1]
        template = mechanism.release(model.statistic(records), SeededSource(0), **private)
        rng = np.random.default_rng([n, int(1000 * epsilon)])
        covered, naive, ranks, worst, sizes = [], [], [], 1.0, []
        start = time.process_time()
        for _ in range(replicates):
            size = n if signed > 0 else int(rng.integers(1, 2 * n + 1))  # flat, as the reading believes
            theta, records = simulate(model, size, rng)
            release = released(template, model, records, rng)
            options = {"plan": SHORT[name]} if name in SHORT else {}
            posterior = release.read(reading="noise_aware", law=law, **options)
            low, high = posterior.interval(0.9).T
            covered.append((low <= theta) & (theta <= high))
            ranks.append((posterior.draws.reshape(-1, theta.size) < theta).mean(axis=0))
            low, high = np.quantile(naive_draws(release.read(reading="naive").law, rng), [0.05, 0.95], axis=0)
            naive.append((low <= theta) & (theta <= high))
            worst = max(worst, posterior.diagnostics.r_hat)
            sizes.append(posterior.diagnostics.ess)
            if len(sizes) % 50 == 0:
                print(f"  {len(sizes)}: {np.mean(covered):.3f}", file=sys.stderr, flush=True)
        spent = (time.process_time() - start) / replicates
        ks = [ks_p(r) for r in np.array(ranks).T]
        print(
            f"{name} n={n}{' private' * (signed < 0)} ε={epsilon} {replicates} replicates, "
            f"{spent:.2f} s each, worst R-hat {worst:.3f}, median effective size {np.median(sizes):.0f}\n"
            f"  noise-aware {np.mean(covered, axis=0).round(3).tolist()}, all {np.mean(covered):.3f}; "
            f"KS p {np.round(ks, 3).tolist()}\n  naive       {np.mean(naive, axis=0).round(3).tolist()}",
            flush=True,
        )


def ks_p(uniforms):
    return kstest(uniforms, "uniform").pvalue


def ratios():
    print(f"{'family':12} {'n':>6} {'law':>8} {'seconds':>8} {'/ limit':>8} {'ESS':>6} {'ESS/s ÷ limit':>14}")
    for name, n in [
        ("gamma", 150),
        ("gamma", 1000),
        ("wishart", 150),
        ("wishart", 1000),
        ("regression", 150),
    ]:
        model, rng = MODELS[name], np.random.default_rng(n)
        mechanism = NoisyStatistics.calibrate(model, n=n, target=PureDP(1.0))
        release = mechanism.release(model.statistic(simulate(model, n, rng)[1]), SeededSource(1))
        laws = ["limit", "records", "moments"]
        seen = {}
        for law in laws:
            release.read(reading="noise_aware", law=law)  # compiles
            start = time.process_time()
            posterior = release.read(reading="noise_aware", law=law)
            seen[law] = (time.process_time() - start, posterior.diagnostics.ess)
        for law, (spent, ess) in seen.items():
            base = seen["limit"]
            print(
                f"{name:12} {n:6} {law:>8} {spent:8.2f} {spent / base[0]:8.2f} {ess:6.0f} "
                f"{ess / spent / (base[1] / base[0]):14.2f}"
            )


def main():
    if sys.argv[1:2] == ["coverage"]:
        name, replicates = sys.argv[2], int(sys.argv[3])
        points = [(int(sys.argv[4]), float(sys.argv[5]))] if len(sys.argv) > 5 else POINTS
        coverage(name, replicates, points, sys.argv[6] if len(sys.argv) > 6 else None)
    elif TINY:
        coverage("gamma", 1, [(20, 1.0)])
    else:
        ratios()


if __name__ == "__main__":
    main()
