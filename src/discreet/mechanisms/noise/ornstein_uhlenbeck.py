"""Gaussian noise seen as a diffusion: the Ornstein–Uhlenbeck release, and one chain for several audiences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, Self, final

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.mechanism import positive, reals, whole
from discreet.mechanisms.noise.base import BasicMechanism
from discreet.mechanisms.noise.gaussian import Gaussian
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.kinds import GaussianDP
from discreet.sampling.source import SYSTEM, Source, Uniform, nearest

HALF = np.uint64(2**63)
DOUBT = 2.0**-10  # of a cell: doubles are good to 1e-6 of one where a cell is 2^-20 of σ
ERROR = 2.0**-19  # of a cell, for each tier and each time that σ is larger than the innermost
RARE = 2.0**33  # the unread bits of a word matter only this far out in the tail, times as much


@final
@dataclass(frozen=True)
class OrnsteinUhlenbeck(BasicMechanism):
    """c·(f + N(0, σ²I)), c = e^{−θt}: the Gaussian's privacy, μ = Δ₂/σ, with a shrunk answer [BBGG19 §5].

    The diffusion dX = −θX dt + √2·s dW at time t has law N(e^{−θt}f, (s²/θ)(1−e^{−2θt})I), so that
    σ² = (s²/θ)(e^{2θt} − 1). For ‖f‖ ≤ R the best c is R²/(R²+dσ²), with a worst error of R²dσ²/(R²+dσ²).
    """

    sensitivity: Exact  # L2
    sigma: Exact
    shrink: Exact  # c
    name: ClassVar[str] = "ornstein_uhlenbeck"
    theorem: ClassVar[str] = "BBGG19 §5: the Gaussian mechanism [DRS22 Thm 2.7], then post-processing"

    def __post_init__(self) -> None:
        if not 0 < self.shrink <= 1:
            raise ValueError(f"the answer is shrunk by a factor in (0, 1], got {self.shrink!r}")
        _ = self.noise

    @classmethod
    def diffusion(cls, sensitivity: Exact, *, theta: float, time: float, spread: float) -> Self:
        """Stop the diffusion with rate θ and spread s at a public time."""
        if not (theta > 0 and time > 0 and spread > 0):
            raise ValueError(f"theta, time and spread must be positive, got {theta}, {time} and {spread}")
        return cls(
            sensitivity, spread * math.sqrt(math.expm1(2 * theta * time) / theta), math.exp(-theta * time)
        )

    @classmethod
    def calibrate(cls, *, target: Guarantee, sensitivity: Exact, radius: Exact, dimension: int) -> Self:
        """Return the least σ for the target, and the shrinkage that is best for the public radius ‖f‖ ≤ R."""
        gauss = Gaussian.calibrate(target=target, sensitivity=sensitivity)
        square = Fraction(positive(radius, "the radius")) ** 2
        noise = whole(dimension, "the dimension") * Fraction(gauss.sigma) ** 2
        return cls(sensitivity, gauss.sigma, float(square / (square + noise)), relation=target.relation)

    @property
    def noise(self) -> Gaussian:
        return Gaussian(self.sensitivity, self.sigma, relation=self.relation)

    @property
    def guarantee(self) -> GaussianDP:
        return self.noise.guarantee

    def release(self, value: ArrayLike, source: Source | None = None) -> NDArray[np.float64] | np.float64:
        return float(self.shrink) * self.noise.release(value, source)

    def releases(self, value: Exact, size: int, source: Source | None = None) -> NDArray[np.float64]:
        return float(self.shrink) * self.noise.releases(value, size, source)

    def hockey_stick(self, value: Exact, neighbour: Exact, epsilon: Exact) -> float:
        return self.noise.hockey_stick(value, neighbour, epsilon)

    def tail_bound(self, probability_above: Exact, coordinates: int = 1) -> float:
        """P(‖release − c·value‖_∞ ≥ x) ≤ t: c times the Gaussian's, up to the last bit of a product."""
        return ceiling(ball(self.shrink) * ball(self.noise.tail_bound(probability_above, coordinates)))

    def mean_squared_error(self, norm: float, dimension: int) -> float:
        """c²dσ² + (1−c)²‖f‖²."""
        c = float(self.shrink)
        return c * c * dimension * float(self.sigma) ** 2 + (1 - c) ** 2 * norm**2


