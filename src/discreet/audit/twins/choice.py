"""Broken twins of the mechanisms that choose: BROKEN ON PURPOSE, never for use."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Case
from discreet.audit.cases.choice import (
    GRID,
    QUANTILE_LEFT,
    QUANTILE_RIGHT,
    noisy_max_law,
    permute_and_flip_law,
    quantile_law,
    softmax,
)
from discreet.audit.cases.noise import REACH, discrete_laplace_pmf, repeated
from discreet.audit.twins.twin import BOTH, Twin
from discreet.mechanisms.choice.continuous_exponential import ContinuousExponential
from discreet.mechanisms.choice.exponential import Exponential
from discreet.mechanisms.choice.noisy_max import ReportNoisyMax
from discreet.mechanisms.choice.permute_and_flip import PermuteAndFlip
from discreet.privacy.kinds import BoundedRange, PureDP
from discreet.sampling import exact

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.audit.case import Runs
    from discreet.sampling.source import Source


def exponential() -> Case:
    """exp(εs/Δ): scores (1, 0) against (0, 1) differ by 2ε in range"""
    broken = Exponential(1, 2)
    return Case(
        "exponential/no_factor_two",
        BoundedRange(1),
        0.5,
        repeated(broken, [1, 0]),
        repeated(broken, [0, 1]),
        lambda y: y == 0,
        profiles.finite(softmax([1, 0], 1, [0, 0]), softmax([0, 1], 1, [0, 0])),
    )


def continuous_exponential() -> Case:
    broken = ContinuousExponential(0, 1, 2, grid=GRID)
    p, q = quantile_law(QUANTILE_RIGHT, 1), quantile_law(QUANTILE_LEFT, 1)
    likelier = p > q * math.exp(0.5)
    return Case(
        "continuous_exponential/no_factor_two",
        BoundedRange(1),
        0.5,
        repeated(broken, broken.quantile(QUANTILE_RIGHT)),
        repeated(broken, broken.quantile(QUANTILE_LEFT)),
        lambda y: likelier[np.rint(y / float(GRID)).astype(np.int64)],
        profiles.finite(p, q),
    )


def permute_and_flip() -> Case:
    broken = PermuteAndFlip(1, 2)
    return Case(
        "permute_and_flip/no_factor_two",
        PureDP(1),
        1.0,
        repeated(broken, [1, 1]),
        repeated(broken, [2, 0]),
        lambda y: y == 1,
        profiles.finite(permute_and_flip_law([1, 1]), permute_and_flip_law([1, math.exp(-2)])),
    )


def report_noisy_max() -> Case:
    """Noise Δ/ε where 2Δ/ε is needed"""
    broken = ReportNoisyMax(1, 1)
    return Case(
        "report_noisy_max/no_factor_two",
        PureDP(1),
        1.0,
        repeated(broken, [3, 3]),
        repeated(broken, [4, 2]),
        lambda y: y == 1,
        profiles.finite(noisy_max_law([3, 3], 1.0), noisy_max_law([4, 2], 1.0)),
    )


def with_the_maximum() -> Case:
    """Return the noisy maximum for the price of the winner; it moves with every score at once.

    All d = 4 scores fall by 1: {max ≤ m} asks that of each, so the ratio of its odds is taken four times.
    """
    pmf, z = discrete_laplace_pmf(2.0), np.arange(-REACH, REACH + 1)

    def release(scores: list[int]) -> Runs:
        def rows(runs: int, source: Source) -> NDArray[Any]:
            noisy = exact.discrete_laplace(source, 2, runs * len(scores)).reshape(runs, -1) + scores
            return np.stack([noisy.argmax(axis=1), noisy.max(axis=1)], axis=1)

        return rows

    below = np.cumsum(pmf) ** 4  # P(max ≤ z) at scores 0
    lower = np.interp(z + 1, z, below)  # at scores −1
    return Case(
        "report_noisy_max/with_the_maximum",
        PureDP(1),
        1.0,
        release([-1] * 4),
        release([0] * 4),
        lambda y: y[:, 1] <= -1,
        profiles.finite(np.diff(lower, prepend=0), np.diff(below, prepend=0)),
    )


CHOICE_TWINS: dict[str, Twin] = {
    "exponential/no_factor_two": Twin("exponential", "exp(εs/Δ)", BOTH, exponential),
    "continuous_exponential/no_factor_two": Twin(
        "continuous_exponential", "exp(εs/Δ)", BOTH, continuous_exponential
    ),
    "permute_and_flip/no_factor_two": Twin("permute_and_flip", "exp(εs/Δ)", BOTH, permute_and_flip),
    "report_noisy_max/no_factor_two": Twin(
        "report_noisy_max", "noise Δ/ε instead of 2Δ/ε", BOTH, report_noisy_max
    ),
    "report_noisy_max/with_the_maximum": Twin(
        "report_noisy_max", "returns the noisy maximum as well", BOTH, with_the_maximum
    ),
}
