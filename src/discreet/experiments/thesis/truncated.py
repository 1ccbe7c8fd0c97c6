"""Moments and densities of a truncated Beta law, from certified normalisers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.special import xlog1py, xlogy

from discreet.families.family import Floats
from discreet.mechanisms.posterior.tempered_laws import TruncatedPosterior
from discreet.privacy.arithmetic.ball import precision
from discreet.privacy.worst_pairs.tempered_posterior import log_normaliser


def moments(law: TruncatedPosterior) -> tuple[float, float]:
    """Mean and variance of θ."""
    (a, b), low, high = law.entries, law.lower, 1 - law.lower
    with precision(128):
        whole = log_normaliser(a, b, low, high)
        first, second = ((log_normaliser(a + k, b, low, high) - whole).exp() for k in (1, 2))
        return float(first), float(second - first * first)


def absolute_error(law: TruncatedPosterior, p: Fraction) -> float:
    """E|θ − p| = 2(p·P(θ<p) − E[θ; θ<p]) + E θ − p."""
    (a, b), low, high = law.entries, law.lower, 1 - law.lower
    with precision(128):
        whole = log_normaliser(a, b, low, high)
        below, partial = ((log_normaliser(a + k, b, low, p) - whole).exp() for k in (0, 1))
        mean = (log_normaliser(a + 1, b, low, high) - whole).exp()
        return float(2 * (float(p) * below - partial) + mean - float(p))


def density(law: TruncatedPosterior, theta: Floats) -> Floats:
    """Density on [a₀, 1−a₀], 0 outside."""
    a, b = law.entries
    inside = (theta >= float(law.lower)) & (theta <= 1 - float(law.lower))
    with precision(128):
        whole = float(log_normaliser(a, b, law.lower, 1 - law.lower))
    return np.where(inside, np.exp(xlogy(float(a) - 1, theta) + xlog1py(float(b) - 1, -theta) - whole), 0.0)
