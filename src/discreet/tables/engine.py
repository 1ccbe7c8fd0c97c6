"""Execute an Ibis expression: a small answer as Arrow, or batches where the engine is embedded.

Compiling comes first and apart, so that what an engine cannot express is refused before anything is charged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.tables.errors import guarded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def prepared(query: Any) -> Callable[[], Any]:  # noqa: ANN401 - Ibis table → reader of an Arrow table
    """Compile now; return what executes it."""
    backend = query.get_backend()
    sql = guarded(f"compiling for {backend.name}", lambda: backend.compile(query))
    if backend.name == "duckdb":
        # Ibis 12 asks DuckDB 2 for methods that it no longer has, or warns of; we ask DuckDB itself
        return lambda: backend.con.sql(sql).to_arrow_table()
    fetch: Callable[[], Any] = query.to_pyarrow
    return fetch


def batches(query: Any, rows: int) -> Callable[[], Iterator[Any]]:  # noqa: ANN401
    """Compile now; return what streams the rows of an embedded engine within this process."""
    backend = query.get_backend()
    sql = guarded(f"compiling for {backend.name}", lambda: backend.compile(query))
    return lambda: iter(backend.con.sql(sql).to_arrow_reader(rows))
