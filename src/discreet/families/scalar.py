"""Families whose statistic is one bounded integer sum: the data side follows from the lattice."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.family import (
    Family,
    Floats,
    Integers,
    Sensitivity,
    count_and_weight,
    double_above,
    entries,
    integers,
    one_vector,
    table_size,
    to_project,
)
from discreet.families.records import Lattice, refuse_overflow
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import SUBSTITUTE, NotProved, Relation


@dataclass(frozen=True, repr=False)
class ScalarFamily(Family):
    """S = Σq over records q ∈ {low, …, high}, so that S ∈ [n·low, n·high]."""

    @property
    @abstractmethod
    def lattice(self) -> Lattice:
        """Public bounds and grid of one record."""

    @property
    def limits(self) -> tuple[Fraction, Fraction]:
        return self.lattice.lower, self.lattice.upper

    def statistic(self, data: ArrayLike) -> Integers:
        q = self.lattice.integers(data)
        refuse_overflow(q.size, self.lattice.largest)
        return np.array([q.sum()], dtype=np.int64)

    def each(self, data: ArrayLike) -> Integers:
        return self.lattice.integers(data)[:, None]

    @property
    def units(self) -> Floats:
        return np.array([float(self.lattice.grid)])

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """Exact: sup|q − q'| = high − low (SUBSTITUTE), sup|q| (ADD_REMOVE)."""
        lattice = self.lattice
        gap = lattice.high - lattice.low if relation.replaces else lattice.largest
        return Sensitivity.of(gap, gap**2, gap)

    def check(self, statistic: ArrayLike, n: int) -> Integers:
        (total,) = integers(statistic, 1)
        self._refuse_outside(total, table_size(n))
        return np.array([total], dtype=np.int64)

    def project(self, statistic: ArrayLike, n: float) -> Floats:
        """Clip to [n·low, n·high], both ends rounded inward so that `update` accepts the result."""
        count = to_project(n)
        high = -double_above(-count * self.lattice.high)
        return np.clip(one_vector(statistic, 1), double_above(count * self.lattice.low), high)

    def joint(self, statistic: ArrayLike, n: int) -> Integers:
        """(S − n·low, n·high − S): one record moves it by (q − low, high − q), of L1 norm high − low."""
        total = int(self.check(statistic, n)[0])
        return np.array([total - n * self.lattice.low, n * self.lattice.high - total], dtype=np.int64)

    def joint_sensitivity(self) -> Sensitivity:
        """Return high − low in every norm: exact, attained by a record at either bound."""
        return self.sensitivity(SUBSTITUTE)

    def split(self, joint: ArrayLike) -> tuple[Floats, float]:
        low, high = one_vector(joint, 2).tolist()
        n = (low + high) / (self.lattice.high - self.lattice.low)
        return np.array([low + n * self.lattice.low]), n

    def draw_records(self, theta: Floats, rng: np.random.Generator) -> Floats | None:
        """Draw whole numbers by their likelihood, those beyond the upper bound on it."""
        if not self.lattice.integral:
            return None
        values = np.arange(self.lattice.low, self.lattice.high)
        below = np.cumsum(np.exp(self.log_likelihood(values, theta)), axis=1)
        return (self.lattice.low + (rng.random((len(theta), 1)) > below).sum(axis=1, keepdims=True)) * 1.0

    def _refuse_outside(self, total: Fraction | int, n: Fraction | int) -> None:
        if not n * self.lattice.low <= total <= n * self.lattice.high:
            what = "negative, or " if self.lattice.low == 0 else ""
            raise ValueError(f"the statistic is {what}beyond what n records within bounds can sum to")

    def _weighted(self, statistic: ArrayLike, n: Exact, weight: Exact) -> tuple[Fraction, Fraction]:
        """(r·g·S, r·n), exactly."""
        count, r = count_and_weight(n, weight)
        (total,) = entries(statistic, 1)
        self._refuse_outside(total, count)
        return r * self.lattice.grid * total, r * count

    def _not_proved(self, relation: Relation) -> NotProved:
        return NotProved(
            f"no worst neighbouring pair is proved for one posterior draw of {type(self).__name__} under "
            f"{relation.name}; NoisyStatistics covers it"
        )
