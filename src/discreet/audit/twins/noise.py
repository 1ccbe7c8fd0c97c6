"""Broken twins of the noise mechanisms: BROKEN ON PURPOSE, never for use."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Case
from discreet.audit.cases.noise import discrete_gaussian_pmf, discrete_laplace_pmf, moved, repeated
from discreet.audit.twins.float import generator
from discreet.audit.twins.twin import BOTH, EXACT_ONLY, Twin
from discreet.mechanisms.local.randomised_response import RandomizedResponse
from discreet.mechanisms.noise.gaussian import DiscreteGaussian, Gaussian
from discreet.mechanisms.noise.laplace import DiscreteLaplace, Laplace
from discreet.privacy.kinds import ApproxDP, GaussianDP, PureDP
from discreet.sampling import exact

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.audit.case import Runs
    from discreet.mechanisms.noise.base import BasicMechanism
    from discreet.sampling.source import Source


def one_ratio_of_four() -> Case:
    """With p = 1/10, q = 2/5: ln((1−p)/q) = 0.81 is claimed, but (1−q)/p = 6."""
    broken = RandomizedResponse(Fraction(1, 10), Fraction(2, 5))
    claim = math.log(0.9 / 0.4)
    return Case(
        "randomized_response/one_ratio_of_four",
        PureDP(claim),
        claim,
        repeated(broken, 1),
        repeated(broken, 0),
        lambda y: y == 1,
        profiles.finite([0.4, 0.6], [0.9, 0.1]),
    )


def binary_keep() -> Case:
    """Four categories, kept with e/(1+e) as if there were two."""
    keep, other = math.e / (1 + math.e), 1 / (1 + math.e) / 3

    def answers(category: int) -> Runs:
        def draw(runs: int, source: Source) -> NDArray[Any]:
            lies = exact.bernoulli(source, 1 - keep, runs)
            others = exact.uniform_integers(source, 3, runs)
            return np.where(lies, others + (others >= category), category)

        return draw

    return Case(
        "kary_randomized_response/binary_keep",
        PureDP(1),
        1.0,
        answers(2),
        answers(0),
        lambda y: y == 2,
        profiles.finite([other, other, keep, other], [keep, other, other, other]),
    )


def half_the_sensitivity() -> Case:
    """Noise for sensitivity 1 on a statistic that one record moves by 2."""
    broken = Laplace(1, 1)
    return Case(
        "laplace/half_the_sensitivity",
        broken.guarantee,
        1.0,
        repeated(broken, 2),
        repeated(broken, 0),
        lambda y: y >= 1.5,
        profiles.shifted_laplace(2.0),
    )


def shared(mechanism: BasicMechanism, value: list[float]) -> Runs:
    """One draw of noise added to every coordinate."""

    def rows(runs: int, source: Source) -> NDArray[Any]:
        noise = np.asarray(mechanism.releases(0, runs, source))
        return np.asarray(noise[:, None] + np.array(value))

    return rows


def shared_draw(name: str, mechanism: BasicMechanism) -> Case:
    """(1, 0) against (0, 0): the difference of the coordinates tells."""
    return Case(
        name,
        mechanism.guarantee,
        1.0,
        shared(mechanism, [1.0, 0.0]),
        shared(mechanism, [0.0, 0.0]),
        lambda y: y[:, 0] - y[:, 1] > 0.5,
        lambda _: 1.0,
    )


def half_the_counts() -> Case:
    broken, pmf = DiscreteLaplace(1, 1), discrete_laplace_pmf(1.0)
    return Case(
        "discrete_laplace/half_the_sensitivity",
        broken.guarantee,
        1.0,
        repeated(broken, 2),
        repeated(broken, 0),
        lambda y: y >= 2,
        profiles.finite(moved(pmf, 2), pmf),
    )


def uniform_noise() -> Case:
    """Uniform noise of the Gaussian's variance: whatever lies outside the neighbour's range gives it away."""
    width = math.sqrt(3)

    def noisy(center: float) -> Runs:
        return lambda runs, source: center + generator(source).uniform(-width, width, runs)

    return Case(
        "gaussian/uniform_noise",
        GaussianDP(1),
        1.0,
        noisy(1.0),
        noisy(0.0),
        lambda y: y > width,
        lambda _: 1 / (2 * width),  # beyond the support; inside both densities are equal
    )


def classic_sigma() -> Case:
    """Δ√(2 ln(1.25/δ))/ε at ε = 10 > 8.42, δ = 1e-5 [Dwork, Roth 2014, Thm A.1, beyond its range]"""
    sigma = math.sqrt(2 * math.log(1.25e5)) / 10
    broken = Gaussian(1, sigma)
    return Case(
        "gaussian/classic_sigma",
        ApproxDP(10, 1e-5),
        10.0,
        repeated(broken, 1),
        repeated(broken, 0),
        lambda y: y > 0.5 + 10 * sigma**2,
        profiles.normal(1 / sigma),
    )


def deviation_as_variance() -> Case:
    """σ = 3 for sensitivity 3 deserves ρ = ½; σ itself was passed where σ² was asked for."""
    broken, pmf = DiscreteGaussian(3, 3), discrete_gaussian_pmf(3.0)
    return Case(
        "discrete_gaussian/deviation_as_variance",
        DiscreteGaussian(3, 9).guarantee,
        1.0,
        repeated(broken, 3),
        repeated(broken, 0),
        lambda y: y >= 3,  # (3y − 4.5)/3 > 1
        profiles.finite(moved(pmf, 3), pmf),
    )


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
        "gaussian/local_sensitivity",
        ApproxDP(0.5, 1e-5),
        0.5,
        repeated(left, 0),
        repeated(right, 0),
        lambda y: np.abs(y) > cut,
        delta,
    )


NOISE_TWINS: dict[str, Twin] = {
    "randomized_response/one_ratio_of_four": Twin(
        "randomized_response", "ε from one of the four ratios", BOTH, one_ratio_of_four
    ),
    "kary_randomized_response/binary_keep": Twin(
        "kary_randomized_response", "kept with the probability for two categories", BOTH, binary_keep
    ),
    "laplace/half_the_sensitivity": Twin("laplace", "sensitivity 1 for 2", BOTH, half_the_sensitivity),
    "laplace/shared_draw": Twin(
        "laplace",
        "one draw for all coordinates",
        BOTH,
        lambda: shared_draw("laplace/shared_draw", Laplace(1, 1)),
    ),
    "discrete_laplace/half_the_sensitivity": Twin(
        "discrete_laplace", "sensitivity 1 for 2", BOTH, half_the_counts
    ),
    "gaussian/uniform_noise": Twin("gaussian", "uniform noise of the same variance", BOTH, uniform_noise),
    "gaussian/shared_draw": Twin(
        "gaussian",
        "one draw for all coordinates",
        BOTH,
        lambda: shared_draw("gaussian/shared_draw", Gaussian(1, 1)),
    ),
    "gaussian/classic_sigma": Twin("gaussian", "classic σ beyond ε = 8.42", EXACT_ONLY, classic_sigma),
    "gaussian/local_sensitivity": Twin(
        "gaussian", "noise scaled to the local sensitivity", BOTH, localised_gaussian
    ),
    "discrete_gaussian/deviation_as_variance": Twin(
        "discrete_gaussian", "σ passed for σ²", BOTH, deviation_as_variance
    ),
}
