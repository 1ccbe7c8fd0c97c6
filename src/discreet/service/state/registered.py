"""Which tables may be asked, as the owner registered them: where the rows live, and all that is public."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, final

from sqlalchemy import insert, select, update

from discreet.catalogue import names
from discreet.service.state.layout import TABLES
from discreet.service.state.people import Unknown, checked_name
from discreet.service.state.store import StateStore

KINDS = ("table", "analyst", "group")  # of budgets


@final
@dataclass(frozen=True)
class Registered:
    """One private table; `n` is the public number of records, or what to expect where that is private."""

    name: str
    address: str
    schema: Mapping[str, Any]
    n: int | None
    label: str = ""
    source_table: str | None = None  # where the address is a database
    unit: str | None = None
    rows_per_unit: int | None = None
    relation: str = "substitute"
    models: tuple[str, ...] = ()  # that may be asked; empty for all
    requires: tuple[str, ...] = ("table", "analyst")  # kinds of budgets that every charge must find
    revision: int = 1

    def __post_init__(self) -> None:
        checked_name("table", self.name)
        strange = [kind for kind in self.requires if kind not in KINDS]
        if strange or "table" not in self.requires:
            raise ValueError(
                f"required budgets are table and any of {', '.join(KINDS[1:])}; got {list(self.requires)}"
            )
        unknown = sorted(set(self.models) - set(names()))
        if unknown:
            raise ValueError(f"no model is called {', '.join(unknown)}; there are {', '.join(names())}")
        if self.relation not in {"substitute", "add_remove"}:
            raise ValueError(f"relation is substitute or add_remove, got {self.relation!r}")
        if self.relation == "substitute" and (self.rows_per_unit or 1) > 1:
            raise ValueError(
                f"units of up to {self.rows_per_unit} rows differ in their numbers of rows, so that "
                "their number is private: register the table with relation add_remove"
            )

    @property
    def public_n(self) -> int | None:
        """The number of records where it is public."""
        return self.n if self.relation == "substitute" else None

    @property
    def allowed(self) -> tuple[str, ...]:
        return self.models or tuple(names())


def register(state: StateStore, table: Registered) -> Registered:
    """Enter a table, or replace what is said of it: a new revision, read anew."""
    with state.writing() as connection:
        before = connection.execute(select(TABLES.c.revision).where(TABLES.c.name == table.name)).scalar()
        facts = {k: v for k, v in asdict(table).items() if k not in {"name", "revision"}}
        values = {"revision": (before or 0) + 1, "facts": json.dumps(facts)}
        if before is None:
            connection.execute(insert(TABLES).values(name=table.name, **values))
        else:
            connection.execute(update(TABLES).where(TABLES.c.name == table.name).values(**values))
    return registered(state, table.name)


def registered(state: StateStore, name: str) -> Registered:
    with state.reading() as connection:
        row = connection.execute(select(TABLES).where(TABLES.c.name == name)).one_or_none()
    if row is None:
        raise Unknown(f"there is no table {name!r}")
    return _read(row.name, row.revision, row.facts)


def all_tables(state: StateStore) -> list[Registered]:
    with state.reading() as connection:
        rows = connection.execute(select(TABLES).order_by(TABLES.c.name)).all()
    return [_read(row.name, row.revision, row.facts) for row in rows]


def _read(name: str, revision: int, facts: str) -> Registered:
    said = json.loads(facts)
    lists = {key: tuple(said[key]) for key in ("models", "requires")}
    return Registered(name=name, revision=revision, **{**said, **lists})
