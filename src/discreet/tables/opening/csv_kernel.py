# mypy: disable-error-code="untyped-decorator,no-any-return"
"""Bytes of a CSV file → where its records and fields are; the grammar stands in docs/tables.md.

Plain loops: what is quoted and what is not decides how many records a file has, and must not be guessed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.compiled import kernel

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]


LF, CR, QUOTE = 10, 13, 34
LONGEST = 2**24  # bytes of a field; a longer one is missing, and a quote that closes later does not close
LITERAL, QUOTED, DOUBLED, MORE = 0, 1, 2, -1  # how a field is written; or that the bytes at hand do not say


@kernel
def line_ends(data: Bytes, at: int, size: int) -> int:
    """Return how many bytes end the line here: 1 for LF, 2 for CR LF, 0 if it goes on."""
    if data[at] == LF:
        return 1
    return 2 if data[at] == CR and at + 1 < size and data[at + 1] == LF else 0


@kernel
def closing(data: Bytes, at: int, size: int, delimiter: int, final: bool) -> tuple[int, int]:  # noqa: FBT001
    """Return the place of the quote that closes what opens at `at`, and how the field is written.

    It is followed by a delimiter, the end of the line or of the file. LITERAL: none closes it.
    """
    how, i = QUOTED, at + 1
    last = min(size, at + 2 + LONGEST)
    while i < last:
        if data[i] != QUOTE:
            i += 1
            continue
        if i + 1 == size or (i + 2 == size and data[i + 1] == CR):
            return (i, how if i + 1 == size else LITERAL) if final else (i, MORE)
        if data[i + 1] == delimiter or line_ends(data, i + 1, size) > 0:
            return i, how
        if data[i + 1] != QUOTE:
            return i, LITERAL
        how, i = DOUBLED, i + 2
    return i, LITERAL if final or last < size else MORE


@kernel
def split(  # noqa: PLR0917 - a state machine
    data: Bytes,
    at: int,
    delimiter: int,
    final: bool,  # noqa: FBT001
    slots: Places,
    starts: Places,
    ends: Places,
    how: NDArray[np.int8],
) -> tuple[int, int]:
    """Find whole records from `at` on, at most as many as there is room for; return how many, and where next.

    Field f of record r goes to row slots[f] of (starts, ends, how) if that is not negative; a field that the
    record lacks has start −1. Unless `final`, the bytes may break off within the last record, which is left.
    """
    size, room, count = data.size, starts.shape[1], 0
    while at < size and count < room:
        starts[:, count] = -1
        i, field, whole = at, 0, False
        while not whole:
            start, end, written = i, i, LITERAL
            if i < size and data[i] == QUOTE:
                i, written = closing(data, i, size, delimiter, final)
                if written == MORE:
                    return count, at
                end = i
                i = i + 1 if written != LITERAL else start
                start = start + 1 if written != LITERAL else start
            if written == LITERAL:
                while i < size and data[i] != delimiter and data[i] != LF:
                    i += 1
                end = i - 1 if i < size and data[i] == LF and i > start and data[i - 1] == CR else i
            if i >= size and not final:
                return count, at
            if field < slots.size and slots[field] >= 0:
                slot = slots[field]
                starts[slot, count], ends[slot, count], how[slot, count] = start, end, written
            field += 1
            whole = i >= size or data[i] != delimiter
            i += 1 if i >= size or data[i] != CR else 2
        at = min(i, size)
        count += 1
    return count, at


@kernel
def sized(  # noqa: PLR0917 - and all of them arrays
    data: Bytes, starts: Places, ends: Places, how: NDArray[np.int8], kept: NDArray[np.bool_], into: Places
) -> None:
    """Write which fields are text (not empty, not too long, UTF-8), and the offsets of their bytes."""
    total = 0
    into[0] = 0
    for r in range(starts.size):
        start, end = starts[r], ends[r]
        kept[r] = 0 <= start < end <= start + LONGEST and is_text(data, start, end)
        if kept[r]:
            total += end - start - (doubled(data, start, end) if how[r] == DOUBLED else 0)
        into[r + 1] = total


@kernel
def doubled(data: Bytes, start: int, end: int) -> int:
    """Half of the quotes within a field that doubles them."""
    count = 0
    for i in range(start, end):
        count += data[i] == QUOTE
    return count // 2


@kernel
def copied(data: Bytes, starts: Places, how: NDArray[np.int8], into: Places, out: Bytes) -> None:
    """Write the bytes of the kept fields one after the other, doubled quotes as one."""
    for r in range(starts.size):
        at, end, i = into[r], into[r + 1], starts[r]
        if how[r] != DOUBLED:
            out[at:end] = data[i : i + end - at]
            continue
        while at < end:
            out[at] = data[i]
            i += 2 if data[i] == QUOTE else 1
            at += 1


@kernel
def is_text(data: Bytes, start: int, end: int) -> bool:
    """Whether these bytes are UTF-8: shortest forms, no surrogates, up to U+10FFFF."""
    high = False
    for i in range(start, end):
        high |= data[i] >= 0x80
    i = start if high else end
    while i < end:
        first = data[i]
        more = 0 if first < 0x80 else 1 if first < 0xE0 else 2 if first < 0xF0 else 3
        if 0x80 <= first < 0xC2 or first > 0xF4 or i + more >= end:
            return False
        for j in range(i + 1, i + 1 + more):
            if data[j] & 0xC0 != 0x80:
                return False
        if more == 2 and ((first == 0xE0 and data[i + 1] < 0xA0) or (first == 0xED and data[i + 1] > 0x9F)):
            return False
        if more == 3 and ((first == 0xF0 and data[i + 1] < 0x90) or (first == 0xF4 and data[i + 1] > 0x8F)):
            return False
        i += 1 + more
    return True


def columns(data: Bytes, starts: Places, ends: Places, how: NDArray[np.int8]) -> list[Any]:
    """Return the fields of some records as Arrow texts, one array for each row of `starts`."""
    import pyarrow as pa  # noqa: PLC0415 - heavy

    arrays = []
    for start, end, written in zip(starts, ends, how, strict=True):
        kept, into = np.empty(start.size, np.bool_), np.empty(start.size + 1, np.int64)
        sized(data, start, end, written, kept, into)
        out = np.empty(into[-1], np.uint8)
        copied(data, start, written, into, out)
        mask = np.packbits(kept, bitorder="little")
        buffers = [pa.py_buffer(mask), pa.py_buffer(into), pa.py_buffer(out)]
        arrays.append(pa.Array.from_buffers(pa.large_string(), start.size, buffers))
    return arrays
