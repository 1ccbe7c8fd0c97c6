"""Execute an Ibis expression: a small answer as Arrow, or batches where the engine is embedded.

Compiling comes first and apart, and the engine is asked whether it understands the query (names, types,
functions), so that what it cannot do is refused before anything is charged. That reads no row.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import ibis

from discreet.tables.table import guarded

if TYPE_CHECKING:
    import logging

    import pyarrow as pa
    from ibis.backends import BaseBackend
    from ibis.expr import types as ir


# ── Loggers of engines that repeat a failed query's words, which quote rows: switched off.
SPARK = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")  # of PySpark 4, on standard error by default


def hush_spark() -> None:
    """Let nothing through these two. The log of the Spark session is its owner's, and may quote rows too."""
    try:
        from pyspark.logger import PySparkLogger  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415
    except ImportError:  # PySpark 3 has neither
        return
    for name in SPARK:
        PySparkLogger.getLogger(name).addFilter(nothing)


def nothing(_record: logging.LogRecord) -> bool:
    return False


# ── Where an engine puts rows that memory does not hold: a private folder that goes with its process.
# A folder is locked while its process lives. The system gives the lock back even if that was killed, so
# whoever opens the next folder finds those of the dead, and takes them away.
try:
    import fcntl
except ImportError:  # Windows locks no folders: there, a killed process leaves its own
    fcntl = None  # type: ignore[assignment,unused-ignore]

PREFIX = "discreet-rows-"


@final
class Spill:
    """A private folder of this process, and the lock on it."""

    def __init__(self) -> None:
        self.path, lock = _locked()
        weakref.finalize(self, _gone, self.path, lock, os.getpid())

    def place(self) -> Path:
        """Return a new name in it, for one connection."""
        return self.path / uuid.uuid4().hex


_mine: dict[int, Spill] = {}  # by process: a forked child has its own


def spill_folder() -> Path:
    """Return a name that no other connection and no other user has; sweep behind the dead the first time."""
    if os.getpid() not in _mine:
        sweep()
        _mine[os.getpid()] = Spill()
    return _mine[os.getpid()].place()


def sweep() -> None:
    """Delete the folders of processes that ended without it: ours alone, and none that somebody holds."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            lock = _lock(path)
            if lock is not None:
                shutil.rmtree(path, ignore_errors=True)
                os.close(lock)


def _locked() -> tuple[Path, int | None]:
    """Make a folder that only its owner enters, and lock it before a sweeper does."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX))  # with mode 0700
        lock = _lock(path)
        if fcntl is None or (lock is not None and path.exists()):
            return path, lock


def _lock(path: Path) -> int | None:
    """Lock a folder that is ours; None where it is not, or where its process lives."""
    if fcntl is None:
        return None
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
    try:
        if os.fstat(handle).st_uid == os.geteuid():
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
    except OSError:
        pass
    os.close(handle)
    return None


def _gone(path: Path, lock: int | None, owner: int) -> None:
    if os.getpid() == owner:  # a forked child has the lock too, and must not delete what its parent uses
        shutil.rmtree(path, ignore_errors=True)
    if lock is not None:
        os.close(lock)


# ── engine
def prepared(query: ir.Table) -> Callable[[], Any]:
    """Compile now; return what executes it."""
    backend, sql = query.get_backend(), understood(query)
    if backend.name == "duckdb":
        # Ibis 12 asks DuckDB 2 for methods that it no longer has, or warns of; we ask DuckDB itself
        return lambda: backend.con.sql(sql).to_arrow_table()

    def fetch() -> pa.Table:
        with as_written(backend):
            return query.to_pyarrow()

    return fetch


def batches(query: ir.Table, rows: int) -> Callable[[], Iterator[Any]]:
    """Compile now; return what streams the rows of an embedded engine within this process."""
    backend, sql = query.get_backend(), understood(query)
    return lambda: iter(backend.con.sql(sql).to_arrow_reader(rows))


def understood(query: ir.Table) -> ir.Table:
    """Return the SQL, once the engine has parsed it and found its names, types and functions."""
    backend = query.get_backend()
    sql = guarded(f"compiling for {backend.name}", lambda: backend.compile(query))
    ask = ASKED.get(backend.name)
    if ask is not None:
        guarded(f"asking {backend.name} whether it understands the query", lambda: ask(backend, sql))
    return sql


def _ask_duckdb(backend: BaseBackend, sql: str) -> None:
    backend.con.execute(f"EXPLAIN {sql}").fetchall()


def _ask_postgres(backend: BaseBackend, sql: str) -> None:
    """PREPARE looks up names and types; planning, which looks at statistics of values, comes later."""
    with backend.con.cursor() as cursor, backend.con.transaction():
        cursor.execute(f"PREPARE discreet AS {sql}")
        cursor.execute("DEALLOCATE discreet")


def _ask_spark(backend: BaseBackend, sql: str) -> None:
    with as_written(backend):
        _ = backend._session.sql(sql).schema  # noqa: SLF001 - Ibis has no other name for it


ASKED: dict[str, Callable[[Any, str], None]] = {
    "duckdb": _ask_duckdb,
    "postgres": _ask_postgres,
    "pyspark": _ask_spark,
}


@contextmanager
def as_written(backend: BaseBackend) -> Iterator[None]:
    """Keep Spark from replacing what looks like its variables, ${…}, within the texts of a query."""
    if backend.name != "pyspark":
        yield
        return
    conf, key = backend._session.conf, "spark.sql.variable.substitute"  # noqa: SLF001
    before = conf.get(key)
    conf.set(key, "false")
    try:
        yield
    finally:
        conf.set(key, before)


def said_back(backend: BaseBackend, text: str) -> str | None:
    """Return a text as the engine reads it off a query."""
    with as_written(backend):
        answer: str | None = backend.to_pyarrow(ibis.literal(text).name("text")).as_py()
        return answer
