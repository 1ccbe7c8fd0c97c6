"""The real line on which a posterior is tabulated: logit of a probability, log of a rate, a mean itself.

There a conjugate prior falls off at a known pace on both sides, however close to its ends θ comes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import final

import numpy as np
from scipy.special import expit, logit

from discreet.families.family import Family, Floats
from discreet.families.laws.beta import BetaLaw
from discreet.families.laws.gamma import GammaLaw
from discreet.families.normal_mean import NormalMean
from discreet.privacy.guarantee import NotProved

LEAST, MOST = 1e-300, 1 - 2.0**-53  # inside the support, whatever the rounding
LARGEST = 1e290


@final
@dataclass(frozen=True)
class Bulk:
    """Where the prior's density has its top, in this coordinate, and how far it takes to fall by 45 nats."""

    mode: float
    deviation: float
    left: float
    right: float


@singledispatch
def parameter(prior: Family, x: Floats) -> Floats:
    """θ(x)"""
    del x
    raise NotProved(f"no coordinate is known for {type(prior).__name__}")


@singledispatch
def coordinate(prior: Family, theta: Floats) -> Floats:
    """x(θ)"""
    del theta
    raise NotProved(f"no coordinate is known for {type(prior).__name__}")


@singledispatch
def log_prior(prior: Family, x: Floats) -> Floats:
    """Log of the prior's density in x, up to a constant."""
    del x
    raise NotProved(f"no coordinate is known for {type(prior).__name__}")


@singledispatch
def bulk(prior: Family) -> Bulk:
    """Return where the prior is."""
    raise NotProved(f"no coordinate is known for {type(prior).__name__}")


@parameter.register(BetaLaw)
def _parameter_beta_law(prior: BetaLaw, x: Floats) -> Floats:
    del prior
    return np.asarray(np.clip(expit(x), LEAST, MOST))


@coordinate.register(BetaLaw)
def _coordinate_beta_law(prior: BetaLaw, theta: Floats) -> Floats:
    del prior
    return np.asarray(logit(np.clip(theta, 0.0, 1.0)))


@log_prior.register(BetaLaw)
def _log_prior_beta_law(prior: BetaLaw, x: Floats) -> Floats:
    """α ln p + β ln(1−p)"""
    a, b = float(prior.alpha), float(prior.beta)
    return np.asarray(-a * np.logaddexp(0.0, -x) - b * np.logaddexp(0.0, x))


@bulk.register(BetaLaw)
def _bulk_beta_law(prior: BetaLaw) -> Bulk:
    a, b = float(prior.alpha), float(prior.beta)
    deviation = float((1 / a + 1 / b) ** 0.5)
    return Bulk(float(np.log(a / b)), deviation, 45 / a + 9.5 * deviation, 45 / b + 9.5 * deviation)


@parameter.register(GammaLaw)
def _parameter_gamma_law(prior: GammaLaw, x: Floats) -> Floats:
    del prior
    return np.asarray(np.clip(np.exp(np.minimum(x, 690.0)), LEAST, LARGEST))


@coordinate.register(GammaLaw)
def _coordinate_gamma_law(prior: GammaLaw, theta: Floats) -> Floats:
    del prior
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(theta, 0.0)))


@log_prior.register(GammaLaw)
def _log_prior_gamma_law(prior: GammaLaw, x: Floats) -> Floats:
    """s·ln λ − tλ"""
    s, t = float(prior.shape), float(prior.rate)
    return np.asarray(s * x - t * np.exp(np.minimum(x, 690.0)))


@bulk.register(GammaLaw)
def _bulk_gamma_law(prior: GammaLaw) -> Bulk:
    s, t = float(prior.shape), float(prior.rate)
    right = min(9.5 * s**-0.5, 2 + float(np.log1p(60 / s)))
    return Bulk(float(np.log(s / t)), s**-0.5, 45 / s + 9.5 * s**-0.5, right)


@parameter.register(NormalMean)
def _parameter_normal_mean(prior: NormalMean, x: Floats) -> Floats:
    del prior
    return x


@coordinate.register(NormalMean)
def _coordinate_normal_mean(prior: NormalMean, theta: Floats) -> Floats:
    del prior
    return theta


@log_prior.register(NormalMean)
def _log_prior_normal_mean(prior: NormalMean, x: Floats) -> Floats:
    return np.asarray(-((x - prior.mean()) ** 2) / (2 * prior.variance()))


@bulk.register(NormalMean)
def _bulk_normal_mean(prior: NormalMean) -> Bulk:
    deviation = prior.variance() ** 0.5
    return Bulk(prior.mean(), deviation, 9.5 * deviation, 9.5 * deviation)
