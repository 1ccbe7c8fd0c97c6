"""Raw column → clean value: never NULL, never NaN, always in the schema. The same integers on every engine.

Engines disagree on NaN (greatest, or unordered), on rounding and on casts; each form here avoids them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from math import inf
from typing import TYPE_CHECKING, Any, final

import ibis
import ibis.expr.datatypes as dt
import sqlglot as sg
from ibis.expr import types as ir

from discreet.tables.engine import as_written
from discreet.tables.schema import Binary, Bounded, Categorical, Count, Kind, Scalar

if TYPE_CHECKING:
    from ibis.backends import BaseBackend


# ── Doubles on every engine exactly as NumPy has them: literals, floors, whole quotients.
@ibis.udf.scalar.builtin(name="floor")  # type: ignore[untyped-decorator]
def _floor(x: float) -> float:  # type: ignore[empty-body]
    """Ibis' own floor casts to an integer, which takes thrice as long."""


def double(x: float) -> ir.Value:
    """Return a literal, as text: DuckDB reads bare digits as a decimal, and rounds twice to a double."""
    return ibis.literal(repr(float(x))).cast("float64")


def floor(x: ir.Value) -> ir.Value:
    """⌊x⌋ as a double, for |x| < 2^53."""
    return x.floor().cast("float64") if x.get_backend().name == "polars" else _floor(x)


def quantised(x: ir.Value, grid: float) -> ir.Value:
    """⌊x/g + ½⌋ as a double; for g > 1 as ⌊(x + g/2)/g⌋, the same number without an underflow."""
    return floor(
        x * double(1 / grid) + double(0.5) if grid <= 1 else (x + double(grid / 2)) * double(1 / grid)
    )


def truncated(x: ir.Value) -> ir.Value:
    """Return x without its fraction, as a double."""
    return (x >= double(0)).ifelse(floor(x), -floor(-x))


# ── Columns as every engine compares them alike: numbers, truths, UUIDs, and texts by their code points.
# Engines have texts that are equal where their letters are (NOCASE, citext, ICU and LCASE collations). Rows
# of one unit must be the same rows for the engine's group-by and for our hash of the unit, so texts are
# collated by code points here, before anything looks at them. A column of any other type is named, and is
# refused where it is declared.
DUCKDB = re.compile(r"(BOOLEAN|U?(TINY|SMALL|BIG)INT|U?INTEGER|HUGEINT|FLOAT|DOUBLE|DECIMAL\(.*\)|UUID)")
SPARK = re.compile(r"(boolean|tinyint|smallint|int|bigint|float|double|decimal\(.*\))")
POSTGRES = {
    "bool": dt.boolean,
    "int2": dt.int16,
    "int4": dt.int32,
    "int8": dt.int64,
    "float4": dt.float32,
    "float8": dt.float64,
    "numeric": dt.Decimal(),  # of any precision: NaN is among all of them
    "uuid": dt.uuid,
}


@final
@dataclass(frozen=True)
class EngineColumn:
    """The engine's word for a type, the type in Ibis (None: not one that we read), the SQL that reads it."""

    word: str
    dtype: dt.DataType | None
    sql: str = "{}"


def comparable(
    backend: BaseBackend,
    query: str,
    wanted: Collection[str],
) -> tuple[Any, dict[str, str]]:
    """Return the wanted columns of a query (all, where none is), and the types of those that are refused."""
    found = COLUMNS[backend.name](backend, query)
    chosen = {name: x for name, x in found.items() if name in wanted} or found
    names = {name: _quoted(backend, name) for name in chosen}
    parts = ", ".join(f"{x.sql.format(names[name])} AS {names[name]}" for name, x in chosen.items())
    schema = ibis.schema({name: dt.unknown if x.dtype is None else x.dtype for name, x in chosen.items()})
    relation = backend.sql(f"SELECT {parts} FROM ({query}) AS {_quoted(backend, 'rows')}", schema=schema)  # noqa: S608 - names are quoted
    return relation, refused(found)


def refused(columns: Mapping[str, EngineColumn]) -> dict[str, str]:
    return {name: x.word for name, x in columns.items() if x.dtype is None}


def all_of(backend: BaseBackend, table: str) -> str:
    """SELECT * FROM it"""
    return f"SELECT * FROM {_quoted(backend, table)}"  # noqa: S608 - quoted


def _quoted(backend: BaseBackend, name: str) -> str:
    return str(sg.to_identifier(name, quoted=True).sql(backend.dialect))


# --- what the engine says of the columns of a query, without running it ------------
def duckdb_columns(backend: BaseBackend, query: str) -> dict[str, EngineColumn]:
    described = backend.con.sql(query)
    types = zip(described.columns, map(str, described.types), strict=True)
    return {name: _duckdb(backend, word) for name, word in types}


