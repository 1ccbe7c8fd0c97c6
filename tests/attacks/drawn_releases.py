"""Releases of one noisy sum over everything that may be asked for, drawn from a seed."""

import numpy as np

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.beta_binomial import BetaBinomial
from discreet.families.beta_geometric import BetaGeometric
from discreet.families.gamma_exponential import GammaExponential
from discreet.families.gamma_poisson import GammaPoisson
from discreet.families.normal_mean import NormalMean
from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic

KINDS = ("discrete_laplace", "discrete_gaussian", "laplace", "gaussian")
FAMILIES = (
    "beta_bernoulli",
    "beta_binomial",
    "beta_geometric",
    "gamma_poisson",
    "gamma_exponential",
    "normal_mean",
)


def between(rng, low, high):
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def model_of(rng, name, most):
    """Priors from 0.01 to 10 000, bounds and grids of any kind: two levels to `most` or more."""
    a, b = between(rng, 0.01, 1e4), between(rng, 0.01, 1e4)
    if name == "beta_bernoulli":
        return BetaBernoulli(a, b, grid=2.0 ** -int(rng.integers(0, 12)))
    if name == "beta_binomial":
        return BetaBinomial(a, b, trials=int(between(rng, 1, 50)))
    if name == "beta_geometric":
        return BetaGeometric(a, b, upper=int(between(rng, 1, most / 16)))
    if name == "gamma_poisson":
        return GammaPoisson(a, b, upper=int(between(rng, 1, most / 16)))
    bits = int(rng.integers(1, np.log2(most) + 1))
    if name == "gamma_exponential":
        upper = between(rng, 0.01, 100) * max(b / a, 1e-6)
        return GammaExponential(a, b, upper, grid=2.0 ** (np.ceil(np.log2(upper)) - bits))
    width = between(rng, 0.5, 50)
    lower, variance = rng.uniform(-5, 0), (width * between(rng, 0.02, 20)) ** 2
    grid = 2.0 ** (np.ceil(np.log2(width)) - bits)
    return NormalMean(rng.uniform(lower - 1, lower + width + 1), a, variance, lower, lower + width, grid=grid)


def total_of(rng, model, n):
    """Σ(q − low) of records that the model itself draws."""
    if model.name == "normal_mean":
        theta = rng.normal(model.mean(), model.variance() ** 0.5)
        rows = rng.normal(theta, float(model.noise) ** 0.5, n)
    elif model.name.startswith("beta"):
        theta = rng.beta(float(model.alpha), float(model.beta))
        if model.name == "beta_geometric":
            rows = np.minimum(rng.geometric(max(theta, 1e-9), n) - 1, float(model.upper))
        else:
            rows = rng.binomial(getattr(model, "trials", 1), theta, n)
    else:
        theta = rng.gamma(float(model.shape)) / float(model.rate)
        if model.name == "gamma_poisson":
            rows = np.minimum(rng.poisson(min(theta, 1e9), n), float(model.upper))
        else:
            rows = rng.exponential(1 / max(theta, 1e-300), n)
    return int(model.statistic(rows)[0]) - n * model.lattice.low


def setting(name, seed, *, private):
    """A release of any noise: half as the model has it, a quarter of any sum, a quarter impossible."""
    rng = np.random.default_rng([seed, FAMILIES.index(name), private])
    model = model_of(rng, name, 2**8 if private else 2**15)
    w = model.lattice.high - model.lattice.low
    kind, n, epsilon = KINDS[rng.integers(4)], int(between(rng, 1, 1e5)), between(rng, 0.01, 1e4)
    scale = w / epsilon * (1 if kind.endswith("laplace") else 3)
    odd = rng.random()
    total = total_of(rng, model, n) if odd < 0.5 else np.rint(rng.uniform(0, n * w))
    if odd > 0.75:
        total = np.rint(n * w / 2 + rng.choice([-1, 1]) * (n * w / 2 + scale * rng.uniform(1, 40)))
    noise = rng.laplace(0, scale, 2) if kind.endswith("laplace") else rng.normal(0, scale, 2)
    joint = private or rng.random() < 0.15
    noisy = noise + (np.array([total, n * w - total]) if joint else [total + n * model.lattice.low] * 2)
    noisy = (np.rint(noisy) if kind.startswith("discrete") else noisy)[: 2 if joint else 1]
    size = None if private else n
    return NoisyStatistic(model, tuple(noisy.tolist()), size, bool(joint), kind, scale, None, seeded=True)
