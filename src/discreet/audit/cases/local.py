"""Cases of profile mechanisms, diffusions and noisy SGD."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Case, Cases
from discreet.mechanisms.local.profile_base import ProfileMechanism, chosen
from discreet.mechanisms.local.profile_bits import OneBitCluster, SmoothOneBit, TwoProfileBit
from discreet.mechanisms.local.profile_categorical import LARGEST_ERROR, SmoothCategorical
from discreet.mechanisms.noise.ornstein_uhlenbeck import OrnsteinUhlenbeck, TieredGaussian
from discreet.mechanisms.sgd.losses import Loss
from discreet.mechanisms.sgd.noisy_projected_sgd import NoisyProjectedSGD, rounding
from discreet.privacy.amplification.noisy_sgd import NoisySGD
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.profile_graph import ProfileGraph
from discreet.sampling.source import Source

Floats = NDArray[np.float64]


case = Cases()

TWO = ProfileGraph.chain([Fraction(1, 10), Fraction(7, 10)])
CHAIN = ProfileGraph.chain([Fraction(i, 5) for i in range(6)])
CATEGORIES = ProfileGraph.chain(
    [[Fraction(x, 10) for x in law] for law in ((2, 3, 4, 1), (3, 3, 3, 1), (4, 4, 1, 1))]
)


def observed(mechanism: ProfileMechanism, place: int, runs: int, source: Source) -> NDArray[Any]:
    """Observations of one profile, each randomised: what an onlooker sees."""
    law = mechanism.graph.profiles[place]
    return np.asarray(mechanism.release(chosen(law, source.words(runs)), source, profile=place))


def worst_edge(mechanism: ProfileMechanism) -> tuple[int, int, int]:
    """(i, j, y) with the largest q_i(y)/q_j(y), by trying them all in doubles."""
    laws = np.array(mechanism.outputs, dtype=np.float64)
    both = [pair for i, j in mechanism.graph.edges for pair in ((i, j), (j, i))]
    return max(
        ((i, j, y) for i, j in both for y in range(laws.shape[1])),
        key=lambda at: laws[at[0], at[2]] / laws[at[1], at[2]],
    )


def profile_case(mechanism: ProfileMechanism, claim: Guarantee, epsilon: float) -> Case:
    i, j, y = worst_edge(mechanism)
    laws = np.array(mechanism.outputs, dtype=np.float64)
    return Case(
        claim,
        partial(observed, mechanism),
        (i, j),
        lambda seen: seen == y,
        profiles.finite(laws[i], laws[j]),
        epsilon,
    )


def _whole(mechanism: ProfileMechanism) -> Case:
    return profile_case(mechanism, mechanism.guarantee, float(mechanism.guarantee.loss))


@case("two_profile_bit")
def two_profile_bit() -> Case:
    return _whole(TwoProfileBit.solve(TWO, 0.5))


@case("one_bit_cluster")
def one_bit_cluster() -> Case:
    return _whole(OneBitCluster.solve(CHAIN, 0.5))


@case("smooth_one_bit")
def smooth_one_bit() -> Case:
    return _whole(SmoothOneBit.solve(CHAIN, 0.5))


@case("smooth_categorical")
def smooth_categorical() -> Case:
    return _whole(SmoothCategorical.solve(CATEGORIES, 0.5))


@case("smooth_categorical/largest_error")
def smooth_categorical_matrices() -> Case:
    mechanism = SmoothCategorical.solve(CATEGORIES, 0.5, objective=LARGEST_ERROR)
    return _whole(mechanism)


@case("ornstein_uhlenbeck")
def ornstein_uhlenbeck() -> Case:
    mechanism = OrnsteinUhlenbeck(1, 1, 0.25)
    return Case.of(mechanism, (1, 0), lambda y: y > 1.5 * 0.25, profiles.normal(1.0))


@case("tiered_gaussian")
def tiered_gaussian() -> Case:
    """All tiers together: the likelihood ratio is that of the first, whatever the others say."""
    mechanism = TieredGaussian(1, (1, 1.5, 4))
    return Case.of(mechanism, (1, 0), lambda y: y[:, 0] > 1.5, profiles.normal(1.0))


@case("tiered_gaussian/outer")
def tiered_gaussian_outer() -> Case:
    """Take the second audience alone, under its own promise."""
    mechanism = TieredGaussian(1, (1, 2))
    return Case(
        mechanism.tier(1).guarantee,
        mechanism.releases,
        (1, 0),
        lambda y: y[:, 1] > 0.5 + 0.5 * 4,
        profiles.normal(0.5),
        epsilon=0.5,
    )


def linear(w: Floats, x: Floats, y: float) -> Floats:
    """Gradient of −y·x·w, which does not depend on w: the law of the last iterate is normal."""
    del w
    return np.asarray(-y * x)


def sgd(sigma: float, n: int) -> NoisyProjectedSGD:
    loss = Loss(linear, lipschitz=1.0, smooth=1e-9, norm=1.0)
    run = NoisySGD(n=n, step=1.0, sigma=sigma, lipschitz=1, smooth=Fraction(1e-9))
    paid = run.rounded(rounding(loss, run, 1e3, 1))
    return NoisyProjectedSGD(loss=loss, radius=1e3, dimension=1, run=paid)


def sgd_case(mechanism: NoisyProjectedSGD, claim: Guarantee, place: int) -> Case:
    """Compare answers of 1 with −1 at one place: the last iterates are 2 apart, of variance nσ²."""
    n, mu = mechanism.run.n, 2 / (float(mechanism.run.sigma) * math.sqrt(mechanism.run.n))
    rows, plus = np.ones((n, 1)), np.ones(n)
    minus = plus.copy()
    minus[place] = -1
    cut = n - 1 + math.sqrt(n) * float(mechanism.run.sigma) * (0.5 / mu)  # (y − midpoint)·μ/spread > ε = ½
    return Case(
        claim,
        lambda answers, runs, source: mechanism.releases((rows, answers), runs, source)[:, 0],
        (plus, minus),
        lambda w: w > cut,
        profiles.normal(mu),
        epsilon=0.5,
    )


@case("noisy_projected_sgd")
def noisy_projected_sgd() -> Case:
    """Hide the first of three records by two later steps: exact for a linear loss."""
    mechanism = sgd(2.0, 3)
    return sgd_case(mechanism, mechanism.run.at_index(1), 0)
