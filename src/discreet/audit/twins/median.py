"""Broken twins of the medians and of sample-and-aggregate: BROKEN ON PURPOSE, never for use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Case
from discreet.audit.cases.median import (
    Data,
    clipped_quarters,
    laplace_event,
    local_sensitivity,
    lower_median,
    shuffles,
    smooth_sensitivity,
)
from discreet.audit.exact_profiles import Law
from discreet.audit.twins.twin import Twins
from discreet.mechanisms.noise.laplace import DiscreteLaplace, Laplace
from discreet.mechanisms.sensitivity.sample_and_aggregate import SampleAndAggregate
from discreet.privacy.kinds import ApproxDP
from discreet.sampling.source import Source

twin = Twins()


def laplace_case(claim: ApproxDP, laws: tuple[Law, Law]) -> Case:
    """Laplace noise of the given centers and scales, drawn exactly."""

    def noisy(law: Law, runs: int, source: Source) -> NDArray[Any]:
        return Laplace(1, Fraction(law[1])).releases(Fraction(law[0]), runs, source)

    return Case(claim, noisy, laws, laplace_event(*laws, 1.0), profiles.laplace(*laws))


@twin("smooth_sensitivity_median/smoothness", "β ten times too large")
def beta_too_large() -> Case:
    """β = ln 2 at δ = 1e-3, where the published rule allows 0.066 [NRS07 §2.2]."""
    pair: tuple[Data, Data] = ((0.0, 1.0, 1.0), (0.0, 0.5, 1.0))
    laws = tuple((lower_median(x), smooth_sensitivity(x, math.log(2)) / 0.5) for x in pair)
    return laplace_case(ApproxDP(1, 1e-3), (laws[0], laws[1]))


@twin("smooth_sensitivity_median/local_sensitivity", "noise scaled to the local sensitivity")
def local_noise() -> Case:
    """Median of {0,0,0,0,1}: local sensitivity 0, so no noise at all; of {0,0,0,1,1}: local sensitivity 1."""

    def noisy(data: Data, runs: int, source: Source) -> NDArray[Any]:
        scale = 2 * local_sensitivity(data)
        return Laplace(1, scale).releases(0, runs, source) if scale else np.zeros(runs)

    pair = ((0.0, 0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0, 1.0, 1.0))
    return Case(ApproxDP(1, 1e-3), noisy, pair, lambda y: y == 0, lambda _: 1.0)


@twin("propose_test_release/no_test", "releases without the test")
def no_test() -> Case:
    """Take the proposal b = ¼ on trust: (0, 0, 1) against (0, 1, 1) moves the median by 1."""
    return laplace_case(ApproxDP(1, 0.1), ((0.0, 0.5), (1.0, 0.5)))


def summed_laplace(loss: float) -> NDArray[np.float64]:
    return np.asarray(np.exp(-np.abs(np.arange(-400, 401)) * loss) * math.tanh(loss / 2))


@twin("clipped_mean/not_clipped", "records are not clipped")
def not_clipped() -> Case:
    """Sum a record of 3 in a column declared to lie in [0, 1] as it is: 12 cells of ¼."""
    honest = clipped_quarters()
    noise, pmf = DiscreteLaplace(4, 4), summed_laplace(0.25)

    def release(records: Sequence[float], runs: int, source: Source) -> NDArray[Any]:
        cells = int(4 * sum(records))
        return noise.releases(cells, runs, source) / 8

    return Case(
        honest.guarantee,
        release,
        ([3.0, 0.5], [0.0, 0.5]),
        lambda y: y >= 1.25,
        profiles.finite(np.concatenate([np.zeros(12), pmf]), np.concatenate([pmf, np.zeros(12)])),
    )


@twin("sample_and_aggregate/overlapping_blocks", "blocks share records")
def overlapping_blocks() -> Case:
    """Two blocks of three out of four records: the one that differs is in both more often than not."""
    mean = clipped_quarters()
    honest = SampleAndAggregate(lambda block: float(np.max(block)), 2, mean)
    pmf = summed_laplace(0.25)

    def release(first: float, runs: int, source: Source) -> NDArray[Any]:
        order = shuffles(source, 4, runs)
        both = ((order[:, 1:3] == 0).any(axis=1)) * 1.0  # positions 0–2 and 1–3 overlap in 1 and 2
        answers = first * (1 + both)  # how many of the two maxima are 1
        noise = mean.noise.releases(0, runs, source)
        return np.asarray((4 * answers + noise) / 8)

    one, two = (np.concatenate([np.zeros(k), pmf, np.zeros(8 - k)]) for k in (4, 8))
    return Case(
        honest.guarantee,
        release,
        (1.0, 0.0),
        lambda y: y >= 0.75,
        profiles.finite((one + two) / 2, np.concatenate([pmf, np.zeros(8)])),
    )
