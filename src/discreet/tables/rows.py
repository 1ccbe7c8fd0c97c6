"""The relation behind a Table: clean selected columns, filtered, with the unit of each row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import ibis
import ibis.expr.datatypes as dt

from discreet.tables.encode import clean, refuse_type
from discreet.tables.engine import prepared, said_back
from discreet.tables.opening.sources import TableSource
from discreet.tables.schema import Binary, Categorical, Count, Kind, Schema
from discreet.tables.table import Table, blindly, guarded

if TYPE_CHECKING:
    from ibis.expr import types as ir


UNIT = "discreet_unit"
NOTHING: Mapping[str, Any] = {}


def refuse_columns(source: TableSource, declared: Schema, unit: str | None) -> None:
    """Hold names and types against the schema; other names are not listed, since headers may be data."""
    have = set(source.relation.columns)
    if any("\0" in name for name in declared):
        raise ValueError("the name of a column must not contain a NUL character")
    for name in (*declared, *([] if unit is None else [unit])):
        if name not in have and name.lower() in {other.lower() for other in have}:
            raise ValueError(
                f"this engine sees no column {name!r}, but one that differs from it only in case: write it "
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


# ── Codes as cheap as the engine has them: any labelling will do, and is undone on the small result.
SIGNED = (dt.int8, dt.int16, dt.int32, dt.int64)


@ibis.udf.scalar.builtin(name="list_position", signature=((dt.Array(dt.string), dt.string), dt.int32))
def _list_position(levels, x):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return the place from 1, or NULL; DuckDB asks once for each entry of a dictionary."""


@ibis.udf.scalar.builtin(
    name="map_extract_value", signature=((dt.Map(dt.string, dt.int32), dt.string), dt.int32)
)
def _text_in(levels, x):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return what the map has for a text, or NULL; DuckDB asks once for each entry of a dictionary."""


@ibis.udf.scalar.builtin(
    name="map_extract_value", signature=((dt.Map(dt.int64, dt.int32), dt.int64), dt.int32)
)
def _number_in(levels, x):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return the same for a whole number."""


@ibis.udf.agg.builtin(name="count_if", signature=((dt.boolean,), dt.int64))
def _count_if(x):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Count without a cast."""


@final
@dataclass(frozen=True, eq=False)
class Coded:
    """An integer from 0, and the declared code that each of its values stands for."""

    value: Any
    labels: tuple[int, ...]


def sizes(kind: Kind, name: str) -> int:
    """Return how many codes a column has."""
    if isinstance(kind, Categorical):
        return kind.size
    if isinstance(kind, Binary):
        return 2
    if isinstance(kind, Count):
        return kind.max + 1
    raise TypeError(f"column {name!r} is {kind.kind}; counting needs categories: derive one with cut(edges)")


def coded(table: Table, name: str) -> Coded | None:
    """DuckDB's own labelling of a declared column; None where the clean code must do."""
    kind = table.declared.get(name)
    if table.source.engine != "duckdb" or not isinstance(kind, Categorical):
        return None
    raw, k = table.source.relation[name], len(kind.levels)
    if isinstance(kind.levels[0], str):
        # greatest and least leave NULL out, and unlike CASE they run once for each entry of a dictionary
        place = ibis.greatest(_list_position(ibis.array(list(kind.levels)), raw), 0)
        return Coded(place, (kind.elsewhere, *range(k)))
    if raw.type().is_integer() and kind.levels == tuple(range(k)):
        place = (ibis.least(ibis.greatest(raw, -1), k) + 1).cast("int16" if k < 2**14 else "int64")
        return Coded(place, (kind.elsewhere, *range(k), kind.elsewhere))
    return None


def mapped(table: Table, name: str, stride: int) -> Coded | None:
    """Label a declared column of a Parquet file in steps of a stride: once for each entry of a dictionary.

    None where the clean code must do.
    """
    kind = table.declared.get(name)
    if not table.source.dictionaries or not isinstance(kind, Categorical):
        return None
    raw, first = table.source.relation[name], kind.levels[0]
    places = {level: (i + 1) * stride for i, level in enumerate(kind.levels)}
    if isinstance(first, str) and raw.type().is_string():
        found = _text_in(ibis.literal(places, type="map<string, int32>"), raw)
    elif all(type(x) is int for x in kind.levels) and raw.type() in SIGNED:
        found = _number_in(ibis.literal(places, type="map<int64, int32>"), raw.cast("int64"))
    else:
        return None
    return Coded(ibis.greatest(found, 0), (kind.elsewhere, *range(len(kind.levels))))


def clean_code(kind: Kind, value: ir.Value) -> ir.Value:
    """Return a clean column as its code."""
    return value.ifelse(1, 0) if isinstance(kind, Binary) else value


def how_often(truth: ir.Value) -> ir.Value:
    """Count the rows where it holds."""
    return (
        _count_if(truth) if truth.get_backend().name == "duckdb" else truth.ifelse(1, 0).sum().cast("int64")
    )


