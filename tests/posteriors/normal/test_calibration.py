"""Simulation-based calibration [Talts et al. 2018]: θ from the prior, then a release; θ's rank is uniform.

Kolmogorov–Smirnov at 1e-4 a coordinate, 30 coordinates in all: a true posterior fails one run in 330. The
naive reading of the same releases must fail. 28 to 50 replicates find half of the laws of ranks that are off
by 0.42 to 0.31 somewhere, and most that are off by more. Coverage of 90 % intervals over many more replicates
is measured by benchmarks/noise_aware_normal.py and tabulated in docs/noise-aware-regression.md; here its mean
over a case must lie within 4.5 standard deviations of 0.9.
"""

import numpy as np
import pytest
from scipy.stats import kstest

from discreet.posteriors.normal.algebra_kernel import conjugate
from discreet.posteriors.normal.chains import ChainLengths
from discreet.posteriors.normal.latent_model import latent
from discreet.posteriors.normal.linear_regression import Design, regression_model

LEVEL = 1e-4


def draws_of(family, rng, size=100):
    """Of a member of the family itself, by the kernel's conjugate draw without records: fast."""
    model = regression_model(family, Design()) if family.name.endswith("regression") else latent(family)
    phi, d = np.zeros((size, model.size)), model.columns
    for row in phi:
        conjugate(rng, row, model.layout, model.prior, 0, np.zeros(d), np.zeros((d, d)))
    return model.theta(phi)


def ranks_and_coverage(model, simulate, release_of, *, n, scale, replicates, seed, private=False, **options):
    rng = np.random.default_rng(seed)
    ranks, covered, naive = [], [], []
    if not model.name.endswith("regression"):
        options["clips"] = True  # what is simulated goes beyond the bounds
    for _ in range(replicates):
        size = int(rng.integers(n // 2, 3 * n // 2)) if private else n
        theta, records = simulate(model, size, rng)
        release = release_of(model, records, rng, scale, private=private)
        posterior = release.read(reading="noise_aware", **options)
        ranks.append((posterior.draws.reshape(-1, theta.size) < theta).mean(axis=0))
        low, high = posterior.interval(0.9).T
        covered.append((low <= theta) & (theta <= high))
        naive.append((draws_of(release.read(reading="naive").law, rng) < theta).mean(axis=0))
    return np.array(ranks), np.array(covered), np.array(naive)


CASES = {
    "limit of records": (
        "gamma",
        {
            "n": 400,
            "scale": 12.0,
            "replicates": 50,
            "plan": ChainLengths(chains=2, draws=200, thin=5, burn=1000),
        },
    ),
    "few records": (
        "gamma",
        {
            "n": 40,
            "scale": 4.0,
            "replicates": 50,
            "plan": ChainLengths(chains=2, draws=200, thin=2, burn=500),
        },
    ),
    "limit, n private": (
        "gamma",
        {
            "n": 600,
            "scale": 8.0,
            "replicates": 36,
            "private": True,
            "plan": ChainLengths(chains=2, draws=200, thin=5, burn=1500),
        },
    ),
    "limit of rows": (
        "wishart",
        {
            "n": 400,
            "scale": 12.0,
            "replicates": 36,
            "plan": ChainLengths(chains=2, draws=200, thin=6, burn=2000),
        },
    ),
    "few rows": (
        "wishart",
        {
            "n": 40,
            "scale": 4.0,
            "replicates": 36,
            "plan": ChainLengths(chains=2, draws=200, thin=2, burn=600),
        },
    ),
    "limit of rows, n private": (
        "wishart",
        {
            "n": 400,
            "scale": 8.0,
            "replicates": 32,
            "private": True,
            "plan": ChainLengths(chains=2, draws=100, thin=6, burn=1000),
        },
    ),
    "regression, few rows, n private": (
        "regression",
        {
            "law": "records",
            "n": 40,
            "scale": 2.0,
            "replicates": 32,
            "private": True,
            "plan": ChainLengths(chains=2, draws=150, thin=3, burn=600),
        },
    ),
    "regression, limit": (
        "regression",
        {
            "law": "limit",
            "n": 400,
            "scale": 6.0,
            "replicates": 28,
            "plan": ChainLengths(chains=2, draws=200, thin=10, burn=3000),
        },
    ),
    "regression, few rows": (
        "regression",
        {
            "law": "records",
            "n": 40,
            "scale": 2.0,
            "replicates": 32,
            "plan": ChainLengths(chains=2, draws=200, thin=4, burn=800),
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_ranks_are_uniform_where_those_of_the_naive_reading_are_not(models, simulate, release_of, name):
    which, options = CASES[name]
    ranks, covered, naive = ranks_and_coverage(models[which], simulate, release_of, seed=5, **options)
    assert min(kstest(column, "uniform").pvalue for column in ranks.T) > LEVEL
    spread = np.sqrt(0.09 / len(covered))  # coordinates of one posterior are not independent: count one
    assert abs(covered.mean() - 0.9) < 4.5 * spread
    assert min(kstest(column, "uniform").pvalue for column in naive.T) < LEVEL
