"""Columns of a file or frame, read whole where they live, for randomising row by row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet.tables.errors import blindly
from discreet.tables.opening.frames import TEXT
from discreet.tables.opening.sources import open_source


def column_reader(data: object, columns: tuple[str, ...]) -> Callable[[], dict[str, Any]]:
    """Find the columns without reading a value; reading gives them as Arrow texts, "" for what is missing."""
    relation = open_source(data, None, dict.fromkeys(columns, TEXT)).relation
    missing = [name for name in columns if name not in relation.columns]
    if missing:
        raise ValueError(f"the data have no column {missing[0]!r}")
    chosen = relation.select(**{name: relation[name].cast("string").fill_null("") for name in columns})

    def read() -> dict[str, Any]:
        table = blindly("reading the observations", chosen.to_pyarrow)
        return {name: table[name] for name in columns}

    return read
