"""Rows that an engine puts on the disk: for their owner's eyes, and gone however the process ended."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import pytest

from discreet.tables import engine
from discreet.tables.opening.sources import open_source
from discreet.tables.schema import Schema
from discreet.tables.table import Table

# More rows than the memory that the engine may use, read until somebody kills the process
KILLED = """
import os, sys
from discreet.tables.opening.sources import open_source

os.umask(0)
source = open_source(sys.argv[1], sys.argv[2] or None, ("x",))
engine = source.relation.get_backend().con
engine.execute("set memory_limit = '40MB'")
engine.execute("create temp table t as select random() as x, i from range(4000000) as r(i)")
print(engine.execute("select current_setting('temp_directory')").fetchone()[0], flush=True)
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def temporary(home, monkeypatch):
    """A temporary folder of this test's own, for its processes."""
    (home / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(home / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(engine, "_mine", {})
    yield home / "tmp"
    tempfile.tempdir = None


def killed(home, bare, *words):
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-c", KILLED, *words],
        capture_output=True, text=True, cwd=home, env={**bare, "TMPDIR": str(home / "tmp")}, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    return Path(done.stdout.strip())


@pytest.mark.parametrize("source", [("rows.parquet", ""), ("rows.duckdb", "rows")], ids=["parquet", "duckdb"])
def test_spilled_rows_are_private_and_gone_at_the_next_start(home, bare, temporary, source):
    with duckdb.connect("rows.duckdb") as base:
        base.execute("create table rows as select 1 as x")
    place = killed(home, bare, *source)
    assert any(place.iterdir())  # rows are on the disk
    assert temporary in place.parents
    private = place.parent
    assert private.parent == temporary
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert private.stat().st_uid == os.geteuid()
    Table.open("rows.parquet", schema=Schema.load("schema.toml"))
    assert not private.exists()


def test_only_folders_of_the_dead_are_swept(temporary):
    """Those of the living, links and other people's things stay."""
    living = engine.Spill()
    (living.path / "rows").write_text("mine")
    (temporary / "elsewhere").mkdir()
    (temporary / f"{engine.PREFIX}link").symlink_to("elsewhere")
    (temporary / f"{engine.PREFIX}file").write_text("mine")
    dead = temporary / f"{engine.PREFIX}dead"
    dead.mkdir()
    script = "from discreet.tables.engine import sweep; sweep()"
    subprocess.run([sys.executable, "-c", script], env={**os.environ}, check=True)  # noqa: S603
    assert not dead.exists()
    assert (living.path / "rows").read_text() == "mine"
    assert {p.name for p in temporary.iterdir()} >= {
        "elsewhere",
        f"{engine.PREFIX}link",
        f"{engine.PREFIX}file",
    }
    path = living.path
    del living
    assert not path.exists()


def test_a_database_file_is_opened_by_several_tables(tmp_path):
    """Connections of one process to one file share its settings, and another folder was refused."""
    with duckdb.connect(tmp_path / "rows.duckdb") as connection:
        connection.execute("create table t as select 1 as x")
    sources = [open_source(tmp_path / "rows.duckdb", "t", {"x": "int64"}) for _ in range(2)]
    folders = {_setting(source) for source in sources}
    assert len(folders) == 1
    assert Path(folders.pop()).parent == engine._mine[os.getpid()].path


def _setting(source):
    connection = source.relation.get_backend().con
    return connection.execute("select current_setting('temp_directory')").fetchall()[0][0]


def test_a_forked_child_deletes_nothing_of_its_parent(temporary):
    open_source({"x": [1, 2]}, None, {"x": "int64"})
    mine = engine._mine[os.getpid()].path
    engine._gone(mine, None, owner=os.getpid() + 1)  # as a child's copy of our objects ends
    assert mine.exists()
