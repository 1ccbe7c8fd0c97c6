"""Errors of the data layer, which never carry what an engine said: engines quote values."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class TableError(RuntimeError):
    """The engine could not open or read the table."""


class MissingExtra(ImportError):  # noqa: N818 - said in the user's words
    """A driver is not installed; the message names the extra."""


def guarded(doing: str, call: Callable[[], T]) -> T:
    """Return call(); of a failure only the name of its class gets out.

    Raised after the handler and not inside it, so that neither __cause__ nor __context__ holds the original.
    """
    try:
        with warnings.catch_warnings():
            # Ibis 12 calls this method of DuckDB 2; the user can do nothing about it
            warnings.filterwarnings("ignore", message="fetch_arrow_table", category=DeprecationWarning)
            return call()
    except (TableError, MissingExtra):
        raise
    except ModuleNotFoundError as error:
        missing = error.name or "a driver"
    except Exception as error:  # noqa: BLE001 - any engine, any error
        raised, missing = type(error).__name__, None
    if missing is not None:
        raise MissingExtra(f"{doing} needs {missing}; {_extra(missing)}")
    raise TableError(
        f"{doing} failed ({raised}); the engine's own message is withheld, because it may quote private "
        "values: run the same query with the engine's tools to see it"
    )


EXTRAS = {"psycopg": "postgres", "psycopg2": "postgres", "pyspark": "spark", "polars": "frames"}


def _extra(module: str) -> str:
    extra = EXTRAS.get(module.partition(".")[0])
    return f"pip install 'discreet[{extra}]'" if extra else f"pip install {module}"
