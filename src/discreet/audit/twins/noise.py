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
from discreet.audit.twins.twin import EXACT_ONLY, RUNS_ONLY, Twins
from discreet.families.gamma_poisson import GammaPoisson
from discreet.mechanisms.local.randomised_response import RandomizedResponse
from discreet.mechanisms.noise.base import BasicMechanism
from discreet.mechanisms.noise.gaussian import DiscreteGaussian, Gaussian
from discreet.mechanisms.noise.laplace import DiscreteLaplace, Laplace
from discreet.mechanisms.posterior.direct import DirectPosterior
from discreet.privacy.kinds import ApproxDP, GaussianDP, PureDP
from discreet.sampling import exact
from discreet.sampling.source import Source

# ── Broken twins whose mathematics is right and whose floating point is not [Mironov 2012].
# A double is reachable from a value if some random bits produce it. Outputs that the neighbour cannot
# produce rule it out, whatever ε was promised. Both attacks replay the generator on the few candidates near
# the output.
twin = Twins()

Floats = np.ndarray[Any, np.dtype[np.float64]]
SCALE = 10.0
NEARBY = np.arange(-16.0, 17.0)  # inverting in doubles is off by a few random words


def generator(source: Source) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(int(source.words(1)[0])))


def float_laplace(center: float, runs: int, source: Source) -> NDArray[Any]:
    """Draw x + b·sign·ln(…) of a uniform k·2^-53, as numpy and every textbook do it"""
    return _laplace(center, generator(source).random(runs))


def _laplace(center: float, u: Floats) -> Floats:
    upper = u >= 0.5
    with np.errstate(divide="ignore"):
        return np.where(
            upper,
            center - SCALE * np.log(np.where(upper, 2 - u - u, 1)),
            center + SCALE * np.log(np.where(upper, 1, u + u)),
        )


def laplace_reaches(center: float, y: Floats) -> NDArray[np.bool_]:
    """Whether some k·2^-53 gives y: the k near the inverse are tried."""
    tail = np.exp(-np.abs(y - center) / SCALE) / 2
    u = np.where(y >= center, 1 - tail, tail)
    words = np.rint(np.ldexp(u, 53))[:, None] + NEARBY
    tried = np.ldexp(np.clip(words, 1, 2.0**53 - 1), -53)
    return np.asarray((_laplace(center, tried) == y[:, None]).any(axis=1))


@twin("laplace/float", "double-precision inverse transform", RUNS_ONLY)
def laplace_float() -> Case:
    """1 against 0 at scale 10: ideally ε = 0.1"""
    return Case(
        PureDP(1 / 10),
        float_laplace,
        (1.0, 0.0),
        lambda y: ~laplace_reaches(0.0, y),
        profiles.shifted_laplace(0.1),
        epsilon=0.1,
    )


def gamma_reaches(shape: float, y: Floats) -> NDArray[np.bool_]:
    """Whether b·t³ = y in doubles for some double t: Marsaglia–Tsang's cube hits about a third of them."""
    b = shape - 1 / 3
    t = np.cbrt(y / b)[:, None] + NEARBY * 2.0**-53  # below 1 all doubles near; above, every other one twice
    return np.asarray((b * (t * t * t) == y[:, None]).any(axis=1))


@twin("direct/float_gamma", "numpy's gamma draw instead of an exact one", RUNS_ONLY)
def gamma_float() -> Case:
    """One draw of numpy's gamma as a Gamma–Poisson posterior; the rate 4 divides doubles exactly."""
    honest = DirectPosterior(GammaPoisson(30, 2, 1), n=2)

    def draw(shape: float, runs: int, source: Source) -> NDArray[Any]:
        return generator(source).standard_gamma(shape, runs) / 4

    return Case(
        honest.guarantee,
        draw,
        (31.0, 30.0),
        lambda y: ~gamma_reaches(30.0, 4 * y),
        profiles.gamma((31.0, 4.0), (30.0, 4.0)),
    )


# ── noise
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