def _duckdb(backend: BaseBackend, word: str) -> EngineColumn:
    if word == "VARCHAR" or word.startswith("ENUM("):
        return EngineColumn(word, dt.string, 'CAST({} AS TEXT) COLLATE "C"')
    return EngineColumn(
        word, backend.compiler.type_mapper.from_string(word) if DUCKDB.fullmatch(word) else None
    )


def _postgres_columns(backend: BaseBackend, query: str) -> dict[str, EngineColumn]:
    """Domains are described as what they are of."""
    with backend.con.cursor() as cursor, backend.con.transaction():
        described = cursor.execute(f"SELECT * FROM ({query}) AS t LIMIT 0").description  # noqa: S608
        rows = cursor.execute("SELECT oid, typname, typcategory FROM pg_catalog.pg_type").fetchall()
    types = {oid: (word, category) for oid, word, category in rows}
    return {x.name: _postgres(*types[x.type_code]) for x in described}


def _postgres(word: str, category: str) -> EngineColumn:
    if category in {"S", "E"}:  # texts, citext among them, and enums
        return EngineColumn(word, dt.string, 'CAST({} AS TEXT) COLLATE "C"')
    return EngineColumn(word, POSTGRES.get(word))


def _spark_columns(backend: BaseBackend, query: str) -> dict[str, EngineColumn]:
    with as_written(backend):
        fields = backend._session.sql(query).schema.fields  # noqa: SLF001 - Ibis has no other name for it
    return {x.name: _spark(backend, x.dataType.simpleString(), str(x.metadata)) for x in fields}


def _spark(backend: BaseBackend, word: str, metadata: str) -> EngineColumn:
    if word.startswith(("string", "varchar(", "char(")):
        padded = word.startswith("char(") or "'char(" in metadata
        collated = "{} COLLATE UTF8_BINARY"
        return EngineColumn(word, dt.string, f"RTRIM({collated})" if padded else collated)
    return EngineColumn(
        word, backend.compiler.type_mapper.from_string(word) if SPARK.fullmatch(word) else None
    )


COLUMNS: dict[str, Callable[[Any, str], dict[str, EngineColumn]]] = {
    "duckdb": duckdb_columns,
    "postgres": _postgres_columns,
    "pyspark": _spark_columns,
}


# ── encode
LARGEST_DOUBLE = 1e308
SMALLEST_DECIMAL = 1e-60  # smaller decimals are 0: a cast that underflows is an error on PostgreSQL


@singledispatch
def clean(kind: Kind, raw: ir.Value, *, text: bool) -> ir.Value:  # noqa: ARG001 - Ibis values, untyped
    """Return the column as the schema declares it."""
    raise TypeError(f"no reading is registered for {type(kind).__name__}")


@clean.register
def _clean_binary(kind: Binary, raw: ir.Value, *, text: bool) -> ir.Value:
    value = _comparable(raw, (kind.true,), text=text)
    if value.type().is_boolean():
        return (value if kind.true else ~value).fill_null(kind.missing)
    hit = (value == _like(value, kind.true)).fill_null(kind.missing)
    return hit | _not_a_number(value) if kind.missing else hit


@clean.register
def _clean_categorical(kind: Categorical, raw: ir.Value, *, text: bool) -> ir.Value:
    value = _comparable(raw, kind.levels, text=text)
    last = len(kind.levels) - 1
    if value.type().is_integer() and kind.levels == tuple(range(last + 1)):
        return value.between(0, last).ifelse(value, kind.elsewhere).cast("int32")
    pairs = [(value == _like(value, level), code) for code, level in enumerate(kind.levels)]
    return ibis.cases(*pairs, else_=kind.elsewhere).cast("int32")


@clean.register
def _clean_bounded(kind: Bounded, raw: ir.Value, *, text: bool) -> ir.Value:
    lower, upper, g = float(kind.lower), float(kind.upper), kind.grid
    x = _clipped(_parsed(raw, "float64") if text else raw, lower, upper, kind.elsewhere)
    return x if g is None else _clipped(quantised(x, float(g)) * double(g), lower, upper, lower)


@clean.register
def _clean_count(kind: Count, raw: ir.Value, *, text: bool) -> ir.Value:
    value = _parsed(raw, "float64") if text else raw
    if value.type().is_integer():
        within = value.between(0, kind.max)
        return ibis.cases(
            (within, value), (value > kind.max, kind.max), (value < 0, 0), else_=kind.missing
        ).cast("int64")
    return quantised(_clipped(value, 0.0, float(kind.max), float(kind.missing)), 1.0).cast("int64")


