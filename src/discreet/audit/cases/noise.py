"""Cases of the noise mechanisms: one coordinate at full sensitivity, and several that share it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Case, Cases, Profile
from discreet.mechanisms.choice.continuous_exponential import ContinuousExponential
from discreet.mechanisms.choice.exponential import Exponential
from discreet.mechanisms.choice.noisy_max import ReportNoisyMax
from discreet.mechanisms.choice.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.local.kary_randomised_response import KaryRandomizedResponse
from discreet.mechanisms.local.randomised_response import RandomizedResponse
from discreet.mechanisms.noise.base import BasicMechanism
from discreet.mechanisms.noise.gaussian import DiscreteGaussian, Gaussian
from discreet.mechanisms.noise.laplace import DiscreteLaplace, Laplace
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import Source

case = Cases()

REACH = 60  # integers beyond ±60 carry less than 1e-25 of every discrete law audited here


def columnwise(mechanism: BasicMechanism, value: list[Any], runs: int, source: Source) -> NDArray[Any]:
    """One row a run: noise on independent coordinates, so each column is many releases of one coordinate."""
    return np.stack([mechanism.releases(v, runs, source) for v in value], axis=1)


def discrete_laplace_pmf(scale: float) -> NDArray[np.float64]:
    weights = np.exp(-np.abs(np.arange(-REACH, REACH + 1)) / scale)
    return np.asarray(weights / weights.sum())


def discrete_gaussian_pmf(variance: float) -> NDArray[np.float64]:
    weights = np.exp(-(np.arange(-REACH, REACH + 1.0) ** 2) / (2 * variance))
    return np.asarray(weights / weights.sum())


def moved(pmf: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """Law of Z + steps on the same integers, for steps ≥ 0; the mass lost at the end is below 1e-25."""
    return np.concatenate([np.zeros(steps), pmf[: pmf.size - steps]]) if steps else pmf


@case("randomized_response")
def randomized_response() -> Case:
    """P(1|1) = 1 − q against P(1|0) = p, with p ≠ q so that the four ratios differ."""
    p, q = Fraction(1, 5), Fraction(9, 20)
    mechanism = RandomizedResponse(p, q)
    return Case.of(
        mechanism,
        (1, 0),
        lambda y: y == 1,
        profiles.finite([float(q), float(1 - q)], [float(1 - p), float(p)]),
        epsilon=mechanism.guarantee.epsilon(0),
    )


@case("kary_randomized_response")
def kary_randomized_response() -> Case:
    keep, other = math.e / (math.e + 3), 1 / (math.e + 3)
    mechanism = KaryRandomizedResponse.calibrate(target=PureDP(1), categories=4)
    return Case.of(
        mechanism,
        (2, 0),
        lambda y: y == 2,
        profiles.finite([other, other, keep, other], [keep, other, other, other]),
    )


@case("laplace")
def laplace() -> Case:
    mechanism = Laplace(1, 1)
    return Case.of(mechanism, (1, 0), lambda y: y >= 1, profiles.shifted_laplace(1.0))


@case("laplace/vector")
def laplace_vector() -> Case:
    """(½, ½) against (0, 0): the L1 sensitivity is spent on two coordinates."""
    mechanism = Laplace(1, 1)
    return Case.of(
        mechanism,
        ([0.5, 0.5], [0.0, 0.0]),
        lambda y: np.asarray((y >= 0.5).all(axis=1)),
        laplace_loss_sum([0.5, 0.5]),
        run=columnwise,
    )


def laplace_loss_sum(shifts: list[float]) -> Profile:
    """E_P (1 − e^{ε−L})₊, L the sum of the losses of independent Laplace(1) coordinates so far apart.

    Under P one loss is d with probability ½, −d with ½e^{−d}, and 2y−d at density ½e^{y−d} for y in (0, d).
    """
    nodes, weights = np.polynomial.legendre.leggauss(100)
    laws = []
    for d in shifts:
        y = d * (nodes + 1) / 2
        losses = np.concatenate([[d, -d], 2 * y - d])
        laws.append((losses, np.concatenate([[0.5, math.exp(-d) / 2], weights * d / 4 * np.exp(y - d)])))
    loss, mass = laws[0]
    for other, weight in laws[1:]:
        loss, mass = (loss[:, None] + other).ravel(), (mass[:, None] * weight).ravel()
    return lambda epsilon: float((mass * np.maximum(-np.expm1(epsilon - loss), 0)).sum())


@case("discrete_laplace")
def discrete_laplace() -> Case:
    mechanism = DiscreteLaplace(1, 1)
    pmf = discrete_laplace_pmf(1.0)
    return Case.of(mechanism, (1, 0), lambda y: y >= 1, profiles.finite(moved(pmf, 1), pmf))


@case("gaussian")
def gaussian() -> Case:
    """Look where the log ratio (y − ½)/σ² exceeds ε = 1."""
    mechanism = Gaussian(1, 1)
    return Case.of(mechanism, (1, 0), lambda y: y > 1.5, profiles.normal(1.0))


@case("gaussian/vector")
def gaussian_vector() -> Case:
    """(3/4, 1) against (0, 0), of L2 norm 5/4."""
    mechanism = Gaussian(Fraction(5, 4), Fraction(5, 4))
    return Case.of(
        mechanism,
        ([0.75, 1.0], [0.0, 0.0]),
        lambda y: y @ [0.75, 1.0] > 1.5 * 1.5625,
        profiles.normal(1.0),
        run=columnwise,
    )


@case("discrete_gaussian")
def discrete_gaussian() -> Case:
    mechanism = DiscreteGaussian(1, 1)
    pmf = discrete_gaussian_pmf(1.0)
    return Case.of(mechanism, (1, 0), lambda y: y >= 2, profiles.finite(moved(pmf, 1), pmf))


# ── Cases of the mechanisms that choose a candidate: exponential, permute-and-flip, noisy max.
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
