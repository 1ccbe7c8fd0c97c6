"""The exponential mechanism over all points of a fine public grid, with a piecewise-constant score."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import ClassVar, Self, final

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.choice.exponential import Rated, score_spread, utility_threshold
from discreet.mechanisms.mechanism import largest_budget, non_empty, positive, probability
from discreet.mechanisms.noise.base import BasicMechanism, finite_divergence
from discreet.mechanisms.sensitivity.median import OnInterval
from discreet.privacy.arithmetic.ball import Exact, ball
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.kinds import BoundedRange
from discreet.sampling import exact
from discreet.sampling.discrete import invert
from discreet.sampling.source import SYSTEM, Source


@final
@dataclass(frozen=True)
class StepScore:
    """Score `levels[i]` on grid points `starts[i] ≤ j < starts[i+1]`; the last run ends the grid. Private.

    `spread`, where it is known, is public: how far apart one record can pull the scores of two points.
    """

    starts: tuple[int, ...] = field(repr=False)
    levels: tuple[Fraction, ...] = field(repr=False)
    spread: Fraction | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in zip(self.starts, self.starts[1:], strict=False))
        if not self.starts or len(self.starts) != len(self.levels) or self.starts[0] != 0 or not rising:
            raise ValueError(
                "a step score needs one level per run, and runs that start at 0 and rise strictly"
            )

    def lengths(self, points: int) -> list[int]:
        """Grid points in each run."""
        if not self.starts[-1] < points:
            raise ValueError(
                f"a step score must start every run within the {points} points of the public grid"
            )
        return [b - a for a, b in zip(self.starts, (*self.starts[1:], points), strict=True)]


@final
@dataclass(frozen=True)
class ContinuousExponential(Rated, OnInterval, BasicMechanism):
    """P(y) ∝ exp(ε s(X,y)/(2Δ)) on {lower, lower+g, …, upper}: ε-bounded range [DDR20 Lemma 3.2].

    The grid is the range, so nothing is rounded; runs of equal score are drawn at once, so it may be fine.
    Where no spread is declared, a score that knows its own is drawn by that one.
    """

    lower: Exact
    upper: Exact
    epsilon: Exact
    sensitivity: Exact = 1
    spread: Exact | None = None  # None: that of the score, or 2Δ
    grid: Exact | None = None
    name: ClassVar[str] = "continuous_exponential"
    theorem: ClassVar[str] = "McSherry, Talwar 2007, Thm 6; DDR20 Lemma 3.2; Smith 2011 (quantiles)"

    def __post_init__(self) -> None:
        _ = self.interval
        score_spread(self.sensitivity, self.spread)
        positive(self.epsilon, "epsilon")

    @classmethod
    def calibrate(
        cls,
        *,
        target: Guarantee,
        lower: Exact,
        upper: Exact,
        sensitivity: Exact = 1,
        spread: Exact | None = None,
        grid: Exact | None = None,
    ) -> Self:
        relation = target.relation
        budget = largest_budget(lambda e: BoundedRange(e, relation=relation), target)
        return cls(lower, upper, budget, sensitivity, spread, grid, relation=relation)

    @property
    def guarantee(self) -> BoundedRange:
        return BoundedRange(self.loss, relation=self.relation)

    def quantile(self, data: ArrayLike, level: Exact = Fraction(1, 2)) -> StepScore:
        """s(X,y) = −|u(y)|, u(y) = #{x ≤ y} − level·n [Smith 2011]; no data score 0 everywhere.

        How far apart one record pulls two points' scores, q the level: a record x that is added moves u(y)
        by 1 − q for y ≥ x and by −q for y < x. So s moves by at most 1 − q beyond x and at most q before it,
        either way: up where u(y) ≤ q − 1, down where u(y) ≥ 0, and both may lie beyond x. Two points beyond x
        part by up to 2(1 − q), two before it by up to 2q, one of each by at most 1 ≤ 2 max(q, 1 − q): the
        spread is 2 max(q, 1 − q), and attained. A record replaced moves u by ±1 between its two places and
        by 0 elsewhere: the spread is 2.
        """
        share = probability(level, "the quantile's level")
        least = Fraction(2) if self.relation.replaces else 2 * max(share, 1 - share)
        if self.spread is not None and not Fraction(self.spread) >= least:
            raise ValueError(
                f"the quantile's score has spread {least} at this level under this relation, got "
                f"{self.spread}; leave spread out"
            )
        if not 2 * Fraction(self.sensitivity) >= least:
            raise ValueError(f"one record moves the quantile's score by {least / 2}, got {self.sensitivity}")
        records = self.interval.cells(data)
        if self.relation.replaces:  # with n private no records are an ordinary data set
            non_empty(records, "the data")
        cells, counts = np.unique(records, return_counts=True)
        below = np.concatenate(([0], np.cumsum(counts)))
        starts = np.concatenate(([0], cells))
        first = 1 if cells.size and cells[0] == 0 else 0
        wanted = share * int(below[-1])
        levels = tuple(-abs(int(c) - wanted) for c in below[first:])
        return StepScore(tuple(int(s) for s in starts[first:]), levels, least)

    def release(self, value: StepScore, source: Source | None = None) -> float:
        """One point of the grid, as the nearest double."""
        return float(self.releases(value, 1, source)[0])

    def releases(self, value: StepScore, size: int, source: Source | None = None) -> NDArray[np.float64]:
        used, lengths = source or SYSTEM, value.lengths(self.interval.cell_count + 1)
        runs = invert(used, lambda: list(accumulate(self._runs(value)))[:-1], size)
        points = np.empty(size, dtype=np.int64)
        for run in np.unique(runs):
            rows = np.flatnonzero(runs == run)
            points[rows] = value.starts[run] + exact.uniform_integers(used, lengths[run], rows.size)
        return self.interval.values(points.tolist())

    def _runs(self, value: StepScore) -> list[arb]:
        """P(run) ∝ length·e^{rate·level}, at the working precision"""
        top, rate = max(value.levels), self._rate_of(value)
        lengths = value.lengths(self.interval.cell_count + 1)
        weights = [k * ball(rate * (s - top)).exp() for k, s in zip(lengths, value.levels, strict=True)]
        total = sum(weights[1:], weights[0])
        return [w / total for w in weights]

    def _rate_of(self, value: StepScore) -> Fraction:
        own = self.spread is None and value.spread is not None
        return Fraction(self.epsilon) / value.spread if own and value.spread else self.rate

    def _cells(self, value: StepScore, cuts: list[int]) -> list[arb]:
        """P of each common piece of two step scores."""
        points = self.interval.cell_count + 1
        lengths, runs = value.lengths(points), self._runs(value)
        home = np.searchsorted(value.starts, cuts, side="right") - 1
        pieces = zip(cuts, [*cuts[1:], points], home.tolist(), strict=True)
        return [runs[r] * ball(Fraction(b - a, lengths[r])) for a, b, r in pieces]

    def hockey_stick(self, value: StepScore, neighbour: StepScore, epsilon: Exact) -> float:
        cuts = sorted({*value.starts, *neighbour.starts})
        return finite_divergence(
            lambda: self._cells(value, cuts), lambda: self._cells(neighbour, cuts), epsilon
        )

    def tail_bound(self, probability_above: Exact, best: int = 1) -> float:
        """P(max s − s(y) ≥ (2Δ/ε)(ln(|Y|/|Y_best|) + ln(1/t))) ≤ t [McSherry, Talwar 2007; N19 Prop. 3.12]"""
        return utility_threshold(self.rate, Fraction(self.interval.cell_count + 1, best), probability_above)
