"""Execute an Ibis expression: a small answer as Arrow, or batches where the engine is embedded.

Compiling comes first and apart, and the engine is asked whether it understands the query (names, types,
functions), so that what it cannot do is refused before anything is charged. That reads no row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import ibis

from discreet.tables.errors import guarded

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.backends import BaseBackend
    from ibis.expr import types as ir


def prepared(query: ir.Table) -> Callable[[], Any]:
    """Compile now; return what executes it."""
    backend, sql = query.get_backend(), understood(query)
    if backend.name == "duckdb":
        # Ibis 12 asks DuckDB 2 for methods that it no longer has, or warns of; we ask DuckDB itself
        return lambda: backend.con.sql(sql).to_arrow_table()

    def fetch() -> pa.Table:
        with as_written(backend):
            return query.to_pyarrow()

    return fetch


def batches(query: ir.Table, rows: int) -> Callable[[], Iterator[Any]]:
    """Compile now; return what streams the rows of an embedded engine within this process."""
    backend, sql = query.get_backend(), understood(query)
    return lambda: iter(backend.con.sql(sql).to_arrow_reader(rows))


def understood(query: ir.Table) -> ir.Table:
    """Return the SQL, once the engine has parsed it and found its names, types and functions."""
    backend = query.get_backend()
    sql = guarded(f"compiling for {backend.name}", lambda: backend.compile(query))
    ask = ASKED.get(backend.name)
    if ask is not None:
        guarded(f"asking {backend.name} whether it understands the query", lambda: ask(backend, sql))
    return sql


def _ask_duckdb(backend: BaseBackend, sql: str) -> None:
    backend.con.execute(f"EXPLAIN {sql}").fetchall()


def _ask_postgres(backend: BaseBackend, sql: str) -> None:
    """PREPARE looks up names and types; planning, which looks at statistics of values, comes later."""
    with backend.con.cursor() as cursor, backend.con.transaction():
        cursor.execute(f"PREPARE discreet AS {sql}")
        cursor.execute("DEALLOCATE discreet")


def _ask_spark(backend: BaseBackend, sql: str) -> None:
    with as_written(backend):
        _ = backend._session.sql(sql).schema  # noqa: SLF001 - Ibis has no other name for it


ASKED: dict[str, Callable[[Any, str], None]] = {
    "duckdb": _ask_duckdb,
    "postgres": _ask_postgres,
    "pyspark": _ask_spark,
}


@contextmanager
def as_written(backend: BaseBackend) -> Iterator[None]:
    """Keep Spark from replacing what looks like its variables, ${…}, within the texts of a query."""
    if backend.name != "pyspark":
        yield
        return
    conf, key = backend._session.conf, "spark.sql.variable.substitute"  # noqa: SLF001
    before = conf.get(key)
    conf.set(key, "false")
    try:
        yield
    finally:
        conf.set(key, before)


def said_back(backend: BaseBackend, text: str) -> str | None:
    """Return a text as the engine reads it off a query."""
    with as_written(backend):
        answer: str | None = backend.to_pyarrow(ibis.literal(text).name("text")).as_py()
        return answer
