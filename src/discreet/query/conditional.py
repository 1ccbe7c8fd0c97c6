"""E[x_A | x_B = …] and P[x_A = … | x_B = …] within one network, by eliminating the other columns.

Exact for each θ. What an elimination costs is known from the public shapes before any θ is at hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any, final

import numpy as np

from discreet.families.family import Floats
from discreet.posteriors.tables import ProbabilityTable
from discreet.query.expression import Numeric
from discreet.query.text import QueryError

MOST_WORK = 2**17  # products for each θ, of one conditional
MOST_AXES = 24  # of one product
AT_ONCE = 2**22  # numbers in memory

Axes = tuple[str, ...]


@final
@dataclass(frozen=True, eq=False)
class Factor:
    """A function of some columns, for each θ: (draws, codes of each column…)."""

    axes: Axes
    values: Floats


@final
@dataclass(frozen=True, eq=False)
class Conditional(Numeric):
    """Σ weight(x_A) p(x_A, x_B = b | θ) / Σ p(x_A, x_B = b | θ); the columns of A are axes of `weights`."""

    tables: tuple[ProbabilityTable, ...]  # in the order of θ; the last axis of each given the others
    wanted: Axes
    weights: Floats
    seen: tuple[tuple[str, int], ...]  # column and code

    def __post_init__(self) -> None:
        """Refuse what would take too long, from the shapes alone."""
        work, shapes = 0, [tuple(a for a in axes if a not in dict(self.seen)) for axes in self._needed_axes()]
        for axes, _ in _order(shapes, self.wanted, self._codes):
            work += _cells(axes, self._codes, self.wanted)
        if work > MOST_WORK:
            raise QueryError(
                f"this asks for sums over {work} cells for each θ, more than {MOST_WORK}: condition on more "
                "columns, or ask about columns nearer to each other"
            )

    @property
    def _codes(self) -> dict[str, int]:
        return {axis.name: len(axis.levels) for table in self.tables for axis in table.axes}

    @property
    def _needed(self) -> set[str]:
        """Return the columns asked for and all above them: the others add up to 1."""
        needed = {*self.wanted, *dict(self.seen)}
        above = {names(table)[-1]: names(table)[:-1] for table in self.tables}
        waiting = list(needed)
        while waiting:
            new = set(above[waiting.pop()]) - needed
            needed |= new
            waiting += new
        return needed

    def _needed_axes(self) -> list[Axes]:
        needed = self._needed
        return [names(table) for table in self.tables if names(table)[-1] in needed]

    def at(self, theta: Floats) -> Floats:
        step = max(1, AT_ONCE // self._largest)
        return np.concatenate([self._part(theta[i : i + step]) for i in range(0, len(theta), step)])

    @property
    def _largest(self) -> int:
        return MOST_WORK + max(prod(table.shape) for table in self.tables)

    def _part(self, theta: Floats) -> Floats:
        factors = self._factors(theta)
        for axes, hidden in _order([factor.axes for factor in factors], self.wanted, self._codes):
            touched = [factor for factor in factors if hidden in factor.axes] if hidden else factors
            whole = reduce(_times, touched, Factor((), np.ones(len(theta))))
            left = tuple(name for name in axes if name != hidden)
            factors = [factor for factor in factors if factor not in touched]
            factors.append(_summed(whole, left if hidden else self.wanted))
        joint = factors[-1].values
        over = tuple(range(1, joint.ndim))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((joint * self.weights).sum(axis=over) / joint.sum(axis=over))

    def _factors(self, theta: Floats) -> list[Factor]:
        """Take each needed table at the codes that are seen."""
        needed, seen, start, found = self._needed, dict(self.seen), 0, []
        for table in self.tables:
            stop, axes = start + prod(table.shape), names(table)
            if axes[-1] in needed:
                place = tuple(seen.get(name, slice(None)) for name in axes)
                values = theta[:, start:stop].reshape(len(theta), *table.shape)[(slice(None), *place)]
                found.append(Factor(tuple(a for a in axes if a not in seen), values))
            start = stop
        return found


def names(table: ProbabilityTable) -> Axes:
    return tuple(axis.name for axis in table.axes)


def _cells(axes: Iterable[str], codes: dict[str, int], wanted: Axes) -> int:
    named = [*axes]
    if len(named) > MOST_AXES or len(wanted) > MOST_AXES:
        raise QueryError(
            f"this needs {len(named)} columns at once, more than {MOST_AXES}: condition on more of them"
        )
    return prod(codes[name] for name in named)


def _order(shapes: Sequence[Axes], wanted: Axes, codes: dict[str, int]) -> list[tuple[Axes, str]]:
    """Choose the hidden column with the smallest product each time; last the product of what is left."""
    left, steps = [set(axes) for axes in shapes], []
    hidden = sorted(set().union(*left) - set(wanted))

    def product(column: str) -> int:
        return prod(codes[name] for name in set().union(*(axes for axes in left if column in axes)))

    while hidden:
        column = min(hidden, key=product)
        hidden.remove(column)
        union = set().union(*(axes for axes in left if column in axes))
        left = [axes for axes in left if column not in axes] + [union - {column}]
        steps.append((tuple(sorted(union)), column))
    return [*steps, (wanted, "")]


def _times(first: Factor, second: Factor) -> Factor:
    """Multiply, and bring the largest number of each draw to 1: only ratios are asked for."""
    axes = (*first.axes, *(name for name in second.axes if name not in first.axes))
    place, other = ([0, *(axes.index(name) + 1 for name in part.axes)] for part in (first, second))
    operands: list[Any] = [first.values, place, second.values, other, list(range(len(axes) + 1))]
    values = np.einsum(*operands)
    most = values.reshape(len(values), -1).max(axis=1, initial=0.0)
    return Factor(axes, values / np.where(most > 0, most, 1.0).reshape(-1, *[1] * len(axes)))


def _summed(factor: Factor, kept: Axes) -> Factor:
    """Sum the other columns out, and put the axes in this order."""
    known = tuple(name for name in kept if name in factor.axes)
    place, left = ([0, *(factor.axes.index(name) + 1 for name in part)] for part in (factor.axes, known))
    operands: list[Any] = [factor.values, place, left]
    return Factor(known, np.einsum(*operands))
