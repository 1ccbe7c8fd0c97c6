"""Where rows live: anything that Ibis reaches, opened without reading a value."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, final

import ibis
from ibis.expr.operations import InMemoryTable

from discreet.shown import address as shown
from discreet.tables.encode import COLUMNS, all_of, comparable, duckdb_columns, refused
from discreet.tables.engine import hush_spark, spill_folder
from discreet.tables.opening.csv_file import CsvFile
from discreet.tables.opening.frames import TEXT, opener_of
from discreet.tables.table import MissingExtra, TableError, blindly, connected, guarded

if TYPE_CHECKING:
    import duckdb
    from ibis.backends import BaseBackend
    from ibis.expr import types as ir


PARQUET, CSV, DUCKDB = (".parquet", ".pq"), (".csv", ".tsv", ".csv.gz", ".tsv.gz"), (".duckdb", ".ddb", ".db")
POSTGRES = ("postgresql://", "postgres://")
TEXTS = "text, which this engine may compare other than by code points"


@final
@dataclass(frozen=True, eq=False)
class TableSource:
    """An Ibis table and what the builders must know of its engine."""

    relation: Any = field(repr=False)
    engine: str
    text: bool = False  # every column arrives as text (CSV), and is read as the schema declares it
    dictionaries: bool = False  # columns of few values arrive as dictionaries (Parquet on DuckDB)
    refused: Mapping[str, str] = field(
        default_factory=dict
    )  # columns of types that we do not read, and these

    def __reduce__(self) -> NoReturn:
        raise TypeError("a source is a door to private rows and is not copied or pickled; open it anew")

    def closing(self, connection: BaseBackend) -> TableSource:
        """Close a connection of ours when nothing holds this source any more."""
        weakref.finalize(self, connection.disconnect)
        return self

    @property
    def embedded(self) -> bool:
        """Whether batches may be streamed into this process, because the engine runs in it."""
        return self.engine == "duckdb"


def open_source(source: object, table: str | None, columns: Mapping[str, str]) -> TableSource:
    """Connect; `columns` are all that is taken (if none, all that there are), and their types."""
    if isinstance(source, str | Path):
        return _from_address(str(source), table, columns)
    if table is not None:
        raise ValueError("table= names a table of a database; this source is a table already")
    if isinstance(source, ibis.Table):
        return _from_ibis(source, columns)
    opener = opener_of(source)
    return _registered(guarded("reading the frame", lambda: opener(source, columns)))


def _from_ibis(source: ir.Table, columns: Mapping[str, str]) -> TableSource:
    if source.op().find(InMemoryTable):  # rows that this process holds already, unbound or bound
        return open_source(guarded("reading the frame", source.to_pyarrow), None, columns)
    backend = source.get_backend()
    if backend.name == "pyspark":
        hush_spark()
    if backend.name in COLUMNS:
        return _of_query(backend, lambda: backend.compile(source), columns)
    texts = {n: TEXTS for n, t in source.schema().items() if t.is_string() and backend.name != "polars"}
    return TableSource(source, backend.name, refused=texts)


def _of_query(backend: BaseBackend, query: Callable[[], str], columns: Collection[str]) -> TableSource:
    """Return the columns of a query with texts that are compared by code points."""
    relation, others = guarded("opening the table", lambda: comparable(backend, query(), columns))
    return TableSource(relation, backend.name, refused=others)


def _from_address(address: str, table: str | None, columns: Collection[str]) -> TableSource:
    if address.startswith(POSTGRES):
        return _from_postgres(address, _named(table), columns)
    lower = address.lower()
    if lower.endswith(DUCKDB):
        _refuse_absent(address)
        name = _named(table)
        connection = guarded(f"opening {shown(address)!r}", lambda: _file(address))
        return _table(
            connection, name, columns, "SELECT 1 FROM information_schema.tables WHERE table_name = ?"
        )
    if table is not None:
        raise ValueError("table= names a table of a database; a file of rows has none")
    if lower.endswith(PARQUET):
        _refuse_absent(address)
        read = {"utf8_validation": "replace"}  # whether all bytes are UTF-8 is private, and no error
        relation = guarded(f"opening {shown(address)!r}", lambda: _embedded().read_parquet(address, **read))
        return _own(relation, dictionaries=True)
    if lower.endswith(CSV):
        _refuse_absent(address)
        file = guarded(f"opening {shown(address)!r}", lambda: CsvFile.open(address, columns))
        return _registered(file, text=True)
    known = ", ".join((*PARQUET, *CSV, *DUCKDB, *POSTGRES))
    raise ValueError(f"cannot tell what {shown(address)!r} is; known: {known}; or give an Ibis table")


def _file(address: str) -> BaseBackend:
    """Connect to a database file; all connections of a process to one file share what they are told of it."""
    connection = ibis.duckdb.connect(address, read_only=True)
    now = connection.con.execute("SELECT current_setting('temp_directory')").fetchall()[0][0]
    if not str(now).startswith(str(spill_folder().parent)):
        connection.con.execute(f"SET temp_directory = '{spill_folder()}'")
    return connection


def _from_postgres(url: str, table: str, columns: Collection[str]) -> TableSource:
    def connect() -> BaseBackend:
        import psycopg  # type: ignore[import-not-found,unused-ignore]  # noqa: F401, PLC0415 - missing is said before connecting

        return ibis.connect(url.replace("postgresql://", "postgres://", 1))

    connection = connected("connecting to PostgreSQL", connect, url)
    return _table(connection, table, columns, "SELECT 1 WHERE to_regclass(quote_ident(%s)) IS NOT NULL")


def _table(connection: BaseBackend, name: str, columns: Collection[str], look: str) -> TableSource:
    if not guarded("opening the table", lambda: connection.con.execute(look, (name,)).fetchall()):
        raise ValueError(f"the database has no table {name!r}; check table=")
    return _of_query(connection, lambda: all_of(connection, name), columns).closing(connection)


def _named(table: str | None) -> str:
    if table is None:
        raise ValueError("a database holds many tables: name one with table=…")
    return table


def _refuse_absent(address: str) -> None:
    if "://" not in address and not any(c in address for c in "*?[") and not Path(address).exists():
        raise TableError(f"there is no file {shown(address)!r}")


def _embedded() -> BaseBackend:
    """Connect in memory; spill, if ever, to a private folder and not beside the user's files."""
    connection = ibis.duckdb.connect(temp_directory=str(spill_folder()), preserve_insertion_order=False)
    connection.con.execute("set perfect_ht_threshold = 20")  # counts of up to 2^20 cells without hashing
    connection.con.execute("set parquet_metadata_cache = true")  # opening reads it, and so would each query
    return connection


