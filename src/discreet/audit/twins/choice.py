"""Broken twins of the mechanisms that choose: BROKEN ON PURPOSE, never for use."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Case
from discreet.audit.cases.noise import (
    GRID,
    QUANTILE_LEFT,
    QUANTILE_RIGHT,
    REACH,
    discrete_laplace_pmf,
    noisy_max_law,
    permute_and_flip_law,
    quantile_law,
    softmax,
)
from discreet.audit.twins.twin import Twins
from discreet.mechanisms.choice.continuous_exponential import ContinuousExponential
from discreet.mechanisms.choice.exponential import Exponential
from discreet.mechanisms.choice.noisy_max import ReportNoisyMax
from discreet.mechanisms.choice.permute_and_flip import PermuteAndFlip
from discreet.privacy.kinds import BoundedRange, PureDP
from discreet.sampling import exact
from discreet.sampling.source import Source

twin = Twins()


@twin("exponential/no_factor_two", "exp(εs/Δ)")
def exponential() -> Case:
    """exp(εs/Δ): scores (1, 0) against (0, 1) differ by 2ε in range"""
    broken = Exponential(1, 2)
    return Case(
        BoundedRange(1),
        broken.releases,
        ([1, 0], [0, 1]),
        lambda y: y == 0,
        profiles.finite(softmax([1, 0], 1, [0, 0]), softmax([0, 1], 1, [0, 0])),
        epsilon=0.5,
    )


@twin("continuous_exponential/no_factor_two", "exp(εs/Δ)")
def continuous_exponential() -> Case:
    broken = ContinuousExponential(0, 1, 2, grid=GRID)
    p, q = quantile_law(QUANTILE_RIGHT, 1), quantile_law(QUANTILE_LEFT, 1)
    likelier = p > q * math.exp(0.5)
    return Case(
        BoundedRange(1),
        broken.releases,
        (broken.quantile(QUANTILE_RIGHT), broken.quantile(QUANTILE_LEFT)),
        lambda y: likelier[np.rint(y / float(GRID)).astype(np.int64)],
        profiles.finite(p, q),
        epsilon=0.5,
    )


@twin("permute_and_flip/no_factor_two", "exp(εs/Δ)")
def permute_and_flip() -> Case:
    broken = PermuteAndFlip(1, 2)
    return Case(
        PureDP(1),
        broken.releases,
        ([1, 1], [2, 0]),
        lambda y: y == 1,
        profiles.finite(permute_and_flip_law([1, 1]), permute_and_flip_law([1, math.exp(-2)])),
    )


@twin("report_noisy_max/no_factor_two", "noise Δ/ε instead of 2Δ/ε")
def report_noisy_max() -> Case:
    """Noise Δ/ε where 2Δ/ε is needed"""
    broken = ReportNoisyMax(1, 1)
    return Case(
        PureDP(1),
        broken.releases,
        ([3, 3], [4, 2]),
        lambda y: y == 1,
        profiles.finite(noisy_max_law([3, 3], 1.0), noisy_max_law([4, 2], 1.0)),
    )


@twin("report_noisy_max/with_the_maximum", "returns the noisy maximum as well")
def with_the_maximum() -> Case:
    """Return the noisy maximum for the price of the winner; it moves with every score at once.

    All d = 4 scores fall by 1: {max ≤ m} asks that of each, so the ratio of its odds is taken four times.
    """
    pmf, z = discrete_laplace_pmf(2.0), np.arange(-REACH, REACH + 1)

    def release(scores: list[int], runs: int, source: Source) -> NDArray[Any]:
        noisy = exact.discrete_laplace(source, 2, runs * len(scores)).reshape(runs, -1) + scores
        return np.stack([noisy.argmax(axis=1), noisy.max(axis=1)], axis=1)

    below = np.cumsum(pmf) ** 4  # P(max ≤ z) at scores 0
    lower = np.interp(z + 1, z, below)  # at scores −1
    return Case(
        PureDP(1),
        release,
        ([-1] * 4, [0] * 4),
        lambda y: y[:, 1] <= -1,
        profiles.finite(np.diff(lower, prepend=0), np.diff(below, prepend=0)),
    )
