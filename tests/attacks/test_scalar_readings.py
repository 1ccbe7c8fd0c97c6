"""Noise-aware readings of one sum against an oracle that shares nothing with them, at random settings.

The oracle convolves the mass function of a record with itself, in non-negative numbers tilted to where the
release is (or takes the binomial law, or, for fine lattices, an FFT at roots of unity), weighs every sum with
scipy's noise, and integrates over θ by trapezoids. Compared are ranks, and distances in posterior deviations:
what was wrong once covered at nearly its level all the same.
"""

import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import special, stats
from scipy.fft import next_fast_len
from scipy.interpolate import PchipInterpolator

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.beta_binomial import BetaBinomial
from discreet.families.beta_geometric import BetaGeometric
from discreet.families.gamma_exponential import GammaExponential
from discreet.families.gamma_poisson import GammaPoisson
from discreet.families.normal_mean import NormalMean
from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic
from discreet.posteriors.noise_law import NoiseLaw
from discreet.posteriors.scalar.likelihood import Likelihood
from discreet.posteriors.scalar.read import read

KINDS = ("discrete_laplace", "discrete_gaussian", "laplace", "gaussian")
LEVELS = np.array([0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99])


# --- the oracle ------------
def log_mass(model, theta):
    """Log P(q − low = i | θ), (θ, i), from the side on which a tail is small."""
    lattice, t = model.lattice, theta[:, None]
    g, w = float(lattice.grid), lattice.high - lattice.low
    i = np.arange(w + 1)
    if model.name == "beta_geometric":
        log = np.log(t) + i * np.log1p(-t)
        log[:, -1] = w * np.log1p(-theta)
    elif model.name == "gamma_poisson":
        log = stats.poisson.logpmf(i, t)
        above = special.logsumexp(stats.poisson.logpmf(np.arange(w, w + 300), t), axis=1)
        log[:, -1] = np.where(theta < w, above, stats.poisson.logsf(w - 1, theta))
    elif model.name == "gamma_exponential":
        log = -t * g * (i - 0.5) + np.log(-np.expm1(-t * g))
        log[:, 0], log[:, -1] = np.log(-np.expm1(-theta * g / 2)), -theta * g * (w - 0.5)
    else:
        s, x = float(model.noise) ** 0.5, (i + lattice.low) * g
        a, b = (x - g / 2 - t) / s, (x + g / 2 - t) / s
        ends = special.log_ndtr(b[:, 0]), special.log_ndtr(-a[:, -1])
        a, b = np.where(a + b > 0, -b, a), np.where(a + b > 0, -a, b)
        log = special.log_ndtr(b) + np.log1p(-np.exp(special.log_ndtr(a) - special.log_ndtr(b)))
        log[:, 0], log[:, -1] = ends
    return log


def power(mass, n):
    """n-fold convolution of one mass function: every term is non-negative."""
    total = np.ones(1)
    while n:
        total = np.convolve(total, mass) if n & 1 else total
        n >>= 1
        mass = np.convolve(mass, mass) if n else mass
    return total


def log_sums(model, theta, n, share):
    """Log P(Σ(q − low) = s | θ): the most that any of some tilts says, since underflow only loses.

    One tilt puts the mean of a record at `share`, one is none, two lie between.
    """
    log = log_mass(model, theta)
    i, low, high = np.arange(log.shape[1]), np.full(theta.size, -700.0), np.full(theta.size, 700.0)
    for _ in range(50):
        middle = (low + high) / 2
        tilted = special.softmax(log + middle[:, None] * i, axis=1)
        below = tilted @ i < share
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.max([_tilted(log, n, low * part) for part in (1.0, 0.3, 0.05, 0.0)], axis=0)


def _tilted(log, n, tilt):
    turned = log + tilt[:, None] * np.arange(log.shape[1])
    scale = special.logsumexp(turned, axis=1)
    laws = np.array([power(row, n) for row in np.exp(turned - scale[:, None])])
    with np.errstate(divide="ignore"):
        return np.log(laws) + n * scale[:, None] - tilt[:, None] * np.arange(laws.shape[1])


