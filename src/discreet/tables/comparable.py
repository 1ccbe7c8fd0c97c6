"""Columns as every engine compares them alike: numbers, truths, UUIDs, and texts by their code points.

Engines have texts that are equal where their letters are (NOCASE, citext, ICU and LCASE collations). Rows of
one unit must be the same rows for the engine's group-by and for our hash of the unit, so texts are collated
by code points here, before anything looks at them. A column of any other type is named, and is refused where
it is declared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import ibis
import ibis.expr.datatypes as dt
import sqlglot as sg

from discreet.tables.engine import as_written

if TYPE_CHECKING:
    from ibis.backends import BaseBackend


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
