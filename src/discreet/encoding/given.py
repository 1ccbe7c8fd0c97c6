"""Rows as users hold them → one array per column, with None or NaN where a value is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Column = NDArray[Any]  # numbers or truths, or else Python objects
PLAIN = "biuf"  # dtypes that hold no object
FORMS = "a pandas or Polars data frame, an Arrow table, a dict of columns, or a list of dicts"


@final
@dataclass(frozen=True, eq=False)
class GivenRows:
    """Columns of equal length by name, and what the rows are called."""

    index: NDArray[Any]
    columns: Mapping[str, Column]


def given(rows: object) -> GivenRows:
    """Take the columns out of whatever holds them, or say which forms are known."""
    library = type(rows).__module__.partition(".")[0]
    reader = READERS.get((library, type(rows).__name__))
    if reader is not None:
        return reader(rows)
    if isinstance(rows, Mapping):
        return _of_mapping(rows)
    if isinstance(rows, list | tuple) and rows and all(isinstance(row, Mapping) for row in rows):
        return _of_records(rows)
    raise TypeError(
        f"rows need the names of their columns: give {FORMS}; got {type(rows).__name__}. Integer codes "
        "without names are accepted with codes=True by methods that take it"
    )


def _of_pandas(frame: pd.DataFrame) -> GivenRows:
    names = [str(name) for name in frame.columns]
    _refuse_twice(names)
    columns = {name: _of_series(frame.iloc[:, i]) for i, name in enumerate(names)}
    return GivenRows(_objects(frame.index) if frame.index.nlevels > 1 else np.asarray(frame.index), columns)


def _of_series(series: pd.Series) -> Column:
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in PLAIN:
        return np.asarray(series)
    return _objects(series.astype(object).where(series.notna(), None))


def _of_polars(frame: pl.DataFrame | pl.LazyFrame) -> GivenRows:
    held: pl.DataFrame = frame.lazy().collect()
    return _rows({name: _array(held[name].to_list()) for name in held.columns}, held.height)


def _of_arrow(table: pa.Table) -> GivenRows:
    _refuse_twice(table.column_names)
    columns = {name: _array(table.column(name).to_pylist()) for name in table.column_names}
    return _rows(columns, table.num_rows)


def _of_mapping(columns: Mapping[Any, Any]) -> GivenRows:
    found = {str(name): _column(values) for name, values in columns.items()}
    sizes = {len(values) for values in found.values()}
    if len(sizes) > 1:
        raise ValueError(f"columns must have one length, got {', '.join(map(str, sorted(sizes)))}")
    return _rows(found, max(sizes, default=0))


def _of_records(rows: Sequence[Mapping[Any, Any]]) -> GivenRows:
    names = dict.fromkeys(str(name) for row in rows for name in row)
    return _rows({name: _array([row.get(name) for row in rows]) for name in names}, len(rows))


def _rows(columns: Mapping[str, Column], size: int) -> GivenRows:
    return GivenRows(np.arange(size), columns)


def _column(values: object) -> Column:
    """Take a column of any library; a single value is a column of one row."""
    if type(values).__module__.partition(".")[0] == "pandas":
        import pandas as pd  # noqa: PLC0415 - heavy

        return _of_series(pd.Series(values))
    if isinstance(values, np.ndarray):
        if values.ndim > 1:
            raise ValueError(f"a column has one dimension, got an array of {values.ndim}")
        return (
            np.atleast_1d(values) if values.dtype.kind in PLAIN else _objects(np.atleast_1d(values).tolist())
        )
    to_list: Callable[[], list[Any]] | None = getattr(values, "to_pylist", getattr(values, "to_list", None))
    if to_list is not None:
        return _array(to_list())
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        return _array([values])
    return _array(values)


def _array(values: Iterable[Any]) -> Column:
    """Return numbers or truths as such, and everything else as objects."""
    held = [value.item() if isinstance(value, np.generic) else value for value in values]
    sorts = {type(value) for value in held}
    if sorts in ({bool}, {float}, {int, float}):
        return np.asarray(held)
    if sorts == {int} and all(abs(value) < 2**63 for value in held):
        return np.asarray(held, dtype=np.int64)
    return _objects(held)


def _objects(values: Iterable[Any]) -> Column:
    held = list(values)
    found = np.empty(len(held), dtype=object)
    found[:] = [value.item() if isinstance(value, np.generic) else value for value in held]
    return found


def _refuse_twice(names: Sequence[str]) -> None:
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise ValueError(f"the rows have two columns called {', '.join(map(repr, twice))}")


READERS: dict[tuple[str, str], Callable[[Any], GivenRows]] = {
    ("pandas", "DataFrame"): _of_pandas,
    ("polars", "DataFrame"): _of_polars,
    ("polars", "LazyFrame"): _of_polars,
    ("pyarrow", "Table"): _of_arrow,
    ("pyarrow", "RecordBatch"): _of_arrow,
}
