"""Normal–inverse-gamma: mean and variance of a bounded column."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.exact_fields import Grid, Rational, exactly, power_of_two_above
from discreet.families.family import (
    Floats,
    Integers,
    Sensitivity,
    double_above,
    integers,
    one_vector,
    table_size,
    to_project,
)
from discreet.families.laws.normal_inverse_gamma import NormalInverseGammaLaw
from discreet.families.records import Lattice, refuse_overflow
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Relation


@final
@dataclass(frozen=True, repr=False, init=False)
class NormalInverseGamma(NormalInverseGammaLaw):
    """σ² ~ IG(a, b), μ|σ² ~ N(m, σ²/κ), x ~ N(μ, σ²) clipped to [lower, upper]; θ = (μ, σ²).

    S = (KΣq, Σq²) with q counted from the middle of the bounds and K a power of two near half its range: one
    record then moves both coordinates alike, so that noise of one scale suits both.
    Likelihood and predictive (Student t) are those of unclipped records.
    """

    name: ClassVar[str] = "normal_inverse_gamma"
    lower: Rational = Rational(positive=False)  # noqa: RUF009 - a descriptor
    upper: Rational = Rational(positive=False)  # noqa: RUF009
    grid: Grid = Grid(lambda model: (model.lower, model.upper))  # noqa: RUF009

    def __init__(  # noqa: PLR0917 - as a dataclass would; a field cannot share its name with the method `mean`
        self,
        mean: Exact,
        strength: Exact,
        shape: Exact,
        scale: Exact,
        lower: Exact,
        upper: Exact,
        grid: Exact | None = None,
    ) -> None:
        given = {"location": mean, "strength": strength, "shape": shape, "scale": scale}
        for field, value in {**given, "lower": lower, "upper": upper, "grid": grid}.items():
            object.__setattr__(self, field, value)
        refuse_overflow(1, self.count_unit)

    # --- data side ------------
    @cached_property
    def lattice(self) -> Lattice:
        return Lattice(self.lower, self.upper, self.grid)

    @property
    def limits(self) -> tuple[Fraction, Fraction]:
        return self.lower, self.upper

    @cached_property
    def middle(self) -> int:
        """Return the grid point that q is counted from."""
        return (self.lattice.low + self.lattice.high) // 2

    @property
    def count_unit(self) -> int:
        return self._ends[1] ** 2

    @cached_property
    def _ends(self) -> tuple[int, int]:
        return self.lattice.low - self.middle, self.lattice.high - self.middle

    @cached_property
    def _balance(self) -> int:
        """K ∈ [R/2, R), R the larger end."""
        return max(1, int(power_of_two_above(Fraction(self._ends[1], 2))))

    def statistic(self, data: ArrayLike) -> Integers:
        q = self.lattice.integers(data) - self.middle
        refuse_overflow(q.size, self.count_unit)
        return np.array([self._balance * q.sum(), (q**2).sum()], dtype=np.int64)

    def each(self, data: ArrayLike) -> Integers:
        q = self.lattice.integers(data) - self.middle
        return np.stack([self._balance * q, q**2], axis=-1)

    @property
    def units(self) -> Floats:
        return np.array([float(self.grid / self._balance), float(self.grid**2)])

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """Exact: sup of |q−q'|·(K, |q+q'|), with q at an end; the interior maxima over q' are known.

        L1: q' = ∓K/2; L2: 2q'² + 2qq' + K² = 0; L∞: q' = 0; integers beside them count. One record: |q| = R.
        """
        (low, high), K = self._ends, self._balance
        if not relation.replaces:
            return Sensitivity.of((K + high) * high, (K**2 + high**2) * high**2, max(K, high) * high)
        inner = [0, K // 2] + [(end - math.isqrt(max(0, end**2 - 2 * K**2))) // 2 for end in (high, -low)]
        near = {s * (k + step) for k in inner for s in (1, -1) for step in (-1, 0, 1)}
        tried = {low, high} | {k for k in near if low <= k <= high}
        moves = [(K * abs(q - p), abs(q**2 - p**2)) for q, p in product((low, high), tried)]
        return Sensitivity.of(
            max(u + v for u, v in moves), max(u**2 + v**2 for u, v in moves), max(max(move) for move in moves)
        )

    def check(self, statistic: ArrayLike, n: int) -> Integers:
        first, second = integers(statistic, 2)
        (low, high), count = self._ends, table_size(n)
        total, rest = divmod(first, self._balance)
        inside = rest == 0 and count * low <= total <= count * high and total**2 <= count * second
        if not (inside and second <= (low + high) * total - count * low * high):
            raise ValueError("no n records within bounds have these moments; project a noisy statistic first")
        return np.array([first, second], dtype=np.int64)

    def project(self, statistic: ArrayLike, n: float) -> Floats:
        """Clip Σq to [n·low, n·high], then Σq² to between (Σq)²/n and the chord (low+high)Σq − n·low·high.

        The hull of (q, q²) lies between the parabola and its chord; the clip is vertical, not Euclidean.
        """
        first, second = one_vector(statistic, 2).tolist()
        if to_project(n) == 0:
            return np.zeros(2)
        (low, high), K = self._ends, self._balance
        first = min(max(first / K, n * low), n * high)
        floor = double_above(exactly(first) ** 2 / exactly(n))  # so that `update` accepts it
        return np.array(
            [K * first, min(max(second, floor), max(floor, (low + high) * first - n * low * high))]
        )

    def draw_records(self, theta: Floats, rng: np.random.Generator) -> Floats:
        return np.asarray(theta[:, :1] + theta[:, 1:] ** 0.5 * rng.standard_normal((len(theta), 1)))

    # --- prior and posterior ------------
    def update(self, statistic: ArrayLike, n: Exact, *, weight: Exact = 1) -> Self:
        (first, second), count = self._weighted(statistic, n, weight)
        if count * second < first**2:
            raise ValueError(
                "no n records have these moments, Σq² < (Σq)²/n; project a noisy statistic first"
            )
        eta, shift = self._exact_natural(), self.middle * self.grid
        first, second = first + shift * count, second + 2 * shift * first + shift**2 * count
        return self._from_exact(eta[0] + first, eta[1] + second, eta[2] + count, eta[3] + count)
