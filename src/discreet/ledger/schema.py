"""Where the ledger lives: its tables, the rules that the database itself keeps, and durable connections."""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import (
    DDL,
    BigInteger,
    CheckConstraint,
    Column,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    create_engine,
    event,
    update,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import QueuePool

from discreet.release.receipt import LedgerError, LedgerUnavailableError
from discreet.shown import address

if TYPE_CHECKING:
    from sqlalchemy import Connection

VERSION = 4  # of this layout; a file of another one is refused
# Read as they are, and upgraded in place by the first write: 1 kept no releases, 2 had one rule for (ε, δ),
# in 3 no data set required its scopes
OLDER = (1, 2, 3)
BEFORE_TERMS = (1, 2)
PATIENCE = 180  # seconds that a writer waits for its turn: SQLite is not fair to a crowd

metadata = MetaData()

LEDGER = Table(
    "discreet_ledger",
    metadata,
    Column("one", Integer, CheckConstraint("one = 1"), primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
    Column("entries", BigInteger, CheckConstraint("entries >= 0"), nullable=False),
    Column("head", String(64), nullable=False),
)
SCOPES = Table(
    "discreet_scopes",
    metadata,
    Column("name", String(200), primary_key=True),
    Column("budget", Text, nullable=False),
    Column("capacity", BigInteger, nullable=False),
    Column("spent", BigInteger, nullable=False),
    Column("others", Text, nullable=False),  # every meter's sum, exactly; `spent` is one of them, rounded up
    Column("terms", Text, nullable=False),  # its rule; its budget, if lowered or raised; if it is closed
    CheckConstraint("spent >= 0 AND spent <= capacity", name="discreet_within_budget"),
)
ENTRIES = Table(
    "discreet_entries",
    metadata,
    Column("position", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("kind", String(20), nullable=False),
    Column("id", String(200), nullable=False),
    Column("body", Text, nullable=False),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    UniqueConstraint("kind", "id", name="discreet_once"),
)
RELEASES = Table(
    "discreet_releases",
    metadata,
    Column("id", String(200), primary_key=True),  # of the charge
    Column("name", String(200), primary_key=True),  # which of its releases; "" where there is one
    Column("body", LargeBinary, nullable=False),
)
REQUIRED = Table(
    "discreet_required",
    metadata,
    Column("data", String(200), primary_key=True),  # a data set's label, fingerprint or place; * for all
    Column("scopes", Text, nullable=False),  # which every charge that names it must charge too
)


_REFUSE = (
    "CREATE OR REPLACE FUNCTION discreet_refuse() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$"
)


def _rule(dialect: str, table: Table, action: str, condition: str) -> str:
    when = (
        f"CREATE TRIGGER {table.name}_{action.lower()} BEFORE {action} ON {table.name} "
        f"FOR EACH ROW WHEN ({condition}) "
    )
    if dialect == "sqlite":
        return when + "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
    return when + "EXECUTE FUNCTION discreet_refuse()"


def _refuse(action: str, table: Table, condition: str = "true") -> None:
    """Have the database itself refuse an action on a table."""
    for dialect, statement in (
        ("sqlite", _rule("sqlite", table, action, condition)),
        ("postgresql", _REFUSE),
        ("postgresql", _rule("postgresql", table, action, condition)),
    ):
        rule = DDL(statement).execute_if(dialect=dialect)  # type: ignore[no-untyped-call]
        event.listen(table, "after_create", rule)


_FIXED = "NEW.name <> OLD.name OR NEW.budget <> OLD.budget OR NEW.capacity <> OLD.capacity"

_refuse("UPDATE", ENTRIES)
_refuse("DELETE", ENTRIES)
_refuse("DELETE", SCOPES)
_refuse("UPDATE", RELEASES)
_refuse("DELETE", RELEASES)
_refuse("UPDATE", SCOPES, _FIXED)
_refuse("DELETE", REQUIRED)
_refuse("UPDATE", REQUIRED, "NEW.data <> OLD.data")


def upgrade(connection: Connection, version: int, lanes: Mapping[str, str], terms: str) -> None:
    """Bring an older layout to this one, within the transaction that found it; entries stay as they are.

    `lanes` holds each scope's sums as they are written from now on, `terms` what those scopes were kept by.
    """
    metadata.create_all(connection, tables=[RELEASES, REQUIRED])
    if version in BEFORE_TERMS:
        _given_terms(connection, lanes, terms)
    connection.execute(update(LEDGER).values(version=VERSION))


def _given_terms(connection: Connection, lanes: Mapping[str, str], terms: str) -> None:
    """Let scopes have terms, and entries be of further kinds."""
    connection.exec_driver_sql(f"ALTER TABLE {SCOPES.name} ADD COLUMN terms TEXT NOT NULL DEFAULT ''")
    for name, sums in lanes.items():
        connection.execute(update(SCOPES).where(SCOPES.c.name == name).values(others=sums, terms=terms))
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"ALTER TABLE {ENTRIES.name} DROP CONSTRAINT discreet_known_kind")
    else:
        _rebuilt(connection)


def _rebuilt(connection: Connection) -> None:
    """Copy the entries of an SQLite file into a table that allows further kinds of them."""
    old = f"{ENTRIES.name}_of_before"
    for action in ("update", "delete"):
        connection.exec_driver_sql(f"DROP TRIGGER {ENTRIES.name}_{action}")
    connection.exec_driver_sql(f"ALTER TABLE {ENTRIES.name} RENAME TO {old}")
    metadata.create_all(connection, tables=[ENTRIES])
    names = ", ".join(column.name for column in ENTRIES.columns)
    connection.exec_driver_sql(f"INSERT INTO {ENTRIES.name} ({names}) SELECT {names} FROM {old}")  # noqa: S608
    connection.exec_driver_sql(f"DROP TABLE {old}")


def located(where: str | Path) -> URL:
    """Read a path or a URL; only engines whose locking is understood are accepted."""
    text = str(where)
    url = _url(text)
    if url is None or "@" in (url.host or ""):
        raise LedgerError(
            "this is not a path or a database URL; give e.g. budget.db, and write @ : / ? # % in a password "
            "as %40 %3A %2F %3F %23 %25"
        )
    backend = url.get_backend_name()
    if backend in {"postgres", "postgresql"}:
        return url.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise LedgerError(f"a ledger lives in an SQLite file or on PostgreSQL, got {backend!r}")
    if url.database in {None, "", ":memory:"}:
        raise LedgerError("a ledger must outlive the process; give a file, e.g. budget.db")
    if "uri" in url.query:
        raise LedgerError("the address of an SQLite ledger takes no uri=…: give the path, e.g. budget.db")
    return url.set(database=str(_resolved(Path(url.database or "").expanduser())))


def _resolved(path: Path) -> Path:
    try:
        file = path.resolve()
    except (OSError, RuntimeError):
        raise LedgerError(f"{address(path)} is a symbolic link that leads back to itself") from None
    if file.is_dir():
        raise LedgerError(f"{address(path)} is a folder, and a ledger is a file: name one, e.g. budget.db")
    return file


def _url(text: str) -> URL | None:
    """Read an address; None for what is none, whose words may quote a password."""
    if "://" not in text:  # and no file is named by a password
        return URL.create("sqlite", database=text) if address(text) == text else None
    try:
        return make_url(text)
    except (ArgumentError, ValueError):
        return None


def connected(url: URL) -> Engine:
    """Make an engine whose commits are on disk when they return, and whose writers take turns."""
    engine = _sqlite(url) if url.get_backend_name() == "sqlite" else _postgresql(url)
    _CLOSED_BEFORE_FORKS.add(engine)
    return engine


def _sqlite(url: URL) -> Engine:
    engine = create_engine(url, connect_args={"timeout": PATIENCE}, hide_parameters=True)
    event.listen(engine, "connect", _sqlite_durable)
    event.listen(engine, "begin", _sqlite_begin)
    return engine


def _postgresql(url: URL) -> Engine:
    asked = url.query.get("options", "")
    options = f"{asked} -c synchronous_commit=on -c lock_timeout={PATIENCE}s"
    try:
        return create_engine(
            url.difference_update_query(["options"]),
            isolation_level="READ COMMITTED",
            pool_pre_ping=True,
            hide_parameters=True,
            connect_args={"options": options, "connect_timeout": PATIENCE},
        )
    except ModuleNotFoundError as error:
        raise LedgerError(
            "PostgreSQL needs the driver psycopg: python -m pip install 'discreet[postgres]'"
        ) from error


def _sqlite_durable(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # the driver must not open transactions of its own
    connection.execute("PRAGMA synchronous = FULL")


def _sqlite_begin(connection: Connection) -> None:
    """Take the write lock before reading: read-then-write without it loses charges silently."""
    reading = connection.get_execution_options().get("reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def write_ahead(engine: Engine) -> None:
    """Let readers and the writer work at once; must be asked outside of a transaction."""
    connection = engine.raw_connection()
    try:
        connection.cursor().execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()


# SQLite counts its locks in each process. A child that inherits an open connection believes that it holds its
# parent's locks; the parent, last to close as it seems, then deletes the log that the child writes to, and
# durable charges are gone. So nothing idle is open while a process forks, and the child of one that was in
# a transaction may not touch that file at all. A socket to a server must not be shared either.
_CLOSED_BEFORE_FORKS: weakref.WeakSet[Engine] = weakref.WeakSet()
_inherited: set[str] = set()


def _before_fork() -> None:
    for engine in list(_CLOSED_BEFORE_FORKS):
        if isinstance(engine.pool, QueuePool) and engine.pool.checkedout():
            _inherited.add(str(engine.url.database))
        engine.dispose()


def refuse_inherited(url: URL) -> None:
    if url.get_backend_name() == "sqlite" and str(url.database) in _inherited:
        raise LedgerUnavailableError(
            f"this process was forked while a thread of its parent wrote to {url.database}; charge from the "
            "parent, or start processes with spawn"
        )


if hasattr(os, "register_at_fork"):  # there are no forks elsewhere
    os.register_at_fork(before=_before_fork, after_in_parent=_inherited.clear)
