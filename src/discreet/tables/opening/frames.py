"""Frames in memory → Arrow, with types that follow from the frame's types and the schema, never from values.

Arrow guesses the type of Python objects from what it finds, and gives up on some: one odd value would decide
how all others are read. So a column of objects (an object column of pandas, a list) is read as what its
declaration asks for: texts or numbers, and whatever is neither is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, Any, final
from uuid import UUID

import numpy as np

from discreet.tables.table import TableError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from pandas.api.extensions import ExtensionDtype

Opener = Callable[[Any, Mapping[str, str]], Any]


TEXT = "string"  # as a schema calls it; all else is read as doubles, where a column has no type
TEXTS = {"string", "large_string", "string_view"}  # as Arrow calls them
NUMBERS = (bool, int, float, Decimal, Fraction, np.bool_, np.integer, np.floating)


def opener_of(source: object) -> Opener:
    """Return what makes an Arrow table of it."""
    opener = FRAMES.get(type(source).__module__.partition(".")[0])
    if opener is None or (opener is _from_mapping and not isinstance(source, Mapping)):
        raise TypeError(
            "a source is a path, a database URL, an Ibis table, or a pandas, Polars or Arrow table; "
            f"got {type(source).__name__}"
        )
    return opener


def of_objects(values: Iterable[Any], sort: str) -> pa.Array:
    """Read Python objects as texts or as doubles."""
    import pyarrow as pa  # noqa: PLC0415 - heavy

    if sort == TEXT:
        return pa.array([_text(value) for value in values], pa.large_string())
    return pa.array([_number(value) for value in values], pa.float64())


def _text(value: object) -> str | None:
    """Return a text, the digits of a whole number below 2^64, a UUID's; a half of a surrogate pair as “?”."""
    if isinstance(value, str):
        return str.encode(value, "utf-8", "replace").decode()
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and abs(int(value)) < 2**64:
        return str(int(value))
    return UUID.__str__(value) if isinstance(value, UUID) else None


def _number(value: object) -> float | None:
    if not isinstance(value, NUMBERS):
        return None
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf  # of 10**400, say
    except (ValueError, ArithmeticError):  # a signalling NaN
        return None


# --- one opener for each kind of frame: only the declared columns ------------
def _present(columns: Mapping[str, str], names: Iterable[str]) -> list[str]:
    have = list(names)
    return [name for name in columns if name in have] or have[:1]  # what is missing is said later


def _from_pandas(frame: pd.DataFrame, columns: Mapping[str, str]) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - heavy

    names = _present(columns, frame.columns)
    loose = {x: _of_series(frame[x], columns) for x in names if _is_loose(frame.dtypes[x])}
    typed = pa.Table.from_pandas(frame[[x for x in names if x not in loose]], preserve_index=False)
    return _typed(pa.table({x: loose[x] if x in loose else typed[x] for x in names}), columns)


def _of_series(series: pd.Series, columns: Mapping[str, str]) -> pa.Array:
    """Read objects as declared, and texts as texts whichever way pandas keeps them."""
    within = _within(series.dtype)
    if within.name not in {"object", "str", "string"}:
        raise TableError(f"column {series.name!r} is of a type that cannot be read here, {within}; cast it")
    return of_objects(
        series.astype(object), columns.get(series.name, TEXT) if within.name == "object" else TEXT
    )


def _is_loose(dtype: ExtensionDtype | np.dtype) -> bool:
    """Whether the column holds Python objects, as categories or as texts too."""
    within = _within(dtype)
    of_arrow = hasattr(within, "pyarrow_dtype")  # has a type, and is of kind O for some
    return not of_arrow and (within.kind == "O" or getattr(within, "storage", "") == "python")


def _within(dtype: ExtensionDtype | np.dtype) -> Any:  # noqa: ANN401 - of pandas
    """Return the type of the categories, where there are some."""
    return getattr(getattr(dtype, "categories", None), "dtype", dtype)