def log_noise(release, z):
    scale = float(release.scale)
    if release.noise == "laplace":
        return stats.laplace.logpdf(z, scale=scale)
    if release.noise == "gaussian":
        return stats.norm.logpdf(z, scale=scale)
    if release.noise == "discrete_laplace":
        return np.log(np.tanh(0.5 / scale)) - np.abs(z) / scale
    k = np.arange(-int(40 * scale) - 3, int(40 * scale) + 4)
    return -(z**2) / (2 * scale**2) - special.logsumexp(-(k**2) / (2 * scale**2))


def log_weights(release, n, s):
    """Of Σ(q − low) = s."""
    lattice, noisy = release.model.lattice, release.noisy
    if not release.joint:
        return log_noise(release, noisy[0] - n * lattice.low - s)
    return log_noise(release, noisy[0] - s) + log_noise(
        release, n * (lattice.high - lattice.low) - s - noisy[1]
    )


def log_likelihood(release, theta, n):
    """Of sums in [0, 1] that little noise leaves between whole numbers: on a line between both, in logs."""
    w = release.model.lattice.high - release.model.lattice.low
    centre = np.mean([release.noisy[0], n * w - release.noisy[1]]) if release.joint else release.noisy[0]
    deviation = NoiseLaw.of(release).variance ** 0.5 / (2**0.5 if release.joint else 1)
    if not isinstance(release.model, BetaBernoulli) or w == 1 or deviation > 0.2 * w:
        return log_likelihood_of_whole(release, theta, n)
    part = centre / w % 1
    below, above = (
        replace(release, noisy=tuple(np.add(release.noisy, np.array([1, -1])[: len(release.noisy)] * by * w)))
        for by in (-part, 1 - part)
    )
    return (1 - part) * log_likelihood_of_whole(below, theta, n) + part * log_likelihood_of_whole(
        above, theta, n
    )


