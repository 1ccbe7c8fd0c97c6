"""CSV files, read by a grammar of our own, so that every record counts once whatever its bytes.

An engine's reader guesses, and drops what it cannot read: one person's bytes then decide about other records.
"""

from __future__ import annotations

import glob
import gzip
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, final

import numpy as np
from numpy.typing import NDArray

from discreet.shown import address as shown
from discreet.tables.table import TableError

if TYPE_CHECKING:
    import pyarrow as pa


BLOCK = 2**20  # bytes that are read at once; a longer record takes more
ROOM = 2**16  # records of one batch
MARK = b"\xef\xbb\xbf"  # some writers begin UTF-8 with it


@final
@dataclass(frozen=True)
class CsvFile:
    """Some columns of a CSV file (or of several with one header), as text; an engine scans it as Arrow."""

    paths: tuple[str, ...]
    header: tuple[str, ...]
    columns: tuple[str, ...]  # those that are read

    @classmethod
    def open(cls, address: str, wanted: Iterable[str]) -> CsvFile:
        """Read the header. Of what is `wanted` it may lack some; all its columns where none is wanted."""
        paths = (address,) if Path(address).exists() else tuple(sorted(glob.glob(address, recursive=True)))  # noqa: PTH207 - absolute patterns too
        headers = {_header(path) for path in paths}
        if len(headers) != 1:
            raise TableError(f"{shown(address)!r} is not a file, or names files whose first lines differ")
        (header,) = headers
        names = [name for name in header if name]
        if not names or len(set(names)) != len(names):
            raise TableError("the first line of a CSV file must name its columns, each once")
        chosen = [name for name in dict.fromkeys(wanted) if name in names]
        return cls(paths, header, tuple(chosen or names))

    @property
    def schema(self) -> pa.Schema:
        import pyarrow as pa  # noqa: PLC0415 - heavy

        return pa.schema({name: pa.large_string() for name in self.columns})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Begin anew: one scan of the engine is one reading of the file."""
        import pyarrow as pa  # noqa: PLC0415

        reader = pa.RecordBatchReader.from_batches(self.schema, self.batches())
        return reader.__arrow_c_stream__(requested_schema)

    def batches(self, block: int = BLOCK) -> Iterator[Any]:
        """Yield all records but the header as Arrow batches of texts, NULL for what is missing."""
        import pyarrow as pa  # noqa: PLC0415

        slots = np.array([self.columns.index(x) if x in self.columns else -1 for x in self.header])
        for path in self.paths:
            for arrays in _records(path, slots, len(self.columns), block):
                yield pa.record_batch(arrays, schema=self.schema)


def _header(path: str) -> tuple[str, ...]:
    """Return the names that the first record gives; "" for one that is empty or no UTF-8."""
    from discreet.tables.opening.csv_kernel import columns, split  # noqa: PLC0415 - fails before the charge, if at all

    delimiter = _delimiter(path)
    line, at, final = b"", 0, False
    with _opened(path) as file:
        while not at and not final:
            chunk = file.read(max(BLOCK, len(line)))
            line, final = line + chunk, not chunk
            _, at = split(
                np.frombuffer(line, np.uint8), 0, ord(delimiter), final, np.array([-1]), *_places(1, 1)
            )
    data, slots = np.frombuffer(line[:at], np.uint8), np.arange(line[:at].count(delimiter) + 1)
    places = _places(slots.size, 1)
    split(data, 0, ord(delimiter), True, slots, *places)  # noqa: FBT003 - the record is whole
    return tuple(column[0].as_py() or "" for column in columns(data, *places))


def _records(path: str, slots: NDArray[np.int64], width: int, block: int) -> Iterator[list[Any]]:
    """Yield the fields that have a slot, as lists of Arrow arrays: of all records but the first."""
    from discreet.tables.opening.csv_kernel import columns, split  # noqa: PLC0415 - numba is heavy

    places = _places(width, ROOM)
    left, at, final, skip, delimiter = b"", 0, False, 1, ord(_delimiter(path))
    with _opened(path) as file:
        while not final:
            chunk = file.read(block)
            left, at, final = left[at:] + chunk, 0, not chunk
            data, count = np.frombuffer(left, np.uint8), ROOM
            while count == ROOM:
                count, at = split(data, at, delimiter, final, slots, *places)
                if count > skip:
                    yield columns(data, *(each[:, skip:count] for each in places))
                skip = 0 if count else skip
            block = max(block, len(left) - at)  # so that a long record is not begun too often


def _places(width: int, room: int) -> tuple[Any, Any, Any]:
    """Room for where fields start and end, and for how they are written."""
    return (
        np.empty((width, room), np.int64),
        np.empty((width, room), np.int64),
        np.empty((width, room), np.int8),
    )


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    with gzip.open(path) if path.lower().endswith(".gz") else Path(path).open("rb") as file:
        if file.read(len(MARK)) != MARK:
            file.seek(0)
        yield file  # type: ignore[misc]


def _delimiter(path: str) -> bytes:
    return b"\t" if path.lower().removesuffix(".gz").endswith(".tsv") else b","
