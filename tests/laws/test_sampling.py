"""Draws follow the law: Kolmogorov–Smirnov on each coordinate, a fixed seed, and a neighbour law rejected.

400 draws and p > 1e-6 on each of some 30 coordinates: over random seeds they would fail once in 3e4, and the
seeds are fixed. The negative control shifts the law by half a deviation.
"""

import numpy as np
import pytest
from scipy import stats

from discreet.families.registry import EXAMPLES
from discreet.sampling.source import SeededSource

SIZE = 400


def _marginals(member):
    """scipy's law of each coordinate of θ that has one."""
    name = member.name
    if name.startswith("beta"):
        return [stats.beta(float(member.alpha), float(member.beta))]
    if name.startswith("gamma"):
        return [stats.gamma(float(member.shape), scale=1 / float(member.rate))]
    if name.startswith("dirichlet"):
        total = member.natural.sum()
        return [stats.beta(a, total - a) for a in member.natural]
    if name == "normal_mean":
        return [stats.norm(member.mean(), np.sqrt(member.variance()))]
    degrees = {"normal_inverse_wishart": lambda: float(member.degrees) - member.dimension + 1}
    nu = degrees.get(name, lambda: 2 * float(member.shape))()
    ends = member.interval(0.5)
    laws = []
    for k, (low, high) in enumerate(ends):
        if name == "normal_inverse_wishart" and k == 3:
            laws.append(None)  # the covariance: its quantiles are tested against scipy draws
        elif k in _spreads(member):
            laws.append(stats.invgamma(nu / 2, scale=high * stats.gamma(nu / 2).ppf(0.25)))
        else:
            laws.append(stats.t(nu, (low + high) / 2, (high - low) / 2 / stats.t(nu).ppf(0.75)))
    return laws


def _spreads(member):
    return {"normal_inverse_gamma": {1}, "bayesian_linear_regression": {2}}.get(member.name, {2, 4})


@pytest.mark.slow
@pytest.mark.parametrize(("prior", "data"), EXAMPLES, ids=lambda x: getattr(x, "name", ""))
def test_draws_follow_the_law(prior, data):
    member = prior.update(prior.statistic(data), len(data), weight=0.5)
    draws = member.sample(SIZE, SeededSource(20)).reshape(SIZE, -1)
    assert np.array_equal(draws, member.sample(SIZE, SeededSource(20)).reshape(SIZE, -1))
    laws = _marginals(member)
    assert len(laws) == draws.shape[1]
    for column, law in zip(draws.T, laws, strict=True):
        if law is not None:
            assert stats.kstest(column, law.cdf).pvalue > 1e-6
            assert stats.kstest(column + 0.5 * law.std(), law.cdf).pvalue < 1e-6
    assert np.all(np.isfinite(member.log_density(draws if draws.shape[1] > 1 else draws[:, 0])))


def test_the_default_source_is_the_operating_system():
    member = EXAMPLES[0][0]
    assert not np.array_equal(member.sample(8), member.sample(8))  # equal once in 2^200


def test_location_and_spread_are_drawn_together():
    """Corr(|μ − m|, σ) > 0 in Normal–inverse-gamma; independent draws have |z| < 6 (error rate 2e-9)."""
    member = next(p for p, _ in EXAMPLES if p.name == "normal_inverse_gamma")
    mu, variance = member.sample(4000, SeededSource(3)).T
    z = np.corrcoef(np.abs(mu - 0.5), np.sqrt(variance))[0, 1] * np.sqrt(4000)
    assert z > 6
    shuffled = np.corrcoef(np.abs(mu - 0.5), np.sqrt(np.roll(variance, 1)))[0, 1] * np.sqrt(4000)
    assert abs(shuffled) < 6
