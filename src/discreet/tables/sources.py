"""Where rows live: anything that Ibis reaches, opened without reading a value."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, final

import ibis
from ibis.common.exceptions import TableNotFound
from ibis.expr.operations import InMemoryTable

from discreet.shown import address as shown
from discreet.tables.csv_file import CsvFile
from discreet.tables.errors import MissingExtra, TableError, guarded
from discreet.tables.quiet import hush_spark
from discreet.tables.spill import spill_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PARQUET, CSV, DUCKDB = (".parquet", ".pq"), (".csv", ".tsv", ".csv.gz", ".tsv.gz"), (".duckdb", ".ddb", ".db")
POSTGRES = ("postgresql://", "postgres://")


@final
@dataclass(frozen=True, eq=False)
class Source:
    """An Ibis table and what the builders must know of its engine."""

    relation: Any = field(repr=False)
    engine: str
    text: bool = False  # every column arrives as text (CSV), and is read as the schema declares it
    dictionaries: bool = False  # columns of few values arrive as dictionaries (Parquet on DuckDB)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a source is a door to private rows and is not copied or pickled; open it anew")

    def closing(self, connection: Any) -> Source:  # noqa: ANN401
        """Close a connection of ours when nothing holds this source any more."""
        weakref.finalize(self, connection.disconnect)
        return self

    @property
    def embedded(self) -> bool:
        """Whether batches may be streamed into this process, because the engine runs in it."""
        return self.engine == "duckdb"


def open_source(source: Any, table: str | None, columns: Iterable[str]) -> Source:  # noqa: ANN401 - many kinds
    """Connect; `columns` are all that is taken of a frame in memory, mapped to their declared types."""
    if isinstance(source, str | Path):
        return _from_address(str(source), table, columns)
    if table is not None:
        raise ValueError("table= names a table of a database; this source is a table already")
    if isinstance(source, ibis.Table):
        return _from_ibis(source)
    opener = FRAMES.get(type(source).__module__.partition(".")[0])
    if opener is None or (opener is _from_mapping and not isinstance(source, Mapping)):
        raise TypeError(
            "a source is a path, a database URL, an Ibis table, or a pandas, Polars or Arrow table; "
            f"got {type(source).__name__}"
        )
    arrow = guarded("reading the frame", lambda: typed(opener(source, list(columns)), columns))
    return Source(guarded("reading the frame", lambda: _registered(arrow)), "duckdb")


def _from_ibis(source: Any) -> Source:  # noqa: ANN401
    if source.op().find(InMemoryTable):  # rows that this process holds already, unbound or bound
        return Source(guarded("reading the frame", lambda: _registered(source.to_pyarrow())), "duckdb")
    engine = source.get_backend().name
    if engine == "pyspark":
        hush_spark()
    return Source(source, engine)


def _from_address(address: str, table: str | None, columns: Iterable[str]) -> Source:
    if address.startswith(POSTGRES):
        return _from_postgres(address, _named(table))
    lower = address.lower()
    if lower.endswith(DUCKDB):
        _refuse_absent(address)
        name = _named(table)
        connection = guarded(
            f"opening {shown(address)!r}",
            lambda: ibis.duckdb.connect(address, read_only=True, temp_directory=str(spill_folder())),
        )
        return Source(_table(connection, name), "duckdb").closing(connection)
    if table is not None:
        raise ValueError("table= names a table of a database; a file of rows has none")
    if lower.endswith(PARQUET):
        _refuse_absent(address)
        relation = guarded(f"opening {shown(address)!r}", lambda: _embedded().read_parquet(address))
        return Source(relation, "duckdb", dictionaries=True)
    if lower.endswith(CSV):
        _refuse_absent(address)
        file = guarded(f"opening {shown(address)!r}", lambda: CsvFile.open(address, columns))
        return Source(guarded(f"opening {shown(address)!r}", lambda: _registered(file)), "duckdb", text=True)
    known = ", ".join((*PARQUET, *CSV, *DUCKDB, *POSTGRES))
    raise ValueError(f"cannot tell what {shown(address)!r} is; known: {known}; or give an Ibis table")


def _from_postgres(url: str, table: str) -> Source:
    def connect() -> Any:  # noqa: ANN401 - an Ibis backend
        import psycopg  # type: ignore[import-not-found,unused-ignore]  # noqa: F401, PLC0415 - missing is said before connecting

        return ibis.connect(url.replace("postgresql://", "postgres://", 1))

    # the address may hold a password, and is not repeated
    connection = guarded("connecting to PostgreSQL", connect)
    return Source(_table(connection, table), "postgres").closing(connection)


def _table(connection: Any, name: str) -> Any:  # noqa: ANN401
    def look() -> Any:  # noqa: ANN401
        try:
            return connection.table(name)
        except TableNotFound:
            return None

    found = guarded("opening the table", look)
    if found is None:
        raise ValueError(f"the database has no table {name!r}; check table=")
    return found


def _named(table: str | None) -> str:
    if table is None:
        raise ValueError("a database holds many tables: name one with table=…")
    return table


def _refuse_absent(address: str) -> None:
    if "://" not in address and not any(c in address for c in "*?[") and not Path(address).exists():
        raise TableError(f"there is no file {shown(address)!r}")


def _embedded() -> Any:  # noqa: ANN401
    """Connect in memory; spill, if ever, to a private folder and not beside the user's files."""
    connection = ibis.duckdb.connect(temp_directory=str(spill_folder()), preserve_insertion_order=False)
    connection.con.execute("set perfect_ht_threshold = 20")  # counts of up to 2^20 cells without hashing
    connection.con.execute("set parquet_metadata_cache = true")  # opening reads it, and so would each query
    return connection


