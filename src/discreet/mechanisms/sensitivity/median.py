"""The lower median on a public grid, and how far k changed records can move it [NRS07 §3.1]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.mechanism import exact, finite, non_empty, positive
from discreet.numerics.search import bisect, integers
from discreet.privacy.arithmetic.ball import Exact

WIDE = 2**900  # beyond it, or closer than its inverse, doubles overflow or vanish on the way
FINEST = 2**48  # cells: sums and differences of their indices stay exact everywhere


@final
@dataclass(frozen=True)
class Interval:
    """Public bounds, and the public grid lower + j·g, j = 0 … cell_count, that records are rounded to."""

    lower: Exact
    upper: Exact
    grid: Exact | None = None  # None: (upper − lower)/2^20

    def __post_init__(self) -> None:
        low, high = exact(self.lower, "the lower bound"), exact(self.upper, "the upper bound")
        if not low < high:
            raise ValueError(
                f"bounds need lower < upper, got [{self.lower!r}, {self.upper!r}]; "
                "they must be public knowledge, not read from the data"
            )
        if not (low >= -WIDE and high <= WIDE and high - low >= Fraction(1, WIDE)):
            raise ValueError(
                "bounds must lie within ±2^900 and at least 2^-900 apart, which doubles can hold; measure in "
                "other units"
            )
        if self.grid is not None and not positive(self.grid, "the grid") <= high - low:
            raise ValueError(f"the grid must be no wider than the bounds, got {self.grid!r}")
        if not self.cell_count <= FINEST:
            raise ValueError(f"the grid may have at most 2^48 cells, got {self.grid!r}")

    @property
    def step(self) -> Fraction:
        return (
            (Fraction(self.upper) - Fraction(self.lower)) / 2**20
            if self.grid is None
            else Fraction(self.grid)
        )

    @property
    def cell_count(self) -> int:
        """Index of the grid point at or just above the upper bound."""
        return ((Fraction(self.upper) - Fraction(self.lower)) / self.step).__ceil__()

    def cells(self, data: ArrayLike) -> NDArray[np.int64]:
        """Index of each record's grid point: a fixed map of single records, so its rounding is harmless."""
        records = finite(data, "the data", missing=float(self.lower))
        scaled = (np.clip(records, float(self.lower), float(self.upper)) - float(self.lower)) / float(
            self.step
        )
        return np.clip(np.rint(scaled), 0, self.cell_count).astype(np.int64)

    def values(self, cells: Sequence[int]) -> NDArray[np.float64]:
        """Grid points lower + j·g, to the nearest doubles, brought back into the bounds: post-processing.

        Noise goes beyond them, and so does the last point of a grid that does not divide them.
        """
        points = np.array([float(Fraction(self.lower) + j * self.step) for j in cells])
        return self.clamped(points)

    def clamped(self, released: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bring what left a mechanism back into the public bounds; NaN, a refusal, stays."""
        return np.clip(released, float(self.lower), float(self.upper))


class OnInterval:
    """A mechanism for records that lie in a public range."""

    lower: Exact
    upper: Exact
    grid: Exact | None

    @property
    def interval(self) -> Interval:
        return Interval(self.lower, self.upper, self.grid)


@final
@dataclass(frozen=True, eq=False)
class SortedSample:
    """Records in order, in grid cells, padded by the bounds on either side. Private: never shown."""

    cells: NDArray[np.int64]
    top: int

    def __repr__(self) -> str:
        return "SortedSample(private)"

    @classmethod
    def of(cls, interval: Interval, data: ArrayLike) -> SortedSample:
        return cls(np.sort(non_empty(interval.cells(data), "the data")), interval.cell_count)

    @property
    def size(self) -> int:
        return int(self.cells.size)

    @property
    def rank(self) -> int:
        """Rank m = ⌈n/2⌉, counted from 1."""
        return (self.size + 1) // 2

    @property
    def median(self) -> int:
        """The lower median x_m, an order statistic for every n."""
        return int(self.cells[self.rank - 1])

    def reach(self, k: int) -> int:
        """A_k = max_{t≤k+1} x_{m+t} − x_{m+t−k−1}: the most after k changes [NRS07 Claim 3.3]."""
        right = self._window(self.rank, self.rank + k + 1, self.top)
        left = self._window(self.rank - k - 1, self.rank, self.top)
        return int(np.max(right - left))

    def _window(self, first: int, last: int, top: int) -> NDArray[np.int64]:
        """x_first … x_last, counted from 1, with x_i = 0 below and the top above"""
        inside = self.cells[max(first - 1, 0) : min(last, self.size)]
        below, above = max(1 - first, 0), max(last - self.size, 0)
        return np.concatenate((np.zeros(below, dtype=np.int64), inside, np.full(above, top, dtype=np.int64)))

    def distance_to_reach(self, bound: int) -> int:
        """Least k with A_k > bound, or n + 1: one record moves it by at most 1, for A_k(x) ≤ A_{k+1}(x')."""
        # by convention A_{−1} ≤ bound < A_{n+1}
        return bisect(lambda k: self.reach(k) > bound, -1, self.size + 1, integers)