def log_likelihood_of_whole(release, theta, n):
    model = release.model
    w = model.lattice.high - model.lattice.low
    if n == 0:
        return np.full(theta.size, log_weights(release, 0, np.zeros(1))[0])
    if isinstance(model, BetaBernoulli | BetaBinomial):
        trials = n * (w if isinstance(model, BetaBinomial) else 1)
        k = np.arange(trials + 1)
        weight = log_weights(release, n, k * (n * w // trials))
        log = stats.binom.logpmf(k, trials, theta[:, None])
    else:
        weight = log_weights(release, n, np.arange(n * w + 1))
        share = (release.noisy[0] - (0 if release.joint else n * model.lattice.low)) / n
        log = log_sums(model, theta, n, np.clip(share, 0.01 * w / n, w - 0.01 * w / n))
    return special.logsumexp(log + weight, axis=1)


def over_sizes(release, theta):
    """n private, flat: every n that is not 300 nats off."""
    w = release.model.lattice.high - release.model.lattice.low
    scale, seen = float(release.scale), sum(release.noisy)
    n = np.arange(int(max(seen, 0) / w + 45 * scale / w) + 3)
    far = np.abs(seen - n * w) / scale
    cost = far if release.noise.endswith("laplace") else far**2 / 4
    kept = n[cost < cost.min() + np.where(n * w < 200, 300, 24)]
    return special.logsumexp([log_likelihood(release, theta, int(k)) for k in kept], axis=0)


class Oracle:
    """Trapezoids in x: logit, logarithm or θ itself; the grid is laid anew where the mass is, four times."""

    @np.errstate(all="ignore")
    def __init__(self, release, points=40, rounds=5):
        self.model = release.model
        x = self._first(points)
        for turn in range(rounds):
            theta = self.theta(x)
            one = release.n is not None
            y = log_likelihood(release, theta, release.n) if one else over_sizes(release, theta)
            y = y + self._log_prior(x)
            below = self._below(x, y)
            if turn < rounds - 1:
                x = self._again(x, y, below, points)
        curve = PchipInterpolator(x, np.maximum(y, y.max() - 80))
        self.x = np.unique(np.concatenate([np.linspace(a, b, 9) for a, b in pairwise(x)]))
        self.below = self._below(self.x, curve(self.x))
        mass = np.append(np.diff(self.below), 0) / 2 + np.append(0, np.diff(self.below)) / 2
        theta = self.theta(self.x)
        self.mean = mass @ theta
        self.deviation = (mass @ (theta - self.mean) ** 2) ** 0.5

    def _first(self, points):
        m = self.model
        if m.name == "normal_mean":
            mode, dev, reach = m.mean(), m.variance() ** 0.5, 12 * float(m.noise) ** 0.5
            ends = min(mode - 40 * dev, float(m.lower) - reach), max(mode + 40 * dev, float(m.upper) + reach)
        else:
            a, b = (float(v) for v in ((m.alpha, m.beta) if "beta" in m.name else (m.shape, m.rate)))
            mode = np.log(a / b)
            dev = (1 / a + (1 / b if "beta" in m.name else 0)) ** 0.5
            ends = mode - 60 / a - 50, mode + (60 / b if "beta" in m.name else 0) + 50
        near = mode + dev * np.linspace(-40, 40, 2 * points)
        x = np.concatenate([np.linspace(*ends, 2 * points), near, mode + dev * np.linspace(-8, 8, points)])
        x = np.concatenate([x, np.linspace(-12, 12, points)]) if m.name != "normal_mean" else x
        return np.unique(x[(x >= ends[0]) & (x <= ends[1])])

    def _again(self, x, y, below, points):
        def around(nats, count):
            kept = np.flatnonzero(y > y.max() - nats)
            return np.linspace(x[max(kept[0] - 1, 0)], x[min(kept[-1] + 1, x.size - 1)], count)

        places, first = np.unique(below, return_index=True)
        spread = np.interp(np.linspace(0, 1, 2 * points), places, x[first])
        return np.unique(np.concatenate([around(32, points), around(12, points), around(1, 21), spread]))

    @staticmethod
    def _below(x, y):
        density = np.exp(y - y.max())
        whole = np.append(0, np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(x)))
        return whole / whole[-1]

    def theta(self, x):
        if self.model.name == "normal_mean":
            return x
        theta = special.expit(x) if "beta" in self.model.name else np.exp(np.minimum(x, 650))
        return np.clip(theta, 1e-300, 1 - 2.0**-53 if "beta" in self.model.name else None)

    def place(self, theta):
        if self.model.name == "normal_mean":
            return theta
        return special.logit(theta) if "beta" in self.model.name else np.log(theta)

    def _log_prior(self, x):
        m = self.model
        if m.name == "normal_mean":
            return stats.norm.logpdf(x, m.mean(), m.variance() ** 0.5)
        if "beta" in m.name:
            return -float(m.alpha) * np.logaddexp(0, -x) - float(m.beta) * np.logaddexp(0, x)
        return float(m.shape) * x - float(m.rate) * np.exp(np.minimum(x, 650))

    def quantile(self, p):
        return self.theta(np.interp(p, self.below, self.x))


def distances(release, oracle):
    """(worst rank error, mean, deviation) of the library's posterior, the latter two in deviations."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        posterior = read(release, release.model, clips=True)
        wanted = oracle.quantile(LEVELS)
        inside = (wanted > 1e-290) & (wanted < 1 - 1e-14 if "beta" in release.model.name else wanted < np.inf)
        rank = np.abs(posterior.cdf(wanted) - LEVELS)[inside].max(initial=0)
        mean, deviation = posterior.mean().item(), posterior.sd().item()
    return rank, abs(mean - oracle.mean) / oracle.deviation, abs(deviation / oracle.deviation - 1)


def released(model, noisy, n, scale, kind="discrete_laplace", *, joint=False):
    return NoisyStatistic(model, tuple(map(float, noisy)), n, joint, kind, scale, None, seeded=True)


def fine_law(model, n, theta):
    """P(S | θ), (θ, sums), at roots of unity: right to 1e-13 of its top, which the releases below ask for."""
    sums = n * (model.lattice.high - model.lattice.low) + 1
    size = next_fast_len(sums, real=True)
    found = np.concatenate(
        [
            np.fft.irfft(np.fft.rfft(np.exp(log_mass(model, part)), size, axis=1) ** n, size, axis=1)
            for part in np.array_split(theta, -(-theta.size * size // 2**21))
        ]
    )
    return np.where(found > 1e-13 * found.max(axis=1, keepdims=True), found, 0)[:, :sums]


# --- what was seen ------------
NAMED = [  # model, the same on a grid that the oracle can hold, n, ε, places of Ŝ in units of x
    (GammaExponential(3, 2, upper=4), GammaExponential(3, 2, upper=4, grid=2**-4), 200, 0.5, [163, 40, 500]),
    (
        GammaExponential(1, 1, upper=10),
        GammaExponential(1, 1, upper=10, grid=2**-3),
        100,
        0.5,
        [60, 300, 900],
    ),
    (
        NormalMean(32, 0.01, 100, 15, 50),
        NormalMean(32, 0.01, 100, 15, 50, grid=1),
        1000,
        0.05,
        [12773017 * 2**-9, 30000, 41000],
    ),
]
STATED = {163: (1.04, 1.46), 12773017 * 2**-9: (21.7, 25.9)}  # by quadrature, when the fault was reported


@pytest.mark.parametrize(
    ("fine", "coarse", "n", "epsilon", "places"), NAMED, ids=lambda x: getattr(x, "name", "")
)
def test_ordinary_releases_of_fine_columns_are_read_right(fine, coarse, n, epsilon, places):
    """A lattice coarser by 256 to 512 levels moves the oracle by less than 0.005 deviations."""
    lattice, plain = coarse.lattice, fine.name == "normal_mean"
    width = float((fine.lattice.high - fine.lattice.low) * fine.lattice.grid)
    sums = (np.arange(n * (lattice.high - lattice.low) + 1) + n * lattice.low) * float(lattice.grid)
    for place in places:
        ends = (-400, 400) if plain else (-12, 4)
        for points in (81, 61, 61, 121):  # narrower each time
            x = np.linspace(*ends, points)
            theta = x if plain else np.exp(x)
            with np.errstate(divide="ignore"):
                log = np.log(fine_law(coarse, n, theta) @ np.exp(-np.abs(place - sums) * epsilon / width))
            log += coarse.log_density(theta) + (0 if plain else x)
            kept = np.flatnonzero(log > log.max() - 12)
            ends = x[max(kept[0] - 1, 0)], x[min(kept[-1] + 1, points - 1)]
        density = np.exp(log - log.max())
        below = np.append(0, np.cumsum((density[1:] + density[:-1]) / 2))
        below /= below[-1]
        grid = float(fine.lattice.grid)
        posterior = read(released(fine, [place / grid], n, width / grid / epsilon), fine, clips=True)
        assert posterior.cdf(np.interp(LEVELS, below, theta)) == pytest.approx(LEVELS, abs=0.006)
        if place in STATED:
            assert posterior.interval(0.9).values[0] == pytest.approx(STATED[place], abs=0.06)


@pytest.mark.parametrize(
    "release",
    [
        released(GammaPoisson(100, 1, 16), [900.0], 40, 4.0, "discrete_gaussian"),
        released(GammaPoisson(100, 1, 16), [-55.0], 40, 8.0),
        released(BetaGeometric(0.1, 1, upper=15), [437.0], 40, 3.0),
        released(BetaGeometric(0.1, 1, upper=15), [640.0], 40, 15.0, "gaussian"),
        released(GammaExponential(3, 2, upper=4, grid=2**-4), [141.0, 115.0], None, 0.064, joint=True),
        released(GammaExponential(3, 2, upper=4, grid=2**-4), [141.0, 147.0], None, 0.64, joint=True),
        released(
            NormalMean(-3.2, 1.9, 0.036, -3.7, 8.8, grid=1), [19.5, 45.7], None, 0.4, "laplace", joint=True
        ),
        released(BetaBernoulli(0.5, 2, grid=2**-10), [5 * 1024 + 300.0], 70, 0.1),
    ],
    ids=str,
)
def test_odd_and_impossible_releases_are_read_right(release):
    assert max(distances(release, Oracle(release))) < 0.01


# --- settings at random ------------
def between(rng, low, high):
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def model_of(rng, name, widest):
    a, b = between(rng, 0.3, 1e4), between(rng, 0.3, 1e4)
    if name == "beta_bernoulli":
        return BetaBernoulli(between(rng, 0.01, 1e4), b, grid=2.0 ** -int(rng.integers(0, 12)))
    if name == "beta_binomial":
        return BetaBinomial(a, between(rng, 0.01, 1e4), trials=int(rng.integers(1, 12)))
    if name == "beta_geometric":
        return BetaGeometric(between(rng, 0.01, 1e4), b, upper=int(between(rng, 1, widest)))
    if name == "gamma_poisson":
        return GammaPoisson(between(rng, 0.01, 1e4), b, upper=int(between(rng, 1, widest)))
    bits = int(rng.integers(1, int(np.log2(widest)) + 1))
    if name == "gamma_exponential":
        upper = between(rng, 0.1, 100)
        return GammaExponential(
            between(rng, 0.01, 1e4), b, upper, grid=2.0 ** np.floor(np.log2(upper) - bits)
        )
    lower, width = rng.uniform(-5, 0), between(rng, 0.5, 50)
    mean, grid = rng.uniform(lower - 1, lower + width + 1), 2.0 ** np.floor(np.log2(width) - bits)
    return NormalMean(mean, between(rng, 0.01, 1e4), between(rng, 0.01, 1e3), lower, lower + width, grid=grid)


def setting(name, seed, *, private):
    """A release of any noise, n public or not, of any sum or of an impossible one."""
    rng = np.random.default_rng([seed, len(name), private])
    model = model_of(rng, name, 8 if private else 32)
    w = model.lattice.high - model.lattice.low
    kind = KINDS[rng.integers(4)]
    epsilon = between(rng, 0.5, 1e3) if private else between(rng, 0.01, 1e4)
    scale = max(w / epsilon * (1 if kind.endswith("laplace") else 2), 0.05)
    most = (
        15 if private else 1e5 if name in {"beta_bernoulli", "beta_binomial"} and seed % 4 == 0 else 300 / w
    )
    n = int(between(rng, 1, max(most, 1.5)))
    total = rng.uniform(0, n * w)
    if rng.random() < 0.3:
        total = rng.choice([-1, 1]) * (n * w / 2 + scale * rng.uniform(1, 40)) + n * w / 2
    noise = rng.laplace(0, scale, 2) if kind.endswith("laplace") else rng.normal(0, scale, 2)
    joint = private or rng.random() < 0.15
    noisy = noise + np.array([total, n * w - total]) if joint else [total + n * model.lattice.low + noise[0]]
    noisy = np.rint(noisy) if kind.startswith("discrete") else np.asarray(noisy)
    return released(model, noisy, None if private else n, scale, kind, joint=bool(joint))


FAMILIES = (
    "beta_bernoulli",
    "beta_binomial",
    "beta_geometric",
    "gamma_poisson",
    "gamma_exponential",
    "normal_mean",
)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("seed", range(4))
def test_readings_at_random_settings_are_the_oracle_s(name, seed):
    """Every setting, not most of them. Where the prior has a pole a deviation is the tail's; ranks do."""
    release = setting(name, seed, private=False)
    rank, mean, deviation = distances(release, Oracle(release))
    pole = min(float(getattr(release.model, what, 1)) for what in ("alpha", "beta", "shape")) < 0.3
    assert rank < 0.01
    assert pole or max(mean, deviation) < 0.01


@pytest.mark.parametrize("name", FAMILIES)
def test_readings_of_a_private_n_at_random_settings_are_the_oracle_s(name):
    release = setting(name, 1, private=True)
    rank, mean, deviation = distances(release, Oracle(release, points=24))
    pole = min(float(getattr(release.model, what, 1)) for what in ("alpha", "beta", "shape")) < 0.3
    assert rank < 0.01
    assert pole or max(mean, deviation) < 0.02


def test_the_oracle_sees_a_wrong_noise():
    """Negative control: told half the noise, a reading is off by more than the tests allow."""
    release = released(GammaPoisson(3, 1, upper=6), [40.0], 20, 12.0)
    oracle = Oracle(released(GammaPoisson(3, 1, upper=6), [40.0], 20, 6.0))
    assert max(distances(release, oracle)) > 0.05


# --- laws ------------
@pytest.mark.parametrize("model", [GammaExponential(3, 2, upper=4), NormalMean(32, 0.01, 100, 15, 50)])
@pytest.mark.parametrize("n", [200, None])
def test_a_likelihood_does_not_depend_on_the_values_beside_it(model, n):
    w = model.lattice.high - model.lattice.low
    release = released(model, [90 * w, 110 * w] if n is None else [90 * w], n, 2 * w, joint=n is None)
    likelihood, noisy = Likelihood.of(release, model, clips=True), np.array([release.noisy])
    theta = np.geomspace(1e-3, 1e3, 9)
    together = likelihood.log(noisy, theta)[0]
    alone = [likelihood.log(noisy, theta[i : i + 1])[0, 0] for i in range(theta.size)]
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-9)
    rising = np.diff(together)[: np.argmax(together)], -np.diff(together)[np.argmax(together) :]
    assert np.concatenate(rising).min() > -1e-9  # it has one top: nothing rings


