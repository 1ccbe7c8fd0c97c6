"""(Table, regression) → rows and answers in memory, clipped to the ball: for mechanisms that look at each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.families.linear_regression import BayesianLinearRegression
from discreet.families.named_columns import Feature, NamedColumns
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Floats, Logistic, MarginLoss
from discreet.models.regression_records import Passes, Records
from discreet.statistics.bounded_statistic import PrivateValue
from discreet.statistics.sums import as_number, at_most
from discreet.tables.derived.columns import Affine, Column, Compare, Constant, Expression
from discreet.tables.derived.demands import literal, range_of
from discreet.tables.engine import batches, prepared
from discreet.tables.rows import clean_rows
from discreet.tables.schema import Binary, Bounded, Categorical, Count, Kind, Schema
from discreet.tables.table import Table

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.expr import types as ir


# ── (Table, regression) → the table's columns as numbers of a row x and of its answer. Reads no value.
OWN = "\0"  # begins the names of columns of ours: no column of data has it in its name
ANSWER = f"{OWN}y"


def bind_design(table: Table, model: GeneralizedLinear) -> tuple[Table, GeneralizedLinear]:
    """Select the model's columns, and tell it what their declarations make of them."""
    chosen = table[model.columns]
    every = (features_of(chosen.schema[name], name) for name in model.features)
    design = tuple(f for each in every for f in (halved(each) if model.intercept else each))
    _ = answer_of(model.loss, model, chosen.schema[model.target])  # refuses labels that are not declared
    for part in (model.loss.value, model.loss.slope, model.loss.bend):
        part(np.zeros(2), np.zeros(2))  # code that was declared fails before the charge, if at all
    return chosen, model.bind(design)


def designed(table: Table, model: GeneralizedLinear) -> tuple[Table, GeneralizedLinear]:
    """Return numeric columns, the features in [−1, 1] and the answer last, and the bound model."""
    chosen, model = bind_design(table, model)
    columns = {f"{OWN}x{i}": _column(f) for i, f in enumerate(model.design)}
    columns[ANSWER] = answer_of(model.loss, model, chosen.schema[model.target])
    return chosen.derive(**columns)[tuple(columns)], model


def bind_line(table: Table, model: BayesianLinearRegression) -> tuple[Table, BayesianLinearRegression]:
    """Do so for linear regression by name: a level less for each column, and the answer to scale, too."""
    if model.named is None:
        return table, model
    chosen = table[model.named.columns]
    return chosen, model.bind(*line_design(chosen.schema, model.named))


def line_design(schema: Schema, named: NamedColumns) -> tuple[tuple[Feature, ...], Feature]:
    """Return the features of every column, a level less for each, and the scale of the answer."""
    kind = schema[named.target]
    if not isinstance(kind, Binary | Bounded | Count):
        raise TypeError(f"the target {named.target!r} is {kind.kind}: declare it Bounded, Count or Binary")
    every = (against_first(features_of(schema[name], name)) for name in named.features)
    return tuple(feature for each in every for feature in each), features_of(kind, named.target)[0]


def against_first(features: tuple[Feature, ...]) -> tuple[Feature, ...]:
    """Leave out the indicator of the first level, which the others are then measured against."""
    first, *rest = features
    return tuple(replace(f, reference=first.level) for f in rest) or features


def halved(features: tuple[Feature, ...]) -> tuple[Feature, ...]:
    """Measure a column of two levels against the first: beside an intercept, two indicators say one thing."""
    return against_first(features) if len(features) == 2 else features


def lined(table: Table, model: BayesianLinearRegression) -> Table:
    """Return numeric columns by name: features, the constant, the answer; else the table as it is."""
    if model.named is None:
        return table
    columns = {f"{OWN}x{i}": _column(f) for i, f in enumerate(model.named.design)}
    if model.named.intercept:
        columns[f"{OWN}one"] = Constant(float(model.named.constant))
    columns[ANSWER] = _column(model.named.answer)
    return table.derive(**columns)[tuple(columns)]


