"""The state database: one durable connection a call, brought to the newest layout by Alembic."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import final

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, insert, select, text
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from discreet.ledger.schema import connected, located, write_ahead
from discreet.service.state.layout import SECRETS
from discreet.shown import address

MIGRATIONS = Path(__file__).parent / "migrations"


class StateUnavailableError(RuntimeError):
    """The state database did not answer: nobody is known, so nothing is done."""


@final
class StateStore:
    """The database of people, tokens, tables and jobs; a file or a PostgreSQL server."""

    def __init__(self, where: str) -> None:
        self.url = located(where)
        self.name = address(where)
        self._file = Path(self.url.database or "") if self.url.get_backend_name() == "sqlite" else None
        self._engine: Engine | None = None

    def engine(self) -> Engine:
        if self._engine is None:
            self._engine = connected(self.url)
        return self._engine

    def close(self) -> None:
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None

    def upgrade(self) -> str:
        """Create the tables, or migrate them to the newest layout; return its name."""
        with self._guarded("migrate"):
            if self._file is not None:
                write_ahead(self.engine())
            with self.engine().begin() as connection:
                if self._file is None:  # two workers may start at once; on SQLite the transaction is the lock
                    connection.execute(text("SELECT pg_advisory_xact_lock(7450193)"))
                config = Config(attributes={"connection": connection})
                config.set_main_option("script_location", str(MIGRATIONS))
                command.upgrade(config, "head")
        return self.layout() or ""

    def layout(self) -> str | None:
        """Name the layout that the database has; None for an empty one."""
        with self.reading() as connection:
            return MigrationContext.configure(connection).get_current_revision()

    def check(self) -> None:
        """Refuse a database of another layout than this version's."""
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        newest = ScriptDirectory.from_config(config).get_current_head()
        if self._file is not None and not self._file.exists():
            raise StateUnavailableError(f"{self.name} is not there; start it: discreet service init")
        found = self.layout()
        if found != newest:
            raise StateUnavailableError(
                f"{self.name} has layout {found or 'none'} and this discreet needs {newest}: "
                "discreet service upgrade"
            )

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        with self._guarded("write to"), self.engine().begin() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with (
            self._guarded("read"),
            self.engine().execution_options(reading=True).connect() as connection,
        ):
            yield connection

    @contextmanager
    def _guarded(self, doing: str) -> Iterator[None]:
        try:
            yield
        except IntegrityError:
            raise
        except (SQLAlchemyError, sqlite3.Error) as error:
            raise StateUnavailableError(f"could not {doing} the state database {self.name}") from error

    def secret(self, name: str) -> bytes:
        """Return a secret of this service, drawn when first asked for; all workers get the same."""
        with self.reading() as connection:
            found = connection.execute(select(SECRETS.c.value).where(SECRETS.c.name == name)).scalar()
        if found is not None:
            return bytes.fromhex(found)
        try:
            with self.writing() as connection:
                connection.execute(insert(SECRETS).values(name=name, value=secrets.token_hex(32)))
        except IntegrityError:  # another worker was first
            pass
        return self.secret(name)
