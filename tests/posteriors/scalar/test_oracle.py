"""Likelihoods and posteriors of tiny tables against enumeration of every data set, to 1e-10."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import betaln, gammaln

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.beta_binomial import BetaBinomial
from discreet.families.beta_geometric import BetaGeometric
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.dirichlet_multinomial import DirichletMultinomial
from discreet.families.gamma_exponential import GammaExponential
from discreet.families.gamma_poisson import GammaPoisson
from discreet.families.normal_mean import NormalMean
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.posteriors.noise_law import KINDS, NoiseLaw
from discreet.posteriors.scalar.likelihood import Likelihood
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.sampling.source import SeededSource

# family, and P(record = level | θ) for every level that passes the door, by scipy
TINY = [
    (BetaBernoulli(2, 3), lambda t: {0: 1 - t, 1: t}, (0.2, 0.7)),
    (BetaBinomial(2, 3, trials=2), lambda t: dict(enumerate(stats.binom.pmf(range(3), 2, t))), (0.2, 0.7)),
    (
        BetaGeometric(2, 3, upper=3),
        lambda t: {**dict(enumerate(stats.geom.pmf([1, 2, 3], t))), 3: stats.geom.sf(3, t)},
        (0.1, 0.6),
    ),
    (
        GammaPoisson(2, 1, upper=2),
        lambda t: {**dict(enumerate(stats.poisson.pmf([0, 1], t))), 2: stats.poisson.sf(1, t)},
        (0.3, 4.0),
    ),
    (
        GammaExponential(2, 1, upper=1, grid=0.5),
        lambda t: {
            0: stats.expon.cdf(0.25 * t),
            1: stats.expon.cdf(0.75 * t) - stats.expon.cdf(0.25 * t),
            2: stats.expon.sf(0.75 * t),
        },
        (0.4, 3.0),
    ),
    (
        NormalMean(0, 1, 2, lower=-1, upper=1, grid=1),
        lambda t: {
            -1: stats.norm.cdf(-0.5, t, 2**0.5),
            0: stats.norm.cdf(0.5, t, 2**0.5) - stats.norm.cdf(-0.5, t, 2**0.5),
            1: stats.norm.sf(0.5, t, 2**0.5),
        },
        (-0.5, 1.5),
    ),
]


def sums(levels, n):
    """P(S = s) of n records, by enumeration."""
    law = {}
    for records in itertools.product(levels.items(), repeat=n):
        s, p = sum(q for q, _ in records), float(np.prod([p for _, p in records]))
        law[s] = law.get(s, 0.0) + p
    return law


def noise(kind, scale, z):
    """Density or mass at z, by scipy or by summation."""
    if kind == "laplace":
        return stats.laplace.pdf(z, scale=scale)
    if kind == "gaussian":
        return stats.norm.pdf(z, scale=scale)
    if kind == "discrete_laplace":
        return stats.dlaplace.pmf(z, 1 / scale)
    k = np.arange(-200, 201)
    return np.exp(-(z**2) / (2 * scale**2)) / np.exp(-(k**2) / (2 * scale**2)).sum()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("model", "levels", "thetas"), TINY, ids=lambda x: getattr(x, "name", ""))
def test_the_likelihood_is_the_sum_over_all_data_sets(model, levels, thetas, kind):
    """Also far outside what n records can sum to: Ŝ is data, and is not clipped."""
    n, low, high = 4, model.lattice.low, model.lattice.high
    theta = np.array(thetas)
    for noisy in (-7, 0, 3, 19):
        one_sum = Likelihood(model, n, joint=False, noise=NoiseLaw(kind, 1.5), clips=True)
        seen = one_sum.log(np.array([[noisy]], dtype=np.float64), theta)
        both = replace(one_sum, joint=True).log(np.array([[noisy, 2.0]]), theta)
        for j, t in enumerate(thetas):
            law = sums(levels(t), n)
            one = sum(p * noise(kind, 1.5, noisy - s) for s, p in law.items())
            two = sum(
                p * noise(kind, 1.5, noisy - (s - n * low)) * noise(kind, 1.5, 2 - (n * high - s))
                for s, p in law.items()
            )
            close = 1e-10 if noisy in {0, 3} else 1e-9  # far out one rare sum of 1e-6 makes the likelihood
            assert seen[0, j] == pytest.approx(np.log(one), abs=close)
            assert both[0, j] == pytest.approx(np.log(two), abs=close)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("model", "levels", "thetas"), TINY, ids=lambda x: getattr(x, "name", ""))
def test_a_private_n_is_summed_over(model, levels, thetas, kind):
    """Every n up to where noise of scale 0.25 makes a further one impossible (e^{−28} is left out)."""
    low, high = model.lattice.low, model.lattice.high
    law, theta = NoiseLaw(kind, 0.25), np.array(thetas)
    noisy = np.array([[2.0, 3.0]])
    flat = Likelihood(model, None, joint=True, noise=law, clips=True).log(noisy, theta)
    biased = Likelihood(model, None, joint=True, noise=law, size_prior=lambda n: -0.3 * n, clips=True)
    biased = biased.log(noisy, theta)
    for j, t in enumerate(thetas):
        terms = [
            (n, p * noise(kind, 0.25, 2 - (s - n * low)) * noise(kind, 0.25, 3 - (n * high - s)))
            for n in range(13 if high - low < 2 else 7)
            for s, p in sums(levels(t), n).items()
        ]
        assert flat[0, j] == pytest.approx(np.log(sum(p for _, p in terms)), abs=1e-9)
        wanted = np.log(sum(p * np.exp(-0.3 * n) for n, p in terms))
        assert biased[0, j] == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize(("model", "levels", "thetas"), TINY, ids=lambda x: getattr(x, "name", ""))
def test_the_posterior_is_prior_times_likelihood(model, levels, thetas):
    release = NoisyStatistics(model, n=3, scale=2).release(model.statistic([0, 1, 1]), SeededSource(1))
    release = replace(release, noisy=(-3,))
    posterior = release.read(clips=True)

    def weight(t, power):
        law = sums(levels(t), 3)
        seen = sum(p * noise("discrete_laplace", 2, -3 - s) for s, p in law.items())
        return t**power * np.exp(float(model.log_density(t))) * seen

    ends = {"normal_mean": (-9, 9), "gamma_poisson": (0, 60), "gamma_exponential": (0, 60)}
    low, high = ends.get(model.name, (0, 1))
    moments = [quad(weight, low, high, args=(k,), epsabs=1e-13, epsrel=1e-10, limit=400)[0] for k in range(3)]
    mean = moments[1] / moments[0]
    assert posterior.mean().item() == pytest.approx(mean, rel=1e-6, abs=1e-8)
    assert posterior.variance().item() == pytest.approx(moments[2] / moments[0] - mean**2, rel=1e-5)
    density = np.log([weight(t, 0) / moments[0] for t in thetas])
    np.testing.assert_allclose(
        posterior.log_density(np.array(thetas)), density, atol=1e-3
    )  # read linearly off the grid
    ((low_end, high_end),) = posterior.interval(0.9).values
    below = quad(weight, low, low_end, args=(0,), epsabs=1e-13, limit=400)[0] / moments[0]
    above = quad(weight, high_end, high, args=(0,), epsabs=1e-13, limit=400)[0] / moments[0]
    assert (below, above) == pytest.approx((0.05, 0.05), abs=2e-5)


def test_the_bernoulli_posterior_is_a_mixture_of_betas():
    """In closed form at n = 1000: weights C(n,s)B(α+s, β+n−s)·noise, components Beta(α+s, β+n−s)."""
    model, n = BetaBernoulli(2, 3), 1000
    release = replace(NoisyStatistics(model, n=n, scale=10).release([300], SeededSource(1)), noisy=(287,))
    s = np.arange(n + 1)
    log = (
        gammaln(n + 1) - gammaln(s + 1) - gammaln(n - s + 1) + betaln(2 + s, 3 + n - s) - np.abs(287 - s) / 10
    )
    weights = np.exp(log - log.max())
    weights /= weights.sum()
    means = (2 + s) / (5 + n)
    second = (2 + s) * (3 + s) / ((5 + n) * (6 + n))
    posterior = release.read(clips=True)
    assert posterior.mean().item() == pytest.approx(weights @ means, rel=1e-8)
    assert posterior.variance().item() == pytest.approx(weights @ second - (weights @ means) ** 2, rel=1e-6)
    predicted = np.log([1 - weights @ means, weights @ means])
    np.testing.assert_allclose(posterior.log_predictive([0, 1]), predicted, atol=1e-8)


# --- counts ------------
def enumerated(release, prior, n=None, top=24):
    """E θ over all counts of a fixed or of a private n, θ integrated out."""
    a, m, law = prior.natural, prior.total_per_record, NoiseLaw.of(release)
    logs, means = [], []
    for counts in itertools.product(range(n * m + 1 if n is not None else top), repeat=a.size):
        s, total = np.array(counts), sum(counts)
        if total % m or (n is not None and total != n * m):
            continue
        cells = gammaln(s + a) - gammaln(s + 1) + law.log_density(np.array(release.noisy) - s)
        logs.append(cells.sum() + gammaln(total + 1) - gammaln(total + a.sum()))
        means.append((a + s) / (total + a.sum()))
    weights = np.exp(np.array(logs) - max(logs))
    return weights @ np.array(means) / weights.sum()


@pytest.mark.parametrize(
    ("prior", "n"), [(DirichletCategorical([1, 0.5, 2]), 6), (DirichletMultinomial([1, 0.5, 2], trials=2), 3)]
)
@pytest.mark.parametrize("kind", KINDS)
def test_chains_over_counts_find_the_enumerated_mean(prior, n, kind):
    """4 chains of 1000 draws: Monte Carlo error near 0.004; 0.02 is 5 of them. A negative count is data."""
    counts = [n * prior.total_per_record, 0, 0]
    known = NoisyStatistics(prior, n=n, scale=2, noise=kind).release(counts, SeededSource(1))
    private = NoisyStatistics(prior, scale=2, noise=kind, relation=ADD_REMOVE)
    unknown = private.release(counts, SeededSource(1), count=n)
    for release, size in ((known, n), (unknown, None)):
        read = replace(release, noisy=(3, -2, 5))
        posterior, wanted = read.posterior, enumerated(read, prior, size)
        np.testing.assert_allclose(posterior.mean(), wanted, atol=0.02)
        assert posterior.diagnostics.r_hat < 1.05
        # Beyond the counts a Laplace density falls by one factor for all of them; a Gaussian one does not,
        # and there clipping −2 to 0 would be another posterior.
        gap = np.abs(enumerated(replace(release, noisy=(3, 0, 5)), prior, size) - wanted).max()
        assert (gap < 1e-12) == kind.endswith("laplace")


# What n records sum to that no bound clipped, in steps: whole laws of sums, by scipy.
FREE = [
    (GammaPoisson(2, 1, upper=2), lambda n, t: stats.poisson(n * t), (0.3, 4.0)),
    (BetaGeometric(2, 3, upper=3), stats.nbinom, (0.15, 0.6)),
    (BetaBinomial(2, 3, trials=2), lambda n, t: stats.binom(2 * n, t), (0.2, 0.7)),
]


@pytest.mark.parametrize(("model", "law", "thetas"), FREE, ids=lambda x: getattr(x, "name", ""))
@pytest.mark.parametrize("kind", KINDS)
def test_unclipped_sums_are_those_of_the_family(model, law, thetas, kind):
    """Without clipping, n public or private: of up to 12 records, Ŝ inside and outside what bounds allow."""
    theta, noisy, steps = np.array(thetas), np.array([[3.0], [9.0], [-2.0]]), np.arange(400)
    found = Likelihood(model, 4, joint=False, noise=NoiseLaw(kind, 1.5)).log(noisy, theta)
    wanted = [[law(4, t).pmf(steps) @ noise(kind, 1.5, row[0] - steps) for t in thetas] for row in noisy]
    np.testing.assert_allclose(np.exp(found), wanted, rtol=1e-8)
    pair, high = np.array([[5.0, 4.0]]), model.lattice.high
    joint = Likelihood(model, None, joint=True, noise=NoiseLaw(kind, 1.5)).log(pair, theta)
    other = [
        sum(
            law(n, t).pmf(steps) @ (noise(kind, 1.5, 5 - steps) * noise(kind, 1.5, 4 - (n * high - steps)))
            if n
            else noise(kind, 1.5, 5) * noise(kind, 1.5, 4)
            for n in range(90)
        )
        for t in thetas
    ]
    np.testing.assert_allclose(np.exp(joint[0]), other, rtol=1e-6)


def test_unclipped_measurements_sum_to_a_normal_law():
    model, n, theta = NormalMean(0, 1, 2, lower=-1, upper=1, grid=2**-4), 5, np.array([-0.5, 1.5])
    found = Likelihood(model, n, joint=False, noise=NoiseLaw("gaussian", 8.0)).log(np.array([[21.0]]), theta)
    # 16 steps to 1; rounding adds 1/12 of a step's square to a record's variance [Sheppard]
    wanted = stats.norm(16 * n * theta, np.sqrt(n * (2 * 256 + 1 / 12) + 64)).logpdf(21.0)
    np.testing.assert_allclose(found[0], wanted, atol=1e-4)
    clipped = Likelihood(model, n, joint=False, noise=NoiseLaw("gaussian", 8.0), clips=True)
    assert np.abs(clipped.log(np.array([[21.0]]), theta)[0] - wanted).max() > 0.3
