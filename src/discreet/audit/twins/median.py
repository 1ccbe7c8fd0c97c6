"""Broken twins of the medians and of sample-and-aggregate: BROKEN ON PURPOSE, never for use."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

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
from discreet.audit.cases.noise import repeated
from discreet.audit.twins.twin import BOTH, Twin
from discreet.mechanisms.noise.laplace import DiscreteLaplace, Laplace
from discreet.mechanisms.sensitivity.sample_and_aggregate import SampleAndAggregate
from discreet.privacy.kinds import ApproxDP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.audit.case import Runs
    from discreet.audit.exact_profiles import Law
    from discreet.sampling.source import Source


def laplace_case(name: str, claim: ApproxDP, laws: tuple[Law, Law]) -> Case:
    """Laplace noise of the given centers and scales, drawn exactly."""
    left, right = (repeated(Laplace(1, Fraction(scale)), Fraction(center)) for center, scale in laws)
    event, delta = laplace_event(*laws, 1.0), profiles.laplace(*laws)
    return Case(name, claim, 1.0, left, right, event, delta)


def beta_too_large() -> Case:
    """β = ln 2 at δ = 1e-3, where the published rule allows 0.066 [NRS07 §2.2]."""
    pair: tuple[Data, Data] = ((0.0, 1.0, 1.0), (0.0, 0.5, 1.0))
    laws = tuple((lower_median(x), smooth_sensitivity(x, math.log(2)) / 0.5) for x in pair)
    return laplace_case("smooth_sensitivity_median/smoothness", ApproxDP(1, 1e-3), (laws[0], laws[1]))


def local_noise() -> Case:
    """Median of {0,0,0,0,1}: local sensitivity 0, so no noise at all; of {0,0,0,1,1}: local sensitivity 1."""
    assert local_sensitivity((0.0, 0.0, 0.0, 0.0, 1.0)) == 0.0
    noise = Laplace(1, 2 * local_sensitivity((0.0, 0.0, 0.0, 1.0, 1.0)))
    return Case(
        "smooth_sensitivity_median/local_sensitivity",
        ApproxDP(1, 1e-3),
        1.0,
        lambda runs, _: np.zeros(runs),
        repeated(noise, 0),
        lambda y: y == 0,
        lambda _: 1.0,
    )


def no_test() -> Case:
    """Take the proposal b = ¼ on trust: (0, 0, 1) against (0, 1, 1) moves the median by 1."""
    return laplace_case("propose_test_release/no_test", ApproxDP(1, 0.1), ((0.0, 0.5), (1.0, 0.5)))


def summed_laplace(loss: float) -> NDArray[np.float64]:
    return np.asarray(np.exp(-np.abs(np.arange(-400, 401)) * loss) * math.tanh(loss / 2))


def not_clipped() -> Case:
    """Sum a record of 3 in a column declared to lie in [0, 1] as it is: 12 cells of ¼."""
    honest = clipped_quarters()
    noise, pmf = DiscreteLaplace(4, 4), summed_laplace(0.25)

    def release(records: Sequence[float]) -> Runs:
        cells = int(4 * sum(records))
        return lambda runs, source: noise.releases(cells, runs, source) / 8

    return Case(
        "clipped_mean/not_clipped",
        honest.guarantee,
        1.0,
        release([3.0, 0.5]),
        release([0.0, 0.5]),
        lambda y: y >= 1.25,
        profiles.finite(np.concatenate([np.zeros(12), pmf]), np.concatenate([pmf, np.zeros(12)])),
    )


def overlapping_blocks() -> Case:
    """Two blocks of three out of four records: the one that differs is in both more often than not."""
    mean = clipped_quarters()
    honest = SampleAndAggregate(lambda block: float(np.max(block)), 2, mean)
    pmf = summed_laplace(0.25)

    def release(first: float) -> Runs:
        def outputs(runs: int, source: Source) -> NDArray[Any]:
            order = shuffles(source, 4, runs)
            both = ((order[:, 1:3] == 0).any(axis=1)) * 1.0  # positions 0–2 and 1–3 overlap in 1 and 2
            answers = first * (1 + both)  # how many of the two maxima are 1
            noise = mean.noise.releases(0, runs, source)
            return np.asarray((4 * answers + noise) / 8)

        return outputs

    one, two = (np.concatenate([np.zeros(k), pmf, np.zeros(8 - k)]) for k in (4, 8))
    return Case(
        "sample_and_aggregate/overlapping_blocks",
        honest.guarantee,
        1.0,
        release(1.0),
        release(0.0),
        lambda y: y >= 0.75,
        profiles.finite((one + two) / 2, np.concatenate([pmf, np.zeros(8)])),
    )


MEDIAN_TWINS: dict[str, Twin] = {
    "smooth_sensitivity_median/smoothness": Twin(
        "smooth_sensitivity_median", "β ten times too large", BOTH, beta_too_large
    ),
    "smooth_sensitivity_median/local_sensitivity": Twin(
        "smooth_sensitivity_median", "noise scaled to the local sensitivity", BOTH, local_noise
    ),
    "propose_test_release/no_test": Twin("propose_test_release", "releases without the test", BOTH, no_test),
    "clipped_mean/not_clipped": Twin("clipped_mean", "records are not clipped", BOTH, not_clipped),
    "sample_and_aggregate/overlapping_blocks": Twin(
        "sample_and_aggregate", "blocks share records", BOTH, overlapping_blocks
    ),
}
