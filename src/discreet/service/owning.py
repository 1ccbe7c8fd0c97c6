"""What an owner does, from the command line and over HTTP alike."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from discreet.service.budgets import BudgetName
from discreet.service.state.people import people
from discreet.service.state.registered import Registered, all_tables, register
from discreet.service.state.store import StateStore


def refuse_nobody(state: StateStore, budget: BudgetName) -> None:
    """Refuse a budget whose owner is not there: a name typed wrongly would hold nobody to anything."""
    there = {
        "analyst": {each.name for each in people(state)},
        "group": {group for each in people(state) for group in each.groups},
        "table": {each.name for each in all_tables(state)},
    }[budget.kind]
    if budget.owner not in there:
        ways = {
            "analyst": "enter them first: discreet service analyst",
            "group": "a group begins with its first member: discreet service analyst NAME --group",
            "table": "register it first: discreet service table",
        }
        known = f"there are {', '.join(sorted(there)[:20])}" if there else "there is none yet"
        raise ValueError(
            f"no {budget.kind} is called {budget.owner!r}; {known}; {ways[budget.kind]}, or Owner on the page"
        )


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
