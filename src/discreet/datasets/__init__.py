"""Real data that comes with the package; LICENSE.md beside it says whose it is."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Any

from numpy.typing import NDArray

from discreet.datasets import event_log

__all__ = ["WORKCLASS", "abalone", "adult", "event_log"]

# Documented levels (public): the survey's own answer sheet, not read off the rows.
WORKCLASS = (
    "Private",
    "Self-emp-not-inc",
    "Self-emp-inc",
    "Federal-gov",
    "Local-gov",
    "State-gov",
    "Without-pay",
    "Never-worked",
    "?",
)


def adult(*columns: str) -> dict[str, NDArray[Any]]:
    """Columns of the Adult census extract (48 842 people, 1994), by name."""
    return _bundled("adult.parquet", columns)


def abalone(*columns: str) -> dict[str, NDArray[Any]]:
    """Columns of the Abalone measurements (4177 shells), by name."""
    return _bundled("abalone.parquet", columns)


def _bundled(name: str, columns: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    from pyarrow import parquet  # noqa: PLC0415 - heavy, and only for bundled data

    with as_file(files(__package__) / name) as path:
        table = parquet.read_table(path, columns=list(columns))
    return {name: table[name].to_numpy() for name in columns}