@final
@dataclass(frozen=True)
class TieredGaussian(BasicMechanism):
    """y_k = round_g(f + Z₁ + … + Z_k), Var(Z₁ + … + Z_k) = σ_k²: audience k gets y_k.

    All tiers together are a function of f + Z₁ and of noise that knows nothing of f, so whoever combines them
    learns no more than the first tier says: that one is paid for. The sums are rounded as ideal reals, so
    that tier k alone is exactly the Gaussian mechanism at σ_k.
    """

    sensitivity: Exact  # L2
    sigmas: tuple[Exact, ...]  # strictly increasing: from the innermost audience outward
    name: ClassVar[str] = "tiered_gaussian"
    theorem: ClassVar[str] = "DRS22 Thm 2.7 for each tier; BBGG19 §5: outer tiers are post-processing"

    def __post_init__(self) -> None:
        if not self.sigmas or not all(Fraction(a) < Fraction(b) for a, b in pairwise(self.sigmas)):
            raise ValueError(f"tiers need strictly increasing sigmas, innermost first; got {self.sigmas!r}")
        for k in range(len(self.sigmas)):
            _ = self.tier(k)

    @classmethod
    def calibrate(cls, *, targets: Sequence[Guarantee], sensitivity: Exact) -> Self:
        """Return the least σ for each audience's target, innermost first."""
        if not targets:
            raise ValueError("name at least one target")
        tiers = [Gaussian.calibrate(target=target, sensitivity=sensitivity) for target in targets]
        return cls(sensitivity, tuple(tier.sigma for tier in tiers), relation=targets[0].relation)

    def tier(self, k: int) -> Gaussian:
        """Return what audience k is promised, on its own."""
        return Gaussian(self.sensitivity, self.sigmas[k], self._grid, relation=self.relation)

    @property
    def _grid(self) -> Fraction:
        return Gaussian(self.sensitivity, self.sigmas[0]).step

    @property
    def guarantee(self) -> GaussianDP:
        """What all tiers together promise: the innermost one's."""
        return self.tier(0).guarantee

    def release(self, value: ArrayLike, source: Source | None = None) -> tuple[Any, ...]:
        """Return one noisy copy of the value for each audience."""
        flat, shape = reals(value, "the value")
        drawn = self._chains(flat, source or SYSTEM)
        return tuple(drawn[:, k].reshape(shape)[()] for k in range(len(self.sigmas)))

    def releases(self, value: Exact, size: int, source: Source | None = None) -> NDArray[np.float64]:
        """Every row holds the tiers of one release."""
        (center,), _ = reals(np.asarray(value, dtype=object), "the value")
        return self._chains([center] * size, source or SYSTEM)

    def hockey_stick(self, value: Exact, neighbour: Exact, epsilon: Exact) -> float:
        return self.tier(0).hockey_stick(value, neighbour, epsilon)

    def tail_bound(self, probability_above: Exact, coordinates: int = 1) -> float:
        """Bound the outermost tier's error, hence each tier's, though not all at once."""
        return self.tier(len(self.sigmas) - 1).tail_bound(probability_above, coordinates)

    def _chains(self, centers: list[Fraction], source: Source) -> NDArray[np.float64]:
        """Round in doubles where they leave no doubt; elsewhere on the same bits in ball arithmetic."""
        from scipy.special import ndtri  # noqa: PLC0415 - a guess, decided apart

        grid = self._grid
        words = source.words(len(centers) * len(self.sigmas)).reshape(len(centers), -1)
        squares = [Fraction(0), *(Fraction(s) ** 2 for s in self.sigmas)]
        steps = [b - a for a, b in pairwise(squares)]
        tail = np.minimum(words, ~words)
        z = np.where(words < HALF, 1, -1) * ndtri((tail.astype(np.float64) + 0.5) * 2.0**-64)
        sums = np.cumsum(z * [math.sqrt(step) for step in steps], axis=1)
        whole_steps = [(c / grid).__floor__() for c in centers]
        rest = np.array([float(c / grid - k) for c, k in zip(centers, whole_steps, strict=True)])
        cells = rest[:, None] + sums / float(grid)
        wider = np.array([float(Fraction(s) / Fraction(self.sigmas[0])) for s in self.sigmas])
        unsure = np.abs(cells - np.floor(cells) - 0.5) <= DOUBT + ERROR * len(wider) * wider
        unsure |= np.minimum.accumulate(tail, axis=1) <= RARE * wider
        found = np.floor(cells + 0.5).astype(np.int64).astype(object)
        for i in np.flatnonzero(unsure.any(axis=1)):  # the tiers of one chain share their unread bits
            uniforms = [Uniform(source, int(w)) for w in words[i]]
            for k in np.flatnonzero(unsure[i]):
                rational = centers[i] / grid - whole_steps[i]
                found[i, k] = _cell(rational, uniforms[: k + 1], steps, grid)
        return _doubles(np.array(whole_steps, dtype=object)[:, None] + found, grid)


def _doubles(cells: NDArray[np.object_], grid: Fraction) -> NDArray[np.float64]:
    """Round each exact multiple of the grid, once: offset and noise must not be rounded apart."""
    if cells.size and max(cells.max(), -cells.min()) < 2**53:
        return cells.astype(np.float64) * float(grid)
    return np.array([float(c * grid) for c in cells.ravel().tolist()], dtype=np.float64).reshape(cells.shape)


def _cell(rest: Fraction, uniforms: list[Uniform], steps: list[Fraction], grid: Fraction) -> int:
    """⌊rest + Σ √v·Φ⁻¹(U)/g + ½⌋ of the ideal reals."""
    parts = list(zip(uniforms, steps, strict=False))
    return nearest(
        lambda: (
            ball(rest)
            + sum(((2 * ball(v)).sqrt() * (2 * u() - 1).erfinv() for u, v in parts), arb(0)) / ball(grid)
        )
    )
