"""(Table, Grouped) → (S, n) of every group, in one pass on every engine: the same integers everywhere.

Each family says of a row which whole numbers it adds to S; one group-by adds them up within groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from itertools import combinations_with_replacement
from math import prod
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.catalogue import expect
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.dirichlet_multinomial import DirichletMultinomial
from discreet.families.family import Family, Integers
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.families.normal_inverse_gamma import NormalInverseGamma
from discreet.families.normal_inverse_wishart import NormalInverseWishart
from discreet.families.records import Ball, ScalarFamily, refuse_overflow
from discreet.models.grouped import Grouped
from discreet.statistics.bounded_statistic import MOST_RECORDS, PrivateValue, bind
from discreet.statistics.joint import grouped, joint_counts, size_of
from discreet.statistics.moments import clipped_rows, refuse_width, within
from discreet.statistics.records import lined
from discreet.statistics.sums import as_number, at_most, exact_sum, item_shares, on_lattice, selected
from discreet.tables.engine import prepared
from discreet.tables.rows import UNIT, clean_code, clean_rows
from discreet.tables.table import Table

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.expr import types as ir

GROUP = "g"  # the column of a row's group
MOST_GROUPS = 2**20


@final
@dataclass(frozen=True, eq=False)
class Terms:
    """What each row adds to S: whole doubles by name, each at most so large, and S of their sums."""

    rows: ir.Table  # columns GROUP and the terms; at most k rows per unit
    largest: Mapping[str, int]
    statistic: Callable[[Mapping[str, Integers]], list[Integers]] = lambda sums: list(sums.values())


def bind_groups(table: Table, model: Grouped) -> tuple[Table, Grouped]:
    """Select the keys, then the family's columns; tell the model its groups. Reads no value."""
    of = model.of or tuple(name for name in table.columns if name not in model.by)
    inner, bound_to = bind(model.model, table[of])
    family = expect(Family, bound_to)
    chosen = inner[(*model.by, *inner.columns)]
    bound = Grouped(family, model.by, inner.columns)
    found = bound.bind(inner.columns, tuple(size_of(chosen, name) for name in model.by))
    if found.count > MOST_GROUPS:
        raise ValueError(f"{', '.join(model.by)} make more than 2^20 groups; group by fewer levels")
    return chosen, found


def by_group(table: Table, model: Grouped, n: int | None) -> Callable[[], PrivateValue]:
    """Prepare rows (S, n), one for each group, the last key's levels fastest."""
    if isinstance(model.model, DirichletCategorical):
        return _coded(table, model)
    terms = terms_of(model.model, table, model.by, n)
    query = terms.rows.group_by(GROUP).aggregate(
        n=terms.rows.count(),
        **{name: exact_sum(terms.rows[name], most, n) for name, most in terms.largest.items()},
    )
    fetch = prepared(query)

    def read() -> PrivateValue:
        found = fetch()
        place = found[GROUP].to_numpy().astype(np.int64)
        sums = {name: _placed(found[name], place, model.count) for name in ("n", *terms.largest)}
        count = sums.pop("n")
        return PrivateValue(np.stack([*terms.statistic(sums), count], axis=1), int(count.sum()))

    return read


def _placed(column: pa.ChunkedArray, place: Integers, size: int) -> Integers:
    """Put each group's sum at its place; a group without rows has none, and 0."""
    out = np.zeros(size, dtype=np.int64)
    out[place] = np.array([int(x) for x in column.to_pylist()], dtype=np.int64)
    return out


def _coded(table: Table, model: Grouped) -> Callable[[], PrivateValue]:
    """Count codes within groups, as contingency tables are counted."""
    (name,) = model.of
    size = size_of(table, name)
    if size != getattr(model.model, "dimension", size):
        raise ValueError(
            f"the model has {getattr(model.model, 'dimension', size)} categories, but column {name!r} has "
            f'{size}: its levels, and one more where unknown = "(unknown)" adds it'
        )
    get = joint_counts(table, model.by, grouped(table, (name,), model.by))

    def read() -> PrivateValue:
        counts = get()[name].reshape(model.count, size)
        total = counts.sum(axis=1)
        return PrivateValue(np.column_stack([counts, total]), int(total.sum()))

    return read


# ── what a row adds to S, family by family
@singledispatch
def terms_of(model: Family, table: Table, by: tuple[str, ...], n: int | None) -> Terms:
    """Return the terms of a family's statistic, beside the group of each row."""
    del table, by, n
    raise TypeError(f"no grouped statistic is known for {type(model).__name__}")


@terms_of.register
def _scalar(model: ScalarFamily, table: Table, by: tuple[str, ...], n: int | None) -> Terms:
    """S = Σq"""
    refuse_overflow(n or MOST_RECORDS, model.lattice.largest)
    return Terms(_on_lattice(table, by, model), {"q": model.lattice.largest})