def _from_polars(frame: pl.DataFrame, columns: Mapping[str, str]) -> pa.Table:
    lazy = frame.lazy()
    arrow = lazy.select(_present(columns, lazy.collect_schema().names())).collect().to_arrow()
    return _typed(arrow, columns)


def _from_arrow(table: pa.Table, columns: Mapping[str, str]) -> pa.Table:
    if hasattr(table, "read_next_batch"):
        raise TableError("a stream of Arrow batches can be read only once; give a table or a dataset")
    names = _present(columns, table.schema.names)
    if hasattr(table, "scanner"):
        return Dataset(table, tuple(names), columns)
    import pyarrow as pa  # noqa: PLC0415

    chosen = table.select(names)
    return _typed(pa.table(chosen.columns, schema=chosen.schema), columns)


@final
@dataclass(frozen=True)
class Dataset:
    """A dataset of Arrow, which is read batch by batch whenever an engine scans it."""

    data: Any
    names: tuple[str, ...]
    columns: Mapping[str, str]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow as pa  # noqa: PLC0415

        plain = {f.name: pa.large_string() if _is_text(f.type) else f.type for f in self.data.schema}
        empty = _typed(pa.schema({name: plain[name] for name in self.names}).empty_table(), self.columns)

        def batches() -> Iterator[Any]:
            for batch in self.data.to_batches(columns=list(self.names)):
                rows = _typed(pa.Table.from_batches([batch]), self.columns)
                yield from rows.cast(empty.schema).to_batches()

        return pa.RecordBatchReader.from_batches(empty.schema, batches()).__arrow_c_stream__(requested_schema)


def _from_mapping(given: Mapping[str, Any], columns: Mapping[str, str]) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415

    names = _present(columns, given)
    return _typed(pa.table({x: _array(given[x], x, columns.get(x, TEXT)) for x in names}), columns)


def _array(values: Any, name: str, sort: str) -> pa.Array:  # noqa: ANN401 - a column of any library
    kind = getattr(getattr(values, "dtype", None), "kind", "O")
    library = type(values).__module__.partition(".")[0]
    if library == "pandas":
        import pandas as pd  # noqa: PLC0415 - heavy

        return _from_pandas(pd.DataFrame({name: values}), {name: sort})[name]
    if library == "pyarrow" or kind not in {"O", "U"}:
        return values
    return of_objects(values, TEXT if kind == "U" else sort)


def _typed(arrow: pa.Table, columns: Mapping[str, str]) -> pa.Table:
    """Give columns of no type (nothing but NULL) theirs, and texts that are not valid UTF-8 a place."""
    import pyarrow as pa  # noqa: PLC0415

    for place, field in enumerate(arrow.schema):
        column = arrow.column(place)
        if pa.types.is_null(field.type):
            column = pa.nulls(len(column), pa.type_for_alias(columns.get(field.name, TEXT)))
        elif pa.types.is_float16(field.type):  # which no engine reads
            column = column.cast(pa.float64())
        elif pa.types.is_decimal256(field.type):
            raise TableError(
                f"column {field.name!r} is of a type that cannot be read here, {field.type}; cast it to "
                "float64, or to a decimal of at most 38 digits"
            )
        elif _is_text(field.type) and not _is_utf8(column):
            column = column.cast(pa.large_string()).cast(pa.large_binary())
            column = of_objects([x and x.decode(errors="replace") for x in column.to_pylist()], TEXT)
        else:
            continue
        arrow = arrow.set_column(place, field.name, column)
    return arrow


def _is_text(kind: pa.DataType) -> bool:
    """Whether it is text, as it is or by dictionary: not a list or a struct of texts."""
    return str(getattr(kind, "value_type", kind) if str(kind).startswith("dictionary<") else kind) in TEXTS


def _is_utf8(column: pa.ChunkedArray) -> bool:
    try:
        column.validate(full=True)
    except ValueError:
        return False
    return True


FRAMES: dict[str, Opener] = {
    "pandas": _from_pandas,
    "polars": _from_polars,
    "pyarrow": _from_arrow,
    "builtins": _from_mapping,
}
