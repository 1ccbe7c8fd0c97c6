"""Columns of a file or frame, read whole where they live, for randomising row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.tables.errors import blindly
from discreet.tables.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


def column_reader(data: Any, columns: tuple[str, ...]) -> Callable[[], dict[str, NDArray[Any]]]:  # noqa: ANN401 - many kinds
    """Find the columns without reading a value; reading gives them as text, "" for what is missing."""
    relation = open_source(data, None, columns).relation
    missing = [name for name in columns if name not in relation.columns]
    if missing:
        raise ValueError(f"the data have no column {missing[0]!r}")
    chosen = relation.select(**{name: relation[name].cast("string").fill_null("") for name in columns})

    def read() -> dict[str, NDArray[Any]]:
        table = blindly("reading the observations", chosen.to_pyarrow)
        return {name: np.asarray(table[name].to_numpy(zero_copy_only=False), dtype=str) for name in columns}

    return read
