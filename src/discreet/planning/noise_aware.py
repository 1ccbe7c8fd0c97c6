"""What to expect of the noise-aware reading: one sum is tabulated over Ŝ, regressions are read one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.catalogue import ROWS
from discreet.families.family import Family, Floats
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.families.scalar import ScalarFamily
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.planning.marginals import atoms
from discreet.planning.predicted_release import PredictedRelease, noised
from discreet.planning.simulated_data import SimulatedCases
from discreet.posteriors.normal.latent_model import Observed
from discreet.posteriors.normal.linear_regression_many_columns import read_normal
from discreet.posteriors.scalar.batch import batch
from discreet.posteriors.scalar.likelihood import Likelihood
from discreet.privacy.guarantee import NotProved
from discreet.progress import steps
from discreet.sampling.source import SeededSource

Reading = Callable[[Any, Floats, NoisyStatistics, float], tuple[Floats, Floats, Floats]]
PLACES = 384  # of Ŝ at which the posterior is computed; it is smooth in between
SWARM = 400  # draws of a regression's posterior, of which only ends and mean are wanted


def affordable(mechanism: Mechanism | None) -> bool:
    """Whether a plan can read every node: one sum with n public, or a linear regression."""
    if not isinstance(mechanism, NoisyStatistics):
        return False
    public = mechanism.n is not None and not mechanism.joint
    return _reading(mechanism.model) in ({tabulated, one_by_one} if public else {one_by_one})


def _reading(model: Family) -> Reading | None:
    row = ROWS.get(model.name)
    return None if row is None else row.load("plan_reading")


def noise_aware(mechanism: NoisyStatistics, cases: SimulatedCases, level: float) -> PredictedRelease:
    """Point: the posterior mean; interval: the posterior's. KL to the exact one is not computed: NaN."""
    node, noisy, weights, exact = noised(mechanism, cases)
    read = _reading(cases.model)
    if read is None:
        raise NotProved(f"plans have no quick noise-aware reading of {type(cases.model).__name__}")
    low, mean, high = read(cases.model, noisy, mechanism, level)
    unknown = np.full(len(weights), np.nan)
    return PredictedRelease(atoms(mean), (low, high), unknown, cases.theta[node], weights, exact)


def tabulated(
    model: ScalarFamily, noisy: Floats, mechanism: NoisyStatistics, level: float
) -> tuple[Floats, Floats, Floats]:
    """Lower end, mean and upper end of the posterior of every noisy row."""
    seen = np.unique(noisy[:, 0])
    places = seen[np.unique(np.linspace(0, seen.size - 1, PLACES).astype(np.int64))]
    read = batch(Likelihood.of(mechanism.as_release((), seeded=True), model), places[:, None])

    def at(values: Floats) -> Floats:
        return np.asarray(np.interp(noisy[:, 0], places, values)[:, None])

    return at(read.quantile((1 - level) / 2)), at(read.mean()), at(read.quantile((1 + level) / 2))


def one_by_one(
    model: BayesianLinearRegression, noisy: Floats, mechanism: NoisyStatistics, level: float
) -> tuple[Floats, Floats, Floats]:
    """By the reading of many weights, also for few: chains take too long for a plan."""
    release, found = mechanism.as_release((), seeded=True), []
    for i, row in steps(list(enumerate(noisy.tolist())), f"reading {mechanism.noise} noise"):
        observed = Observed.of(replace(release, noisy=tuple(row)), model)
        read = read_normal(model, observed, SeededSource(i), swarms=1, size=SWARM)
        low, high = read.flat_interval(level).T
        found.append((low, read.flat_mean(), high))
    low, mean, high = np.array(found).swapaxes(0, 1)
    return low, mean, high
