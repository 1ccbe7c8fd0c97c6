"""A table of a schema without any rows: for plans, which walk the line and read nothing."""

from __future__ import annotations

from discreet.tables.schema import Schema
from discreet.tables.table import Table


def without_rows(
    schema: Schema, *, n: int | None, unit: str | None = None, rows_per_unit: int | None = None
) -> Table:
    """Open an empty table of the schema's types, with the public number of records that a plan expects."""
    import pyarrow as pa  # noqa: PLC0415 - heavy

    types = {name: kind.stored for name, kind in schema.items()}
    if unit is not None:
        types |= {unit: types.get(unit, "string")}
    empty = pa.table({name: pa.array([], pa.type_for_alias(stored)) for name, stored in types.items()})
    return Table.open(empty, schema=schema, unit=unit, rows_per_unit=rows_per_unit, n=n)
