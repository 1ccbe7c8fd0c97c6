"""Records at the door: bounded, quantised to a public grid and summed as integers, so that sums are exact."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.families.exact_fields import power_of_two_above
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
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import SUBSTITUTE, NotProved, Relation

FAR = 2.0**400  # steps of the grid: longer entries are put there, so that norms stay finite
NEAR = 2.0**-400  # and shorter ones there, unless they are 0, so that no row's square vanishes
FINE = 2**10  # steps of a radius from which on short rows are lengthened
KEPT = 1 - 2.0**-9 + 2.0**-19  # of a row's square, a little above (1 − 2^-10)²
WIDE = 2**300  # a radius beyond it, or below its inverse, has steps that doubles cannot square
LARGEST = 2**53  # integers that doubles hold exactly


def numbers(data: ArrayLike, *, columns: int | None = None) -> Floats:
    """Read records as doubles, each one number or a row of so many columns; NULL becomes NaN.

    No records are records, too: with n private the empty table is a neighbour. Errors never show a value or a
    position.
    """
    try:
        x = doubles(
            np.ma.filled(data.astype(object), np.nan) if isinstance(data, np.ma.MaskedArray) else data
        )
    except (TypeError, ValueError):
        raise ValueError(
            "records must be numbers or missing; encode categories as integer codes first"
        ) from None
    if columns is not None and x.shape == (0,):
        return x.reshape(0, columns)
    dimensions = 1 if columns is None else 2
    if x.ndim != dimensions:
        shape = "one number per record" if columns is None else "one row per record"
        raise ValueError(f"records need a {dimensions}-dimensional array, {shape}; got {x.ndim} dimensions")
    return x


def doubles(data: ArrayLike) -> Floats:
    """Read numbers as doubles, those beyond (10**400) as infinite: an error would tell that one is there."""
    try:
        return np.asarray(data, dtype=np.float64)
    except OverflowError:
        pass
    return np.vectorize(_double, otypes=[np.float64])(np.asarray(data, dtype=object))


def _double(x: Any) -> float:  # noqa: ANN401 - whatever the data hold
    try:
        return math.nan if x is None else float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def whole(x: Floats) -> Integers:
    """Refuse what is not an integer, without showing it."""
    if not np.array_equal(x, np.floor(x)):
        raise ValueError(
            "this family takes whole numbers, and some record has a fraction: round the column first"
        )
    return x.astype(np.int64)


def refuse_overflow(count: int, largest: int) -> None:
    """n·max|q| must fit 63 bits: decided from public numbers only, never from the sum itself."""
    if not count * largest < 2**63:
        raise ValueError(
            f"{count} records of up to {largest} units overflow 64-bit sums; choose a coarser grid"
        )


def counts_within(x: Floats, most: float = math.inf) -> tuple[NDArray[np.bool_], Floats]:
    """Return which are counts of at most so many, and these, with 0 in place of the others."""
    inside = (x >= 0) & (x <= most) & (x == np.floor(x))
    return inside, np.where(inside, x, 0.0)


@final
@dataclass(frozen=True)
class Lattice:
    """q = ⌊x/g + ½⌋ after a NaN-safe clip to public [lower, upper]; NaN and NULL go to the lower bound."""

    lower: Fraction
    upper: Fraction
    grid: Fraction
    integral: bool = False  # the column holds counts: anything else is a mistake to report

    def __post_init__(self) -> None:
        if not self.lower < self.upper:
            raise ValueError(
                f"bounds need lower < upper, got [{float(self.lower)}, {float(self.upper)}]; "
                "they must be public knowledge, not read from the data"
            )
        g = self.grid
        if not (g > 0 and g == power_of_two_above(g)):
            raise ValueError(f"grid must be a power of two, got {float(g)}; e.g. 2**-10")
        if not self.low < self.high:
            raise ValueError(f"grid {float(g)} is coarser than the bounds; choose a finer one")
        if not max(-self.low, self.high) < LARGEST:
            raise ValueError(f"grid {float(g)} is too fine for the bounds; choose a coarser one")

    @classmethod
    def of_counts(cls, most: int) -> Self:
        """Return that of counts from 0 to a bound."""
        return cls(Fraction(0), Fraction(most), Fraction(1), integral=True)

    @cached_property
    def low(self) -> int:
        return (self.lower / self.grid + Fraction(1, 2)).__floor__()

    @cached_property
    def high(self) -> int:
        return (self.upper / self.grid + Fraction(1, 2)).__floor__()

    @cached_property
    def largest(self) -> int:
        """max|q| over the records."""
        return max(abs(self.low), abs(self.high))

    def integers(self, data: ArrayLike) -> Integers:
        x = numbers(data)
        with np.errstate(over="ignore", invalid="ignore"):
            q = x / float(self.grid)
            q = q if self.integral else np.floor(q + 0.5)
            q = np.clip(np.where(np.isnan(q), self.low, q), self.low, self.high)
        return whole(q)


@final
@dataclass(frozen=True)
class Ball:
    """Rows x with ‖x‖ ≤ radius as integers q with Σq² ≤ ⌊radius/g⌋²; missing entries are 0 (all public)."""

    radius: Fraction
    grid: Fraction

    def __post_init__(self) -> None:
        if not (self.grid > 0 and self.grid == power_of_two_above(self.grid)):
            raise ValueError(f"grid must be a power of two, got {float(self.grid)}; e.g. 2**-10")
        if not 1 <= self.largest < 2**26:
            raise ValueError(f"grid {float(self.grid)} must divide the radius into 1 to 2^26 steps")
        if not Fraction(1, WIDE) <= self.radius <= WIDE:
            raise ValueError("norm or radius must lie within 2^±300; measure the columns in other units")

    @cached_property
    def largest(self) -> int:
        """R = ⌊radius/g⌋, the largest norm."""
        return (self.radius / self.grid).__floor__()

    @property
    def reach(self) -> float:
        """Where an entry that is longer is put."""
        return float(self.grid) * FAR

    @property
    def inner(self) -> int:
        """Σq² from which on no row is lengthened: (R − 1)²; 0 where coarse steps would bias sums too much."""
        return (self.largest - 1) ** 2 if self.largest >= FINE else 0

    @property
    def near(self) -> float:
        """Where an entry that is shorter, and not 0, is put."""
        return float(self.grid) * NEAR

    def integers(self, data: ArrayLike, columns: int) -> Integers:
        """Shrink rows longer than R steps to R, round them, and mend what is then too long or too short.

        Entries in turn are truncated while Σq² > R², or rounded away from 0 while Σq² < `least`. So Σq² ≤ R²
        and ‖q‖ ≥ min((1 − 2^-10)‖x‖/g, R − 1) where R ≥ 2^10: from 2^11 steps on every row inside, however
        short, keeps 1 − 2^-10 of its length. A change moves ‖q‖ by a step at most, and least ≤ (R − 1)², so
        that no row passes R; `tight` has what doubles round. Coarser balls keep ‖x‖/g − √d/2 − 2, and 1 step.
        """
        x = numbers(data, columns=columns)
        if x.shape[1] != columns:
            raise ValueError(f"a record has {columns} numbers, got rows of {x.shape[1]}")
        x = np.where(np.isnan(x), 0.0, x)
        x = np.sign(x) * np.clip(np.abs(x), self.near, self.reach) / float(self.grid)
        square = _sum_of_squares(x)
        y = x * (self.largest / np.maximum(np.sqrt(square), self.largest))[:, None]
        q = np.floor(y + 0.5)
        length, most = (q**2).sum(axis=1), self.largest**2
        least = np.maximum(np.minimum(KEPT * square, self.inner), 0.5)
        long, short = length > most, length < least
        q[long] = _in_turn(q[long], np.trunc(y[long] * tight(columns)), lambda now: now > most)
        q[short] = _in_turn(q[short], _away_from_0(y[short]), lambda now: now < least[short, None])
        return q.astype(np.int64)

    def settings(self, columns: int) -> Floats:
        """Return what compiled.to_ball needs to know."""
        per_step, largest, inner = 1 / float(self.grid), float(self.largest), float(self.inner)
        return np.array([per_step, largest, tight(columns), self.near, KEPT, inner])

    def second_moments(self, q: Integers) -> Integers:
        """Return Σqqᵀ, packed; doubles (and so BLAS) are exact while n·R² < 2^53."""
        largest = q.shape[0] * self.largest**2
        refuse_overflow(q.shape[0], self.largest**2)
        x = q.astype(np.float64) if largest < LARGEST else q
        rows, columns = np.triu_indices(q.shape[1])
        return (x.T @ x)[rows, columns].astype(np.int64)


def _sum_of_squares(x: Floats) -> Floats:
    """Σ_j x_j² of each row in one order on every engine: eight sums in a tree, then what is left over.

    numpy's own order depends on the layout of the array, and on the number of columns from 128 on.
    """
    squares, whole = x**2, x.shape[1] - x.shape[1] % 8
    r = sum((squares[:, i : i + 8] for i in range(8, whole, 8)), squares[:, :8])
    for _ in range(3 if whole else 0):
        r = r[:, ::2] + r[:, 1::2]
    return sum(squares[:, whole:].T, r[:, 0] if whole else np.zeros(len(x)))


def _in_turn(q: Floats, other: Floats, wrong: Callable[[Floats], NDArray[np.bool_]]) -> Floats:
    """Take a row's other entries instead, one after another, while Σq² is wrong; exact, in whole doubles."""
    change = other**2 - q**2
    now = (q**2).sum(axis=1, keepdims=True) + np.cumsum(change, axis=1) - change
    return np.where(wrong(now), other, q)


def _away_from_0(y: Floats) -> Floats:
    return np.where(y > 0, np.ceil(y), np.floor(y))


def tight(columns: int) -> float:
    """Return t < 1 such that truncated rows fit: ‖y‖ ≤ R as computed implies ‖ty‖ ≤ R as it is.

    The computed norm is above (1 − (d/2 + 2)u)‖x‖ in any order of summation, u = 2^-53, and a quotient and
    two products are off by u each [Higham 2002, §3.1 and §4.2]; t = 1 − 8(d + 8)u.
    """
    return 1 - (columns + 8) * 2.0**-50


# ── Families whose statistic is one bounded integer sum: the data side follows from the lattice.
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
