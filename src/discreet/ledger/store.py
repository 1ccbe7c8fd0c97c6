"""Transactions on the ledger: one lock, a fixed number of statements by primary key, one commit."""

from __future__ import annotations

import json
import math
import sqlite3
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from sqlalchemy import Connection, Engine, Row, bindparam, insert, inspect, select, text, update
from sqlalchemy.exc import SQLAlchemyError

from discreet.ledger.amounts import FULL, Remaining, Tariff, rule_for
from discreet.ledger.schema import (
    ENTRIES,
    LEDGER,
    OLDER,
    RELEASES,
    SCOPES,
    VERSION,
    connected,
    located,
    metadata,
    refuse_inherited,
    upgrade,
    write_ahead,
)
from discreet.place import other_names
from discreet.privacy.accounting.filters import SUMS, Spending
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.json import from_json
from discreet.release.receipt import (
    BEFORE_RULES,
    GENESIS,
    Entry,
    Head,
    LedgerError,
    LedgerUnavailableError,
    Receipt,
    State,
    added,
    as_written,
    canonical,
    entry_after,
    exact,
    sealed,
    unsealed,
    written,
)
from discreet.shown import address

if TYPE_CHECKING:
    from sqlalchemy.engine import URL


PAGE = 1000

# Built once: a statement built anew costs more than running it, and the lock is held meanwhile.
_ONLY_ROW = select(LEDGER).where(LEDGER.c.one == 1)
_LOCK = _ONLY_ROW.with_for_update()  # on SQLite the transaction began by taking the lock
_MOVE_HEAD = update(LEDGER).where(LEDGER.c.one == 1).values(entries=bindparam("to"), head=bindparam("last"))
_FIND = select(ENTRIES).where(ENTRIES.c.kind == bindparam("a_kind"), ENTRIES.c.id == bindparam("an_id"))
_SCOPE = select(SCOPES).where(SCOPES.c.name == bindparam("scope"))
_HOLD = (
    update(SCOPES)
    .where(SCOPES.c.name == bindparam("scope"))
    .values(spent=bindparam("guarded"), others=bindparam("sums"), terms=bindparam("said"))
)
_KEPT = select(RELEASES.c.name, RELEASES.c.body).where(RELEASES.c.id == bindparam("an_id"))


@final
@dataclass(frozen=True)
class Scope:
    """A budget under a name, by which rule it is kept, and what it costs to spend of it."""

    name: str
    budget: Guarantee
    rule: str  # "" until the first charge settles it
    held: str  # the budget as canonical JSON

    @classmethod
    def of(cls, name: str, held: str, terms: Mapping[str, Any]) -> Scope:
        return cls(name, from_json(json.loads(held)), str(terms["rule"]), held)

    @cached_property
    def tariff(self) -> Tariff:
        return Tariff.of(self.budget, self.rule or SUMS)

    def settled(self, guarantee: Guarantee, target: Guarantee | None) -> Scope:
        """Return the scope as its first charge settles it."""
        if self.rule:
            return self
        return replace(self, rule=rule_for(self.budget, guarantee, target))


class StaleScopeError(Exception):
    """Another process settled or changed a scope since it was looked up: look it up again."""


class DoesNotFitError(Exception):
    """Leaves a transaction, which is undone, with the state that did not have room."""

    def __init__(self, scope: str, state: Spending) -> None:
        super().__init__(scope)
        self.scope, self.state = scope, state


