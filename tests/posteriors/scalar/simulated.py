"""Releases simulated without the library's own draws: θ from the prior, records, the door, noise."""

import numpy as np

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.beta_binomial import BetaBinomial
from discreet.families.beta_geometric import BetaGeometric
from discreet.families.gamma_exponential import GammaExponential
from discreet.families.gamma_poisson import GammaPoisson
from discreet.families.normal_mean import NormalMean

# Bounds so tight that many records are clipped: what is tested is that the model knows.
FAMILIES = {
    "beta_bernoulli": BetaBernoulli(2, 3),
    "beta_binomial": BetaBinomial(2, 3, trials=4),
    "beta_geometric": BetaGeometric(4, 3, upper=6),
    "gamma_poisson": GammaPoisson(3, 1, upper=6),
    "gamma_exponential": GammaExponential(3, 2, upper=2),
    "normal_mean": NormalMean(0, 1, 1, lower=-1, upper=2),
}
THETA = {
    "beta_bernoulli": lambda rng, size: rng.beta(2, 3, size),
    "beta_binomial": lambda rng, size: rng.beta(2, 3, size),
    "beta_geometric": lambda rng, size: rng.beta(4, 3, size),
    "gamma_poisson": lambda rng, size: rng.gamma(3, 1, size),
    "gamma_exponential": lambda rng, size: rng.gamma(3, 1 / 2, size),
    "normal_mean": lambda rng, size: rng.normal(0, 1, size),
}
RECORDS = {
    "beta_bernoulli": lambda rng, t, n: rng.binomial(n, t),
    "beta_binomial": lambda rng, t, n: rng.binomial(4 * n, t),
    "beta_geometric": lambda rng, t, n: np.minimum(rng.geometric(t, n) - 1, 6).sum(),
    "gamma_poisson": lambda rng, t, n: np.minimum(rng.poisson(t, n), 6).sum(),
    "gamma_exponential": lambda rng, t, n: _rounded(rng.exponential(1 / t, n), 0, 2, 2**14),
    "normal_mean": lambda rng, t, n: _rounded(rng.normal(t, 1, n), -1, 2, 2**13),
}


def _rounded(x, lower, upper, per_unit):
    return np.floor(np.clip(x, lower, upper) * per_unit + 0.5).sum()


def discrete_laplace(rng, scale, size):
    p = -np.expm1(-1 / scale)
    return rng.geometric(p, size) - rng.geometric(p, size)


def simulated(name, n, epsilon, replicates, seed):
    """(θ, S, noise scale of an ε-DP release, n public)."""
    rng = np.random.default_rng(seed)
    theta = THETA[name](rng, replicates)
    statistic = np.array([RECORDS[name](rng, t, n) for t in theta], dtype=np.float64)
    lattice = FAMILIES[name].lattice
    scale = (lattice.high - lattice.low) / epsilon
    return theta, statistic, scale, rng
