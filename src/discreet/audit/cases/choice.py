"""Cases of the mechanisms that choose a candidate: exponential, permute-and-flip, noisy max."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Case, Cases
from discreet.audit.cases.noise import REACH, discrete_laplace_pmf
from discreet.mechanisms.choice.continuous_exponential import ContinuousExponential
from discreet.mechanisms.choice.exponential import Exponential
from discreet.mechanisms.choice.noisy_max import ReportNoisyMax
from discreet.mechanisms.choice.permute_and_flip import PermuteAndFlip

case = Cases()

GRID = Fraction(1, 1024)
QUANTILE_LEFT = (0.0, 0.125, 0.875, 1.0)  # its middle moves when the first record goes to the upper bound
QUANTILE_RIGHT = (0.125, 0.875, 1.0, 1.0)


def softmax(scores: Sequence[float], rate: float, log_base: Sequence[float]) -> NDArray[np.float64]:
    weights = np.exp(rate * np.asarray(scores) + np.asarray(log_base))
    return np.asarray(weights / weights.sum())


@case("exponential")
def exponential() -> Case:
    """Scores (1, 0) against (0, 1); the base measure is chosen so that δ(½) of ε-bounded range is attained.

    The ratio at the first candidate is (x+e)/(x+1), x = m√e; e^{3/4} is the worst at ε = ½ [DDR20].
    """
    ratio = math.exp(0.75)
    base = (math.log((math.e - ratio) / (ratio - 1)) - 0.5, 0.0)
    mechanism = Exponential(1, 1, log_base=base)
    return Case.of(
        mechanism,
        ([1, 0], [0, 1]),
        lambda y: y == 0,
        profiles.finite(softmax([1, 0], 0.5, base), softmax([0, 1], 0.5, base)),
        epsilon=0.5,
    )


def quantile_law(data: Sequence[float], rate: float) -> NDArray[np.float64]:
    """P(y) ∝ exp(−rate·|#{x ≤ y} − n/2|) on every point of the grid, one by one."""
    points = np.arange(0, 1 + float(GRID) / 2, float(GRID))
    below = (np.asarray(data) <= points[:, None]).sum(axis=1)
    weights = np.exp(-rate * np.abs(below - len(data) / 2))
    return np.asarray(weights / weights.sum())


@case("continuous_exponential")
def continuous_exponential() -> Case:
    mechanism = ContinuousExponential(0, 1, 1, grid=GRID)
    p, q = quantile_law(QUANTILE_RIGHT, 0.5), quantile_law(QUANTILE_LEFT, 0.5)
    likelier = p > q * math.exp(0.25)
    return Case.of(
        mechanism,
        (mechanism.quantile(QUANTILE_RIGHT), mechanism.quantile(QUANTILE_LEFT)),
        lambda y: likelier[np.rint(y / float(GRID)).astype(np.int64)],
        profiles.finite(p, q),
        epsilon=0.5,
    )


def permute_and_flip_law(coins: Sequence[float]) -> list[float]:
    """P(y) by walking every order [McKenna, Sheldon 2020, Alg. 1]"""
    law, orders = [0.0] * len(coins), list(permutations(range(len(coins))))
    for order in orders:
        alive = 1.0
        for y in order:
            law[y] += alive * coins[y] / len(orders)
            alive *= 1 - coins[y]
    return law


@case("permute_and_flip")
def permute_and_flip() -> Case:
    """Scores (1, 1, −5) against (2, 0, −5): the second candidate loses e^{−ε} but for the third's coin."""
    mechanism = PermuteAndFlip(1, 1)
    p = permute_and_flip_law([1, 1, math.exp(-3)])
    q = permute_and_flip_law([1, math.exp(-1), math.exp(-3.5)])
    return Case.of(mechanism, ([1, 1, -5], [2, 0, -5]), lambda y: y == 1, profiles.finite(p, q))


def noisy_max_law(scores: Sequence[int], scale: float) -> list[float]:
    """P(y) = Σ_z P(Z_y = z) Π_x P(Z_x loses to s_y + z), ties to the lowest index"""
    z, pmf = np.arange(-REACH, REACH + 1), discrete_laplace_pmf(scale)
    below = np.concatenate([np.zeros(4 * REACH), np.cumsum(pmf), np.ones(4 * REACH)])
    law = []
    for y, own in enumerate(scores):
        win = pmf.copy()
        for x, other in enumerate(scores):
            if x != y:
                win = win * below[5 * REACH + z + own - other - (x < y)]
        law.append(float(win.sum()))
    return law


@case("report_noisy_max")
def report_noisy_max() -> Case:
    """Scores (3, 3) against (4, 2): the second candidate must overcome 2 more."""
    mechanism = ReportNoisyMax(1, 2)
    return Case.of(
        mechanism,
        ([3, 3], [4, 2]),
        lambda y: y == 1,
        profiles.finite(noisy_max_law([3, 3], 2.0), noisy_max_law([4, 2], 2.0)),
    )
