"""Noise-aware readings of one sum over the whole range that may be asked for, against an oracle of its own.

Priors from 0.01 to 10 000, n from 1 to 100 000, ε from 0.01 to 10 000, every noise, n public or private, sums
that the model draws, any others, and impossible ones. DISCREET_SWEEP=500 looks at so many of each kind.
"""

import dataclasses
import os
import warnings

import numpy as np
import pytest
from scipy import special

from discreet.families.beta_geometric import BetaGeometric
from discreet.families.gamma_exponential import GammaExponential
from discreet.families.normal_mean import NormalMean
from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic
from discreet.posteriors.scalar.coordinate import line_of
from discreet.posteriors.scalar.likelihood import Likelihood
from discreet.posteriors.scalar.read import matched, read
from discreet.posteriors.scalar.record_law import record_law

from .conftest import beside

drawn, oracles = beside("drawn_releases"), beside("scalar_oracle")
SWEEP = int(os.environ.get("DISCREET_SWEEP", "0"))
PUBLIC, PRIVATE = range(SWEEP or 5), range(SWEEP or 1)
LEVELS = np.array([0.98, 0.9, 0.5])
BELOW = np.concatenate([(1 - LEVELS) / 2, (1 + LEVELS) / 2])
CLOSE = 0.01  # of 340 settings with n public the farthest was 0.0022


def distances(posterior, oracle, name):
    """(worst rank, mean distance of six quantiles over that of the outer two) to the oracle."""
    wanted = oracle.quantile(BELOW)
    inside = (wanted > 1e-290) & (wanted < 1 - 1e-14 if name.startswith("beta") else wanted < np.inf)
    rank = np.abs(posterior.cdf(wanted) - BELOW)[inside].max(initial=0)
    ends = np.concatenate(np.transpose([posterior.flat_interval(level).ravel() for level in LEVELS]))
    return rank, np.abs(ends - wanted).mean() / max(np.ptp(wanted), 1e-200)


def released(model, noisy, n, kind, scale):
    return NoisyStatistic(model, noisy, n, len(noisy) > 1, kind, scale, None, seeded=True)


def compared(release):
    oracle = oracles.Oracle(release)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return distances(read(release, release.model, clips=True), oracle, release.model.name)


@pytest.mark.parametrize("name", drawn.FAMILIES)
@pytest.mark.parametrize("seed", PUBLIC)
def test_a_reading_at_any_setting_is_the_oracle_s(name, seed):
    assert max(compared(drawn.setting(name, seed, private=False))) < CLOSE


@pytest.mark.parametrize("name", drawn.FAMILIES)
@pytest.mark.parametrize("seed", PRIVATE)
def test_a_reading_of_any_private_n_is_the_oracle_s(name, seed):
    assert max(compared(drawn.setting(name, seed, private=True))) < CLOSE


@pytest.mark.parametrize("private", [False, True])
def test_the_oracle_tells_other_noise_and_another_prior(private):
    """Negative control: told twice the noise, or a prior an eighth off, a reading is farther than allowed."""
    model = GammaExponential(30, 20, upper=8, grid=0.5)
    noisy = (2312.0, 5688.0) if private else (2312.0,)
    size = None if private else 500
    release = released(model, noisy, size, "laplace", 200.0)
    oracle = oracles.Oracle(release)
    assert max(distances(read(release, model, clips=True), oracle, model.name)) < CLOSE
    wider = dataclasses.replace(release, scale=400.0)
    assert min(distances(read(wider, model, clips=True), oracle, model.name)) > 2 * CLOSE
    other = dataclasses.replace(model, shape=34)
    assert min(distances(read(release, other, clips=True), oracle, model.name)) > 2 * CLOSE


# --- what the sweep found ------------
@pytest.mark.parametrize(
    "release",
    [
        released(  # an ArithmeticError, from means far beyond the bounds, which do not matter
            NormalMean(18.77, 0.014, 428.3, -3.55, 25.57, grid=0.25), (592.24, 684.69), 11, "laplace", 0.522
        ),
        released(  # no end of nodes, about a step of 1e-4 nats in the likelihood
            GammaExponential(0.024530569998828192, 46.17166413324676, upper=860.9714609562868, grid=0.5),
            (22385.0,), 13, "discrete_gaussian", 3.413357348534041,
        ),
        released(  # a steep end between few nodes, over which a cubic shoots
            GammaExponential(0.02343934987061035, 0.670002366628739, upper=225.05903730762776, grid=32),
            (2341.0,), 226, "discrete_gaussian", 1050.7691220234217,
        ),
        released(  # all of it at the θ whose mean is what was released: no tilt was better
            BetaGeometric(593.7526728035972, 6.068929134013372, upper=249), (14.0,), 5237, "discrete_laplace",
            0.11553526130484956,
        ),
    ],
    ids=["far means", "steps", "steep", "matched mean"],
)  # fmt: skip
def test_releases_that_could_not_be_read_are_read_right(release):
    assert max(compared(release)) < CLOSE


