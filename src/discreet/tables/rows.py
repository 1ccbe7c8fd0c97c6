"""The relation behind a Table: clean selected columns, filtered, with the unit of each row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from discreet.tables.encode import clean, refuse_type
from discreet.tables.engine import prepared, said_back
from discreet.tables.errors import blindly, guarded
from discreet.tables.opening.sources import TableSource
from discreet.tables.schema import Binary, Kind, Schema
from discreet.tables.table import Table

if TYPE_CHECKING:
    from ibis.expr import types as ir


UNIT = "discreet_unit"
NOTHING: Mapping[str, Any] = {}


def refuse_columns(source: TableSource, declared: Schema, unit: str | None) -> None:
    """Hold names and types against the schema; other names are not listed, since headers may be data."""
    have = set(source.relation.columns)
    if any("\0" in name for name in declared):
        raise ValueError("the name of a column has no NUL character")
    for name in (*declared, *([] if unit is None else [unit])):
        if name not in have and name.lower() in {other.lower() for other in have}:
            raise ValueError(
                f"this engine sees no column {name!r}, but one that differs from it in case alone: write it "
                "as the table does or, where the table has both, which it cannot tell apart, rename one"
            )
        if name not in have:
            raise ValueError(f"the table has no column {name!r}; `discreet schema init` lists its columns")
        if name in source.refused:
            raise TypeError(
                f"column {name!r} is of a type that cannot be read here, {source.refused[name]}; "
                "cast it to a text or a number in a view or a query, and open that"
            )
    for name, kind in declared.items():
        refuse_type(name, kind, source.relation[name], text=source.text)
        refuse_levels(name, kind, source.relation)
    if unit is not None:
        dtype = source.relation[unit].type()
        if not (dtype.is_integer() or dtype.is_string() or dtype.is_uuid()):
            raise TypeError(
                f"the unit column {unit!r} must hold whole numbers or texts, it has type {dtype}; cast it, "
                "e.g. to pandas' Int64"
            )


def refuse_levels(name: str, kind: Kind, relation: ir.Table) -> None:
    """Have a remote engine say back declared texts with odd characters, which some replace or refuse."""
    levels = (kind.true,) if isinstance(kind, Binary) else getattr(kind, "levels", ())
    odd = "\n".join(x for x in levels if isinstance(x, str) and not x.isalnum())
    backend = relation.get_backend()
    if not odd or backend.name not in {"postgres", "pyspark"}:
        return
    if guarded(f"telling {backend.name} the levels of {name!r}", lambda: said_back(backend, odd)) != odd:
        raise ValueError(f"{backend.name} does not read the levels of {name!r} as they are written")


def clean_rows(table: Table, names: Mapping[str, str], beside: Mapping[str, Any] = NOTHING) -> ir.Table:
    """Return clean columns (and UNIT); rows without a unit are nobody's and are left out.

    `names` says what the caller calls each column: names of the data may be any, and on some engines A is a.
    `beside` are more columns, expressions of the source's own.
    """
    raw, declared, needed = table.source.relation, table.declared, _needed(table, names.values())
    cells = {x: clean(declared[x], raw[x], text=table.source.text) for x in declared if x in needed}
    for name, expression in table.derived.items():
        if name in needed:
            cells[name] = expression.value(cells, table.schema)
    kept = {own: cells[name] for own, name in names.items()} | dict(beside)
    predicates = [f.value(cells, table.schema) for f in table.filters]
    if table.unit is not None:
        unit = raw[table.unit]
        kept[UNIT] = unit.cast("string") if unit.type().is_uuid() else unit
        predicates.append(unit.notnull())
    rows = raw.filter(predicates) if predicates else raw
    if table.source.engine != "polars":
        return rows.select(**kept)
    # Ibis puts constants beside the columns of Polars before it selects: names there must be new
    mark = "'" * (1 + max(map(len, raw.columns)))
    return rows.select(**{own + mark: x for own, x in kept.items()}).rename({own: own + mark for own in kept})


def _needed(table: Table, names: Iterable[str]) -> set[str]:
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