# ── At most k rows per unit: a systematic sample of the unit's sorted rows, from a start that a hash gives.
# Rank r of M is taken iff (r·k + s) mod M < k, s = mix(unit) mod M: exactly k ranks if k < M, each equally
# often over s. The choice reads no other unit. Rows that tie are equal, so their order does not matter.
WEIGHT = "discreet_weight"
PRIME = 2**31 - 1
ROUNDS = (  # (multiplier, public salt, prime): linear maps mix when their moduli alternate
    (1_588_635_695, 1_013_904_223, 2**31 - 1),
    (1_117_695_901, 1_664_525_881, 2**31 - 19),
    (1_703_900_269, 374_761_393, 2**31 - 61),
)
LAST = 4  # characters of a text that are mixed


def mix(unit: ir.Value) -> ir.Value:
    """Mix portably to 31 bits: products stay below 2^62, and h occurs once, so that SQL stays short."""
    return _rounds(_residue(unit)) if unit.type().is_integer() else _text(unit)


def _residue(x: ir.Value) -> ir.Value:
    """X mod p in {0, …, p−1}: engines disagree on the sign of a negative remainder."""
    return ((x % PRIME).cast("int64") + PRIME) % PRIME


def _rounds(h: ir.Value) -> ir.Value:
    for multiplier, salt, prime in ROUNDS:
        h = (h * multiplier + salt) % prime
    return h


def _text(unit: ir.Value) -> ir.Value:
    """Horner over the length and the last code points; texts that collide merely share their start."""
    length = unit.length().cast("int64")
    h = length
    for back in range(LAST):
        at = (length > back).ifelse(length - 1 - back, 0).cast("int32")
        point = (length > back).ifelse(unit.substr(at, 1).ascii_str().cast("int64"), 0)
        h = (h * 1_114_129 + point) % PRIME
    return _rounds(h)


def taken(below: ir.Value, total: ir.Value, k: int, start: ir.Value) -> ir.Value:
    """Return how many of the ranks 0, …, below−1 of `total` are taken; all of them where total ≤ k."""
    first = start + total - k  # not negative where it is used
    some = (first + below * k) // total - first // total
    return (total <= k).ifelse(below, some).cast("int64")


def weighted(rows: ir.Table, names: Sequence[str], k: int) -> ir.Table:
    """Rows with equal cells → one, WEIGHT = how many of them count."""
    cells = rows.group_by([UNIT, *names]).aggregate(discreet_m=rows.count())
    inside = ibis.window(group_by=UNIT, order_by=list(names), preceding=None, following=0)
    total = cells.discreet_m.sum().over(ibis.window(group_by=UNIT)).cast("int64")
    upto = cells.discreet_m.sum().over(inside).cast("int64")
    ranked = cells.mutate(discreet_total=total, discreet_upto=upto)
    return ranked.select(*names, **{WEIGHT: _between(ranked, k)})


def _between(ranked: ir.Table, k: int) -> ir.Value:
    total, upto = ranked.discreet_total, ranked.discreet_upto
    start = mix(ranked[UNIT]) % total
    return taken(upto, total, k, start) - taken(upto - ranked.discreet_m.cast("int64"), total, k, start)


def sampled(rows: ir.Table, names: Sequence[str], k: int) -> ir.Table:
    """Rows that count; the rank is a window's, for cells too many to count."""
    rank = ibis.row_number().over(ibis.window(group_by=UNIT, order_by=list(names))).cast("int64")
    ranked = rows.mutate(
        discreet_rank=rank, discreet_total=rows.count().over(ibis.window(group_by=UNIT)).cast("int64")
    )
    start = mix(ranked[UNIT]) % ranked.discreet_total
    counts = (ranked.discreet_rank * k + start) % ranked.discreet_total < k
    return ranked.filter((ranked.discreet_total <= k) | counts).select(*names)


def split_by_code(rows: ir.Table, name: str, labels: Sequence[int], size: int, k: int) -> ir.Table:
    """Few codes: the counts of each unit in one pass; then how many of each declared code are taken.

    Columns c0, c1, …; the first value is not counted but is what the others leave of the total.
    """
    each = {f"v{v}": how_often(rows[name] == v) for v in range(1, len(labels))}
    units = rows.group_by(UNIT).aggregate(discreet_total=rows.count().cast("int64"), **each)
    values = {v: units[f"v{v}"] for v in range(1, len(labels))}
    values[0] = units.discreet_total - sum(values.values())
    zero = ibis.literal(0, type="int64")
    counts = {f"c{c}": sum((values[v] for v, at in enumerate(labels) if at == c), zero) for c in range(size)}
    units = units.select("discreet_total", discreet_start=mix(units[UNIT]) % units.discreet_total, **counts)
    columns, below, before = {}, zero, zero
    for code in range(size):
        below += units[f"c{code}"]
        upto = taken(below, units.discreet_total, k, units.discreet_start)
        columns[f"c{code}"], before = upto - before, upto
    return units.select(**columns)


__all__ = ["Coded", "clean", "clean_code", "coded", "how_often", "sizes"]
