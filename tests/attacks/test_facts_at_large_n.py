"""Readings for which bounds are facts, at large n, against sums whose law is known: no limit, no clipping.

A sum of n waits in grid steps, geometric or Poisson counts or rounded measurements has a law of its own
(negative binomial, Poisson, or its transform at roots of unity); p(Ŝ | θ) is its plain sum with the
noise, θ integrated by trapezoids. DISCREET_SWEEP=100 looks at so many settings of each.
"""

import dataclasses
import os
import warnings

import numpy as np
import pytest
from scipy import fft, special, stats

from discreet.families.beta_geometric import BetaGeometric
from discreet.families.gamma_exponential import GammaExponential
from discreet.families.gamma_poisson import GammaPoisson
from discreet.families.normal_mean import NormalMean
from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic
from discreet.posteriors.scalar.read import read

from .conftest import beside

drawn = beside("drawn_releases")
SEEDS = range(int(os.environ.get("DISCREET_SWEEP", "0")) or 2)
BELOW = np.array([0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99])
CLOSE = 0.005  # in rank; the oracle's own grids err by less than .001
FAR = 9.0  # deviations of a sum that are added up


def model_of(rng, name):
    """A model whose bounds hold nearly all records, and a parameter as its prior has it."""
    a, b = drawn.between(rng, 0.3, 1e3), drawn.between(rng, 0.3, 1e3)
    if name == "beta_geometric":
        theta = float(np.clip(rng.beta(a, b), 1e-3, 0.999))
        return BetaGeometric(a, b, upper=int(12 / theta) + 1), theta
    if name == "gamma_poisson":
        theta = float(np.clip(rng.gamma(a) / b, 1e-3, 1e3))
        return GammaPoisson(a, b, upper=int(theta + 6 * theta**0.5) + 2), theta
    if name == "gamma_exponential":
        theta = max(rng.gamma(a) / b, 1e-3)
        upper = 12 / theta
        return GammaExponential(
            a, b, upper, grid=2.0 ** (np.ceil(np.log2(upper)) - rng.integers(3, 12))
        ), theta
    sigma, theta = drawn.between(rng, 0.5, 20), rng.normal(0, 5)
    lower, upper = theta - 6 * sigma, theta + 6 * sigma
    grid = 2.0 ** (np.ceil(np.log2(sigma)) - rng.integers(-1, 8))
    return NormalMean(rng.normal(theta, sigma), a / 100, sigma**2, lower, upper, grid=grid), theta


def log_law(model, s, theta, n):
    """Log P(Σq = s | θ), (θ, s), of records that nothing clips."""
    t, g = theta[:, None], float(model.lattice.grid)
    if model.name == "beta_geometric":
        return stats.nbinom.logpmf(s, n, t)
    if model.name == "gamma_poisson":
        return stats.poisson.logpmf(s, n * t)
    if model.name == "gamma_exponential":
        return of_waits(s, t * g, n)
    mean, deviation = n * t / g, n**0.5 * float(model.noise) ** 0.5 / g
    coarse = float(model.noise) ** 0.5 / g < 1  # then what rounding adds is not the same for every θ
    return (
        of_rounded(s, theta / g, float(model.noise) ** 0.5 / g, n)
        if coarse
        else (stats.norm.logpdf(s, mean, (deviation**2 + n / 12) ** 0.5))
    )


def of_waits(s, rate, n):
    """A wait in steps is 0 with probability 1 − e^{−r/2}, else one step and a geometric number more."""
    found = np.empty((rate.size, s.size))
    for row, r in enumerate(rate[:, 0]):
        size = fft.next_fast_len(int(40 * n**0.5 * (1 / r + 1)) + 64)
        z = np.exp(2j * np.pi * np.arange(size) / size)
        values = -np.expm1(-r / 2) - np.exp(-r / 2) * np.expm1(-r) * z / (1 - np.exp(-r) * z)
        found[row] = at(s, values, n)
    return found


def of_rounded(s, centre, deviation, n):
    """Φ-cells about a whole number near the mean."""
    found = np.empty((centre.size, s.size))
    for row, m in enumerate(centre):
        base = int(np.floor(m))
        q = np.arange(base - 12, base + 14)
        mass = np.diff(special.ndtr((np.append(q, q[-1] + 1) - 0.5 - m) / deviation))
        size = fft.next_fast_len(int(40 * (n * (deviation**2 + 0.3)) ** 0.5) + 64)
        values = np.exp(2j * np.pi * np.outer(np.arange(size) / size, q - base)) @ mass
        found[row] = at(s - n * base, values, n)
    return found


def at(s, values, n):
    """Log of the n-fold convolution by roots of unity; masses wrap only twenty deviations out."""
    law = fft.fft(values**n).real / values.size
    return np.log(np.maximum(law[s.astype(np.int64) % values.size], 1e-300))


