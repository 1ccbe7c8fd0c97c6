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

MOST_WORK = 2**16  # products for each θ, of all conditionals of a query
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
        refuse_work(self.work)

    @property
    def work(self) -> int:
        """Return how many products each θ needs."""
        seen = dict(self.seen)
        shapes = [tuple(name for name in axes if name not in seen) for axes in self._needed_axes()]
        steps = _order(shapes, self.wanted, self._codes)
        return sum(_cells(axes, self._codes, self.wanted) for axes, _ in steps)

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


def refuse_work(work: int) -> None:
    if work > MOST_WORK:
        raise QueryError(
            f"this asks for sums over {work} cells for each θ, more than {MOST_WORK}: condition on more "
            "columns, or ask about columns nearer to each other"
        )


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
    beside: dict[str, set[str]] = {name: set() for axes in shapes for name in axes}
    for axes in shapes:
        for name in axes:
            beside[name] |= set(axes) - {name}
    cost = {name: _product(near, codes) * codes[name] for name, near in beside.items() if name not in wanted}
    steps: list[tuple[Axes, str]] = []
    while cost:
        column = min(cost, key=lambda name: (cost[name], name))
        near = beside.pop(column)
        steps.append((tuple(sorted({column, *near})), column))
        _cells(steps[-1][0], codes, wanted)
        del cost[column]
        for name in near:  # what is left of the product touches all of them
            beside[name] = (beside[name] | near) - {name, column}
            if name in cost:
                cost[name] = _product(beside[name], codes) * codes[name]
    return [*steps, (wanted, "")]


def _product(names: Iterable[str], codes: dict[str, int]) -> int:
    return prod(codes[name] for name in names)


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