def _registered(rows: object, *, text: bool = False) -> TableSource:
    connection = _embedded()

    def look() -> ir.Table:
        connection.con.register("rows", rows)
        return connection.table("rows")

    return _own(guarded("reading the frame", look), text=text)


def _own(relation: duckdb.DuckDBPyRelation, *, text: bool = False, dictionaries: bool = False) -> TableSource:
    """Return a table of a connection of ours, on which texts are equal by code points already."""
    connection = relation.get_backend()
    types = guarded("opening the table", lambda: duckdb_columns(connection, connection.compile(relation)))
    return TableSource(relation, "duckdb", text, dictionaries, refused(types))


# ── Columns of a file or frame, read whole where they live, for randomising row by row.
def column_reader(data: object, columns: tuple[str, ...]) -> Callable[[], dict[str, Any]]:
    """Find the columns without reading a value; reading gives them as Arrow texts, "" for what is missing."""
    relation = open_source(data, None, dict.fromkeys(columns, TEXT)).relation
    missing = [name for name in columns if name not in relation.columns]
    if missing:
        raise ValueError(f"the data have no column {missing[0]!r}")
    chosen = relation.select(**{name: relation[name].cast("string").fill_null("") for name in columns})

    def read() -> dict[str, Any]:
        table = blindly("reading the observations", chosen.to_pyarrow)
        return {name: table[name] for name in columns}

    return read


__all__ = ["MissingExtra", "TableSource", "open_source"]