@final
@dataclass
class Transaction:
    """The ledger under its lock, within one transaction."""

    connection: Connection
    head: Head

    def find(self, kind: str, name: str) -> Entry | None:
        return found(self.connection, kind, name)

    def open_scope(self, scope: Scope) -> None:
        lanes = [Fraction(0)] * scope.tariff.lanes
        fresh = {"name": scope.name, "budget": scope.held, "capacity": FULL, "spent": 0}
        said = {"others": canonical(written(lanes)), "terms": canonical({"rule": scope.rule})}
        self.connection.execute(insert(SCOPES).values(**fresh, **said))
        budget = json.loads(scope.held)
        self.append("scope", scope.name, scopes=[scope.name], budget=budget, rule=scope.rule)

    def spend(self, scope: Scope, prices: Sequence[Sequence[Fraction]], sign: int = 1) -> int:
        """Add the first of these prices that fits, or raise, which undoes the transaction; return which."""
        row = self.connection.execute(_SCOPE, {"scope": scope.name}).one_or_none()
        if row is None:
            raise LedgerError(
                f"scope {scope.name!r} was taken out since it was opened; open the ledger again"
            )
        with as_written(f"scope {scope.name!r}"):
            terms, sums = dict(json.loads(row.terms)), exact(json.loads(row.others))
            settled = str(terms["rule"])
        if row.budget != scope.held or settled not in {"", scope.rule}:
            raise StaleScopeError(scope.name)
        before = sums if settled else [Fraction(0)] * scope.tariff.lanes
        for place, price in enumerate(prices):
            after = added(before, price, sign)
            if scope.tariff.holds(after):
                self._hold(scope, after, {**terms, "rule": scope.rule})
                return place
        raise DoesNotFitError(scope.name, scope.tariff.spending(before))

    def _hold(self, scope: Scope, lanes: Sequence[Fraction], terms: Mapping[str, Any]) -> None:
        """Write the sums; the database itself refuses one above the capacity."""
        guarded, said = math.ceil(lanes[scope.tariff.guarded]), canonical(terms)
        values = {"scope": scope.name, "guarded": guarded, "sums": canonical(written(lanes)), "said": said}
        self.connection.execute(_HOLD, values)

    def computed(self, charge: Entry, bodies: Mapping[str, bytes], **more: object) -> None:
        """Keep releases and say that they exist. When that was tells how long the work took: not written."""
        kept = [{"id": charge.id, "name": name, "body": body} for name, body in bodies.items()]
        if kept:
            self.connection.execute(insert(RELEASES), kept)
        said = {"at": charge.content["at"], "scopes": charge.content["scopes"], "releases": sealed(bodies)}
        self.append("computed", charge.id, **said, **more)

    def append(self, kind: str, name: str, **content: object) -> Entry:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        position = self.head.entries + 1
        entry = entry_after(self.head.hash, position, {"kind": kind, "id": name, "at": now, **content})
        self.head = Head(position, entry.hash)
        self.connection.execute(insert(ENTRIES), asdict(entry))
        self.connection.execute(_MOVE_HEAD, {"to": position, "last": entry.hash})
        return entry


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


