"""Where the rows of a command live: any address of `Table.open`, and Spark by the address of its master.

spark://host:7077 and sc://host:15002 (Spark Connect) are clusters, spark://local[2] is this machine, spark://
is whatever this machine's Spark is configured for. --table is any name that Spark reads: base.visits, or
files as parquet.`/path`.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ibis.expr import types as ir
    from pyspark.sql import SparkSession

SPARK, CONNECT = "spark://", "sc://"


def source_of(address: str, table: str | None) -> tuple[Any, str | None]:
    """Return what Table.open takes, and its table=."""
    if not address.startswith((SPARK, CONNECT)):
        return address, table
    if table is None:
        raise ValueError("Spark holds many tables: name one with --table, e.g. --table base.visits")
    return spark_table(address, table), None


def spark_table(address: str, table: str) -> ir.Table:
    from discreet.tables.errors import guarded  # noqa: PLC0415 - loaded on use, not for --help

    session = guarded("connecting to Spark", lambda: _session(address))

    def look() -> ir.Table:
        import ibis  # noqa: PLC0415

        view = f"discreet_{uuid.uuid4().hex}"
        session.table(table).createOrReplaceTempView(view)
        return ibis.pyspark.connect(session).table(view)

    return guarded(f"opening the table {table!r} on Spark", look)


def _session(address: str) -> SparkSession:
    """Join or start a session that keeps its log to itself: the words of a failed task quote rows."""
    from pyspark.sql import SparkSession  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415

    from discreet.tables.spill import spill_folder  # noqa: PLC0415 - loaded on use, not for --help

    builder = SparkSession.builder.config("spark.log.level", "OFF")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    master = address.removeprefix(SPARK)
    if address.startswith(CONNECT):
        return builder.remote(address).getOrCreate()
    builder = builder.config("spark.local.dir", str(spill_folder()))  # where the driver, and local[…], spill
    if master:
        builder = builder.master(master if master.startswith("local") else address)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