def _registered(arrow: Any) -> Any:  # noqa: ANN401
    connection = _embedded()
    connection.con.register("rows", arrow)
    return connection.table("rows")


# --- frames in memory: only the declared columns, as Arrow ------------
def typed(arrow: Any, columns: Iterable[str]) -> Any:  # noqa: ANN401
    """Give columns that hold nothing the type that is declared.

    A frame's column may have its type from its values: refusing one without any would tell that there are
    none, and with n private the empty table is as good as its neighbour.
    """
    import pyarrow as pa  # noqa: PLC0415 - heavy

    declared = columns if isinstance(columns, Mapping) else {}
    if not hasattr(arrow, "set_column"):
        return arrow
    for place, field_ in enumerate(arrow.schema):
        if pa.types.is_null(field_.type) and declared.get(field_.name):
            column = pa.nulls(arrow.num_rows, pa.type_for_alias(declared[field_.name]))
            arrow = arrow.set_column(place, field_.name, column)
    return arrow


def _present(columns: list[str], names: Iterable[str]) -> list[str]:
    have = list(names)
    return [name for name in columns if name in have] or have[:1]  # what is missing is said later


def _from_pandas(frame: Any, columns: list[str]) -> Any:  # noqa: ANN401
    import pyarrow as pa  # noqa: PLC0415 - heavy

    return pa.Table.from_pandas(frame[_present(columns, frame.columns)], preserve_index=False)


def _from_polars(frame: Any, columns: list[str]) -> Any:  # noqa: ANN401
    lazy = frame.lazy()
    return lazy.select(_present(columns, lazy.collect_schema().names())).collect().to_arrow()


def _from_arrow(table: Any, columns: list[str]) -> Any:  # noqa: ANN401
    if hasattr(table, "read_next_batch"):
        raise TableError("a stream of Arrow batches can be read only once; give a table or a dataset")
    return table.select(_present(columns, table.schema.names)) if hasattr(table, "select") else table


def _from_mapping(columns_by_name: Mapping[str, Any], columns: list[str]) -> Any:  # noqa: ANN401
    import pyarrow as pa  # noqa: PLC0415

    return pa.table({name: columns_by_name[name] for name in _present(columns, columns_by_name)})


FRAMES: dict[str, Callable[[Any, list[str]], Any]] = {
    "pandas": _from_pandas,
    "polars": _from_polars,
    "pyarrow": _from_arrow,
    "builtins": _from_mapping,
}
__all__ = ["MissingExtra", "Source", "open_source"]