@final
class Store:
    """A file or a server that holds one ledger."""

    def __init__(self, where: str | Path) -> None:
        self.url: URL = located(where)
        self._file = Path(self.url.database or "") if self.url.get_backend_name() == "sqlite" else None
        self.name = address(self._file or where)
        self._inode = 0
        self._engine: Engine | None = None

    @property
    def exists(self) -> bool:
        return self._file is None or self._file.exists()

    def engine(self) -> Engine:
        """Connect when first asked."""
        refuse_inherited(self.url)
        if self._engine is None:
            self._engine = connected(self.url)
            weakref.finalize(self, self._engine.dispose)
        return self._engine

    def close(self) -> None:
        if self._engine is not None:
            self._engine.dispose()

    def create(self) -> None:
        """Lay out the tables unless they are there; processes may race to do it."""
        self._refuse_shared()
        with self._guarded("create the ledger"):
            if self._file is not None:
                write_ahead(self.engine())
            with self.engine().begin() as connection:
                if self._file is None:
                    connection.execute(text("SELECT pg_advisory_xact_lock(7450192)"))
                if not inspect(connection).has_table(LEDGER.name):
                    metadata.create_all(connection)
                    connection.execute(insert(LEDGER).values(one=1, version=VERSION, entries=0, head=GENESIS))
        self.check()

    def check(self) -> None:
        """Refuse what is no ledger, or one of another version."""
        self._refuse_shared()
        with self.reading() as connection:
            if not inspect(connection).has_table(LEDGER.name):
                raise LedgerError(f"{self.name} holds no ledger; give a budget to start one")
            version = connection.execute(select(LEDGER.c.version)).scalar_one()
        if version not in {*OLDER, VERSION}:
            raise LedgerError(
                f"{self.name} is a ledger of format {version} and this discreet reads format {VERSION}; "
                "open it with the version of discreet that wrote it, or export it there"
            )
        self._inode = self._file.stat().st_ino if self._file is not None else 0

    @contextmanager
    def writing(self, doing: str) -> Iterator[Transaction]:
        """Hold the lock; whatever is raised inside undoes everything."""
        self._check_file()
        with self._guarded(doing), self.engine().begin() as connection:
            row = connection.execute(_LOCK).one()
            if row.version in OLDER:
                sums = {state.name: canonical(written(state.lanes)) for state in scope_rows(connection)}
                upgrade(connection, row.version, sums, canonical(BEFORE_RULES))
            elif row.version != VERSION:
                raise LedgerError(f"{self.name} became a ledger of format {row.version}; open it again")
            with as_written(self.name):
                head = Head(int(row.entries), str(row.head))
            yield Transaction(connection, head)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Look at one moment of the ledger; of a file that is gone nothing is made anew."""
        if not self.exists:
            raise LedgerUnavailableError(f"{self.name} is not there: it was moved or removed; put it back")
        engine = self.engine().execution_options(reading=True)
        with as_written(self.name), self._guarded("read the ledger"), engine.begin() as connection:
            if self._file is None:
                connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
            yield connection

    def _check_file(self) -> None:
        """Refuse to charge a file that left its path: nobody would ever see the charge."""
        if self._file is not None and (not self.exists or self._file.stat().st_ino != self._inode):
            raise LedgerUnavailableError(
                f"{self.name} was moved or replaced since it was opened; open it again"
            )
        self._refuse_shared()

    def _refuse_shared(self) -> None:
        shared = other_names(self._file) if self._file is not None and self._file.exists() else None
        if shared:
            raise LedgerError(f"{shared}, or use PostgreSQL: a budget under two names is spent twice")

    @contextmanager
    def _guarded(self, doing: str) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error) as error:
            raise LedgerUnavailableError(
                f"could not {doing} in {self.name}: {_reason(error)}; it is not acknowledged, so nothing may "
                "be released; asking again under the same charge id is safe"
            ) from error


def _reason(error: Exception) -> str:
    """Give the driver's own words, first line only."""
    lines = str(getattr(error, "orig", None) or error).splitlines()
    return lines[0] if lines else type(error).__name__


def rows(connection: Connection) -> Iterator[Entry]:
    """Stream the entries in order, a page at a time: a ledger need not fit in memory to be checked."""
    last: int | None = 0
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
    held: str
    terms: dict[str, Any]
    lanes: list[Fraction]
    full: bool
    guarded: bool

    @property
    def scope(self) -> Scope:
        return Scope.of(self.name, self.held, self.terms)


def version_of(connection: Connection) -> int:
    return int(connection.execute(select(LEDGER.c.version)).scalar_one())


def scope_rows(connection: Connection, name: str | None = None) -> list[ScopeRow]:
    """Read all scopes or one, also from a ledger that no write has brought to this format yet."""
    old = version_of(connection) in OLDER
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
    return _only(connection, name).scope


def _only(connection: Connection, name: str) -> ScopeRow:
    found = scope_rows(connection, name)
    if not found:
        known = ", ".join(map(repr, scope_names(connection))) or "none"
        raise LedgerError(f"there is no scope {name!r}; there are: {known}; add_scope opens one")
    return found[0]


def left_in(connection: Connection, name: str) -> Remaining:
    """Read what is left of a scope."""
    row = _only(connection, name)
    scope = row.scope
    state = scope.tariff.spending(row.lanes) if scope.rule else scope.tariff.filter.start()
    return Remaining(name, state, scope.rule)


def scope_states(connection: Connection) -> dict[str, State]:
    """Read every scope's budget, terms and sums, for proofs and exports."""
    return {
        row.name: State(
            row.held, row.lanes, row.terms, row.full, row.guarded, row.scope.tariff.holds(row.lanes)
        )
        for row in scope_rows(connection)
    }


def head_of(connection: Connection) -> Head:
    row = connection.execute(_ONLY_ROW).one()
    return Head(row.entries, row.head)
