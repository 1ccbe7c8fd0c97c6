"""The mean of bounded records, summed exactly on a public grid, with integer noise on the sum."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.mechanism import whole
from discreet.mechanisms.noise.base import BasicMechanism
from discreet.mechanisms.noise.gaussian import DiscreteGaussian
from discreet.mechanisms.noise.laplace import DiscreteLaplace
from discreet.mechanisms.sensitivity.median import Interval, OnInterval
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, precision
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee
from discreet.sampling.source import Source


@final
@dataclass(frozen=True)
class ClippedMean(OnInterval, BasicMechanism):
    """lower + (g/n)(Σ cells + noise), clamped to the bounds: a record moves the sum by at most all cells."""

    lower: Exact
    upper: Exact
    records: int  # n, public
    noise: DiscreteLaplace | DiscreteGaussian
    grid: Exact | None = None  # public; None: (upper − lower)/2^20
    name: ClassVar[str] = "clipped_mean"
    theorem: ClassVar[str] = "that of its noise; sensitivity of a clipped sum"

    def __post_init__(self) -> None:
        whole(self.records, "the number of records")
        if not self.noise.sensitivity >= self.interval.cell_count:
            raise ValueError(
                f"the noise must be made for a sensitivity of {self.interval.cell_count} cells, "
                f"got {self.noise.sensitivity!r}; ClippedMean.calibrate does that"
            )
        if not self.relation is self.noise.relation is SUBSTITUTE:
            raise ValueError("the clipped mean is stated for SUBSTITUTE (n public)")

    @classmethod
    def calibrate(
        cls,
        *,
        target: Guarantee,
        lower: Exact,
        upper: Exact,
        records: int,
        grid: Exact | None = None,
        noise: type[DiscreteLaplace | DiscreteGaussian] = DiscreteLaplace,
    ) -> Self:
        cells = Interval(lower, upper, grid).cell_count
        return cls(lower, upper, records, noise.calibrate(target=target, sensitivity=cells), grid)

    @property
    def guarantee(self) -> Guarantee:
        return self.noise.guarantee

    def release(self, value: ArrayLike, source: Source | None = None) -> float:
        return float(self.releases(value, 1, source)[0])

    def releases(self, value: ArrayLike, size: int, source: Source | None = None) -> NDArray[np.float64]:
        sums = self.noise.releases(self._sum(value), size, source)
        unit, low = self.interval.step / self.records, Fraction(self.lower)
        return self.interval.clamped(np.array([float(low + unit * s) for s in sums.tolist()]))

    def _sum(self, data: ArrayLike) -> int:
        cells = self.interval.cells(data)
        if cells.size != self.records:
            raise ValueError(f"the mean was made for {self.records} records; n is public and must match")
        return int(cells.sum())

    def hockey_stick(self, value: ArrayLike, neighbour: ArrayLike, epsilon: Exact) -> float:
        """Of the noisy sums, which bounds that of the clamped means."""
        return self.noise.hockey_stick(self._sum(value), self._sum(neighbour), epsilon)

    def tail_bound(self, probability_above: Exact) -> float:
        """P(|release − mean| ≥ (g/n)·m) ≤ t, m the bound of the noise on the sum.

        The mean is that of the rounded records, brought into the bounds as the release is.
        """
        with precision(128):
            bound = Fraction(self.noise.tail_bound(probability_above)) * self.interval.step / self.records
            return ceiling(ball(bound))