def log_noise(kind, scale, away):
    return -np.abs(away) / scale if kind.endswith("laplace") else -((away / scale) ** 2) / 2


def setting(name, seed):
    rng = np.random.default_rng([seed, len(name)])
    model, theta = model_of(rng, name)
    n, g = (
        int(drawn.between(rng, 200, 1e5 if name != "gamma_exponential" else 3e4)),
        float(model.lattice.grid),
    )
    rows = {
        "beta_geometric": lambda: rng.geometric(theta, n) - 1,
        "gamma_poisson": lambda: rng.poisson(theta, n),
        "gamma_exponential": lambda: np.floor(rng.exponential(1 / theta, n) / g + 0.5),
        "normal_mean": lambda: np.floor(rng.normal(theta, float(model.noise) ** 0.5, n) / g + 0.5),
    }[name]()
    kind, spread = drawn.KINDS[rng.integers(4)], n**0.5 * max(rows.std(), 0.3)
    scale = min(spread, drawn.between(rng, 0.5, 3e3)) * drawn.between(rng, 0.2, 3)
    noise = rng.laplace(0, scale) if kind.endswith("laplace") else rng.normal(0, scale)
    noisy = float(rows.sum() + noise + rng.choice([0, 0, 3]) * scale)
    noisy = float(np.rint(noisy)) if kind.startswith("discrete") else noisy
    return NoisyStatistic(
        model, (noisy,), n, joint=False, noise=kind, scale=float(scale), guarantee=None, seeded=True
    ), spread


def logs(release, spread, theta):
    """ln p(Ŝ | θ), sums over every s that noise and law leave; strides where both are smooth."""
    centre, reach = release.noisy[0], (45 if release.noise.endswith("laplace") else FAR) * release.scale
    reach = min(reach, FAR * spread + 9 * release.scale)
    low = (
        np.floor(centre - reach) if release.model.name == "normal_mean" else max(np.floor(centre - reach), 0)
    )
    stride = (
        max(1, int(min(spread, release.scale) / 12))
        if not release.noise.endswith("laplace")
        else max(1, int(min(spread / 12, release.scale / 40)))
    )
    s = np.arange(low, np.ceil(centre + reach) + 1, stride)
    law = log_law(release.model, s, theta, release.n)
    return special.logsumexp(law + log_noise(release.noise, release.scale, centre - s), axis=1)


def oracle(release, spread, places):
    """Quantiles by trapezoids over logit, logarithm or θ itself; the reading only says where to lay nodes."""
    name, model = release.model.name, release.model
    to, back, log_slope = {
        "beta_geometric": (special.logit, special.expit, lambda x: -np.logaddexp(0, x) - np.logaddexp(0, -x)),
        "normal_mean": (lambda x: x, lambda x: x, lambda x: 0 * x),
    }.get(name, (np.log, np.exp, lambda x: x))
    inner = to(places(np.concatenate([[2e-4], np.linspace(0.004, 0.996, 81), [1 - 2e-4]])))
    width = inner[-1] - inner[0]
    x = np.unique(np.append(inner, np.linspace(inner[0] - width / 2, inner[-1] + width / 2, 121)))
    y = logs(release, spread, back(x)) + model.log_density(back(x)) + log_slope(x)
    mass = np.exp(y - y.max())
    assert max(mass[0], mass[-1]) < 1e-3  # nothing is left outside
    below = np.append(0, np.cumsum((mass[1:] + mass[:-1]) / 2 * np.diff(x)))
    return back(np.interp(BELOW, below / below[-1], x))


FAMILIES = ("beta_geometric", "gamma_poisson", "gamma_exponential", "normal_mean")


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_reading_at_large_n_is_that_of_the_sum_s_own_law(name, seed):
    release, spread = setting(name, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        posterior = read(release, release.model)
    wanted = oracle(release, spread, posterior.at)
    np.testing.assert_allclose(posterior.cdf(wanted), BELOW, rtol=0, atol=CLOSE)


def test_the_oracle_tells_other_noise_and_another_prior():
    """Negative control: told half the noise, or a prior an eighth off, a reading is farther than allowed."""
    model = GammaPoisson(300, 100, upper=20)
    release = NoisyStatistic(
        model, (31_000.0,), 10_000, joint=False, noise="laplace", scale=600.0, guarantee=None, seeded=True
    )
    posterior = read(release, model)
    wanted = oracle(release, 200.0, posterior.at)
    assert np.abs(posterior.cdf(wanted) - BELOW).max() < CLOSE
    told = dataclasses.replace(release, scale=300.0)
    assert np.abs(read(told, model).cdf(wanted) - BELOW).max() > 2 * CLOSE
    other = dataclasses.replace(model, shape=340)
    assert np.abs(read(release, other).cdf(wanted) - BELOW).max() > 2 * CLOSE
