"""What a mechanism is given: exact integers, or clipped rows, and how many records they are of."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn, final

from discreet.families.family import Sensitivity, double_above
from discreet.tables.errors import TableError

MOST_RECORDS = 2**32  # what a private number of records is taken to be below, where overflow is ruled out


@final
@dataclass(frozen=True)
class PrivateValue:
    """Exact and private: what a mechanism is given, and nobody else."""

    values: Any = field(repr=False)  # integers; Records of a regression
    n: int = field(repr=False)

    def __reduce__(self) -> NoReturn:
        raise TypeError("exact private counts are not copied or pickled; release them through a mechanism")


def checked(counted: PrivateValue, n: int | None) -> PrivateValue:
    if n is not None and counted.n != n:  # n is public, and so is that it differs
        raise TableError(
            "the table does not hold the public number of records: it changed, or n is misdeclared"
        )
    return counted


def of_rows(one: Sensitivity, k: int) -> Sensitivity:
    """K rows move the statistic at most k times as far, in every norm: the triangle inequality."""
    return Sensitivity(*(double_above(Fraction(x) * k) for x in (one.l1, one.l2, one.linf)))
