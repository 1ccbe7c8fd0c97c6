"""One family in each group of the records: groups are disjoint, so that one charge pays for all of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.family import Family, Integers, Sensitivity, root_above
from discreet.privacy.guarantee import Relation


@final
@dataclass(frozen=True)
class Grouped:
    """`model` for the records of each group; the groups are the joint levels of the columns `by`.

    `of` names the columns that the family reads: those that the table has selected, unless given.
    """

    name: ClassVar[str] = "grouped"

    model: Family
    by: tuple[str, ...]
    of: tuple[str, ...] = ()
    sizes: tuple[int, ...] = field(default=(), kw_only=True)  # codes of each column of `by`; from the schema

    def __post_init__(self) -> None:
        for name in ("by", "of"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))
        object.__setattr__(self, "sizes", tuple(int(size) for size in self.sizes))
        if not isinstance(self.model, Family):
            raise TypeError(
                f"groups are of a family such as BetaBernoulli, got {type(self.model).__name__}: a model of "
                "counts takes the groups as one more column, a regression as one more feature"
            )
        if not self.by or len({*self.by, *self.of}) != len(self.by) + len(self.of):
            raise ValueError("name at least one column to group by, and each column once")

    # --- the groups ------------
    def bind(self, of: tuple[str, ...], sizes: tuple[int, ...]) -> Self:
        """Return the same model knowing its columns, and how many levels those of `by` have."""
        if prod(sizes) < 2:
            raise ValueError(f"{', '.join(self.by)} makes one group: leave by out")
        return replace(self, of=of, sizes=sizes)

    @property
    def columns(self) -> tuple[str, ...]:
        return *self.by, *self.of

    @property
    def count(self) -> int:
        """Return how many groups there are, those without records included."""
        if not self.sizes:
            raise ValueError("the model does not know its groups yet: fit it to a table, or bind it")
        return prod(self.sizes)

    # --- what is noised: (S, n) of every group ------------
    def sensitivity(self, relation: Relation) -> Sensitivity:
        """How far one record moves the vector of all groups, each block as `model.joint` encodes it.

        Added or removed: one block, as far as in the family [McSherry 2009]. Substituted: one by u − v,
        or two by u and by v; in both cases L1 ≤ ‖u‖₁ + ‖v‖₁ and L2² ≤ ‖u‖₂² + ‖v‖₂², as ⟨u, v⟩ ≥ 0
        [theory §11].
        """
        one = self.model.joint_sensitivity()
        return one if not relation.replaces else both(one)

    def vector(self, values: ArrayLike) -> Integers:
        """Return what is noised, one row per group, of rows (S, n); refused, showing none, if no records."""
        rows = np.asarray(values)
        if rows.ndim != 2 or len(rows) != self.count or rows.dtype.kind not in "iu":
            raise ValueError(f"give one row of integers for each of the {self.count} groups: S, then n")
        return np.array([self.model.joint(row[:-1], int(row[-1])) for row in rows], dtype=np.int64)


def both(one: Sensitivity) -> Sensitivity:
    """One block moves by u and another by v, each at most so far; or one by u − v with ⟨u, v⟩ ≥ 0."""
    return Sensitivity(2 * one.l1, root_above(2 * Fraction(one.l2) ** 2), 2 * one.linf)
