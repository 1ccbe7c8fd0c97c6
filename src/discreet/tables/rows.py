"""The relation behind a Table: clean selected columns, filtered, with the unit of each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.tables.encode import clean, refuse_type
from discreet.tables.engine import prepared
from discreet.tables.errors import blindly

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.tables.schema import Schema
    from discreet.tables.sources import Source
    from discreet.tables.table import Table

UNIT = "discreet_unit"
NOTHING: Mapping[str, Any] = {}


def refuse_columns(source: Source, declared: Schema, unit: str | None) -> None:
    """Hold names and types against the schema; other names are not listed, since headers may be data."""
    have = set(source.relation.columns)
    for name in (*declared, *([] if unit is None else [unit])):
        if name not in have:
            raise ValueError(f"the table has no column {name!r}; `discreet schema init` lists its columns")
    for name, kind in declared.items():
        refuse_type(name, kind, source.relation[name], text=source.text)
    if unit is not None:
        dtype = source.relation[unit].type()
        if not (dtype.is_integer() or dtype.is_string() or dtype.is_uuid()):
            raise TypeError(
                f"the unit column {unit!r} must hold whole numbers or texts, it has type {dtype}; cast it, "
                "e.g. to pandas' Int64"
            )


def clean_rows(table: Table, names: tuple[str, ...], beside: Mapping[str, Any] = NOTHING) -> Any:  # noqa: ANN401
    """Return the clean columns (and UNIT); rows without a unit are nobody's and are left out.

    `beside` are more columns, expressions of the source's own.
    """
    raw, declared, needed = table.source.relation, table.declared, _needed(table, names)
    cells = {x: clean(declared[x], raw[x], text=table.source.text) for x in declared if x in needed}
    for name, expression in table.derived.items():
        if name in needed:
            cells[name] = expression.value(cells, table.schema)
    kept = {name: cells[name] for name in names} | dict(beside)
    predicates = [f.value(cells, table.schema) for f in table.filters]
    if table.unit is not None:
        unit = raw[table.unit]
        kept[UNIT] = unit.cast("string") if unit.type().is_uuid() else unit
        predicates.append(unit.notnull())
    return (raw.filter(predicates) if predicates else raw).select(**kept)


def _needed(table: Table, names: tuple[str, ...]) -> set[str]:
    """Return the columns that the selected ones and the filters read, through derived ones too."""
    found = set(names).union(*(f.names() for f in table.filters))
    for name in reversed(list(table.derived)):
        if name in found:
            found |= table.derived[name].names()
    return found


def count_records(table: Table) -> int:
    """Count rows, or units where there are units: only where that number is public."""
    raw = table.source.relation
    counted = raw.aggregate(n=raw.count() if table.unit is None else raw[table.unit].nunique())
    return int(blindly("counting the records", prepared(counted))["n"][0].as_py())
