"""Geweke's test: θ moves given Ŝ, then Ŝ is drawn anew given the state; every marginal must stay the prior's.

Each case compares the mean and the spread of every coordinate's rank in the prior with 1/2 and 1/12, in
standard errors that count the chain's effective size. Over all cases about 150 comparisons at 4.8 deviations:
an error below 3e-4.
"""

import dataclasses

import numpy as np
import pytest

from discreet.posteriors.normal.algebra_kernel import conjugate, expand
from discreet.posteriors.normal.augment_kernel import sweeps, total_statistic
from discreet.posteriors.normal.latent_model import Observed, latent
from discreet.posteriors.normal.limit_kernel import moments, steps
from discreet.posteriors.normal.linear_regression import Design, regression_model
from discreet.posteriors.normal.starts import normal_points
from discreet.sampling.agreement import effective_size as ess

LIMIT = 4.8
ROUNDS = 6000
MOST = 24  # records, where their number is private: uniform on 0..MOST


def prior_draws(model, size, rng):
    phi, d = np.zeros((size, model.size)), model.columns
    for row in phi:
        conjugate(rng, row, model.layout, model.prior, 0, np.zeros(d), np.zeros((d, d)))
    return phi


def observed_of(family, *, power, private, n):
    unit = float(family.count_unit)
    rate = 1 / (2 * unit) if power == 1 else 0.5 / (3 * unit) ** 2
    shares = family.noise_shares if power == 2 else np.ones(family.units.size)
    public = None if private else n
    return Observed(
        np.zeros(family.units.size), shares, rate, power, public, n * unit, unit if private else 0.0
    )


def noise(observed, size, rng):
    """Of S, or of n: as wide as the widest."""
    if observed.power == 1:
        return rng.laplace(0, 1 / observed.rate, size)
    return np.sqrt(observed.variance if size == 1 else observed.variances) * rng.standard_normal(size)


def worst(chain, reference):
    """Largest deviation, in standard errors, of the coordinates' ranks and of their spread."""
    ranks = np.stack(
        [np.searchsorted(np.sort(r), c) / r.size for c, r in zip(chain.T, reference.T, strict=True)], -1
    )
    found = []
    for values, mean, variance in ((ranks, 1 / 2, 1 / 12), ((ranks - 0.5) ** 2, 1 / 12, 1 / 180)):
        error = np.sqrt(variance * (1 / ess(values[None]) + 1 / len(reference)))
        found.append(abs(values.mean(axis=0) - mean) / error)
    return float(np.max(found))


def by_records(model, observed, rng, *, rounds=ROUNDS, told=None, believed=None):
    """The chain of φ and n; `told` and `believed`: what a broken twin takes for the noise and the model."""
    own = believed or model
    start = prior_draws(model, 400, rng)
    phi, n, d = start[0].copy(), observed.about, model.columns
    private = observed.n is None
    u = rng.standard_normal((MOST if private else n, d))
    root = np.diag(0.7 * start.std(axis=0) / np.sqrt(model.size))
    mu, L, S = np.zeros(d), np.zeros((d, d)), np.zeros(observed.noisy.size)
    out = np.zeros((rounds, model.size + 1))
    for k in range(rounds):
        expand(phi, model.layout, mu, L)
        total_statistic(u, n, mu, L, model.layout[0], observed.seen(model), model.grid, S)
        count = observed.count_unit * n + (noise(observed, 1, rng)[0] if private else 0.0)
        fresh = dataclasses.replace(told or observed, noisy=S + noise(observed, S.size, rng), count=count)
        n = sweeps(
            rng, phi, u, n, root, own.layout, own.prior, fresh.seen(own), own.grid, 0, 0, out[k : k + 1], 1
        )
    return out


