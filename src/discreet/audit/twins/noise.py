"""Broken twins of the noise mechanisms: BROKEN ON PURPOSE, never for use."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Case
from discreet.audit.cases.noise import discrete_gaussian_pmf, discrete_laplace_pmf, moved
from discreet.audit.twins.float import generator
from discreet.audit.twins.twin import EXACT_ONLY, Twins
from discreet.mechanisms.local.randomised_response import RandomizedResponse
from discreet.mechanisms.noise.base import BasicMechanism
from discreet.mechanisms.noise.gaussian import DiscreteGaussian, Gaussian
from discreet.mechanisms.noise.laplace import DiscreteLaplace, Laplace
from discreet.privacy.kinds import ApproxDP, GaussianDP, PureDP
from discreet.sampling import exact
from discreet.sampling.source import Source

twin = Twins()


@twin("randomized_response/one_ratio_of_four", "ε from one of the four ratios")
def one_ratio_of_four() -> Case:
    """With p = 1/10, q = 2/5: ln((1−p)/q) = 0.81 is claimed, but (1−q)/p = 6."""
    broken = RandomizedResponse(Fraction(1, 10), Fraction(2, 5))
    claim = math.log(0.9 / 0.4)
    return Case(
        PureDP(claim),
        broken.releases,
        (1, 0),
        lambda y: y == 1,
        profiles.finite([0.4, 0.6], [0.9, 0.1]),
        epsilon=claim,
    )


@twin("kary_randomized_response/binary_keep", "kept with the probability for two categories")
def binary_keep() -> Case:
    """Four categories, kept with e/(1+e) as if there were two."""
    keep, other = math.e / (1 + math.e), 1 / (1 + math.e) / 3

    def answers(category: int, runs: int, source: Source) -> NDArray[Any]:
        lies = exact.bernoulli(source, 1 - keep, runs)
        others = exact.uniform_integers(source, 3, runs)
        return np.where(lies, others + (others >= category), category)

    return Case(
        PureDP(1),
        answers,
        (2, 0),
        lambda y: y == 2,
        profiles.finite([other, other, keep, other], [keep, other, other, other]),
    )


@twin("laplace/half_the_sensitivity", "sensitivity 1 for 2")
def half_the_sensitivity() -> Case:
    """Noise for sensitivity 1 on a statistic that one record moves by 2."""
    broken = Laplace(1, 1)
    return Case.of(broken, (2, 0), lambda y: y >= 1.5, profiles.shifted_laplace(2.0))


def shared(mechanism: BasicMechanism, value: list[float], runs: int, source: Source) -> NDArray[Any]:
    """One draw of noise added to every coordinate."""
    noise = np.asarray(mechanism.releases(0, runs, source))
    return np.asarray(noise[:, None] + np.array(value))


def shared_draw(mechanism: BasicMechanism) -> Case:
    """(1, 0) against (0, 0): the difference of the coordinates tells."""
    return Case.of(
        mechanism, ([1.0, 0.0], [0.0, 0.0]), lambda y: y[:, 0] - y[:, 1] > 0.5, lambda _: 1.0, run=shared
    )


@twin("discrete_laplace/half_the_sensitivity", "sensitivity 1 for 2")
def half_the_counts() -> Case:
    broken, pmf = DiscreteLaplace(1, 1), discrete_laplace_pmf(1.0)
    return Case.of(broken, (2, 0), lambda y: y >= 2, profiles.finite(moved(pmf, 2), pmf))


@twin("gaussian/uniform_noise", "uniform noise of the same variance")
def uniform_noise() -> Case:
    """Uniform noise of the Gaussian's variance: whatever lies outside the neighbour's range gives it away.

    Inside, both densities are equal.
    """
    width = math.sqrt(3)

    def noisy(center: float, runs: int, source: Source) -> NDArray[Any]:
        return center + generator(source).uniform(-width, width, runs)

    return Case(GaussianDP(1), noisy, (1.0, 0.0), lambda y: y > width, lambda _: 1 / (2 * width))


@twin("gaussian/classic_sigma", "classic σ beyond ε = 8.42", EXACT_ONLY)
def classic_sigma() -> Case:
    """Δ√(2 ln(1.25/δ))/ε at ε = 10 > 8.42, δ = 1e-5 [Dwork, Roth 2014, Thm A.1, beyond its range]"""
    sigma = math.sqrt(2 * math.log(1.25e5)) / 10
    broken = Gaussian(1, sigma)
    return Case(
        ApproxDP(10, 1e-5),
        broken.releases,
        (1, 0),
        lambda y: y > 0.5 + 10 * sigma**2,
        profiles.normal(1 / sigma),
        epsilon=10.0,
    )


@twin("discrete_gaussian/deviation_as_variance", "σ passed for σ²")
def deviation_as_variance() -> Case:
    """σ = 3 for sensitivity 3 deserves ρ = ½; σ itself was passed where σ² was asked for.

    The log ratio is (3y − 4.5)/3.
    """
    broken, pmf = DiscreteGaussian(3, 3), discrete_gaussian_pmf(3.0)
    return Case(
        DiscreteGaussian(3, 9).guarantee,
        broken.releases,
        (3, 0),
        lambda y: y >= 3,
        profiles.finite(moved(pmf, 3), pmf),
    )


@twin("gaussian/local_sensitivity", "noise scaled to the local sensitivity")
def localised_gaussian() -> Case:
    """1[n > m] has local sensitivity 1 at n = m, ½ at m−1 [N19 Def. 2.9, Prop. 3.19]; classic σ, ε = ½."""
    wide = math.sqrt(2 * math.log(1.25e5)) / 0.5
    left, right = Gaussian(1, wide), Gaussian(1, wide / 2)

    def delta(epsilon: float) -> float:
        """N(0, 4s²) against N(0, s²): |y| > y₀ = s√((8/3)(ε + ln 2))"""
        y = math.sqrt(8 / 3 * (epsilon + math.log(2)))
        return float(2 * ndtr(-y / 2) - math.exp(epsilon) * 2 * ndtr(-y))

    cut = wide / 2 * math.sqrt(8 / 3 * (0.5 + math.log(2)))
    return Case(
        ApproxDP(0.5, 1e-5),
        lambda noise, runs, source: noise.releases(0, runs, source),
        (left, right),
        lambda y: np.abs(y) > cut,
        delta,
        epsilon=0.5,
    )


twin("laplace/shared_draw", "one draw for all coordinates")(lambda: shared_draw(Laplace(1, 1)))
twin("gaussian/shared_draw", "one draw for all coordinates")(lambda: shared_draw(Gaussian(1, 1)))