def compact(table: Table, model: GeneralizedLinear) -> Table:
    """Return the same with a categorical column as its code: indicators are many, and made where they go."""
    chosen, model = bind_design(table, model)
    first = {feature.column: feature for feature in reversed(model.design)}
    columns = {
        f"{OWN}x{i}": Column(name) if isinstance(chosen.schema[name], Categorical) else _column(first[name])
        for i, name in enumerate(model.features)
    }
    columns[ANSWER] = answer_of(model.loss, model, chosen.schema[model.target])
    return chosen.derive(**columns)[tuple(columns)]


# --- a declared column as features ------------
@singledispatch
def features_of(kind: Kind, name: str) -> tuple[Feature, ...]:
    """Encode by the declaration alone, so that nothing is read from the data."""
    raise TypeError(f"column {name!r} is {kind.kind}, which cannot be a feature")


@features_of.register(Bounded)
@features_of.register(Count)
def _features_of_bounded_or_count(kind: Bounded | Count, name: str) -> tuple[Feature, ...]:
    """(x − centre)/half"""
    low, high = map(float, range_of(kind))
    if not 2.0**-500 < high - low < 2.0**500:
        raise ValueError(
            f"the bounds of {name!r} are too close together or too far apart to scale by; declare others"
        )
    centre, half = low / 2 + high / 2, high / 2 - low / 2
    missing = float(kind.elsewhere if isinstance(kind, Bounded) else kind.missing)
    return (Feature(name, centre, half, elsewhere=(missing - centre) / half),)


@features_of.register
def _features_of_binary(kind: Binary, name: str) -> tuple[Feature, ...]:
    """[x = true]"""
    return (Feature(name, level=kind.true),)


@features_of.register
def _features_of_categorical(kind: Categorical, name: str) -> tuple[Feature, ...]:
    """[x = level] for each level, that of the undeclared included."""
    return tuple(
        Feature(name, level=level, elsewhere=float(code == kind.elsewhere))
        for code, level in enumerate(kind.labels)
    )


def _column(feature: Feature) -> Expression:
    if feature.level is None:
        return Affine(Column(feature.column), 1 / feature.half, -feature.centre / feature.half)
    return Indicator(feature.column, feature.level)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Indicator(Expression):
    """[column = level]; a binary column is its own."""

    column: str
    level: Any

    def names(self) -> frozenset[str]:
        return frozenset({self.column})

    def kind(self, schema: Schema) -> Kind:  # noqa: ARG002
        return Binary()

    def value(self, cells: Mapping[str, Any], schema: Schema) -> ir.Value:
        kind = schema[self.column]
        return (
            cells[self.column] == kind.code(self.level)
            if isinstance(kind, Categorical)
            else cells[self.column]
        )


# --- a declared column as the answer ------------
@singledispatch
def answer_of(_loss: MarginLoss, model: GeneralizedLinear, kind: Kind) -> Expression:
    """Take the number itself; the loss clips it."""
    if not isinstance(kind, Binary | Bounded | Count):
        raise TypeError(
            f"the target {model.target!r} is {kind.kind}, and the {model.loss.name} loss needs numbers: "
            "declare it Bounded, Count or Binary"
        )
    return Column(model.target)


@answer_of.register(Logistic)
def _answer_of_logistic(_loss: Logistic, model: GeneralizedLinear, kind: Kind) -> Expression:
    """1 for the second label, −1 for the first, 0 for whatever else."""
    labels: tuple[Any, Any] = getattr(model, "labels", (False, True))
    try:
        pair = tuple(Compare(Column(model.target), "==", label) for label in labels)
        for each in pair:
            _ = each.kind(Schema({model.target: kind}))
    except (TypeError, ValueError) as error:
        raise ValueError(f"labels {list(labels)} do not fit the target {model.target!r}: {error}") from None
    return Sign(*pair)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Sign(Expression):
    """[second] − [first]"""

    first: Expression
    second: Expression

    def names(self) -> frozenset[str]:
        return self.first.names() | self.second.names()

    def kind(self, schema: Schema) -> Kind:  # noqa: ARG002
        return Bounded(-1.0, 1.0)

    def value(self, cells: Mapping[str, Any], schema: Schema) -> ir.Value:
        first, second = (side.value(cells, schema) for side in (self.first, self.second))
        return second.ifelse(literal(1), first.ifelse(literal(-1), literal(0)))


