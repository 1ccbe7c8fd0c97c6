"""The law of the noise that NoisyStatistics adds to each coordinate, in doubles, by the name it is given."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr

from discreet.families.family import Floats
from discreet.sampling.agreement import effective_size, r_hat

if TYPE_CHECKING:
    from discreet.mechanisms.statistics.noisy_statistic import NoisyCells, NoisyStatistic
    from discreet.posteriors.posterior import Diagnostics


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


# ── What a reading says against itself: one place for every posterior that chains or swarms computed.
MIXED = 1.05  # R-hat above which chains have not converged [Vehtari et al. 2021 ask for 1.01 of long chains]
# Effective draws below which a reading says so: 400 leave a mean wrong by .05 deviations, a deviation by 3 %
# and an end of a 90 % interval by .08; 100 leave .10, 5 % and .14 (root mean squares, autoregressions).
FEWEST = 400
FAR = 6.0  # deviations of a sum of squares, or of absolute values, beyond which data and model disagree
ROOM = 0.05  # clipped records, over √n, that move no posterior by more than a few hundredths of its deviation
TAIL = 2.5  # by which squares of Laplace noise may stray farther than those of normal noise


def judged(watched: Floats) -> tuple[float, float]:
    """Worst R-hat and least ESS of quantities (chains, draws, quantities); ∞ and 0 where one is not a number.

    Watch what has no labels and what intervals do not show: the log joint, fitted statistics, norms.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        worst, least = float(np.max(r_hat(watched))), float(np.min(effective_size(watched)))
    return (worst, least) if np.isfinite(watched).all() else (float("inf"), 0.0)


def misfit(noise: Floats, power: float) -> float:
    """How far the noise that a posterior leaves is from its law, in deviations of Σ|e|/b or of Σe²/σ².

    `noise` (draws, numbers) is in units of b (power 1) or of σ (power 2); its sum is averaged over the draws.
    """
    return strayed(np.sum(abs(noise) ** power, axis=-1), noise.shape[-1], power)


def strayed(sums: Floats, size: int, power: float) -> float:
    """Return the same, of such sums over `size` numbers, one for each draw."""
    return float((np.mean(sums) - size) / np.sqrt(power * size))


def cautions(
    found: Diagnostics, *, apart: float = 0.0, finite: bool = True, more: tuple[str | None, ...] = ()
) -> tuple[str, ...]:
    """Say in sentences what chains, agreement with the release and overflow give reason for, then `more`.

    `apart` is what `misfit` says; empty where there is nothing to say.
    """
    said: list[str | None] = []
    if not finite:
        said.append(
            "the computation left the range of doubles, and its numbers are not to be used: scale the "
            "columns to the order of 1, or choose a prior that is less vague"
        )
    if found.chains and np.isnan(found.r_hat):
        said.append(
            "the chains are too short to be judged: read with longer ones before you rely on the intervals"
        )
    elif found.chains and not found.r_hat <= MIXED:
        said.append(
            f"chains have not converged (R-hat {found.r_hat:.2f}): do not rely on these intervals; read the "
            "release again with longer chains, which costs nothing, or under a prior that is less vague"
        )
    elif found.chains and not found.ess >= FEWEST:
        off = 1 / max(found.ess, 1.0) ** 0.5
        said.append(
            f"the draws are worth only {found.ess:.0f} independent ones: means may be off by about {off:.2f} "
            "posterior deviations, ends of intervals by half as much again; "
            "read the release again with longer chains, which costs nothing"
        )
    said.append(unexplained(apart))
    if found.chains and apart > FAR:
        said.append(
            "chains that agree may then have missed the posterior together, and these numbers may be wrong "
            "by several of its deviations: do not rely on them before the prior and the bounds fit the data"
        )
    return tuple(words for words in (*said, *more) if words)


def matters(share: float, n: float) -> bool:
    """Whether so many clipped records of n would show in the posterior."""
    return not share * np.sqrt(n) <= ROOM


def beyond_bounds(share: float) -> str:
    """Say that the bounds are too close for the model, which is right only if no record was clipped there."""
    return (
        f"by this model about {share:.2%} of the records would lie beyond the bounds; the reading takes the "
        "bounds for facts about the data. If records were clipped there, declare the column with clips=True, "
        "or read the release with clips=True, which costs nothing"
    )


def unexplained(apart: float) -> str | None:
    """Say that released numbers are farther from the posterior than noise goes, where they are."""
    if apart <= FAR:
        return None
    return (
        f"the released numbers are {apart:.3g} deviations from what this posterior and the noise "
        "explain: the prior, the number of records or the law of the rows does not fit the data"
    )


def rows_near_empty(cells: NoisyCells) -> tuple[str, ...]:
    """Say how many rows of the tables show their prior; all of it is read off the release."""
    empty, rows = 0, 0
    for table, scale in zip(cells.tables().values(), cells.scales, strict=True):
        spread = (NoiseLaw(cells.noise, float(scale)).variance * table.shape[-1]) ** 0.5
        empty += int((table.sum(axis=-1) < 2 * spread).sum())
        rows += table.size // table.shape[-1]
    if not empty:
        return ()
    return (f"{empty} of {rows} rows cannot be distinguished from empty ones (two deviations of noise)",)
