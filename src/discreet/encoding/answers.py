"""Answers about rows of the user's own, as labelled arrays and data frames."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from discreet.encoding.encoder import EncodedRows, Encoder

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ROW = "row"


Scalar = str | int | float | bool  # a label
Codes = Mapping[str, ArrayLike]  # column → integer codes, as the schema has them


def by_column(records: object) -> Codes:
    """Return codes by column, or refuse what has no columns."""
    if not isinstance(records, Mapping):
        raise TypeError(f"codes are given by column, {{'column': [0, 1, …]}}, got {type(records).__name__}")
    return records


def by_label(shares: Floats, rows: EncodedRows, column: str, labels: Sequence[Any]) -> xr.DataArray:
    """Return probabilities of labels for each row: (row, column)."""
    from xarray import DataArray  # noqa: PLC0415 - heavy

    row = _row(column)
    return DataArray(shares, dims=(row, column), coords={row: rows.index, column: _objects(labels)})


def by_row(values: Floats, rows: EncodedRows) -> xr.DataArray:
    """Return one number for each row: (row)."""
    from xarray import DataArray  # noqa: PLC0415 - heavy

    return DataArray(values, dims=(ROW,), coords={ROW: rows.index})


def table_by_label(shares: Floats, columns: Sequence[str], encoder: Encoder) -> xr.DataArray:
    """Return a table of probabilities, an axis for each column and its labels along it."""
    from xarray import DataArray  # noqa: PLC0415 - heavy

    return DataArray(shares, dims=tuple(columns), coords={c: _objects(encoder.labels(c)) for c in columns})


def labelled_records(codes: Mapping[str, Integers], encoder: Encoder) -> pd.DataFrame:
    """Return records as a data frame of labels."""
    import pandas as pd  # noqa: PLC0415 - heavy

    return pd.DataFrame({name: encoder.decode(name, column) for name, column in codes.items()})


def spoken_columns(
    rows: object, encoder: Encoder, columns: Sequence[str], coded: Collection[str]
) -> EncodedRows:
    """Return clean values of some columns: numbers, and labels of those that are `coded`."""
    held = encoder.encode(rows, columns)
    words = {name: encoder.decode(name, held.columns[name]) for name in columns if name in coded}
    return replace(held, columns={**held.columns, **words})


def drawn_codes(shares: ArrayLike, rng: np.random.Generator) -> Integers:
    """Draw one code from each row of probabilities."""
    chances = np.cumsum(np.atleast_2d(np.asarray(shares)), axis=-1)
    u = rng.random(len(chances)) * chances[:, -1]
    return np.asarray((chances <= u[:, None]).sum(axis=-1).clip(max=chances.shape[-1] - 1))


def _row(column: str) -> str:
    return ROW if column != ROW else "record"


def _objects(labels: Sequence[Any]) -> NDArray[Any]:
    """Keep labels of several types as they are."""
    found = np.empty(len(labels), dtype=object)
    found[:] = list(labels)
    return found if len({type(label) for label in labels}) > 1 else np.asarray(labels)