@terms_of.register
def _two(model: NormalInverseGamma, table: Table, by: tuple[str, ...], n: int | None) -> Terms:
    """S = (KΣq, Σq²), q counted from the middle."""
    refuse_overflow(n or MOST_RECORDS, model.count_unit)
    rows = _on_lattice(table, by, model)
    rows = rows.mutate(q=rows.q - model.middle)
    rows = rows.mutate(square=rows.q * rows.q)
    balance = int(model.grid / Fraction(float(model.units[0])))
    largest = {"q": model.lattice.largest + abs(model.middle), "square": model.count_unit}
    return Terms(rows, largest, lambda sums: [balance * sums["q"], sums["square"]])


@terms_of.register
def _items(model: DirichletMultinomial, table: Table, by: tuple[str, ...], n: int | None) -> Terms:
    """S = Σx, d counts."""
    names = tuple(name for name in table.columns if name not in by)
    rows, own = keyed_rows(table, by, names)
    shares = item_shares(table[names], rows, own, model, n)
    rows = at_most(table, rows.mutate(**shares).drop(*own), (GROUP, *shares))
    return Terms(rows, dict.fromkeys(shares, model.trials))


@terms_of.register
def _vectors(model: NormalInverseWishart, table: Table, by: tuple[str, ...], n: int | None) -> Terms:
    """S = (KΣq, Σqqᵀ packed)"""
    width = model.dimension
    rows, largest = _in_ball(table, by, selected(_without(table, by), width), model.ball, n)
    balance = int(model.grid / Fraction(float(model.units[0])))
    return Terms(
        rows.mutate(**{name: product(rows, name) for name in largest if name.startswith("m")}),
        largest,
        lambda sums: [balance * x if i < width else x for i, x in enumerate(sums.values())],
    )


@terms_of.register
def _lines(model: BayesianLinearRegression, table: Table, by: tuple[str, ...], n: int | None) -> Terms:
    """S = Σqqᵀ packed, of rows (x, y)"""
    own = lined(_without(table, by), model)
    names = selected(own, model.dimension + 1)
    rows, largest = _in_ball(own[(*by, *names)], by, names, model.ball, n)
    products = {name: most for name, most in largest.items() if name.startswith("m")}
    return Terms(rows.mutate(**{name: product(rows, name) for name in products}), products)


def product(rows: ir.Table, name: str) -> ir.Value:
    """q_i·q_j of a column called m<i>_<j>"""
    i, j = name[1:].split("_")
    return rows[f"q{i}"] * rows[f"q{j}"]


def _without(table: Table, by: tuple[str, ...]) -> Table:
    return table[tuple(name for name in table.columns if name not in by)]


def keyed_rows(table: Table, by: tuple[str, ...], names: tuple[str, ...]) -> tuple[ir.Table, dict[str, str]]:
    """Return clean columns x0, x1, … beside the group of each row, and what each is called in the data."""
    own = {f"x{i}": name for i, name in enumerate(names)}
    keys = {f"k{i}": name for i, name in enumerate(by)}
    rows = clean_rows(table, {**own, **keys})
    sizes = [size_of(table, name) for name in by]
    codes = [
        clean_code(table.schema[name], rows[key]).cast("int64") * prod(sizes[i + 1 :])
        for i, (key, name) in enumerate(keys.items())
    ]
    kept = [UNIT] if table.unit is not None else []
    return rows.select(*kept, *own, **{GROUP: sum(codes[1:], codes[0])}), own


def _on_lattice(table: Table, by: tuple[str, ...], model: ScalarFamily | NormalInverseGamma) -> ir.Table:
    (name,) = selected(_without(table, by), 1)
    rows, _ = keyed_rows(table, by, (name,))
    rows = rows.mutate(q=on_lattice(rows.x0, table.schema[name], model.lattice)).drop("x0")
    return at_most(table, rows, (GROUP, "q"))


def _in_ball(
    table: Table, by: tuple[str, ...], names: tuple[str, ...], ball: Ball, n: int | None
) -> tuple[ir.Table, dict[str, int]]:
    """Return whole coordinates q0, q1, … of rows in the ball; s<i> = q_i, m<i>_<j> names q_i·q_j."""
    width = len(names)
    refuse_overflow(n or MOST_RECORDS, ball.largest**2)
    refuse_width(width, ball)
    rows, own = keyed_rows(table, by, names)
    numbers = {x: within(ball.reach, *as_number(rows[x], table.schema[name])) for x, name in own.items()}
    rows = at_most(table, rows.mutate(**numbers), (GROUP, *numbers))
    q = clipped_rows(table, rows, ball, width, (GROUP,))
    q = q.mutate(**{f"s{i}": q[f"q{i}"] for i in range(width)})
    firsts = {f"s{i}": ball.largest for i in range(width)}
    pairs = combinations_with_replacement(range(width), 2)
    return q, {**firsts, **{f"m{i}_{j}": ball.largest**2 for i, j in pairs}}
