"""Loggers of engines that repeat a failed query's words, which quote rows: switched off."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging

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
