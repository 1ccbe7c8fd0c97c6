"""The law of the noise that NoisyStatistics adds to each coordinate, in doubles, by the name it is given."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr

from discreet.families.family import Floats

if TYPE_CHECKING:
    from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic


KINDS = ("laplace", "gaussian", "discrete_laplace", "discrete_gaussian")
LEAST = 1e-200
WIDE = 8.0  # Σ exp(−k²/2σ²) is σ√2π to 1e-500 from here on (Poisson summation)


@final
@dataclass(frozen=True)
class NoiseLaw:
    """p(z) ∝ exp(−|z|/b) or exp(−z²/2σ²), on the line or on the integers; `scale` is b or σ."""

    kind: str
    scale: float

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"unknown noise {self.kind!r}; known: {', '.join(KINDS)}")
        if not 0 < self.scale < np.inf:
            raise ValueError(f"the scale of the noise must be above 0, got {self.scale!r}")

    @classmethod
    def of(cls, release: NoisyStatistic) -> NoiseLaw:
        return cls(release.noise, float(release.scale))

    @property
    def discrete(self) -> bool:
        return self.kind.startswith("discrete")

    @property
    def laplacian(self) -> bool:
        return self.kind.endswith("laplace")

    @cached_property
    def log_normaliser(self) -> float:
        """Log of Σ or ∫ of the unnormalised law: 2b, σ√2π, (1+q)/(1−q) with q = e^{−1/b}, Σ exp(−k²/2σ²)."""
        s = self.scale
        if self.kind == "laplace":
            return float(np.log(2 * s))
        if self.kind == "discrete_laplace":
            return float(np.log1p(np.exp(-1 / s)) - np.log(-np.expm1(-1 / s)))
        if self.kind == "gaussian" or s > WIDE:
            return float(np.log(s * np.sqrt(2 * np.pi)))
        k = np.arange(1, int(40 * s) + 2)
        return float(np.log1p(2 * np.exp(-(k**2) / (2 * s**2)).sum()))

    def log_density(self, z: ArrayLike) -> Floats:
        """Log p(z), a density on the line or a mass on the integers (where z must be whole)."""
        gap = np.asarray(z, dtype=np.float64) / self.scale
        energy = np.abs(gap) if self.laplacian else gap**2 / 2
        return np.asarray(-energy - self.log_normaliser)

    @property
    def variance(self) -> float:
        """2b²; σ²; 2q/(1−q)²; by summation. Never 0, to which narrow noise on whole numbers underflows."""
        return max(self._variance, LEAST)

    @property
    def _variance(self) -> float:
        s = self.scale
        if self.kind == "laplace":
            return 2 * s**2
        if self.kind == "discrete_laplace":
            return float(2 * np.exp(-1 / s) / np.expm1(-1 / s) ** 2)
        if self.kind == "gaussian" or s > WIDE:
            return s**2
        k = np.arange(1, int(40 * s) + 2)
        return float(2 * (k**2 * np.exp(-(k**2) / (2 * s**2) - self.log_normaliser)).sum())

    def reach(self, nats: float = 40.0) -> float:
        """How far out the log density has fallen by `nats`."""
        return self.scale * (nats if self.laplacian else (2 * nats) ** 0.5)

    def log_between(self, low: ArrayLike, high: ArrayLike) -> Floats:
        """Log P(low < Z < high) of the continuous law of this shape, without cancellation in either tail."""
        a, b = np.asarray(low, dtype=np.float64) / self.scale, np.asarray(high, dtype=np.float64) / self.scale
        a, b = np.where(a + b > 0, -b, a), np.where(a + b > 0, -a, b)  # mirrored: |a| ≥ |b|, a < 0
        if self.laplacian:
            outer = np.log(-np.expm1(np.minimum(a - b, -1e-300))) + b - np.log(2)
            with np.errstate(divide="ignore", over="ignore"):
                inner = np.log(np.maximum(-np.expm1(a) - np.expm1(-b), 0) / 2)
            return np.asarray(np.where(b <= 0, outer, inner))
        with np.errstate(divide="ignore", invalid="ignore"):
            tail = log_ndtr(b) + np.log1p(-np.exp(log_ndtr(a) - log_ndtr(b)))
            return np.asarray(np.where(b <= 0, tail, np.log(ndtr(b) - ndtr(a))))
