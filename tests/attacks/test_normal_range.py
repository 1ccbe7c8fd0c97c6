"""Noise-aware readings of normal moments over the whole range, against an oracle of its own.

Priors from 0.01 to 10 000, n from 5 to 100 000, ε from 0.01 to 10 000, every noise, n public or private,
releases as rows give them and impossible ones. DISCREET_SWEEP=100 looks at so many of each kind.
"""

import dataclasses
import os
import warnings

import numpy as np
import pytest

from discreet.families.linear_regression import BayesianLinearRegression
from discreet.families.normal_inverse_gamma import NormalInverseGamma
from discreet.families.normal_inverse_wishart import NormalInverseWishart
from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic
from discreet.posteriors.normal.latent_model import Observed
from discreet.posteriors.normal.moments import sample
from discreet.posteriors.normal.read import fitted, scaled, target
from discreet.privacy.guarantee import SUBSTITUTE

from .conftest import beside

drawn, oracles = beside("drawn_normals"), beside("normal_oracle")
SWEEP = int(os.environ.get("DISCREET_SWEEP", "0"))
CLOSE = 0.1  # in |F − G| at 9 quantiles: four deviations of draws worth 500, all that a reading asks for
SURE = 0.07  # two swarms from different starts; farther apart they are no oracle
PLACES = np.linspace(0.1, 0.9, 9)


def apart(draws, others):
    """The largest |F − G| of any parameter."""
    at = np.quantile(others, PLACES, axis=0)
    return max(
        np.abs((draws[:, j, None] <= at[:, j]).mean(axis=0) - PLACES).max() for j in range(at.shape[1])
    )


def oracle_of(release, seed):
    """Draws of two swarms, from near the release and from anywhere; None where they do not agree."""
    oracle = oracles.Oracle.of(release)
    both = oracle.draws([seed, 0], wide=False), oracle.draws([seed, 1], wide=True)
    return np.concatenate(both) if apart(*both) < SURE else None


