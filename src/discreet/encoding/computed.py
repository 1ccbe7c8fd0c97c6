"""Derived columns of given rows: the same operations as on private rows, in NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.tables.derived.columns import (
    COMPARISONS,
    Affine,
    Among,
    Both,
    Column,
    Compare,
    Constant,
    Cut,
    Expression,
    Not,
)
from discreet.tables.derived.joint import Joint, labels_of
from discreet.tables.schema import Binary, Bounded, Categorical, Scalar, Schema

Cells = Mapping[str, NDArray[Any]]  # clean values: truths, codes, numbers


@singledispatch
def computed(expression: Expression, cells: Cells, schema: Schema) -> NDArray[Any]:  # noqa: ARG001
    """Return the values of an expression, row by row."""
    raise TypeError(f"{type(expression).__name__} is not computed on given rows")


@computed.register
def _computed_column(expression: Column, cells: Cells, schema: Schema) -> NDArray[Any]:
    del schema
    return cells[expression.name]


@computed.register
def _computed_constant(expression: Constant, cells: Cells, schema: Schema) -> NDArray[Any]:
    del schema
    size = len(next(iter(cells.values()))) if cells else 1
    return np.full(size, float(expression.number))


@computed.register
def _computed_compare(expression: Compare, cells: Cells, schema: Schema) -> NDArray[Any]:
    x, level = _against(expression.inner, expression.constant, cells, schema)
    return np.asarray(COMPARISONS[expression.sign](x, level))


@computed.register
def _computed_among(expression: Among, cells: Cells, schema: Schema) -> NDArray[Any]:
    each = (_against(expression.inner, level, cells, schema) for level in expression.levels)
    return np.asarray(np.logical_or.reduce([x == level for x, level in each]))


@computed.register
def _computed_cut(expression: Cut, cells: Cells, schema: Schema) -> NDArray[Any]:
    x = computed(expression.inner, cells, schema).astype(np.float64)
    return np.asarray(np.searchsorted(np.array(expression.edges, dtype=np.float64), x, side="right"))


@computed.register
def _computed_affine(expression: Affine, cells: Cells, schema: Schema) -> NDArray[Any]:
    kind = expression.kind(schema)
    assert isinstance(kind, Bounded)  # noqa: S101 - for the type checker
    x = computed(expression.inner, cells, schema).astype(np.float64)
    x = np.where((x != 0) & (np.abs(x) < expression.tiny), np.copysign(expression.tiny, x), x)
    return np.clip(x * expression.slope + expression.shift, kind.lower, kind.upper)


@computed.register
def _computed_both(expression: Both, cells: Cells, schema: Schema) -> NDArray[Any]:
    return np.asarray(computed(expression.left, cells, schema) & computed(expression.right, cells, schema))


@computed.register
def _computed_not(expression: Not, cells: Cells, schema: Schema) -> NDArray[Any]:
    return ~computed(expression.inner, cells, schema)


@computed.register
def _computed_joint(expression: Joint, cells: Cells, schema: Schema) -> NDArray[Any]:
    shape = tuple(len(labels_of(schema[name], name)) for name in expression.columns)
    return np.ravel_multi_index(tuple(cells[name].astype(np.int64) for name in expression.columns), shape)


def _against(
    inner: Expression, constant: Scalar, cells: Cells, schema: Schema
) -> tuple[NDArray[Any], Scalar]:
    """Return clean values and what they are compared with: codes, truths or numbers."""
    kind, x = inner.kind(schema), computed(inner, cells, schema)
    if isinstance(kind, Categorical):
        return x, kind.code(constant)
    return x, bool(constant) if isinstance(kind, Binary) else float(constant)
