"""Cases of one draw under a metric: two data sets at distance 1, at the ends of the bounded set of θ."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc

from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Case, Cases, Profile
from discreet.audit.cases.counts import NETWORK, network_case
from discreet.audit.cases.statistics import TRUNCATION, N, ratio_profile
from discreet.audit.exact_profiles import Law
from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.gamma_exponential import GammaExponential
from discreet.mechanisms.posterior.laplace_location import LaplaceLocation
from discreet.mechanisms.posterior.metric_sample import MetricSample, waits_drawn
from discreet.mechanisms.posterior.network_sample import OneNetworkSample
from discreet.mechanisms.posterior.one_posterior_sample import OnePosteriorSample
from discreet.privacy.under_metric.distances import AbsoluteDifference, Hamming, Weighted
from discreet.privacy.under_metric.promise import MetricDP
from discreet.sampling.source import Source

case = Cases()

LARGEST = Fraction(3)  # rate of the waits
WAITS = GammaExponential(1, 4, upper=8, grid=1)


def simplex_draws(mechanism: MetricSample, statistic: list[int], runs: int, source: Source) -> NDArray[Any]:
    """Many runs at once, NOT a release: the law that release draws once from."""
    law = OnePosteriorSample(
        mechanism.model, n=N, truncation=mechanism.truncation, temperature=mechanism.temperature
    )
    return law._private_posterior(statistic).sample(runs, source)  # noqa: SLF001


def wait_draws(mechanism: MetricSample, statistic: list[int], runs: int, source: Source) -> NDArray[Any]:
    """Many runs at once, NOT a release."""
    drawn: NDArray[Any] = waits_drawn(mechanism.model, mechanism, statistic, runs, source)
    return drawn


@case("metric_sample/beta")
def truncated_beta() -> Case:
    """All others failures, one record replaced: Hamming distance 1."""
    mechanism = MetricSample.calibrate(
        BetaBernoulli(1, 1), n=N, target=MetricDP(1, metric=Hamming()), truncation=TRUNCATION
    )
    s = 1 / float(mechanism.temperature)
    laws = (1 + s, 1 + s * (N - 1)), (1.0, 1 + s * N)
    return Case.of(
        mechanism,
        ([1], [0]),
        lambda p: p > 0.75,
        profiles.truncated_beta(*laws, float(TRUNCATION)),
        run=simplex_draws,
    )


@case("metric_sample/dirichlet")
def truncated_dirichlet() -> Case:
    mechanism = MetricSample.calibrate(
        DirichletCategorical([1, 1, 1]), n=N, target=MetricDP(1, metric=Hamming()), truncation=TRUNCATION
    )
    s = 1 / float(mechanism.temperature)
    return Case.of(
        mechanism,
        ([1, N - 1, 0], [0, N, 0]),
        lambda p: p[:, 0] > 2 * p[:, 1],
        ratio_profile([1 + s, 1 + s * (N - 1), 1], [1, 1 + s * N, 1], float(TRUNCATION)),
        run=simplex_draws,
    )


@case("metric_sample/gamma_exponential")
def truncated_gamma() -> Case:
    """Compare waits of 0 with the same but one of 1: the first make large rates likelier."""
    mechanism = MetricSample.calibrate(
        WAITS, n=N, target=MetricDP(1, metric=AbsoluteDifference(1)), truncation=LARGEST
    )
    s = 1 / float(mechanism.temperature)
    return waits_case(mechanism, (1 + s * N, 4.0), (1 + s * N, 4 + s))


def waits_case(mechanism: MetricSample, left: Law, right: Law) -> Case:
    """Σx = 0 against Σx = 1, n = 4: Gamma laws on (0, 3] that differ in their rate."""
    return Case.of(mechanism, ([0], [1]), lambda x: x > 1, below(left, right, float(LARGEST)), run=wait_draws)


def below(left: Law, right: Law, upper: float) -> Profile:
    """Gamma(a, b) against Gamma(a, b + s) on (0, M]: ln p/q = sθ + ln of the masses, which rises with θ."""
    (a, b), (_, c) = left, right
    masses = gammainc(a, b * upper), gammainc(a, c * upper)
    constant = a * math.log(b / c) - math.log(masses[0] / masses[1])

    def delta(epsilon: float) -> float:
        x = min(max((epsilon - constant) / (c - b), 0.0), upper)
        p, q = (1 - gammainc(a, r * x) / mass for r, mass in zip((b, c), masses, strict=True))
        return float(p - math.exp(epsilon) * q)

    return delta


@case("laplace_location")
def location() -> Case:
    """Three records at an end, and one moved by 1: s = 2, so that ε = 1 at distance 1."""
    mechanism = LaplaceLocation(0, 4, scale=2, grid=Fraction(1, 4))
    left, right = np.zeros(3), np.array([0.0, 0, 1])
    points = np.arange(17) / 4
    laws = (location_law(points, x, 2.0) for x in (left, right))
    return Case.of(mechanism, (left, right), lambda y: y == 0, profiles.finite(*laws))


def location_law(
    points: NDArray[np.float64], records: NDArray[np.float64], scale: float
) -> NDArray[np.float64]:
    """P(μ) ∝ e^{−Σ|x − μ|/s} on the points."""
    weights = np.exp(-np.abs(points[:, None] - records).sum(axis=1) / scale)
    return np.asarray(weights / weights.sum())


@case("metric_sample")
def network() -> Case:
    """Change a column with one child: distance 2, so that half of ε a unit is claimed as ε = 1."""
    metric = Weighted.of_network(NETWORK.parents)
    mechanism = MetricSample.calibrate(
        NETWORK, n=N, target=MetricDP(Fraction(1, 2), metric=metric), truncation=TRUNCATION
    )
    draw = OneNetworkSample(NETWORK, n=N, truncation=TRUNCATION, temperature=mechanism.temperature)
    return replace(network_case(draw, threshold=0.3), claim=mechanism.guarantee.group(2))
