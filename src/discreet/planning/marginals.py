"""Many one-dimensional laws at once, as arrays: moments, distribution function, quantiles, partial means."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from scipy.special import (
    betainc,
    betaincinv,
    gammainc,
    gammaincc,
    gammainccinv,
    gammaincinv,
    gammaln,
    ndtr,
    ndtri,
    stdtr,
    stdtrit,
)

if TYPE_CHECKING:
    from discreet.families.family import Floats


@dataclass(frozen=True, eq=False)
class Marginal(ABC):
    """Laws of shape (nodes, coordinates); every method is elementwise."""

    @property
    @abstractmethod
    def mean(self) -> Floats:
        """E X."""

    @property
    @abstractmethod
    def variance(self) -> Floats:
        """Var X."""

    @abstractmethod
    def cdf(self, t: Floats) -> Floats:
        """P(X ≤ t)."""

    @abstractmethod
    def quantile(self, p: float) -> Floats:
        """Inverse of cdf."""

    @abstractmethod
    def below(self, t: Floats) -> Floats:
        """E[X; X ≤ t]."""

    def absolute(self, t: Floats) -> Floats:
        """E|X − t| = 2(t·F(t) − E[X; X ≤ t]) + EX − t."""
        return 2 * (t * self.cdf(t) - self.below(t)) + self.mean - t

    def square(self, t: Floats) -> Floats:
        """E(X − t)² = Var X + (EX − t)²."""
        return self.variance + (self.mean - t) ** 2


@final
@dataclass(frozen=True, eq=False)
class BetaMarginal(Marginal):
    """Beta(a, b)."""

    a: Floats
    b: Floats

    @property
    def mean(self) -> Floats:
        return self.a / (self.a + self.b)

    @property
    def variance(self) -> Floats:
        total = self.a + self.b
        return self.a * self.b / (total**2 * (total + 1))

    def cdf(self, t: Floats) -> Floats:
        return np.asarray(betainc(self.a, self.b, np.clip(t, 0.0, 1.0)))

    def quantile(self, p: float) -> Floats:
        return np.asarray(betaincinv(self.a, self.b, p))

    def below(self, t: Floats) -> Floats:
        return np.asarray(self.mean * betainc(self.a + 1, self.b, np.clip(t, 0.0, 1.0)))


@final
@dataclass(frozen=True, eq=False)
class GammaMarginal(Marginal):
    """Gamma(shape, rate)."""

    shape: Floats
    rate: Floats

    @property
    def mean(self) -> Floats:
        return self.shape / self.rate

    @property
    def variance(self) -> Floats:
        return self.shape / self.rate**2

    def cdf(self, t: Floats) -> Floats:
        return np.asarray(gammainc(self.shape, self.rate * np.maximum(t, 0.0)))

    def quantile(self, p: float) -> Floats:
        return np.asarray(gammaincinv(self.shape, p) / self.rate)

    def below(self, t: Floats) -> Floats:
        return np.asarray(self.mean * gammainc(self.shape + 1, self.rate * np.maximum(t, 0.0)))


@final
@dataclass(frozen=True, eq=False)
class InverseGammaMarginal(Marginal):
    """1/X ~ Gamma(shape, scale); moments are ∞ where they do not exist."""

    shape: Floats
    scale: Floats

    @property
    def mean(self) -> Floats:
        return np.where(self.shape > 1, self.scale / np.maximum(self.shape - 1, 1e-300), np.inf)

    @property
    def variance(self) -> Floats:
        finite = self.mean**2 / np.maximum(self.shape - 2, 1e-300)
        return np.where(self.shape > 2, finite, np.inf)

    def cdf(self, t: Floats) -> Floats:
        return np.asarray(gammaincc(self.shape, self.scale / np.maximum(t, 1e-300)))

    def quantile(self, p: float) -> Floats:
        return np.asarray(self.scale / gammainccinv(self.shape, p))

    def below(self, t: Floats) -> Floats:
        spare = np.maximum(self.shape - 1, 1e-300)
        return np.asarray(self.mean * gammaincc(spare, self.scale / np.maximum(t, 1e-300)))


@final
@dataclass(frozen=True, eq=False)
class NormalMarginal(Marginal):
    """N(mean, spread²)."""

    centre: Floats
    spread: Floats

    @property
    def mean(self) -> Floats:
        return self.centre

    @property
    def variance(self) -> Floats:
        return self.spread**2

    def cdf(self, t: Floats) -> Floats:
        return np.asarray(ndtr((t - self.centre) / self.spread))

    def quantile(self, p: float) -> Floats:
        return np.asarray(self.centre + self.spread * ndtri(p))

    def below(self, t: Floats) -> Floats:
        z = (t - self.centre) / self.spread
        return np.asarray(self.centre * ndtr(z) - self.spread * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi))


@final
@dataclass(frozen=True, eq=False)
class StudentMarginal(Marginal):
    """centre + spread·t_ν; E[T; T ≤ z] = −f(z)(ν + z²)/(ν − 1)."""

    degrees: Floats
    centre: Floats
    spread: Floats

    @property
    def mean(self) -> Floats:
        return np.where(self.degrees > 1, self.centre, np.nan)

    @property
    def variance(self) -> Floats:
        finite = self.spread**2 * self.degrees / np.maximum(self.degrees - 2, 1e-300)
        return np.where(self.degrees > 2, finite, np.inf)

    def cdf(self, t: Floats) -> Floats:
        return np.asarray(stdtr(self.degrees, (t - self.centre) / self.spread))

    def quantile(self, p: float) -> Floats:
        return np.asarray(self.centre + self.spread * stdtrit(self.degrees, p))

    def below(self, t: Floats) -> Floats:
        nu, z = self.degrees, (t - self.centre) / self.spread
        front = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi)
        density = np.exp(front - (nu + 1) / 2 * np.log1p(z**2 / nu))
        return np.asarray(
            self.centre * stdtr(nu, z) - self.spread * density * (nu + z**2) / np.maximum(nu - 1, 1e-300)
        )


@final
@dataclass(frozen=True, eq=False)
class Atoms(Marginal):
    """Points: a release that is one number, or one draw of a law without closed form."""

    at: Floats

    @property
    def mean(self) -> Floats:
        return self.at

    @property
    def variance(self) -> Floats:
        return np.zeros_like(self.at)

    def cdf(self, t: Floats) -> Floats:
        return (self.at <= t).astype(np.float64)

    def quantile(self, p: float) -> Floats:  # noqa: ARG002
        return self.at

    def below(self, t: Floats) -> Floats:
        return np.where(self.at <= t, self.at, 0.0)


@final
@dataclass(frozen=True, eq=False)
class Stacked(Marginal):
    """Coordinates with laws of different kinds, side by side."""

    parts: tuple[Marginal, ...]

    @property
    def mean(self) -> Floats:
        return np.concatenate([p.mean for p in self.parts], axis=-1)

    @property
    def variance(self) -> Floats:
        return np.concatenate([p.variance for p in self.parts], axis=-1)

    def cdf(self, t: Floats) -> Floats:
        return np.concatenate([p.cdf(s) for p, s in self._paired(t)], axis=-1)

    def quantile(self, p: float) -> Floats:
        return np.concatenate([part.quantile(p) for part in self.parts], axis=-1)

    def below(self, t: Floats) -> Floats:
        return np.concatenate([p.below(s) for p, s in self._paired(t)], axis=-1)

    def _paired(self, t: Floats) -> list[tuple[Marginal, Floats]]:
        ends = np.cumsum([p.mean.shape[-1] for p in self.parts])[:-1]
        return list(zip(self.parts, np.split(t, ends, axis=-1), strict=True))
