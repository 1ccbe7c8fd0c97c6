"""One-dimensional priors in the coordinate v = Φ⁻¹(F(θ)), where each of them is the standard normal law.

A prior with poles at its ends, or with any scale, then needs no care of its own.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np
from scipy.special import (
    betainc,
    betaincc,
    betainccinv,
    betaincinv,
    gammainc,
    gammaincc,
    gammainccinv,
    gammaincinv,
    ndtr,
    ndtri,
)

from discreet.families.family import Family, Floats
from discreet.families.laws.beta import BetaLaw
from discreet.families.laws.gamma import GammaLaw
from discreet.families.normal_mean import NormalMean
from discreet.privacy.guarantee import NotProved

LEAST, MOST = 1e-300, 1 - 2.0**-53  # inside the support, whatever the rounding of a quantile
FARTHEST = 37.0  # Φ(−v) is still a normal double


@singledispatch
def quantile(prior: Family, v: Floats) -> Floats:
    """F⁻¹(Φ(v)), each tail from its own side."""
    del v
    raise NotProved(f"no quantiles are known for {type(prior).__name__}")


@singledispatch
def score(prior: Family, theta: Floats) -> Floats:
    """Φ⁻¹(F(θ))"""
    del theta
    raise NotProved(f"no quantiles are known for {type(prior).__name__}")


@quantile.register(BetaLaw)
def _quantile_beta_law(prior: BetaLaw, v: Floats) -> Floats:
    a, b = prior._parameters  # noqa: SLF001 - doubles of the public fields
    tail = ndtr(-np.abs(v))
    theta = np.where(v < 0, betaincinv(a, b, tail), betainccinv(a, b, tail))
    return np.asarray(np.clip(theta, LEAST, MOST))


@score.register(BetaLaw)
def _score_beta_law(prior: BetaLaw, theta: Floats) -> Floats:
    a, b = prior._parameters  # noqa: SLF001
    return _two_sided(betainc(a, b, theta), betaincc(a, b, theta))


@quantile.register(GammaLaw)
def _quantile_gamma_law(prior: GammaLaw, v: Floats) -> Floats:
    s, t = prior._parameters  # noqa: SLF001
    tail = ndtr(-np.abs(v))
    theta = np.where(v < 0, gammaincinv(s, tail), gammainccinv(s, tail)) / t
    return np.asarray(np.maximum(theta, LEAST))


@score.register(GammaLaw)
def _score_gamma_law(prior: GammaLaw, theta: Floats) -> Floats:
    s, t = prior._parameters  # noqa: SLF001
    return _two_sided(gammainc(s, t * theta), gammaincc(s, t * theta))


@quantile.register(NormalMean)
def _quantile_normal_mean(prior: NormalMean, v: Floats) -> Floats:
    return np.asarray(prior.mean() + prior.variance() ** 0.5 * v)


@score.register(NormalMean)
def _score_normal_mean(prior: NormalMean, theta: Floats) -> Floats:
    return np.asarray((theta - prior.mean()) / prior.variance() ** 0.5)


def _two_sided(below: Floats, above: Floats) -> Floats:
    return np.asarray(np.where(below < above, ndtri(below), -ndtri(above)))
