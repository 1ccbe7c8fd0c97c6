"""Transactions on the ledger: one lock, a fixed number of statements by primary key, one commit."""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, final

from sqlalchemy import Connection, Engine, insert, inspect, select, text
from sqlalchemy.exc import SQLAlchemyError

from discreet.ledger.proof import BEFORE_RULES
from discreet.ledger.reads import ONLY_ROW, scope_rows
from discreet.ledger.schema import (
    BEFORE_TERMS,
    LEDGER,
    OLDER,
    VERSION,
    connected,
    located,
    metadata,
    refuse_inherited,
    upgrade,
    write_ahead,
)
from discreet.ledger.transaction import Transaction
from discreet.place import other_names
from discreet.release.receipt import (
    GENESIS,
    Head,
    LedgerError,
    LedgerUnavailableError,
    as_written,
    canonical,
    written,
)
from discreet.shown import address

if TYPE_CHECKING:
    from sqlalchemy.engine import URL


_LOCK = ONLY_ROW.with_for_update()  # on SQLite the transaction began by taking the lock


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
                old = scope_rows(connection) if row.version in BEFORE_TERMS else []
                sums = {state.name: canonical(written(state.lanes)) for state in old}
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
