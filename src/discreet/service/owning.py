"""What an owner does, from the command line and over HTTP alike."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from discreet.service.state.registered import Registered, register
from discreet.service.state.store import StateStore


def described(said: Mapping[str, Any]) -> Registered:
    """Build a table from what was said of it; what is left out has its default."""
    known = {f.name for f in fields(Registered)} - {"revision"}
    given: dict[str, Any] = {name: value for name, value in said.items() if name in known}
    for name in ("models", "requires"):
        if name in given:
            given[name] = tuple(given[name])
    return Registered(**given)


def keep_table(state: StateStore, table: Registered, n: int | None) -> Registered:
    """Register a table with its public number of records."""
    return register(state, replace(table, n=table.n if n is None else n))


def as_csv(found: Sequence[Mapping[str, Any]], names: Sequence[str], cell: Callable[[str], str]) -> str:
    """Write rows so that no spreadsheet runs a cell."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(names)
    for row in found:
        table.writerow([cell(_text(row.get(name))) for name in names])
    return out.getvalue()


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return " ".join(str(each) for each in value)
    return "" if value is None else str(value)