def by_limit(model, observed, rng, *, rounds=ROUNDS, told=None, believed=None):
    own = believed or model
    start = prior_draws(model, 400, rng)
    phi, n, d, size = start[0].copy(), observed.about, model.columns, observed.noisy.size
    private, most = observed.n is None, MOST if observed.n is None else observed.n
    points = normal_points(d, 0)[:, :128].copy()
    omega = observed.variances if observed.power == 2 else rng.exponential(observed.variance, size)
    root = np.diag(np.append(0.7 * start.std(axis=0) / np.sqrt(model.size), [3.0] * private))
    mu, L, m, V = np.zeros(d), np.zeros((d, d)), np.zeros(size), np.zeros((size, size))
    out = np.zeros((rounds, model.size + 1))
    for k in range(rounds):
        expand(phi, model.layout, mu, L)
        moments(points, mu, L, model.layout[0], observed.seen(model), model.grid, m, V)
        values, vectors = np.linalg.eigh(V)
        S = n * m + vectors @ (np.sqrt(n * np.maximum(values, 0)) * rng.standard_normal(size))
        count = observed.count_unit * n + (noise(observed, 1, rng)[0] if private else 0.0)
        noisy = S + np.sqrt(omega) * rng.standard_normal(size)
        fresh = dataclasses.replace(told or observed, noisy=noisy, count=count)
        n = steps(
            rng, phi, n, most, omega, root, own.layout, own.prior, fresh.seen(own), own.grid, points, 0, 0,
            out[k : k + 1], 1,
        )  # fmt: skip
    return out


def reference(model, observed, rng):
    phi = prior_draws(model, 20_000, rng)
    counts = rng.integers(0, MOST + 1, len(phi)) + rng.random(len(phi)) * 1e-6
    return np.column_stack([phi, counts]) if observed.n is None else phi


CASES = {
    "gamma": ("gamma", {"power": 1.0, "private": False}),
    "gamma, n private": ("gamma", {"power": 1.0, "private": True}),
    "wishart, Gaussian noise": ("wishart", {"power": 2.0, "private": False}),
    "regression": ("regression", {"power": 1.0, "private": False}),
    "regression with intercept": ("intercept", {"power": 1.0, "private": False}),
    "wishart, n private": ("wishart", {"power": 1.0, "private": True}),
    "regression, n private": ("regression", {"power": 2.0, "private": True}),
}


def case(models, name):
    which, options = CASES[name]
    family = models["regression" if which == "intercept" else which]
    observed = observed_of(family, n=12, **options)
    if which in ("regression", "intercept"):
        return regression_model(family, Design(degrees=5, intercept=which == "intercept")), observed
    return latent(family), observed


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kernel", [by_records, by_limit])
def test_the_kernel_keeps_the_prior(models, name, kernel):
    model, observed = case(models, name)
    rng = np.random.default_rng(11)
    chain = kernel(model, observed, rng)
    chain = chain + rng.random(chain.shape) * 1e-9  # ties of n
    wanted = reference(model, observed, rng)
    assert worst(chain[:, : wanted.shape[1]], wanted) < LIMIT


def forgets_the_clipping(model, observed):
    return {"believed": dataclasses.replace(model, door=model.door * 20)}


def has_a_power_too_many(model, observed):
    """Of |Σ|, in the prior's density."""
    m, kappa, nu, *rest = model.prior
    return {"believed": dataclasses.replace(model, prior=(m, kappa, nu + 1.5, *rest))}


def believes_in_a_third_of_the_noise(model, observed):
    return {"told": dataclasses.replace(observed, rate=observed.rate * 3)}


@pytest.mark.parametrize(
    ("kernel", "twin"),
    [
        (by_records, forgets_the_clipping),
        (by_limit, forgets_the_clipping),
        (by_records, has_a_power_too_many),
        (by_limit, has_a_power_too_many),
        (by_records, believes_in_a_third_of_the_noise),
    ],
)
def test_a_broken_twin_is_caught(models, kernel, twin):
    model, observed = case(models, "gamma")
    rng = np.random.default_rng(12)
    wanted = reference(model, observed, rng)
    chain = kernel(model, observed, rng, **twin(model, observed))
    assert worst(chain[:, : wanted.shape[1]], wanted) > LIMIT


@pytest.mark.parametrize("name", ["wishart, n private", "regression, n private"])
@pytest.mark.parametrize("kernel", [by_records, by_limit])
def test_a_twin_that_counts_every_record_twice_is_caught(models, name, kernel):
    model, observed = case(models, name)
    rng = np.random.default_rng(13)
    wanted = reference(model, observed, rng)
    told = dataclasses.replace(observed, count_unit=2 * observed.count_unit)
    chain = kernel(model, observed, rng, rounds=1500, told=told)
    assert worst(chain + rng.random(chain.shape) * 1e-9, wanted) > LIMIT
