"""Execute an Ibis expression: a small answer as Arrow, or batches where the engine is embedded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def fetch(query: Any) -> Any:  # noqa: ANN401 - Ibis table → Arrow table
    """Return the few rows of an aggregate."""
    backend = query.get_backend()
    # Ibis 12 asks DuckDB 2 for methods that it no longer has, or warns of; we ask DuckDB itself
    return _duckdb(query, backend).to_arrow_table() if backend.name == "duckdb" else query.to_pyarrow()


def batches(query: Any, rows: int) -> Iterator[Any]:  # noqa: ANN401
    """Stream rows of an embedded engine within this process."""
    yield from _duckdb(query, query.get_backend()).to_arrow_reader(rows)


def _duckdb(query: Any, backend: Any) -> Any:  # noqa: ANN401
    return backend.con.sql(backend.compile(query))
