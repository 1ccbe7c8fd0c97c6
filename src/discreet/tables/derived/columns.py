"""Derived columns and filters: a closed set of per-row operations on clean values, with known bounds."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any, final

from discreet.families.family import double_above
from discreet.tables.derived.demands import (
    clips_of,
    finite,
    literal,
    range_of,
    refuse_no_number,
    refuse_no_truth,
)
from discreet.tables.schema import Binary, Bounded, Categorical, Categories, Count, Kind, Scalar, Schema

if TYPE_CHECKING:
    from ibis.expr import types as ir

Cells = Mapping[str, Any]  # name → the clean Ibis value: boolean, code, whole number or double


TINY = 2.0**-1020  # products of an affine map that are shorter, and not 0, are put there: engines refuse less
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True, eq=False, repr=False)
class Expression(ABC):
    """A function of one row. Never NULL or NaN, because it reads columns as the schema declares them."""

    @abstractmethod
    def names(self) -> frozenset[str]:
        """Return the columns that it reads."""

    @abstractmethod
    def kind(self, schema: Schema) -> Kind:
        """Declare the result from the declarations of the columns; refuse what has no meaning."""

    @abstractmethod
    def value(self, cells: Cells, schema: Schema) -> ir.Value:
        """Build the engine's expression."""

    def __ge__(self, other: Scalar) -> Expression:
        return Compare(self, ">=", other)

    def __gt__(self, other: Scalar) -> Expression:
        return Compare(self, ">", other)

    def __le__(self, other: Scalar) -> Expression:
        return Compare(self, "<=", other)

    def __lt__(self, other: Scalar) -> Expression:
        return Compare(self, "<", other)

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]  # a predicate, as elsewhere
        return Compare(self, "==", other)  # type: ignore[arg-type]

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return Compare(self, "!=", other)  # type: ignore[arg-type]

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        from discreet.tables.derived.written import written  # noqa: PLC0415 - texts stand on expressions

        return written(self)

    def __bool__(self) -> bool:
        raise TypeError("a column is not a single true or false; combine predicates with &, | and ~")

    def between(self, lower: float, upper: float) -> Expression:
        """Both ends included."""
        return (self >= lower) & (self <= upper)

    def isin(self, levels: Sequence[Scalar]) -> Expression:
        if isinstance(levels, str | bytes) or not len(levels):
            raise TypeError("isin takes a list of at least one level")
        return self == levels[0] if len(levels) == 1 else Among(self, tuple(levels))

    def cut(self, edges: Sequence[float]) -> Expression:
        """Category k where edges[k−1] ≤ x < edges[k]."""
        return Cut(self, tuple(edges))

    def __and__(self, other: Expression) -> Expression:
        return Both(self, other)

    def __or__(self, other: Expression) -> Expression:
        return ~(~self & ~other)

    def __invert__(self) -> Expression:
        return Not(self)

    def __mul__(self, factor: float) -> Expression:
        return Affine(self, factor, 0.0)

    def __add__(self, term: float) -> Expression:
        return Affine(self, 1.0, term)

    def __sub__(self, term: float) -> Expression:
        return Affine(self, 1.0, -term)

    def __neg__(self) -> Expression:
        return Affine(self, -1.0, 0.0)

    __rmul__, __radd__ = __mul__, __add__

    def __rsub__(self, term: float) -> Expression:
        return Affine(self, -1.0, term)

    def __truediv__(self, divisor: float) -> Expression:
        return Affine(self, 1.0 / divisor, 0.0)


def col(name: str) -> Expression:
    """Return the column of that name, as the schema declares it."""
    return Column(name)


def constant(value: float) -> Expression:
    """Return the same number in every row, such as the 1 of an intercept."""
    return Constant(value)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Column(Expression):
    """A declared or derived column."""

    name: str

    def names(self) -> frozenset[str]:
        return frozenset({self.name})

    def kind(self, schema: Schema) -> Kind:
        return schema[self.name]

    def value(self, cells: Cells, schema: Schema) -> ir.Value:  # noqa: ARG002
        return cells[self.name]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Constant(Expression):
    """A public number."""

    number: float

    def __post_init__(self) -> None:
        finite(self.number)

    def names(self) -> frozenset[str]:
        return frozenset()

    def kind(self, schema: Schema) -> Kind:  # noqa: ARG002
        return Bounded(min(0.0, self.number), max(0.0, self.number) or 1.0)

    def value(self, cells: Cells, schema: Schema) -> ir.Value:  # noqa: ARG002
        return literal(self.number)


@dataclass(frozen=True, eq=False, repr=False)
class Of(Expression):
    """What is made of one other expression."""

    inner: Expression

    def names(self) -> frozenset[str]:
        return self.inner.names()


