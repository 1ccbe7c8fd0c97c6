"""What each mechanism would release from imagined data sets: the law of the point, and the posterior read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import final

import numpy as np
from scipy.special import gammainc, gammaincinv

from discreet.families.exact_fields import rational
from discreet.families.family import Family, Floats, Integers
from discreet.families.laws.beta import BetaLaw
from discreet.families.laws.dirichlet import DirichletLaw
from discreet.families.laws.gamma import GammaLaw
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.posterior.draw import PosteriorDraw
from discreet.mechanisms.posterior.metric_sample import MetricSample, between_neighbours
from discreet.mechanisms.posterior.one_posterior_sample import OnePosteriorSample
from discreet.mechanisms.posterior.tempered_laws import TruncatedPosterior
from discreet.mechanisms.regression.adassp import AdaSSP
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.planning.imagined import Rng, strata
from discreet.planning.marginals import QUANTILE, REACH, Marginal, atoms, masses, truncated_beta
from discreet.planning.posterior_arrays import kl, marginals, read, updated
from discreet.planning.simulated_data import SimulatedCases
from discreet.privacy.guarantee import NotProved
from discreet.sampling.source import SeededSource

MOST_PAIRS = 2**18  # of data set and noise, in an exact sum
ATTEMPTS = 200  # of a rejection, before the exact sampler
STRATIFIED_PAIRS = 2**15  # of data set and stratum of real noise


@final
@dataclass(frozen=True, eq=False)
class PredictedRelease:
    """For every node: the law of the released point given the data, and the interval one would read."""

    point: Marginal
    interval: tuple[Floats, ...] | None  # both ends; None: one draw, of which no interval can be read naively
    divergence: Floats  # KL(true posterior ‖ law released or read)
    theta: Floats
    weights: Floats
    exact: bool


def without_privacy(cases: SimulatedCases, level: float) -> PredictedRelease:
    """Return the posterior mean and the posterior themselves: what no mechanism can beat."""
    law = marginals(cases.model, updated(cases.model, cases.statistics, cases.n))
    zero = np.zeros(len(cases.weights))
    return PredictedRelease(
        atoms(law.mean), interval(law, level), zero, cases.theta, cases.weights, cases.exact
    )


def interval(law: Marginal, level: float) -> tuple[Floats, ...]:
    """Both ends of the equal-tailed interval."""
    return law.quantile((1 - level) / 2), law.quantile((1 + level) / 2)


@singledispatch
def predict_release(mechanism: Mechanism, cases: SimulatedCases, level: float) -> PredictedRelease:
    """Predict what leaves; raises NotProved for mechanisms that planning does not know."""
    del cases, level
    raise NotProved(f"planning knows the posterior mechanisms and NoisyStatistics, not {mechanism.name!r}")


@predict_release.register(PosteriorDraw)
def _predict_release_posterior_draw(
    mechanism: PosteriorDraw, cases: SimulatedCases, level: float
) -> PredictedRelease:
    del level
    true = updated(cases.model, cases.statistics, cases.n)
    drawn = updated(mechanism.prior, cases.statistics, cases.n, mechanism.weight)
    divergence = kl(cases.model, true, drawn)
    return PredictedRelease(
        marginals(cases.model, drawn), None, divergence, cases.theta, cases.weights, cases.exact
    )


@predict_release.register(OnePosteriorSample)
def _predict_release_one_posterior_sample(
    mechanism: OnePosteriorSample, cases: SimulatedCases, level: float
) -> PredictedRelease:
    """KL is ∞: the truncated law gives probability 0 to a part of the true posterior."""
    del level
    added = updated(cases.model, cases.statistics, cases.n, mechanism.weight) - cases.model.natural
    point = truncated(cases.model, added, mechanism, cases.seed)
    infinite = np.full(len(cases.weights), np.inf)
    return PredictedRelease(point, None, infinite, cases.theta, cases.weights, cases.exact)


@singledispatch
def truncated(model: Family, added: Floats, mechanism: OnePosteriorSample, seed: int) -> Marginal:
    """Law of one draw of Dirichlet(tempered prior + what the data add) on {θ_i ≥ a₀}."""
    del added, mechanism, seed
    raise NotProved(f"OnePosteriorSample truncates Beta and Dirichlet posteriors, not {type(model).__name__}")


@truncated.register(BetaLaw)
def _truncated_beta_law(_model: BetaLaw, added: Floats, mechanism: OnePosteriorSample, seed: int) -> Marginal:
    del seed
    a, b = (float(entry) for entry in mechanism.prior.entries)
    lower = float(mechanism.lower)
    return truncated_beta(a + added[:, :1], b + added[:, 1:] - added[:, :1], lower, 1 - lower)


@truncated.register(DirichletLaw)
def _truncated_dirichlet_law(
    _model: DirichletLaw, added: Floats, mechanism: OnePosteriorSample, seed: int
) -> Marginal:
    """No closed form: one draw a node, by rejection; by the exact sampler where that rarely succeeds."""
    rng, lower = np.random.default_rng(seed), float(mechanism.lower)
    entries = np.array([float(entry) for entry in mechanism.prior.entries]) + added
    drawn, left = np.empty_like(entries), np.arange(len(entries))
    for _ in range(ATTEMPTS):
        weights = rng.standard_gamma(entries[left])
        theta = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
        inside = np.all(theta >= lower, axis=1)
        drawn[left[inside]] = theta[inside]
        left = left[~inside]
    source, draw = SeededSource(seed), mechanism.prior.draw
    for i in left.tolist():
        law = TruncatedPosterior(tuple(map(Fraction, entries[i].tolist())), mechanism.lower, draw)
        drawn[i] = law.sample(1, source)[0]
    return atoms(drawn)


@predict_release.register(MetricSample)
def _predict_release_metric_sample(
    mechanism: MetricSample, cases: SimulatedCases, level: float
) -> PredictedRelease:
    """Predict the same draw as between neighbours; of waits one draw a node, Gamma on (0, M] inverted."""
    if not isinstance(cases.model, GammaLaw):
        return predict_release(between_neighbours(mechanism), cases, level)
    weight = 1 / rational(mechanism.temperature, what="temperature")
    shape, rate = updated(cases.model, cases.statistics, cases.n, weight).T
    uniform = np.random.default_rng(cases.seed).random(len(shape))
    most = gammainc(shape, rate * float(mechanism.truncation))
    drawn = np.minimum(gammaincinv(shape, uniform * most) / rate, float(mechanism.truncation))
    infinite = np.full(len(cases.weights), np.inf)
    return PredictedRelease(atoms(drawn[:, None]), None, infinite, cases.theta, cases.weights, cases.exact)


@predict_release.register(NoisyStatistics)
def _predict_release_noisy_statistics(
    mechanism: NoisyStatistics, cases: SimulatedCases, level: float
) -> PredictedRelease:
    """Read the naive posterior of each noisy statistic; its mean is the point."""
    node, noisy, weights, exact = noised(mechanism, cases)
    rows, index = _distinct(noisy)
    eta = read(cases.model, rows, mechanism.as_release((), seeded=True))
    law = marginals(cases.model, eta)
    true = updated(cases.model, cases.statistics, cases.n)
    return PredictedRelease(
        atoms(law.mean[index]),
        tuple(end[index] for end in interval(law, level)),
        kl(cases.model, true[node], eta[index]),
        cases.theta[node],
        weights,
        exact,
    )


@predict_release.register(AdaSSP)
def _predict_release_ada_ssp(mechanism: AdaSSP, cases: SimulatedCases, level: float) -> PredictedRelease:
    """Return points of the weights and nothing else: σ² and the divergence are NaN."""
    del level
    whole, seed = cases.statistics.astype(np.int64), cases.seed
    fits = [mechanism.release(row, SeededSource(seed + i)).weights for i, row in enumerate(whole)]
    unknown = np.full(len(cases.weights), np.nan)
    point = atoms(np.column_stack([np.array(fits), unknown]))
    return PredictedRelease(point, None, unknown, cases.theta, cases.weights, cases.exact)


def _distinct(rows: Floats) -> tuple[Floats, Integers]:
    """Distinct rows, and where each row is among them; quick where exact sums repeat, in one column."""
    if rows.shape[1] > 1:
        return rows, np.arange(len(rows))
    values, index = np.unique(rows[:, 0], return_inverse=True)
    return values[:, None], index


def mean_moved(mechanism: NoisyStatistics, cases: SimulatedCases) -> float:
    """E(mean of the naive posterior − mean of the exact one)², averaged over coordinates: what noise adds."""
    node, noisy, weights, _ = noised(mechanism, cases)
    read_mean = marginals(cases.model, read(cases.model, noisy, mechanism.as_release((), seeded=True))).mean
    exact_mean = marginals(cases.model, updated(cases.model, cases.statistics, cases.n)).mean
    return float((weights @ (read_mean - exact_mean[node]) ** 2).mean())


def noised(mechanism: NoisyStatistics, cases: SimulatedCases) -> tuple[Integers, Floats, Floats, bool]:
    """(node, S + Z, weight) of every pair of data set and noise: an exact sum if short, else stratified."""
    values, scale = _encoded(mechanism, cases), float(mechanism.scale)
    count, width = values.shape
    if cases.exact and width == 1 and REACH.get(mechanism.noise, np.inf) * scale * count <= MOST_PAIRS:
        support, mass = masses(mechanism.noise, scale)
        pairs = values[:, None, :] + support[None, :, None]
        weights = cases.weights[:, None] * mass
        return np.repeat(np.arange(count), support.size), pairs.reshape(-1, 1), weights.reshape(-1), True
    copies = max(1, STRATIFIED_PAIRS // (count * width)) if cases.exact else 1
    node, rng = np.repeat(np.arange(count), copies), cases.rng()
    u = np.stack([_spread(count, copies, rng) for _ in range(width)], axis=-1)
    scales = scale * np.sqrt(mechanism.shares(width))
    noise = np.stack([QUANTILE[mechanism.noise](float(s), u[..., j]) for j, s in enumerate(scales)], axis=-1)
    return node, values[node] + noise, cases.weights[node] / copies, False


def _spread(count: int, copies: int, rng: Rng) -> Floats:
    """Stratified uniforms: within each node's copies, or across the nodes when each has one."""
    if copies == 1:
        return strata(count, rng)
    return np.concatenate([strata(copies, rng) for _ in range(count)])


def _encoded(mechanism: NoisyStatistics, cases: SimulatedCases) -> Floats:
    """Return what is noised: S, or (S, n) as the family encodes it."""
    if not mechanism.joint:
        return cases.statistics
    whole = cases.statistics.astype(np.int64)
    return np.array([cases.model.joint(row, cases.n) for row in whole], dtype=np.float64)