@pytest.mark.parametrize("kind", ["discrete_laplace", "gaussian"])
def test_many_sizes_under_one_integral_are_the_sum_of_each(kind):
    """At 100 000 records, where a tilt of nearly 0 once lost what two noises share."""
    model = NormalMean(0, 1, 1, -1, 2)
    w = model.lattice.high - model.lattice.low
    release = released(model, [40_000.3 * w, 60_000.2 * w], None, 1.0 * w, kind, joint=True)
    likelihood, row = Likelihood.of(release, model, clips=True), np.array(release.noisy)
    n, theta = np.arange(99_980.0, 100_021.0), np.linspace(0.14, 0.16, 5)
    each = likelihood._each(row, theta, n, np.zeros(n.size))
    together = likelihood._summed(row, theta, n, np.zeros(n.size))
    np.testing.assert_allclose(together, each, rtol=0, atol=1e-5)


def test_a_law_that_is_none_is_an_error():
    from discreet.posteriors.scalar import batch as noise_aware_table
    from discreet.posteriors.scalar.record_law import Trial

    class Leaking(Trial):
        def ends(self, theta):
            low, high = super().ends(theta)
            return low, high - 1e-6

    model = BetaBernoulli(2, 3)
    likelihood = Likelihood.of(released(model, [4], 9, 2.0), model, clips=True)
    likelihood.__dict__["record"] = Leaking(0, 1)
    with pytest.raises(ArithmeticError, match="does not sum to one"):
        likelihood.log(np.array([[4.0]]), np.array([0.3]))
    with pytest.raises(ArithmeticError, match="below 0"):
        noise_aware_table._log_law(np.array([[0.5, -0.022, 0.522]]), np.ones((1, 3), dtype=bool))
