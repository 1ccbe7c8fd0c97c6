"""Errors of the data layer, which never carry what an engine said: engines quote values."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class TableError(RuntimeError):
    """The engine could not open or read the table."""


class MissingExtra(ImportError):  # noqa: N818 - said in the user's words
    """A driver is not installed; the message names the extra."""


def guarded(doing: str, call: Callable[[], T]) -> T:
    """Return call(), which opens and looks at no value; of a failure only the name of its class gets out."""
    return _guarded(doing, call, lambda error: f" ({type(error).__name__})")


def blindly(doing: str, call: Callable[[], T]) -> T:
    """Return call(), which reads values; of a failure only that it failed: its class may tell of one row."""
    return _guarded(doing, call, lambda _: "")


def _guarded(doing: str, call: Callable[[], T], told: Callable[[BaseException], str]) -> T:
    """Whatever is raised, SystemExit and the panic of an engine too, is no reason to quote a row.

    Raised after the handler and not inside it, so that neither __cause__ nor __context__ holds the original.
    """
    try:
        with warnings.catch_warnings():
            # Ibis 12 calls this method of DuckDB 2; the user can do nothing about it
            warnings.filterwarnings("ignore", message="fetch_arrow_table", category=DeprecationWarning)
            return call()
    except (TableError, MissingExtra, KeyboardInterrupt):
        raise
    except ModuleNotFoundError as error:
        missing = error.name or "a driver"
    except BaseException as error:  # noqa: BLE001 - any engine, any error
        raised, missing = told(error), None
    if missing is not None:
        raise MissingExtra(f"{doing} needs {missing}; {_extra(missing)}")
    raise TableError(
        f"{doing} failed{raised}; the engine's own message is withheld, because it may quote private "
        "values: run the same query with the engine's tools to see it"
    )


EXTRAS = {"psycopg": "postgres", "psycopg2": "postgres", "pyspark": "spark", "polars": "frames"}


def _extra(module: str) -> str:
    extra = EXTRAS.get(module.partition(".")[0])
    return f"pip install 'discreet[{extra}]'" if extra else f"pip install {module}"
