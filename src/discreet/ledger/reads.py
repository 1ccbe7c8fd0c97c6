"""What a ledger holds, read within one transaction, in whichever format it is."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from sqlalchemy import Connection, Row, bindparam, select

from discreet.ledger.amounts import FULL, Remaining, Tariff
from discreet.ledger.proof import BEFORE_RULES, State
from discreet.ledger.schema import (
    BEFORE_TERMS,
    ENTRIES,
    LEDGER,
    OLDER,
    RELEASES,
    REQUIRED,
    SCOPES,
)
from discreet.ledger.scope import Scope, closed_words
from discreet.release.receipt import (
    Entry,
    Head,
    LedgerError,
    Receipt,
    as_written,
    exact,
    unsealed,
)

PAGE = 1000

ONLY_ROW = select(LEDGER).where(LEDGER.c.one == 1)
_FIND = select(ENTRIES).where(ENTRIES.c.kind == bindparam("a_kind"), ENTRIES.c.id == bindparam("an_id"))
_KEPT = select(RELEASES.c.name, RELEASES.c.body).where(RELEASES.c.id == bindparam("an_id"))


_REQUIRED = select(REQUIRED).where(REQUIRED.c.data.in_(bindparam("named", expanding=True)))


def found(connection: Connection, kind: str, name: str) -> Entry | None:
    row = connection.execute(_FIND, {"a_kind": kind, "an_id": name}).one_or_none()
    return None if row is None else Entry(**row._mapping)  # noqa: SLF001 - the documented way


def receipt_of(connection: Connection, name: str) -> Receipt | None:
    """Read the receipt of a charge."""
    entry = found(connection, "charge", name)
    computed = found(connection, "computed", name) is not None
    return None if entry is None else Receipt.of(entry, computed=computed)


def stored_releases(connection: Connection, name: str) -> dict[str, bytes]:
    """Read the releases that a charge paid for, and prove that they are those that were drawn."""
    entry = found(connection, "computed", name)
    if entry is None or not entry.content.get("releases"):
        return {}
    stored = {row.name: bytes(row.body) for row in connection.execute(_KEPT, {"an_id": name})}
    return unsealed(entry, stored)


def all_kept(connection: Connection) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Stream the releases of every charge that has some, a charge at a time."""
    if version_of(connection) == 1:
        return
    for (name,) in connection.execute(select(RELEASES.c.id).distinct()).all():
        found_here = connection.execute(_KEPT, {"an_id": name})
        yield name, {row.name: bytes(row.body) for row in found_here}


def rows(connection: Connection, after: int = 0) -> Iterator[Entry]:
    """Stream the entries in order, a page at a time: a ledger need not fit in memory to be checked."""
    last: int | None = after
    while last is not None:
        query = select(ENTRIES).where(ENTRIES.c.position > last).order_by(ENTRIES.c.position).limit(PAGE)
        page = [Entry(**row._mapping) for row in connection.execute(query)]  # noqa: SLF001
        yield from page
        last = page[-1].position if page else None


def scope_names(connection: Connection) -> tuple[str, ...]:
    return tuple(connection.execute(select(SCOPES.c.name).order_by(SCOPES.c.name)).scalars())


@final
@dataclass(frozen=True)
class ScopeRow:
    """A scope as the database holds it, in whichever format."""

    name: str
    opened: str  # the budget that it was opened with
    terms: dict[str, Any]
    lanes: list[Fraction]
    full: bool
    guarded: bool

    @property
    def scope(self) -> Scope:
        return Scope.of(self.name, self.opened, self.terms)


def version_of(connection: Connection) -> int:
    return int(connection.execute(select(LEDGER.c.version)).scalar_one())


def scope_rows(connection: Connection, name: str | None = None) -> list[ScopeRow]:
    """Read all scopes or one, also from a ledger that no write has brought to this format yet."""
    old = version_of(connection) in BEFORE_TERMS
    columns = [c for c in SCOPES.columns if not (old and c.name == "terms")]
    query = select(*columns).order_by(SCOPES.c.name)
    found = connection.execute(query if name is None else query.where(SCOPES.c.name == name)).all()
    with as_written("a scope"):
        return [_older_row(row) if old else _scope_row(row) for row in found]


def _scope_row(row: Row[Any]) -> ScopeRow:
    terms, lanes = dict(json.loads(row.terms)), exact(json.loads(row.others))
    if len(lanes) != _tariff(row, terms).lanes:
        raise ValueError("a sum is missing")
    guarded = row.spent == math.ceil(lanes[_tariff(row, terms).guarded])
    return ScopeRow(row.name, row.budget, terms, lanes, row.capacity == FULL, guarded)


def _older_row(row: Row[Any]) -> ScopeRow:
    """Before there were rules the sum that the database guards stood apart from the others."""
    guarded, lanes = _tariff(row, BEFORE_RULES).guarded, exact(json.loads(row.others))
    lanes.insert(guarded, Fraction(row.spent))
    return ScopeRow(row.name, row.budget, dict(BEFORE_RULES), lanes, row.capacity == FULL, guarded=True)


def _tariff(row: Row[Any], terms: Mapping[str, Any]) -> Tariff:
    return Scope.of(row.name, row.budget, terms).tariff


def known_scope(connection: Connection, name: str) -> Scope:
    return scope_row(connection, name).scope


def scope_row(connection: Connection, name: str) -> ScopeRow:
    found = scope_rows(connection, name)
    if not found:
        known = ", ".join(map(repr, scope_names(connection))) or "none"
        raise LedgerError(f"there is no scope {name!r}; there are: {known}; add_scope opens one")
    return found[0]


def left_in(connection: Connection, name: str) -> Remaining:
    """Read what is left of a scope."""
    return remaining_of(scope_row(connection, name))


def remaining_of(row: ScopeRow) -> Remaining:
    scope = row.scope
    state = scope.tariff.spending(row.lanes) if scope.rule else scope.tariff.filter.start()
    closed = closed_words(row.terms) if "closed" in row.terms else ""
    return Remaining(row.name, state, scope.rule, closed)


def scope_states(connection: Connection) -> dict[str, State]:
    """Read every scope's budget, terms and sums, for proofs and exports."""
    return {
        row.name: State(
            row.opened, row.lanes, row.terms, row.full, row.guarded, row.scope.tariff.holds(row.lanes)
        )
        for row in scope_rows(connection)
    }


def head_of(connection: Connection) -> Head:
    row = connection.execute(ONLY_ROW).one()
    return Head(row.entries, row.head)


def required_by(connection: Connection, data: Sequence[str] | None = None) -> dict[str, list[str]]:
    """Read which scopes data sets require: of these, or of all that ever did."""
    if data is None:
        if version_of(connection) in OLDER:
            return {}
        found = connection.execute(select(REQUIRED).order_by(REQUIRED.c.data))
    else:
        found = connection.execute(_REQUIRED, {"named": list(data)})
    with as_written("a required scope"):
        return {row.data: [str(name) for name in json.loads(row.scopes)] for row in found}