# ── records
BATCH = 2**15
MOST = 2**24  # numbers that memory takes at once, 128 MB; with more, each pass reads them anew


def records(table: Table, model: GeneralizedLinear, n: int | None) -> Callable[[], PrivateValue]:
    """Prepare the rows; a remote engine sends them into this process."""
    del n  # every row is read, and `checked` counts them
    parts = _parts(table, model)

    def read() -> PrivateValue:
        found = _together(model, list(parts()))
        return PrivateValue(found, found.n)

    return read


def passes(table: Table, model: GeneralizedLinear, n: int | None) -> Callable[[], PrivateValue]:
    """Prepare the rows as `records` does; many stay in an embedded engine, to be read in passes over them."""
    if not table.source.embedded:
        return records(table, model, n)
    parts = _parts(table, model)

    def read() -> PrivateValue:
        held: list[Records] = []
        count, large = 0, False
        for part in parts():
            count += part.n
            large = large or count * model.dimension > MOST
            held = [] if large else [*held, part]
        rows = Passes(model, count, parts) if large else _together(model, held)
        return PrivateValue(rows, count)

    return read


def _parts(table: Table, model: GeneralizedLinear) -> Callable[[], Iterator[Records]]:
    columns = compact(table, model)
    stream, kinds = _batches(columns), [columns.schema[name] for name in columns.columns]
    widths = [sum(feature.column == name for feature in model.design) for name in model.features]
    return lambda: (Records.of(model, *_encoded(kinds, widths, batch)) for batch in stream())


def _together(model: GeneralizedLinear, parts: list[Records]) -> Records:
    rows = np.concatenate([part.rows for part in parts] or [np.zeros((0, model.dimension))])
    answers = np.concatenate([part.answers for part in parts] or [np.zeros(0)])
    return Records(rows, answers)


def _batches(table: Table) -> Callable[[], Iterator[Any]]:
    """Clean numbers and codes, the answer last, at most k rows per unit: compiled before the charge."""
    own = {f"x{i}": name for i, name in enumerate(table.columns)}
    rows = clean_rows(table, own)
    numbers = {x: _number(table.schema[name], rows[x]) for x, name in own.items()}
    rows = at_most(table, rows.mutate(**numbers), tuple(numbers)).select(*numbers)
    if table.source.embedded:
        return batches(rows, BATCH)
    fetch = prepared(rows)
    return lambda: iter(fetch().to_batches())


@singledispatch
def _number(kind: Kind, value: ir.Value) -> ir.Value:
    return as_number(value, kind)[0]


@_number.register(Categorical)
def _number_categorical(kind: Categorical, value: ir.Value) -> ir.Value:
    del kind
    return value


def _encoded(kinds: list[Kind], widths: list[int], batch: pa.RecordBatch) -> tuple[Floats, Floats]:
    """Numbers as they are, and one column for each level of a code, the last `width`; then the answers."""
    *columns, answers = (np.asarray(column.to_numpy(zero_copy_only=False)) for column in batch.columns)
    x, start = np.zeros((sum(widths), len(answers))), 0
    for column, kind, width in zip(columns, kinds, widths, strict=False):
        x[start : start + width] = (
            column == np.arange(kind.size - width, kind.size)[:, None]
            if isinstance(kind, Categorical)
            else column
        )
        start += width
    return x.T, answers
