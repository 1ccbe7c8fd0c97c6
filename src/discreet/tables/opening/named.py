"""What a data set is called in public, where it lies, and a fingerprint: nothing of its rows."""

from __future__ import annotations

import hashlib
from pathlib import Path

from discreet.shown import address, visible

LONGEST = 200


def name_of(source: object, table: str | None) -> str:
    """Return the name of the file or table; nothing of a frame, which has none."""
    if not isinstance(source, str | Path):
        return ""
    plain = str(source).partition("?")[0].rstrip("/")
    name = plain.rpartition("/")[2] if "://" in plain else Path(plain).name
    return visible(address(table or name))[:LONGEST]


def fingerprint(source: object, table: str | None, schema: str) -> str:
    """SHA-256 of where the rows live, without passwords, and of the declared schema."""
    return hashlib.sha256(f"{_place(source)}\n{table or ''}\n{schema}".encode()).hexdigest()


def place_of(source: object, table: str | None) -> str:
    """SHA-256 of where the rows live, whatever is declared of them; a frame has no place."""
    if not isinstance(source, str | Path):
        return ""
    return hashlib.sha256(f"{_place(source)}\n{table or ''}".encode()).hexdigest()


def _place(source: object) -> str:
    if not isinstance(source, str | Path):
        return type(source).__name__
    return address(source) if "://" in str(source) else str(Path(source).expanduser().resolve())