def _clipped(raw: ir.Value, lower: float, upper: float, missing: float) -> ir.Value:
    """X ≤ ∞ is false for NaN in both orders that engines use; so is lower ≤ x ≤ upper."""
    low, high = double(lower), double(upper)
    if _is_numeric(raw):
        within, inside, above, below = _decimal(raw, lower, upper)
    else:  # other engines' decimals too: comparing them with a literal is an error where it has more digits
        inside = raw.cast("float64")
        within, below = inside.between(low, high), inside < low
        above = (inside > high) & (inside <= double(inf))
    branches = [(within, inside), (above, high), (below, low)]
    return ibis.cases(*(branches[:2] if missing == lower else branches), else_=double(missing))


def _decimal(raw: ir.Value, lower: float, upper: float) -> tuple[ir.Value, ir.Value, ir.Value, ir.Value]:
    """Compare as decimals, and only then cast: PostgreSQL's numeric exceeds doubles, its NaN exceeds all."""
    small = raw.between(-SMALLEST_DECIMAL, SMALLEST_DECIMAL)
    above = (raw > upper) & (raw.cast("string") != "NaN")
    return raw.between(lower, upper), small.ifelse(double(0), raw.cast("float64")), above, raw < lower


def _is_numeric(raw: ir.Value) -> bool:
    """Whether it is PostgreSQL's numeric, of up to 131072 digits."""
    return bool(raw.type().is_decimal() and raw.get_backend().name == "postgres")


def _comparable(raw: ir.Value, levels: Sequence[Scalar], *, text: bool) -> ir.Value:
    """Text columns of a CSV are read as the type of the declared levels."""
    if text and not isinstance(levels[0], str):
        return _parsed(raw, "boolean" if isinstance(levels[0], bool) else "float64")
    if raw.type().is_floating() or (raw.type().is_decimal() and not _fit(raw, levels)):
        return _double(raw) if _is_numeric(raw) else raw.cast("float64")
    return raw


def _fit(raw: ir.Value, levels: Sequence[Scalar]) -> bool:
    """Whether decimals and levels compare as they are: engines cast the one to the other, or fail."""
    dtype = raw.type()
    room = inf if dtype.precision is None else 10 ** (dtype.precision - dtype.scale)
    return all(isinstance(level, int) and abs(level) < room for level in levels)


def _double(raw: ir.Value) -> ir.Value:
    """Cast a numeric: NaN is NULL, what exceeds doubles is infinite; a plain cast is an error there."""
    within, inside, above, below = _decimal(raw, -LARGEST_DOUBLE, LARGEST_DOUBLE)
    return ibis.cases((within, inside), (above, double(inf)), (below, double(-inf)))


def _parsed(raw: ir.Value, dtype: str) -> ir.Value:
    """Read text as that type, blanks around it left out, or as NULL."""
    return raw.strip().try_cast(dtype)


def _like(value: ir.Value, level: Scalar) -> ir.Value:
    """Return the level as the column has it: True is 1 on a column of numbers."""
    if value.type().is_boolean():
        return bool(level)
    if isinstance(level, float):
        return double(level)
    return int(level) if isinstance(level, bool) else level


def _not_a_number(value: ir.Value) -> ir.Value:
    if value.type().is_floating():
        return value.isnan().fill_null(True)  # noqa: FBT003
    return value.isnull() | (value.cast("string") == "NaN") if _is_numeric(value) else value.isnull()


# --- is the column's type one that the kind can read? Decided from metadata ------------
def refuse_type(name: str, kind: Kind, raw: ir.Value, *, text: bool) -> None:
    dtype = raw.type()
    if text or accepts(kind, dtype):
        return
    raise TypeError(
        f"column {name!r} has type {dtype}, which {type(kind).__name__} cannot read; {ADVICE[kind.kind]}"
    )


@singledispatch
def accepts(kind: Kind, dtype: dt.DataType) -> bool:  # noqa: ARG001
    return bool(dtype.is_numeric())


@accepts.register
def _accepts_binary(kind: Binary, dtype: dt.DataType) -> bool:
    return _same_sort(kind.true, dtype) or (
        kind.true in {0, 1} and not isinstance(kind.true, str) and dtype.is_boolean()
    )


@accepts.register
def _accepts_categorical(kind: Categorical, dtype: dt.DataType) -> bool:
    return all(_same_sort(level, dtype) for level in kind.levels)


def _same_sort(level: object, dtype: dt.DataType) -> bool:
    if isinstance(level, str):
        return bool(dtype.is_string())
    if isinstance(level, bool):
        return bool(dtype.is_boolean() or dtype.is_numeric())
    return bool(dtype.is_numeric() and not dtype.is_boolean())


ADVICE = {
    "binary": "declare true= as a value of that type, e.g. Binary(true='yes')",
    "categories": "declare levels of that type",
    "label": "declare levels of that type",
    "bounded": "it reads numbers; for text use Categories, for yes or no Binary",
    "count": "it reads numbers; for text use Categories, for yes or no Binary",
}