@pytest.mark.parametrize("name", drawn.FAMILIES)
def test_a_likelihood_is_smooth_where_the_mean_of_records_is_what_was_released(name):
    """There no tilt is needed; rounding chose one, and no deviation was seen: e^-0.2 to e^-4.4."""
    for seed in range(9000, 9020):
        release = drawn.setting(name, seed, private=False)
        likelihood, noisy = Likelihood.of(release, release.model), np.array(release.noisy)
        x, deviation = matched(likelihood, noisy, release.model)
        near = min(deviation, 1.0) * np.concatenate([1e-3 * np.arange(-3, 4), np.geomspace(1e-13, 1e-4, 10)])
        y = likelihood.log(noisy[None], line_of(release.model).theta(x + near))[0]
        share = near / near.max()
        np.testing.assert_allclose(np.polyval(np.polyfit(share, y, 2), share), y, rtol=0, atol=0.01)


def test_a_private_n_that_the_prior_contradicts_is_read_however_far_it_is_from_what_was_told():
    """Told 961 records near 0, which the prior forbids: noise on an empty table is likelier.

    Then Σ_n p(Ŝ | θ, n) ∝ Σ r^n = 1/(1 − r) with r = E e^{(w − 2q)/b}. Before, only n above 800 were summed.
    """
    model = GammaExponential(171, 0.265, upper=2**-14 * 1.25, grid=2**-16)
    w, b, g = 5, 7.25, 2.0**-16
    posterior = read(released(model, (-39.0, 4846.0), None, "discrete_laplace", b), model, clips=True)
    theta = np.linspace(300, 1100, 4001)
    above = np.exp(-theta[:, None] * g * (np.arange(w + 1) - 0.5))
    above[:, 0] = 1
    mass = above - np.append(above[:, 1:], np.zeros((theta.size, 1)), axis=1)
    log = model.log_density(theta) - np.log(1 - mass @ np.exp((w - 2 * np.arange(w + 1)) / b))
    below = np.cumsum(np.exp(log - log.max()))
    places = np.interp(BELOW, below / below[-1], theta)
    np.testing.assert_allclose(posterior.cdf(places), BELOW, atol=0.005)


@pytest.mark.parametrize("sigma", [25.0, 83.0])
@pytest.mark.parametrize("away", [-12, -3, -0.5, 0, 0.5, 4, 25])
def test_the_law_of_a_rounded_normal_record_is_its_sum_over_the_levels(sigma, away):
    """Right to 1e-4 where nothing but the first levels is left, also with the tilted mean on a bound."""
    width = 300
    model = NormalMean(0, 1, sigma**2, 0, width, grid=1)
    theta = np.array([away * sigma + width / 2])
    i = np.arange(width + 1)
    ends = special.log_ndtr((0.5 - theta) / sigma), special.log_ndtr((theta - width + 0.5) / sigma)
    a, b = (i[1:-1] - 0.5 - theta) / sigma, (i[1:-1] + 0.5 - theta) / sigma
    a, b = np.where(a + b > 0, -b, a), np.where(a + b > 0, -a, b)
    inner = special.log_ndtr(b) + np.log1p(-np.exp(special.log_ndtr(a) - special.log_ndtr(b)))
    log = np.concatenate([ends[0], inner, ends[1]])
    for tilt in (0.0, 0.3, -0.3, 2.0, -2.0, (width - 0.5 - theta[0]) / sigma**2):
        z = (tilt + 1j * np.array([0, 0.01, 0.3, 1, np.pi]))[None]
        top = (log + tilt * i).max()
        wanted = np.exp(log - top + z.T * i).sum(axis=1)
        found = np.exp(record_law(model).log_mgf(z, theta)[0] - top)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-4 * wanted[0].real)


@pytest.mark.parametrize(
    ("name", "seed", "theta"),
    [
        ("normal_mean", 6075, [-40, -12, -10, -9, -8.43, -7]),
        ("gamma_exponential", 6076, [1e-12, 1e-10, 1e-9, 1e-8, 3e-8, 6e-8]),
        ("gamma_exponential", 6080, [1e-50, 1e-20, 1e-10, 1e-8, 9e-8, 4e-7]),
    ],
)
def test_laplace_noise_beyond_every_sum_has_a_law_in_closed_form(name, seed, theta):
    """Above n·width, p(Ŝ | θ) ∝ (E e^{(q − width)/b})^n; there the oracle above is hundreds of nats off."""
    release, theta = drawn.setting(name, seed, private=False), np.array(theta, dtype=float)
    width = release.model.lattice.high - release.model.lattice.low
    assert release.noise.endswith("laplace")
    assert release.noisy[-1] > release.n * width  # where n is told as well, so is 0 above what the other told
    away = -2 * np.arange(width + 1) if release.joint else np.arange(width + 1) - width
    log = oracles.log_mass(release.model, theta) + away / release.scale
    wanted = release.n * special.logsumexp(log, axis=1)
    found = Likelihood.of(release, release.model, clips=True).log(np.array([release.noisy]), theta)[0]
    np.testing.assert_allclose(found - found[0], wanted - wanted[0], rtol=0, atol=1e-3)
