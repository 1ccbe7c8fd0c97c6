"""Many one-dimensional laws at once, as arrays: moments, distribution function, quantiles, partial means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy import stats

from discreet.families.family import Floats


@final
@dataclass(frozen=True, eq=False)
class Marginal:
    """Laws of shape (nodes, coordinates); every function is elementwise."""

    mean: Floats
    variance: Floats
    cdf: Callable[[Floats], Floats]  # P(X ≤ t)
    quantile: Callable[[float], Floats]
    below: Callable[[Floats], Floats]  # E[X; X ≤ t]

    def absolute(self, t: Floats) -> Floats:
        """E|X − t| = 2(t·F(t) − E[X; X ≤ t]) + EX − t."""
        return 2 * (t * self.cdf(t) - self.below(t)) + self.mean - t

    def square(self, t: Floats) -> Floats:
        """E(X − t)² = Var X + (EX − t)²."""
        return self.variance + (self.mean - t) ** 2


def _of(law: stats.rv_continuous, below: Callable[[Floats], Floats]) -> Marginal:
    return Marginal(np.asarray(law.mean()), np.asarray(law.var()), law.cdf, law.ppf, below)


def beta(a: Floats, b: Floats) -> Marginal:
    """E[X; X ≤ t] is the mean times the distribution function of Beta(a + 1, b)."""
    law, tilted = stats.beta(a, b), stats.beta(a + 1, b)
    return _of(law, lambda t: law.mean() * tilted.cdf(t))


def gamma(shape: Floats, rate: Floats) -> Marginal:
    """E[X; X ≤ t] is the mean times the distribution function of Gamma(shape + 1, rate)."""
    law, tilted = stats.gamma(shape, scale=1 / rate), stats.gamma(shape + 1, scale=1 / rate)
    return _of(law, lambda t: law.mean() * tilted.cdf(t))


def inverse_gamma(shape: Floats, scale: Floats) -> Marginal:
    """1/X ~ Gamma(shape, scale); moments are ∞ where they do not exist."""
    law, tilted = (stats.invgamma(s, scale=scale) for s in (shape, np.maximum(shape - 1, 1e-300)))
    return _of(law, lambda t: law.mean() * tilted.cdf(t))


def normal(centre: Floats, spread: Floats) -> Marginal:
    """E[X; X ≤ t] = centre·F(t) − spread²·f(t)."""
    law = stats.norm(centre, spread)
    return _of(law, lambda t: centre * law.cdf(t) - spread**2 * law.pdf(t))


def student(degrees: Floats, centre: Floats, spread: Floats) -> Marginal:
    """Centre + spread·t_ν; E[T; T ≤ z] = −f(z)(ν + z²)/(ν − 1)."""
    law = stats.t(degrees, centre, spread)

    def below(t: Floats) -> Floats:
        tail = (degrees + ((t - centre) / spread) ** 2) / np.maximum(degrees - 1, 1e-300)
        return np.asarray(centre * law.cdf(t) - spread**2 * law.pdf(t) * tail)

    return _of(law, below)


def atoms(at: Floats) -> Marginal:
    """Points: a release that is one number, or one draw of a law without closed form."""
    return Marginal(
        at,
        np.zeros_like(at),
        lambda t: (at <= t).astype(np.float64),
        lambda _: at,
        lambda t: np.where(at <= t, at, 0.0),
    )


def stacked(*parts: Marginal) -> Marginal:
    """Coordinates with laws of different kinds, side by side."""
    ends = np.cumsum([part.mean.shape[-1] for part in parts])[:-1]

    def side_by_side(functions: list[Callable[[Floats], Floats]]) -> Callable[[Floats], Floats]:
        return lambda t: np.concatenate(
            [f(s) for f, s in zip(functions, np.split(t, ends, axis=-1), strict=True)], axis=-1
        )

    return Marginal(
        np.concatenate([part.mean for part in parts], axis=-1),
        np.concatenate([part.variance for part in parts], axis=-1),
        side_by_side([part.cdf for part in parts]),
        lambda p: np.concatenate([part.quantile(p) for part in parts], axis=-1),
        side_by_side([part.below for part in parts]),
    )
