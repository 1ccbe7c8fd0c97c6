"""Cases of the noise mechanisms: one coordinate at full sensitivity, and several that share it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Case, Cases, Profile
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
