"""Broken twins whose mathematics is right and whose floating point is not [Mironov 2012].

A double is reachable from a value if some random bits produce it. Outputs that the neighbour cannot produce
rule it out, whatever ε was promised. Both attacks replay the generator on the few candidates near the output.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Case
from discreet.audit.twins.twin import RUNS_ONLY, Twins
from discreet.families.gamma_poisson import GammaPoisson
from discreet.mechanisms.posterior.direct import DirectPosterior
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import Source

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
