"""One draw of the location of a Laplace likelihood, private under a metric alone [D14, Lemma 4]."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.families.exact_fields import rational
from discreet.mechanisms.mechanism import Mechanism, finite, non_empty
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import exact as exactly
from discreet.privacy.guarantee import positive
from discreet.privacy.under_metric import lipschitz
from discreet.privacy.under_metric.distances import AbsoluteDifference
from discreet.privacy.under_metric.lipschitz import Lipschitz
from discreet.privacy.under_metric.promise import MetricDP
from discreet.sampling import exact
from discreet.sampling.source import SYSTEM, Source

MOST_POINTS = 2**14


@final
@dataclass(frozen=True)
class LaplaceLocation(Mechanism):
    """P(μ | x) ∝ e^{−Σ|x_i − μ|/s} on {lower, lower + g, …, upper}, a uniform prior: (2/s, 0)-private.

    Scale s and grid are public; records are clipped and rounded to the grid. There is no statistic of fixed
    size (Σ|x_i − μ| for all μ is the sorted table), so that this is no family of the catalogue: it takes
    records at hand. With a public location the scale is GammaExponential of |x − μ|.
    """

    name: ClassVar[str] = "laplace_location"
    theorem: ClassVar[str] = "D14 Thm 2(i) with Lemma 4: ||x − μ| − |y − μ||/s ≤ |x − y|/s"

    lower: Exact
    upper: Exact
    scale: Exact = field(kw_only=True)
    grid: Exact = field(kw_only=True)

    def __post_init__(self) -> None:
        positive("scale", self.scale)
        step = Fraction(positive("grid", self.grid))
        ends = [Fraction(exactly("a bound", end)) / step for end in (self.lower, self.upper)]
        if not ends[0] < ends[1] or any(end.denominator != 1 for end in ends):
            raise ValueError("bounds need lower < upper, both multiples of the grid, and public")
        if not ends[1] - ends[0] < MOST_POINTS:
            raise ValueError(
                f"the grid has {MOST_POINTS} points or more within the bounds: give a coarser one"
            )

    @property
    def lipschitz(self) -> Lipschitz:
        """L = 1/s under Σ|x_i − y_i| of records on the grid; the location is private, so the spread is 2L."""
        return lipschitz.laplace(self.scale, AbsoluteDifference(self.grid))

    @property
    def guarantee(self) -> MetricDP:
        return self.lipschitz.one_draw

    @property
    def knob(self) -> tuple[str, float]:
        return "scale", float(self.scale)

    def release(self, value: ArrayLike, source: Source | None = None) -> float:
        """Draw one location, exactly, given the records."""
        return float(self.releases(value, 1, source)[0])

    def releases(self, value: ArrayLike, size: int, source: Source | None = None) -> NDArray[np.float64]:
        """`size` draws, each of which costs as much; for audits."""
        found = exact.categorical(source or SYSTEM, np.array(self._log_weights(value), dtype=object), size)
        first, step = Fraction(self.lower), Fraction(self.grid)
        return np.array([float(first + step * j) for j in found.tolist()])

    def _cells(self, value: ArrayLike) -> NDArray[np.int64]:
        """Clip each record and round it to the grid; what is missing counts as the lower bound."""
        records = non_empty(finite(value, "the records", missing=float(self.lower)), "the records")
        held = np.clip(records, float(self.lower), float(self.upper)) / float(self.grid)
        first, last = (round(Fraction(end) / Fraction(self.grid)) for end in (self.lower, self.upper))
        return np.asarray(np.clip(np.floor(held + 0.5).astype(np.int64) - first, 0, last - first))

    def _log_weights(self, value: ArrayLike) -> list[Fraction]:
        """−Σ|k_i − j| g/s at each point j, in one pass over the sorted cells."""
        cells = self._cells(value)
        points = round((Fraction(self.upper) - Fraction(self.lower)) / Fraction(self.grid)) + 1
        below = np.cumsum(np.bincount(cells, minlength=points))[:points]
        steps = 2 * below - cells.size  # Σ|k − (j + 1)| − Σ|k − j|
        sums = np.concatenate(([int(cells.sum())], int(cells.sum()) + np.cumsum(steps[:-1])))
        unit = rational(self.grid, what="grid") / rational(self.scale, what="scale")
        return [-unit * int(total) for total in sums]
