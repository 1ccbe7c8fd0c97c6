"""Codes as cheap as the engine has them: any labelling will do, and is undone on the small result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import ibis
import ibis.expr.datatypes as dt

from discreet.tables.encode import clean
from discreet.tables.schema import Binary, Categorical, Count, Kind
from discreet.tables.table import Table

if TYPE_CHECKING:
    from ibis.expr import types as ir


SIGNED = (dt.int8, dt.int16, dt.int32, dt.int64)


@ibis.udf.scalar.builtin(name="list_position", signature=((dt.Array(dt.string), dt.string), dt.int32))
def _list_position(levels, x):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return the place from 1, or NULL; DuckDB asks once for each entry of a dictionary."""


@ibis.udf.scalar.builtin(
    name="map_extract_value", signature=((dt.Map(dt.string, dt.int32), dt.string), dt.int32)
)
def _text_in(levels, x):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return what the map has for a text, or NULL; DuckDB asks once for each entry of a dictionary."""


@ibis.udf.scalar.builtin(
    name="map_extract_value", signature=((dt.Map(dt.int64, dt.int32), dt.int64), dt.int32)
)
def _number_in(levels, x):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return the same for a whole number."""


@ibis.udf.agg.builtin(name="count_if", signature=((dt.boolean,), dt.int64))
def _count_if(x):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Count without a cast."""


@final
@dataclass(frozen=True, eq=False)
class Coded:
    """An integer from 0, and the declared code that each of its values stands for."""

    value: Any
    labels: tuple[int, ...]


def sizes(kind: Kind, name: str) -> int:
    """Return how many codes a column has."""
    if isinstance(kind, Categorical):
        return kind.size
    if isinstance(kind, Binary):
        return 2
    if isinstance(kind, Count):
        return kind.max + 1
    raise TypeError(f"column {name!r} is {kind.kind}; counting needs categories: derive one with cut(edges)")


def coded(table: Table, name: str) -> Coded | None:
    """DuckDB's own labelling of a declared column; None where the clean code must do."""
    kind = table.declared.get(name)
    if table.source.engine != "duckdb" or not isinstance(kind, Categorical):
        return None
    raw, k = table.source.relation[name], len(kind.levels)
    if isinstance(kind.levels[0], str):
        # greatest and least leave NULL out, and unlike CASE they run once for each entry of a dictionary
        place = ibis.greatest(_list_position(ibis.array(list(kind.levels)), raw), 0)
        return Coded(place, (kind.elsewhere, *range(k)))
    if raw.type().is_integer() and kind.levels == tuple(range(k)):
        place = (ibis.least(ibis.greatest(raw, -1), k) + 1).cast("int16" if k < 2**14 else "int64")
        return Coded(place, (kind.elsewhere, *range(k), kind.elsewhere))
    return None


def mapped(table: Table, name: str, stride: int) -> Coded | None:
    """Label a declared column of a Parquet file in steps of a stride: once for each entry of a dictionary.

    None where the clean code must do.
    """
    kind = table.declared.get(name)
    if not table.source.dictionaries or not isinstance(kind, Categorical):
        return None
    raw, first = table.source.relation[name], kind.levels[0]
    places = {level: (i + 1) * stride for i, level in enumerate(kind.levels)}
    if isinstance(first, str) and raw.type().is_string():
        found = _text_in(ibis.literal(places, type="map<string, int32>"), raw)
    elif all(type(x) is int for x in kind.levels) and raw.type() in SIGNED:
        found = _number_in(ibis.literal(places, type="map<int64, int32>"), raw.cast("int64"))
    else:
        return None
    return Coded(ibis.greatest(found, 0), (kind.elsewhere, *range(len(kind.levels))))


def clean_code(kind: Kind, value: ir.Value) -> Any:  # noqa: ANN401
    """Return a clean column as its code."""
    return value.ifelse(1, 0) if isinstance(kind, Binary) else value


def how_often(truth: ir.Value) -> ir.Value:
    """Count the rows where it holds."""
    return (
        _count_if(truth) if truth.get_backend().name == "duckdb" else truth.ifelse(1, 0).sum().cast("int64")
    )


__all__ = ["Coded", "clean", "clean_code", "coded", "how_often", "sizes"]