@final
@dataclass(frozen=True, eq=False, repr=False)
class Compare(Of):
    """Column against public constant. Categories and truths are only equal or not."""

    sign: str
    constant: Scalar

    def kind(self, schema: Schema) -> Kind:
        self._against(schema)
        return Binary()

    def value(self, cells: Cells, schema: Schema) -> ir.Value:
        return COMPARISONS[self.sign](_comparable(self.inner, cells, schema), self._against(schema))

    def _against(self, schema: Schema) -> ir.Value | int:
        kind = self.inner.kind(schema)
        if self.sign not in {"==", "!="} and not isinstance(kind, Bounded | Count):
            raise TypeError(f"{self.sign} needs numbers; this column is {kind.kind}: use == or isin")
        return _level(self.constant, kind)


def _comparable(inner: Expression, cells: Cells, schema: Schema) -> ir.Value:
    """Return the clean value of a column, numbers as doubles."""
    x = inner.value(cells, schema)
    return x.cast("float64") if isinstance(inner.kind(schema), Bounded | Count) else x


def _level(constant: Scalar, kind: Kind) -> ir.Value | int:
    """Return what a clean value of that kind is compared with."""
    if isinstance(kind, Categorical):
        return kind.code(constant)
    if isinstance(kind, Binary):
        if constant not in {True, False}:
            raise ValueError(f"a binary column equals True or False, got {constant!r}")
        return bool(constant)
    return literal(finite(constant))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Among(Of):
    """Equal to one of several levels: the column is read, and recoded, once for all of them."""

    levels: tuple[Scalar, ...]

    def kind(self, schema: Schema) -> Kind:
        self._known(schema)
        return Binary()

    def value(self, cells: Cells, schema: Schema) -> ir.Value:
        x, levels = _comparable(self.inner, cells, schema), self._known(schema)
        if isinstance(self.inner.kind(schema), Binary):  # Ibis writes (a | b).isin(…) without the brackets
            return reduce(operator.or_, [x == level for level in levels])
        return x.isin(levels)

    def _known(self, schema: Schema) -> list[Any]:
        kind = self.inner.kind(schema)
        return [_level(level, kind) for level in self.levels]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Cut(Of):
    """Σ_k [x ≥ edge_k], a code from 0 to the number of edges."""

    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.edges or any(not a < b for a, b in zip(self.edges, self.edges[1:], strict=False)):
            raise ValueError(f"edges must be public numbers in rising order, got {list(self.edges)}")
        for edge in self.edges:
            finite(edge)

    def kind(self, schema: Schema) -> Kind:
        refuse_no_number(self.inner.kind(schema), "cut")
        first, last = f"below {self.edges[0]}", f"from {self.edges[-1]}"
        middle = (f"{a} to {b}" for a, b in zip(self.edges, self.edges[1:], strict=False))
        levels = (first, *middle, last)
        return Categories(levels, unknown=last)

    def value(self, cells: Cells, schema: Schema) -> ir.Value:
        x = self.inner.value(cells, schema).cast("float64")
        first, *others = ((x >= literal(edge)).ifelse(1, 0) for edge in self.edges)
        return sum(others, first).cast("int32")


@final
@dataclass(frozen=True, eq=False, repr=False)
class Affine(Of):
    """slope·x + shift, clipped to what the bounds of x allow."""

    slope: float
    shift: float

    def __post_init__(self) -> None:
        if finite(self.slope) == 0:
            raise ValueError("slope must not be 0; use constant(…) for the same number in every row")
        finite(self.shift)

    @property
    def tiny(self) -> float:
        """Where x is put that is shorter and not 0, so that neither it nor slope·x underflows."""
        return TINY / min(abs(self.slope), 1.0)

    def kind(self, schema: Schema) -> Kind:
        inner = self.inner.kind(schema)
        low, high = range_of(inner)
        slope, shift = Fraction(self.slope), Fraction(self.shift)
        ends = sorted((slope * Fraction(low) + shift, slope * Fraction(high) + shift))
        return Bounded(-double_above(-ends[0]), double_above(ends[1]), clips=clips_of(inner))

    def value(self, cells: Cells, schema: Schema) -> ir.Value:
        kind = self.kind(schema)
        assert isinstance(kind, Bounded)  # noqa: S101 - for the type checker
        x = self.inner.value(cells, schema).cast("float64")
        low, high = literal(kind.lower), literal(kind.upper)
        zero, tiny = literal(0), literal(self.tiny)
        x = ((x > zero) & (x < tiny)).ifelse(tiny, ((x < zero) & (x > -tiny)).ifelse(-tiny, x))
        y = x * literal(self.slope) + literal(self.shift)
        return (y < low).ifelse(low, (y > high).ifelse(high, y))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Both(Expression):
    """And."""

    left: Expression
    right: Expression

    def names(self) -> frozenset[str]:
        return self.left.names() | self.right.names()

    def kind(self, schema: Schema) -> Kind:
        refuse_no_truth(self.left.kind(schema))
        refuse_no_truth(self.right.kind(schema))
        return Binary()

    def value(self, cells: Cells, schema: Schema) -> ir.Value:
        return self.left.value(cells, schema) & self.right.value(cells, schema)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Not(Of):
    """Not."""

    def kind(self, schema: Schema) -> Kind:
        refuse_no_truth(self.inner.kind(schema))
        return Binary()

    def value(self, cells: Cells, schema: Schema) -> ir.Value:
        return ~self.inner.value(cells, schema)