def reading_of(release):
    """Draws and cautions of the law that leaves clipping out, as the oracle does."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = release.read(law="moments")
    return found.draws.reshape(-1, found.draws.shape[-1]), " ".join(found.cautions)


# Chosen after a sweep of 89 settings per family, where the oracle is sure and cheap and the chains meet: they
# guard against a step back. docs/known-limits.md says what the sweep found wrong. n is private at 3k + 2.
SEEDS = {"gamma": (102, 104, 202), "wishart": (105, 201), "regression": (101, 106, 202, 303)}
CASES = [(name, seed) for name in drawn.FAMILIES for seed in (range(SWEEP) or SEEDS[name])]


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_a_reading_at_any_setting_is_the_oracle_s_or_says_that_chains_have_not_met(name, seed):
    release = drawn.setting(name, seed, private=seed % 3 == 2)
    oracle = oracle_of(release, seed)
    if oracle is None and SWEEP:
        pytest.skip("the oracle is not sure")
    draws, said = reading_of(release)
    assert "have not converged" in said or apart(draws, oracle) < CLOSE
    assert SWEEP or "have not converged" not in said


def test_a_mean_and_a_deviation_that_are_unknown_over_decades_are_read_right():
    """A shape of 0.018 behind wide noise: before, R-hat 1.07, 55 effective draws and a rank off by 0.34."""
    release = drawn.setting("gamma", 3, private=False)
    draws, said = reading_of(release)
    assert "have not converged" not in said
    assert apart(draws, oracle_of(release, 3)) < CLOSE


def test_the_oracle_tells_noise_that_is_ten_times_as_wide():
    """Negative control."""
    release = drawn.setting("gamma", 202, private=False)
    wider = dataclasses.replace(release, scale=10 * release.scale)
    assert apart(reading_of(wider)[0], oracle_of(release, 202)) > 2 * CLOSE


def bounded(name, far):
    if name == "gamma":
        return NormalInverseGamma(0, 1, 2, 1, lower=-far, upper=far)
    if name == "wishart":
        return NormalInverseWishart([0, 0], 1, degrees=4, scale=np.eye(2).tolist(), radius=far)
    return BayesianLinearRegression([0], [[1]], 2, 1, radius=far)


@pytest.mark.parametrize("name", drawn.FAMILIES)
@pytest.mark.parametrize("far", [1.5, 10])
def test_rows_that_were_really_clipped_bring_a_caution_and_rows_within_wide_bounds_none(name, far):
    """The law of the moments leaves clipping out; beyond 1.5 are a seventh to a third of these rows."""
    rng, model, n = np.random.default_rng(5), bounded(name, far), 1000
    rows = rng.standard_normal((n, 2))
    scale = 0.3 * model.count_unit
    noisy = model.statistic(rows[:, 0] if name == "gamma" else rows) + rng.laplace(0, scale, model.units.size)
    release = NoisyStatistic(
        model,
        tuple(noisy.tolist()),
        n,
        joint=False,
        noise="laplace",
        scale=scale,
        guarantee=None,
        seeded=True,
    )
    assert ("clipped" in reading_of(release)[1]) == (far < 2)


@pytest.mark.slow
def test_a_narrow_peak_that_swarms_lose_weighs_what_chains_give_it():
    """A quarter of the posterior has one direction with hardly a variance; swarms hold .02 of it, surely.

    A swarm that begins with half as much of the peak, and jumps in and out of it, comes back to the chains'.
    """
    release, rng = drawn.setting("wishart", 121, private=False), np.random.default_rng(3)
    oracle, observed = oracles.Oracle.of(release), Observed.of(release, release.model)
    found = sample(target(scaled(release.model, observed), observed), None, rng, fitted)
    T = found.T.reshape(-1, *found.T.shape[-2:])
    wide = np.diagonal(T, axis1=1, axis2=2)
    below = np.tril_indices(T.shape[-1], -1)
    x = np.column_stack([(T / wide[:, None])[:, below[0], below[1]], 2 * np.log(wide[:, 1:])])
    share = np.mean(x[:, -1] < -3)
    assert share > 0.15
    bulk = x[x[:, -1] >= -3]
    begun = np.concatenate([x[rng.choice(len(x), 500)], bulk[rng.choice(len(bulk), 500)]])
    assert np.mean(begun[:, -1] < -3) < share - 0.09
    shares = [np.mean(rows[:, -1] < -3) for rows in oracle.walked(begun, 900, rng)]
    assert abs(np.mean(shares[450:]) - share) < 0.07


@pytest.mark.parametrize(("radius", "said"), [(4.5, True), (7, False)])
@pytest.mark.parametrize("law", [None, "normal"])
def test_few_clipped_rows_of_many_bring_a_caution_to_a_regression(radius, said, law):
    """Six rows in a thousand take a deviation off σ² where n is 100 000: it was said from 2 % on."""
    rng, n = np.random.default_rng(6), 100_000
    model = BayesianLinearRegression([0], [[1]], 2, 1, radius=radius)
    x = rng.standard_normal(n)
    noisy = model.statistic(np.column_stack([x, x + rng.standard_normal(n)])) + rng.laplace(0, 100, 3)
    release = NoisyStatistic(
        model,
        tuple(noisy.tolist()),
        n,
        joint=False,
        noise="laplace",
        scale=100.0,
        guarantee=None,
        seeded=True,
    )
    found = release.read() if law is None else release.read(law=law)
    assert any("were clipped to it" in words for words in found.cautions) == said


@pytest.mark.parametrize("epsilon", [100.0, 1e4])
def test_a_constant_column_that_nobody_declared_is_named(epsilon):
    """No normal rows are constant: the variance came out 2 to 20 times too wide, as any misfit."""
    rng, n = np.random.default_rng(8), 1000
    model = NormalInverseWishart([0, 0], 1, degrees=4, scale=np.eye(2).tolist(), radius=6)
    varied = rng.standard_normal((n, 2))
    for rows, said in ((np.column_stack([np.ones(n), varied[:, 1]]), True), (varied, False)):
        scale = float(model.sensitivity(SUBSTITUTE).l1) / epsilon
        noisy = model.statistic(rows) + rng.laplace(0, scale, model.units.size)
        release = NoisyStatistic(
            model,
            tuple(noisy.tolist()),
            n,
            joint=False,
            noise="laplace",
            scale=scale,
            guarantee=None,
            seeded=True,
        )
        words = " ".join(release.read(clips=False).cautions)
        assert ("column 1 cannot be distinguished from a constant" in words) == said
